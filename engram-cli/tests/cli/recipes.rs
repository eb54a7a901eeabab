//! The recipes of `docs/recipes.md` give the answers that the document shows. Those of a tool that is not there are skipped, and say so.

use std::fs;

use super::*;

/// Runs SQL from standard input, and prints the last answer as CSV.
const SQL: &str = "
import csv, duckdb, sys
answer = duckdb.sql(sys.stdin.read())
out = csv.writer(sys.stdout, lineterminator='\\n')
out.writerow(answer.columns)
out.writerows(answer.fetchall())
";

/// A code block of the document.
struct Recipe {
    language: String,
    code: String,
    /// The block that follows it, if it is an answer.
    answer: Option<String>,
}

/// The recipes in order.
fn recipes(document: &str) -> Vec<Recipe> {
    let mut found: Vec<Recipe> = Vec::new();
    let mut lines = document.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            continue;
        };
        let code: String = lines
            .by_ref()
            .take_while(|line| *line != "```")
            .map(|line| format!("{line}\n"))
            .collect();
        match language {
            "text" => found.last_mut().expect("an answer follows a recipe").answer = Some(code),
            _ => found.push(Recipe {
                language: language.to_owned(),
                code,
                answer: None,
            }),
        }
    }
    found
}

/// The document with these answers in place of its own.
fn with_answers(document: &str, answers: &[String]) -> String {
    let (mut text, mut answers, mut skipping) = (String::new(), answers.iter(), false);
    for line in document.lines() {
        if line == "```" {
            skipping = false;
        }
        if !skipping {
            text += line;
            text.push('\n');
        }
        if line == "```text" {
            text += answers.next().expect("an answer each");
            skipping = true;
        }
    }
    text
}

/// The program that runs this language, with its arguments; `None` if it is not there.
fn program(language: &str) -> Option<Command> {
    let python = std::env::var_os("ENGRAM_PYTHON").unwrap_or_else(|| "python3".into());
    let (test, mut program) = match language {
        "sh" => (
            Command::new("jq").arg("--version").output(),
            Command::new("sh"),
        ),
        "sql" => (
            Command::new(&python).args(["-c", "import duckdb"]).output(),
            Command::new(&python),
        ),
        "python" => (
            Command::new(&python).args(["-c", "import polars"]).output(),
            Command::new(&python),
        ),
        other => panic!("nothing runs `{other}`"),
    };
    match language {
        "sql" => program.args(["-c", SQL]),
        "python" => program.arg("-"),
        _ => program.arg("-eu"),
    };
    test.is_ok_and(|test| test.status.success())
        .then_some(program)
}

/// What this code prints.
fn answer(mut program: Command, code: &str, directory: &Path) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_engram"))
        .parent()
        .unwrap()
        .to_owned();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    )));
    program
        .current_dir(directory)
        .env("PATH", path.unwrap())
        .env("LC_ALL", "C");
    let mut child = program
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(code.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{code}\n{}",
        stderr(&output)
    );
    format!("{}\n", String::from_utf8(output.stdout).unwrap().trim_end())
}

/// `ENGRAM_BLESS=1` rewrites the answers.
#[test]
fn each_recipe_gives_the_answer_that_the_document_shows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/recipes.md");
    let document = fs::read_to_string(&path).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    std::os::unix::fs::symlink(root.join("fixtures"), directory.path().join("fixtures")).unwrap();
    let recipes = recipes(&document);
    let making = recipes.first().expect("the tapes come first");
    assert!(making.answer.is_none() && making.code.starts_with("engram ingest "));
    let mut shell = Command::new("sh");
    shell.arg("-eu");
    answer(shell, &making.code, directory.path());

    let bless = std::env::var_os("ENGRAM_BLESS").is_some_and(|value| value == "1");
    let (mut answers, mut wrong, mut run) = (Vec::new(), Vec::new(), Vec::new());
    for (index, recipe) in recipes.iter().enumerate().skip(1) {
        let Some(shown) = &recipe.answer else {
            continue;
        };
        // A block without an answer is the beginning of each later one in its language.
        let before = recipes[1..index]
            .iter()
            .filter(|other| other.language == recipe.language && other.answer.is_none());
        let code: String = before
            .chain([recipe])
            .map(|part| part.code.as_str())
            .collect();
        let found =
            program(&recipe.language).map(|program| answer(program, &code, directory.path()));
        let Some(found) = found else {
            eprintln!(
                "skipped: nothing runs this {} recipe; ENGRAM_PYTHON names a Python with duckdb and polars\n{}",
                recipe.language, recipe.code
            );
            answers.push(shown.clone());
            continue;
        };
        assert!(found.trim() != "", "no answer:\n{}", recipe.code);
        if found != *shown {
            wrong.push(format!(
                "{}gives\n{found}and the document shows\n{shown}",
                recipe.code
            ));
        }
        answers.push(found);
        run.push(recipe.language.as_str());
    }
    if bless {
        fs::write(&path, with_answers(&document, &answers)).unwrap();
    } else {
        assert!(
            wrong.is_empty(),
            "docs/recipes.md: ENGRAM_BLESS=1 rewrites the answers\n{}",
            wrong.join("\n")
        );
    }
    eprintln!("{} recipes run", run.len());
}

#[test]
fn answers_are_found_and_replaced() {
    let document = "a\n```sql\nx;\n```\n\n```sql\ny;\n```\n\n```text\nold\nold\n```\nb\n";
    let found = recipes(document);
    assert_eq!(
        found
            .iter()
            .map(|recipe| recipe.code.as_str())
            .collect::<Vec<_>>(),
        ["x;\n", "y;\n"]
    );
    assert_eq!(
        found
            .iter()
            .map(|recipe| recipe.answer.as_deref())
            .collect::<Vec<_>>(),
        [None, Some("old\nold\n")]
    );
    assert_eq!(
        with_answers(document, &["new\n".to_owned()]),
        document.replace("old\nold\n", "new\n")
    );
}
