//! Messages of the protocol as lines of standard input and output. A line that is no message gets an answer: a client may wait for it.

use std::future::{Future, ready};
use std::io::{self, BufRead, Read, Write};

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Longest line that is read.
const MAX_LINE: u64 = 4 << 20;
/// A byte order mark, which some programs write first.
const MARK: &[u8] = b"\xEF\xBB\xBF";
/// Messages that wait for the server.
const MAX_WAITING: usize = 16;

/// The connection to the client.
pub struct Lines {
    messages: Receiver<ClientJsonRpcMessage>,
}

impl Lines {
    /// Reads standard input from now on, in a thread of its own, until it ends.
    pub fn open() -> Lines {
        let (send, messages) = channel(MAX_WAITING);
        std::thread::spawn(move || read(io::stdin().lock(), &send, |fault| write(&fault)));
        Lines { messages }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        ready(write(&message))
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        self.messages.recv()
    }

    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

/// Writes one message, which no other one interrupts.
fn write(message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}

/// Passes messages on. Any other line gets an error as its answer.
fn read(
    mut input: impl BufRead,
    messages: &Sender<ClientJsonRpcMessage>,
    mut answer: impl FnMut(Value) -> io::Result<()>,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_cut = line.len() as u64 == MAX_LINE && !line.ends_with(b"\n");
        if is_cut && input.skip_until(b'\n').is_err() {
            return;
        }
        let passed = match is_cut {
            true => answer(too_long()).is_ok(),
            false => match meaning(&line) {
                Meaning::Message(message) => messages.blocking_send(*message).is_ok(),
                Meaning::Fault(fault) => answer(fault).is_ok(),
                Meaning::Nothing => true,
            },
        };
        if !passed {
            return;
        }
    }
}

fn too_long() -> Value {
    let what = format!("a message has at most {} MiB", MAX_LINE >> 20);
    fault(ErrorCode::INVALID_REQUEST, &what, None)
}

/// What a line is.
enum Meaning {
    Message(Box<ClientJsonRpcMessage>),
    /// The answer to what is no message.
    Fault(Value),
    /// Nothing that is answered: an empty line, an unknown notification, or the answer to a question that was not asked.
    Nothing,
}

fn meaning(line: &[u8]) -> Meaning {
    let line = line.strip_prefix(MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Meaning::Nothing;
    }
    if let Ok(message) = serde_json::from_slice(line) {
        return Meaning::Message(Box::new(message));
    }
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        return Meaning::Fault(fault(ErrorCode::PARSE_ERROR, "the line is no JSON", None));
    };
    let has = |name: &str| value.get(name).is_some_and(|member| !member.is_null());
    if has("result") || has("error") || (has("method") && !has("id")) {
        return Meaning::Nothing;
    }
    let id = value
        .get("id")
        .filter(|id| RequestId::deserialize(*id).is_ok());
    Meaning::Fault(fault(
        ErrorCode::INVALID_REQUEST,
        "the line is no request of the protocol",
        id,
    ))
}

/// An answer as JSON-RPC 2.0 has it: the id is null if nobody knows it.
fn fault(code: ErrorCode, message: &str, id: Option<&Value>) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": message}})
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The methods that are passed on, and the ids and codes of the answers.
    fn outcome(input: &[u8]) -> (Vec<Value>, Vec<(Value, Value)>) {
        let (send, mut receive) = channel(MAX_WAITING);
        let mut answers = Vec::new();
        read(input, &send, |fault| {
            answers.push((fault["id"].clone(), fault["error"]["code"].clone()));
            Ok(())
        });
        drop(send);
        let mut methods = Vec::new();
        while let Some(message) = receive.blocking_recv() {
            methods.push(serde_json::to_value(&message).unwrap()["method"].clone());
        }
        (methods, answers)
    }

    #[test]
    fn a_line_that_is_no_message_gets_an_answer_and_the_next_one_is_read() {
        let next = "\r\n{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}\n";
        let no_json = (Value::Null, json!(-32700));
        let no_request = |id: Value| (id, json!(-32600));
        for (line, answered) in [
            ("garbage", Some(no_json.clone())),
            ("{\"jsonrpc\":\"2.0\",\"id\":1,", Some(no_json)),
            ("\u{feff}{\"id\":5}", Some(no_request(json!(5)))),
            ("[]", Some(no_request(Value::Null))),
            ("3", Some(no_request(Value::Null))),
            ("{\"id\":4}", Some(no_request(json!(4)))),
            (
                "{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
                Some(no_request(json!("a"))),
            ),
            (
                "{\"id\":{},\"method\":\"ping\"}",
                Some(no_request(Value::Null)),
            ),
            ("", None),
            ("{\"method\":\"nobody/knows\"}", None),
            ("{\"id\":null,\"error\":{\"code\":-32700}}", None),
        ] {
            let (methods, answers) = outcome(format!("{line}{next}").as_bytes());
            assert_eq!(methods, ["tools/list"], "{line}");
            assert_eq!(answers, answered.into_iter().collect::<Vec<_>>(), "{line}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_not_kept() {
        let long = "x".repeat(MAX_LINE as usize + 1);
        let (methods, answers) = outcome(format!("{long}\ngarbage\n").as_bytes());
        assert!(methods.is_empty());
        assert_eq!(
            answers,
            [(Value::Null, json!(-32600)), (Value::Null, json!(-32700))]
        );
    }
}
