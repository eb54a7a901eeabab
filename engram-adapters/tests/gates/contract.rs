//! The contract as files: descriptors, coverage claims, error codes and the tables in the documents, generated from the registry.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use engram_adapters::tables;
use engram_core::descriptor::AdapterDescriptor;
use engram_core::error::ErrorCode;
use engram_core::event::Kind;

use crate::bless;
use crate::conformance::fixture_report;
use crate::report;
use crate::snapshots::compare_contract;
use crate::tree::{files, registered, root};

/// Begins a generated part of a document. The part's name and ` -->` follow.
const BEGIN: &str = "<!-- generated: ";
/// Ends a generated part.
const END: &str = "<!-- end generated -->";

fn descriptors() -> Vec<AdapterDescriptor> {
    registered()
        .adapters()
        .map(|entry| entry.descriptor())
        .collect()
}

/// One claim per line: adapter, schema, kind, grade, gaps.
fn coverage_lines() -> String {
    let mut text = String::new();
    for descriptor in descriptors() {
        for revision in descriptor.matrix.revisions {
            for kind in Kind::ALL {
                let grade = revision.coverage.grade(kind);
                let gaps = grade.gaps().join(" ");
                let _ = writeln!(
                    text,
                    "{}",
                    format!(
                        "{} {} {} {} {gaps}",
                        descriptor.adapter_id,
                        revision.schema,
                        kind.as_str(),
                        grade.as_str()
                    )
                    .trim_end()
                );
            }
        }
    }
    text
}

fn error_lines() -> String {
    ErrorCode::ALL.iter().fold(String::new(), |mut text, code| {
        let _ = writeln!(text, "{}: {}", code.as_str(), code.explain_strict());
        text
    })
}

/// The text of a generated part, by its name.
fn generated(name: &str) -> Option<String> {
    let entry = |id: &str| registered().adapters().find(|entry| entry.id() == id);
    match name.split_once(' ') {
        None if name == "support" => Some(tables::support(registered()).markdown()),
        None if name == "outside-versions" => {
            Some(tables::outside_versions(registered()).markdown())
        }
        None if name == "features" => Some(crate::features::recorded()),
        None if name == "checks" => Some(engram_conformance::tables::checks()),
        None if name == "scenarios" => Some(engram_conformance::tables::scenarios()),
        None if name == "contract-tests" => Some(engram_conformance::tables::seed_matrix()),
        None if name == "conformance" => Some(engram_conformance::tables::matrix(fixture_report())),
        None if name == "example-size" => example_size(),
        None if name == "adapters" => Some(tables::adapters(registered()).markdown()),
        Some(("gaps", id)) => Some(tables::gaps(entry(id)?).markdown()),
        Some(("omission-rules", id)) => Some(tables::omission_rules(entry(id)?)),
        Some(("file", path)) => example_file(path),
        Some(("tools", id)) => Some(tables::tools(entry(id)?).markdown()),
        _ => None,
    }
}

/// The example of an adapter outside of this repository.
fn example() -> PathBuf {
    root().join("examples/out-of-tree-adapter")
}

/// A file of the example as a code block.
fn example_file(path: &str) -> Option<String> {
    let text = fs::read_to_string(example().join(path)).ok()?;
    Some(format!("```rust\n{text}```\n"))
}

/// The size of the example in files and lines.
fn example_size() -> Option<String> {
    let lines = |path: &Path| {
        fs::read_to_string(path)
            .map(|text| text.lines().count())
            .unwrap_or_default()
    };
    let source = files(&example().join("src"));
    let (all, tests) = (
        source.iter().map(|path| lines(path)).sum::<usize>(),
        lines(&example().join("tests/conformance.rs")),
    );
    Some(format!(
        "It took {} files with {all} lines, and one test file with {tests}.\n",
        source.len()
    ))
}

/// A document with its generated parts rewritten, or an error in its marks.
fn regenerated(text: &str) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(BEGIN) {
        let (before, from) = rest.split_at(at);
        let (mark, after) = from
            .split_once("-->\n")
            .ok_or("a mark does not end its line")?;
        let (_, following) = after
            .split_once(END)
            .ok_or_else(|| format!("`{mark}` has no end"))?;
        let name = mark[BEGIN.len()..].trim();
        let part = generated(name).ok_or_else(|| format!("nothing generates `{name}`"))?;
        let _ = write!(out, "{before}{mark}-->\n\n{part}\n{END}");
        rest = following;
    }
    Ok(out + rest)
}

/// The findings for a document that must contain these generated parts.
fn document(path: &Path, parts: &[String]) -> Vec<String> {
    let Ok(text) = fs::read_to_string(path) else {
        return vec![format!("{} is missing", path.display())];
    };
    let missing = parts
        .iter()
        .filter(|part| !text.contains(&format!("{BEGIN}{part} -->")));
    let mut findings: Vec<String> = missing
        .map(|part| format!("{} has no generated part `{part}`", path.display()))
        .collect();
    match regenerated(&text) {
        Ok(expected) => findings.extend(bless::compare(path, &expected)),
        Err(error) => findings.push(format!("{}: {error}", path.display())),
    }
    findings
}

#[test]
fn contract_equals_its_snapshots() {
    let json = serde_json::to_string_pretty(&descriptors()).expect("descriptors serialize") + "\n";
    let kept = [
        ("descriptors", json),
        ("coverage", coverage_lines()),
        ("errors", error_lines()),
    ];
    let findings: Vec<String> = kept
        .iter()
        .filter_map(|(name, text)| compare_contract(name, text))
        .collect();
    report::assert_none("contract", &findings);
}

#[test]
fn generated_documents_equal_the_registry() {
    let mut findings = document(
        &root().join("docs/support.md"),
        &["support", "outside-versions", "features"].map(str::to_owned),
    );
    let parts = ["conformance", "checks", "scenarios", "contract-tests"].map(str::to_owned);
    findings.extend(document(&root().join("docs/conformance.md"), &parts));
    let parts = ["lib", "tools", "dispatch"].map(|name| format!("file src/{name}.rs"));
    findings.extend(document(&root().join("docs/adding-a-harness.md"), &parts));
    let ids: Vec<&str> = registered().adapters().map(|entry| entry.id()).collect();
    findings.extend(document(
        &root().join("docs/gaps.md"),
        &ids.iter()
            .map(|id| format!("gaps {id}"))
            .collect::<Vec<_>>(),
    ));
    for id in ids {
        let parts = ["tools", "omission-rules"].map(|part| format!("{part} {id}"));
        findings.extend(document(
            &root().join(format!("docs/adapters/{id}.md")),
            &parts,
        ));
    }
    report::assert_none("documents", &findings);
}

#[test]
fn descriptors_have_the_required_field_names() {
    let names = [
        "adapter_id",
        "adapter_version",
        "harness_family",
        "supported_versions",
        "schema_detection_strategy",
        "coverage",
        "unknown_version_policy",
        "known_bad_versions",
        "gaps",
        "omission_rules",
    ];
    for descriptor in descriptors() {
        let json = serde_json::to_value(descriptor).expect("descriptors serialize");
        let missing: Vec<&str> = names
            .into_iter()
            .filter(|name| json.get(name).is_none())
            .collect();
        assert!(missing.is_empty(), "{}: {missing:?}", descriptor.adapter_id);
        let kinds: Vec<&String> = json["coverage"]
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys())
            .collect();
        assert_eq!(kinds.len(), Kind::ALL.len(), "{}", descriptor.adapter_id);
    }
}

#[test]
fn stale_or_unknown_part_is_a_finding() {
    let stale = format!("# Title\n\n{BEGIN}support -->\nold\n{END}\nend\n");
    let fresh = regenerated(&stale).expect("the part is known");
    assert!(
        fresh.starts_with("# Title\n")
            && fresh.ends_with("end\n")
            && !fresh.contains("old")
            && fresh.contains("| claude-code |")
    );
    assert_eq!(regenerated(&fresh).as_deref(), Ok(fresh.as_str()));
    assert!(regenerated(&format!("{BEGIN}nonsense -->\n{END}")).is_err());
    assert!(regenerated(&format!("{BEGIN}support -->\n")).is_err());
    assert!(document(Path::new("no/such/file.md"), &[])[0].contains("missing"));
}
