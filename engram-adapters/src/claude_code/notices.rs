//! What the harness notes beside the conversation: `system`, titles, modes, costs and pull requests.

use engram_core::emit::Pointer;
use engram_core::emit::{Emitter, Fault};
use engram_core::event::{Meta, MsgIn, Role, SessionFacts, Tokens, Usage};
use engram_core::ledger::Outcome;
use engram_core::text::Text;

use super::blocks::is_harness_text;
use super::converter::Converter;
use super::descriptor::{Omitted, never_mapped, rule};
use super::record::{Late, Record};
use super::schema::Line;
use super::standing::changed;
use crate::shared::value::{Value, non_empty_text, number, raw_str, text};

impl Converter {
    /// `system`: compaction, output of local commands, hooks, API errors (1.0.128 and later).
    pub fn system(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let subtype = raw_str(line.subtype());
        match subtype {
            "compact_boundary" => {
                let trigger = line.compact_metadata().and_then(|facts| facts.member("trigger"));
                self.compaction_trigger = text(trigger).and(trigger).map(|trigger| trigger.raw().to_owned());
                out.emit(Meta::System { name: Text::Plain(subtype), text: text(line.content()) }, Pointer::At("/content"))?;
            }
            "local_command" => {
                let said = text(line.content()).ok_or_else(|| Fault::malformed("/content", "text", "nothing"))?;
                if is_harness_text(said) {
                    out.emit(Meta::System { name: Text::Plain(subtype), text: Some(said) }, Pointer::At("/content"))?;
                } else {
                    out.emit(
                        MsgIn { role: Role::User, text: Some(said), synthetic: false, attachments: Vec::new() },
                        Pointer::At("/content"),
                    )?;
                }
            }
            "microcompact_boundary" | "informational" | "bridge_status" | "away_summary" | "scheduled_task_fire" => {
                out.emit(Meta::System { name: Text::Plain(subtype), text: text(line.content()) }, Pointer::At("/content"))?;
            }
            "stop_hook_summary" => stop_hooks(line, out)?,
            "api_error" | "error" => api_error(line, out)?,
            "api_refusal" | "model_refusal_fallback" => refusal(subtype, line, out)?,
            other => {
                let record = format!("system/{other}");
                return never_mapped(&record).ok_or_else(|| Fault::unrecognized(&record));
            }
        }
        Ok(Outcome::Mapped)
    }

    /// `summary` (up to 2.0.10), `ai-title` (2.1.200 and later) and `custom-title` (a person's): titles. A summary may be of another
    /// file's session.
    pub fn title(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let (record, field, pointer) = match raw_str(line.kind()) {
            "summary" => ("summary", line.summary(), "/summary"),
            "custom-title" => ("custom-title", line.object().member("customTitle"), "/customTitle"),
            _ => ("ai-title", line.ai_title(), "/aiTitle"),
        };
        if field.is_none() {
            return Err(Fault::malformed(pointer, "a title", "nothing"));
        }
        if !changed(&mut self.standing.title, field) && record != "summary" {
            let rule = if record == "ai-title" { rule::UNCHANGED } else { rule::SAME_NAME };
            return Ok(Omitted { record, rule }.duplicate());
        }
        out.emit(Meta::Session(SessionFacts { title: text(field), ..SessionFacts::default() }), Pointer::At(pointer))?;
        Ok(Outcome::Mapped)
    }

    /// `agent-name`: what the session is called among agents.
    pub fn agent_name(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let field = line.object().member("agentName");
        if !changed(&mut self.standing.agent_name, field) {
            return Ok(Omitted { record: "agent-name", rule: rule::SAME_NAME }.duplicate());
        }
        out.emit(Meta::Session(SessionFacts { agent: text(field), ..SessionFacts::default() }), Pointer::At("/agentName"))?;
        Ok(Outcome::Mapped)
    }

    /// `worktree-state` and `relocated`: where the session works from here on.
    pub fn moved(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let tree = line.object().member("worktreeSession");
        let cwd = text(line.object().member("relocatedCwd").or_else(|| tree?.member("worktreePath")));
        let repo_branch = text(tree.and_then(|tree| tree.member("worktreeBranch")));
        out.emit(Meta::Session(SessionFacts { cwd, repo_branch, ..SessionFacts::default() }), Pointer::Root)?;
        Ok(Outcome::Mapped)
    }

    /// `permission-mode` and `mode`: said when they change.
    pub fn mode(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let (record, field, slot) = if raw_str(line.kind()) == "mode" {
            ("mode", line.mode(), &mut self.standing.mode)
        } else {
            ("permission-mode", line.permission_mode(), &mut self.standing.permission_mode)
        };
        if !changed(slot, field) {
            return Ok(Omitted { record, rule: rule::UNCHANGED }.bookkeeping());
        }
        out.emit(Meta::System { name: Text::Plain(record), text: text(field) }, Pointer::Root)?;
        Ok(Outcome::Mapped)
    }

    /// `cost-state` (2.1.300 and later): the cost of the session so far.
    pub fn cost(&mut self, line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        if !changed(&mut self.standing.cost, line.total_cost_usd()) {
            return Ok(Omitted { record: "cost-state", rule: rule::UNCHANGED }.bookkeeping());
        }
        let cost_usd = number(line.total_cost_usd());
        out.emit(Meta::Usage(Usage { model: None, tokens: Tokens::default(), cost_usd }), Pointer::At("/totalCostUSD"))?;
        Ok(Outcome::Mapped)
    }

    /// `queue-operation` (2.0.30 and later): a prompt waits, goes on, or is taken back.
    pub fn queue_operation(&mut self, record: &Record<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
        let line = &record.line;
        match raw_str(line.operation()) {
            "enqueue" => {}
            "dequeue" => {
                self.history.queued(record.time.as_deref(), record.session().as_deref());
                return Ok(Omitted { record: "queue-operation/dequeue", rule: rule::QUEUE_STATE }.bookkeeping());
            }
            "remove" => return Ok(Omitted { record: "queue-operation/remove", rule: rule::QUEUED }.duplicate()),
            "popAll" => return Ok(Omitted { record: "queue-operation/popAll", rule: rule::TAKEN_BACK }.duplicate()),
            other => return Err(Fault::unrecognized(&format!("queue-operation/{other}"))),
        }
        self.history.queued(record.time.as_deref(), record.session().as_deref());
        let (Some(said), Some(prompt)) = (non_empty_text(line.content()), line.content()) else {
            return Ok(Omitted { record: "queue-operation/enqueue", rule: rule::QUEUE_STATE }.bookkeeping());
        };
        let waits = self.queue.hold(said, Late::of(prompt, line, out.location()), out)?;
        let omitted = Omitted { record: "queue-operation/enqueue", rule: rule::QUEUED };
        Ok(if waits { omitted.duplicate() } else { Outcome::Mapped })
    }
}

/// `system/stop_hook_summary` (2.0.64 to 2.1.42): the hooks that ran when the model stopped, and what went wrong in them.
fn stop_hooks(line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let name = Text::Plain("stop_hook_summary");
    let listed = |name| line.object().member(name).into_iter().flat_map(Value::elements).enumerate();
    let reason = non_empty_text(line.object().member("stopReason"));
    out.emit(Meta::System { name, text: reason }, Pointer::At("/stopReason"))?;
    for (index, hook) in listed("hookInfos") {
        out.emit(Meta::System { name, text: text(hook.member("command")) }, Pointer::Field("/hookInfos", index, "/command"))?;
    }
    for (index, error) in listed("hookErrors") {
        out.emit(Meta::Error { code: None, text: error.text() }, Pointer::Item("/hookErrors", index))?;
    }
    Ok(())
}

/// `pr-link` (2.1.29 and later): the pull request that the session has opened.
pub(super) fn pull_request(line: &Line<'_>, out: &mut Emitter) -> Result<Outcome, Fault> {
    let address = text(line.object().member("prUrl")).ok_or_else(|| Fault::malformed("/prUrl", "an address", "nothing"))?;
    out.emit(Meta::System { name: Text::Plain("pr-link"), text: Some(address) }, Pointer::At("/prUrl"))?;
    Ok(Outcome::Mapped)
}

/// `system/api_refusal` and `system/model_refusal_fallback`: the model refused, and why.
fn refusal(subtype: &str, line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let member = |name| line.object().member(name);
    let why = non_empty_text(member("apiRefusalExplanation")).or(text(line.content()));
    out.emit(Meta::Error { code: text(member("apiRefusalCategory")), text: why }, Pointer::Root)?;
    if non_empty_text(member("apiRefusalExplanation")).is_some() {
        out.emit(Meta::System { name: Text::Plain(subtype), text: text(line.content()) }, Pointer::At("/content"))?;
    }
    Ok(())
}

/// `system/api_error` (2.1.300 and later): one retry.
fn api_error(line: &Line<'_>, out: &mut Emitter) -> Result<(), Fault> {
    let member = |name| line.error().and_then(|error| error.member(name));
    let code = member("status").map(|status| Text::Plain(status.raw()));
    let said = text(member("message")).or_else(|| text(member("formatted"))).or_else(|| line.error().map(Value::raw).map(Text::Plain));
    out.emit(Meta::Error { code, text: said }, Pointer::At("/error"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::{events, left_over, line};

    #[test]
    fn names_and_places_are_facts_of_the_session() {
        let tree = json!({"worktreePath": "/p/trees/a", "worktreeBranch": "b", "originalCwd": "/p of mine", "worktreeName": "a"});
        let lines = [
            line("2.1.220", 1, "user", json!({"message": {"role": "user", "content": "go"}})),
            json!({"type": "custom-title", "customTitle": "fold it", "sessionId": "s"}),
            json!({"type": "agent-name", "agentName": "fold it", "sessionId": "s"}),
            json!({"type": "custom-title", "customTitle": "fold it", "sessionId": "s"}),
            json!({"type": "agent-name", "agentName": "fold it", "sessionId": "s"}),
            json!({"type": "worktree-state", "worktreeSession": tree, "sessionId": "s"}),
            json!({"type": "relocated", "relocatedCwd": "/p/trees/c", "sessionId": "s"}),
            json!({"type": "bridge-session", "bridgeSessionId": "b", "sessionId": "s"}),
        ];
        let said = events(&lines, "meta");
        let facts = |name: &str| -> Vec<Value> {
            said.iter().filter(|event| event["label"] == "session" && !event[name].is_null()).map(|event| event[name].clone()).collect()
        };
        assert_eq!((facts("title"), facts("agent")), (vec![json!("fold it")], vec![json!("fold it")]));
        assert_eq!(facts("cwd")[1..], ["/p/trees/a", "/p/trees/c"]);
        assert_eq!(left_over(&lines), 0);
    }

    #[test]
    fn a_refusal_says_why() {
        let refusal = json!({"subtype": "model_refusal_fallback", "content": "Another model goes on.", "apiRefusalCategory": "policy",
            "apiRefusalExplanation": "It is not allowed."});
        let lines = [
            line("2.1.220", 1, "system", json!({"subtype": "informational", "content": "A hook has blocked it.", "level": "warning"})),
            line("2.1.220", 2, "system", refusal),
            line(
                "2.1.220",
                3,
                "system",
                json!({"subtype": "bridge_status", "content": "It is shown elsewhere.", "upgradeNudge": "Upgrade it now."}),
            ),
        ];
        let said = events(&lines, "meta");
        let error = said.iter().find(|event| event["label"] == "error").unwrap();
        assert_eq!((&error["code"], &error["text"]), (&json!("policy"), &json!("It is not allowed.")));
        let notices: Vec<&str> =
            said.iter().filter(|event| event["label"] == "system").filter_map(|event| event["text"].as_str()).collect();
        assert_eq!(notices, ["A hook has blocked it.", "Another model goes on.", "It is shown elsewhere."]);
        assert_eq!(left_over(&lines), 0);
    }
}
