//! Random worlds: sessions edit and write files, people change them in between, and no line is given to a session that did not make it.

use std::collections::HashMap;
use std::path::Path;

use engram_index::{Index, Made, Query, Writer};
use proptest::prelude::*;

use crate::synthetic::ROOT;
use crate::world::{Form, Step, Who, World, at_last, form, step, tape};

/// Most lines that a person doubles where they stand.
const MAX_DOUBLED: usize = 5;

/// The answer for each line.
fn answers(index: &Index, text: &str) -> Vec<Made> {
    let mut query = Query::new(text);
    query.paths = vec![format!("{ROOT}/src/a.py")];
    index.attribute(&query).unwrap()
}

/// The name of the session that an answer names.
fn session(answer: &Made) -> Option<&str> {
    answer.call.as_ref()?.0.to_str()
}

fn is_of(session: &str, who: Who) -> bool {
    matches!(who, Who::Session(by) if session.starts_with(&format!("s{by}-")))
}

/// The first line that a session did not make and is given to it.
fn wrong(world: &World, answers: &[Made]) -> Option<String> {
    for (at, (line, answer)) in world.lines.iter().zip(answers).enumerate() {
        let Some(session) = session(answer) else {
            continue;
        };
        // Who writes again what was removed is not told apart from who wrote it first. A session may have written an equal line beside another
        // session's. And of two equal lines near each other, one of which a person copied, the text does not tell which is the copy.
        let equal =
            |other: &crate::world::Line| other.text == line.text && is_of(session, other.who);
        let near = at.saturating_sub(MAX_DOUBLED)..(at + MAX_DOUBLED + 1).min(world.lines.len());
        let wrote_too = match line.who {
            Who::Person => world.lines[near].iter().any(equal),
            Who::Session(_) => world.lines.iter().any(equal),
        };
        let is_right = is_of(session, line.who)
            || is_of(session, line.told)
            || (answer.reformatted && is_of(session, line.words))
            || wrote_too;
        if !is_right && !world.may_be_again(line) && !world.stands_for_another(line) {
            let (text, who) = (&line.text, line.who);
            return Some(format!(
                "line {} {text:?} of {who:?} is given to {session}",
                at + 1
            ));
        }
    }
    None
}

/// An index over the sessions that make these steps; what they left.
fn played(steps: &[(Step, Form)]) -> (Index, World) {
    let mut world = World::new();
    let mut writer = Writer::in_memory().unwrap();
    for (n, (step, form)) in steps.iter().enumerate() {
        let before = world.text();
        // Each step is a session of its own: the index must put them in order.
        let Some(by) = world.make(step) else { continue };
        let name = format!("s{by}-{n}");
        let tape = tape(&name, n, *form, &before, &world.text());
        let added = writer.add_text(Path::new(&name), tape.as_bytes()).unwrap();
        assert!(added.failed.is_empty(), "{:?}", added.failed);
    }
    (writer.into_index().unwrap(), world)
}

/// `ENGRAM_WORLDS=2000` makes more worlds, with `ENGRAM_SEED=7` others.
fn config(cases: u32) -> ProptestConfig {
    let number = |name: &str| std::env::var(name).ok()?.parse().ok();
    let cases = number("ENGRAM_WORLDS").map_or(cases, |count: u64| count as u32);
    ProptestConfig {
        cases,
        rng_seed: prop::test_runner::RngSeed::Fixed(number("ENGRAM_SEED").unwrap_or(11)),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(64))]
    /// The sessions end with what people do at last: no line of them is given to a session, and no answer becomes another one.
    #[test]
    fn no_line_of_another_is_given_to_a_session(
        steps in prop::collection::vec((step(), form()), 3..24),
        at_last in prop::collection::vec(at_last(), 0..6),
        ends in any::<bool>(),
    ) {
        let (index, mut world) = played(&steps);
        let before = answers(&index, &world.text());
        prop_assert_eq!(wrong(&world, &before), None, "{}", world.text());
        let known: HashMap<usize, String> = world
            .lines
            .iter()
            .zip(&before)
            .filter_map(|(line, answer)| Some((line.id, session(answer)?.to_owned())))
            .collect();
        let old = world.text();
        for step in &at_last {
            world.make(step);
        }
        let text = if ends { world.text().replace('\n', "\r\n") } else { world.text() };
        let after = answers(&index, &text);
        prop_assert_eq!(wrong(&world, &after), None, "{}\n\n{}", old, world.text());
        for (at, (line, answer)) in world.lines.iter().zip(&after).enumerate() {
            let (now, then) = (session(answer), known.get(&line.id));
            let same = now.is_none() || then.is_none_or(|then| now == Some(then));
            let is_again = world.may_be_again(line);
            prop_assert!(same || is_again, "line {} {:?}: {now:?} and not {then:?}\n{old}\n\n{}", at + 1, line.text, world.text());
        }
    }
}
