//! The registry as tables: what the documents and `engram adapters` show. There is no second copy of these facts.

use std::fmt::Write;

use engram_core::coverage::{Coverage, Grade};
use engram_core::event::Kind;
use engram_core::version::Revision;

use crate::registration::Registration;
use crate::registry::Registry;

/// A table of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    headings: Vec<&'static str>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// As Markdown. Every row ends with `\n`.
    pub fn markdown(&self) -> String {
        let mut out = markdown_row(self.headings.iter().copied());
        out.push_str(&markdown_row(self.headings.iter().map(|_| "---")));
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| cell.replace('|', "\\|").replace('\n', " "))
                .collect();
            out.push_str(&markdown_row(cells.iter().map(String::as_str)));
        }
        out
    }

    /// In aligned columns, for a terminal. Every row ends with `\n`.
    pub fn text(&self) -> String {
        let cells = |column: usize| {
            self.rows
                .iter()
                .filter_map(move |row| row.get(column))
                .map(|cell| cell.chars().count())
        };
        let widths: Vec<usize> = self
            .headings
            .iter()
            .enumerate()
            .map(|(n, heading)| cells(n).max().unwrap_or(0).max(heading.chars().count()))
            .collect();
        let headings = self
            .headings
            .iter()
            .map(|heading| (*heading).to_owned())
            .collect();
        let mut out = String::new();
        for row in std::iter::once(&headings).chain(&self.rows) {
            let padded: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            out.push_str(padded.join("  ").trim_end());
            out.push('\n');
        }
        out
    }
}

fn markdown_row<'c>(cells: impl Iterator<Item = &'c str>) -> String {
    let mut row = String::from("|");
    for cell in cells {
        let _ = write!(row, " {cell} |");
    }
    row.push('\n');
    row
}

/// What is supported: a row a revision, with the claim for each kind.
pub fn support(registry: &Registry) -> Table {
    let mut headings = vec!["harness", "versions", "schema", "tested"];
    headings.extend(Kind::ALL.iter().map(|kind| kind.as_str()));
    let rows = registry.adapters().flat_map(|registration| {
        let descriptor = registration.descriptor();
        descriptor.matrix.revisions.iter().map(|revision| {
            let mut row = vec![
                descriptor.harness_family.to_owned(),
                versions(revision),
                revision.schema.to_owned(),
                tested(revision),
            ];
            row.extend(
                Kind::ALL
                    .iter()
                    .map(|kind| revision.coverage.grade(*kind).as_str().to_owned()),
            );
            row
        })
    });
    Table {
        headings,
        rows: rows.collect(),
    }
}

/// Which versions are `ahead` and which are `unknown`: a row a harness whose logs record their version.
pub fn outside_versions(registry: &Registry) -> Table {
    let rows = registry.adapters().filter_map(|registration| {
        let descriptor = registration.descriptor();
        let versioned = descriptor
            .matrix
            .revisions
            .iter()
            .filter(|revision| revision.versions.is_some());
        let ends: Vec<_> = versioned.filter_map(Revision::recorded_ends).collect();
        let ((oldest, _), (_, newest)) = (ends.first()?, ends.last()?);
        let holes = ends
            .windows(2)
            .map(|pair| format!("between {} and {}", pair[0].1, pair[1].0));
        let unknown: Vec<String> = std::iter::once(format!("older than {oldest}"))
            .chain(holes)
            .collect();
        Some(vec![
            descriptor.harness_family.to_owned(),
            format!("newer than {newest}"),
            unknown.join("; "),
        ])
    });
    Table {
        headings: vec!["harness", "`ahead`", "`unknown`"],
        rows: rows.collect(),
    }
}

/// The adapters: ids, versions, and which harness versions they must not trust.
pub fn adapters(registry: &Registry) -> Table {
    let rows = registry.adapters().map(|registration| {
        let descriptor = registration.descriptor();
        let bad: Vec<&str> = descriptor
            .matrix
            .known_bad
            .iter()
            .map(|bad| bad.versions)
            .collect();
        vec![
            descriptor.adapter_id.to_owned(),
            descriptor.adapter_version.to_owned(),
            descriptor.harness_family.to_owned(),
            descriptor
                .matrix
                .revisions
                .iter()
                .map(|revision| revision.tested.len())
                .sum::<usize>()
                .to_string(),
            if bad.is_empty() {
                "none".to_owned()
            } else {
                bad.join("; ")
            },
        ]
    });
    Table {
        headings: vec![
            "adapter",
            "version",
            "harness",
            "versions tested",
            "known bad",
        ],
        rows: rows.collect(),
    }
}

/// Every known loss of one adapter: which kinds and revisions claim less because of it, and the fixture that shows it.
pub fn gaps(registration: &Registration) -> Table {
    let descriptor = registration.descriptor();
    let rows = descriptor.gaps.iter().map(|gap| {
        let has_gap =
            |coverage: &Coverage, kind: Kind| coverage.grade(kind).gaps().contains(&gap.code);
        let revisions = descriptor.matrix.revisions;
        let kinds = Kind::ALL.into_iter().filter(|kind| {
            revisions
                .iter()
                .any(|revision| has_gap(&revision.coverage, *kind))
        });
        let schemas = revisions.iter().filter(|revision| {
            Kind::ALL
                .into_iter()
                .any(|kind| has_gap(&revision.coverage, kind))
        });
        vec![
            format!("`{}`", gap.code),
            kinds.map(Kind::as_str).collect::<Vec<_>>().join(", "),
            schemas
                .map(|revision| revision.schema)
                .collect::<Vec<_>>()
                .join(", "),
            gap.reason.to_owned(),
            format!("`{}`", gap.fixture),
        ]
    });
    Table {
        headings: vec!["gap", "kinds", "schemas", "what is lost", "shown by"],
        rows: rows.collect(),
    }
}

/// Every rule by which one adapter leaves something out, as Markdown: a list for each sort of omission. A rule has the records and
/// members that it is for, each with the reason why nothing is lost.
pub fn omission_rules(registration: &Registration) -> String {
    let mut sorts: Vec<(String, Vec<RuleText>)> = Vec::new();
    for rule in registration.descriptor().omission_rules {
        let sort = format!("{:?}", rule.omission).to_lowercase();
        let rules = &mut entry(&mut sorts, sort).1;
        let reasons = &mut entry(rules, rule.rule).1;
        let place = match (rule.record, rule.pointer) {
            (record, None) => format!("`{record}`"),
            ("*", Some(pointer)) => format!("`{pointer}`"),
            (record, Some(pointer)) => format!("`{record}` `{pointer}`"),
        };
        entry(reasons, rule.reason).1.push(place);
    }
    let lists = sorts.iter().map(|(sort, rules)| {
        let rows: String = rules.iter().map(rule_row).collect();
        format!("**{sort}**\n\n{rows}")
    });
    lists.collect::<Vec<_>>().join("\n")
}

/// A rule, with the places of each of its reasons.
type RuleText = (&'static str, Vec<(&'static str, Vec<String>)>);

/// The entry of this key; a new one is at the end.
fn entry<K: PartialEq, V: Default>(list: &mut Vec<(K, V)>, key: K) -> &mut (K, V) {
    let at = list.iter().position(|(known, _)| *known == key);
    let at = at.unwrap_or_else(|| {
        list.push((key, V::default()));
        list.len() - 1
    });
    &mut list[at]
}

fn rule_row((rule, reasons): &RuleText) -> String {
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(reason, places)| format!("{} ({})", reason.trim_end_matches('.'), places.join(", ")))
        .collect();
    format!("- `{rule}`: {}\n", reasons.join("; "))
}

/// The tool names of one harness by kind. A name that ends with `*` means all names with that beginning.
pub fn tools(registration: &Registration) -> Table {
    let tools = registration.tools();
    let exact = tools
        .names
        .iter()
        .map(|(name, kind)| (format!("`{name}`"), kind));
    let families = tools
        .prefixes
        .iter()
        .map(|(prefix, kind)| (format!("`{prefix}*`"), kind));
    let infixes = tools
        .infixes
        .iter()
        .map(|(infix, kind)| (format!("`*{infix}*`"), kind));
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for (name, kind) in exact.chain(families).chain(infixes) {
        entry(&mut kinds, kind.as_str()).1.push(name);
    }
    let rows = kinds
        .into_iter()
        .map(|(kind, names)| vec![kind.to_owned(), names.join(", ")]);
    Table {
        headings: vec!["kind", "tools"],
        rows: rows.collect(),
    }
}

/// A claim in words: what is less than full. `partial: code.read, code.edit; none: span.link`.
pub fn claims(coverage: &Coverage) -> String {
    let of = |wanted: fn(Grade) -> bool| {
        Kind::ALL
            .into_iter()
            .filter(|kind| wanted(coverage.grade(*kind)))
            .map(Kind::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let lower = [
        ("partial", of(|grade| matches!(grade, Grade::Partial(_)))),
        ("none", of(|grade| grade == Grade::None)),
    ];
    let named = lower
        .into_iter()
        .filter(|(_, kinds)| !kinds.is_empty())
        .map(|(grade, kinds)| format!("{grade}: {kinds}"));
    Some(named.collect::<Vec<_>>().join("; "))
        .filter(|claims| !claims.is_empty())
        .unwrap_or_else(|| "full".to_owned())
}

/// A requirement as a person reads it: `>=1.0.0, <=1.2.0` is `1.0.0 to 1.2.0`.
fn versions(revision: &Revision) -> String {
    let Some(versions) = revision.versions else {
        return "not recorded".to_owned();
    };
    let bounds: Vec<&str> = versions.split(',').map(str::trim).collect();
    match bounds[..] {
        [one] if one.starts_with('=') => one.trim_start_matches('=').to_owned(),
        [low, high] if low.starts_with(">=") && high.starts_with("<=") => {
            format!("{} to {}", &low[2..], &high[2..])
        }
        _ => versions.to_owned(),
    }
}

fn tested(revision: &Revision) -> String {
    match revision.tested.len() {
        0 => "by structure".to_owned(),
        1 => "1 version".to_owned(),
        n => format!("{n} versions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table {
            headings: vec!["a", "long heading"],
            rows: vec![
                vec!["x|y".to_owned(), "é".to_owned()],
                vec!["longer".to_owned(), String::new()],
            ],
        }
    }

    #[test]
    fn markdown_keeps_its_columns_apart() {
        assert_eq!(
            table().markdown(),
            "| a | long heading |\n| --- | --- |\n| x\\|y | é |\n| longer |  |\n"
        );
    }

    #[test]
    fn text_is_aligned_and_has_no_trailing_blanks() {
        assert_eq!(table().text(), "a       long heading\nx|y     é\nlonger\n");
    }
}
