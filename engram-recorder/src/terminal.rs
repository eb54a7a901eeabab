//! A run in a terminal: keys are pressed, and the screen is kept as bytes.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::process::End;
use crate::scenario::Key;
use crate::server::Stage;

/// The size of the screen.
const SIZE: PtySize = PtySize {
    rows: 50,
    cols: 140,
    pixel_width: 0,
    pixel_height: 0,
};
/// How long keys are apart: a harness takes faster ones for a paste.
const APART: Duration = Duration::from_millis(25);
/// How long an answer of the model may take to appear.
const ANSWER: Duration = Duration::from_secs(30);
/// How often the state is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// Questions of programs to the terminal, and what it answers: its kind, the place of the cursor, the colours, the keys that it can tell.
const QUERIES: &[(&[u8], &[u8])] = &[
    (b"\x1b[c", b"\x1b[?62c"),
    (b"\x1b[6n", b"\x1b[1;1R"),
    (b"\x1b]10;?", b"\x1b]10;rgb:ffff/ffff/ffff\x07"),
    (b"\x1b]11;?", b"\x1b]11;rgb:0000/0000/0000\x07"),
    (b"\x1b[?u", b"\x1b[?0u"),
];
/// So much of what was shown last is looked at for words.
const SEEN_BYTES: usize = 256 << 10;

/// What is run, and where.
pub struct Command<'c> {
    /// The command line.
    pub argv: &'c [String],
    /// The project.
    pub directory: &'c Path,
    /// The whole environment.
    pub env: &'c BTreeMap<String, String>,
    /// The file for what the screen shows.
    pub out: &'c Path,
    /// The longest time that it may take.
    pub limit: Duration,
}

type Keyboard = Arc<Mutex<Box<dyn Write + Send>>>;

/// What the screen has shown since something was typed, or since words were found on it.
type Shown = Arc<Mutex<Vec<u8>>>;

/// Runs a command in a terminal and presses the keys. Whatever it leaves is ended.
///
/// # Errors
/// If there is no terminal, or the command cannot be started.
pub fn run(command: &Command<'_>, keys: &[Key], stage: &Stage) -> io::Result<End> {
    let pair = native_pty_system()
        .openpty(SIZE)
        .map_err(io::Error::other)?;
    let [program, arguments @ ..] = command.argv else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    let mut builder = CommandBuilder::new(program);
    builder.args(arguments);
    builder.cwd(command.directory);
    builder.env_clear();
    command
        .env
        .iter()
        .for_each(|(name, value)| builder.env(name, value));
    let mut child = pair
        .slave
        .spawn_command(builder)
        .map_err(io::Error::other)?;
    drop(pair.slave);
    let keyboard: Keyboard = Arc::new(Mutex::new(
        pair.master.take_writer().map_err(io::Error::other)?,
    ));
    let reader = pair.master.try_clone_reader().map_err(io::Error::other)?;
    let (screen, answering) = (File::create(command.out)?, Arc::clone(&keyboard));
    let shown = Shown::default();
    let seen = Arc::clone(&shown);
    thread::spawn(move || show(reader, screen, &answering, &seen));
    let begun = Instant::now();
    let mut end = None;
    for key in keys {
        if let Some(status) = child.try_wait()? {
            end = Some(End::Exit(
                i32::try_from(status.exit_code()).unwrap_or(i32::MAX),
            ));
            break;
        }
        if begun.elapsed() > command.limit {
            end = Some(End::Timeout);
            break;
        }
        press(key, &keyboard, &shown, stage);
    }
    if let Some(status) = child.try_wait()? {
        end = end.or(Some(End::Exit(
            i32::try_from(status.exit_code()).unwrap_or(i32::MAX),
        )));
    }
    // It may have ended meanwhile.
    let _ = child.kill();
    let _ = child.wait();
    Ok(end.unwrap_or(End::Killed))
}

/// Keeps what the screen shows, and answers the questions of the program.
fn show(mut reader: Box<dyn Read + Send>, mut screen: File, keyboard: &Keyboard, shown: &Shown) {
    let mut buffer = [0_u8; 8192];
    while let Ok(count) = reader.read(&mut buffer) {
        if count == 0 || screen.write_all(&buffer[..count]).is_err() {
            return;
        }
        {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.extend_from_slice(&buffer[..count]);
            let old = shown.len().saturating_sub(SEEN_BYTES);
            shown.drain(..old);
        }
        for (query, answer) in QUERIES {
            if buffer[..count]
                .windows(query.len())
                .any(|window| window == *query)
            {
                send(keyboard, answer);
            }
        }
    }
}

fn send(keyboard: &Keyboard, bytes: &[u8]) {
    let mut keyboard = keyboard.lock().unwrap_or_else(PoisonError::into_inner);
    // A program that has gone is seen by its end.
    let _ = keyboard.write_all(bytes).and_then(|()| keyboard.flush());
}

fn press(key: &Key, keyboard: &Keyboard, shown: &Shown, stage: &Stage) {
    if matches!(key, Key::Say(_) | Key::Type(_)) {
        clear(shown);
    }
    match key {
        Key::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
        Key::Say(text) => {
            stage.enter(text);
            type_text(text, keyboard);
            // Enter that comes too soon is a new line of a paste.
            thread::sleep(APART * 16);
            send(keyboard, b"\r");
            thread::sleep(APART * 10);
        }
        Key::Type(text) => type_text(text, keyboard),
        Key::Press(name) => {
            send(keyboard, &code(name));
            thread::sleep(APART * 12);
        }
        Key::Screen { any, wait_ms } => {
            let (begun, limit) = (Instant::now(), Duration::from_millis(*wait_ms));
            while begun.elapsed() < limit && !has_any(shown, any) {
                thread::sleep(LOOK);
            }
            clear(shown);
            thread::sleep(APART * 16);
        }
        Key::Answer { thread, answers } => {
            let begun = Instant::now();
            while stage.begun(thread) < *answers && begun.elapsed() < ANSWER {
                thread::sleep(LOOK);
            }
            thread::sleep(LOOK * 20);
        }
    }
}

fn clear(shown: &Shown) {
    shown.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

fn has_any(shown: &Shown, any: &[String]) -> bool {
    let text = letters(&shown.lock().unwrap_or_else(PoisonError::into_inner));
    any.iter()
        .any(|words| text.contains(&letters(words.as_bytes())))
}

/// What is readable, without blanks and without the codes of the terminal.
fn letters(bytes: &[u8]) -> String {
    let (mut text, mut rest) = (Vec::new(), bytes);
    while let Some((first, after)) = rest.split_first() {
        rest = if *first == 0x1b {
            &after[code_length(after)..]
        } else {
            text.extend((*first > b' ' && *first != 0x7f).then_some(*first));
            after
        };
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// How long a code is, behind its escape (ECMA-48: control sequences end with a letter, strings with a bell or another escape).
fn code_length(code: &[u8]) -> usize {
    let end = match code.first() {
        Some(b'[') => code[1..]
            .iter()
            .position(|byte| (0x40..=0x7e).contains(byte))
            .map(|at| at + 2),
        Some(b']' | b'P' | b'_') => code
            .iter()
            .position(|byte| matches!(byte, 0x07 | 0x1b))
            .map(|at| at + usize::from(code[at] == 0x07)),
        Some(b'(' | b')') => Some(2),
        Some(_) => Some(1),
        None => Some(0),
    };
    end.unwrap_or(code.len()).min(code.len())
}

fn type_text(text: &str, keyboard: &Keyboard) {
    for letter in text.chars() {
        send(keyboard, letter.encode_utf8(&mut [0; 4]).as_bytes());
        thread::sleep(APART);
    }
    thread::sleep(APART * 12);
}

/// What a key sends; nothing for a key that no terminal has.
fn code(name: &str) -> Vec<u8> {
    if let Some([letter @ b'a'..=b'z']) = name.strip_prefix("ctrl-").map(str::as_bytes) {
        return vec![letter & 0x1f];
    }
    let code: &[u8] = match name {
        "enter" => b"\r",
        "escape" => b"\x1b",
        "tab" => b"\t",
        "shift-tab" => b"\x1b[Z",
        "up" => b"\x1b[A",
        "down" => b"\x1b[B",
        "right" => b"\x1b[C",
        "left" => b"\x1b[D",
        _ => b"",
    };
    code.to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_between_codes() {
        let shown = Shown::default();
        let put = |bytes: &[u8]| {
            clear(&shown);
            shown.lock().unwrap().extend_from_slice(bytes);
        };
        let words = ["Allow once".to_owned()];
        put(b"\x1b[1mAll\x1b[0mow\x1b[5C\x1b]8;;x\x07on\x1b]8;;\x1b\\ce");
        assert!(has_any(&shown, &words));
        put(b"Allow\x1b[");
        assert!(!has_any(&shown, &words));
        put(b"\x1b]0;Allow once");
        assert!(
            !has_any(&shown, &words),
            "a title is not on the screen, and one that is cut has no end"
        );
    }

    #[test]
    fn keys_have_codes() {
        assert_eq!(code("ctrl-b"), [2]);
        assert_eq!(code("ctrl-z"), [26]);
        assert_eq!(code("left"), b"\x1b[D");
        assert_eq!(code("shift-tab"), b"\x1b[Z");
        for none in ["ctrl-", "ctrl-B", "ctrl-ab", "home"] {
            assert_eq!(code(none), b"", "{none}");
        }
    }
}
