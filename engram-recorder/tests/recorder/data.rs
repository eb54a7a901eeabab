//! The data of the repository: scenarios, tables of tools, features, matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use engram_conformance::SCENARIOS;
use engram_recorder::harness::HARNESSES;
use engram_recorder::matrix::{Matrix, Outcome};
use engram_recorder::propose;
use engram_recorder::scenario::Scenario;
use engram_recorder::tools::OpTable;

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

pub fn scenarios() -> BTreeMap<String, Scenario> {
    Scenario::read_all(&repository().join("scenarios")).unwrap()
}

fn features() -> BTreeSet<String> {
    let text = std::fs::read_to_string(repository().join("scenarios/features.tsv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| line.split_once('\t').unwrap().0.to_owned())
        .collect()
}

#[test]
fn scenarios_show_exactly_the_features_of_the_table() {
    let shown: BTreeSet<String> = scenarios()
        .into_values()
        .flat_map(|scenario| scenario.shows)
        .collect();
    assert_eq!(shown, features());
}

#[test]
fn every_fact_of_the_kit_is_a_feature() {
    let features = features();
    assert!(!SCENARIOS.is_empty());
    for scenario in SCENARIOS {
        assert!(features.contains(scenario.name), "{}", scenario.name);
    }
}

#[test]
fn every_harness_has_core_scenarios_and_a_table_for_their_ops() {
    let all = scenarios();
    for harness in HARNESSES {
        let path = repository().join(format!("scenarios/ops/{}.json", harness.origin()));
        OpTable::read(&path).unwrap();
        let table: BTreeMap<String, serde_json::Value> =
            serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let core: Vec<&Scenario> = all
            .values()
            .filter(|scenario| scenario.core && scenario.is_for(harness.family()))
            .collect();
        assert!(core.len() >= 7, "{}: {}", harness.family(), core.len());
        // A scenario for this harness alone has only ops that it can have.
        for scenario in all
            .values()
            .filter(|scenario| scenario.only.iter().eq([harness.family()]))
        {
            for op in scenario
                .threads
                .values()
                .flatten()
                .flatten()
                .filter(|op| op.is_call() && op.name != "raw")
            {
                assert!(
                    table.contains_key(&op.name),
                    "{}: {} has no tool for `{}`",
                    scenario.id,
                    harness.family(),
                    op.name
                );
            }
        }
    }
}

#[test]
fn every_op_of_a_scenario_is_in_a_table() {
    let mut known: BTreeSet<String> = ["raw".to_owned()].into();
    for harness in HARNESSES {
        let text = std::fs::read_to_string(
            repository().join(format!("scenarios/ops/{}.json", harness.origin())),
        )
        .unwrap();
        known.extend(
            serde_json::from_str::<BTreeMap<String, serde_json::Value>>(&text)
                .unwrap()
                .into_keys(),
        );
    }
    for scenario in scenarios().into_values() {
        for op in scenario
            .threads
            .values()
            .flatten()
            .flatten()
            .filter(|op| op.is_call())
        {
            assert!(
                known.contains(&op.name),
                "{}: unknown op `{}`",
                scenario.id,
                op.name
            );
        }
    }
}

#[test]
fn matrix_has_a_line_for_many_versions_and_a_reason_for_each_that_failed() {
    for harness in HARNESSES {
        let matrix =
            Matrix::read(&repository().join(format!("matrix/{}.tsv", harness.family()))).unwrap();
        assert!(
            matrix.0.len() >= 10,
            "{}: {}",
            harness.family(),
            matrix.0.len()
        );
        for (version, row) in &matrix.0 {
            assert!(!row.published.is_empty(), "{version}");
            match row.outcome {
                Outcome::Unrun => assert!(row.shape.is_empty(), "{version}"),
                Outcome::Unrecordable => assert!(!row.why.is_empty(), "{version}"),
                Outcome::Broken => {
                    assert!(!row.why.is_empty() && !row.shape.is_empty(), "{version}")
                }
                Outcome::Additive | Outcome::Earned => assert!(
                    row.checks.ends_with("/0") && !row.digest.is_empty(),
                    "{version}"
                ),
            }
        }
    }
}

#[test]
fn adapters_list_the_versions_that_the_matrix_proves() {
    let mut compared = 0;
    for harness in HARNESSES.iter().map(|harness| harness.family()) {
        let path = repository().join(propose::source(harness));
        let Ok(listed) = std::fs::read_to_string(&path) else {
            continue;
        };
        let matrix = Matrix::read(&repository().join(format!("matrix/{harness}.tsv"))).unwrap();
        let expected = propose::swept(harness, &matrix);
        if std::env::var_os("ENGRAM_BLESS").is_some() {
            std::fs::write(&path, &expected).unwrap();
        } else {
            assert!(
                listed == expected,
                "{harness}: `engram-lab matrix propose | git apply` makes its list"
            );
        }
        compared += 1;
    }
    assert_eq!(compared, 6, "the harnesses whose logs have a version");
}
