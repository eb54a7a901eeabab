//! HTTP on loopback.

use std::convert::Infallible;
use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixStream};
use tokio::sync::{mpsc, oneshot};

use super::message::{Dialect, Ending, Piece, Reply, Request};
use super::stage::Stage;
use super::{anthropic, chat, gemini, responses};
use crate::error::{Fault, RecorderError};

/// The largest request that is read.
pub(super) const MAX_BODY: usize = 64 << 20;
/// How long a cut waits for what was sent before.
pub(super) const BEFORE_CUT: Duration = Duration::from_millis(100);
/// Pieces that wait for a slow reader.
pub(super) const WAITING_PIECES: usize = 16;

/// Work in a thread of its own, until it is dropped.
pub(super) struct Background {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// A listener of this kind, and work with it in the background.
pub(super) fn listen<L: Send + 'static, W: Future<Output = ()> + Send + 'static>(
    bind: impl Future<Output = io::Result<L>>,
    work: impl FnOnce(L) -> W,
) -> Result<Background, RecorderError> {
    let failed =
        |error: io::Error| RecorderError::new(Fault::Io, format!("the model server: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let listener = runtime.block_on(bind).map_err(failed)?;
    let work = work(listener);
    let (stop, stopped) = oneshot::channel();
    let thread = std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = work => {}
                _ = stopped => {}
            }
        });
        runtime.shutdown_background();
    });
    Ok(Background {
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended already.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A server that runs until it is dropped.
pub struct Server {
    /// Its port on 127.0.0.1.
    pub port: u16,
    _background: Background,
}

impl Server {
    /// Starts a server that answers from a stage. `fixed` has answers to requests for documents, by the end of the path.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn start(stage: Arc<Stage>, fixed: Vec<(String, Value)>) -> Result<Server, RecorderError> {
        Server::on_loopback(|listener| accept(listener, stage, Arc::new(fixed)))
    }

    /// Starts a server that passes every byte on to a socket of the file system and back.
    ///
    /// # Errors
    /// If no port can be had.
    pub fn to_socket(socket: PathBuf) -> Result<Server, RecorderError> {
        Server::on_loopback(|listener| pass_on(listener, socket))
    }

    fn on_loopback<W: Future<Output = ()> + Send + 'static>(
        work: impl FnOnce(TcpListener) -> W,
    ) -> Result<Server, RecorderError> {
        let mut port = 0;
        let bind = async {
            let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
            port = listener.local_addr()?.port();
            Ok(listener)
        };
        let background = listen(bind, work)?;
        Ok(Server {
            port,
            _background: background,
        })
    }
}

async fn pass_on(listener: TcpListener, socket: PathBuf) {
    loop {
        let Ok((mut connection, _)) = listener.accept().await else {
            continue;
        };
        let socket = socket.clone();
        tokio::spawn(async move {
            if let Ok(mut other) = UnixStream::connect(socket).await {
                // Either side may go away, and that is all.
                let _ = tokio::io::copy_bidirectional(&mut connection, &mut other).await;
            }
        });
    }
}

async fn accept(listener: TcpListener, stage: Arc<Stage>, fixed: Arc<Vec<(String, Value)>>) {
    loop {
        let Ok((connection, _)) = listener.accept().await else {
            continue;
        };
        let (stage, fixed) = (Arc::clone(&stage), Arc::clone(&fixed));
        let answer = move |request| {
            let (stage, fixed) = (Arc::clone(&stage), Arc::clone(&fixed));
            async move { serve(request, stage, &fixed).await }
        };
        tokio::spawn(converse(connection, answer));
    }
}

/// Answers the requests of one connection.
pub(super) async fn converse<W: Future<Output = Response<Pieces>>>(
    connection: impl AsyncRead + AsyncWrite + Unpin,
    answer: impl Fn(hyper::Request<Incoming>) -> W,
) {
    let service = service_fn(|request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    // A harness that goes away ends its connection, and that is all.
    let _ = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(connection), service)
        .await;
}

/// The body of an answer: pieces as they are sent.
pub(super) struct Pieces(pub(super) mpsc::Receiver<Result<Bytes, io::Error>>);

impl Body for Pieces {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0
            .poll_recv(context)
            .map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}

async fn serve(
    request: hyper::Request<Incoming>,
    stage: Arc<Stage>,
    fixed: &[(String, Value)],
) -> Response<Pieces> {
    let (head, body) = request.into_parts();
    let path = head
        .uri
        .path_and_query()
        .map(ToString::to_string)
        .unwrap_or_default();
    let Ok(body) = Limited::new(body, MAX_BODY).collect().await else {
        return document(StatusCode::PAYLOAD_TOO_LARGE, &json!({}));
    };
    let bytes = decompressed(&head.headers, &body.to_bytes());
    let bare = path.split('?').next().unwrap_or_default();
    if let Some((_, answer)) = fixed.iter().find(|(end, _)| bare.ends_with(end.as_str())) {
        return document(StatusCode::OK, answer);
    }
    if head.method != Method::POST {
        stage.note(format!("{} {bare}", head.method));
        return not_found(bare);
    }
    let Ok(body) = serde_json::from_slice::<Value>(&bytes) else {
        stage.note(format!("{} {bare}", head.method));
        return document(StatusCode::OK, &json!({}));
    };
    let Some(asked) = read(&path, &body) else {
        stage.note(format!("{} {bare}", head.method));
        return aside(bare, &body);
    };
    stage.arrived(&bytes);
    let reply = stage.answer(&asked);
    tokio::time::sleep(reply.delay).await;
    if let Ending::Refused {
        status,
        kind,
        message,
        headers,
    } = &reply.ending
    {
        return refused(asked.dialect, *status, kind, message, headers);
    }
    let pieces = if asked.stream {
        streamed(asked.dialect, &reply)
    } else {
        vec![Piece {
            wait: Duration::ZERO,
            text: whole(asked.dialect, &reply).to_string(),
        }]
    };
    let kind = if asked.stream {
        "text/event-stream; charset=utf-8"
    } else {
        "application/json"
    };
    send(stage, reply, pieces, kind)
}

/// Reads a request of one of the four APIs; `None` for any other one.
fn read(path: &str, body: &Value) -> Option<Request> {
    let bare = path.split('?').next().unwrap_or_default();
    if bare.ends_with("/messages") {
        Some(anthropic::request(body))
    } else if bare.ends_with("/responses") {
        Some(responses::request(body))
    } else if bare.ends_with("/chat/completions") {
        Some(chat::request(body))
    } else if bare.ends_with("enerateContent") {
        Some(gemini::request(path, body))
    } else {
        None
    }
}

fn streamed(dialect: Dialect, reply: &Reply) -> Vec<Piece> {
    match dialect {
        Dialect::AnthropicMessages => anthropic::stream(reply),
        Dialect::OpenaiResponses => responses::stream(reply),
        Dialect::OpenaiChat => chat::stream(reply),
        Dialect::GeminiGenerate => gemini::stream(reply),
    }
}

fn whole(dialect: Dialect, reply: &Reply) -> Value {
    match dialect {
        Dialect::AnthropicMessages => anthropic::plain(reply),
        Dialect::OpenaiResponses => responses::plain(reply),
        Dialect::OpenaiChat => chat::plain(reply),
        Dialect::GeminiGenerate => gemini::plain(reply),
    }
}

/// Answers to requests that are no turn: counts of tokens, and a compact history.
pub(super) fn aside(path: &str, body: &Value) -> Response<Pieces> {
    if path.ends_with("count_tokens") {
        return document(StatusCode::OK, &json!({"input_tokens": 1234}));
    }
    if path.ends_with(":countTokens") {
        return document(StatusCode::OK, &json!({"totalTokens": 1234}));
    }
    if path.ends_with("/responses/compact") {
        return document(StatusCode::OK, &responses::compacted(body));
    }
    document(StatusCode::OK, &json!({}))
}

pub(super) fn not_found(path: &str) -> Response<Pieces> {
    if path.ends_with("/models") {
        return document(
            StatusCode::OK,
            &json!({"object": "list", "data": [], "models": []}),
        );
    }
    document(
        StatusCode::NOT_FOUND,
        &anthropic::error("not_found_error", "the scripted model serves no such path"),
    )
}

fn decompressed(headers: &HeaderMap, bytes: &Bytes) -> Vec<u8> {
    let is_zstd = headers
        .get("content-encoding")
        .is_some_and(|value| value == "zstd");
    if !is_zstd {
        return bytes.to_vec();
    }
    let mut text = Vec::new();
    let decoder = zstd::Decoder::new(bytes.as_ref());
    let read = decoder.and_then(|decoder| decoder.take(MAX_BODY as u64 + 1).read_to_end(&mut text));
    if read.is_ok() && text.len() <= MAX_BODY {
        text
    } else {
        Vec::new()
    }
}

pub(super) fn document(status: StatusCode, value: &Value) -> Response<Pieces> {
    let (sender, receiver) = mpsc::channel(1);
    // The channel has room for one.
    let _ = sender.try_send(Ok(Bytes::from(value.to_string())));
    let mut response = Response::new(Pieces(receiver));
    *response.status_mut() = status;
    set(response.headers_mut(), "content-type", "application/json");
    response
}

pub(super) fn set(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (name.parse::<hyper::header::HeaderName>(), value.parse()) {
        headers.insert(name, value);
    }
}

fn refused(
    dialect: Dialect,
    status: u16,
    kind: &str,
    message: &str,
    headers: &[(String, String)],
) -> Response<Pieces> {
    let mut error = match dialect {
        Dialect::AnthropicMessages => anthropic::error(kind, message),
        Dialect::OpenaiResponses | Dialect::OpenaiChat => responses::error(kind, message),
        Dialect::GeminiGenerate => gemini::error(kind, message),
    };
    if dialect == Dialect::GeminiGenerate {
        error["error"]["code"] = json!(status);
    }
    let mut response = document(
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        &error,
    );
    headers
        .iter()
        .for_each(|(name, value)| set(response.headers_mut(), name, value));
    response
}

/// Sends the pieces as time goes by. An answer that is cut ends its connection.
fn send(stage: Arc<Stage>, reply: Reply, pieces: Vec<Piece>, kind: &str) -> Response<Pieces> {
    let (sender, receiver) = mpsc::channel(WAITING_PIECES);
    tokio::spawn(async move {
        for piece in pieces {
            if !piece.wait.is_zero() {
                tokio::time::sleep(piece.wait).await;
            }
            if sender.send(Ok(Bytes::from(piece.text))).await.is_err() {
                return;
            }
        }
        match reply.ending {
            Ending::Whole => stage.delivered(&reply.id),
            Ending::Cut => {
                // What was sent must have left before the connection ends.
                tokio::time::sleep(BEFORE_CUT).await;
                drop(
                    sender
                        .send(Err(io::Error::new(
                            io::ErrorKind::ConnectionAborted,
                            "cut as the scenario says",
                        )))
                        .await,
                );
            }
            Ending::Fails(_) | Ending::Refused { .. } => {}
        }
    });
    let mut response = Response::new(Pieces(receiver));
    set(response.headers_mut(), "content-type", kind);
    set(response.headers_mut(), "request-id", "req_recorded");
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_body_that_would_fill_the_memory_is_empty() {
        let headers =
            HeaderMap::from_iter([(hyper::header::CONTENT_ENCODING, "zstd".parse().unwrap())]);
        let body =
            |bytes: u64| Bytes::from(zstd::encode_all(io::repeat(b' ').take(bytes), 1).unwrap());
        assert_eq!(decompressed(&headers, &body(10)), [b' '; 10]);
        assert!(decompressed(&headers, &body(MAX_BODY as u64 + 1)).is_empty());
    }
}
