//! `engram export atif`: a document for each session.

use std::io;
use std::path::Path;

use engram_command::exit::{Exit, Tally};
use engram_command::output::create_with;
use engram_command::report::{Reporter, shown};
use engram_core::error::AdapterError;
use engram_export::atif::{Atif, Child, ChildDocument, Document, SubagentRef, Version};

use super::args;
use super::documents::Documents;
use super::place::{NewDirectory, write_losses};

/// Runs the command.
///
/// # Errors
/// Never; as the other commands.
pub fn run(args: &args::Atif, report: &Reporter) -> io::Result<Exit> {
    let directory = match NewDirectory::beside(&args.common.out) {
        Ok(directory) => directory,
        Err(error) => return Ok(report.failure(&error)),
    };
    let mut tally = Tally::default();
    let documents = Documents::read(&args.common, report, &mut tally);
    let mut export = Export {
        args,
        documents: &documents,
        atif: Atif::new(args.atif.into()),
        written: 0,
    };
    let done = export.write_all(directory.path());
    let (losses, written) = (export.atif.losses(), export.written);
    if documents.tapes.is_empty() {
        return Ok(tally.exit());
    }
    documents.tapes.iter().for_each(|_| tally.success());
    let done = done
        .and_then(|()| directory.complete())
        .and_then(|()| write_losses(args.common.losses.as_deref(), losses));
    if let Err(error) = done {
        return Ok(report.failure(&error));
    }
    report.note(&format!("tapes       {}", documents.tapes.len()));
    report.note(&format!("documents   {written}"));
    report.note(&format!("written to  {}", shown(&args.common.out)));
    Ok(tally.exit())
}

struct Export<'a> {
    args: &'a args::Atif,
    documents: &'a Documents,
    atif: Atif,
    written: u64,
}

impl Export<'_> {
    fn write_all(&mut self, directory: &Path) -> Result<(), AdapterError> {
        let documents = self.documents;
        let tapes: Vec<usize> = if self.args.link_agents {
            (0..documents.tapes.len()).collect()
        } else {
            documents.roots().collect()
        };
        tapes
            .into_iter()
            .try_for_each(|tape| self.write(tape, directory))
    }

    fn write(&mut self, tape: usize, directory: &Path) -> Result<(), AdapterError> {
        let Some(document) = self.document(tape)? else {
            return Ok(());
        };
        let path = directory.join(self.file_name(tape));
        let (atif, compress) = (&mut self.atif, self.args.zstd);
        let written = create_with(&path, |out| {
            if !compress {
                return atif.write(&document, out);
            }
            let mut encoder = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
            atif.write(&document, &mut encoder)?;
            encoder.finish().map(drop)
        });
        self.written += 1;
        written.map_err(|error: io::Error| {
            AdapterError::from(error).path(self.args.common.out.to_string_lossy())
        })
    }

    /// The document of a tape, with those of its sub-agents in it or links to them.
    fn document(&mut self, tape: usize) -> Result<Option<Document>, AdapterError> {
        let documents = self.documents;
        let mut children = Vec::new();
        for &child in &documents.children[tape] {
            let call_id = documents.parents[child]
                .as_ref()
                .and_then(|parent| parent.call_id.clone());
            let document = if self.args.link_agents {
                let path = self.file_name(child);
                let (_, name) = path.rsplit_once('/').unwrap_or(("", &path));
                let id = documents.tapes[child].name.clone();
                Some(ChildDocument::Linked(SubagentRef {
                    trajectory_id: id,
                    trajectory_path: Some(name.to_owned()),
                }))
            } else {
                self.document(child)?.map(ChildDocument::Embedded)
            };
            children.extend(document.map(|document| Child { call_id, document }));
        }
        let session = documents.session(tape, self.args.redact);
        session
            .and_then(|session| {
                let name = &documents.tapes[tape].name;
                self.atif.document(name, &session, children)
            })
            .map_err(|error| documents.error(tape, error))
    }

    fn file_name(&self, tape: usize) -> String {
        format!(
            "{}.json{}",
            self.documents.tapes[tape].name,
            if self.args.zstd { ".zst" } else { "" }
        )
    }
}

impl From<args::AtifVersion> for Version {
    fn from(version: args::AtifVersion) -> Version {
        match version {
            args::AtifVersion::V1_7 => Version::V1_7,
            args::AtifVersion::V1_8 => Version::V1_8,
        }
    }
}
