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
/// Questions of programs to the terminal, and what it answers.
const QUERIES: &[(&[u8], &[u8])] = &[(b"\x1b[c", b"\x1b[?1;2c"), (b"\x1b[6n", b"\x1b[1;1R")];

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
    thread::spawn(move || show(reader, screen, &answering));
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
        press(key, &keyboard, stage);
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
fn show(mut reader: Box<dyn Read + Send>, mut screen: File, keyboard: &Keyboard) {
    let mut buffer = [0_u8; 8192];
    while let Ok(count) = reader.read(&mut buffer) {
        if count == 0 || screen.write_all(&buffer[..count]).is_err() {
            return;
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

fn press(key: &Key, keyboard: &Keyboard, stage: &Stage) {
    match key {
        Key::Wait(ms) => thread::sleep(Duration::from_millis(*ms)),
        Key::Say(text) => {
            stage.enter(text);
            type_text(text, keyboard);
            send(keyboard, b"\r");
            thread::sleep(APART * 10);
        }
        Key::Type(text) => type_text(text, keyboard),
        Key::Press(name) => {
            send(keyboard, &code(name));
            thread::sleep(APART * 12);
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
    fn keys_have_codes() {
        assert_eq!(code("ctrl-b"), [2]);
        assert_eq!(code("ctrl-z"), [26]);
        assert_eq!(code("left"), b"\x1b[D");
        for none in ["ctrl-", "ctrl-B", "ctrl-ab", "home"] {
            assert_eq!(code(none), b"", "{none}");
        }
    }
}
