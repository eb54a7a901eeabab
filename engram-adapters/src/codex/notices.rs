//! Events beside the conversation: reviews, verdicts on what a call may do, sub-agents, and what the provider itself does (web
//! searches, images).

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Attachment, Decision, Meta, Permission, SideFile, Status, ToolCall, ToolResult};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use crate::shared::media;
use crate::shared::value::{Field, Value, non_empty_text, raw_str, text};
use crate::shared::view::view;

use super::convert::Converter;
use super::outputs::unquote;
use super::rules;
use super::schema::{AgentActivity, elements};
use super::tools;

view! {
    /// A memory that an answer draws on.
    Cited {
        path: "path" String,
        line_start: "line_start" Number,
        line_end: "line_end" Number,
        note: "note" String,
    }
}

view! {
    /// The beginning of a review.
    Review {
        target: "target" Object,
        prompt: "prompt" String,
        user_facing_hint: "user_facing_hint" String,
    }
}

view! {
    /// A verdict on what a call may do.
    Assessment {
        status: "status" String,
        rationale: "rationale" String,
        target_item_id: "target_item_id" String,
        action: "action" Object,
    }
}

view! {
    /// A web search that the provider made, as an event, an item or a response item.
    Searched {
        id: "id" String,
        call_id: "call_id" String,
        status: "status" String,
        action: "action" Object,
        query: "query" String,
        results: "results" Array,
    }
}

view! {
    /// An image that the provider made, as an event or a response item.
    MadeImage {
        id: "id" String,
        call_id: "call_id" String,
        revised_prompt: "revised_prompt" String,
        result: "result" String,
        saved_path: "saved_path" String,
    }
}

/// The tool of the provider's own searches.
const WEB_SEARCH: &str = "web_search";

impl Converter {
    /// A review begins. What the reviewer is asked has a message of its own, in this session or in the reviewer's.
    pub(super) fn review_entered(&mut self, review: &Review<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let asked = review.target().and_then(|target| target.first("instructions")).or(review.prompt());
        let hint = review.user_facing_hint();
        let notice = |said| Meta::System { name: Text::Plain("entered_review_mode"), text: text(said) };
        out.emit(notice(hint.or(asked)), Pointer::At("/payload"))?;
        if hint.zip(asked).is_some_and(|(hint, asked)| hint.raw() != asked.raw()) {
            out.emit(notice(asked), Pointer::At("/payload"))?;
        }
        Ok(Outcome::Mapped)
    }

    /// A judge of the harness's own decides on a call that asks for more than it may do. It is announced first.
    pub(super) fn assessment(&mut self, judged: &Assessment<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let (status, reason) = (raw_str(judged.status()), text(judged.rationale()));
        let decision = match status {
            "in_progress" => return Ok(rules::bookkeeping("event_msg/guardian_assessment", rules::ASSESSMENT_BEGUN)),
            "approved" => Decision::Allow,
            "denied" => Decision::Deny,
            other => {
                let name = format!("guardian_assessment.{other}");
                out.emit(Meta::System { name: Text::Plain(&name), text: reason }, Pointer::At("/payload"))?;
                return Ok(Outcome::Mapped);
            }
        };
        let call_id = text(judged.target_item_id());
        let call = call_id.and_then(|id| self.history.calls.get(id.decode_lossy()));
        let tool = call.map(|call| Text::Plain(call.tool.as_ref()));
        let parent = call_id.and_then(|id| out.seq_of_call(id));
        out.parent_of_next(parent);
        out.emit(Meta::Permission(Permission { decision, tool, call_id, text: reason }), Pointer::At("/payload"))?;
        if let Some(action) = judged.action().filter(|_| parent.is_none()) {
            let notice = Meta::System { name: Text::Plain("guardian_assessment"), text: Some(Text::Plain(action.raw())) };
            out.emit(notice, Pointer::At("/payload/action"))?;
        }
        Ok(Outcome::Mapped)
    }

    /// What happened to another agent, as an event states it (up to 0.146).
    pub(super) fn agent_event(&mut self, kind: &str, event: &AgentActivity<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let thread = event.agent_thread_id().or(event.new_thread_id()).or(event.receiver_thread_id());
        let name = if kind == "sub_agent_activity" { format!("{kind}.{}", raw_str(event.kind())) } else { kind.to_owned() };
        self.agent_notice(event.event_id().or(event.call_id()), &name, text(thread), "/payload", out)
    }

    /// A web search that the provider made, as an event or an item states it. The response item directly behind it says the same.
    pub(super) fn searched(&mut self, search: &Searched<'_>, at: &str, out: &mut Emitter) -> Result<Outcome, Fault> {
        let id = text(search.call_id().or(search.id()));
        if id.is_some_and(|id| out.seq_of_call(id).is_some()) {
            return Ok(rules::duplicate("event_msg/web_search_end", rules::SEARCH_RESULT));
        }
        self.history.searched_at = Some(self.history.records);
        let args = search.action().or(search.query()).map(Value::raw);
        made(WEB_SEARCH, id, args, Pointer::At(at), out)?;
        if let Some(id) = id {
            let found = found(search.results());
            let stdout = found.as_deref().map(Text::Token);
            out.emit(ToolResult { stdout, ..result(WEB_SEARCH, id) }, Pointer::At(at))?;
        }
        Ok(Outcome::Mapped)
    }

    /// The response item of a web search: all that 0.104 says of it.
    pub(super) fn search_item(&mut self, search: &Searched<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if self.history.searched_at.is_some_and(|record| record + 1 == self.history.records) {
            return Ok(rules::duplicate("response_item/web_search_call", rules::SEARCH_TWIN));
        }
        let id = text(search.id());
        made(WEB_SEARCH, id, search.action().map(Value::raw), self.root().pointer(), out)?;
        if let Some(id) = id.filter(|_| raw_str(search.status()) == "completed") {
            out.emit(result(WEB_SEARCH, id), self.root().pointer())?;
        }
        Ok(Outcome::Mapped)
    }

    /// An image that the provider made, which an event and a response item state.
    pub(super) fn image_made(&mut self, record: &'static str, image: &MadeImage<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(id) = text(image.call_id().or(image.id())) else {
            return Err(Fault::malformed(self.at("/payload"), "the id of a call", "nothing"));
        };
        if out.seq_of_call(id).is_some() {
            return Ok(rules::duplicate(record, rules::IMAGE_MADE));
        }
        let (tool, root) = ("image_generation", self.root());
        made(tool, Some(id), None, root.pointer(), out)?;
        let data = image.result().filter(|data| data.raw().len() > 2).map(|data| media::base64_hash(unquote(data.raw())));
        let attachment = data.map(|(hash, bytes)| Attachment { media_type: None, hash: Some(hash), bytes: Some(bytes), name: None });
        let artifact = text(image.saved_path()).map(|path| SideFile { path, hash: None, bytes: None });
        let attachments = attachment.into_iter().collect();
        out.emit(ToolResult { stdout: non_empty_text(image.revised_prompt()), artifact, attachments, ..result(tool, id) }, root.pointer())?;
        Ok(Outcome::Mapped)
    }
}

/// The memories that an answer draws on: where each stands, and what it was good for.
pub(super) fn cited(citation: Value<'_>, out: &mut Emitter) -> Result<(), Fault> {
    for (index, entry) in elements(citation.first("entries")).enumerate() {
        let entry = Cited::lenient(entry);
        let number = |field: Field<'_>| field.map_or(String::new(), |number| number.raw().to_owned());
        let place = format!("{}:{}-{}", raw_str(entry.path()), number(entry.line_start()), number(entry.line_end()));
        let said = format!("\"{place}: {}\"", raw_str(entry.note()));
        let notice = Meta::System { name: Text::Plain("memory_citation"), text: Some(Text::Token(&said)) };
        out.emit(notice, Pointer::Item("/payload/memory_citation/entries", index))?;
    }
    Ok(())
}

/// A call that the provider made itself.
fn made(tool: &str, call_id: Option<Text<'_>>, args: Option<&str>, at: Pointer<'_>, out: &mut Emitter) -> Result<(), Fault> {
    out.emit(ToolCall { tool: Text::Plain(tool), kind: tools::kind(tool, ""), call_id, args }, at)?;
    Ok(())
}

/// A result that says no more than that the call was done.
fn result<'a>(tool: &'a str, call_id: Text<'a>) -> ToolResult<'a> {
    ToolResult { tool: Some(Text::Plain(tool)), call_id: Some(call_id), status: Some(Status::Ok), ..ToolResult::default() }
}

/// What a search found, as one JSON token: a title, an address and an excerpt of each page.
fn found(results: Field<'_>) -> Option<String> {
    let pages = elements(results).flat_map(|page| ["title", "url", "snippet"].into_iter().filter_map(move |name| page.first(name)));
    let texts: Vec<&str> = pages.filter(|said| said.text().is_some()).map(|said| unquote(said.raw())).collect();
    (!texts.is_empty()).then(|| format!("\"{}\"", texts.join("\\n")))
}
