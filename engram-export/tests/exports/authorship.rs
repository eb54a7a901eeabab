//! Who made the lines of a commit, checked with the targets' own rules: the schema of Agent Trace, and the grammar of the Git AI standard.

use boon::{Compiler, Schemas};
use engram_export::authorship::{Commit, File, Made, agent_trace, git_notes};
use serde_json::Value;

/// A commit with names and models that need care.
fn commit() -> Commit {
    let made =
        |lines: &[[usize; 2]], harness: &str, session: &str, model: Option<&str>, seq: u64| Made {
            lines: lines.to_vec(),
            harness: harness.to_owned(),
            session: session.to_owned(),
            model: model.map(str::to_owned),
            call: format!("{session}#{seq}"),
        };
    let long = "m".repeat(300);
    Commit {
        sha: "7734793b756b3921c88db5375a8c156e9532447b".to_owned(),
        time: "2026-11-21T10:02:05Z".to_owned(),
        files: vec![
            File {
                path: "src/a b.py".to_owned(),
                made: vec![
                    made(
                        &[[1, 1], [6, 7]],
                        "claude-code",
                        "08a7d153",
                        Some("claude-opus-5-5"),
                        32,
                    ),
                    made(&[[10, 12]], "codex", "019 f/é", None, 9),
                    made(&[[13, 13]], "claude-code", "08a7d153", Some(&long), 40),
                ],
            },
            File {
                path: "---".to_owned(),
                made: vec![made(&[[2, 3]], "gemini", "s", Some("gemini-3"), 1)],
            },
        ],
    }
}

#[test]
fn a_record_is_valid_by_the_schema_of_agent_trace() {
    let schema: Value = serde_json::from_str(include_str!("../agent-trace.schema.json")).unwrap();
    let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
    compiler.enable_format_assertions();
    compiler.add_resource("agent-trace.json", schema).unwrap();
    let schema = compiler.compile("agent-trace.json", &mut schemas).unwrap();
    let mut record: Value =
        serde_json::from_str(&agent_trace::record(&commit(), "1.2.3").unwrap()).unwrap();
    if let Err(error) = schemas.validate(&record, schema) {
        panic!("{error}\n{record:#}");
    }
    assert_eq!(record["version"], agent_trace::VERSION);
    assert_eq!(record["vcs"]["revision"], commit().sha);
    // Line 13 was made by a model whose name the schema does not allow: the line stays, without it.
    let conversations = record["files"][0]["conversations"].as_array().unwrap();
    assert_eq!(conversations.len(), 3);
    assert!(
        conversations
            .iter()
            .any(|one| one["ranges"][0]["start_line"] == 13
                && one["contributor"].get("model_id").is_none())
    );
    // The validator does its work.
    record["files"][0]["conversations"][0]["ranges"][0]["start_line"] = 0.into();
    assert!(schemas.validate(&record, schema).is_err());
}

/// The rules of sections 1.2.2 to 1.2.4 of the standard, written from its text.
fn assert_authorship_log(text: &str, commit: &Commit) {
    let (attested, metadata) = text
        .split_once("---\n{")
        .expect("a divider on its own line");
    let metadata: Value = serde_json::from_str(&format!("{{{metadata}")).unwrap();
    assert_eq!(metadata["schema_version"], "authorship/3.0.0");
    assert_eq!(metadata["base_commit_sha"], commit.sha);
    assert!(metadata["prompts"].is_object());
    let is_hex = |text: &str| text.len() == 14 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (mut files, mut entries) = (0, 0);
    for line in attested.lines() {
        let Some(entry) = line.strip_prefix("  ") else {
            files += 1;
            assert!(
                !line.contains(char::is_whitespace) || line.starts_with('"'),
                "{line}"
            );
            assert_ne!(line, "---");
            continue;
        };
        entries += 1;
        let (key, ranges) = entry.split_once(' ').unwrap();
        let (session, trace) = key.split_once("::").unwrap();
        assert!(is_hex(session.strip_prefix("s_").unwrap()), "{line}");
        assert!(is_hex(trace.strip_prefix("t_").unwrap()), "{line}");
        for member in ["tool", "id", "model"] {
            let value = &metadata["sessions"][session]["agent_id"][member];
            assert!(
                value.as_str().is_some_and(|text| !text.is_empty()),
                "{member} of {line}"
            );
        }
        let mut last = 0;
        for range in ranges.split(',') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            let (from, to): (usize, usize) = (from.parse().unwrap(), to.parse().unwrap());
            assert!(last < from && from <= to, "{line}");
            last = to;
        }
    }
    assert!(files > 0 && entries >= files);
}

#[test]
fn a_log_keeps_the_rules_of_the_git_ai_standard() {
    let log = git_notes::log(&commit());
    let text = log.text.unwrap();
    assert_authorship_log(&text, &commit());
    assert_eq!(log.left_out, [""; 0]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[4]), ("\"src/a b.py\"", "\"---\""));
    // `printf claude:08a7d153 | sha256sum`, as the standard makes ids of sessions.
    assert!(lines[1].starts_with("  s_3f44711226c0a2::t_"), "{text}");
    assert!(lines[1].ends_with(" 1,6-7"), "{text}");
}
