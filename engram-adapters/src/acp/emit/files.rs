//! What a completed call read and changed. A change is a proposal until its call has completed.

use engram_core::emit::Pointer;
use engram_core::event::{CodeEdit, CodeRead, EditOp, Range};
use engram_core::hash::Hash;
use engram_core::keys::hash64;
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::output::output;
use super::replaced::{Replaced, growth, replaced};
use super::shown;
use super::state::{Connection, State};
use crate::acp::call_line::read;
use crate::acp::message::at;
use crate::acp::notes::{diffs, place_of, response_of};
use crate::acp::plan::CallPlan;
use crate::acp::readers::{Call, Diff};
use crate::shared::notices::is_cut_read;
use crate::shared::spans::{
    ChangedSpan, set_snippet, set_whole_file, span_facts, spans_between, without_final_line_end,
};
use crate::shared::value::{Field, Value, count, is_true, owned, raw_str, text};

const UPDATE: Pointer<'static> = Pointer::At("/m/params/update");
/// The highest line number that is accepted. Adding a number of lines to it cannot overflow.
const LAST_LINE: u64 = 1 << 40;
/// Kilo and OpenCode cut a longer line of what they read.
const CUT_LINE: usize = 2000;

/// What is known of a completed call beside its last line.
struct Done<'c, 'a> {
    connection: &'c Connection,
    call_id: Option<Text<'a>>,
    /// What the agent said of the output.
    raw: Field<'a>,
    /// There is what the tool returned to the program.
    is_shown: bool,
}

/// The reads and edits of a call that has completed.
pub fn file_events(
    (connection, state): (&Connection, &mut State),
    record: &Record<'_>,
    (plan, update): (&CallPlan, &Call<'_>),
    out: &mut Emitter<'_>,
) {
    let done = Done {
        connection,
        call_id: text(update.id()),
        raw: update.output(),
        is_shown: plan.response.is_some(),
    };
    let word = read(record, plan.kind, |call| raw_str(call.kind()).to_owned());
    let place = read(record, plan.place, |call| owned(place_of(call))).flatten();
    let written = read(record, Some(plan.args), written).flatten();
    let written = written.unwrap_or_default();
    let of = (
        word.as_deref().unwrap_or_default(),
        place.as_deref(),
        written.content.as_deref(),
    );
    if let shown::Diff::Told = shown::file_events((connection, record, plan), update, of, out) {
        state.files.extend(place.as_deref().map(hash64));
        return;
    }
    let texts = texts(connection, record, plan).or_else(|| {
        let of = |call: &Call<'_>| returned(connection, call);
        read(record, plan.response, of).flatten()
    });
    let has_diffs = read(record, plan.diff, |call| {
        let mut is_emitted = false;
        for diff in diffs(call) {
            // A part of a change that is known as a whole.
            let is_of = |texts: &&Texts| owned(diff.path()).as_ref() == Some(&texts.file);
            match texts.as_ref().filter(is_of) {
                Some(_) if is_emitted => {}
                Some(texts) => {
                    is_emitted = true;
                    let event = CodeEdit {
                        call_id: done.call_id,
                        ..CodeEdit::new(texts.op, Text::Plain(&texts.file))
                    };
                    let files = (&*texts.before, &*texts.after);
                    between(event, files, texts.replaced.as_ref(), out);
                }
                None => {
                    let is_known = state.files.contains(&hash64(raw_str(diff.path())));
                    change(&done, &diff, (&written, is_known), out);
                }
            }
            state.files.insert(hash64(raw_str(diff.path())));
        }
    });
    let (Some(file), None) = (place, has_diffs) else {
        return;
    };
    let is_known = !state.files.insert(hash64(file.as_str()));
    match word.as_deref() {
        Some("read") if is_unchanged(update) || is_directory(update) => {}
        Some("read") => lines(&done, &file, out),
        Some("edit") => write(&done, &file, (written.content.as_deref(), is_known), out),
        Some("delete") => {
            let edit = CodeEdit {
                call_id: done.call_id,
                ..CodeEdit::new(EditOp::Delete, Text::Plain(&file))
            };
            out.emit(edit, UPDATE);
        }
        _ => {}
    }
}

/// A request of the agent about the text of a file (`fs/*`).
struct Asked<'a> {
    file: Field<'a>,
    /// The text to write.
    content: Field<'a>,
    /// The client reads the whole file, or writes it as the agent sends it.
    is_whole: bool,
}

fn asked(request: Value<'_>) -> Asked<'_> {
    let params = |path| at(request, "m/params").and_then(|params| at(params, path));
    let is_part = params("line").or(params("limit")).is_some();
    // If the agent asks for it, the client writes CRLF, a byte order mark or another encoding (Qwen Code).
    let is_other = raw_str(params("_meta/lineEnding")) == "crlf"
        || params("_meta/bom").is_some_and(Value::is_true)
        || !matches!(raw_str(params("_meta/encoding")), "" | "utf-8");
    Asked {
        file: params("path"),
        content: params("content"),
        is_whole: !is_part && !is_other,
    }
}

/// A file that the client has read or written for the agent. A write that no call shows is an edit.
pub fn by_client(
    (connection, state): (&Connection, &mut State),
    request: Value<'_>,
    is_write: bool,
    out: &mut Emitter<'_>,
) {
    let asked = asked(request);
    let Some(file) = text(asked.file) else {
        return;
    };
    // What a call shows is an edit of that call.
    if !is_write && asked.content.is_some() {
        return;
    }
    let is_known = !state.files.insert(hash64(raw_str(asked.file)));
    if !is_write {
        return;
    }
    let content = owned(asked.content).filter(|_| asked.is_whole);
    let mut event = CodeEdit::new(whole_file(is_known), file);
    if let Some(content) = connection.whole(content.as_deref()) {
        set_whole_file(&mut event, content);
    }
    out.emit(event, Pointer::At("/m/result"));
}

/// The text of a file before and after a call.
struct Texts {
    file: String,
    op: EditOp,
    before: String,
    after: String,
    /// What the call replaced.
    replaced: Option<Replaced>,
}

/// The texts of a file that the client read and wrote for a call.
fn texts(connection: &Connection, record: &Record<'_>, plan: &CallPlan) -> Option<Texts> {
    let (read_at, read_end) = plan.by_client.read?;
    let (write, write_end) = plan.by_client.write?;
    let of = |number: usize| {
        let mut line = record.others.get(number)?;
        let asked = asked(line.value()?);
        asked
            .is_whole
            .then(|| (owned(asked.file), owned(asked.content)))
    };
    let answer = |number: usize, path: &str| {
        let mut line = record.others.get(number)?;
        at(line.value()?, path).map(|value| owned(Some(value)))
    };
    of(read_at)?;
    let (file, after) = of(write)?;
    let texts = Texts {
        file: file?,
        op: EditOp::Update,
        before: answer(read_end, "m/result/content").flatten()?,
        after: after?,
        replaced: read(record, Some(plan.args), |call| replaced(call.input()?)).flatten(),
    };
    let is_certain = answer(write_end, "m/error").is_none() && is_whole(connection, &texts);
    is_certain.then_some(texts)
}

fn is_whole(connection: &Connection, texts: &Texts) -> bool {
    let is = |text: &str| connection.whole(Some(text)).is_some();
    is(&texts.before) && is(&texts.after)
}

/// The texts of a file, by what the tool returned to the program: the file before, and the arguments that lead to the one after. Where a person changed
/// the proposal, these do not.
fn returned(connection: &Connection, call: &Call<'_>) -> Option<Texts> {
    let response = response_of(call)?;
    let of = |name| owned(response.member(name));
    let before = of("originalFile").filter(|_| !is_true(response.member("userModified")))?;
    let (op, after, replaced) = match (of("content"), of("newString")) {
        (Some(content), _) => (EditOp::Overwrite, content, None),
        // An empty file got its text.
        (None, Some(new)) if before.is_empty() => (EditOp::Update, new, None),
        (None, _) => {
            let replaced = replaced(response)?.settled(&before, growth(response))?;
            let after = replaced.applied(&before)?.into_after();
            (EditOp::Update, after, Some(replaced))
        }
    };
    let texts = Texts {
        file: of("filePath")?,
        op,
        before,
        after,
        replaced,
    };
    is_whole(connection, &texts).then_some(texts)
}

/// What it is to write a whole file. One that was read or changed before is there.
fn whole_file(is_there: bool) -> EditOp {
    match is_there {
        true => EditOp::Overwrite,
        false => EditOp::Create,
    }
}

/// What the arguments of a call write.
#[derive(Default)]
struct Written {
    /// The content of a whole file: `content` (Kimi Code, Kilo, Qwen Code, Vibe), `file_text` (Copilot CLI).
    content: Option<String>,
    replaced: Option<Replaced>,
}

fn written(call: &Call<'_>) -> Option<Written> {
    let input = call.input()?;
    let content = input.member("content").or(input.member("file_text"));
    Some(Written {
        content: owned(content),
        replaced: replaced(input),
    })
}

/// A change of which the whole file is known: an edit for each place that the call replaced.
fn between(
    event: CodeEdit<'_>,
    (before, after): (&str, &str),
    replaced: Option<&Replaced>,
    out: &mut Emitter<'_>,
) {
    let event = CodeEdit {
        file_before_hash: Hash::of_lossless_text(before),
        file_after_hash: Hash::of_lossless_text(after),
        ..event
    };
    let rewrite = replaced.and_then(|replaced| replaced.applied(before));
    let spans = match event.op {
        EditOp::Overwrite => vec![ChangedSpan::of_files(before, after)],
        _ => spans_between(before, after, rewrite.as_ref()),
    };
    for span in spans {
        let mut event = event.clone();
        span.set_in(&mut event);
        out.emit(event, UPDATE);
    }
}

/// A change that the call shows. Its texts are of a part of the file, unless the agent says more about the whole file.
fn change(
    done: &Done<'_, '_>,
    diff: &Diff<'_>,
    (written, is_known): (&Written, bool),
    out: &mut Emitter<'_>,
) {
    let Some(file) = text(diff.path()) else {
        return;
    };
    let (old, new) = (owned(diff.old_text()), owned(diff.new_text()));
    let whole = |text: &'_ Option<String>| done.connection.whole(text.as_deref()).is_some();
    let is_new = old.as_deref().is_none_or(str::is_empty);
    let event = |op| CodeEdit {
        call_id: done.call_id,
        ..CodeEdit::new(op, file)
    };
    let is_written = written.content.is_some() && written.content == new;
    let (Some(new), true) = (new.as_deref(), whole(&new) && (is_new || whole(&old))) else {
        out.emit(event(EditOp::Update), UPDATE);
        return;
    };
    // The text is what the call wrote as a whole file, or a new file has no text before.
    if is_new && (is_written || diff.old_text().is_none()) {
        // An agent that has `null` for a file that was not there means it.
        let is_there = is_known && diff.old_text().is_some();
        let mut event = event(whole_file(is_there));
        set_whole_file(&mut event, new);
        out.emit(event, UPDATE);
        return;
    }
    let mut event = event(match is_written {
        true => EditOp::Overwrite,
        false => EditOp::Update,
    });
    if let Some((before, after)) = files(done, old.as_deref().unwrap_or_default(), new) {
        return between(event, (&before, &after), written.replaced.as_ref(), out);
    }
    // Beside what a tool returned to its program, a change is as a terminal shows it: with other white space.
    if !done.is_shown {
        set_snippet(&mut event, old.as_deref(), Some(new));
    }
    out.emit(event, UPDATE);
}

/// The whole file before and after, where the agent says it: Qwen Code has both, Vibe the file before and how often the text was replaced.
fn files(done: &Done<'_, '_>, old: &str, new: &str) -> Option<(String, String)> {
    let raw = done.raw?;
    let of = |name| owned(raw.member(name));
    if let (Some(before), Some(after)) = (of("originalContent"), of("newContent"))
        && before == old
        && after == new
    {
        return Some((before, after));
    }
    let before = of("previousContent").filter(|_| !old.is_empty())?;
    let times = raw.member("occurrences")?.elements().count();
    let is_whole = done.connection.whole(Some(&before)).is_some();
    let after = before.replace(old, new);
    (is_whole && times > 0 && before.matches(old).count() == times).then_some((before, after))
}

/// A file of which the call shows no change. With its content it was written as a whole; Kilo and OpenCode say whether it was there.
fn write(
    done: &Done<'_, '_>,
    file: &str,
    (content, is_known): (Option<&str>, bool),
    out: &mut Emitter<'_>,
) {
    let exists = done.raw.and_then(|raw| at(raw, "metadata/exists"));
    let was_there = exists.map_or(is_known, Value::is_true);
    let op = content.map_or(EditOp::Update, |_| whole_file(was_there));
    let mut event = CodeEdit {
        call_id: done.call_id,
        ..CodeEdit::new(op, Text::Plain(file))
    };
    match (done.connection.whole(content), exists) {
        // A formatter may change the file after the call.
        (Some(content), Some(_)) => set_snippet(&mut event, None, Some(content)),
        (Some(content), None) => set_whole_file(&mut event, content),
        (None, _) => {}
    }
    out.emit(event, UPDATE);
}

/// True if a file was not read again, since it is as it was (Qwen Code).
fn is_unchanged(update: &Call<'_>) -> bool {
    let said = output(update, true).stdout.unwrap_or_default();
    said.starts_with("[File ") && said.contains(" unchanged since last read in this session")
}

/// True if a directory was read (Kilo, OpenCode).
fn is_directory(update: &Call<'_>) -> bool {
    let raw = update.output();
    raw_str(raw.and_then(|raw| at(raw, "metadata/display/type"))) == "directory"
}

/// A read, with its lines where the agent says them: Vibe, Kilo and OpenCode.
fn lines(done: &Done<'_, '_>, file: &str, out: &mut Emitter<'_>) {
    let mut event = CodeRead {
        call_id: done.call_id,
        ..CodeRead::new(Text::Plain(file))
    };
    if let Some(raw) = done.raw
        && let Some((range, total, text)) = of_vibe(raw).or_else(|| of_kilo(raw))
    {
        event.range = Some(range);
        event.total_lines = total;
        let is_cut = text.lines().any(|line| line.len() >= CUT_LINE);
        if let Some(text) = done.connection.whole(Some(&text)).filter(|_| !is_cut) {
            (event.hash, event.anchor_hashes, event.text) = span_facts(text);
        }
    }
    out.emit(event, UPDATE);
}

/// The lines, the number of lines of the file, and the text.
type Lines = (Range, Option<u64>, String);

fn of_vibe(raw: Value<'_>) -> Option<Lines> {
    let first = count(raw.member("startLine"))?;
    let lines = count(raw.member("numLines"))?;
    let content = owned(raw.member("content"))?;
    let text = without_final_line_end(&content);
    Some((
        range(first, lines, text)?,
        count(raw.member("totalLines")),
        text.to_owned(),
    ))
}

fn of_kilo(raw: Value<'_>) -> Option<Lines> {
    let shown = at(raw, "metadata/display")?;
    let first = count(shown.member("lineStart"))?;
    let last = count(shown.member("lineEnd"))?;
    let text = owned(shown.member("text"))?;
    let range = range(first, (last + 1).checked_sub(first)?, &text)?;
    let is_cut = owned(raw.member("output")).is_some_and(|output| is_cut_read(&output));
    let total = count(shown.member("totalLines")).filter(|_| !is_cut);
    Some((range, total, text))
}

/// The range of so many lines, if the text has as many.
fn range(first: u64, lines: u64, text: &str) -> Option<Range> {
    let is_right =
        lines > 0 && first > 0 && first <= LAST_LINE && text.split('\n').count() as u64 == lines;
    is_right.then(|| Range {
        first,
        last: first + lines - 1,
    })
}
