//! Reads: which lines of a file the `read` tool returned.

use std::sync::LazyLock;

use engram_core::emit::Pointer;
use engram_core::event::CodeRead;
use engram_core::steps::Emitter;
use engram_core::text::Text;
use memchr::memmem::Finder;

use super::call::Call;
use super::paths::absolute;
use super::read_lines::Lines;
use super::step_reads;
use crate::opencode::dialect::Dialect;
use crate::opencode::readers::FileArgs;
use crate::shared::spans::{has_crlf, span_facts};
use crate::shared::value::non_empty_text;

/// What precedes the entries of a directory.
static DIRECTORY_HEADER: LazyLock<Finder<'_>> =
    LazyLock::new(|| Finder::new("</path>\n<type>directory</type>"));

/// Emits what a `read` returned. An image is a read without lines; a directory is no read.
pub(super) fn read(call: &Call<'_>, dialect: Dialect, pointer: Pointer<'_>, out: &mut Emitter<'_>) {
    let args = FileArgs::lenient_opt(call.input);
    let Some(file) = non_empty_text(args.file_path()).or(non_empty_text(args.path())) else {
        return;
    };
    let output = call.output();
    if output.is_some_and(|output| DIRECTORY_HEADER.find(output.as_bytes()).is_some())
        || step_reads::is_directory(call)
    {
        return;
    }
    let lines = match args.file_path() {
        Some(_) => output.and_then(|output| Lines::of(output, dialect)),
        None => step_reads::lines(call),
    };
    let absolute = absolute(file, call.directory);
    let file = absolute.as_deref().map_or(file, Text::Plain);
    let mut event = CodeRead {
        call_id: call.id,
        ..CodeRead::new(file)
    };
    if let Some(lines) = lines {
        event.range = Some(lines.range);
        event.total_lines = lines.total;
        if lines.is_exact && !has_crlf(&lines.text) {
            (event.hash, event.anchor_hashes, event.text) = span_facts(&lines.text);
        }
    }
    out.emit(event, pointer);
}
