//! One call of the editor, as its result and its edit need it.

use engram_core::emit::Pointer;
use engram_core::event::Seq;
use engram_core::text::Text;

use crate::cursor::members;
use crate::cursor::steps::Out;
use crate::shared::value::Value;

pub(super) const PARAMS: &str = "/bubble/toolFormerData/params";
pub(super) const POINTER: Pointer<'static> = Pointer::At("/bubble/toolFormerData");

/// The tool and the call that events belong to.
#[derive(Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) tool: Text<'a>,
    /// The tool in the member table, and in the tables of what is read from results.
    pub(super) route: &'a str,
    pub(super) call_id: Option<Text<'a>>,
    /// The `seq` of the call's event.
    pub(super) seq: Seq,
}

/// Compares JSON inside a string with the member table.
pub(super) fn check(
    record: &str,
    value: Value<'_>,
    at: &'static str,
    route: &str,
    out: &mut Out<'_, '_>,
) {
    if value.is_object() {
        members::check_chosen(record, value, Pointer::At(at), route, out);
    }
}
