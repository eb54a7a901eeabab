//! Members that an object has more than once.

use std::collections::HashSet;

use super::node::JsonNode;
use crate::keys::hash64;

/// Few names are compared with each other without an allocation.
const FEW: usize = 24;

/// The members whose name an earlier member of the object has. Readers of JSON disagree on which of them counts.
pub(super) fn repeated<'a, N: JsonNode<'a>>(object: N) -> Vec<(&'a str, N)> {
    let mut names = [""; FEW];
    for (at, (name, _)) in object.members().enumerate() {
        if at == FEW || names[..at].contains(&name) {
            return repeated_of_many(object);
        }
        names[at] = name;
    }
    Vec::new()
}

#[cold]
fn repeated_of_many<'a, N: JsonNode<'a>>(object: N) -> Vec<(&'a str, N)> {
    // An object may have a million members, so only hashes of their names are in memory.
    let mut hashes: Vec<u64> = object.members().map(|(name, _)| hash64(name)).collect();
    hashes.sort_unstable();
    let shared: HashSet<u64> = hashes
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    drop(hashes);
    let mut names = HashSet::new();
    let is_again =
        |(name, _): &(&'a str, N)| shared.contains(&hash64(name)) && !names.insert(*name);
    if shared.is_empty() {
        Vec::new()
    } else {
        object.members().filter(is_again).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::RawNode;
    use super::*;

    fn names(json: &str) -> Vec<&str> {
        repeated(RawNode::parse(json).unwrap())
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn every_further_member_of_a_name_is_found_in_order() {
        assert_eq!(names(r#"{"b":1,"a":1,"b":2,"a":2,"b":3}"#), ["b", "a", "b"]);
        assert_eq!(names(r#"{"b":1,"a":1}"#), [""; 0]);
        assert_eq!(names("{}"), [""; 0]);
        let members = |count: usize| {
            (0..count)
                .map(|n| format!(r#""{n}":0"#))
                .collect::<Vec<_>>()
                .join(",")
        };
        for count in [FEW - 1, FEW, FEW + 1, 3 * FEW] {
            assert_eq!(names(&format!("{{{}}}", members(count))), [""; 0]);
            assert_eq!(names(&format!("{{{},\"0\":1}}", members(count))), ["0"]);
        }
    }
}
