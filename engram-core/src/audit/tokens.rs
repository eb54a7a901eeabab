//! What a log calls tokens, by member, beside the tokens of the tape's usage events.
//!
//! The sums of both sides are not equal in general: a log may repeat a count, or have a running total. They show a person where tokens
//! are that no event has.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::members::{Fate, FateKind};

/// The most members of a report; more are counted together.
const MAX_MEMBERS: usize = 256;
/// The name in the report for members beyond [`MAX_MEMBERS`].
const OTHERS: &str = "(other members)";

/// Numbers of a log that are called tokens, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Tokens {
    /// The members of the log, by record type and place.
    pub log: BTreeMap<String, TokenMember>,
    /// The sums of the tape's usage events, replays apart, by the name of the count.
    pub tape: BTreeMap<String, u64>,
    /// The same sums of replays.
    pub replayed: BTreeMap<String, u64>,
}

/// The numbers in one member.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TokenMember {
    /// How many numbers there are.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// What the member table says becomes of them: a field of the tape, `omit` or `opaque` with a rule, `record` with the rule that omits
    /// their record, or `unknown`.
    pub becomes: String,
}

impl Tokens {
    /// Adds a number of the log, if its pointer says that it counts tokens.
    pub(super) fn add(
        &mut self,
        record: &str,
        pointer: &str,
        number: &str,
        becomes: impl FnOnce() -> String,
    ) {
        let Ok(number) = number.parse::<u64>() else {
            return;
        };
        if number == 0 || !counts_tokens(pointer) {
            return;
        }
        let name = format!("{record} {}", pattern(pointer));
        let is_listed = self.log.len() < MAX_MEMBERS || self.log.contains_key(&name);
        let member = self
            .log
            .entry(if is_listed { name } else { OTHERS.to_owned() })
            .or_default();
        if member.count == 0 {
            member.becomes = becomes();
        }
        member.count += 1;
        member.sum = member.sum.saturating_add(number);
    }
}

/// What becomes of a number by its row of the member table.
pub(super) fn becomes(fate: &Fate) -> String {
    match fate.kind {
        FateKind::Tape => "on the tape as it is".to_owned(),
        FateKind::As => fate.name.to_string(),
        FateKind::Omit => format!("omit {}", fate.name),
        FateKind::Opaque => format!("opaque {}", fate.name),
    }
}

/// True if a name on the way to a number says tokens. A number of milliseconds to a token counts none.
fn counts_tokens(pointer: &str) -> bool {
    let pointer = pointer.to_ascii_lowercase();
    !pointer.ends_with("_ms") && pointer.split('/').any(|name| name.contains("token"))
}

/// The pointer with `*` for the places in lists.
fn pattern(pointer: &str) -> String {
    let names = pointer.split('/').map(|name| {
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
            "*"
        } else {
            name
        }
    });
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(of: &[(&str, &str, &str)]) -> Tokens {
        let mut tokens = Tokens::default();
        of.iter().for_each(|(pointer, number, becomes)| {
            tokens.add("r", pointer, number, || (*becomes).to_owned())
        });
        tokens
    }

    #[test]
    fn numbers_under_a_name_with_tokens_are_summed_by_place() {
        let sums = tokens(&[
            ("/usage/input_tokens", "3", "x"),
            ("/usage/input_tokens", "4", "x"),
            ("/list/7/tokens/in", "5", "x"),
            ("/bytes", "9", "x"),
            ("/first_token_ms", "9", "x"),
        ]);
        let rows: Vec<(&str, u64)> = sums
            .log
            .iter()
            .map(|(name, member)| (name.as_str(), member.sum))
            .collect();
        assert_eq!(
            rows,
            [("r /list/*/tokens/in", 5), ("r /usage/input_tokens", 7)]
        );
    }

    #[test]
    fn hostile_names_are_bounded() {
        let mut sums = Tokens::default();
        (0..1000).for_each(|n| sums.add("r", &format!("/tokens/a{n}"), "1", String::new));
        assert_eq!(
            (sums.log.len(), sums.log[OTHERS].count),
            (MAX_MEMBERS + 1, 1000 - MAX_MEMBERS as u64)
        );
    }
}
