//! A question about lines of a text.

use crate::window::Keys;

/// A file in a clone of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InRepo {
    /// The address of the repository, in any form.
    pub url: String,
    /// The path below its root.
    pub path: String,
}

/// A name that the file of a question had in earlier commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Earlier {
    /// The path below the root of the repository.
    pub path: String,
    /// When the commit was written that gave the file its next name, in milliseconds since 1970: what sessions did to a file of this name
    /// later is of another file.
    pub until: i64,
}

/// A question about lines of a text.
#[derive(Debug, Clone)]
pub struct Query<'q> {
    /// The absolute paths of the file: the one that was given, and where links lead.
    pub paths: Vec<String>,
    /// The same file as a repository knows it.
    pub repo: Option<InRepo>,
    /// Names that it had in earlier commits of `repo`, the newest first.
    pub earlier: Vec<Earlier>,
    /// The whole text.
    pub text: &'q str,
    /// The lines that are asked for, from 1, both ends included; all if `None`.
    pub range: Option<(usize, usize)>,
    /// Nothing that happened after this time, in milliseconds since 1970, counts.
    pub at: Option<i64>,
    /// The most items of the answer.
    pub limit: usize,
    /// Items that are left out at the beginning.
    pub skip: usize,
    /// What is read from the tapes.
    pub words: Words,
    /// Whether keys and tokens stand in what is read from the tapes.
    pub keys: Keys,
}

/// The words of tapes that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// None: nothing but the index is read.
    None,
    /// The prompt.
    Prompt,
    /// The prompt, those of the sessions above, the reasoning and the arguments of the call.
    All,
}

impl<'q> Query<'q> {
    /// A question about a whole text without a path.
    pub fn new(text: &'q str) -> Query<'q> {
        Query {
            paths: Vec::new(),
            repo: None,
            earlier: Vec::new(),
            text,
            range: None,
            at: None,
            limit: 10,
            skip: 0,
            words: Words::All,
            keys: Keys::Shown,
        }
    }

    /// A question about a file.
    pub fn of_file(path: &str, text: &'q str) -> Query<'q> {
        Query {
            paths: vec![path.to_owned()],
            ..Query::new(text)
        }
    }
}
