//! An answer is as new as the sessions on this machine: before a question, what is new in the homes is taken in.

use std::path::Path;
use std::time::SystemTime;

use clap::Parser;
use engram_adapters::Registry;
use engram_index::{Error, Index, Writer};

use crate::args::Ingest;
use crate::homes;
use crate::ingest;
use crate::inputs::session_options;
use crate::report::Reporter;
use crate::tape_dir;
use crate::unicode::Unicode;

/// `engram ingest` without arguments.
#[derive(Parser)]
struct Plain {
    #[command(flatten)]
    ingest: Ingest,
}

/// Converts the sessions of the homes that are new or have grown, in the form that the tapes of the directory have. A session that cannot be
/// converted is no reason to leave a question unanswered: `engram ingest` names it.
pub fn convert(tapes: &Path, registry: &Registry, report: &Reporter) {
    let quiet = report.silenced();
    let paths = homes::paths(&[], registry, &quiet);
    let Ok(Plain { ingest: mut args }) = Plain::try_parse_from(["engram"]) else {
        return;
    };
    if paths.is_empty() {
        return;
    }
    if let Ok(made) = tape_dir::Index::load(tapes) {
        args.zstd = made.tape_forms().has_zstd;
        args.redact = made.has_made_with("redacted");
        args.span_text = made.has_made_with("span-text");
        args.conversion.every_form = made.has_made_with("every-form");
        if made.has_made_with("unicode-replaced") {
            args.unicode = Unicode::Replace;
        }
    }
    if let Ok(options) = session_options(&args.conversion, registry, quiet.bar()) {
        ingest::convert_homes(&args, tapes, &paths, options, &quiet);
    }
}

/// Takes the tapes of a directory into an index, if some are new.
///
/// # Errors
/// As the index gives them.
pub fn take_in(directory: &Path, tapes: &Path, report: &Reporter) -> Result<(), Error> {
    match Index::open(directory) {
        Ok(index) if index.is_current(tapes)? => return Ok(()),
        Ok(_) | Err(Error::NoIndex(_)) => {}
        Err(error) => return Err(error),
    }
    let Some(mut writer) = Writer::try_open(directory)? else {
        report.note("warning     another engram is writing the index; the answer is from before");
        return Ok(());
    };
    let added = writer.add(&[tapes.to_owned()], &mut |_| ())?;
    let count = added.new + added.grew;
    if count > 0 {
        report.detail(&format!(
            "indexed     {count} tapes that are new since the last question"
        ));
    }
    if !added.failed.is_empty() {
        let (count, place) = (added.failed.len(), tapes.display());
        report.note(&format!(
            "warning     {count} files in {place} are no valid tapes; `engram index add` names them"
        ));
    }
    Ok(())
}

/// Says how old an answer is for which nothing was taken in.
pub fn say_age(index: &Index, report: &Reporter) {
    let written = index.path().metadata().and_then(|state| state.modified());
    let age = written
        .ok()
        .and_then(|time| SystemTime::now().duration_since(time).ok());
    let age = age.map_or_else(
        || "of an unknown age".to_owned(),
        |age| format!("{} old", in_words(age.as_secs())),
    );
    report.note(&format!(
        "note        nothing was taken in; the index is {age}"
    ));
}

fn in_words(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3600 => (seconds / 60, "minute"),
        3600..86_400 => (seconds / 3600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_words() {
        let words = [1, 59, 60, 7300, 90_000].map(in_words);
        assert_eq!(
            words,
            ["1 second", "59 seconds", "1 minute", "2 hours", "1 day"]
        );
    }
}
