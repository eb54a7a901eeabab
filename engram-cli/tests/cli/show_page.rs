//! The page of `engram show --html` in a real browser. Where there is none, the tests are skipped and say so.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind};
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::json;

use super::*;

/// Names of the browser; `ENGRAM_CHROMIUM` is asked first.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// How long one answer of the browser may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A headless browser with one page. Commands and answers go through two pipes.
struct Browser {
    process: Child,
    commands: File,
    answers: Receiver<Value>,
    session: Value,
    next_id: u64,
    /// Everything that the page asked the network for, and everything that it reported as an error.
    noted: Vec<String>,
    _directory: TempDir,
}

impl Browser {
    /// `None` if there is no browser.
    fn start() -> Option<Browser> {
        let Some(program) = program() else {
            eprintln!("skipped: no browser; install chromium, or set ENGRAM_CHROMIUM");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let pipe = |name: &str| directory.path().join(name);
        for name in ["commands", "answers"] {
            assert!(
                Command::new("mkfifo")
                    .arg(pipe(name))
                    .status()
                    .unwrap()
                    .success()
            );
        }
        // A page is opened without the sandbox, because containers forbid it; the page is our own.
        let line = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --remote-debugging-pipe \
                    --user-data-dir=\"$1/profile\" about:blank 3<\"$1/commands\" 4>\"$1/answers\"";
        let process = Command::new("sh")
            .args(["-c", line, &program, text(directory.path())])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let commands = File::options().write(true).open(pipe("commands")).unwrap();
        let answers = File::open(pipe("answers")).unwrap();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(answers).split(0) {
                let Ok(message) = message else { return };
                if sender
                    .send(serde_json::from_slice(&message).unwrap())
                    .is_err()
                {
                    return;
                }
            }
        });
        let mut browser = Browser {
            process,
            commands,
            answers: receiver,
            session: Value::Null,
            next_id: 0,
            noted: Vec::new(),
            _directory: directory,
        };
        let target =
            browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        browser.session = browser.ask(
            "Target.attachToTarget",
            json!({"targetId": target, "flatten": true}),
        )["sessionId"]
            .clone();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.ask(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let mut command = json!({"id": self.next_id, "method": method, "params": parameters});
        if !self.session.is_null() {
            command["sessionId"] = self.session.clone();
        }
        self.commands
            .write_all(command.to_string().as_bytes())
            .unwrap();
        self.commands.write_all(&[0]).unwrap();
        loop {
            let message = self
                .answers
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{method} has no answer"));
            if message["id"] == self.next_id {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
            self.note(&message);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => self
                .noted
                .push(format!("request {}", parameters["request"]["url"])),
            Some("Log.entryAdded") => self
                .noted
                .push(format!("log {}", parameters["entry"]["text"])),
            Some("Runtime.exceptionThrown") => self.noted.push(format!("exception {parameters}")),
            Some("Page.javascriptDialogOpening") => {
                self.noted.push(format!("dialog {}", parameters["message"]))
            }
            _ => {}
        }
    }

    /// Opens a page, and returns how long it took until its script had run.
    fn open(&mut self, page: &Path) -> Duration {
        let begin = Instant::now();
        self.ask(
            "Page.navigate",
            json!({"url": format!("file://{}", text(page))}),
        );
        while self.value("document.readyState") != "complete" {
            assert!(begin.elapsed() < PATIENCE, "the page does not load");
            std::thread::sleep(Duration::from_millis(20));
        }
        begin.elapsed()
    }

    /// The value of an expression on the page.
    fn value(&mut self, expression: &str) -> Value {
        let result = self.ask(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        assert!(
            result["exceptionDetails"].is_null(),
            "{expression}: {}",
            result["exceptionDetails"]
        );
        result["result"]["value"].clone()
    }

    /// Types into the filter, and waits until it is applied.
    fn filter(&mut self, words: &str) {
        let words = serde_json::to_string(words).unwrap();
        self.value(&format!(
            "{{const f = document.getElementById('filter'); f.value = {words}; f.dispatchEvent(new Event('input')); \
             new Promise(done => setTimeout(done, 400))}}"
        ));
    }

    fn shown(&mut self) -> u64 {
        self.value("[...document.querySelectorAll(':is(main, main > section) > article')].filter(a => a.checkVisibility()).length")
            .as_u64()
            .unwrap()
    }

    /// What the page did beyond loading itself.
    fn misdeeds(&self) -> Vec<&String> {
        self.noted
            .iter()
            .filter(|note| {
                !note.starts_with("request \"file://") && !note.starts_with("request \"about:")
            })
            .collect()
    }

    /// Saves a picture for a person to look at, if `ENGRAM_SHOTS` names a directory.
    fn shoot(&mut self, name: &str) {
        use base64::Engine as _;
        let Some(directory) = std::env::var_os("ENGRAM_SHOTS") else {
            return;
        };
        let picture = self.ask("Page.captureScreenshot", json!({"format": "png"}));
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(picture["data"].as_str().unwrap())
            .unwrap();
        fs::write(Path::new(&directory).join(name), bytes).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended on its own.
        let _ = self
            .commands
            .write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        std::thread::sleep(Duration::from_millis(500));
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program() -> Option<String> {
    let named = std::env::var("ENGRAM_CHROMIUM").ok();
    named
        .into_iter()
        .chain(BROWSERS.map(str::to_owned))
        .find(|program| {
            let started = Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            !matches!(started, Err(error) if error.kind() == ErrorKind::NotFound)
        })
}

fn page(target: &[&str], input: &[u8], directory: &TempDir) -> PathBuf {
    let page = directory.path().join("page.html");
    let shown = run_with_input(
        &[&["show"], target, &["--html", text(&page)]].concat(),
        input,
    );
    assert_eq!(code(&shown), 0, "{}", stderr(&shown));
    page
}

#[test]
fn a_page_is_rendered_and_filtered() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    browser.open(&page(&[text(&fixture(SUB_AGENTS))], b"", &directory));
    browser.shoot("page.png");
    let all = browser.shown();
    assert!(all > 10, "{all} items");
    assert_eq!(
        browser.value("getComputedStyle(document.body).maxWidth"),
        "1344px",
        "the style is applied"
    );
    assert!(
        browser
            .value("document.querySelectorAll('details.agent article').length")
            .as_u64()
            .unwrap()
            > 0,
        "sub-agents are nested"
    );
    browser.filter("no such text anywhere");
    assert_eq!(browser.shown(), 0);
    browser.filter("LAB");
    let some = browser.shown();
    assert!(some > 0 && some < all, "{some} of {all}");
    assert_eq!(
        browser.value("document.getElementById('count').textContent"),
        format!("{some} of {all}")
    );
    browser.filter("");
    browser.value("document.getElementById('talk').click()");
    assert!(browser.shown() > 0 && browser.shown() < all);
    assert_eq!(browser.misdeeds(), Vec::<&String>::new());
}

/// Prompts, an answer in Markdown, a change and a failed call.
fn told_tape() -> String {
    let events = [
        r###""k":"msg.in","role":"user","by":"person","text":"fix the parser"}"###,
        r###""k":"msg.out","text":"## Found\n\n- **two** calls of `next`\n\n[docs](https://example.org/x) <b>x</b> ![p](https://example.org/p.png)"}"###,
        r###""k":"tool.call","tool":"Edit","kind":"edit","call_id":"c","args":{"file_path":"/p/a","old_string":"a","new_string":"b","replace_all":false}}"###,
        r###""k":"tool.result","call_id":"c","status":"ok","stdout":"a is b now","parent":2}"###,
        r###""k":"code.edit","op":"update","file":"/p/a","parent":2}"###,
        r###""k":"msg.in","role":"user","by":"person","text":"and now the lexer"}"###,
    ];
    let line = |(seq, event): (usize, &&str)| {
        format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}\n",
            event.replacen(",", ",\"source\":{\"harness\":\"toy\"},", 1)
        )
    };
    events.iter().enumerate().map(line).collect()
}

#[test]
fn a_page_reads_like_a_conversation() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    browser.open(&page(&["-"], told_tape().as_bytes(), &directory));
    browser.shoot("told.png");
    let text = |browser: &mut Browser, selector: &str| {
        browser.value(&format!("document.querySelector('{selector}').textContent"))
    };
    assert_eq!(
        text(&mut browser, "h1"),
        "fix the parser",
        "the first prompt is the title"
    );
    assert_eq!(text(&mut browser, ".md h4"), "Found");
    assert_eq!(text(&mut browser, ".md li strong"), "two");
    assert_eq!(
        browser.value("document.querySelector('.md a').href"),
        "https://example.org/x"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.md b, .md img').length"),
        0,
        "HTML of a log stays text"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('nav li').length"),
        2
    );
    assert_eq!(
        browser.value("document.querySelector('.files').textContent"),
        "/p/a 1 edit"
    );
    assert_eq!(
        browser.value("document.querySelectorAll('.arguments').length"),
        0,
        "a flag that is off is not shown"
    );
    assert_eq!(
        browser.value("document.querySelector('.call details details').open"),
        false,
        "the answer to a change is folded"
    );
    browser.value("document.querySelectorAll('nav a')[1].click()");
    assert_eq!(
        browser.value("document.querySelector(location.hash).querySelector('pre').textContent"),
        "and now the lexer"
    );
    // A link to any event unfolds it.
    browser.value("location.hash = '#e3'");
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(
        browser.value(
            "document.getElementById('e3').closest('article').querySelector('details').open"
        ),
        true
    );
    // A hit is marked where it stands, also across the elements of colours.
    browser.filter("two calls of next");
    assert_eq!(browser.value("CSS.highlights.get('hit')?.size"), 1);
    browser.filter("");
    assert_eq!(
        browser.value("CSS.highlights.get('hit') === undefined"),
        true
    );
    // Printed, everything is open and nothing of the search is there.
    browser.ask("Emulation.setEmulatedMedia", json!({"media": "print"}));
    browser.value("window.dispatchEvent(new Event('beforeprint'))");
    browser.shoot("print.png");
    assert_eq!(
        browser.value("document.querySelectorAll('details:not([open])').length"),
        0
    );
    assert_eq!(
        browser.value("document.getElementById('bar').checkVisibility()"),
        false
    );
    browser.value("window.dispatchEvent(new Event('afterprint'))");
    assert_eq!(browser.misdeeds(), Vec::<&String>::new());
}

#[test]
fn pictures_of_the_log_are_on_the_page() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    browser.open(&page(
        &[text(&fixture("claude-code/2.1.331/k_rewind_image"))],
        b"",
        &directory,
    ));
    let widths = browser.value(
        "[...document.querySelectorAll('main img')].map(image => image.naturalWidth).join()",
    );
    assert!(widths.as_str().is_some_and(|widths| !widths.is_empty() && widths.split(',').all(|width| width != "0")), "{widths}");
    let no_requests = browser
        .misdeeds()
        .iter()
        .all(|note| note.starts_with("request \"data:image/"));
    assert!(no_requests, "{:?}", browser.misdeeds());
}

#[test]
fn an_index_of_pages_is_searched() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    assert_eq!(
        code(&run(&[
            "show",
            &format!(
                "{}/../fixtures/claude-code/2.1.329",
                env!("CARGO_MANIFEST_DIR")
            ),
            "--html",
            text(&site)
        ])),
        0
    );
    browser.open(&site.join("index.html"));
    browser.shoot("index.png");
    for chart in ["svg.columns-chart rect", "svg.week rect", "table.bars rect"] {
        let drawn = browser.value(&format!("document.querySelectorAll('{chart}').length"));
        assert!(drawn.as_u64().unwrap() > 0, "{chart}");
    }
    let all = browser.shown();
    // A word of an answer, which no title and no prompt has.
    browser.filter("many edits");
    assert!(
        browser.shown() > 0 && browser.shown() < all,
        "{} of {all}",
        browser.shown()
    );
    browser.value(
        "[...document.querySelectorAll('article:not([hidden]) h2 a')].find(a => a.textContent === 'LAB please do many edits').click()",
    );
    std::thread::sleep(Duration::from_millis(800));
    assert_eq!(
        browser.value("document.querySelector('h1').textContent"),
        "LAB please do many edits"
    );
    assert_eq!(
        browser.value("document.getElementById('filter').value"),
        "many",
        "the first word is searched on the page"
    );
    assert_eq!(browser.misdeeds(), Vec::<&String>::new());
}

#[test]
fn nothing_of_a_log_runs_or_loads_on_a_page() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let page = page(&["-"], show::hostile_tape().as_bytes(), &directory);
    browser.open(&page);
    assert_eq!(browser.value("document.querySelectorAll('main script, img, iframe, object, main a:not([href^=\"#e\"])').length"), 0);
    let prompt = browser.value("document.querySelector('.person pre').textContent");
    assert!(
        prompt
            .as_str()
            .unwrap()
            .contains("<script>alert(1)</script><img src=x onerror=alert(1)>"),
        "{prompt}"
    );
    assert_eq!(browser.misdeeds(), Vec::<&String>::new());
    // The policy would stop what an escape forgot.
    let broken = fs::read_to_string(&page).unwrap().replace(
        "<main>",
        "<main><script>window.own=1</script><img src=\"http://192.0.2.1/x\">",
    );
    fs::write(&page, broken).unwrap();
    browser.open(&page);
    assert_eq!(browser.value("window.own === undefined"), true);
    let refused = browser
        .misdeeds()
        .iter()
        .filter(|note| note.contains("Content Security Policy"))
        .count();
    assert!(refused >= 2, "{:?}", browser.misdeeds());
}

#[test]
fn a_page_of_50_megabytes_is_usable() {
    let Some(mut browser) = Browser::start() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let tape = large_tape(50 << 20);
    let page = page(&["-"], tape.as_bytes(), &directory);
    let loaded = browser.open(&page);
    let all = browser.shown();
    let begin = Instant::now();
    browser.filter("needle");
    let filtered = begin.elapsed();
    eprintln!(
        "{} MiB, {all} items: loaded in {loaded:?}, filtered in {filtered:?}",
        page.metadata().unwrap().len() >> 20
    );
    assert_eq!(browser.shown(), 1);
    assert!(
        browser.value("document.querySelector(':is(main, main > section) > article:not([hidden]) details').open").as_bool().unwrap(),
        "it is unfolded"
    );
    assert!(
        loaded < Duration::from_secs(30) && filtered < Duration::from_secs(10),
        "{loaded:?}, {filtered:?}"
    );
}

/// A tape of this size: prompts, and calls with outputs of 20 KB.
fn large_tape(bytes: usize) -> String {
    let output = "a line of output, as a build prints it <&>\\n".repeat(480);
    let (mut tape, mut seq) = (String::with_capacity(bytes + (64 << 10)), 0);
    let push = |event: &str, seq: &mut u64, tape: &mut String| {
        tape.push_str(&format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}}}\n",
            event.replacen(",", ",\"source\":{\"harness\":\"toy\"},", 1)
        ));
        *seq += 1;
    };
    while tape.len() < bytes {
        let call = seq + 1;
        let needle = if seq == 3 * 700 { "needle" } else { "" };
        push(
            r#""k":"msg.in","role":"user","by":"person","text":"next""#,
            &mut seq,
            &mut tape,
        );
        push(
            r#""k":"tool.call","tool":"Bash","kind":"execute","args":{"command":"make"}"#,
            &mut seq,
            &mut tape,
        );
        push(
            &format!(r#""k":"tool.result","stdout":"{output}{needle}","parent":{call}"#),
            &mut seq,
            &mut tape,
        );
    }
    tape
}
