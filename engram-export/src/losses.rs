//! What a target cannot hold, counted by rule.

use std::collections::BTreeMap;

use serde::Serialize;

/// A rule by which an export leaves out or changes something.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The stable name.
    pub name: &'static str,
    /// What is lost, and what stands in its place.
    pub meaning: &'static str,
}

/// How often each rule of a target applied. Rules that did not apply are listed with 0.
#[derive(Debug, Clone, Serialize)]
pub struct Losses {
    target: &'static str,
    tapes: u64,
    rules: BTreeMap<&'static str, Loss>,
}

/// One row of the report.
#[derive(Debug, Clone, Serialize)]
struct Loss {
    count: u64,
    meaning: &'static str,
}

impl Losses {
    /// A report on a target with these rules.
    pub fn new(target: &'static str, rules: &[&[Rule]]) -> Losses {
        let rules = rules
            .iter()
            .copied()
            .flatten()
            .map(|rule| {
                (
                    rule.name,
                    Loss {
                        count: 0,
                        meaning: rule.meaning,
                    },
                )
            })
            .collect();
        Losses {
            target,
            tapes: 0,
            rules,
        }
    }

    /// Counts a tape.
    pub fn tape(&mut self) {
        self.tapes += 1;
    }

    /// Counts a rule that applied.
    pub fn count(&mut self, rule: &Rule) {
        self.count_many(rule, 1);
    }

    /// Counts a rule that applied several times.
    pub fn count_many(&mut self, rule: &Rule, count: u64) {
        self.rules
            .entry(rule.name)
            .or_insert(Loss {
                count: 0,
                meaning: rule.meaning,
            })
            .count += count;
    }

    /// How often a rule applied.
    pub fn of(&self, rule: &Rule) -> u64 {
        self.rules.get(rule.name).map_or(0, |loss| loss.count)
    }

    /// Adds another report on the same target.
    pub fn merge(&mut self, other: &Losses) {
        self.tapes += other.tapes;
        for (name, loss) in &other.rules {
            self.rules
                .entry(name)
                .or_insert(Loss {
                    count: 0,
                    ..loss.clone()
                })
                .count += loss.count;
        }
    }

    /// The report as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// Half a surrogate pair.
pub const SURROGATE: Rule = Rule {
    name: "text.surrogate",
    meaning: "a string with half a surrogate pair, which UTF-8 cannot hold: it is U+FFFD, the row or object is marked `lossy`",
};
/// A time outside of what a target can hold.
pub const TIME_RANGE: Rule = Rule {
    name: "time.range",
    meaning: "a time that nanoseconds in 64 bits cannot hold: it is left out",
};

/// A time with more digits than a target can hold.
pub const TIME_PRECISION: Rule = Rule {
    name: "time.precision",
    meaning: "a time with more than nine digits of a second: the rest is cut",
};
/// A label that a later version of the format has.
pub const UNKNOWN_LABEL: Rule = Rule {
    name: "meta.unknown_label",
    meaning: "a `meta` event with a label that this version does not know: its members are left out",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_did_not_apply_are_listed_and_reports_add_up() {
        let mut one = Losses::new("toy", &[&[SURROGATE, TIME_RANGE]]);
        one.tape();
        one.count(&SURROGATE);
        let mut other = one.clone();
        other.merge(&one);
        assert_eq!(
            (other.of(&SURROGATE), other.of(&TIME_RANGE), other.tapes),
            (2, 0, 2)
        );
        let json: serde_json::Value = serde_json::from_str(&other.to_json()).unwrap();
        assert_eq!(
            (&json["target"], &json["rules"]["time.range"]["count"]),
            (&"toy".into(), &0.into())
        );
    }
}
