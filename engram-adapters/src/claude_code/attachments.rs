//! What the harness puts beside the conversation: `attachment` lines (2.1.100 and later) and the shape of requests (2.1.300 and later).

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{ImplicitInput, Meta, MsgIn, Role};
use engram_core::hash::Hash;
use engram_core::ledger::Outcome;
use engram_core::text::{DecodeBuffer, Text};

use super::blocks::{images, is_harness_text};
use super::converter::Converter;
use super::descriptor::{Omitted, rule};
use super::schema::{Attachment, Block, Line};
use crate::shared::media::base64_hash;
use crate::shared::value::{Field, Value, is_true, non_empty_text, one_or_many, raw_str, text};

impl Converter {
    /// `attachment`: short notices and what a person wrote as text, the harness's own listings and prompts as hash and size.
    pub fn attachment(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let attachment = line.attachment().ok_or_else(|| Fault::malformed("/attachment", "an attachment", "nothing"))?;
        let attachment = Attachment::strict(attachment, "/attachment")?;
        let name = raw_str(attachment.kind());
        match name {
            "queued_command" => return self.queued_command(line, &attachment, out),
            "total_tokens_reminder" | "silent_turn_reminder" | "model" => notice(name, attachment.text(), "/attachment/text", out)?,
            "date" => notice(name, attachment.date(), "/attachment/date", out)?,
            "environment" => notice(name, attachment.snapshot(), "/attachment/snapshot", out)?,
            "todo_reminder" | "task_reminder" | "critical_system_reminder" => {
                notice(name, attachment.content(), "/attachment/content", out)?
            }
            "session_context" => session_context(attachment.context(), out)?,
            "remote_session_change" => {
                notice("commit_attribution", attachment.commit(), "/attachment/commit", out)?;
                notice("pull_request_attribution", attachment.pr(), "/attachment/pr", out)?;
            }
            "edited_text_file" => quoted(name, attachment.filename(), attachment.snippet(), "/attachment/snippet", out)?,
            "file" => attached_file(&attachment, out)?,
            "skill_listing" => boilerplate(name, attachment.content(), "/attachment/content", &mut self.room, out)?,
            "agent_listing_delta" | "deferred_tools_delta" => {
                boilerplate(name, attachment.added_lines(), "/attachment/addedLines", &mut self.room, out)?
            }
            "deferred_tools_record" => boilerplate(name, attachment.entries(), "/attachment/entries", &mut self.room, out)?,
            "auto_mode" => boilerplate(name, line.rendered().or(line.attachment()), "/rendered", &mut self.room, out)?,
            "prompt_snapshot" => {
                boilerplate("system_prompt", attachment.system_prompt(), "/attachment/systemPrompt", &mut self.room, out)?;
                // A snapshot may be of the system prompt alone.
                if attachment.tools().is_some() {
                    boilerplate("tools", attachment.tools(), "/attachment/tools", &mut self.room, out)?;
                }
            }
            _ => return rarer(name, line, &attachment, &mut self.room, out),
        }
        Ok(Outcome::Mapped)
    }

    /// A prompt that was queued while the agent worked, or the news that a background task ended.
    fn queued_command(&mut self, line: &Line<'_>, attachment: &Attachment<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        const PROMPT: &str = "/attachment/prompt";
        let prompt = attachment.prompt().ok_or_else(|| Fault::malformed(PROMPT, "a prompt", "nothing"))?;
        let mut attachments = images(attachment.prompt());
        let texts = prompt.text().into_iter().chain(prompt.elements().filter_map(|block| text(Block::lenient(block).text())));
        let mut any = false;
        for said in texts {
            self.queue.arrived(said);
            let synthetic = is_harness_text(said) || is_true(line.is_meta());
            let attachments = std::mem::take(&mut attachments);
            out.emit(MsgIn { role: Role::User, text: Some(said), synthetic, attachments }, Pointer::At(PROMPT))?;
            any = true;
        }
        if !attachments.is_empty() {
            out.emit(MsgIn { role: Role::User, text: None, synthetic: is_true(line.is_meta()), attachments }, Pointer::At(PROMPT))?;
            any = true;
        }
        if any { Ok(Outcome::Mapped) } else { Err(Fault::malformed(PROMPT, "text or a list of blocks", prompt.raw())) }
    }

    /// `api-request-shape`: the system prompt and the tools of the requests that follow.
    pub fn request_shape(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let Some(shape) = line.shape() else { return Err(Fault::malformed("/shape", "the shape of a request", "nothing")) };
        boilerplate("system_prompt", shape.member("system"), "/shape/system", &mut self.room, out)?;
        boilerplate("tools", shape.member("tools"), "/shape/tools", &mut self.room, out)?;
        Ok(Outcome::Mapped)
    }
}

/// Attachments that few sessions have.
#[cold]
fn rarer(name: &str, line: &Line<'_>, attachment: &Attachment<'_>, room: &mut DecodeBuffer, out: &mut Emitter) -> Result<Outcome, Fault> {
    let member = |name| line.attachment().and_then(|attachment| attachment.member(name));
    match name {
        "date_change" => notice(name, member("newDate"), "/attachment/newDate", out)?,
        "command_permissions" => notice(name, member("allowedTools"), "/attachment/allowedTools", out)?,
        "companion_intro" => notice(name, member("name"), "/attachment/name", out)?,
        "plan_mode" | "plan_mode_exit" | "plan_mode_reentry" => notice(name, member("planFilePath"), "/attachment/planFilePath", out)?,
        "read_truncation_notice" => notice(name, member("banner"), "/attachment/banner", out)?,
        "compact_file_reference" => notice(name, attachment.filename(), "/attachment/filename", out)?,
        "dynamic_skill" => notice(name, member("skillDir"), "/attachment/skillDir", out)?,
        "task_status" => notice(name, member("description"), "/attachment/description", out)?,
        "auto_mode_exit" | "ultra_effort_enter" | "ultra_effort_exit" | "budget_usd" => notice(name, None, "/attachment", out)?,
        "mcp_instructions_delta" => boilerplate(name, member("addedBlocks"), "/attachment/addedBlocks", room, out)?,
        "invoked_skills" => boilerplate(name, member("skills"), "/attachment/skills", room, out)?,
        "nested_memory" => {
            let said = attachment.content().and_then(|content| content.member("content"));
            quoted(name, member("path"), said, "/attachment/content", out)?;
        }
        "plan_file_reference" => quoted(name, member("planFilePath"), member("planContent"), "/attachment/planContent", out)?,
        "selected_lines_in_ide" => quoted(name, attachment.filename(), attachment.content(), "/attachment/content", out)?,
        // The answer in the form that was asked for: the call gives it.
        "structured_output" if text(member("toolUseID")).and_then(|id| out.seq_of_call(id)).is_some() => {
            return Ok(Omitted { record: "attachment/structured_output", rule: rule::STRUCTURED }.duplicate());
        }
        _ if name.starts_with("hook_") => hook(line.attachment(), out)?,
        other => return Err(Fault::unrecognized(&format!("attachment/{other}"))),
    }
    Ok(Outcome::Mapped)
}

/// A hook that ran (2.1.111 and later): its command, and all that it said.
fn hook(attachment: Field<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let member = |name| attachment.and_then(|attachment| attachment.member(name));
    let name = non_empty_text(member("hookName")).unwrap_or(Text::Plain("hook"));
    let blocking = member("blockingError").and_then(|error| error.member("blockingError"));
    let fields = [member("command"), member("content"), member("stdout"), member("stderr"), blocking];
    let mut said: Vec<Text<'_>> =
        fields.into_iter().flat_map(one_or_many).filter_map(Value::text).filter(|said| !said.is_empty()).collect();
    said.dedup_by(|one, other| one.raw() == other.raw());
    let parent = text(member("toolUseID")).and_then(|id| out.seq_of_call(id));
    for said in said.iter().copied().map(Some).chain(said.is_empty().then_some(None)) {
        out.parent_of_next(parent);
        out.emit(Meta::System { name, text: said }, Pointer::At("/attachment"))?;
    }
    Ok(())
}

/// What a file holds, as text.
fn quoted(name: &str, file: Field<'_>, said: Field<'_>, pointer: &str, out: &mut Emitter) -> Result<(), Fault> {
    let context = ImplicitInput { name: Text::Plain(name), file: text(file), hash: None, bytes: None, text: text(said) };
    out.emit(Meta::Context(context), Pointer::At(pointer))?;
    Ok(())
}

/// A short notice, as text. What is no string stands as its JSON.
fn notice(name: &str, said: Field<'_>, pointer: &str, out: &mut Emitter) -> Result<(), Fault> {
    let text = said.map(|said| said.text().unwrap_or(Text::Plain(said.raw())));
    out.emit(Meta::Context(ImplicitInput { name: Text::Plain(name), file: None, hash: None, bytes: None, text }), Pointer::At(pointer))?;
    Ok(())
}

/// Boilerplate: a string by the hash of its text, a structure by the hash of its JSON as it stands in the source.
fn boilerplate(name: &str, said: Field<'_>, pointer: &str, room: &mut DecodeBuffer, out: &mut Emitter) -> Result<(), Fault> {
    let held = said.map(|said| said.text().map_or(said.raw(), |text| text.decode_lossy_into(room)));
    let hash = held.map(|text| Hash::of_bytes(text.as_bytes()));
    let bytes = held.map(|text| text.len() as u64);
    out.emit(Meta::Context(ImplicitInput { name: Text::Plain(name), file: None, hash, bytes, text: None }), Pointer::At(pointer))?;
    Ok(())
}

/// What is told of the project: the state of the repository, instruction files.
fn session_context(context: Field<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let mut any = false;
    for (name, said) in context.iter().flat_map(|context| context.members()) {
        notice(name, Some(said), "/attachment/context", out)?;
        any = true;
    }
    if !any {
        notice("session_context", context, "/attachment/context", out)?;
    }
    Ok(())
}

/// A file that the user attached to the prompt: its content by hash.
fn attached_file(attachment: &Attachment<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let held = attachment.content().and_then(|content| content.member("file"));
    let content = text(held.and_then(|file| file.member("content"))).and_then(|content| content.decode().ok());
    let image = held.and_then(|file| file.member("base64"));
    let (hash, bytes) = match (&content, image) {
        (Some(content), _) => (Hash::of_lossless_text(content), Some(content.len() as u64)),
        (None, Some(_)) => {
            let (hash, bytes) = base64_hash(raw_str(image));
            (Some(hash), Some(bytes))
        }
        (None, None) => (None, None),
    };
    let context = ImplicitInput { name: Text::Plain("file"), file: text(attachment.filename()), hash, bytes, text: None };
    out.emit(Meta::Context(context), Pointer::At("/attachment/content"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use engram_core::policy::Policy;
    use serde_json::{Value, json};

    use super::super::tests::{events, left_over, line, said, tape};

    fn attached(number: u32, attachment: Value) -> Value {
        line("2.1.220", number, "attachment", json!({"attachment": attachment}))
    }

    #[test]
    fn rarer_attachments_are_said() {
        let lines = [
            attached(1, json!({"type": "date_change", "newDate": "2026-01-02"})),
            attached(2, json!({"type": "command_permissions", "allowedTools": ["Bash(git add:*)"]})),
            attached(
                3,
                json!({"type": "mcp_instructions_delta", "addedNames": ["m"], "addedBlocks": ["How to ask the server."], "removedNames": []}),
            ),
            attached(4, json!({"type": "invoked_skills", "skills": [{"name": "fold", "path": "/s/fold", "content": "Fold it once."}]})),
            attached(
                5,
                json!({"type": "nested_memory", "path": "/p/a dir/CLAUDE.md", "displayPath": "a dir/CLAUDE.md",
                    "content": {"path": "/p/a dir/CLAUDE.md", "content": "Be brief.", "rawContent": "<!-- x -->\nBe brief."}}),
            ),
            attached(6, json!({"type": "task_status", "taskId": "t", "description": "Run the tests", "status": "running"})),
        ];
        let said = events(&lines, "meta");
        let context: Vec<&Value> = said.iter().filter(|event| event["label"] == "context").collect();
        let names: Vec<&str> = context.iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(
            names,
            ["date_change", "command_permissions", "mcp_instructions_delta", "invoked_skills", "nested_memory", "task_status"]
        );
        assert_eq!((&context[4]["file"], &context[4]["text"]), (&json!("/p/a dir/CLAUDE.md"), &json!("Be brief.")));
        assert!(context[2]["hash"].is_string() && context[3]["hash"].is_string());
        assert_eq!(left_over(&lines), 0);
    }

    #[test]
    fn plans_selections_and_names_of_tools_and_servers_are_said_or_omitted() {
        let plan = json!({"type": "plan_file_reference", "planFilePath": "/p/a plan.md", "planContent": "Fold it, then cut it."});
        let chosen = json!({"type": "selected_lines_in_ide", "ideName": "An Editor", "lineStart": 2, "lineEnd": 3,
            "filename": "/p/a file", "content": "two lines\nof it", "displayPath": "a file"});
        let name = "mcp__a_plugin_with_a_long_name__".repeat(3);
        let tools = json!({"type": "deferred_tools_delta", "addedNames": [name], "addedLines": [name], "removedNames": [name]});
        let server =
            json!({"type": "mcp_instructions_delta", "addedNames": ["A Server"], "addedBlocks": ["Ask it."], "removedNames": ["B Server"]});
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "Zm9v".repeat(40)}});
        let queued = json!({"type": "queued_command", "prompt": [image]});
        let lines = [attached(1, plan), attached(2, chosen), attached(3, tools), attached(4, server), attached(5, queued)];
        let said = events(&lines, "meta");
        let context: Vec<_> =
            said.iter().filter(|event| event["label"] == "context").map(|event| (&event["file"], &event["text"])).collect();
        assert_eq!(context[0], (&json!("/p/a plan.md"), &json!("Fold it, then cut it.")));
        assert_eq!(context[1], (&json!("/p/a file"), &json!("two lines\nof it")));
        assert_eq!(events(&lines, "msg.in")[0]["attachments"][0]["bytes"], 120);
        assert_eq!(left_over(&lines), 0);
    }

    #[test]
    fn an_answer_in_the_form_that_was_asked_for_is_said_by_its_call() {
        let answer = json!({"folds": ["one fold", "another one"]});
        let call = json!([{"type": "tool_use", "id": "t1", "name": "StructuredOutput", "input": answer}]);
        let lines = [said("2.1.220", 1, "m1", call), attached(2, json!({"type": "structured_output", "data": answer, "toolUseID": "t1"}))];
        let tape = tape(&lines, Policy::Strict).unwrap();
        assert_eq!(tape.last().unwrap()["ledger"]["duplicate"], 1);
        assert_eq!(left_over(&lines), 0);
    }

    #[test]
    fn a_hook_says_its_command_and_what_it_printed_once() {
        let hook = json!({"type": "hook_success", "hookName": "PreToolUse:Bash", "toolUseID": "t1", "command": "check it",
            "content": "all well", "stdout": "all well", "stderr": "", "exitCode": 0});
        let blocked = json!({"type": "hook_blocking_error", "hookName": "Stop", "blockingError": {"blockingError": "not done yet"}});
        let lines = [attached(1, hook), attached(2, blocked), attached(3, json!({"type": "hook_cancelled", "hookName": "Stop"}))];
        let said = events(&lines, "meta");
        let said: Vec<_> = said.iter().filter(|event| event["label"] == "system").map(|event| (&event["name"], &event["text"])).collect();
        let bash = json!("PreToolUse:Bash");
        let (stop, none) = (json!("Stop"), Value::Null);
        let expected = [(&bash, &json!("check it")), (&bash, &json!("all well")), (&stop, &json!("not done yet")), (&stop, &none)];
        assert_eq!(said, expected);
        assert_eq!(left_over(&lines), 0);
    }

    #[test]
    fn an_attached_document_is_hashed() {
        let file = json!({"type": "file", "filename": "/p/a.pdf", "content": {"type": "pdf", "file": {"base64": "Zm9v".repeat(40)}}});
        let lines = [attached(1, file)];
        let said = events(&lines, "meta");
        assert_eq!(said.iter().find(|event| event["name"] == "file").unwrap()["bytes"], 120);
        assert_eq!(left_over(&lines), 0);
    }
}
