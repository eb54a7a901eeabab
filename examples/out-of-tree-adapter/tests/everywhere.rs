//! One line adds a harness: the registry, the list of homes, the fuzz targets and the tables of the documents have it then.

use std::path::PathBuf;

use engram_adapters::homes::{Surroundings, System, homes};
use engram_adapters::{Registry, tables};
use goose_adapter::REGISTRATION;

/// Where the harness is, over the adapters of a registry: a place each.
fn places(registry: &Registry) -> Vec<&'static str> {
    let variable = |name: &str| (name == "HOME").then(|| "/h".into());
    let home = PathBuf::from("/h/.local/share/goose");
    let homes = homes(
        registry,
        &Surroundings {
            system: System::Linux,
            variable: &variable,
        },
    );
    let targets = engram_fuzz::targets::all(registry);
    [
        ("registry", registry.by_id("goose").is_ok()),
        (
            "homes",
            homes
                .iter()
                .any(|found| (found.harness, &found.path) == ("goose", &home)),
        ),
        (
            "fuzz targets",
            targets.iter().any(|target| target.name() == "goose"),
        ),
        (
            "list of adapters",
            tables::adapters(registry).text().contains("goose"),
        ),
        (
            "table of versions",
            tables::support(registry).markdown().contains("goose"),
        ),
    ]
    .into_iter()
    .filter_map(|(place, has_it)| has_it.then_some(place))
    .collect()
}

#[test]
fn one_line_adds_a_harness_everywhere() {
    assert_eq!(
        places(&Registry::builtin()),
        [""; 0],
        "without the line it is nowhere"
    );
    let with_goose = Registry::builtin().with(&REGISTRATION);
    assert_eq!(
        places(&with_goose),
        [
            "registry",
            "homes",
            "fuzz targets",
            "list of adapters",
            "table of versions"
        ]
    );
}
