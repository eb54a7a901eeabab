//! The tool-intent grammar: finds the frames with which a black-box agent asks for tools, in what it prints.
//!
//! ```text
//! ⟦TI1 <nonce>⟧ <id> <tool> <arguments>      a request of the agent
//! ⟦TR1 <nonce>⟧ <id> ok <hash>               an answer of the driver
//! ⟦TR1 <nonce>⟧ <id> denied <reason>
//! ```
//!
//! A frame is a whole line, with one space between its fields. The arguments are base64url, without padding, of one JSON object in
//! canonical form. A line that begins as a frame and is wrong otherwise is a violation. A frame with another nonce is text: quoted frames
//! of other episodes do no harm.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::hash;
use crate::limits::{LINE_BYTES, MAX_NAME, MAX_REASON};
use crate::nonce::{Nonce, NonceHash, is_nonce};
use crate::profile::Profile;
use crate::validate::is_name;

const REQUEST: &str = "⟦TI1 ";
const RESPONSE: &str = "⟦TR1 ";
const NONCE_END: &str = "⟧ ";

/// How much an agent may print and ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of a line, without its end.
    pub max_line_bytes: usize,
    /// The most bytes of arguments, decoded.
    pub max_args_bytes: usize,
    /// The most requests.
    pub max_requests: usize,
    /// Whether a `CR` before the end of a line belongs to the terminal.
    pub terminal: bool,
}

impl Default for Limits {
    fn default() -> Self {
        let bytes = LINE_BYTES as usize;
        Limits {
            max_line_bytes: bytes,
            max_args_bytes: bytes / 4 * 3,
            max_requests: usize::MAX,
            terminal: false,
        }
    }
}

impl Limits {
    /// The limits of a profile; those of [`Limits::default`] if it has no bridge.
    pub fn of(profile: &Profile) -> Limits {
        let limits = Limits {
            terminal: profile.requires_pty,
            ..Limits::default()
        };
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        profile
            .tool_bridge
            .as_ref()
            .map_or(limits, |bridge| Limits {
                max_line_bytes: size(bridge.max_line_bytes.get()),
                max_args_bytes: size(bridge.max_args_bytes.get()),
                max_requests: size(bridge.max_requests.get()),
                ..limits
            })
    }
}

/// A line of an agent, or several lines of text. The texts of all, one after the other, are what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The line with its end, at most as long as the limits say; bytes that are not UTF-8 are replaced.
    pub text: String,
    /// What it is.
    pub kind: LineKind,
}

/// What a line of an agent is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineKind {
    /// Lines of text, or a piece of a line that is too long.
    Text,
    /// A frame with another nonce.
    Foreign,
    /// A request.
    Request(Request),
    /// A line that begins like a frame but breaks its rules.
    Violation(Violation),
}

/// What an agent asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Its id, used once.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments: a JSON object in canonical form.
    pub args: String,
}

/// What a driver answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// The id of the request.
    pub id: String,
    /// The answer.
    pub answer: Answer,
}

/// Whether a tool ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It ran, and may have failed. The result has this hash.
    Ok(String),
    /// It did not run, for this reason.
    Denied(String),
}

/// How a line breaks the grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Violation {
    /// The nonce is not 16 to 64 lower-case hexadecimal digits.
    Nonce,
    /// There are not as many fields as the frame has, with one space between them.
    Fields,
    /// The id is empty, too long, or has other letters.
    Id,
    /// The name of the tool is empty, too long, or has other letters.
    Tool,
    /// The arguments are not base64url without padding.
    ArgsEncoding,
    /// The arguments are larger than the profile allows.
    ArgsSize,
    /// The arguments are not an object in canonical form.
    ArgsForm,
    /// The hash or the reason of an answer is wrong.
    Answer,
    /// The id was used before.
    IdUsed,
    /// The agent answers itself.
    ResponseByAgent,
    /// The line is longer than the profile allows.
    LineSize,
    /// The agent asks more often than the profile allows.
    TooMany,
}

impl Violation {
    /// Every violation.
    pub const ALL: [Violation; 12] = [
        Violation::Nonce,
        Violation::Fields,
        Violation::Id,
        Violation::Tool,
        Violation::ArgsEncoding,
        Violation::ArgsSize,
        Violation::ArgsForm,
        Violation::Answer,
        Violation::IdUsed,
        Violation::ResponseByAgent,
        Violation::LineSize,
        Violation::TooMany,
    ];

    /// The code.
    pub const fn code(self) -> &'static str {
        match self {
            Violation::Nonce => "nonce",
            Violation::Fields => "fields",
            Violation::Id => "id",
            Violation::Tool => "tool",
            Violation::ArgsEncoding => "args_encoding",
            Violation::ArgsSize => "args_size",
            Violation::ArgsForm => "args_form",
            Violation::Answer => "answer",
            Violation::IdUsed => "id_used",
            Violation::ResponseByAgent => "response_by_agent",
            Violation::LineSize => "line_size",
            Violation::TooMany => "too_many",
        }
    }
}

/// The frame of a request.
pub fn request_frame(nonce: &Nonce, request: &Request) -> String {
    let Request { id, tool, args } = request;
    format!(
        "{REQUEST}{}{NONCE_END}{id} {tool} {}\n",
        nonce.as_str(),
        URL_SAFE_NO_PAD.encode(args)
    )
}

/// The frame of an answer.
pub fn response_frame(nonce: &Nonce, response: &Response) -> String {
    let answer = match &response.answer {
        Answer::Ok(hash) => format!("ok {hash}"),
        Answer::Denied(reason) => format!("denied {reason}"),
    };
    format!(
        "{RESPONSE}{}{NONCE_END}{} {answer}\n",
        nonce.as_str(),
        response.id
    )
}

/// The answer in a line of a driver; `None` for text.
///
/// # Errors
/// How the line breaks the grammar.
pub fn response(line: &str, nonce: &NonceHash) -> Option<Result<Response, Violation>> {
    match frame(line, RESPONSE, nonce)? {
        Frame::Foreign => None,
        Frame::Wrong(violation) => Some(Err(violation)),
        Frame::Own(rest) => Some(read_response(rest)),
    }
}

/// What a line with an opening is.
enum Frame<'l> {
    /// Its nonce is that of the episode. The rest follows it.
    Own(&'l str),
    /// It has another nonce.
    Foreign,
    /// It has none.
    Wrong(Violation),
}

fn frame<'l>(line: &'l str, opening: &str, nonce: &NonceHash) -> Option<Frame<'l>> {
    let rest = line.strip_prefix(opening)?;
    // A nonce with nothing behind it is a nonce, and its frame lacks fields.
    let (digits, rest) = rest
        .split_once(NONCE_END)
        .unwrap_or((rest.trim_end_matches('⟧'), ""));
    Some(match is_nonce(digits) {
        false => Frame::Wrong(Violation::Nonce),
        true if NonceHash::of(digits) == *nonce => Frame::Own(rest),
        true => Frame::Foreign,
    })
}

fn fields(rest: &str) -> Result<[&str; 3], Violation> {
    let mut fields = rest.split(' ');
    match (fields.next(), fields.next(), fields.next(), fields.next()) {
        (Some(first), Some(second), Some(third), None) if !third.is_empty() => {
            Ok([first, second, third])
        }
        _ => Err(Violation::Fields),
    }
}

fn checked_id(id: &str) -> Result<String, Violation> {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let is_id = (1..=MAX_NAME).contains(&id.len()) && id.bytes().all(is_letter);
    if is_id {
        Ok(id.to_owned())
    } else {
        Err(Violation::Id)
    }
}

fn read_request(rest: &str, max_args_bytes: usize) -> Result<Request, Violation> {
    let [id, tool, args] = fields(rest)?;
    let id = checked_id(id)?;
    if !is_name(tool, b"._-") {
        return Err(Violation::Tool);
    }
    Ok(Request {
        id,
        tool: tool.to_owned(),
        args: decoded_args(args, max_args_bytes)?,
    })
}

fn decoded_args(encoded: &str, most: usize) -> Result<String, Violation> {
    // Before anything is decoded: four letters stand for three bytes.
    if encoded.len() > most.saturating_mul(4).div_ceil(3) {
        return Err(Violation::ArgsSize);
    }
    let bytes = URL_SAFE_NO_PAD
        .decode(encoded)
        .map_err(|_| Violation::ArgsEncoding)?;
    if bytes.len() > most {
        return Err(Violation::ArgsSize);
    }
    let text = String::from_utf8(bytes).map_err(|_| Violation::ArgsForm)?;
    let value: Value = serde_json::from_str(&text).map_err(|_| Violation::ArgsForm)?;
    let is_canonical =
        value.is_object() && serde_jcs::to_string(&value).is_ok_and(|canonical| canonical == text);
    if is_canonical {
        Ok(text)
    } else {
        Err(Violation::ArgsForm)
    }
}

fn read_response(rest: &str) -> Result<Response, Violation> {
    let [id, word, value] = fields(rest)?;
    let id = checked_id(id)?;
    let is_reason = |text: &str| {
        let is_letter =
            |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
        text.len() <= MAX_REASON
            && text.bytes().all(is_letter)
            && text.starts_with(|first: char| first.is_ascii_uppercase())
    };
    let answer = match word {
        "ok" if hash::is_hash(value) => Answer::Ok(value.to_owned()),
        "denied" if is_reason(value) => Answer::Denied(value.to_owned()),
        _ => return Err(Violation::Answer),
    };
    Ok(Response { id, answer })
}

/// Finds the frames in what an agent prints, however its bytes come in.
///
/// ```
/// use engram_profiles::grammar::{LineKind, Limits, Request, Scanner, request_frame};
/// use engram_profiles::nonce::Nonce;
///
/// let nonce = Nonce::scripted("seed", "e1");
/// let request = Request { id: "r1".into(), tool: "read".into(), args: r#"{"path":"a.txt"}"#.into() };
/// let printed = format!("I will look.\n{}", request_frame(&nonce, &request));
/// let mut scanner = Scanner::new(nonce.hash(), Limits::default());
/// let mut lines = Vec::new();
/// scanner.push(printed.as_bytes(), &mut lines);
/// scanner.end_block(&mut lines);
/// assert_eq!((&lines[0].kind, &lines[1].kind), (&LineKind::Text, &LineKind::Request(request)));
/// ```
#[derive(Debug)]
pub struct Scanner {
    nonce: NonceHash,
    limits: Limits,
    line: Vec<u8>,
    place: Place,
    used: HashSet<String>,
}

/// Where in a line the scanner is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// At its begin, or before its limit.
    Begin,
    /// Behind a piece of it.
    Inside,
}

impl Scanner {
    /// A scanner for one episode.
    pub fn new(nonce: NonceHash, limits: Limits) -> Scanner {
        Scanner {
            nonce,
            limits,
            line: Vec::new(),
            place: Place::Begin,
            used: HashSet::new(),
        }
    }

    /// Takes further bytes, and adds the lines that they complete.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Line>) {
        while !bytes.is_empty() {
            let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            // One byte more than a line may have: its end, or the proof that it is too long.
            let room = self.limits.max_line_bytes.saturating_add(1) - self.line.len();
            let (taken, rest) = bytes.split_at(end.min(room));
            self.line.extend_from_slice(taken);
            bytes = rest;
            if self.line.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                let line = self.whole(&line);
                self.add(line, out);
                self.place = Place::Begin;
            } else if self.line.len() > self.limits.max_line_bytes {
                self.piece(out);
            }
        }
    }

    /// Ends a block of text: no frame goes on in the next one.
    pub fn end_block(&mut self, out: &mut Vec<Line>) {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            let line = self.whole(&line);
            self.add(line, out);
        }
        self.place = Place::Begin;
    }

    /// Adds a line. Lines of text are one, as far as it is no longer than a line may be: many short ones take no more room than their bytes.
    fn add(&self, line: Line, out: &mut Vec<Line>) {
        match out.last_mut() {
            Some(before)
                if (&before.kind, &line.kind) == (&LineKind::Text, &LineKind::Text)
                    && before.text.ends_with('\n')
                    && before.text.len() + line.text.len() <= self.limits.max_line_bytes =>
            {
                before.text.push_str(&line.text);
            }
            _ => out.push(line),
        }
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.used.len()
    }

    /// A piece of a line that is too long.
    fn piece(&mut self, out: &mut Vec<Line>) {
        let mut end = self.limits.max_line_bytes;
        // Not inside a letter; a byte that goes on with none is cut anywhere.
        while end > 0 && self.limits.max_line_bytes - end < 3 && self.line[end] & 0xc0 == 0x80 {
            end -= 1;
        }
        if end == 0 {
            end = self.line.len();
        }
        let rest = self.line.split_off(end);
        let piece = std::mem::replace(&mut self.line, rest);
        let text = String::from_utf8_lossy(&piece).into_owned();
        let is_frame =
            self.place == Place::Begin && (text.starts_with(REQUEST) || text.starts_with(RESPONSE));
        let kind = if is_frame {
            LineKind::Violation(Violation::LineSize)
        } else {
            LineKind::Text
        };
        out.push(Line { text, kind });
        self.place = Place::Inside;
    }

    fn whole(&mut self, line: &[u8]) -> Line {
        let text = String::from_utf8_lossy(line).into_owned();
        let kind = match self.place {
            Place::Inside => LineKind::Text,
            Place::Begin => self.kind(&text),
        };
        Line { text, kind }
    }

    fn kind(&mut self, line: &str) -> LineKind {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = if self.limits.terminal {
            line.strip_suffix('\r').unwrap_or(line)
        } else {
            line
        };
        let found = frame(line, REQUEST, &self.nonce).map(|found| (found, true));
        match found.or_else(|| frame(line, RESPONSE, &self.nonce).map(|found| (found, false))) {
            None => LineKind::Text,
            Some((Frame::Foreign, _)) => LineKind::Foreign,
            Some((Frame::Wrong(violation), _)) => LineKind::Violation(violation),
            Some((Frame::Own(_), false)) => LineKind::Violation(Violation::ResponseByAgent),
            Some((Frame::Own(rest), true)) => self
                .request(rest)
                .map_or_else(LineKind::Violation, LineKind::Request),
        }
    }

    fn request(&mut self, rest: &str) -> Result<Request, Violation> {
        let request = read_request(rest, self.limits.max_args_bytes)?;
        if self.used.contains(&request.id) {
            return Err(Violation::IdUsed);
        }
        if self.used.len() >= self.limits.max_requests {
            return Err(Violation::TooMany);
        }
        self.used.insert(request.id.clone());
        Ok(request)
    }
}
