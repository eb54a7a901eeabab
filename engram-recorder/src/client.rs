//! A client of a harness: it calls, waits, and answers what the harness asks, as the scenario says.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::ChildStdout;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

use crate::process::{End, Running, Words};
use crate::scenario::{Act, Call, Message, Run};
use crate::server::Stage;
use crate::tools::{fill, fill_text};

/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(25);
/// How far calls are apart that are made again, and how long one of them is waited for: a server that starts may lose one.
const AGAIN: Duration = Duration::from_millis(200);
const TRY: Duration = Duration::from_secs(3);
/// How long a message of the harness, or an answer, is waited for.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a harness may take to end after its client has gone.
const END: Duration = Duration::from_secs(15);
/// The most bytes that a command may print, and of an answer over HTTP.
const MAX_BYTES: u64 = 256 << 20;

/// What a client has seen.
#[derive(Debug, Default)]
pub struct Led {
    /// How the command ended. A server that does not end by itself is killed.
    pub end: Option<End>,
    /// Calls that were refused or had no answer.
    pub refused: Vec<String>,
    /// The session that was kept.
    pub session: Option<String>,
}

/// A port of this machine that nobody uses.
///
/// # Errors
/// If the system has no free port.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}

/// Leads a client of a command that runs. `values` are those that calls can name; with a `port` the client speaks HTTP.
///
/// # Errors
/// If the command cannot be spoken to at all.
pub fn lead(
    mut running: Running,
    run: &Run,
    stage: &Arc<Stage>,
    out: &Path,
    limit: Duration,
    values: BTreeMap<String, Value>,
) -> io::Result<Led> {
    let port = values.get("port").and_then(Value::as_str);
    let client = Arc::new(Client {
        port: port.and_then(|port| port.parse().ok()),
        words: Mutex::new(Some(running.words())),
        heard: Mutex::default(),
        is_over: AtomicBool::new(false),
    });
    let stdout = running.child().stdout.take();
    let stdout = stdout.ok_or_else(|| io::Error::from(io::ErrorKind::BrokenPipe))?;
    let (reader, answers, printed) = (Arc::clone(&client), run.answers.clone(), File::create(out)?);
    thread::spawn(move || reader.listen(stdout, answers, printed));
    let (actor, acts, hearer) = (Arc::clone(&client), run.client.clone(), Arc::clone(stage));
    let acting = thread::spawn(move || actor.act(&acts, values, &hearer));
    let begun = Instant::now();
    let mut since_acts = None;
    let mut since_kill = None;
    let end = loop {
        if let Some(end) = running.ended()? {
            break end;
        }
        if acting.is_finished() && since_acts.is_none() {
            since_acts = Some(Instant::now());
            client.words().take();
        }
        let is_served = since_acts.is_some() && client.port.is_some();
        if is_served || since_acts.is_some_and(|since| since.elapsed() > END) {
            break End::Killed;
        }
        if let Some(kill) = &run.kill
            && stage.begun(&kill.thread) >= kill.answers
            && since_kill
                .get_or_insert_with(Instant::now)
                .elapsed()
                .as_millis()
                >= u128::from(kill.wait_ms)
        {
            break End::Killed;
        }
        if begun.elapsed() > limit {
            break End::Timeout;
        }
        thread::sleep(LOOK);
    };
    client.is_over.store(true, Ordering::Relaxed);
    if end == End::Killed && run.kill.is_some() {
        // A harness that is killed must not be able to end in order.
        let _ = running.child().kill();
    }
    running.stop();
    let (refused, session) = acting.join().unwrap_or_default();
    Ok(Led {
        end: Some(end),
        refused,
        session,
    })
}

struct Client {
    /// The port of the harness, if it is spoken to over HTTP.
    port: Option<u16>,
    /// Its standard input.
    words: Mutex<Option<Words>>,
    heard: Mutex<Heard>,
    is_over: AtomicBool,
}

/// What came from the harness.
#[derive(Default)]
struct Heard {
    /// The number of the last call.
    calls: u64,
    /// Calls that are not answered.
    open: BTreeMap<u64, String>,
    /// The answer to each call, or the reason why it failed.
    answers: BTreeMap<u64, Result<Value, String>>,
    /// Messages that came since the last call was made, or since one of them was waited for.
    messages: Vec<Value>,
}

impl Client {
    fn words(&self) -> MutexGuard<'_, Option<Words>> {
        self.words.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &Value) {
        if let Some(words) = &*self.words() {
            words.say(format!("{message}\n").into_bytes());
        }
    }

    /// Waits until something is so; false if it never was.
    fn wait(&self, is_so: impl FnMut() -> bool) -> bool {
        self.wait_for(PATIENCE, is_so)
    }

    fn wait_for(&self, limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < limit && !self.is_over.load(Ordering::Relaxed) {
            if is_so() {
                return true;
            }
            thread::sleep(LOOK);
        }
        is_so()
    }

    /// Does everything in order. Returns what was refused, and the session that was kept.
    fn act(
        self: &Arc<Self>,
        acts: &[Act],
        mut values: BTreeMap<String, Value>,
        stage: &Stage,
    ) -> (Vec<String>, Option<String>) {
        let mut refused = Vec::new();
        for act in acts {
            if self.is_over.load(Ordering::Relaxed) {
                break;
            }
            match act {
                Act::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
                Act::Answer { thread, answers } => {
                    self.wait(|| stage.begun(thread) >= *answers);
                }
                Act::Notify(message) => {
                    let params = fill(&message.params, &values);
                    self.send(
                        &json!({"jsonrpc": "2.0", "method": message.method, "params": params}),
                    );
                }
                Act::Until(message) => refused.extend(self.until(message, &values)),
                Act::Settle(_) => {
                    self.wait(|| self.heard().open.is_empty());
                }
                Act::Call(call) => {
                    if let Err(why) = self.call(call, &mut values, stage) {
                        refused.push(format!("{}: {why}", call.method));
                    }
                }
            }
        }
        refused.extend(self.left_open());
        let session = values.get("session").and_then(Value::as_str);
        (refused, session.map(str::to_owned))
    }

    /// Calls that nobody waited for, as far as they failed.
    fn left_open(&self) -> Vec<String> {
        let mut heard = self.heard();
        let open = std::mem::take(&mut heard.open).into_values();
        let open = open.map(|method| format!("{method}: no answer"));
        let failed = heard
            .answers
            .values()
            .filter_map(|answer| answer.clone().err());
        open.chain(failed).collect()
    }

    fn call(
        self: &Arc<Self>,
        call: &Call,
        values: &mut BTreeMap<String, Value>,
        stage: &Stage,
    ) -> Result<(), String> {
        if !call.says.is_empty() {
            stage.enter(&call.says);
        }
        values.insert("says".to_owned(), json!(call.says));
        let begun = Instant::now();
        loop {
            let number = self.begin(call, values);
            if call.later {
                return Ok(());
            }
            let mut answer = None;
            let limit = if call.again { TRY } else { PATIENCE };
            self.wait_for(limit, || {
                answer = self.heard().answers.remove(&number);
                answer.is_some()
            });
            self.heard().open.remove(&number);
            let answer = answer.unwrap_or_else(|| Err("no answer".to_owned()));
            let kept = answer.and_then(|answer| keep(call, &answer));
            match kept {
                Ok(kept) => values.extend(kept),
                Err(_)
                    if call.again
                        && begun.elapsed() < PATIENCE
                        && !self.is_over.load(Ordering::Relaxed) =>
                {
                    thread::sleep(AGAIN);
                    continue;
                }
                Err(why) => return Err(why),
            }
            break;
        }
        let missed = call
            .until
            .as_ref()
            .and_then(|until| self.until(until, values));
        missed.map_or(Ok(()), Err)
    }

    /// Makes a call, and returns its number.
    fn begin(self: &Arc<Self>, call: &Call, values: &BTreeMap<String, Value>) -> u64 {
        let method = fill_text(&call.method, values);
        let params = fill(&call.params, values).unwrap_or(Value::Null);
        let number = {
            let mut heard = self.heard();
            heard.calls += 1;
            heard.messages.clear();
            let number = heard.calls;
            heard.open.insert(number, method.clone());
            number
        };
        let Some(port) = self.port else {
            self.send(&json!({"jsonrpc": "2.0", "id": number, "method": method, "params": params}));
            return number;
        };
        let client = Arc::clone(self);
        thread::spawn(move || {
            let answer = request(port, &method, &params);
            client.answered(number, answer.map_err(|why| format!("{method}: {why}")));
        });
        number
    }

    fn answered(&self, number: u64, answer: Result<Value, String>) {
        let mut heard = self.heard();
        if heard.open.remove(&number).is_some() {
            heard.answers.insert(number, answer);
        }
    }

    /// Waits for a message; says which one if it never came.
    fn until(&self, message: &Message, values: &BTreeMap<String, Value>) -> Option<String> {
        let params = fill(&message.params, values).unwrap_or(Value::Null);
        let came = self.wait(|| {
            let mut heard = self.heard();
            let at = heard
                .messages
                .iter()
                .position(|came| came["method"] == message.method && has(&came["params"], &params));
            at.map(|at| heard.messages.drain(..=at)).is_some()
        });
        (!came).then(|| format!("{} never came", message.method))
    }

    /// Hears what a harness prints, and answers what it asks.
    fn listen(
        &self,
        stdout: ChildStdout,
        mut answers: BTreeMap<String, Vec<Value>>,
        mut printed: File,
    ) {
        let lines = BufReader::new(stdout.take(MAX_BYTES)).split(b'\n');
        for line in lines.map_while(Result::ok) {
            // It is for those who look for the reason of a failure.
            let _ = printed
                .write_all(&line)
                .and_then(|()| printed.write_all(b"\n"));
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            match (message["method"].as_str(), message["id"].as_u64()) {
                (Some(method), _) if !message["id"].is_null() => {
                    let mut answer = match next(method, &mut answers) {
                        Some(result) => json!({"result": result}),
                        None => {
                            json!({"error": {"code": -32601, "message": "the scenario has no answer"}})
                        }
                    };
                    (answer["jsonrpc"], answer["id"]) = (json!("2.0"), message["id"].clone());
                    self.send(&answer);
                }
                (Some(_), _) => self.heard().messages.push(message),
                (None, Some(number)) => {
                    let answer = match message.get("error") {
                        None => Ok(message["result"].clone()),
                        Some(error) => {
                            Err(error["message"].as_str().unwrap_or("refused").to_owned())
                        }
                    };
                    self.answered(number, answer);
                }
                (None, None) => {}
            }
        }
    }
}

/// The next answer to a method; the last one stays.
fn next(method: &str, answers: &mut BTreeMap<String, Vec<Value>>) -> Option<Value> {
    let name = if answers.contains_key(method) {
        method
    } else {
        "*"
    };
    let list = answers.get_mut(name)?;
    if list.len() > 1 {
        Some(list.remove(0))
    } else {
        list.first().cloned()
    }
}

/// The values that a call keeps.
fn keep(call: &Call, answer: &Value) -> Result<BTreeMap<String, Value>, String> {
    let kept = call.keep.iter().map(|(name, pointer)| {
        let value = answer.pointer(pointer).filter(|value| !value.is_null());
        let value = value.ok_or_else(|| format!("the answer has no {pointer}"))?;
        Ok((name.clone(), value.clone()))
    });
    kept.collect()
}

/// True if a value has at least what another one has.
fn has(value: &Value, least: &Value) -> bool {
    match (value, least) {
        (_, Value::Null) => true,
        (Value::Object(value), Value::Object(least)) => least
            .iter()
            .all(|(name, least)| value.get(name).is_some_and(|value| has(value, least))),
        (value, least) => value == least,
    }
}

/// One request over HTTP on loopback, and the JSON of its answer.
fn request(port: u16, method: &str, body: &Value) -> Result<Value, String> {
    let (verb, path) = method.split_once(' ').ok_or("expected a verb and a path")?;
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let (status, text) = runtime
        .map_err(|error| error.to_string())?
        .block_on(async { tokio::time::timeout(PATIENCE, ask(port, verb, path, body)).await })
        .map_err(|_| "no answer in time")?
        .map_err(|error| error.to_string())?;
    if !status.is_success() {
        let said: String = String::from_utf8_lossy(&text).chars().take(200).collect();
        return Err(format!("{}: {said}", status.as_u16()));
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

/// The status and the body of an answer.
async fn ask(
    port: u16,
    verb: &str,
    path: &str,
    body: String,
) -> Result<(StatusCode, Bytes), Box<dyn Error + Send + Sync>> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stream = TokioIo::new(TcpStream::connect(address).await?);
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await?;
    // It ends with the sender.
    tokio::spawn(connection);
    let request = Request::builder()
        .method(verb)
        .uri(path)
        .header(HOST, address.to_string())
        .header(CONTENT_TYPE, "application/json")
        // hyper leaves it out of a call without a body, and a simple server waits for it.
        .header(CONTENT_LENGTH, body.len())
        .body(Full::new(Bytes::from(body)))?;
    let answer = sender.send_request(request).await?;
    let status = answer.status();
    let body = Limited::new(answer.into_body(), MAX_BYTES as usize);
    Ok((status, body.collect().await?.to_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_over_http_are_json_or_the_reason() {
        let answer_of = |answer: &'static str| {
            let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            let port = server.local_addr().unwrap().port();
            let serving = thread::spawn(move || {
                let (mut stream, _) = server.accept().unwrap();
                let mut begin = [0; 16];
                stream.read_exact(&mut begin).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                String::from_utf8_lossy(&begin).into_owned()
            });
            let answer = request(port, "POST /session", &json!({"a": 1}));
            assert!(serving.join().unwrap().starts_with("POST /session "));
            answer
        };
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n";
        assert_eq!(answer_of(chunks), Ok(json!({})));
        let known = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n7";
        assert_eq!(answer_of(known), Ok(json!(7)));
        let refused = "HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno";
        assert_eq!(answer_of(refused), Err("404: no".to_owned()));
        assert!(answer_of("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut").is_err());
        assert!(request(1, "nothing", &Value::Null).is_err());
    }

    #[test]
    fn message_has_at_least_what_is_waited_for() {
        let came = json!({"threadId": "a", "turn": {"status": "completed", "id": 1}});
        assert!(has(&came, &json!({"turn": {"status": "completed"}})) && has(&came, &Value::Null));
        assert!(!has(&came, &json!({"threadId": "b"})) && !has(&came, &json!({"other": null})));
    }

    #[test]
    fn value_that_is_kept_must_be_there() {
        let call = Call {
            keep: BTreeMap::from([("id".to_owned(), "/0/id".to_owned())]),
            ..Call::default()
        };
        assert_eq!(keep(&call, &json!([{"id": "x"}])).unwrap()["id"], "x");
        assert!(keep(&call, &json!([])).unwrap_err().contains("/0/id"));
    }
}
