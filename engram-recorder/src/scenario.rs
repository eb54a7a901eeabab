//! Scenarios as data: what a recording shows, which commands are run, and what the scripted model answers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use regex::Regex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::bounded;
use crate::error::{Fault, RecorderError};
use crate::sandbox::is_below;

/// Ops that say how the model answers. Every other op is a call of a tool.
pub const ANSWER_OPS: &[&str] = &[
    "say", "think", "redacted", "usage", "stop", "error", "cut", "fail", "stall", "sleep", "pace",
    "item",
];
/// The most runs of one scenario.
const MAX_RUNS: usize = 32;
/// The most bytes of its file.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// The most seconds of a run.
const MAX_SECONDS: u64 = 3600;
/// The most letters of an id.
const MAX_ID: usize = 64;

/// True for a name that can be that of a directory: letters, digits, `-` and `_`.
pub(crate) fn is_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// True for the name of a package: `name` or `@scope/name`.
fn is_package(name: &str) -> bool {
    let parts: Vec<&str> = name.strip_prefix('@').unwrap_or(name).split('/').collect();
    parts.len() == 1 + usize::from(name.starts_with('@')) && parts.into_iter().all(is_id)
}

/// One scenario: a file of `scenarios/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The name of the file without `.json`.
    pub id: String,
    /// What it is about, for people.
    pub about: String,
    /// Names of `scenarios/features.tsv`.
    pub shows: Vec<String>,
    /// True if a sweep records it with every version. With the newest version of a harness, a sweep records all scenarios that it can run.
    #[serde(default)]
    pub core: bool,
    /// The harnesses that can run it; empty: all.
    #[serde(default)]
    pub only: BTreeSet<String>,
    /// Whether the harness may act without asking.
    #[serde(default)]
    pub permissions: Permissions,
    /// The model that the harness is asked to use, by harness; absent: the one that its recorder names.
    #[serde(default)]
    pub model: BTreeMap<String, String>,
    /// What is added to the settings file of a harness, by harness.
    #[serde(default)]
    pub settings: BTreeMap<String, Value>,
    /// Files that are written before the first run. A path with `~/` is below the home, any other one below the project.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Further variables of the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The commands, in order.
    pub runs: Vec<Run>,
    /// What the model answers, by conversation. A conversation is told by the last `[[key]]` in the text of a user.
    pub threads: BTreeMap<String, Vec<Step>>,
}

/// What the harness may do without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permissions {
    /// Everything.
    #[default]
    Full,
    /// What it may by default, with nobody there to ask.
    Default,
    /// What it may where nobody has changed anything: the recorder writes no setting and no flag about permissions, so the harness has its own
    /// sandbox and mode.
    Everyday,
}

/// One command.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Run {
    /// What the person says.
    pub prompt: String,
    /// Which session it goes on with.
    pub resume: Option<Resume>,
    /// Images of the project that are attached to the prompt, or to the first of the messages in `says`.
    pub images: Vec<String>,
    /// The words behind the program, as they are, for a command of another kind: `{prompt}`, `{session}` (the id of the first session of the
    /// scenario), `{short}` (its first eight letters), `{project}`, `{home}`, `{harness}` (where it is installed), `{program}` and `{port}` (one
    /// that is free) are filled in.
    pub command: Vec<String>,
    /// What `command` reads from a pipe.
    pub stdin: String,
    /// A package of npm that drives the harness. `command` has the words behind `node` then; without the package the run is skipped.
    pub package: String,
    /// What is waited for after its end: it may leave work behind.
    pub until: Option<Moment>,
    /// Further arguments. A flag that `--help` does not name skips the run.
    pub args: Vec<String>,
    /// Only these harnesses run it; empty: all.
    pub only: BTreeSet<String>,
    /// When the process group is killed.
    pub kill: Option<Moment>,
    /// The longest time that it may take, in seconds; 0: the default.
    pub timeout: u64,
    /// True if it starts together with the run before.
    pub together: bool,
    /// Whether the harness may act without asking, if this run differs from the scenario.
    pub permissions: Option<Permissions>,
    /// The messages of a person over standard input, where the harness has such a mode. `prompt` is then empty.
    pub says: Vec<String>,
    /// What is pressed in a terminal; then the run needs one. `prompt` is empty.
    pub keys: Vec<Key>,
    /// Answers to questions for permission in that mode, by tool; `*` for any. Of a client: by method.
    pub answers: BTreeMap<String, Vec<Value>>,
    /// The file that gets what the command prints, which is then not in the recording.
    pub into: String,
    /// What a client of the command does: over standard input and output in JSON-RPC, or over HTTP if the command has a `{port}`.
    pub client: Vec<Act>,
}

impl Run {
    /// True if this harness runs it.
    pub fn is_for(&self, harness: &str) -> bool {
        self.only.is_empty() || self.only.contains(harness)
    }
}

/// What a client of a harness does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Act {
    /// Waits so many milliseconds.
    Wait(u64),
    /// Waits until so many answers of a conversation were begun.
    Answer {
        /// The conversation.
        thread: String,
        /// How many.
        answers: usize,
    },
    /// Calls a method, and waits for the answer.
    Call(Call),
    /// Sends a message that has no answer.
    Notify(Message),
    /// Waits for a message of the harness that came after the last call was made.
    Until(Message),
    /// Waits until every call is answered.
    Settle(bool),
}

/// A call of a client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// The method; over HTTP, `GET /path`.
    pub method: String,
    /// Its parameters; over HTTP, the body. `{name}` is a value that was kept, `{says}` what the person says, `{project}` and `{home}` are paths.
    pub params: Value,
    /// What the person says with it.
    pub says: String,
    /// Values of the answer that are kept, by name: where they are. `session` is the session of the run.
    pub keep: BTreeMap<String, String>,
    /// True if its answer is not waited for.
    pub later: bool,
    /// True if it is made again until it is answered with every value that is kept.
    pub again: bool,
    /// The message that is waited for after the answer.
    pub until: Option<Message>,
}

/// A message without an answer, or what one must have.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// The method.
    pub method: String,
    /// Its parameters, as in a call. One that is waited for has at least these.
    pub params: Value,
}

/// What a person does at a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Key {
    /// Waits so many milliseconds.
    Wait(u64),
    /// Types a prompt and presses enter.
    Say(String),
    /// Types a text.
    Type(String),
    /// Presses `enter`, `escape`, `tab`, `shift-tab`, `up`, `down`, `left`, `right`, or `ctrl-` and a letter.
    Press(String),
    /// Waits until the screen shows one of these words, at most so long.
    Screen {
        /// The words. Blanks in them are not compared: a screen may show them as moves of the cursor.
        any: Vec<String>,
        /// The longest time, in milliseconds.
        wait_ms: u64,
    },
    /// Waits until so many answers of a conversation were begun.
    Answer {
        /// The conversation.
        thread: String,
        /// How many.
        answers: usize,
    },
}

/// Which session a run goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Resume {
    /// The last one.
    Last,
    /// The first one of the scenario, by its id.
    First,
    /// A copy of the first one.
    Fork,
}

/// A moment of a conversation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moment {
    /// The conversation.
    pub thread: String,
    /// After this many of its answers were begun.
    pub answers: usize,
    /// And after so many milliseconds more.
    pub wait_ms: u64,
}

/// One answer of the model.
pub type Step = Vec<Op>;

/// One part of an answer: `{"name": fields}`; a string stands for `{"text": …}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Op {
    /// What it is.
    pub name: String,
    /// Its fields.
    pub fields: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for Op {
    type Error = String;

    fn try_from(map: Map<String, Value>) -> Result<Op, String> {
        let mut members = map.into_iter();
        let (Some((name, value)), None) = (members.next(), members.next()) else {
            return Err("an op is an object with one member: its name".to_owned());
        };
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null | Value::Bool(true) => Map::new(),
            other => Map::from_iter([("text".to_owned(), other)]),
        };
        Ok(Op { name, fields })
    }
}

impl From<Op> for Map<String, Value> {
    fn from(op: Op) -> Self {
        Map::from_iter([(op.name, Value::Object(op.fields))])
    }
}

impl Op {
    /// True if it is a call of a tool.
    pub fn is_call(&self) -> bool {
        !ANSWER_OPS.contains(&self.name.as_str())
    }

    /// A field that is text.
    pub fn text(&self, field: &str) -> &str {
        self.fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// A field that is a number, 0 if it is absent.
    pub fn number(&self, field: &str) -> u64 {
        self.fields
            .get(field)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }
}

/// The conversation that a text names: its last `[[key]]`.
pub fn marker(text: &str) -> Option<&str> {
    text.rmatch_indices("[[").find_map(|(at, _)| {
        let (key, _) = text[at + 2..].split_once("]]")?;
        let is_key = !key.is_empty()
            && key
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        is_key.then_some(key)
    })
}

impl Scenario {
    /// Reads one file.
    ///
    /// # Errors
    /// `bad_scenario` if it is not a scenario.
    pub fn read(path: &Path) -> Result<Scenario, RecorderError> {
        let text =
            bounded::read_text(path, MAX_BYTES).map_err(|error| RecorderError::io(path, &error))?;
        let bad = |what: String| {
            RecorderError::new(Fault::BadScenario, format!("{}: {what}", path.display()))
        };
        let scenario: Scenario =
            serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        if scenario.id != name {
            return Err(bad(format!("its id is {}, its file {name}", scenario.id)));
        }
        scenario.fault().map_or(Ok(scenario), |what| Err(bad(what)))
    }

    /// Every scenario of a directory, by id.
    ///
    /// # Errors
    /// `bad_scenario` if one of them is wrong, or if there is none.
    pub fn read_all(directory: &Path) -> Result<BTreeMap<String, Scenario>, RecorderError> {
        let listing = fs::read_dir(directory).map_err(|error| {
            let what = "the repository has a directory of scenarios; `--scenarios DIR` names it";
            RecorderError::new(
                Fault::Io,
                format!("{}: {error}; {what}", directory.display()),
            )
        })?;
        let mut all = BTreeMap::new();
        for path in listing.filter_map(|entry| Some(entry.ok()?.path())) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if name.ends_with(".json") && !name.starts_with('_') {
                let scenario = Scenario::read(&path)?;
                all.insert(scenario.id.clone(), scenario);
            }
        }
        if all.is_empty() {
            return Err(RecorderError::new(
                Fault::BadScenario,
                format!("{} has no scenarios", directory.display()),
            ));
        }
        Ok(all)
    }

    /// What is wrong with it, if anything is.
    fn fault(&self) -> Option<String> {
        if self.runs.is_empty() || self.runs.len() > MAX_RUNS {
            return Some(format!("a scenario has 1 to {MAX_RUNS} runs"));
        }
        if !is_id(&self.id) {
            return Some(format!("its id has 1 to {MAX_ID} letters, digits, - and _"));
        }
        if let Some(run) = self.runs.iter().find(|run| run.timeout > MAX_SECONDS) {
            return Some(format!(
                "a run has at most {MAX_SECONDS} seconds, not {}",
                run.timeout
            ));
        }
        if let Some(name) = self.files.keys().find(|name| !is_below(name)) {
            return Some(format!(
                "/files: `{name}` is not below the project or the home"
            ));
        }
        let into = |run: &&Run| !run.into.is_empty() && !is_below(&run.into);
        if let Some(run) = self.runs.iter().find(into) {
            return Some(format!(
                "/runs: `{}` is not below the project or the home",
                run.into
            ));
        }
        let needs_command =
            |run: &Run| !run.client.is_empty() || !run.stdin.is_empty() || !run.package.is_empty();
        if self
            .runs
            .iter()
            .any(|run| needs_command(run) && run.command.is_empty())
        {
            return Some("/runs: a client, a pipe and a package need a command".to_owned());
        }
        if let Some(run) = self
            .runs
            .iter()
            .find(|run| !run.package.is_empty() && !is_package(&run.package))
        {
            return Some(format!("/runs: `{}` is no package of npm", run.package));
        }
        if let Some(name) = self.env.iter().find(|(name, value)| {
            name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
        }) {
            return Some(format!("/env: `{}` is no variable", name.0));
        }
        if self.shows.is_empty() {
            return Some("it shows nothing".to_owned());
        }
        let markers = Regex::new(r"\[\[([A-Za-z0-9_]+)\]\]").ok()?;
        let text = serde_json::to_string(self).ok()?;
        let named: BTreeSet<&str> = markers
            .captures_iter(&text)
            .filter_map(|found| Some(found.get(1)?.as_str()))
            .collect();
        if let Some(key) = named.iter().find(|key| !self.threads.contains_key(**key)) {
            return Some(format!(
                "a text names the conversation `{key}`, which is not there"
            ));
        }
        let idle = self
            .threads
            .keys()
            .find(|key| !named.contains(key.as_str()));
        idle.map(|key| format!("no text names the conversation `{key}`"))
    }

    /// The conversations that a person leads: those that prompts name, or commands in files that a prompt calls. The others are those of
    /// agents, which texts of the model name.
    pub fn main_threads(&self) -> BTreeSet<String> {
        let said = |run: &Run| {
            let keys = run.keys.iter().filter_map(|key| match key {
                Key::Say(text) => Some(text.clone()),
                _ => None,
            });
            let calls = run.client.iter().filter_map(|act| match act {
                Act::Call(call) => Some(call.says.clone()),
                _ => None,
            });
            keys.chain(calls).collect::<Vec<_>>()
        };
        let prompts = self.runs.iter().flat_map(|run| {
            run.says
                .iter()
                .chain([&run.prompt, &run.stdin])
                .cloned()
                .chain(said(run))
        });
        let prompted: BTreeSet<String> = prompts
            .filter_map(|prompt| marker(&prompt).map(str::to_owned))
            .collect();
        let model = serde_json::to_string(&self.threads).unwrap_or_default();
        let is_main =
            |key: &&String| prompted.contains(*key) || !model.contains(&format!("[[{key}]]"));
        self.threads.keys().filter(is_main).cloned().collect()
    }

    /// True if this harness can run it, or a part of it.
    pub fn is_for(&self, harness: &str) -> bool {
        (self.only.is_empty() || self.only.contains(harness))
            && self.runs.iter().any(|run| run.is_for(harness))
    }

    /// The packages of npm that its runs need.
    pub fn packages(&self) -> BTreeSet<&str> {
        let packages = self.runs.iter().map(|run| run.package.as_str());
        packages.filter(|package| !package.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_marker_names_the_conversation() {
        assert_eq!(marker("do it [[one]] and [[two_2]]"), Some("two_2"));
        assert_eq!(marker("a [[ no ]] list[[0]] [[x y]]"), Some("0"));
        assert_eq!(marker("[[]] [[a"), None);
    }

    #[test]
    fn op_has_one_name() {
        let op: Op = serde_json::from_str(r#"{"say": "hi"}"#).unwrap();
        assert_eq!(
            (op.name.as_str(), op.text("text"), op.is_call()),
            ("say", "hi", false)
        );
        assert!(serde_json::from_str::<Op>(r#"{"say": "hi", "read": {}}"#).is_err());
        assert!(serde_json::from_str::<Op>("{}").is_err());
    }

    #[test]
    fn conversations_that_only_the_model_names_are_those_of_agents() {
        let scenario: Scenario = serde_json::from_str(
            r#"{"id":"a","about":"x","shows":["y"],"files":{"c.md":"count [[command]]"},"runs":[{"prompt":"hi [[one]]"},{"prompt":"/c"}],
                "threads":{"one":[[{"delegate":{"prompt":"do [[agent]]"}}]],"agent":[],"command":[]}}"#,
        )
        .unwrap();
        assert_eq!(Vec::from_iter(scenario.main_threads()), ["command", "one"]);
    }

    #[test]
    fn unknown_conversation_is_an_error() {
        let scenario = |prompt: &str| {
            let text = format!(
                r#"{{"id":"a","about":"x","shows":["text_response"],"runs":[{{"prompt":"{prompt}"}}],"threads":{{"one":[[{{"say":"x"}}]]}}}}"#
            );
            serde_json::from_str::<Scenario>(&text).unwrap()
        };
        assert_eq!(scenario("hi [[one]]").fault(), None);
        assert!(scenario("hi [[two]]").fault().unwrap().contains("`two`"));
        assert!(scenario("hi").fault().unwrap().contains("`one`"));
    }

    #[test]
    fn scenario_stays_in_its_place_and_in_its_time() {
        let sound = || -> Scenario {
            let text = r#"{"id":"a_b-1","about":"x","shows":["y"],"runs":[{"prompt":"[[m]]"}],"threads":{"m":[]}}"#;
            serde_json::from_str(text).unwrap()
        };
        assert_eq!(sound().fault(), None);
        for id in ["..", "", "a/b", "a\n", &"a".repeat(65)] {
            assert!(
                Scenario {
                    id: id.to_owned(),
                    ..sound()
                }
                .fault()
                .unwrap()
                .contains("its id"),
                "{id}"
            );
        }
        for (runs, word) in [
            (r#"[{"prompt":"[[m]]","into":"../x"}]"#, "below"),
            (r#"[{"prompt":"[[m]]","client":[{"wait":1}]}]"#, "command"),
            (r#"[{"prompt":"[[m]]","stdin":"x"}]"#, "command"),
            (
                r#"[{"prompt":"[[m]]","command":["x"],"package":"../x"}]"#,
                "npm",
            ),
        ] {
            let runs = serde_json::from_str(runs).unwrap();
            assert!(
                Scenario { runs, ..sound() }.fault().unwrap().contains(word),
                "{word}"
            );
        }
        for name in ["../x", "/etc/x", "~/../x", "a//b", ""] {
            let files = BTreeMap::from([(name.to_owned(), String::new())]);
            assert!(
                Scenario { files, ..sound() }
                    .fault()
                    .unwrap()
                    .contains("/files"),
                "{name}"
            );
        }
        let env = BTreeMap::from([("A=B".to_owned(), String::new())]);
        assert!(
            Scenario { env, ..sound() }
                .fault()
                .unwrap()
                .contains("/env")
        );
        let runs = vec![Run {
            timeout: u64::MAX,
            prompt: "[[m]]".to_owned(),
            ..Run::default()
        }];
        assert!(
            Scenario { runs, ..sound() }
                .fault()
                .unwrap()
                .contains("seconds")
        );
    }
}
