//! Real answers in JSON against `docs/answers.schema.json`, where a member that the schema lacks is a fault.

use boon::{Compiler, SchemaIndex, Schemas};

use super::index::{Home, text_of};
use super::*;

/// The schema of one line, without members that a later version may add.
struct Line {
    schemas: Schemas,
    index: SchemaIndex,
}

/// Forbids what a schema does not name.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            members.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

fn schema() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/answers.schema.json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

impl Line {
    /// One line, without members that a later version may add.
    fn new(name: &str) -> Line {
        let mut schema = schema()["$defs"][name].clone();
        assert!(schema.is_object(), "{name} is in the schema");
        strict(&mut schema);
        Line::of(schema)
    }

    /// What `engram schema --answers` prints, of one command or of all.
    fn printed(command: &str) -> Line {
        let printed = run(&["schema", "--answers", command]);
        assert_eq!(code(&printed), 0, "{command}: {}", stderr(&printed));
        Line::of(serde_json::from_slice(&printed.stdout).unwrap())
    }

    fn of(schema: Value) -> Line {
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource("line.json", schema).unwrap();
        let index = compiler.compile("line.json", &mut schemas).unwrap();
        Line { schemas, index }
    }

    fn check(&self, line: &Value) -> Result<(), String> {
        let valid = self.schemas.validate(line, self.index);
        valid.map_err(|error| format!("{error}\n{line:#}"))
    }
}

/// Each line of an answer is one of these, and each of these is there, as far as `must` says.
fn check(home: &Home, args: &[&str], lines: &[&str]) {
    let out = home.run(args);
    assert_eq!(code(&out), 0, "{args:?}: {}", stderr(&out));
    let kinds: Vec<Line> = lines.iter().map(|name| Line::new(name)).collect();
    let mut seen = vec![false; kinds.len()];
    let command = lines[0].split('.').next().unwrap();
    let (of_command, of_any) = (Line::printed(command), Line::printed("all"));
    for line in text_of(&out).lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let results: Vec<Result<(), String>> =
            kinds.iter().map(|kind| kind.check(&value)).collect();
        let Some(kind) = results.iter().position(Result::is_ok) else {
            panic!("{args:?}: {results:?}");
        };
        seen[kind] = true;
        of_command.check(&value).unwrap();
        // A row of a question can have any members, so it is in the schema of its command alone.
        assert_eq!(of_any.check(&value).is_ok(), lines[kind] != "query.row");
        refuses_another(&of_command, command, &value);
    }
    assert!(
        seen.iter().all(|seen| *seen),
        "{args:?}: {lines:?} {seen:?}"
    );
}

/// The schema of a command refuses its lines if a member has another type. The members of a row of `query` are what was asked for.
fn refuses_another(schema: &Line, command: &str, line: &Value) {
    let names = line.as_object().into_iter().flat_map(|line| line.keys());
    for name in names.filter(|_| command != "query") {
        let mut wrong = line.clone();
        wrong[name] = serde_json::json!([false]);
        assert!(
            schema.check(&wrong).is_err(),
            "{command}: {name} can be anything: {wrong:#}"
        );
    }
}

#[test]
fn real_answers_are_valid_and_have_no_other_members() {
    let home = Home::new();
    home.project();
    let tape = only_file(Path::new(&home.path("tapes")), ".tape.jsonl");
    let (tape, event) = (tape.to_str().unwrap(), format!("{}#5", tape.display()));
    let explained = ["explain.lines", "explain.end"];
    let events = ["explain.event", "explain.end"];
    let answers: [(&[&str], &[&str]); 19] = [
        (&["explain", "proj/src/a.py"], &explained),
        (&["explain", "proj/src/a.py", "--no-ingest"], &explained),
        (&["explain", "--text", "x = 1"], &explained),
        (&["explain", "proj/src/a.py", "--history"], &events),
        (&["explain", "proj/src/a.py:6-7", "--history"], &events),
        (&["explain", "proj/src/a.py", "--removed"], &events),
        (&["blame", "proj/src/a.py"], &["blame.lines", "blame.end"]),
        (&["grep", "LAB"], &["grep.match", "grep.end"]),
        (&["query", "SELECT * FROM calls"], &["query.row"]),
        (
            &["query", "SELECT * FROM calls", "--limit", "2"],
            &["query.end", "query.row"],
        ),
        (&["query"], &["query.column"]),
        (&["show", &event], &["show.event", "show.end"]),
        (&["list", tape], &["list.session"]),
        (&["files", tape], &["files.file"]),
        (&["stats", tape], &["stats.counts"]),
        (&["stats", tape, "--by", "model"], &["stats.counts"]),
        (&["detect", "LOG"], &["detect.session"]),
        (&["audit", "LOG"], &["audit.session"]),
        (&["index", "status"], &["index-status.status"]),
    ];
    let log = claude_file();
    for (args, lines) in answers {
        let args: Vec<&str> = args
            .iter()
            .map(|word| if *word == "LOG" { text(&log) } else { word })
            .chain(["--json"])
            .collect();
        check(&home, &args, lines);
    }
}

#[test]
fn the_list_of_adapters_and_the_summary_of_a_run_are_valid() {
    let list: Value = serde_json::from_slice(&run(&["adapters", "--json"]).stdout).unwrap();
    Line::new("adapters.list").check(&list).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let broken = directory.path().join("broken.jsonl");
    fs::write(&broken, "no log\n").unwrap();
    let (out, summary) = (
        directory.path().join("out"),
        directory.path().join("s.json"),
    );
    let log = claude_file();
    let args = [
        "ingest",
        text(&log),
        text(&broken),
        "--out",
        text(&out),
        "--summary",
        text(&summary),
    ];
    assert_eq!(code(&run(&args)), 1);
    let mut summary: Value = serde_json::from_slice(&fs::read(summary).unwrap()).unwrap();
    assert_eq!(summary["errors"].as_array().unwrap().len(), 1);
    let schema = Line::new("ingest.summary");
    schema.check(&summary).unwrap();
    refuses_another(&schema, "ingest", &summary);
    summary["errors"][0]["code"] = 1.into();
    assert!(schema.check(&summary).is_err());
}

#[test]
fn an_object_that_no_command_prints_is_a_fault() {
    for command in [
        "all", "list", "stats", "files", "explain", "audit", "adapters",
    ] {
        let schema = Line::printed(command);
        for object in [
            serde_json::json!({}),
            serde_json::json!({"foo": 1}),
            Value::Null,
        ] {
            assert!(schema.check(&object).is_err(), "{command}: {object}");
        }
    }
}

#[test]
fn the_command_prints_the_schema_and_an_unknown_member_is_a_fault() {
    let printed: Value = serde_json::from_slice(&run(&["schema", "--answers"]).stdout).unwrap();
    assert_eq!(printed, schema());
    let line = Line::new("grep.end");
    let mut end = serde_json::json!({"k": "end", "returned": 0, "total": 0});
    line.check(&end).unwrap();
    end["more"] = 1.into();
    assert!(line.check(&end).is_err());
}
