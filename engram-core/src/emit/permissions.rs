//! Permissions: each denied call has a `meta permission`, before its result. `Decision::of_call` makes them all.

use super::Emitter;
use crate::event::{Decision, Event, Meta, Permission, Pointer, Status, ToolResult};

impl Emitter<'_> {
    /// Notes that a call was denied, or emits that before the result of a denied call.
    #[inline]
    pub(super) fn keep_denial(&mut self, event: &Event<'_>, pointer: Pointer<'_>) {
        match event {
            Event::Meta(Meta::Permission(permission)) => self.note_denial(permission),
            Event::ToolResult(result) if result.status == Some(Status::Denied) => {
                self.emit_denial(result, pointer);
            }
            Event::ToolResult(result) if !self.denied.is_empty() => {
                self.forget_denial(result);
            }
            _ => {}
        }
    }

    #[cold]
    fn note_denial(&mut self, permission: &Permission<'_>) {
        if permission.decision == Decision::Deny
            && let Some(call_id) = permission.call_id
        {
            let key = self.call_key(call_id);
            self.denied.insert(key);
        }
    }

    /// Emits that a call was denied, unless the log has stated it before. The reason is the text of the result: a call that did not run has
    /// no other output.
    #[cold]
    fn emit_denial(&mut self, result: &ToolResult<'_>, pointer: Pointer<'_>) {
        let Some(call_id) = result.call_id else {
            return;
        };
        if self.denied.remove(&self.call_key(call_id)) {
            return;
        }
        let reason = result.stderr.or(result.stdout);
        let denied = Decision::Deny.of_call(result.tool, Some(call_id), reason);
        self.emit_event(None, &denied.into(), pointer);
    }

    /// A call has its result. A later call may have the same id.
    #[cold]
    fn forget_denial(&mut self, result: &ToolResult<'_>) {
        if let Some(call_id) = result.call_id {
            self.denied.remove(&self.call_key(call_id));
        }
    }
}
