//! Hands requests on to a provider with the key that the harness must not see, and the answers back byte for byte.
//!
//! It listens on a socket of the file system, which a process without a network can reach. `curl` speaks TLS: a crate for that would bring
//! a library of cryptography into every build, for a test that few people run.

use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::UnixListener;
use tokio::sync::{mpsc, oneshot};

use super::http::{
    BEFORE_CUT, Background, MAX_BODY, Pieces, WAITING_PIECES, aside, converse, document, listen,
    not_found, set,
};
use crate::error::{Fault, RecorderError};
use crate::harness::FAKE_KEY;

/// The most requests of one run that reach the provider: each costs money.
const MAX_REQUESTS: u64 = 100;
/// The most bytes of a line of an answer's head, and the most lines.
const MAX_HEAD: (u64, usize) = (64 << 10, 200);
/// So many bytes of a refusal are told.
const TOLD: usize = 300;
/// The shortest key: a shorter one would be found in every recording.
const LEAST_KEY: usize = 12;
/// Headers that belong to one connection, that carry a key, or that `curl` sets.
const OWN_HEADERS: &[&str] = &[
    "accept-encoding",
    "authorization",
    "connection",
    "content-length",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "set-cookie",
    "te",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
    "x-goog-api-key",
];

/// Where requests go, and with which key.
#[derive(Clone)]
pub struct Provider {
    url: String,
    header: &'static str,
    key: String,
    seconds: u64,
}

impl Provider {
    /// A provider at this address. `header` is what stands before the key, such as `x-api-key: `; `seconds` are for one request.
    ///
    /// # Errors
    /// `adapter_misconfigured` if the key could be read on its way, or is none.
    pub fn new(
        url: &str,
        header: &'static str,
        key: &str,
        seconds: u64,
    ) -> Result<Provider, RecorderError> {
        let wrong = |what: &str| RecorderError::new(Fault::Misconfigured, what);
        let is_plain = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\'))
        };
        let is_private = url.starts_with("https://") || url.starts_with("http://127.0.0.1:");
        if !is_private || !is_plain(url) {
            return Err(wrong(
                "the address of the provider must begin with https://, or with http://127.0.0.1:",
            ));
        }
        if key.len() < LEAST_KEY || !is_plain(key) {
            return Err(wrong(&format!(
                "a key has at least {LEAST_KEY} letters, digits and signs"
            )));
        }
        Ok(Provider {
            url: url.trim_end_matches('/').to_owned(),
            header,
            key: key.to_owned(),
            seconds,
        })
    }

    /// Which key is in these bytes: neither must be.
    pub(crate) fn key_in(&self, bytes: &[u8]) -> Option<&'static str> {
        let has = |key: &str| memchr::memmem::find(bytes, key.as_bytes()).is_some();
        if has(&self.key) {
            Some("the real key")
        } else {
            has(FAKE_KEY).then_some("the fake key")
        }
    }

    /// The address of a request. `key=` in it is the fake one; a base that ends with the version of the API is not doubled.
    fn address(&self, path: &str) -> String {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let base = match self.url.rsplit_once('/') {
            Some((base, last)) if path.starts_with(&format!("/{last}/")) => base,
            _ => &self.url,
        };
        let query: Vec<&str> = query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.starts_with("key="))
            .collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{base}{path}{mark}{}", query.join("&"))
    }

    /// What `curl` reads from standard input: on its command line everybody could see the key.
    fn config(&self, path: &str, headers: &HeaderMap, body: &Path) -> String {
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut config = format!(
            "url = \"{}\"\ndata-binary = \"@{}\"\nheader = \"{}{}\"\nheader = \"expect:\"\nmax-time = {}\n\
             proto = \"=http,https\"\nno-buffer\nsilent\nshow-error\ninclude\nsuppress-connect-headers\ngloboff\npath-as-is\n",
            quoted(&self.address(path)),
            quoted(&body.to_string_lossy()),
            self.header,
            self.key,
            self.seconds
        );
        for (name, value) in headers {
            if let Ok(value) = value.to_str()
                && !OWN_HEADERS.contains(&name.as_str())
            {
                config.push_str(&format!("header = \"{name}: {}\"\n", quoted(value)));
            }
        }
        config
    }
}

/// What went through a relay.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// How many requests were handed on.
    pub requests: u64,
    /// How many answers were streams of events.
    pub streamed: u64,
    /// The first answer that was an error, or why there was none.
    pub refused: Option<String>,
}

/// A relay that runs until it is dropped.
pub struct Relay {
    shared: Arc<Shared>,
    background: Option<Background>,
}

struct Shared {
    provider: Provider,
    fixed: Vec<(String, Value)>,
    relayed: Mutex<Relayed>,
    running: Mutex<Vec<Arc<Mutex<Child>>>>,
}

impl Relay {
    /// Starts a relay at a new socket. `fixed` has answers to requests for documents, by the end of the path.
    ///
    /// # Errors
    /// If there can be no socket, as when its path is too long.
    pub fn start(
        socket: &Path,
        provider: Provider,
        fixed: Vec<(String, Value)>,
    ) -> Result<Relay, RecorderError> {
        let shared = Arc::new(Shared {
            provider,
            fixed,
            relayed: Mutex::default(),
            running: Mutex::default(),
        });
        let bind = async { UnixListener::bind(socket) };
        let background = listen(bind, |listener| accept(listener, Arc::clone(&shared)))?;
        Ok(Relay {
            shared,
            background: Some(background),
        })
    }

    /// What went through it so far.
    pub fn relayed(&self) -> Relayed {
        lock(&self.shared.relayed).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drop(self.background.take());
        for child in lock(&self.shared.running).iter() {
            // It may have ended by itself.
            let _ = lock(child).kill();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            continue;
        };
        let shared = Arc::clone(&shared);
        tokio::spawn(converse(connection, move |request| {
            answer(request, Arc::clone(&shared))
        }));
    }
}

/// Requests that are turns of a model go on; to all others the scripted server has an answer.
async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Response<Pieces> {
    let (head, body) = request.into_parts();
    let bare = head.uri.path();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return document(StatusCode::PAYLOAD_TOO_LARGE, &json!({}));
    };
    let mut fixed = shared.fixed.iter();
    if let Some((_, answer)) = fixed.find(|(end, _)| bare.ends_with(end.as_str())) {
        return document(StatusCode::OK, answer);
    }
    if head.method != Method::POST {
        return not_found(bare);
    }
    let ends = [
        "/messages",
        "/responses",
        "/chat/completions",
        "enerateContent",
    ];
    if !ends.iter().any(|end| bare.ends_with(end)) {
        return aside(bare, &Value::Null);
    }
    let path = head
        .uri
        .path_and_query()
        .map_or(bare, |path| path.as_str())
        .to_owned();
    match shared.hand_on(&path, &head.headers, &body.to_bytes()).await {
        Ok(response) => response,
        Err(error) => {
            let what = format!("curl: {error}");
            shared.refuse(&what);
            document(
                StatusCode::BAD_GATEWAY,
                &json!({"error": {"message": what}}),
            )
        }
    }
}

/// What `curl` prints before the body.
type Head = (StatusCode, Vec<(String, String)>);

impl Shared {
    async fn hand_on(
        self: &Arc<Shared>,
        path: &str,
        headers: &HeaderMap,
        body: &[u8],
    ) -> io::Result<Response<Pieces>> {
        let number = {
            let mut relayed = lock(&self.relayed);
            relayed.requests += 1;
            relayed.requests
        };
        if number > MAX_REQUESTS {
            return Err(io::Error::other(format!(
                "more than {MAX_REQUESTS} requests"
            )));
        }
        // Not in the work folder: there the harness could put a link in its place.
        let mut file = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o600))
            .tempfile()?;
        file.write_all(body)?;
        let mut child = Command::new("curl")
            .args(["--disable", "--config", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let config = self.provider.config(path, headers, file.path());
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(config.as_bytes())?;
        }
        let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let child = Arc::new(Mutex::new(child));
        lock(&self.running).push(Arc::clone(&child));
        let (sender, receiver) = mpsc::channel(WAITING_PIECES);
        let (tell, told) = oneshot::channel();
        let shared = Arc::clone(self);
        std::thread::spawn(move || {
            let _body = file;
            shared.stream(BufReader::new(stdout), &child, tell, &sender);
        });
        let (status, headers) = told.await.map_err(io::Error::other)??;
        let mut response = Response::new(Pieces(receiver));
        *response.status_mut() = status;
        for (name, value) in headers {
            set(response.headers_mut(), &name, &value);
        }
        Ok(response)
    }

    /// Passes an answer on as it comes, and keeps what kind of answer it is.
    fn stream(
        &self,
        mut from: BufReader<ChildStdout>,
        child: &Mutex<Child>,
        tell: oneshot::Sender<io::Result<Head>>,
        to: &mpsc::Sender<io::Result<Bytes>>,
    ) {
        let head = match read_head(&mut from) {
            Ok(head) => head,
            Err(_) => {
                let _ = tell.send(Err(ended(child)));
                return;
            }
        };
        let (status, is_error) = (head.0, head.0.as_u16() >= 400);
        let is_stream = |(name, value): &(String, String)| {
            name == "content-type" && value.starts_with("text/event-stream")
        };
        if !is_error && head.1.iter().any(is_stream) {
            lock(&self.relayed).streamed += 1;
        }
        let _ = tell.send(Ok(head));
        let mut error = Vec::new();
        while let Ok(bytes) = from.fill_buf() {
            let length = bytes.len();
            if is_error {
                error.extend_from_slice(&bytes[..length.min(TOLD - error.len())]);
            }
            if length == 0 {
                break;
            }
            if to.blocking_send(Ok(Bytes::copy_from_slice(bytes))).is_err() {
                // Nobody is there to read it any more.
                let _ = lock(child).kill();
                break;
            }
            from.consume(length);
        }
        drop(from);
        if is_error {
            self.refuse(&format!("{status}: {}", String::from_utf8_lossy(&error)));
        }
        if !lock(child).wait().is_ok_and(|status| status.success()) {
            std::thread::sleep(BEFORE_CUT);
            let _ = to.blocking_send(Err(ended(child)));
        }
    }

    /// Keeps the first refusal, without the key.
    fn refuse(&self, what: &str) {
        let what = what.replace(&self.provider.key, "***");
        lock(&self.relayed).refused.get_or_insert(what);
    }
}

/// Status and headers of the answer; those before it, such as `100 Continue`, are passed over.
fn read_head(from: &mut impl BufRead) -> io::Result<Head> {
    let mut head: Option<Head> = None;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    for _ in 0..MAX_HEAD.1 {
        let mut line = String::new();
        from.take(MAX_HEAD.0).read_line(&mut line)?;
        let line = line.strip_suffix('\n').ok_or_else(invalid)?.trim_end();
        match (&mut head, line.split_once(':')) {
            (None, _) => {
                let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
                head = Some((status.ok_or_else(invalid)?, Vec::new()));
            }
            (Some((status, _)), _) if line.is_empty() && status.is_informational() => head = None,
            (Some(_), _) if line.is_empty() => return head.ok_or_else(invalid),
            (Some((_, headers)), Some((name, value))) => {
                let name = name.to_ascii_lowercase();
                if !OWN_HEADERS.contains(&name.as_str()) {
                    headers.push((name, value.trim().to_owned()));
                }
            }
            (Some(_), None) => return Err(invalid()),
        }
    }
    Err(invalid())
}

/// Why `curl` ended without a whole answer.
fn ended(child: &Mutex<Child>) -> io::Error {
    let mut child = lock(child);
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        let _ = stderr.take(TOLD as u64).read_to_string(&mut said);
    }
    let _ = child.kill();
    let _ = child.wait();
    io::Error::other(said.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(url: &str) -> Provider {
        Provider::new(url, "x-api-key: ", "real-key-of-a-test", 7).unwrap()
    }

    #[test]
    fn address_has_the_version_once_and_no_fake_key() {
        let address = |base: &str, path: &str| provider(base).address(path);
        for base in ["https://a.example", "https://a.example/v1/"] {
            assert_eq!(
                address(base, "/v1/responses"),
                "https://a.example/v1/responses"
            );
        }
        assert_eq!(
            address(
                "https://a.example/g",
                "/v1beta/models/m:streamGenerateContent?alt=sse&key=fake"
            ),
            "https://a.example/g/v1beta/models/m:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn key_that_could_be_read_on_its_way_or_is_none_is_refused() {
        for (url, key) in [
            ("http://a.example", "real-key-of-a-test"),
            ("http://127.0.0.1.a.example", "real-key-of-a-test"),
            ("https://a.example\"", "real-key-of-a-test"),
            ("https://a.example", "short"),
            ("https://a.example", "real-key\"\nurl = \"b.example"),
        ] {
            assert!(
                Provider::new(url, "x-api-key: ", key, 7).is_err(),
                "{url} {key}"
            );
        }
    }

    #[test]
    fn headers_with_a_key_are_replaced_and_quotes_stay_inside() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer fake"),
            ("x-api-key", "fake"),
            ("accept-encoding", "gzip"),
            ("anthropic-beta", "a\\\"b"),
        ] {
            set(&mut headers, name, value);
        }
        let config = provider("https://a.example").config("/m\"\\", &headers, Path::new("/tmp/b"));
        assert!(
            !config.contains("fake") && !config.contains("gzip"),
            "{config}"
        );
        assert_eq!(config.matches("real-key-of-a-test").count(), 1);
        assert!(
            config.contains("header = \"anthropic-beta: a\\\\\\\"b\"\n"),
            "{config}"
        );
        assert!(
            config.contains("url = \"https://a.example/m\\\"\\\\\"\n"),
            "{config}"
        );
    }

    #[test]
    fn head_is_that_of_the_answer_and_a_broken_one_is_an_error() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/2 429\r\nRetry-After: 7\r\nSet-Cookie: a\r\n\r\nbody";
        let mut from = text.as_bytes();
        let (status, headers) = read_head(&mut from).unwrap();
        assert_eq!((status.as_u16(), from), (429, &b"body"[..]));
        assert_eq!(headers, [("retry-after".to_owned(), "7".to_owned())]);
        for broken in [
            "",
            "HTTP/1.1 200 OK\r\n",
            "what\r\n\r\n",
            "HTTP/1.1 200\r\nx\r\n\r\n",
        ] {
            assert!(read_head(&mut broken.as_bytes()).is_err(), "{broken}");
        }
        let endless = "HTTP/1.1 200\r\n".to_owned() + &"a: b\r\n".repeat(MAX_HEAD.1);
        assert!(read_head(&mut endless.as_bytes()).is_err());
    }
}
