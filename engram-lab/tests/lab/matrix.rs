//! `engram-lab matrix propose`: the change that versions earn.

use super::*;

const HEAD: &str = "version\tpublished\toutcome\twhy\tnew\tas\tshape\tdigest\tscenarios\tfeatures\tchecks\tseconds\tadapter\trun\n";

/// A repository with a matrix of one harness, and the list of its adapter.
fn repository(rows: &str) -> TempDir {
    let repository = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path = repository.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for harness in ["claude-code", "gemini", "opencode"] {
        write(&format!("matrix/{harness}.tsv"), HEAD);
    }
    write("matrix/codex.tsv", &format!("{HEAD}{rows}"));
    write("engram-adapters/src/codex/swept.rs", "//! Nothing yet.\n");
    repository
}

fn propose(repository: &Path, more: &[&str]) -> (i32, String, String) {
    let words = ["matrix", "propose", "--repository", text(repository)];
    let output = run(&[&words[..], more].concat());
    (
        code(&output),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

#[test]
fn versions_whose_checks_hold_are_proposed_for_the_list_of_their_adapter() {
    let repository = repository(
        "0.2.0\t2026-01-02\tbroken\tx\t\t\ts\td\ta_qa\t\t1/1\t9\t\t\n\
         0.1.0\t2026-01-01\tearned\t\t\t\ts\td\ta_qa\t\t2/0\t9\t\t\n",
    );
    let (code, patch, said) = propose(repository.path(), &[]);
    assert_eq!(code, 0, "{said}");
    assert!(
        patch.starts_with("--- a/engram-adapters/src/codex/swept.rs\n"),
        "{patch}"
    );
    assert!(
        patch.contains("+    \"0.1.0\",\n") && !patch.contains("0.2.0"),
        "{patch}"
    );
}

#[test]
fn recording_is_judged_and_gets_a_line() {
    let repository = repository("");
    let tree = repository.path().join("recordings");
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/codex/0.171.0");
    for path in files(&fixture.join("x_schema")) {
        let copy = tree
            .join("codex/0.171.0")
            .join(path.strip_prefix(&fixture).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(&path, copy).unwrap();
    }
    let judge = || {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
        let words = ["--recordings", text(&tree), "--scenarios", text(&scenarios)];
        propose(repository.path(), &words)
    };
    let (code, patch, said) = judge();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("codex@0.171.0: earned"), "{said}");
    assert!(
        patch.contains("+0.171.0\t") && patch.contains("+    \"0.171.0\",\n"),
        "{patch}"
    );
    assert!(
        patch.contains("+++ b/matrix/facts/codex.tsv\n")
            && patch.contains("+wide\t=\tx_schema\t\t0.171.0\n"),
        "{patch}"
    );

    for path in files(&tree)
        .iter()
        .filter(|path| text(path).ends_with(".jsonl"))
    {
        let renamed = fs::read_to_string(path)
            .unwrap()
            .replace("\"call_id\"", "\"callId\"");
        fs::write(path, renamed).unwrap();
    }
    let (code, patch, said) = judge();
    assert_ne!(code, 0);
    assert!(
        said.contains("codex@0.171.0: broken") && said.contains("session.converts"),
        "{said}"
    );
    assert!(!patch.contains("+    \"0.171.0\""), "{patch}");
}

#[test]
fn shards_are_joined_in_any_order() {
    let one = repository(
        "0.2.0\t2026-01-02\tunrun\t\t\t\t\t\t\t\t\t\t\t\n0.1.0\t2026-01-01\tearned\t\t\t\ts\td\ta_qa\t\t2/0\t9\ta@1\t2026-02-01T00:00Z\n",
    );
    let two = repository(
        "0.2.0\t2026-01-02\tbroken\tx\t\t\ts\td\ta_qa\t\t1/1\t9\ta@1\t2026-02-01T00:00Z\n0.1.0\t2026-01-01\tunrun\t\t\t\t\t\t\t\t\t\t\t\n",
    );
    let joined = |first: &TempDir, then: &TempDir| {
        let all = tempfile::tempdir().unwrap();
        let [first, then] = [first, then].map(|shard| shard.path().join("matrix"));
        let words = [
            "matrix",
            "join",
            text(&first),
            text(&then),
            "--matrix",
            text(all.path()),
        ];
        let output = run(&words);
        assert_eq!(code(&output), 0);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said, "codex\t2 versions, 2 run\n");
        fs::read_to_string(all.path().join("codex.tsv")).unwrap()
    };
    let all = joined(&one, &two);
    assert_eq!(all, joined(&two, &one));
    assert!(
        all.contains("\tbroken\t") && all.contains("\tearned\t"),
        "{all}"
    );
}
