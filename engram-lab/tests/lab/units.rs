//! `engram-lab units`: what can be converted alone.

use super::*;

#[test]
fn a_session_with_its_sub_agents_is_a_unit_and_so_is_a_session_of_a_store() {
    let (claude, store) = (
        fixture("claude-code/2.1.280/c_subagent"),
        fixture("opencode/1.18.34/sub"),
    );
    let listed = run(&["units", text(&claude), text(&store), "--json"]);
    assert_eq!(code(&listed), 0, "{}", stderr(&listed));
    let units: Vec<Value> = String::from_utf8(listed.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |harness: &'static str| units.iter().filter(move |unit| unit["harness"] == harness);
    let with_agents = of("claude-code").next().unwrap();
    assert!(
        with_agents["paths"].as_array().unwrap().len() > 1
            && with_agents["bytes"].as_u64().unwrap() > 0,
        "{with_agents}"
    );
    assert!(of("opencode").all(|unit| unit["in_store"] == true) && of("opencode").count() > 1);
}

#[test]
fn a_directory_without_a_session_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(code(&run(&["units", text(directory.path())])), 3);
}
