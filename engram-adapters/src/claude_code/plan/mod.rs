//! What becomes of each line, decided over the notes of all lines: one question a file, and no JSON.

pub(super) mod agents;
pub(super) mod copies;
pub(super) mod prompts;
pub(super) mod repeats;
pub(super) mod replay;
pub(super) mod responses;
pub(super) mod rewinds;
pub(super) mod twins;

use engram_core::keys::KeySet;

use super::notes::{BlockKind, Flags, Kind, NONE, Note, Notes};
use agents::Agents;
use engram_core::adapter::{LogRecord, OlderLog};
use prompts::Prompts;
use repeats::{Blocks, Skip};
use replay::Replay;
use responses::UsageHere;
use rewinds::{Rewind, Target};
use std::collections::{BTreeMap, HashSet};

/// Whether a line is converted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fate {
    #[default]
    Convert,
    /// The log has the line again.
    Repeated,
    /// The history has it under another id.
    AppendedAgain,
    /// The history has the prompt under another id, and comes again as a whole.
    Copied,
}

/// What was decided about all lines.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub notes: Notes,
    fates: Vec<Fate>,
    stated: Blocks,
    repeated: Blocks,
    without_call: Blocks,
    refuted: Blocks,
    /// Calls and results whose own lines are lost, in lines with what was sent to the model.
    pub lost: Blocks,
    usage: Vec<UsageHere>,
    pub agents: Agents,
    pub replay: Replay,
    pub prompts: Prompts,
    pub rewinds: BTreeMap<usize, Rewind>,
    /// The lines whose last events are needed, because a person went back to them or to the line before them.
    pub targets: HashSet<usize>,
    /// Outputs so far that no result and no later output follows.
    pub last_outputs: HashSet<usize>,
    /// Results that the log has before their calls: the line of the call, and the lines with its results.
    pub early: BTreeMap<usize, Vec<usize>>,
    /// Titles of this session, which name one of its lines.
    pub own_titles: HashSet<usize>,
    /// Prompts that a hook gave.
    pub by_hook: HashSet<usize>,
    /// Texts that ran as a command: what they printed follows.
    has_run: HashSet<usize>,
    is_expanded: HashSet<usize>,
}

impl Plan {
    /// Decides everything. `older_logs`: see [`engram_core::adapter::SideFiles::older_logs`].
    pub fn of(all: Notes, older_logs: impl FnOnce(&[LogRecord]) -> Vec<OlderLog>) -> Plan {
        let notes = &all;
        let repeats = repeats::repeats(notes);
        let mut fates: Vec<Fate> = repeats
            .is_repeat
            .iter()
            .map(|is| if *is { Fate::Repeated } else { Fate::Convert })
            .collect();
        let mut skipped = repeats.is_repeat;
        for at in copies::rewritten(notes, &skipped) {
            (fates[at], skipped[at]) = (Fate::AppendedAgain, true);
        }
        let agents = agents::agents(notes);
        let twins = twins::twins(
            notes,
            &Skip {
                lines: &skipped,
                blocks: &repeats.stated,
            },
        );
        for at in copies::copied_prompts(
            notes,
            &Skip {
                lines: &skipped,
                blocks: &repeats.stated,
            },
            &twins.repeated,
        ) {
            (fates[at], skipped[at]) = (Fate::Copied, true);
        }
        let skip = Skip {
            lines: &skipped,
            blocks: &repeats.stated,
        };
        let rewinds = rewinds::rewinds(notes, &agents, &skip);
        let mut replay = replay::replay(notes, &skipped);
        replay::add_copies(notes, &skipped, &mut replay, older_logs);
        let again: Blocks = twins
            .repeated
            .difference(&twins.rewritten)
            .copied()
            .collect();
        let plan = Plan {
            usage: responses::responses(notes, &agents, &skip, &again),
            replay,
            prompts: prompts::prompts(notes, &agents, &skip),
            targets: rewinds.values().map(|rewind| rewind.to.line()).collect(),
            last_outputs: last_outputs(notes, &skip),
            own_titles: own_titles(notes),
            by_hook: by_hook(notes, &skip),
            has_run: answered_by(notes, &skip, Flags::PRINTED),
            is_expanded: answered_by(notes, &skip, Flags::META),
            early: early_results(notes, &skip),
            repeated: twins.repeated,
            without_call: twins.without_call,
            refuted: twins.refuted,
            lost: twins::lost(notes, &skip),
            rewinds,
            agents,
            fates,
            ..Plan::default()
        };
        Plan {
            stated: repeats.stated,
            notes: all,
            ..plan
        }
    }

    /// True for results that the log has before their call.
    pub fn is_early(&self, at: usize) -> bool {
        !self.early.is_empty() && self.early.values().any(|lines| lines.contains(&at))
    }

    /// Whether the line is converted.
    pub fn fate(&self, at: usize) -> Fate {
        self.fates.get(at).copied().unwrap_or_default()
    }

    /// True if an earlier line with the id of this one has said the block.
    pub fn is_stated(&self, at: usize, block: usize) -> bool {
        self.stated.contains(&(at, block))
    }

    /// True if another line has said the block.
    pub fn is_repeated(&self, at: usize, block: usize) -> bool {
        self.repeated.contains(&(at, block))
    }

    /// True for a result whose call the log does not have.
    pub fn lacks_call(&self, at: usize, block: usize) -> bool {
        self.without_call.contains(&(at, block))
    }

    /// True for a result that the harness made up, and that another one refutes.
    pub fn is_refuted(&self, at: usize, block: usize) -> bool {
        self.refuted.contains(&(at, block))
    }

    /// True if the text of the line ran as a command: what it printed follows. A person may send the same text as words.
    pub fn has_run(&self, at: usize) -> bool {
        self.has_run.contains(&at)
    }

    /// True if the text of the line is a command that the harness expanded: the text that it made of it follows.
    pub fn is_expanded(&self, at: usize) -> bool {
        self.is_expanded.contains(&at)
    }

    /// The usage that follows the line.
    pub fn usage(&self, at: usize) -> UsageHere {
        self.usage.get(at).copied().unwrap_or_default()
    }

    /// True if the line is a copy of another session's history.
    pub fn is_replay(&self, at: usize) -> bool {
        self.replay.is_copy.get(at) == Some(&true)
    }
}

impl Target {
    /// The line that it names.
    pub fn line(self) -> usize {
        match self {
            Target::Line(at) | Target::Before(at) => at,
        }
    }
}

/// The last outputs of commands that have no result.
fn last_outputs(notes: &Notes, skip: &Skip<'_>) -> HashSet<usize> {
    let mut last: BTreeMap<u64, usize> = BTreeMap::new();
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
    {
        if note.kind == Kind::Output && note.message != NONE {
            last.insert(note.message, at);
        }
    }
    if !last.is_empty() {
        let results = notes
            .blocks
            .iter()
            .filter(|block| block.kind == BlockKind::Result);
        results.for_each(|block| {
            last.remove(&block.key);
        });
    }
    last.into_values().collect()
}

/// The results that name a later line as that of their call (2.1.91 to 2.1.172).
fn early_results(notes: &Notes, skip: &Skip<'_>) -> BTreeMap<usize, Vec<usize>> {
    let mut waiting: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut read: KeySet = KeySet::default();
    let mut early = BTreeMap::new();
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
    {
        if note.kind == Kind::User
            && note.is(Flags::RESULT)
            && note.request != NONE
            && !read.contains(&note.request)
        {
            waiting.entry(note.request).or_default().push(at);
        }
        if note.kind == Kind::Assistant && note.uuid != NONE && !note.is(Flags::WRAPPED) {
            early.extend(waiting.remove(&note.uuid).map(|results| (at, results)));
            read.insert(note.uuid);
        }
    }
    early
}

/// The prompts that hooks gave: those with the words that a hook printed. A hook gives them whenever the session starts, and the log does not
/// have each time what it printed.
fn by_hook(notes: &Notes, skip: &Skip<'_>) -> HashSet<usize> {
    let of = |kind| notes.blocks.iter().filter(move |block| block.kind == kind);
    let given: KeySet = of(BlockKind::HookPrompt).map(|block| block.key).collect();
    let is_given = |at: &usize| {
        let mut blocks = notes.blocks_of(*at).iter();
        notes.all[*at].kind == Kind::User
            && !skip.has(*at)
            && blocks.any(|block| block.kind == BlockKind::Text && given.contains(&block.key))
    };
    if given.is_empty() {
        return HashSet::new();
    }
    (0..notes.all.len()).filter(is_given).collect()
}

/// The lines in the user's place whose next line of the conversation has this flag, and names them as the one before.
fn answered_by(notes: &Notes, skip: &Skip<'_>, flag: Flags) -> HashSet<usize> {
    let (mut found, mut before) = (HashSet::new(), None);
    let is_said = |note: &Note| matches!(note.kind, Kind::User | Kind::Assistant);
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, note)| is_said(note) && !skip.has(*at))
    {
        let typed = before.replace(at).filter(|_| note.is(flag));
        found.extend(typed.filter(|typed| {
            let uuid = notes.all[*typed].uuid;
            uuid != NONE && note.parent == uuid
        }));
    }
    found
}

/// The titles that name a line of this log.
fn own_titles(notes: &Notes) -> HashSet<usize> {
    let titles: Vec<usize> = (0..notes.all.len())
        .filter(|at| notes.all[*at].kind == Kind::Title)
        .collect();
    if titles.is_empty() {
        return HashSet::new();
    }
    let lines: KeySet = notes
        .all
        .iter()
        .map(|note| note.uuid)
        .filter(|uuid| *uuid != NONE)
        .collect();
    titles
        .into_iter()
        .filter(|at| lines.contains(&notes.all[*at].parent))
        .collect()
}

/// Notes as the tests of this room write them.
#[cfg(test)]
mod testing {
    use super::super::notes::{Block, BlockKind, Flags, Kind, NONE, Note};

    pub fn user() -> Note {
        Note {
            kind: Kind::User,
            ..Note::default()
        }
    }

    /// A part of the response with this message, with its counts.
    pub fn part(message: u64) -> Note {
        Note {
            kind: Kind::Assistant,
            message,
            flags: Flags::USAGE,
            ..Note::default()
        }
    }

    pub fn other(fact: u64) -> Block {
        Block {
            fact,
            key: NONE,
            kind: BlockKind::Other,
        }
    }

    pub fn text(key: u64) -> Block {
        Block {
            fact: key,
            key,
            kind: BlockKind::Text,
        }
    }

    pub fn call(key: u64) -> Block {
        Block {
            fact: key,
            key,
            kind: BlockKind::Call,
        }
    }

    pub fn result(key: u64, fact: u64) -> Block {
        Block {
            fact,
            key,
            kind: BlockKind::Result,
        }
    }
}
