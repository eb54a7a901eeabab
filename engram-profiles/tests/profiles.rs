//! The shipped profiles, and profiles that are broken on purpose.

use std::fs;
use std::path::Path;

use boon::{Compiler, Schemas};
use engram_profiles::profile::{Expected, Profile, Tier};
use engram_profiles::registry;
use engram_profiles::schema::{SCHEMA_ID, json_schema};
use engram_profiles::template::Values;
use engram_profiles::{ProfileHash, canonical};
use serde_json::{Value, json};

/// `ENGRAM_BLESS=1` writes the file.
#[test]
fn hashes_are_those_of_the_files() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("profiles");
    let mut names: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    names.sort();
    let line = |path: &Path| {
        format!(
            "{}\t{}\n",
            path.file_stem().unwrap().to_string_lossy(),
            ProfileHash::of(&fs::read(path).unwrap())
        )
    };
    let hashes: String = names.iter().map(|path| line(path)).collect();
    let file = directory.join("hashes.tsv");
    if std::env::var_os("ENGRAM_BLESS").is_some() {
        fs::write(&file, &hashes).unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap(), hashes);
    assert_eq!(registry::all().count(), names.len());
}

#[test]
fn change_of_any_byte_is_refused() {
    for shipped in registry::all() {
        let mut bytes = shipped.canonical.as_bytes().to_vec();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x20] {
                bytes[at] ^= flip;
                assert!(
                    registry::checked(&bytes, &shipped.hash).is_err(),
                    "{}: byte {at}",
                    shipped.profile.profile_id
                );
                bytes[at] ^= flip;
            }
        }
        assert!(registry::checked(&bytes[1..], &shipped.hash).is_err());
        assert!(registry::checked(&[&bytes[..], b"\n"].concat(), &shipped.hash).is_err());
        assert!(registry::checked(&bytes, &shipped.hash).is_ok());
    }
}

#[test]
fn shipped_profile_is_read_and_written_alike() {
    for shipped in registry::all() {
        assert_eq!(
            canonical::to_vec(&shipped.profile).unwrap(),
            shipped.canonical.as_bytes(),
            "{}",
            shipped.profile.profile_id
        );
    }
}

fn shipped(id: &str) -> &'static registry::Shipped {
    registry::all()
        .find(|shipped| shipped.profile.profile_id == id)
        .unwrap()
}

/// A broken profile: what is put where, and where the error is.
struct Broken {
    place: &'static str,
    value: Value,
    pointer: &'static str,
    /// Whether the JSON Schema refuses it too.
    by_schema: bool,
}

fn broken(place: &'static str, value: Value, pointer: &'static str) -> Broken {
    Broken {
        place,
        value,
        pointer,
        by_schema: true,
    }
}

/// Broken in a way that only the rules of the code see.
fn beyond_schema(place: &'static str, value: Value, pointer: &'static str) -> Broken {
    Broken {
        by_schema: false,
        ..broken(place, value, pointer)
    }
}

fn all_broken() -> Vec<Broken> {
    vec![
        broken(
            "/schema",
            json!("engram.agent_adapter_profile/2"),
            "/schema",
        ),
        broken("/profile_id", json!("Claude"), "/profile_id"),
        broken("/harness", json!("vim"), "/harness"),
        broken("/adapter_mode", json!("open"), "/adapter_mode"),
        broken("/command", json!("/usr/bin/codex"), "/command"),
        broken("/command", json!("sh -c codex"), "/command"),
        broken(
            "/args_template",
            json!(vec!["{prompt}"; 257]),
            "/args_template",
        ),
        beyond_schema(
            "/args_template/0",
            json!("x".repeat(4097)),
            "/args_template/0",
        ),
        beyond_schema(
            "/args_template/0",
            json!("say {prompt}"),
            "/args_template/0",
        ),
        beyond_schema("/args_template/0", json!("{unknown}"), "/args_template/0"),
        beyond_schema("/args_template", json!(["{permission}"]), "/args_template"),
        beyond_schema("/args_template", json!(["{prompt}"]), "/args_template"),
        beyond_schema(
            "/args_template",
            json!(["{permission}", "{prompt}", "{prompt_file}"]),
            "/args_template",
        ),
        beyond_schema("/env_template/0/0", json!("lower"), "/env_template/0/0"),
        beyond_schema("/env_template/0/1", json!("{cwd}"), "/env_template/0/1"),
        beyond_schema(
            "/env_template",
            json!([["B", ""], ["A", ""]]),
            "/env_template",
        ),
        beyond_schema(
            "/env_template",
            json!([["A", ""], ["A", ""]]),
            "/env_template",
        ),
        broken(
            "/files_template/0/path",
            json!("/etc/passwd"),
            "/files_template/0/path",
        ),
        beyond_schema(
            "/files_template/0/path",
            json!("{home}/../x"),
            "/files_template/0/path",
        ),
        beyond_schema(
            "/files_template/0/text",
            json!("x".repeat(65537)),
            "/files_template/0/text",
        ),
        broken("/cwd", json!("/tmp"), "/cwd"),
        broken("/requires_pty", json!("no"), "/requires_pty"),
        broken("/input_mode", json!("pipe"), "/input_mode"),
        broken("/output_mode", json!("xml"), "/output_mode"),
        broken(
            "/permission_mode_map/0/tier",
            json!("root"),
            "/permission_mode_map/0/tier",
        ),
        beyond_schema("/permission_mode_map", json!([]), "/permission_mode_map"),
        beyond_schema(
            "/permission_mode_map",
            json!([{"tier": "full", "flags": []}, {"tier": "observe", "flags": []}]),
            "/permission_mode_map",
        ),
        broken(
            "/tool_bridge/protocol",
            json!("TI2"),
            "/tool_bridge/protocol",
        ),
        broken(
            "/tool_bridge/max_line_bytes",
            json!((1 << 20) + 1),
            "/tool_bridge/max_line_bytes",
        ),
        broken(
            "/tool_bridge/max_requests",
            json!(0),
            "/tool_bridge/max_requests",
        ),
        beyond_schema(
            "/tool_bridge/max_args_bytes",
            json!(262_144),
            "/tool_bridge/max_args_bytes",
        ),
        broken(
            "/capability_map/0/tool_class",
            json!("destroy"),
            "/capability_map/0/tool_class",
        ),
        broken(
            "/capability_map/0/intent",
            json!("Read"),
            "/capability_map/0/intent",
        ),
        beyond_schema("/capability_map/0/intent", json!("zzz"), "/capability_map"),
        beyond_schema(
            "/native_tools/allowed",
            json!(["b", "a"]),
            "/native_tools/allowed",
        ),
        broken(
            "/native_tools/allowed",
            json!([""]),
            "/native_tools/allowed",
        ),
        beyond_schema(
            "/version_probe/regex",
            json!("(?P<version>"),
            "/version_probe/regex",
        ),
        beyond_schema(
            "/version_probe/regex",
            json!("([0-9]+)"),
            "/version_probe/regex",
        ),
        broken(
            "/version_probe/expect",
            json!(">=1"),
            "/version_probe/expect",
        ),
        broken(
            "/version_probe/expect",
            json!("~1"),
            "/version_probe/expect",
        ),
        broken(
            "/version_probe/expect",
            json!(">=1.2"),
            "/version_probe/expect",
        ),
        beyond_schema(
            "/version_probe/expect",
            json!(">=1.2, <1.2"),
            "/version_probe/expect",
        ),
        beyond_schema("/adapter_mode", json!("structured_output"), "/tool_bridge"),
        beyond_schema("/adapter_mode", json!("mcp_bridge"), "/tool_bridge"),
        beyond_schema("/adapter_mode", json!("hooked_vendor"), "/tool_bridge"),
        broken(
            "/health_checks/stall_ms",
            json!(0),
            "/health_checks/stall_ms",
        ),
        broken(
            "/budget_defaults/tokens",
            json!(-1),
            "/budget_defaults/tokens",
        ),
        broken(
            "/budget_defaults/tokens",
            json!(1.5),
            "/budget_defaults/tokens",
        ),
        broken(
            "/evidence_policy/requests",
            json!("all"),
            "/evidence_policy/requests",
        ),
        broken(
            "/evidence_policy/max_bytes",
            Value::Null,
            "/evidence_policy/max_bytes",
        ),
        broken(
            "/tool_bridge/max_result_bytes",
            json!((16 << 20) + 1),
            "/tool_bridge/max_result_bytes",
        ),
        broken(
            "/tool_bridge/tool_timeout_ms",
            json!(86_400_001),
            "/tool_bridge/tool_timeout_ms",
        ),
        broken(
            "/health_checks/start_ms",
            json!(86_400_001),
            "/health_checks/start_ms",
        ),
        broken(
            "/health_checks/stall_ms",
            json!(86_400_001),
            "/health_checks/stall_ms",
        ),
        broken(
            "/health_checks/stop_grace_ms",
            json!(60_001),
            "/health_checks/stop_grace_ms",
        ),
        broken(
            "/budget_defaults/wall_clock_ms",
            json!(9_007_199_254_740_991_u64),
            "/budget_defaults/wall_clock_ms",
        ),
        broken(
            "/budget_defaults/evidence_bytes",
            json!((256 << 20) + 1),
            "/budget_defaults/evidence_bytes",
        ),
        broken(
            "/evidence_policy/max_bytes",
            json!((256 << 20) + 1),
            "/evidence_policy/max_bytes",
        ),
        beyond_schema(
            "/version_probe/regex",
            json!("(?P<version>(x{90}){90})"),
            "/version_probe/regex",
        ),
        broken("/native_tools/more", json!(1), "/native_tools/more"),
        broken("/more", json!(1), "/more"),
    ]
}

/// Puts a value at a place, also at a member that is not there.
fn put(profile: &mut Value, place: &str, value: Value) {
    let (parent, name) = place.rsplit_once('/').unwrap();
    let parent = profile.pointer_mut(parent).unwrap();
    match parent {
        Value::Object(members) => drop(members.insert(name.to_owned(), value)),
        other => other[name.parse::<usize>().unwrap()] = value,
    }
}

/// The bytes of a value in canonical form, also of values that a profile cannot have.
fn bytes(value: &Value) -> Vec<u8> {
    canonical::to_vec(value).unwrap()
}

#[test]
fn broken_profile_is_refused_at_its_place() {
    let sound: Value = serde_json::from_str(shipped("codex-cli-black-box").canonical).unwrap();
    for Broken {
        place,
        value,
        pointer,
        ..
    } in all_broken()
    {
        let mut profile = sound.clone();
        let shown = value.to_string();
        put(&mut profile, place, value);
        let error = Profile::parse(&bytes(&profile)).unwrap_err();
        let shown = &shown[..shown.len().min(60)];
        assert_eq!(
            (error.fault.code(), error.pointer.as_str()),
            ("profile_invalid", pointer),
            "{place} {shown}: {error}"
        );
    }
    let mut profile = sound;
    profile.as_object_mut().unwrap().remove("tool_bridge");
    assert_eq!(
        Profile::parse(&bytes(&profile)).unwrap_err().pointer,
        "/tool_bridge"
    );
    profile.as_object_mut().unwrap().remove("command");
    assert!(
        Profile::parse(&bytes(&profile))
            .unwrap_err()
            .what
            .contains("`command`")
    );
}

/// An independent validator reads the JSON Schema as others do.
#[test]
fn schema_accepts_what_is_shipped_and_refuses_what_is_broken() {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler
        .add_resource(SCHEMA_ID, serde_json::from_str(&json_schema()).unwrap())
        .unwrap();
    let index = compiler.compile(SCHEMA_ID, &mut schemas).unwrap();
    for shipped in registry::all() {
        let profile = serde_json::from_str(shipped.canonical).unwrap();
        assert!(
            schemas.validate(&profile, index).is_ok(),
            "{}",
            shipped.profile.profile_id
        );
    }
    let sound: Value = serde_json::from_str(shipped("codex-cli-black-box").canonical).unwrap();
    for Broken {
        place,
        value,
        by_schema,
        ..
    } in all_broken()
    {
        let mut profile = sound.clone();
        let shown = value.to_string();
        put(&mut profile, place, value);
        assert_eq!(
            schemas.validate(&profile, index).is_err(),
            by_schema,
            "{place} {}",
            &shown[..shown.len().min(60)]
        );
    }
}

#[test]
fn command_line_is_what_the_template_says() {
    let codex = &shipped("codex-cli-black-box").profile;
    let values = Values {
        prompt: Some("do {model}"),
        home: "/h",
        api_key: "key",
        base_url: "http://127.0.0.1:1",
        path: "/bin",
        ..Values::default()
    };
    let args = codex.args(&values, Tier::Observe).unwrap();
    assert_eq!(
        args[..5],
        ["exec", "--ephemeral", "--ignore-rules", "-s", "read-only"]
    );
    assert_eq!(
        args.last().unwrap(),
        "do {model}",
        "a prompt is not a template"
    );
    assert_eq!(
        codex.args(&values, Tier::Full).unwrap_err().pointer,
        "/permission_mode_map"
    );
    assert_eq!(codex.env(&values)["CODEX_HOME"], "/h/.codex");
    assert!(
        codex.files(&values)[0]
            .1
            .contains("base_url = \"http://127.0.0.1:1/v1\"")
    );
    let without = codex
        .args(
            &Values {
                prompt: None,
                ..values
            },
            Tier::Observe,
        )
        .unwrap_err();
    assert_eq!(without.pointer, "/args_template/11");
}

#[test]
fn version_is_found_and_compared_by_its_first_two_numbers() {
    let probed = |id: &str, printed: &str| {
        shipped(id)
            .profile
            .probed(printed)
            .map(|(version, expected)| (version.to_owned(), expected))
    };
    assert_eq!(
        probed("claude-code-record", "2.1.330 (Claude Code)\n"),
        Some(("2.1.330".to_owned(), Expected::Yes))
    );
    assert_eq!(
        probed("claude-code-record", "2.2.0 (Claude Code)\n"),
        Some(("2.2.0".to_owned(), Expected::No))
    );
    assert_eq!(
        probed("codex-cli-record", "codex-cli 0.169.0\n"),
        Some(("0.169.0".to_owned(), Expected::Yes))
    );
    let codex = &shipped("codex-cli-record").profile.version_probe;
    for (version, expected) in [
        ("0.168.9", Expected::No),
        ("0.169.0", Expected::Yes),
        ("0.171.3", Expected::Yes),
        ("0.172.0", Expected::No),
        ("1.170.0", Expected::No),
    ] {
        assert_eq!(codex.expects(version), expected, "{version}");
    }
    assert_eq!(
        probed("cursor-hooked", "2026.10.01-e373342\n"),
        Some(("2026.10.01".to_owned(), Expected::Yes))
    );
    assert_eq!(probed("gemini-cli-record", "command not found"), None);
    // A version is a word, not whatever a pattern lets through.
    let mut any = shipped("codex-cli-record").profile.clone();
    any.version_probe.regex = "(?P<version>(?s).+)".to_owned();
    for printed in [
        format!("0.169.{}", "0".repeat(90)),
        "0.169.0\u{1b}[2J".to_owned(),
        "0.169.0 x".to_owned(),
    ] {
        assert_eq!(any.probed(&printed), None, "{printed:?}");
    }
}
