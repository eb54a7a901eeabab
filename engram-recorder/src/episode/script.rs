//! What the scripted model says in an episode: texts, and frames that ask for tools.

use std::collections::BTreeMap;
use std::path::Path;

use engram_profiles::canonical;
use engram_profiles::grammar::{self, Request};
use engram_profiles::nonce::Nonce;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::sandbox::is_below;
use crate::scenario::{MAX_BYTES, Op, Scenario, Step, is_id};

/// The scripts that come with the program, by id.
const SHIPPED: &[(&str, &str)] = &[
    (
        "look_and_write",
        include_str!("scripts/look_and_write.json"),
    ),
    ("contract", include_str!("scripts/contract.json")),
    ("cancel", include_str!("scripts/cancel.json")),
    ("never_ends", include_str!("scripts/never_ends.json")),
    ("two_calls", include_str!("scripts/two_calls.json")),
];
/// The conversation of an episode.
const THREAD: &str = "main";
/// What a text has instead of the nonce.
const NONCE: &str = "{nonce}";
/// The most answers of a script, and the most files.
const MOST: usize = 1000;

/// A scripted episode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Its name.
    pub id: String,
    /// What it is about, for people.
    pub about: String,
    /// What the agent is asked to do.
    pub task: String,
    /// The files of the sandbox; with `~/` those of the home.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The answers of the model, in order. Beside the ops of a scenario there is `intent`: a frame that asks for a tool. In a text,
    /// `{nonce}` stands for the nonce.
    pub steps: Vec<Vec<Value>>,
    /// After so many executed calls the caller wants no more: the episode is stopped as by a signal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_after: Option<u64>,
}

impl Script {
    /// The script with this name, or in this file.
    ///
    /// # Errors
    /// `unknown_scenario` if neither exists, `bad_scenario` if the script is wrong.
    pub fn find(which: &str) -> Result<Script, RecorderError> {
        if let Some((_, text)) = SHIPPED.iter().find(|(id, _)| *id == which) {
            return Script::parse(which, text);
        }
        let path = Path::new(which);
        if !path.exists() {
            let known: Vec<&str> = SHIPPED.iter().map(|(id, _)| *id).collect();
            return Err(RecorderError::new(
                Fault::UnknownScenario,
                format!(
                    "`{which}` is neither a file nor one of {}",
                    known.join(", ")
                ),
            ));
        }
        Script::parse(
            which,
            &bounded::read_text(path, MAX_BYTES)
                .map_err(|error| RecorderError::io(path, &error))?,
        )
    }

    /// Reads a script.
    ///
    /// # Errors
    /// `bad_scenario`.
    pub fn parse(name: &str, text: &str) -> Result<Script, RecorderError> {
        let bad = |what: String| RecorderError::new(Fault::BadScenario, format!("{name}: {what}"));
        let script: Script = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
        if script.steps.is_empty() || script.steps.len() > MOST || script.files.len() > MOST {
            return Err(bad(format!(
                "a script has 1 to {MOST} answers, and at most {MOST} files"
            )));
        }
        if !is_id(&script.id) {
            return Err(bad(
                "/id: expected 1 to 64 letters, digits, - and _".to_owned()
            ));
        }
        if let Some(name) = script.files.keys().find(|name| !is_below(name)) {
            return Err(bad(format!("/files: `{name}` is not below the sandbox")));
        }
        script.scenario(&Nonce::scripted("", "")).map(|_| script)
    }

    /// The scenario for the model server, with the nonce in its frames.
    ///
    /// # Errors
    /// `bad_scenario` if an op is wrong.
    pub fn scenario(&self, nonce: &Nonce) -> Result<Scenario, RecorderError> {
        let steps = self
            .steps
            .iter()
            .map(|step| self.step(step, nonce))
            .collect::<Result<Vec<Step>, _>>()?;
        let scenario = json!({
            "id": self.id, "about": self.about, "shows": ["tool_invocation"],
            "runs": [{"prompt": format!("[[{THREAD}]]")}], "threads": {THREAD: steps},
        });
        serde_json::from_value(scenario).map_err(|error| self.bad(&error.to_string()))
    }

    fn bad(&self, what: &str) -> RecorderError {
        RecorderError::new(Fault::BadScenario, format!("{}: {what}", self.id))
    }

    /// One answer: its texts and frames are one text, since a model puts nothing between them.
    fn step(&self, ops: &[Value], nonce: &Nonce) -> Result<Step, RecorderError> {
        let (mut text, mut step) = (String::new(), Step::new());
        for op in ops {
            let op: Op =
                serde_json::from_value(op.clone()).map_err(|error| self.bad(&error.to_string()))?;
            match op.name.as_str() {
                "say" => text.push_str(&op.text("text").replace(NONCE, nonce.as_str())),
                "intent" => text.push_str(&self.frame(&op, nonce)?),
                _ => step.push(op),
            }
        }
        if !text.is_empty() {
            step.push(Op {
                name: "say".to_owned(),
                fields: Map::from_iter([("text".to_owned(), Value::String(text))]),
            });
        }
        Ok(step)
    }

    fn frame(&self, op: &Op, nonce: &Nonce) -> Result<String, RecorderError> {
        let args = op.fields.get("args").cloned().unwrap_or_else(|| json!({}));
        let args = canonical::to_vec(&args)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let args = args.ok_or_else(|| self.bad("arguments that are no JSON"))?;
        let request = Request {
            id: op.text("id").to_owned(),
            tool: op.text("tool").to_owned(),
            args,
        };
        Ok(grammar::request_frame(nonce, &request))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scripts_are_sound() {
        for (id, text) in SHIPPED {
            assert_eq!(Script::parse(id, text).unwrap().id, *id);
        }
        assert_eq!(
            Script::find("nobody").unwrap_err().fault,
            Fault::UnknownScenario
        );
        let outside = r#"{"id":"a","about":"","task":"","files":{"../x":""},"steps":[[]]}"#;
        let nowhere = r#"{"id":"../a","about":"","task":"","steps":[[]]}"#;
        for text in [
            "{}",
            outside,
            nowhere,
            r#"{"id":"a","about":"","task":"","steps":[]}"#,
            r#"{"id":"a","about":"","task":"","steps":[[{"a":1,"b":2}]]}"#,
        ] {
            assert_eq!(
                Script::parse("x", text).unwrap_err().fault,
                Fault::BadScenario,
                "{text}"
            );
        }
    }

    #[test]
    fn texts_and_frames_of_an_answer_are_one_text() {
        let text = r#"{"id":"a","about":"","task":"","steps":[[{"say":"x {nonce}\n"},{"sleep":{"ms":1}},{"intent":{"id":"r1","tool":"read","args":{"b":1,"a":2}}}]]}"#;
        let nonce = Nonce::scripted("s", "e");
        let scenario = Script::parse("a", text).unwrap().scenario(&nonce).unwrap();
        let step = &scenario.threads[THREAD][0];
        assert_eq!((step.len(), step[0].name.as_str()), (2, "sleep"));
        let said = step[1].text("text");
        assert!(
            said.starts_with(&format!("x {}\n⟦TI1 ", nonce.as_str()))
                && said.ends_with("r1 read eyJhIjoyLCJiIjoxfQ\n"),
            "{said}"
        );
    }
}
