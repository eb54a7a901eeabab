//! A ledger that is whole, and ledgers that are broken on purpose.

use engram_profiles::ProfileHash;
use engram_profiles::episode::{Decision, EndStatus, Ids, ToolStatus};
use engram_profiles::ledger::{self, Entry, FIRST, Ledger, Line};
use engram_profiles::profile::Tier;
use engram_profiles::receipt::{
    Blocked, Decided, Egress, Ended, ExecutionEnv, Mounts, Permission, PolicySnapshot, Requested,
    SandboxSummary, Started, ToolReceipt, ToolStart,
};

fn ids() -> Ids {
    Ids {
        work_id: "w1".into(),
        episode_id: "e1".into(),
        session_id: "s1".into(),
        adapter_profile_hash: ProfileHash::of(b"{}"),
    }
}

fn hash(of: &str) -> String {
    engram_profiles::hash::of_bytes(of.as_bytes())
}

fn started() -> Entry {
    Entry::EpisodeStarted(Started {
        harness: "local-inference".into(),
        version: "0.1.0".into(),
        nonce_hash: hash("nonce"),
    })
}

fn requested(id: &str) -> Entry {
    Entry::ToolRequested(Requested {
        request_id: id.into(),
        tool: "read".into(),
        args_hash: hash("args"),
    })
}

fn decided(id: &str, decision: Decision) -> Entry {
    let reason = (decision == Decision::Deny).then(|| "NOT_ALLOWED".to_owned());
    Entry::ToolDecided(Decided {
        request_id: id.into(),
        decision,
        reason,
        policy_snapshot: policy(),
    })
}

fn policy() -> PolicySnapshot {
    PolicySnapshot {
        tier: Tier::Edit,
        tool_class: "read".into(),
        calls_left: 3,
    }
}

fn start(id: &str) -> ToolStart {
    ToolStart {
        request_id: id.into(),
        executed_by: "engram-driver/0.1.0".into(),
        execution_env: ExecutionEnv {
            os: "linux".into(),
            mounts: Mounts::Private,
        },
        sandbox: SandboxSummary {
            root: "{sandbox}".into(),
            writes: Permission::Allowed,
            egress: Egress::Refused,
        },
    }
}

fn receipt(id: &str) -> ToolReceipt {
    let ToolStart {
        executed_by,
        execution_env,
        sandbox,
        ..
    } = start(id);
    ToolReceipt {
        executed_by,
        execution_env,
        sandbox,
        request_id: id.into(),
        tool: "read".into(),
        tool_class: "read".into(),
        args_hash: hash("args"),
        decision: Decision::Allow,
        result_hash: hash("result"),
        result_bytes: 6,
        status: ToolStatus::Ok,
        duration_ms: Some(3),
    }
}

fn ended() -> Entry {
    Entry::EpisodeEnded(Ended {
        status: EndStatus::Completed,
        log_hash: hash("log"),
        tool_log_index_hash: hash("index"),
        run_hash: hash("run"),
    })
}

fn sound() -> Vec<Entry> {
    vec![
        started(),
        requested("r1"),
        decided("r1", Decision::Allow),
        Entry::ToolStarted(start("r1")),
        Entry::ToolExecuted(receipt("r1")),
        requested("r2"),
        decided("r2", Decision::Deny),
        ended(),
    ]
}

fn written(entries: Vec<Entry>) -> String {
    let mut ledger = Ledger::new(ids());
    entries
        .into_iter()
        .map(|entry| {
            ledger
                .line(Some("2026-11-27T10:00:00.000Z"), entry)
                .unwrap()
        })
        .collect()
}

#[test]
fn whole_ledger_is_read_as_it_is_written() {
    let text = written(sound());
    let lines = ledger::verify(text.as_bytes()).unwrap();
    assert_eq!(
        lines
            .iter()
            .map(|line| line.entry.clone())
            .collect::<Vec<Entry>>(),
        sound()
    );
    assert_eq!(lines[0].prev, FIRST);
    let index = ledger::index(&lines).unwrap();
    let places: Vec<_> = index
        .entries
        .iter()
        .map(|entry| {
            (
                entry.request_id.as_str(),
                entry.intent_seq,
                entry.result_seq,
            )
        })
        .collect();
    assert_eq!(places, [("r1", 1, 4), ("r2", 5, 6)]);
}

#[test]
fn ledger_goes_on_where_it_stopped() {
    let mut text = written(sound()[..3].to_vec());
    let mut ledger = Ledger::resume(text.as_bytes()).unwrap();
    for entry in &sound()[3..] {
        text.push_str(
            &ledger
                .line(Some("2026-11-27T10:00:00.000Z"), entry.clone())
                .unwrap(),
        );
    }
    assert_eq!(text, written(sound()));
    assert!(Ledger::resume(b"").is_err() && Ledger::resume(b"{}\n").is_err());
}

#[test]
fn change_of_any_byte_is_refused() {
    let mut bytes = written(sound()).into_bytes();
    let last = bytes.iter().rposition(|byte| *byte == b'{').unwrap();
    for at in 0..bytes.len() {
        bytes[at] ^= 1;
        let refused = ledger::verify(&bytes).is_err();
        // Nothing chains to the last line yet, so its texts can be others; a review receipt closes it.
        assert!(refused || at > last, "byte {at} of {}", bytes.len());
        bytes[at] ^= 1;
    }
}

fn refused(entries: Vec<Entry>) -> String {
    ledger::verify(written(entries).as_bytes())
        .unwrap_err()
        .to_string()
}

#[test]
fn order_that_no_episode_has_is_refused() {
    assert!(refused(vec![requested("r1")]).contains("line 1: it cannot follow"));
    assert!(
        refused(vec![started(), ended(), requested("r1")]).contains("line 3: it cannot follow")
    );
    assert!(refused(vec![started(), requested("r1"), requested("r1")]).contains("twice"));
    assert!(refused(vec![started(), decided("r1", Decision::Allow)]).contains("no open request"));
    assert!(
        refused(vec![
            started(),
            requested("r1"),
            Entry::ToolStarted(start("r1"))
        ])
        .contains("no allowed request")
    );
    assert!(
        refused(vec![
            started(),
            requested("r1"),
            decided("r1", Decision::Allow),
            Entry::ToolExecuted(receipt("r1"))
        ])
        .contains("no request that was started"),
        "an end without a start"
    );
    let denied = |reason: Option<&str>| {
        Entry::ToolDecided(Decided {
            request_id: "r1".into(),
            decision: Decision::Deny,
            reason: reason.map(str::to_owned),
            policy_snapshot: policy(),
        })
    };
    assert!(refused(vec![started(), requested("r1"), denied(None)]).contains("has a reason"));
    let runs = Entry::ToolStarted(start("r1"));
    assert!(
        refused(vec![started(), requested("r1"), denied(Some("NO")), runs])
            .contains("no allowed request"),
        "denied, and it ran"
    );
    let other_tool = ToolReceipt {
        tool: "write".into(),
        ..receipt("r1")
    };
    let other_hand = ToolReceipt {
        executed_by: "agent".into(),
        ..receipt("r1")
    };
    for (receipt, word) in [
        (other_tool, "not that of the request"),
        (other_hand, "not that of the start"),
    ] {
        let said = refused(vec![
            started(),
            requested("r1"),
            decided("r1", Decision::Allow),
            Entry::ToolStarted(start("r1")),
            Entry::ToolExecuted(receipt),
        ]);
        assert!(said.contains(word), "{said}");
    }
    assert!(ledger::verify(b"").is_err());
}

#[test]
fn episode_that_could_not_go_on_says_why() {
    let blocked = Entry::ReviewBlockedRecorded(Blocked {
        reason: "ADAPTER_MISCONFIGURED/version".into(),
    });
    assert_eq!(
        ledger::verify(written(vec![started(), blocked.clone()]).as_bytes())
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        ledger::verify(written(vec![blocked.clone()]).as_bytes())
            .unwrap()
            .len(),
        1,
        "it could not even begin"
    );
    assert!(refused(vec![blocked, started()]).contains("line 2"));
}

#[test]
fn line_of_another_episode_or_with_more_members_is_refused() {
    let text = written(sound());
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.remove(1);
    assert!(
        ledger::verify(lines.concat().as_bytes())
            .unwrap_err()
            .to_string()
            .contains("hash of the line before")
    );
    let first = text.lines().next().unwrap();
    let more = format!(
        "{}\n",
        first.replacen("\"kind\"", "\"kept\":true,\"kind\"", 1)
    );
    assert!(
        ledger::verify(more.as_bytes())
            .unwrap_err()
            .what
            .contains("members that nothing names")
    );
    let mut other = Ledger::new(Ids {
        work_id: "w2".into(),
        ..ids()
    });
    other.line(None, started()).unwrap();
    let line: Line = serde_json::from_str(first).unwrap();
    assert_eq!(line.ids, ids());
    let mixed = format!("{first}\n{}", other.line(None, requested("r1")).unwrap());
    assert!(ledger::verify(mixed.as_bytes()).is_err());
}
