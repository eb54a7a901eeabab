//! The `task` calls of a parent session that started a child session, or gave it another prompt.

use std::collections::HashMap;

use engram_core::adapter::{ParentCall, SideInfo};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::hash::Hash;

use crate::opencode::readers::{Metadata, StepPart, StepState};
use crate::shared::value::{Field, StructuralIndex, Value, elements, parse, text};

/// The most calls of one child session that are kept.
const MAX_CALLS: usize = 4096;
/// The most bytes of calls that are kept of one store, and what a call takes in addition to its ids. A store has 80,000 of them at least.
const MAX_BYTES: usize = 24 << 20;
const CALL_BYTES: usize = 256;

/// A call, and the id of the session that it gave a prompt.
type ChildCall = (String, ParentCall);

/// What the calls add to the child session: the first one started it.
pub(super) fn side_info_of(calls: impl IntoIterator<Item = ParentCall>) -> SideInfo {
    let mut calls = calls.into_iter().take(MAX_CALLS);
    let parent_call_id = calls.next().map(|call| call.call_id);
    SideInfo {
        parent_call_id,
        later_calls: calls.collect(),
        ..SideInfo::default()
    }
}

/// The calls of parent sessions. The records of a parent are read once, because it may have many children.
#[derive(Debug, Default)]
pub(super) struct ParentCalls {
    by_parent: HashMap<String, Result<CallsByChild, AdapterError>>,
    bytes: usize,
}

impl ParentCalls {
    /// The calls of the parent that gave the child its prompts, in order. `read` passes each record of the parent to the collection.
    ///
    /// # Errors
    /// As `read`; `limit_exceeded` if the parents have too many calls. The error is that of all children of the parent.
    pub fn of(
        &mut self,
        parent: &str,
        child: &str,
        read: impl FnOnce(&mut CallsByChild) -> Result<(), AdapterError>,
    ) -> Result<Vec<ParentCall>, AdapterError> {
        let calls = match self.by_parent.get(parent) {
            Some(calls) => calls,
            None => {
                let mut calls = CallsByChild {
                    by_child: HashMap::new(),
                    free: MAX_BYTES - self.bytes,
                };
                let calls = read(&mut calls).map(|()| calls);
                self.bytes = calls
                    .as_ref()
                    .map_or(self.bytes, |calls| MAX_BYTES - calls.free);
                self.by_parent.entry(parent.to_owned()).or_insert(calls)
            }
        };
        let calls = calls.as_ref().map_err(Clone::clone)?;
        Ok(calls.by_child.get(child).cloned().unwrap_or_default())
    }
}

/// The calls of one parent, by the ids of its children.
#[derive(Debug)]
pub(super) struct CallsByChild {
    by_child: HashMap<String, Vec<ParentCall>>,
    /// How many bytes of calls may still be kept.
    free: usize,
}

impl CallsByChild {
    /// Adds the calls of a record.
    ///
    /// # Errors
    /// `limit_exceeded`.
    pub fn add(&mut self, calls: impl IntoIterator<Item = ChildCall>) -> Result<(), AdapterError> {
        for (child, call) in calls {
            let bytes = CALL_BYTES + child.len() + call.call_id.len();
            self.free = self.free.checked_sub(bytes).ok_or_else(|| {
                AdapterError::new(ErrorCode::LimitExceeded).expected(format!(
                    "at most {MAX_BYTES} bytes of calls that started sessions"
                ))
            })?;
            let calls = self
                .by_child
                .entry(child)
                .or_insert_with(|| Vec::with_capacity(1));
            let is_again = calls
                .last()
                .is_some_and(|last| last.call_id == call.call_id);
            if calls.len() < MAX_CALLS && !is_again {
                calls.push(call);
            }
        }
        Ok(())
    }
}

/// The call of this tool part (JSON text), if it gave a session a prompt.
pub(super) fn call_in_part(part: &str) -> Option<ChildCall> {
    let mut index = StructuralIndex::default();
    call_of_part(parse(part, &mut index).ok()?)
}

/// The call of the tool part in this event (JSON text), if it gave a session a prompt.
#[cfg_attr(
    not(feature = "sqlite"),
    allow(dead_code, reason = "only a database has them")
)]
pub(super) fn call_in_event(event: &str) -> Option<ChildCall> {
    let mut index = StructuralIndex::default();
    call_of_part(parse(event, &mut index).ok()?.member("part")?)
}

/// The calls of this answer of 2.x (JSON text) that gave sessions their prompts.
#[cfg_attr(
    not(feature = "sqlite"),
    allow(dead_code, reason = "only a database has them")
)]
pub(super) fn calls_in_answer(answer: &str) -> Vec<ChildCall> {
    let mut index = StructuralIndex::default();
    parse(answer, &mut index)
        .map(|answer| calls_of_answer(answer).collect())
        .unwrap_or_default()
}

/// The calls of this answer of 2.x that gave sessions their prompts.
pub(super) fn calls_of_answer(answer: Value<'_>) -> impl Iterator<Item = ChildCall> {
    let parts = elements(answer.member("content")).map(StepPart::lenient);
    parts.flat_map(|part| {
        let state = StepState::lenient_opt(part.state());
        let details = Metadata::lenient_opt(state.metadata().or(state.structured()));
        let mut children = [id(details.step_session_id()), id(details.session_id())];
        if children[0] == children[1] {
            children[1] = None;
        }
        children
            .into_iter()
            .flatten()
            .filter_map(|child| Some((child, parent_call(part.id(), state.input())?)))
            .collect::<Vec<_>>()
    })
}

/// The call of this tool part, if it gave a session a prompt.
pub(super) fn call_of_part(part: Value<'_>) -> Option<ChildCall> {
    let state = part.member("state")?;
    let child = id(Metadata::lenient(state.member("metadata")?).session_id())?;
    Some((
        child,
        parent_call(part.member("callID"), state.member("input"))?,
    ))
}

fn id(field: Field<'_>) -> Option<String> {
    Some(text(field)?.decode().ok()?.into_owned())
}

fn parent_call(id: Field<'_>, input: Field<'_>) -> Option<ParentCall> {
    let prompt = input.and_then(|input| text(input.member("prompt")));
    let prompt = prompt.map(|prompt| prompt.comparable()).unwrap_or_default();
    Some(ParentCall {
        call_id: text(id)?.decode_lossy().into_owned(),
        prompt: Hash::of_bytes(prompt.as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(child: &str, id: &str) -> ChildCall {
        (
            child.to_owned(),
            ParentCall {
                call_id: id.to_owned(),
                prompt: Hash::of_bytes(b""),
            },
        )
    }

    fn ids(calls: Vec<ParentCall>) -> Vec<String> {
        calls.into_iter().map(|call| call.call_id).collect()
    }

    #[test]
    fn a_parent_is_read_once_for_all_of_its_children() {
        let (mut known, mut reads) = (ParentCalls::default(), 0);
        for child in 0..1000 {
            let calls = known.of("parent", &child.to_string(), |calls| {
                reads += 1;
                (0..1000).try_for_each(|n| {
                    calls.add([
                        call(&n.to_string(), &format!("call {n}")),
                        call("500", "again"),
                    ])
                })
            });
            assert_eq!(
                ids(calls.unwrap())[0],
                if child == 500 {
                    "again".to_owned()
                } else {
                    format!("call {child}")
                }
            );
        }
        assert_eq!(reads, 1);
        assert_eq!(known.of("other", "1", |_| Ok(())).unwrap(), []);
    }

    #[test]
    fn a_parent_with_too_many_calls_is_an_error_of_its_children_alone() {
        let (mut known, mut reads) = (ParentCalls::default(), 0);
        for _ in 0..2 {
            let calls = known.of("parent", "child", |calls| {
                reads += 1;
                (0..MAX_BYTES / CALL_BYTES)
                    .try_for_each(|n| calls.add(Some(call("child", &n.to_string()))))
            });
            assert_eq!(calls.unwrap_err().code, ErrorCode::LimitExceeded);
        }
        assert_eq!(reads, 1);
        assert_eq!(
            ids(known
                .of("other", "child", |calls| calls
                    .add(Some(call("child", "1"))))
                .unwrap()),
            ["1"]
        );
    }

    #[test]
    fn a_call_names_its_session_with_any_escapes() {
        let part = r#"{"callID":"c","state":{"input":{"prompt":"go"},"metadata":{"session\u0049d":"s\u0065s"}}}"#;
        let found = call_in_part(part).unwrap();
        assert_eq!(
            (found.0.as_str(), found.1.prompt),
            ("ses", Hash::of_bytes(b"go"))
        );
    }
}
