//! `engram show`: what a person reads, and what must never reach a terminal, a document or a page.

use pulldown_cmark::{Event as Parsed, Options, Parser, Tag, TagEnd};

use super::*;

/// Text that would control a terminal, or be markup.
const HOSTILE: &str = "\u{1b}]0;own\u{7}\u{1b}[2J\u{9b}31m\u{202e}<script>alert(1)</script><img src=x onerror=alert(1)>\r````\n# heading\n";

/// A tape with a hostile text in every place that is shown.
pub fn hostile_tape() -> String {
    let text = serde_json::to_string(HOSTILE).unwrap();
    let events = [
        format!(r#""k":"meta","label":"session","title":{text},"cwd":{text},"model":{text}"#),
        format!(
            r#""k":"msg.in","role":"user","by":"person","text":{text},"attachments":[{{"name":{text}}}]"#
        ),
        format!(r#""k":"msg.out","text":{text}"#),
        format!(
            r#""k":"tool.call","tool":{text},"kind":"edit","call_id":"c","args":{{"old_string":{text},"new_string":"b","x":{text}}}"#
        ),
        format!(
            r#""k":"tool.result","call_id":"c","status":"error","stdout":{text},"stderr":{text},"parent":3"#
        ),
        format!(r#""k":"code.edit","op":"update","file":{text},"parent":3"#),
        format!(r#""k":"meta","label":"error","code":{text},"text":{text}"#),
        format!(r#""k":"meta","label":"system","name":{text},"text":{text}"#),
        format!(r#""k":"meta","label":"system","name":{text},"text":{text}"#),
        format!(r#""k":"meta","label":"unrecognized","name":{text},"raw":{text}"#),
    ];
    let line = |(seq, event): (usize, &String)| {
        format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}}}\n",
            event.replacen(",", ",\"source\":{\"harness\":\"toy\"},", 1)
        )
    };
    events.iter().enumerate().map(line).collect()
}

fn show(args: &[&str], tape: &str) -> String {
    let shown = run_with_input(&[&["show", "-"], args].concat(), tape.as_bytes());
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    String::from_utf8(shown.stdout).unwrap()
}

#[test]
fn a_session_is_shown_with_prompts_calls_changes_and_totals() {
    let shown = String::from_utf8(run(&["show", text(&claude_file())]).stdout).unwrap();
    for line in [
        "claude-code 2.1.329",
        "1 prompt, 36 calls (6 failed), 22 edits",
        "LAB please do many edits",
        "  -    return 2",
        "  = update ",
    ] {
        assert!(shown.contains(line), "{line:?} is missing");
    }
    assert!(
        shown
            .lines()
            .any(|line| line.contains("Edit /home/dev/proj/src/a.py"))
    );
    assert!(!shown.contains('\u{1b}'), "no colours without a terminal");
}

#[test]
fn instructions_are_shown_by_their_title_alone() {
    let log = only_file(&fixture(CODEX), ".jsonl");
    let shown = |args: &[&str]| {
        String::from_utf8(run(&[&["show", text(&log)], args].concat()).stdout).unwrap()
    };
    let (short, full) = (shown(&[]), shown(&["--full"]));
    assert!(
        short.contains("context system_prompt, instructions (3)")
            && !short.contains("<skills_instructions>"),
        "{short}"
    );
    assert!(full.contains("<skills_instructions>"), "{full}");
}

#[test]
fn a_tape_and_its_log_are_shown_alike() {
    let tape = run(&["ingest", "-q", text(&claude_file())]).stdout;
    for form in [&["--full"][..], &["--markdown"], &["--html", "-"]] {
        let of_tape = show(form, std::str::from_utf8(&tape).unwrap());
        let of_log = run(&[&["show", text(&claude_file())], form].concat());
        assert_same(of_tape.as_bytes(), &of_log.stdout);
    }
}

#[test]
fn nothing_of_a_log_controls_a_terminal() {
    for form in [&[][..], &["--full"], &["--markdown"], &["--html", "-"]] {
        let shown = show(form, &hostile_tape());
        let unsafe_text =
            shown.find(|c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}');
        assert_eq!(
            unsafe_text,
            None,
            "{form:?}: {:?}",
            unsafe_text.map(|at| &shown[at..(at + 40).min(shown.len())])
        );
        assert!(shown.contains("␛]0;own␇"), "{form:?}");
    }
}

#[test]
fn markup_in_a_log_stays_text() {
    let page = show(&["--html", "-"], &hostile_tape());
    assert_eq!(page.matches("<script").count(), 1, "only the page's own");
    assert!(
        !page.contains("<img")
            && !page.contains("style=")
            && !page.replace("href=\"#e", "").contains("href=")
    );
    assert!(page.matches("&lt;script&gt;").count() > 10);
    let markdown = show(&["--markdown"], &hostile_tape());
    for event in parsed(&markdown) {
        let is_evil = match &event {
            Parsed::Html(_) | Parsed::InlineHtml(_) => true,
            Parsed::Start(Tag::Image { .. } | Tag::HtmlBlock) => true,
            Parsed::Start(Tag::Link { dest_url, .. }) => !dest_url.starts_with("http"),
            _ => false,
        };
        assert!(!is_evil, "{event:?}");
    }
}

/// What a parser of Markdown finds.
fn parsed(markdown: &str) -> Vec<Parsed<'_>> {
    Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION).collect()
}

#[test]
fn a_document_renders_answers_and_keeps_the_lines_of_prompts() {
    let events = [
        r#""k":"msg.in","role":"user","by":"person","text":"fix *it*\n# now"}"#,
        r###""k":"msg.out","text":"## Found\n\n- **two** calls\n\n```rust\nfn a() {}\n```"}"###,
        r#""k":"meta","label":"usage","model":"m","tokens":{"input":3,"output":1}}"#,
    ];
    let line = |(seq, event): (usize, &&str)| {
        let event = event.replacen(",", ",\"source\":{\"harness\":\"toy\"},", 1);
        format!("{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{event}\n")
    };
    let tape: String = events.iter().enumerate().map(line).collect();
    let markdown = show(&["--markdown"], &tape);
    assert!(markdown.contains("> fix \\*it\\*"), "{markdown}");
    let mut in_code = false;
    let (mut lists, mut code) = (0, String::new());
    for event in parsed(&markdown) {
        match event {
            Parsed::Start(Tag::CodeBlock(_)) => in_code = true,
            Parsed::End(TagEnd::CodeBlock) => in_code = false,
            Parsed::Start(Tag::Strong) => lists += 1,
            Parsed::Text(text) if in_code => code.push_str(&text),
            _ => {}
        }
    }
    assert_eq!((lists, code.as_str()), (1, "fn a() {}\n"), "{markdown}");
    assert!(
        !markdown.contains("3 in") || markdown.matches("3 in").count() == 1,
        "only in the head: {markdown}"
    );
    assert_eq!(
        show(&["--markdown", "--tokens"], &tape)
            .matches("3 in")
            .count(),
        2
    );
    let terminal = |args: &[&str]| show(args, &tape).matches("tokens: 3 in").count();
    assert_eq!((terminal(&[]), terminal(&["--tokens"])), (1, 2));
}

#[test]
fn nothing_of_a_log_is_markup_on_the_index_or_in_a_chart() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("tapes")).unwrap();
    let usage = r#"{"seq":10,"t":"2026-01-02T03:04:05Z","k":"meta","source":{"harness":"toy"},"label":"usage","model":"<svg onload=alert(1)>","tokens":{"input":3}}"#;
    fs::write(at("tapes/a.tape.jsonl"), hostile_tape() + usage + "\n").unwrap();
    let shown = run(&["show", text(&at("tapes")), "--html", text(&at("site"))]);
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    let index = fs::read_to_string(at("site/index.html")).unwrap();
    assert_eq!(index.matches("<script").count(), 1, "only the page's own");
    for evil in ["<img", "<svg onload", "style=", "\u{202e}", "\u{1b}"] {
        assert!(!index.contains(evil), "{evil}");
    }
    assert!(
        index.contains("&lt;svg onload=alert(1)&gt;"),
        "a model in a chart"
    );
}

#[test]
fn each_event_on_a_page_has_an_anchor_of_its_own() {
    let page = run(&["show", text(&fixture(SUB_AGENTS)), "--html", "-"]).stdout;
    let page = String::from_utf8(page).unwrap();
    let ids: Vec<&str> = page
        .split(" id=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    let mut once = ids.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), ids.len(), "each id is there once");
    let own = ids
        .iter()
        .filter(|id| id[1..].parse::<u64>().is_ok() && id.starts_with('e'));
    let of_agents = ids.iter().filter(|id| id.starts_with("t1e"));
    assert!(own.count() > 10 && of_agents.count() > 3, "{ids:?}");
    let head = page.split("</header>").next().unwrap();
    assert!(head.contains("<summary>4 sub-agents</summary><ul class=\"files\"><li><a href=\"#t"));
    let links = page
        .split("href=\"#")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap());
    for link in links {
        assert!(once.binary_search(&link).is_ok(), "#{link} leads nowhere");
    }
}

#[test]
fn a_change_has_the_line_numbers_that_the_log_states() {
    let log = fixture("claude-code/2.1.329/n_edits");
    let page = String::from_utf8(run(&["show", text(&log), "--html", "-"]).stdout).unwrap();
    assert!(page.contains("<pre class=\"diff numbered\"><"), "{page}");
    assert!(page.contains("<del data-o=\"1\"") && page.contains("<ins data-n=\"1\""));
    let is_empty = "<p class=\"fact\">an empty file</p>";
    assert!(page.contains(is_empty) && !page.contains("<pre class=\"diff\"></pre>"));
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    let directory = tempfile::tempdir().unwrap();
    let tapes = text(directory.path());
    for id in ["aa-1", "aa-2", "bb-1"] {
        let ingested = run_with_input(
            &["ingest", "-q", "-", "--out", tapes],
            claude_session(id).as_bytes(),
        );
        assert_eq!(code(&ingested), 0, "{}", stderr(&ingested));
    }
    let show = |id: &str| run(&["show", id, "--tapes", tapes]);
    assert!(
        String::from_utf8(show("bb").stdout)
            .unwrap()
            .contains("session bb-1")
    );
    assert!(
        String::from_utf8(show("aa-2").stdout)
            .unwrap()
            .contains("session aa-2")
    );
    let several = show("aa");
    assert_eq!(code(&several), 2);
    assert!(
        stderr(&several).contains("aa-1")
            && stderr(&several).contains("aa-2")
            && stderr(&several).contains("give more of the id")
    );
    assert_eq!(code(&show("cc")), 3);
    assert!(
        stderr(&show("cc")).contains("begins with `cc`"),
        "{}",
        stderr(&show("cc"))
    );
    assert!(stderr(&run(&["show", tapes, "--session", "zz"])).contains("begins with `zz`"));
    let chosen = run(&["show", tapes, "--session", "bb"]);
    assert!(
        String::from_utf8(chosen.stdout)
            .unwrap()
            .contains("session bb-1")
    );
}

#[test]
fn sub_agents_are_at_their_calls() {
    let directory = tempfile::tempdir().unwrap();
    let ingested = run(&[
        "ingest",
        "-q",
        text(&fixture(SUB_AGENTS)),
        "--out",
        text(directory.path()),
    ]);
    assert_eq!(code(&ingested), 0, "{}", stderr(&ingested));
    let of_tapes = run(&["show", text(directory.path()), "--full"]);
    let of_logs = run(&["show", text(&fixture(SUB_AGENTS)), "--full"]);
    assert_same(&of_tapes.stdout, &of_logs.stdout);
    let shown = String::from_utf8(of_tapes.stdout).unwrap();
    let nested = shown
        .lines()
        .filter(|line| line.starts_with("  | claude-code") && line.contains("sub-agent"))
        .count();
    assert!(nested > 0, "{shown}");
    let call = shown
        .lines()
        .position(|line| line.contains(" Task ") || line.contains(" Agent "))
        .unwrap();
    let agent = shown
        .lines()
        .position(|line| line.starts_with("  | claude-code"))
        .unwrap();
    assert!(
        agent > call
            && shown
                .lines()
                .skip(call)
                .take(agent - call)
                .all(|line| !line.contains(" user")),
        "the agent is inside its call"
    );
}

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let show = |target: &Path, page: &str| run(&["show", text(target), "--html", text(&at(page))]);
    for _ in 0..2 {
        assert_eq!(code(&show(&claude_file(), "page.html")), 0);
    }
    fs::create_dir(at("site")).unwrap();
    for (name, target, page) in [
        ("notes.html", claude_file(), "notes.html"),
        ("site/index.html", fixture(SUB_AGENTS), "site"),
    ] {
        fs::write(at(name), "precious").unwrap();
        let out = show(&target, page);
        assert_eq!(code(&out), 2, "{}", stderr(&out));
        assert!(stderr(&out).contains("is no page of engram"));
        assert_eq!(fs::read_to_string(at(name)).unwrap(), "precious");
    }
    assert_eq!(names(&at("site")), ["index.html"]);
    let out = show(&claude_file(), "none/page.html");
    assert_eq!(code(&out), 3);
    assert!(stderr(&out).contains("none: "), "{}", stderr(&out));
}

#[test]
fn a_page_is_written_to_a_file_completely_or_not_at_all() {
    let directory = tempfile::tempdir().unwrap();
    let page = directory.path().join("session.html");
    assert_eq!(
        code(&run(&["show", text(&claude_file()), "--html", text(&page)])),
        0
    );
    let written = fs::read_to_string(&page).unwrap();
    assert!(written.starts_with("<!doctype html>") && written.ends_with("</html>\n"));
    assert!(written.contains("default-src 'none'"));
    assert_eq!(
        code(&run(&[
            "show",
            text(&claude_file()),
            "--html",
            text(&directory.path().join("no/x.html"))
        ])),
        3
    );
    for into in [text(directory.path()), "pages/"] {
        let out = run(&["show", text(&claude_file()), "--html", into]);
        assert_eq!(code(&out), 2, "{}", stderr(&out));
        assert!(stderr(&out).contains("session.html`"), "{}", stderr(&out));
    }
    assert_eq!(
        code(&run(&["show", text(&directory.path().join("none.jsonl"))])),
        3
    );
    assert_eq!(names(directory.path()), ["session.html"]);
}

#[test]
fn a_directory_of_sessions_becomes_pages_with_an_index() {
    let (logs, pages) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for id in ["a", "b"] {
        fs::write(logs.path().join(format!("{id}.jsonl")), claude_session(id)).unwrap();
    }
    let site = pages.path().join("site");
    let shown = run(&["show", text(logs.path()), "--html", text(&site)]);
    assert_eq!(
        (code(&shown), names(&site)),
        (
            0,
            vec![
                "a.html".to_owned(),
                "b.html".to_owned(),
                "index.html".to_owned()
            ]
        )
    );
    let index = fs::read_to_string(site.join("index.html")).unwrap();
    assert!(
        index.contains("href=\"a.html\"")
            && index.contains("LAB please do many edits")
            && index.contains("id=\"filter\"")
    );
    let page = pages.path().join("one.html");
    let several = run(&["show", text(logs.path()), "--html", text(&page)]);
    assert_eq!(
        (code(&several), page.exists()),
        (2, false),
        "a page is of one session"
    );
}

#[test]
fn the_header_counts_what_sub_agents_did_too() {
    let shown = String::from_utf8(run(&["show", text(&fixture(SUB_AGENTS))]).stdout).unwrap();
    assert!(
        shown.contains("with 4 sub-agents: 12 calls, 1 edit, tokens: "),
        "{shown}"
    );
}

/// A session with a key in a prompt, and the key.
fn session_with_key() -> (String, String) {
    let key = format!("ghp_{}", "a1B2c3D4e5".repeat(4));
    (
        claude_session("s-1").replace("LAB please do many edits", &format!("LAB {key}")),
        key,
    )
}

#[test]
fn keys_are_not_shown_unless_they_are_wanted() {
    let (log, key) = session_with_key();
    for form in [&[][..], &["--markdown"], &["--html", "-"]] {
        let shown = show(form, &log);
        assert!(
            !shown.contains(&key) && shown.contains("redacted:github-token"),
            "{form:?}"
        );
        assert!(
            show(&[form, &["--no-redact"]].concat(), &log).contains(&key),
            "{form:?}"
        );
    }
}

#[test]
fn a_tape_is_redacted_if_that_is_wanted() {
    let (log, key) = session_with_key();
    let plain = run_with_input(&["ingest", "-q", "-"], log.as_bytes()).stdout;
    let redacted = run_with_input(&["ingest", "-q", "--redact", "-"], log.as_bytes()).stdout;
    assert_checked(&redacted);
    let (plain, redacted) = (
        String::from_utf8(plain).unwrap(),
        String::from_utf8(redacted).unwrap(),
    );
    assert!(plain.contains(&key) && !plain.contains("redaction"));
    assert!(!redacted.contains(&key) && redacted.contains(r#""redaction":"engram-redact/4""#));
    assert!(redacted.contains(r#""redactions":[{"rule":"github-token","count":"#));
    assert_eq!(plain.lines().count(), redacted.lines().count());
    assert!(show(&[], &redacted).contains("redacted: github-token"));
    let directory = tempfile::tempdir().unwrap();
    let ingested = run_with_input(
        &[
            "ingest",
            "-q",
            "--redact",
            "--zstd",
            "-",
            "--out",
            text(directory.path()),
        ],
        log.as_bytes(),
    );
    assert_eq!(code(&ingested), 0);
    assert_eq!(code(&run(&["check", text(directory.path())])), 0);
}

#[test]
fn an_event_is_shown_with_those_around_it() {
    let log = claude_file();
    let shown = |event: &str, args: &[&str]| {
        let target = format!("{}#{event}", text(&log));
        let done = run(&[&["show", &target], args].concat());
        (code(&done), String::from_utf8(done.stdout).unwrap())
    };
    let (exit, words) = shown("5", &[]);
    let marked: Vec<&str> = words.lines().filter(|line| line.starts_with('>')).collect();
    assert_eq!((exit, marked.len()), (0, 1), "{words}");
    assert!(marked[0].starts_with("> #5 "), "{words}");
    for around in ["  #3 ", "  #4 ", "  #6 ", "  #7 "] {
        assert!(words.contains(around), "{words}");
    }
    let (exit, json) = shown("5", &["--json", "--before", "1", "--after", "0"]);
    let lines: Vec<serde_json::Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((exit, lines.len()), (0, 3), "{json}");
    assert_eq!(
        (&lines[1]["quoted"], &lines[1]["event"]["seq"]),
        (&true.into(), &5.into())
    );
    assert_eq!(
        (&lines[2]["k"], &lines[2]["returned"]),
        (&"end".into(), &2.into())
    );
    // An event that is not there, and a window without an event.
    assert_eq!(shown("999999", &[]).0, 3);
    assert_eq!(code(&run(&["show", text(&log), "--json"])), 2);
}

#[test]
fn a_window_holds_its_bound_from_the_first_byte() {
    let log = claude_file();
    let target = format!("{}#5", text(&log));
    for most in ["1", "10", "200", "1000", "5000"] {
        let shown = run(&[
            "show",
            &target,
            "--before",
            "50",
            "--after",
            "50",
            "--max-bytes",
            most,
        ]);
        assert_eq!(code(&shown), 0, "{}", stderr(&shown));
        let words = String::from_utf8(shown.stdout).unwrap();
        let events: usize = words
            .lines()
            .filter(|line| !line.contains(" events shown; "))
            .map(|line| line.len() + 1)
            .sum();
        assert!(events <= most.parse().unwrap(), "{most}: {words}");
    }
}
