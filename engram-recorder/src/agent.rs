//! The smallest black-box agent: one question to a model on loopback, one answer. The profile `local-inference` runs it, again for each
//! result, with all that was said in its prompt.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::error::{Fault, RecorderError};

/// The most bytes of an answer.
const MAX_ANSWER: u64 = 16 << 20;
/// The longest time without a byte of the answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model server with OpenAI's chat completions.
#[derive(Debug)]
pub struct Model<'m> {
    /// Where it is: `http://127.0.0.1:PORT/v1`.
    pub base_url: &'m str,
    /// The name of the model.
    pub name: &'m str,
    /// A key. It need not be a real one.
    pub key: &'m str,
}

impl Model<'_> {
    /// What the model says to a prompt.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the server is not on loopback, does not answer, or answers something else.
    pub fn ask(&self, prompt: &str) -> Result<String, RecorderError> {
        let failed = |what: String| {
            RecorderError::new(Fault::Misconfigured, format!("{}: {what}", self.base_url))
        };
        let (address, path) = place(self.base_url)
            .ok_or_else(|| failed("expected http://127.0.0.1:PORT/v1".to_owned()))?;
        let body = json!({"model": self.name, "stream": false, "messages": [{"role": "user", "content": prompt}]}).to_string();
        let answer = self
            .post(address, path, &body)
            .map_err(|error| failed(error.to_string()))?;
        let (head, text) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| failed("no answer of HTTP".to_owned()))?;
        if head.split(' ').nth(1) != Some("200") {
            return Err(failed(head.lines().next().unwrap_or_default().to_owned()));
        }
        let answer: Value =
            serde_json::from_str(text).map_err(|error| failed(error.to_string()))?;
        let said = answer
            .pointer("/choices/0/message/content")
            .and_then(Value::as_str);
        said.map(str::to_owned).ok_or_else(|| {
            failed("the answer has no text at /choices/0/message/content".to_owned())
        })
    }

    fn post(&self, address: SocketAddr, path: &str, body: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // Version 1.0: the answer ends with the connection, and comes in one piece.
        let request = format!(
            "POST {path}/chat/completions HTTP/1.0\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.key,
            body.len()
        );
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.take(MAX_ANSWER).read_to_string(&mut answer)?;
        Ok(answer)
    }
}

/// The address and the path of a server on loopback.
fn place(base_url: &str) -> Option<(SocketAddr, &str)> {
    let rest = base_url.strip_prefix("http://")?;
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let address: SocketAddr = host.parse().ok()?;
    let is_local = match address.ip() {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip.is_loopback(),
    };
    is_local.then_some((address, path.trim_end_matches('/')))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// A server that reads one request, and answers so.
    fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let handle = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = vec![0; 4096];
            let read = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8_lossy(&request[..read]).into_owned()
        });
        (url, handle)
    }

    #[test]
    fn answer_of_the_model_is_its_text() {
        let (url, server) =
            server("HTTP/1.0 200 OK\r\n\r\n{\"choices\":[{\"message\":{\"content\":\"hello\"}}]}");
        let model = Model {
            base_url: &url,
            name: "m",
            key: "fake",
        };
        assert_eq!(model.ask("say \"hi\"").unwrap(), "hello");
        let request = server.join().unwrap();
        assert!(
            request.starts_with("POST /v1/chat/completions HTTP/1.0\r\n"),
            "{request}"
        );
        assert!(request.contains(r#""content":"say \"hi\"""#), "{request}");
    }

    #[test]
    fn refusal_and_other_answers_are_errors() {
        for (answer, word) in [
            ("HTTP/1.0 500 No\r\n\r\n{}", "500"),
            ("HTTP/1.0 200 OK\r\n\r\n{}", "/choices/0"),
            ("", "HTTP"),
        ] {
            let (url, server) = server(answer);
            let error = Model {
                base_url: &url,
                name: "m",
                key: "fake",
            }
            .ask("hi")
            .unwrap_err();
            assert!(
                error.fault == Fault::Misconfigured && error.what.contains(word),
                "{error}"
            );
            server.join().unwrap();
        }
    }

    #[test]
    fn only_loopback_is_asked() {
        assert_eq!(
            place("http://127.0.0.1:80/v1/"),
            Some(("127.0.0.1:80".parse().unwrap(), "/v1"))
        );
        assert!(place("http://[::1]:80").is_some());
        for url in [
            "http://192.0.2.1:80/v1",
            "https://127.0.0.1:80",
            "http://localhost:80",
            "http://127.0.0.1",
        ] {
            assert_eq!(place(url), None, "{url}");
        }
    }
}
