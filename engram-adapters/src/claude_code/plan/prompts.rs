//! What becomes of the prompts in the queue: the conversation has most of them, under the same words. The others are told where the log
//! says that they were delivered, or where they were typed if it does not.

use std::collections::{BTreeMap, HashSet};

use engram_core::keys::{KeyMap, hash64};

use super::agents::Agents;
use super::repeats::Skip;
use crate::claude_code::notes::{BlockKind, Flags, Kind, NONE, Note, Notes};

/// Commands that the harness logs under another name.
pub(in crate::claude_code) const ALIASES: &[(&str, &str)] =
    &[("/cost", "/usage"), ("/stats", "/usage")];

/// The most prompts that the queue keeps. Beyond that the oldest is emitted where it was typed.
const MAX_QUEUED: usize = 4096;

/// What becomes of the prompts in the queue.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::claude_code) struct Prompts {
    /// Prompts that no line of the conversation repeats. Each is emitted at its own line of the queue.
    pub here: HashSet<usize>,
    /// The same, told before a line: the line, and its prompts.
    pub before: BTreeMap<usize, Vec<usize>>,
    /// The prompts that are emitted before a line of the conversation.
    delivered: HashSet<usize>,
    /// Commands that were typed under another name: the line of the command, and the name.
    pub typed_as: BTreeMap<usize, &'static str>,
}

impl Prompts {
    /// True if a line tells the prompt of this line of the queue.
    pub fn is_told(&self, at: usize) -> bool {
        self.here.contains(&at) || self.delivered.contains(&at)
    }
}

/// A prompt in the queue.
struct Queued {
    at: usize,
    key: u64,
    /// The log shows that it left the queue: it comes before the next answer.
    is_delivered: bool,
    /// When it was sent as the next prompt.
    sent: Option<i64>,
    /// The log has lines that were written after it was sent.
    is_passed: bool,
    clears: bool,
}

/// Decides it for all prompts in the queue.
pub(in crate::claude_code) fn prompts(notes: &Notes, agents: &Agents, skip: &Skip<'_>) -> Prompts {
    let mut found = Prompts::default();
    let mut queue: Vec<Queued> = Vec::new();
    // Where logs have attachments (2.1.100 and later), `/clear` is a record of the session that it begins.
    let has_attachments = notes.all.iter().any(|note| note.kind == Kind::Attachment);
    let last = last_lines(notes, skip);
    for (at, note) in notes
        .all
        .iter()
        .enumerate()
        .filter(|(at, _)| !skip.has(*at))
    {
        if note.kind == Kind::Enqueue && note.message != NONE {
            let clears = has_attachments && note.is(Flags::CLEARS);
            if queue.len() == MAX_QUEUED {
                let oldest = queue.remove(0);
                found.here.extend((!oldest.clears).then_some(oldest.at));
            }
            queue.push(Queued {
                at,
                key: note.message,
                is_delivered: false,
                sent: None,
                is_passed: false,
                clears,
            });
        }
        if queue.is_empty() {
            continue;
        }
        let is_agents = agents.key(notes, at) != NONE || note.is(Flags::WRAPPED);
        match note.kind {
            Kind::Assistant if !is_agents => {
                release(&mut queue, |queued| queued.is_delivered, at, &mut found)
            }
            Kind::User if !is_agents => pass(&mut queue, note),
            Kind::Dequeue => {
                // Prompts leave by their priority, and those of blocks have no words here: another one may have been sent.
                let is_due = |queued: &Queued| {
                    let follows = last.get(&queued.key).is_some_and(|line| *line > at);
                    queued.is_passed && !queued.clears && !follows
                };
                release(&mut queue, is_due, at, &mut found);
                if let Some(next) = queue.iter_mut().find(|queued| queued.sent.is_none()) {
                    next.sent = Some(note.time);
                }
            }
            Kind::Remove if note.is(Flags::DELIVERS) => deliver(&mut queue, note.message),
            _ => {}
        }
        for (_, block) in notes
            .blocks_of(at)
            .iter()
            .enumerate()
            .filter(|(n, _)| !skip.has_block(at, *n))
        {
            match block.kind {
                BlockKind::Text => remove(&mut queue, block.key),
                BlockKind::Typed => command(&mut queue, at, block.key, &mut found),
                _ => {}
            }
        }
    }
    found.here.extend(
        queue
            .iter()
            .filter(|queued| !queued.clears)
            .map(|queued| queued.at),
    );
    found
}

/// The last line of the conversation with each text, in a log with a queue.
fn last_lines(notes: &Notes, skip: &Skip<'_>) -> KeyMap<usize> {
    let mut last = KeyMap::default();
    if !notes.all.iter().any(|note| note.kind == Kind::Enqueue) {
        return last;
    }
    for (at, note) in notes.all.iter().enumerate() {
        if note.kind == Kind::User && !skip.has(at) {
            let texts = notes.blocks_of(at).iter();
            let keys = texts.filter(|block| block.kind == BlockKind::Text);
            last.extend(keys.map(|block| (block.key, at)));
        }
    }
    last
}

fn remove(queue: &mut Vec<Queued>, key: u64) {
    if let Some(place) = queue.iter().position(|queued| queued.key == key) {
        queue.remove(place);
    }
}

/// The conversation has a command: it was queued under this name, or sent under another one.
fn command(queue: &mut Vec<Queued>, at: usize, typed: u64, found: &mut Prompts) {
    if queue.iter().any(|queued| queued.key == typed) {
        return remove(queue, typed);
    }
    let Some((alias, _)) = ALIASES.iter().find(|(_, logged)| hash64(*logged) == typed) else {
        return;
    };
    let key = hash64(*alias);
    if let Some(place) = queue
        .iter()
        .position(|queued| queued.key == key && queued.sent.is_some())
    {
        queue.remove(place);
        found.typed_as.insert(at, alias);
    }
}

/// A prompt left the queue: this one, else the only one.
fn deliver(queue: &mut [Queued], key: u64) {
    let left = match key {
        NONE if queue.len() == 1 => queue.first_mut(),
        NONE => None,
        key => queue
            .iter_mut()
            .find(|queued| queued.key == key && !queued.is_delivered),
    };
    if let Some(queued) = left {
        queued.is_delivered = true;
    }
}

/// Lines of the turn before may come after a prompt was sent. This one may be later.
fn pass(queue: &mut [Queued], note: &Note) {
    for queued in queue {
        queued.is_passed |= queued.sent.is_some_and(|sent| note.time >= sent);
    }
}

fn release(
    queue: &mut Vec<Queued>,
    is_due: impl Fn(&Queued) -> bool,
    at: usize,
    found: &mut Prompts,
) {
    let due: Vec<usize> = queue
        .iter()
        .filter(|queued| is_due(queued))
        .map(|queued| queued.at)
        .collect();
    if !due.is_empty() {
        queue.retain(|queued| !is_due(queued));
        found.delivered.extend(due.iter().copied());
        found.before.insert(at, due);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::*;
    use super::*;
    use crate::claude_code::notes::Block;

    fn decided(lines: &[(Note, Vec<Block>)]) -> Prompts {
        let mut notes = Notes::default();
        lines
            .iter()
            .for_each(|(note, blocks)| notes.push(*note, blocks));
        prompts(&notes, &Agents::default(), &Skip::nothing())
    }

    fn queue(kind: Kind, message: u64, time: i64) -> (Note, Vec<Block>) {
        (
            Note {
                kind,
                message,
                time,
                flags: Flags::DELIVERS,
                ..user()
            },
            Vec::new(),
        )
    }

    #[test]
    fn a_prompt_that_the_conversation_has_is_told_there() {
        let found = decided(&[
            queue(Kind::Enqueue, 5, 1),
            queue(Kind::Dequeue, 0, 2),
            (user(), vec![text(5)]),
        ]);
        assert_eq!(found, Prompts::default());
    }

    #[test]
    fn a_delivered_prompt_is_told_before_the_next_answer() {
        let lines = [
            queue(Kind::Enqueue, 5, 1),
            queue(Kind::Remove, 5, 2),
            (user(), vec![result(1, 1)]),
            (part(1), vec![other(1)]),
        ];
        assert_eq!(decided(&lines).before, BTreeMap::from([(3, vec![0])]));
        let unnamed = [
            queue(Kind::Enqueue, 5, 1),
            queue(Kind::Remove, 0, 2),
            (part(1), vec![other(1)]),
        ];
        assert_eq!(decided(&unnamed).before, BTreeMap::from([(2, vec![0])]));
    }

    #[test]
    fn a_prompt_that_never_left_the_queue_is_told_where_it_was_typed() {
        let found = decided(&[queue(Kind::Enqueue, 5, 1), (part(1), vec![other(1)])]);
        assert!(found.here.contains(&0) && found.is_told(0));
    }

    #[test]
    fn a_prompt_whose_turn_is_over_is_told_before_the_next_one() {
        let lines = [
            queue(Kind::Enqueue, 5, 1),
            queue(Kind::Dequeue, 0, 2),
            (Note { time: 3, ..user() }, vec![text(9)]),
            queue(Kind::Dequeue, 0, 4),
        ];
        assert_eq!(decided(&lines).before, BTreeMap::from([(3, vec![0])]));
    }

    #[test]
    fn a_prompt_that_is_sent_behind_later_ones_is_told_where_the_conversation_has_it() {
        let lines = [
            queue(Kind::Enqueue, 5, 1),
            queue(Kind::Dequeue, 0, 2),
            (Note { time: 3, ..user() }, vec![text(9)]),
            queue(Kind::Dequeue, 0, 4),
            (Note { time: 5, ..user() }, vec![text(5)]),
        ];
        assert_eq!(decided(&lines), Prompts::default());
    }

    #[test]
    fn a_command_may_be_logged_under_another_name() {
        let typed = |name: &str| Block {
            fact: NONE,
            key: hash64(name),
            kind: BlockKind::Typed,
        };
        let lines = [
            queue(Kind::Enqueue, hash64("/cost"), 1),
            queue(Kind::Dequeue, 0, 2),
            (user(), vec![typed("/usage")]),
        ];
        assert_eq!(decided(&lines).typed_as, BTreeMap::from([(2, "/cost")]));
    }
}
