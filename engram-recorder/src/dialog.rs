//! A conversation over standard input and output in JSON lines, as Claude Code holds it: messages, and answers to requests for permission.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::ChildStdin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use crate::bounded;
use crate::process::{End, Running};
use crate::scenario::Run;
use crate::server::Stage;

/// How often the state of the conversation is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// How long what was printed may take to be read after the end.
const DRAIN: Duration = Duration::from_secs(5);
/// The most bytes of an image.
const MAX_IMAGE: u64 = 1 << 20;
/// The most bytes that a command may print.
const MAX_PRINTED: u64 = 256 << 20;

/// Says the messages of a run one after the other, each after the answer to the one before. A message `/sleep N` waits N milliseconds,
/// `/control {…}` sends a request of control, `/now TEXT` does not wait for the answer before.
///
/// # Errors
/// If the command cannot be spoken to at all.
pub fn hold(
    mut running: Running,
    run: &Run,
    project: &Path,
    stage: &Arc<Stage>,
    out: &Path,
    limit: Duration,
) -> io::Result<End> {
    let child = running.child();
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::from(io::ErrorKind::BrokenPipe));
    };
    let line = Arc::new(Line {
        stdin: Mutex::new(Some(stdin)),
        results: AtomicUsize::new(0),
        session: Mutex::new(String::new()),
    });
    let (reader, answers, printed, hearer) = (
        Arc::clone(&line),
        run.answers.clone(),
        File::create(out)?,
        Arc::clone(stage),
    );
    let (ends, listener) = mpsc::channel::<()>();
    thread::spawn(move || {
        reader.listen(
            BufReader::new(stdout.take(MAX_PRINTED)),
            answers,
            printed,
            &hearer,
        );
        drop(ends);
    });
    let speaker = (Arc::clone(&line), run.says.clone(), Arc::clone(stage));
    let images = run
        .images
        .iter()
        .map(|name| image(&project.join(name)))
        .collect::<io::Result<Vec<Value>>>()?;
    thread::spawn(move || speaker.0.speak(&speaker.1, images, &speaker.2, limit));
    let mut since = None;
    let kill = run.kill.clone();
    let end = running.wait(limit, out, || {
        let Some(kill) = &kill else { return false };
        if since.is_none() && stage.begun(&kill.thread) >= kill.answers {
            since = Some(Instant::now());
        }
        since.is_some_and(|since| since.elapsed() >= Duration::from_millis(kill.wait_ms))
    });
    // What the command left behind may keep the pipe open.
    let _ = listener.recv_timeout(DRAIN);
    end
}

struct Line {
    stdin: Mutex<Option<ChildStdin>>,
    results: AtomicUsize,
    session: Mutex<String>,
}

impl Line {
    fn send(&self, message: &Value) {
        let mut stdin = self.stdin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stdin) = stdin.as_mut() {
            // A harness that has gone is seen by its end.
            let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        }
    }

    fn speak(&self, says: &[String], mut images: Vec<Value>, stage: &Stage, limit: Duration) {
        let begun = Instant::now();
        self.send(&json!({"type": "control_request", "request_id": "start", "request": {"subtype": "initialize", "hooks": null}}));
        thread::sleep(Duration::from_millis(500));
        let mut said = 0;
        for text in says {
            if let Some(rest) = text.strip_prefix("/sleep ") {
                thread::sleep(Duration::from_millis(rest.parse().unwrap_or_default()));
                continue;
            }
            if let Some(rest) = text.strip_prefix("/control ") {
                let request: Value = serde_json::from_str(rest).unwrap_or_default();
                self.send(&json!({"type": "control_request", "request_id": format!("control{said}"), "request": request}));
                thread::sleep(Duration::from_millis(400));
                continue;
            }
            let now = text.strip_prefix("/now ");
            while now.is_none()
                && self.results.load(Ordering::Relaxed) < said
                && begun.elapsed() < limit
            {
                thread::sleep(LOOK);
            }
            let text = now.unwrap_or(text);
            stage.enter(text);
            let session = self
                .session
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone();
            let content = if images.is_empty() {
                json!(text)
            } else {
                let text = json!({"type": "text", "text": text});
                Value::Array([text].into_iter().chain(images.drain(..)).collect())
            };
            let message = json!({"role": "user", "content": content});
            self.send(&json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": session}));
            said += 1;
        }
        while self.results.load(Ordering::Relaxed) < said && begun.elapsed() < limit {
            thread::sleep(LOOK);
        }
        self.stdin
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    fn listen(
        &self,
        stdout: impl BufRead,
        mut answers: BTreeMap<String, Vec<Value>>,
        mut printed: File,
        stage: &Stage,
    ) {
        for line in stdout.split(b'\n').map_while(Result::ok) {
            // What cannot be kept is missing from the recording, which the kit sees.
            let _ = printed
                .write_all(&line)
                .and_then(|()| printed.write_all(b"\n"));
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if let Some(id) = message["session_id"].as_str() {
                *self.session.lock().unwrap_or_else(PoisonError::into_inner) = id.to_owned();
            }
            if message["type"] == "result" {
                self.results.fetch_add(1, Ordering::Relaxed);
            }
            if message["type"] == "control_request"
                && message["request"]["subtype"] == "can_use_tool"
            {
                let answer = answer(&message["request"], &mut answers);
                // Why a person refuses is said to the model too.
                if let Some(why) = answer["message"].as_str() {
                    stage.enter(why);
                }
                let response = json!({"subtype": "success", "request_id": message["request_id"], "response": answer});
                self.send(&json!({"type": "control_response", "response": response}));
            }
        }
    }
}

/// An image as a part of a message.
fn image(path: &Path) -> io::Result<Value> {
    let data = BASE64.encode(bounded::read_left(path, MAX_IMAGE)?);
    Ok(
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}),
    )
}

/// The next answer for a tool, or that it is allowed. `merge` is joined with the input.
fn answer(request: &Value, answers: &mut BTreeMap<String, Vec<Value>>) -> Value {
    let tool = request["tool_name"].as_str().unwrap_or_default();
    let name = if answers.contains_key(tool) {
        tool
    } else {
        "*"
    };
    let next = answers
        .get_mut(name)
        .filter(|list| !list.is_empty())
        .map(|list| {
            if list.len() > 1 {
                list.remove(0)
            } else {
                list[0].clone()
            }
        });
    let mut answer = next.unwrap_or_else(|| json!({"behavior": "allow"}));
    if answer["behavior"] == "allow" {
        let mut input: Map<String, Value> =
            request["input"].as_object().cloned().unwrap_or_default();
        let merged = answer
            .as_object_mut()
            .and_then(|answer| answer.remove("merge"));
        input.extend(
            merged
                .and_then(|merged| merged.as_object().cloned())
                .unwrap_or_default(),
        );
        if answer.get("updatedInput").is_none() {
            answer["updatedInput"] = Value::Object(input);
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_is_a_part_of_a_message() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.png");
        std::fs::write(&path, b"\x89PNG").unwrap();
        let source = json!({"type": "base64", "media_type": "image/png", "data": "iVBORw=="});
        assert_eq!(
            image(&path).unwrap(),
            json!({"type": "image", "source": source})
        );
    }

    #[test]
    fn answers_are_used_in_order_and_the_last_one_stays() {
        let mut answers = BTreeMap::from([(
            "Edit".to_owned(),
            vec![
                json!({"behavior": "deny"}),
                json!({"behavior": "allow", "merge": {"b": 2}}),
            ],
        )]);
        let request = json!({"tool_name": "Edit", "input": {"a": 1}});
        assert_eq!(answer(&request, &mut answers), json!({"behavior": "deny"}));
        for _ in 0..2 {
            assert_eq!(
                answer(&request, &mut answers)["updatedInput"],
                json!({"a": 1, "b": 2})
            );
        }
        assert_eq!(
            answer(&json!({"tool_name": "Bash", "input": {}}), &mut answers)["behavior"],
            "allow"
        );
    }
}
