//! Every broken adapter is found by exactly the check that exists for it, and without that check it passes.

use rayon::prelude::*;

use crate::adapter::{Changed, all_fixtures, certify, fixtures};
use crate::breaks::{BREAKS, Break};

fn failing(broken: &Break, changed: &Changed, without: Option<&str>) -> Vec<&'static str> {
    let recordings = if broken.fixtures.is_empty() { all_fixtures() } else { fixtures(broken.fixtures) };
    let report = certify(changed, &recordings, broken.with_stream, without);
    report.failing().into_iter().map(|(_, check)| check).collect()
}

/// What is wrong with how the kit meets a broken adapter.
fn wrong(broken: &Break) -> Option<String> {
    let found = failing(broken, &broken.adapter(), None);
    if found != [broken.check] {
        return Some(format!("{}: found by {found:?}, not by {} alone", broken.name, broken.check));
    }
    let let_through = failing(broken, &broken.adapter(), Some(broken.check));
    (!let_through.is_empty()).then(|| format!("{}: without {} found by {let_through:?}", broken.name, broken.check))
}

#[test]
fn each_is_found_by_the_check_that_exists_for_it() {
    for broken in BREAKS {
        println!("{:20} {}", broken.check, broken.name);
    }
    let wrong: Vec<String> = BREAKS.par_iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{} of {} broken adapters:\n{}", wrong.len(), BREAKS.len(), wrong.join("\n"));
    assert!(BREAKS.len() >= 20);
}

#[test]
fn what_is_not_broken_passes() {
    let wrong: Vec<String> = BREAKS
        .par_iter()
        .filter(|broken| !broken.fixtures.is_empty())
        .filter_map(|broken| {
            let found = failing(broken, &Changed::nothing(broken.adapter, broken.policy), None);
            (!found.is_empty()).then(|| format!("{}: {found:?}", broken.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
