//! Logs in files that have one construct many times.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use super::Construct;

pub const ALL: &[Construct] = &[
    Construct {
        name: "records",
        from: 8_000,
        write: records,
    },
    Construct {
        name: "members of one record",
        from: 16_000,
        write: members,
    },
    Construct {
        name: "blocks of one record",
        from: 8_000,
        write: blocks,
    },
    Construct {
        name: "open calls",
        from: 8_000,
        write: open_calls,
    },
    Construct {
        name: "calls with one id",
        from: 4_000,
        write: calls_with_one_id,
    },
    Construct {
        name: "repeated records",
        from: 16_000,
        write: repeated_records,
    },
    Construct {
        name: "references to one side file",
        from: 2_000,
        write: references,
    },
    Construct {
        name: "sub-agents without a call id (Claude Code)",
        from: 500,
        write: claude_sub_agents,
    },
    Construct {
        name: "sub-agents (Gemini CLI)",
        from: 500,
        write: gemini_sub_agents,
    },
    Construct {
        name: "sessions",
        from: 4_000,
        write: sessions,
    },
    Construct {
        name: "files of one session id",
        from: 4_000,
        write: files_of_one_id,
    },
    Construct {
        name: "gzip members",
        from: 8_000,
        write: gzip_members,
    },
    Construct {
        name: "zstd frames",
        from: 8_000,
        write: zstd_frames,
    },
];

pub const ID: &str = "08a7d153-dbf5-4299-99e0-7e71fab11f9f";

/// A line of Claude Code: what all lines have, and its own members.
pub fn line(n: usize, own: &str) -> String {
    line_of(ID, n, own)
}

fn line_of(session: &str, n: usize, own: &str) -> String {
    format!(
        r#"{{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"{session}","version":"2.1.329","gitBranch":"main","uuid":"{n:08x}-0000-4000-8000-000000000000","timestamp":"2026-11-21T10:{:02}:{:02}.{:03}Z",{own}}}"#,
        n / 60_000 % 60,
        n / 1_000 % 60,
        n % 1_000
    ) + "\n"
}

pub fn prompt(text: &str) -> String {
    format!(r#""type":"user","message":{{"role":"user","content":"{text}"}}"#)
}

fn call(id: usize, input: &str) -> String {
    format!(
        r#""type":"assistant","message":{{"id":"msg_{id}","type":"message","role":"assistant","model":"m","content":[{{"type":"tool_use","id":"toolu_{id}","name":"Bash","input":{{{input}}}}}]}}"#
    )
}

fn result(id: usize, text: &str, details: &str) -> String {
    format!(
        r#""type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_{id}","type":"tool_result","content":"{text}"}}]}},"toolUseResult":{{{details}}}"#
    )
}

/// Writes the session of these lines.
pub fn session(directory: &Path, lines: impl Iterator<Item = String>) {
    write_lines(&directory.join(format!("{ID}.jsonl")), lines);
}

pub fn write_lines(path: &Path, lines: impl Iterator<Item = String>) {
    let mut file = BufWriter::new(File::create(path).expect("a new file"));
    lines.for_each(|line| file.write_all(line.as_bytes()).expect("the disk has room"));
    file.flush().expect("the disk has room");
}

fn records(n: usize, directory: &Path) {
    session(
        directory,
        (0..n).map(|i| line(i, &prompt(&format!("prompt {i}")))),
    );
}

fn members(n: usize, directory: &Path) {
    let input: Vec<String> = (0..n).map(|i| format!(r#""k{i}":{i}"#)).collect();
    session(
        directory,
        [line(0, &prompt("go")), line(1, &call(1, &input.join(",")))].into_iter(),
    );
}

fn blocks(n: usize, directory: &Path) {
    let blocks: Vec<String> = (0..n)
        .map(|i| format!(r#"{{"type":"text","text":"block {i}"}}"#))
        .collect();
    let own = format!(
        r#""type":"user","message":{{"role":"user","content":[{}]}}"#,
        blocks.join(",")
    );
    session(directory, [line(0, &own)].into_iter());
}

fn open_calls(n: usize, directory: &Path) {
    let calls = (0..n).map(|i| line(i, &call(i, r#""command":"ls""#)));
    session(
        directory,
        calls.chain((0..n).map(|i| line(n + i, &result(i, "ok", r#""stdout":"ok","stderr":"""#)))),
    );
}

fn calls_with_one_id(n: usize, directory: &Path) {
    let command = |i: usize| format!(r#""command":"ls {i}""#);
    let both = |i: usize| {
        line(2 * i, &call(1, &command(i)))
            + &line(
                2 * i + 1,
                &result(1, &format!("ok {i}"), r#""stdout":"ok""#),
            )
    };
    session(directory, (0..n).map(both));
}

fn repeated_records(n: usize, directory: &Path) {
    session(directory, (0..n).map(|_| line(0, &prompt("again"))));
}

/// The side file grows too, so that hashing it for each reference is quadratic.
fn references(n: usize, directory: &Path) {
    let results = directory.join(ID).join("tool-results");
    fs::create_dir_all(&results).expect("new directories");
    fs::write(results.join("out.txt"), vec![b'x'; n * 256]).expect("the disk has room");
    let path = format!("/home/dev/.claude/projects/p/{ID}/tool-results/out.txt");
    let size = n * 256;
    let text = format!(
        "<persisted-output>\\nOutput too large. Full output saved to: {path}\\n\\nPreview:\\nx\\n</persisted-output>"
    );
    let details = format!(
        r#""stdout":"x","stderr":"","interrupted":false,"persistedOutputPath":"{path}","persistedOutputSize":{size}"#
    );
    let both = |i: usize| {
        line(2 * i, &call(i, r#""command":"ls""#)) + &line(2 * i + 1, &result(i, &text, &details))
    };
    session(directory, (0..n).map(both));
}

fn claude_sub_agents(n: usize, directory: &Path) {
    let agents = directory.join(ID).join("subagents");
    fs::create_dir_all(&agents).expect("new directories");
    for i in 0..n {
        let own = format!(r#""agentId":"a{i:08}",{}"#, prompt("task"));
        write_lines(
            &agents.join(format!("agent-a{i:08}.jsonl")),
            [line(i, &own).replace("Sidechain\":false", "Sidechain\":true")].into_iter(),
        );
    }
    let details = |i: usize| {
        format!(
            r#""status":"completed","agentId":"a{i:08}","content":[{{"type":"text","text":"done"}}]"#
        )
    };
    let both = |i: usize| {
        line(2 * i, &call(i, r#""prompt":"task""#))
            + &line(2 * i + 1, &result(i, "done", &details(i)))
    };
    session(directory, (0..n).map(both));
}

fn gemini_sub_agents(n: usize, directory: &Path) {
    const PARENT: &str = "839c3364-04ec-4555-9499-568e62726097";
    let chats = directory.join("tmp/proj/chats");
    fs::create_dir_all(chats.join(PARENT)).expect("new directories");
    let time = r#""timestamp":"2026-11-21T09:58:21.330Z""#;
    let head = |id: &str, kind: &str| {
        format!(
            r#"{{"sessionId":"{id}","projectHash":"bb97ae4cdb5b0dd7e32b198a7ebcb35332fca3343779f0895ffb11258627aa8f","startTime":"2026-11-21T09:58:21.329Z","lastUpdated":"2026-11-21T09:58:21.329Z","kind":"{kind}"}}"#
        ) + "\n"
    };
    let prompt = |i: usize| {
        format!(
            r#"{{"id":"{i:08x}-39f9-4572-b170-6722a1e996fd",{time},"type":"user","content":[{{"text":"task"}}]}}"#
        ) + "\n"
    };
    let agent = |i: usize| format!("{i:08x}-9df8-45b6-8377-4eedf5cde668");
    for i in 0..n {
        write_lines(
            &chats.join(PARENT).join(agent(i) + ".jsonl"),
            [head(&agent(i), "subagent"), prompt(i)].into_iter(),
        );
    }
    let start = |i: usize| {
        format!(
            r#"{{"id":"{i:08x}-5b35-47bc-9cac-b24b07ec8f38",{time},"type":"gemini","content":"","model":"m","toolCalls":[{{"id":"call_{i}","name":"invoke_agent","args":{{"agent_name":"generalist","prompt":"task"}},"result":[{{"functionResponse":{{"id":"call_{i}","name":"invoke_agent","response":{{"output":"done"}}}}}}],"status":"success",{time},"agentId":"{}"}}]}}"#,
            agent(i)
        ) + "\n"
    };
    let lines = [head(PARENT, "main"), prompt(n)]
        .into_iter()
        .chain((0..n).map(start));
    write_lines(
        &chats.join("session-2026-11-21T09-58-839c3364.jsonl"),
        lines,
    );
}

fn sessions(n: usize, directory: &Path) {
    for i in 0..n {
        let id = format!("{i:08x}{}", &ID[8..]);
        write_lines(
            &directory.join(format!("{id}.jsonl")),
            [line_of(&id, i, &prompt("go"))].into_iter(),
        );
    }
}

/// Tapes of one size are the expensive ones: only their hashes tell them apart.
fn files_of_one_id(n: usize, directory: &Path) {
    for i in 0..n {
        write_lines(
            &directory.join(format!("{i:08}.jsonl")),
            [line(i, &prompt(&format!("prompt {i:08}")))].into_iter(),
        );
    }
}

fn gzip_members(n: usize, directory: &Path) {
    let member = |i: usize| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(line(i, &prompt("go")).as_bytes())
            .and_then(|()| gzip.finish())
            .expect("memory does not fail")
    };
    fs::write(
        directory.join("log.jsonl.gz"),
        (0..n).flat_map(member).collect::<Vec<u8>>(),
    )
    .expect("the disk has room");
}

fn zstd_frames(n: usize, directory: &Path) {
    let frame = |i: usize| {
        zstd::encode_all(line(i, &prompt("go")).as_bytes(), 1).expect("memory does not fail")
    };
    fs::write(
        directory.join("log.jsonl.zst"),
        (0..n).flat_map(frame).collect::<Vec<u8>>(),
    )
    .expect("the disk has room");
}
