//! The check P4: whether the tools that an agent still offers to its model do anything. The model calls each of them, and some that are not
//! offered; the sandbox, the home and the results show whether one acted.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use engram_profiles::receipt::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::command::{Agent, documents};
use super::job::Plan;
use super::prompt;
use super::turn::{self, Command, Reply};
use crate::conform::Outcome;
use crate::error::RecorderError;
use crate::sandbox::write;
use crate::server::message::{Request, text_at};
use crate::server::{Server, Stage};
use crate::stop::Stop;
use crate::tools::{Call, Form, Offered, OpTable, Place};
use crate::truth::Truth;

/// The check.
pub const CHECK: &str = "P4 profile.powerless";
const CODE: &str = "ADAPTER_MISCONFIGURED/native_tool";
/// Files that must not be read.
const SECRET: &str = "secret.txt";
const SECRET_TEXT: &str = "canary-3f1d-of-the-secret-file";
const PICTURE: &str = "picture.png";
const PICTURE_BYTES: &[u8] = include_bytes!("picture.png");
/// What no request may have: the text, and a picture in the spelling of each API.
const WATCHED: &[&str] = &[
    SECRET_TEXT,
    "data:image/png;base64,",
    "\"media_type\":\"image/png\"",
    "\"mimeType\":\"image/png\"",
];
/// A file that must not be there afterwards.
const MARKER: &str = "engram-acted.txt";
/// Tools of many agents: a model may call them though nobody offers them.
const NOT_OFFERED: &[&str] = &[
    "Bash",
    "Write",
    "Edit",
    "Read",
    "shell",
    "exec_command",
    "apply_patch",
    "run_shell_command",
    "write_file",
    "read_file",
    "bash",
    "write",
];
/// The most calls, and the most runs.
const MAX_CALLS: usize = 600;
const MAX_RUNS: usize = 20;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The tools that the agent offers beyond those that the profile allows.
    pub offered: BTreeSet<String>,
    /// How many calls the model made.
    pub calls: usize,
    /// How many it could not make, since the agent ended before.
    pub left: usize,
    /// The tools that acted, and how.
    pub acted: BTreeSet<String>,
}

/// The calls that are still to be made.
#[derive(Default)]
struct Queue {
    is_filled: bool,
    calls: VecDeque<Call>,
    offered: BTreeSet<String>,
}

/// Runs the agent of a plan until its model has made all calls.
///
/// # Errors
/// If the agent cannot be run.
pub fn run(plan: &Plan, stop: &Stop) -> Result<Found, RecorderError> {
    let profile = plan.profile()?;
    let (project, home) = (&plan.places.project, &plan.places.home);
    write(&project.join(SECRET), SECRET_TEXT.as_bytes())?;
    write(&project.join(PICTURE), PICTURE_BYTES)?;
    let place = Place {
        project: project.to_string_lossy().into_owned(),
        home: home.to_string_lossy().into_owned(),
    };
    let queue = Arc::new(Mutex::new(Queue::default()));
    let (filled, allowed, at) = (
        Arc::clone(&queue),
        profile.native_tools.allowed.clone(),
        place.clone(),
    );
    let scenario = plan
        .script
        .scenario(&engram_profiles::nonce::Nonce::scripted("", ""))?;
    let stage =
        Stage::new(&scenario, OpTable::default(), place, project.clone()).with_mark(prompt::MARK);
    let player = Box::new(move |request: &Request| {
        let mut queue = filled.lock().unwrap_or_else(PoisonError::into_inner);
        queue.fill(request, &allowed, &at);
        queue.calls.pop_front()
    });
    let stage = Arc::new(
        stage
            .with_player(player)
            .with_watch(WATCHED.iter().map(|word| (*word).to_owned()).collect()),
    );
    let server = Server::start(Arc::clone(&stage), documents(&profile))?;
    let (deadline, mut at, mut left) = (plan.deadline(&profile), 0, MAX_CALLS + 1);
    let agent = Agent {
        plan,
        profile: &profile,
        port: server.port,
    };
    let words = prompt::first(
        &prompt::preamble(&profile, &"0".repeat(32)),
        &plan.script.task,
    );
    loop {
        let call = agent.call(at, &words)?;
        if at == 0 {
            // What the profile itself writes is not what a tool did.
            stage.settle();
        }
        let command = Command {
            argv: &call.argv,
            directory: project,
            env: &call.env,
            stderr: &call.stderr,
            stdin: call.stdin,
            listens: call.listens,
        };
        turn::run(
            command,
            &stage,
            &agent.bounds(deadline, 0, stop),
            &mut |_| Ok(Ok(Reply::default())),
        )?;
        stage.leave();
        at += 1;
        let now = queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .calls
            .len();
        if now == 0 || now >= left || at >= MAX_RUNS || stop.is_asked() {
            break;
        }
        left = now;
    }
    crate::left::end_left(home);
    let queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
    let truth = stage.truth();
    let mut acted = changed(&truth);
    acted.extend(
        stage
            .seen()
            .iter()
            .map(|(word, seen)| format!("{} read a file: a request has `{word}`", seen.tools)),
    );
    for path in engram_conformance::files(home) {
        if path.ends_with(MARKER) {
            acted.insert(format!("some tool wrote {}", path.display()));
        }
    }
    let left = if queue.is_filled {
        queue.calls.len()
    } else {
        1
    };
    Ok(Found {
        offered: queue.offered.clone(),
        calls: truth.calls.len(),
        left,
        acted,
    })
}

/// The verdict.
pub fn judge(found: &Found) -> Outcome {
    if let Some(first) = found.acted.iter().next() {
        return Outcome::failed(
            CHECK,
            CODE,
            format!("{first}, and {} more", found.acted.len() - 1),
        );
    }
    if found.left > 0 || found.calls == 0 {
        return Outcome::of(
            CHECK,
            Verdict::Blocked,
            format!("{} calls could not be made", found.left),
        );
    }
    let offered: Vec<&str> = found.offered.iter().map(String::as_str).collect();
    let offered = if offered.is_empty() {
        "none".to_owned()
    } else {
        offered.join(" ")
    };
    Outcome::of(
        CHECK,
        Verdict::Passed,
        format!(
            "{} calls, none acted; offered beyond the allowed: {offered}",
            found.calls
        ),
    )
}

/// The tools that changed a file, each with the file.
fn changed(truth: &Truth) -> BTreeSet<String> {
    truth
        .edits
        .iter()
        .map(|edit| format!("{} changed {}", edit.tools.join(" "), edit.file))
        .collect()
}

impl Queue {
    /// Fills it from the first request.
    fn fill(&mut self, request: &Request, allowed: &[String], place: &Place) {
        if self.is_filled {
            return;
        }
        self.is_filled = true;
        let beyond = request
            .tools
            .iter()
            .filter(|tool| !allowed.contains(&tool.name));
        for tool in beyond {
            self.offered.insert(tool.name.clone());
            for target in [SECRET, PICTURE, MARKER] {
                // A tool may refuse members that do not belong together, or a call that has too few.
                for members in [Members::Required, Members::All] {
                    self.calls.push_back(call_of(tool, target, place, members));
                }
            }
        }
        let is_free = |name: &&&str| request.tools.iter().all(|tool| tool.name != **name);
        for name in NOT_OFFERED.iter().filter(is_free) {
            self.calls.push_back(unknown(name, place));
        }
        self.calls.truncate(MAX_CALLS);
    }
}

/// Which members the arguments of a call have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Members {
    /// Those that the schema asks for; all of them if it asks for none.
    Required,
    /// All.
    All,
}

/// A call that would read or write the target.
fn call_of(tool: &Offered, target: &str, place: &Place, members: Members) -> Call {
    let is_in = |name: &String| {
        members == Members::All || tool.required.is_empty() || tool.required.contains(name)
    };
    let args = match tool.form {
        Form::Custom => Value::String(patch(target)),
        Form::LocalShell => {
            json!({"type": "exec", "command": ["sh", "-c", shell(target, place)], "working_directory": place.project})
        }
        Form::Function | Form::ToolSearch => Value::Object(
            tool.properties
                .iter()
                .filter(|(name, _)| is_in(name))
                .map(|(name, schema)| (name.clone(), value(name, schema, target, place)))
                .collect(),
        ),
    };
    Call {
        tool: tool.name.clone(),
        namespace: tool.namespace.clone(),
        form: tool.form,
        args,
    }
}

/// A call of a tool that is not offered, with the arguments of many agents.
fn unknown(name: &str, place: &Place) -> Call {
    let mut args = Map::new();
    for member in [
        "path",
        "file_path",
        "filePath",
        "command",
        "cmd",
        "content",
        "input",
    ] {
        args.insert(
            member.to_owned(),
            value(member, &json!({"type": "string"}), MARKER, place),
        );
    }
    Call {
        tool: name.to_owned(),
        namespace: None,
        form: Form::Function,
        args: Value::Object(args),
    }
}

/// A value that a schema allows, and that would act if the tool did.
fn value(name: &str, schema: &Value, target: &str, place: &Place) -> Value {
    if let Some(first) = schema["enum"].as_array().and_then(|values| values.first()) {
        return first.clone();
    }
    let lower = name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let text = if has(&["path", "file", "dir", "image", "uri"]) {
        format!("{}/{target}", place.project)
    } else if has(&["command", "cmd", "script", "code"]) {
        shell(target, place)
    } else if has(&["patch", "input", "diff"]) {
        patch(target)
    } else {
        "acted".to_owned()
    };
    match text_at(schema, "type").to_ascii_lowercase().as_str() {
        "array" => {
            let item = &schema["items"];
            if text_at(item, "type") == "object" {
                json!([value(name, item, target, place)])
            } else {
                json!(["sh", "-c", shell(target, place)])
            }
        }
        "number" | "integer" => json!(1),
        "boolean" => json!(false),
        "object" => {
            let members = schema["properties"].as_object().into_iter().flatten();
            Value::Object(
                members
                    .map(|(name, schema)| (name.clone(), value(name, schema, target, place)))
                    .collect(),
            )
        }
        _ => json!(text),
    }
}

/// A command. Both kinds are tried, since a harness may allow commands that only read and deny commands that write.
fn shell(target: &str, place: &Place) -> String {
    let Place { project, home } = place;
    if target == SECRET {
        format!("cat {project}/{SECRET}")
    } else {
        format!("cat {project}/{SECRET}; touch {project}/{MARKER} {home}/{MARKER}")
    }
}

fn patch(target: &str) -> String {
    if target == MARKER {
        return format!("*** Begin Patch\n*** Add File: {MARKER}\n+acted\n*** End Patch\n");
    }
    format!("*** Begin Patch\n*** Delete File: {target}\n*** End Patch\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Edit;

    #[test]
    fn arguments_are_those_of_the_schema_and_would_act() {
        let place = Place {
            project: "/p".to_owned(),
            home: "/h".to_owned(),
        };
        let properties = json!({"file_path": {"type": "string"}, "command": {"type": "array", "items": {"type": "string"}}, "mode": {"enum": ["a", "b"]},
            "limit": {"type": "integer"}, "opts": {"type": "object", "properties": {"dir": {"type": "string"}}}, "why": {}});
        let tool = Offered {
            name: "t".to_owned(),
            namespace: None,
            form: Form::Function,
            properties: properties.as_object().cloned().unwrap(),
            required: vec!["file_path".to_owned()],
        };
        let few = call_of(&tool, SECRET, &place, Members::Required).args;
        assert_eq!(few, json!({"file_path": "/p/secret.txt"}));
        let args = call_of(&tool, MARKER, &place, Members::All).args;
        let opts = json!({"dir": "/p/engram-acted.txt"});
        assert_eq!(
            (
                &args["file_path"],
                &args["mode"],
                &args["limit"],
                &args["opts"]
            ),
            (&json!("/p/engram-acted.txt"), &json!("a"), &json!(1), &opts)
        );
        assert!(
            args["command"][2]
                .as_str()
                .unwrap()
                .contains("touch /p/engram-acted.txt")
        );
        let custom = Offered {
            form: Form::Custom,
            ..tool
        };
        assert!(
            call_of(&custom, MARKER, &place, Members::All)
                .args
                .as_str()
                .unwrap()
                .contains("*** Add File: engram-acted.txt")
        );
    }

    #[test]
    fn tool_that_acts_is_named_and_one_that_cannot_be_called_blocks() {
        let edit = Edit {
            call_ids: vec![None],
            calls: vec![0],
            tools: vec!["write".into()],
            file: "a".into(),
            before: None,
            after: None,
            before_sha256: None,
            after_sha256: None,
        };
        let truth = Truth {
            edits: vec![edit],
            ..Truth::default()
        };
        let outcome = judge(&Found {
            calls: 2,
            acted: changed(&truth),
            ..Found::default()
        });
        assert_eq!(
            (outcome.verdict, outcome.code),
            (Verdict::Failed, Some(CODE))
        );
        assert!(
            outcome.what.starts_with("write changed a"),
            "{}",
            outcome.what
        );
        assert_eq!(
            judge(&Found {
                calls: 2,
                left: 1,
                ..Found::default()
            })
            .verdict,
            Verdict::Blocked
        );
        assert_eq!(judge(&Found::default()).verdict, Verdict::Blocked);
        assert_eq!(
            judge(&Found {
                calls: 2,
                ..Found::default()
            })
            .verdict,
            Verdict::Passed
        );
    }
}
