//! Keys and tokens of tapes in answers: replaced, unless they are asked for.

use super::index::{FILE, Home, text_of};
use super::*;

const KEY: &str = "ghp_aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zA2b3C";
/// A prompt that is so long that a quotation cuts it inside the key.
const WORDS: usize = 1480;

#[test]
fn no_answer_shows_a_key_of_a_tape() {
    let home = Home::new();
    let project = home.project();
    // The key stands in the prompt, at the place where the quotation ends, in what a call wrote, and in the name of a model.
    let long = format!("{} {KEY} LAB please do many edits", "x".repeat(WORDS));
    home.change_tapes("LAB please do many edits", &long);
    home.change_tapes("# NEW header", &format!("# {KEY}"));
    home.change_tapes("claude-opus-5-5", &format!("model-{KEY}"));
    let text = fs::read_to_string(project.join(FILE)).unwrap();
    fs::write(
        project.join(FILE),
        text.replace("# NEW header", &format!("# {KEY}")),
    )
    .unwrap();
    let tape = only_file(Path::new(&home.path("tapes")), ".tape.jsonl");
    let event = format!("{}#2", tape.display());
    let tape = tape.to_str().unwrap();
    let asked: [&[&str]; 16] = [
        &["explain", "proj/src/a.py"],
        &["explain", "proj/src/a.py:1", "--json"],
        &["explain", "proj/src/a.py", "--history"],
        &["explain", "proj/src/a.py", "--removed", "--json"],
        &["explain", "--text", "# whole rewrite\nb = 1\n"],
        &["blame", "proj/src/a.py"],
        &["blame", "proj/src/a.py", "--json"],
        &["grep", "LAB please"],
        &["grep", "ghp_[a-z]B", "--json"],
        &["query", "SELECT * FROM prompts"],
        &["query", "SELECT * FROM tokens", "--json"],
        &["query", "SELECT text FROM prompts", "--csv"],
        &["show", &event, "--json"],
        &["stats", tape, "--by", "model", "--json"],
        &["list", tape, "--json"],
        &["files", tape],
    ];
    let mut shown = 0;
    for args in asked {
        let out = home.run(args);
        assert_eq!(code(&out), 0, "{args:?}: {}", stderr(&out));
        let answer = text_of(&out) + &stderr(&out);
        // Half of a key is not shown either.
        assert!(!answer.contains(&KEY[..12]), "{args:?}: {answer}");
        let whole = home.run(&[args, &["--no-redact"]].concat());
        shown += usize::from(text_of(&whole).contains(KEY));
        let same = home.run(&[args, &["--redact"]].concat());
        assert_eq!(text_of(&same), text_of(&out), "{args:?}");
    }
    assert!(shown >= 10, "{shown} answers show the key when asked for");
}
