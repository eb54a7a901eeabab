//! What the files beside an export say about it: the call that started the session.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use engram_core::adapter::Context;
use engram_core::head::Head;
use serde::Deserialize;

use super::detect;
use super::schema::{RawDocument, RawMessage};
use crate::kit::json;

/// The largest export of a parent that is looked into.
const LARGEST_PARENT: u64 = 64 << 20;

/// Looks into the parent's export in the same folder, where it goes by the parent's id.
pub(super) fn surroundings(path: &Path, head: &Head<'_>) -> Context {
    Context { parent_call_id: parent_call(path, head), ..Context::default() }
}

fn parent_call(path: &Path, head: &Head<'_>) -> Option<String> {
    let (id, parent) = detect::family(head)?;
    let is_plain = parent.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let export = path.with_file_name(format!("{parent}.json"));
    if !is_plain || fs::metadata(&export).ok()?.len() > LARGEST_PARENT {
        return None;
    }
    let text = fs::read_to_string(export).ok()?;
    let document: RawDocument<'_> = json::parse(&text).ok()?;
    let messages = document.messages.iter().filter_map(|message| json::parse::<RawMessage<'_>>(message.get()).ok());
    messages.flat_map(|message| message.parts).find_map(|part| starts(part.get(), &id))
}

/// The id of the call, if this part is the one that started the session.
pub(super) fn starts(part: &str, session_id: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Part<'a> {
        #[serde(rename = "callID", borrow)]
        call_id: Cow<'a, str>,
        #[serde(borrow)]
        state: State<'a>,
    }
    #[derive(Deserialize)]
    struct State<'a> {
        #[serde(borrow)]
        metadata: Metadata<'a>,
    }
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(rename = "sessionId", borrow)]
        session_id: Cow<'a, str>,
    }
    if !part.contains(session_id) {
        return None;
    }
    let part: Part<'_> = json::parse(part).ok()?;
    (part.state.metadata.session_id == session_id).then(|| part.call_id.into_owned())
}
