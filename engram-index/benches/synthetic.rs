//! Synthetic tapes for what recordings are too few or too small for: many sessions, and large edits. Valid tapes of a made-up harness.

// The tests use a part of it.
#![allow(dead_code)]

use std::fmt::Write;

use engram_core::anchor::{SCHEME, anchors};
use engram_core::hash::Hash;
use serde_json::json;

/// The directory of the synthetic project.
pub const ROOT: &str = "/home/dev/synthetic";

/// A tape that is being written.
pub struct Tape {
    text: String,
    id: String,
    /// Milliseconds since 1970.
    t: i64,
    seq: u64,
    counts: [u64; 8],
}

const KINDS: [&str; 8] = [
    "meta",
    "msg.in",
    "msg.out",
    "tool.call",
    "tool.result",
    "code.read",
    "code.edit",
    "span.link",
];

impl Tape {
    /// A session that begins at this time.
    pub fn new(id: &str, t: i64) -> Tape {
        let mut tape = Tape {
            text: String::new(),
            id: id.to_owned(),
            t,
            seq: 0,
            counts: [0; 8],
        };
        let coverage: serde_json::Map<String, serde_json::Value> = KINDS
            .iter()
            .map(|kind| ((*kind).to_owned(), json!("full")))
            .collect();
        tape.event(
            "meta",
            &format!(
                r#""label":"tape.start","schema":"engram.tape/1","adapter":{{"id":"toy","version":"0.1.0"}},"harness":{{"family":"toy","version":"1.0.0","schema":"toy"}},"policy":"permissive","anchors":"{SCHEME}","support":"tested","coverage":{{{}}},"degraded":[]"#,
                KINDS.iter().map(|kind| format!("\"{kind}\":{}", coverage[*kind])).collect::<Vec<_>>().join(",")
            ),
        );
        tape.event(
            "meta",
            &format!(r#""label":"session","model":"toy-1","cwd":"{ROOT}""#),
        );
        tape
    }

    fn event(&mut self, kind: &str, fields: &str) -> u64 {
        let at = KINDS.iter().position(|known| *known == kind).unwrap();
        self.counts[at] += 1;
        self.t += 250;
        let t = jiff::Timestamp::from_millisecond(self.t).unwrap();
        let (seq, id) = (self.seq, &self.id);
        let is_frame = fields.starts_with(r#""label":"tape."#);
        let end = if is_frame {
            r#""t_basis":"inherited""#.to_owned()
        } else {
            format!(r#""origin":{{"line":{seq}}}"#)
        };
        writeln!(self.text, r#"{{"seq":{seq},"t":"{t}","k":"{kind}","source":{{"harness":"toy","session_id":"{id}"}},{fields},{end}}}"#)
            .unwrap();
        self.seq += 1;
        seq
    }

    /// What a person says.
    pub fn prompt(&mut self, text: &str) {
        self.event(
            "msg.in",
            &format!(r#""role":"user","by":"person","text":{}"#, json!(text)),
        );
    }

    /// What the agent says.
    pub fn say(&mut self, text: &str) {
        self.event(
            "msg.out",
            &format!(r#""text":{},"channel":"commentary""#, json!(text)),
        );
    }

    /// Reads a file.
    pub fn read(&mut self, path: &str, text: &str) {
        let lines = text.lines().count();
        let call = self.call(
            "Read",
            "read",
            &format!(r#"{{"path":{}}}"#, json!(format!("{ROOT}/{path}"))),
        );
        self.result(call, text);
        let hash = Hash::of_text(text.strip_suffix('\n').unwrap_or(text));
        let mut fields = format!(
            r#""call_id":"c{call}","file":"{ROOT}/{path}","range":[1,{lines}],"total_lines":{lines},"hash":"{hash}""#
        );
        if !anchors(text).is_empty() {
            write!(fields, r#","anchor_hashes":{}"#, hex(text)).unwrap();
        }
        write!(fields, r#","parent":{call}"#).unwrap();
        self.event("code.read", &fields);
    }

    /// Changes a file from one text to another (`None`: it is new), in one span.
    pub fn edit(&mut self, path: &str, before: Option<&str>, after: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) = (
            before.unwrap_or_default().lines().collect(),
            after.lines().collect(),
        );
        let start = old
            .iter()
            .zip(&new)
            .take_while(|(one, other)| one == other)
            .count();
        let end = old[start..]
            .iter()
            .rev()
            .zip(new[start..].iter().rev())
            .take_while(|(one, other)| one == other)
            .count();
        let (gone, come) = (
            old[start..old.len() - end].join("\n"),
            new[start..new.len() - end].join("\n"),
        );
        let args = format!(
            r#"{{"path":{},"old":{},"new":{}}}"#,
            json!(format!("{ROOT}/{path}")),
            json!(gone),
            json!(come)
        );
        let call = self.call("Edit", "edit", &args);
        self.result(call, "done");
        let mut fields = format!(
            r#""call_id":"c{call}","op":"{}","file":"{ROOT}/{path}""#,
            if before.is_some() { "update" } else { "create" }
        );
        if let Some(before) = before {
            let (first, last) = (start + 1, old.len() - end);
            write!(
                fields,
                r#","before_range":[{first},{last}],"after_range":[{first},{}]"#,
                new.len() - end
            )
            .unwrap();
            write!(
                fields,
                r#","before_hash":"{}","after_hash":"{}""#,
                Hash::of_text(&gone),
                Hash::of_text(&come)
            )
            .unwrap();
            write!(fields, r#","file_before_hash":"{}""#, Hash::of_text(before)).unwrap();
        } else {
            write!(
                fields,
                r#","after_range":[1,{}],"after_hash":"{}""#,
                new.len(),
                Hash::of_text(&come)
            )
            .unwrap();
        }
        write!(fields, r#","file_after_hash":"{}""#, Hash::of_text(after)).unwrap();
        if before.is_some() && !anchors(&gone).is_empty() {
            write!(fields, r#","before_anchor_hashes":{}"#, hex(&gone)).unwrap();
        }
        if !anchors(&come).is_empty() {
            write!(fields, r#","after_anchor_hashes":{}"#, hex(&come)).unwrap();
        }
        write!(fields, r#","parent":{call}"#).unwrap();
        self.event("code.edit", &fields);
    }

    /// Replaces lines, with so many lines around them, as strings: nothing says where. False if they stand in the text more than once.
    pub fn replace(&mut self, path: &str, before: &str, after: &str, context: usize) -> bool {
        let (old, new): (Vec<&str>, Vec<&str>) =
            (before.lines().collect(), after.lines().collect());
        let pairs = old.iter().zip(&new);
        let start = pairs.take_while(|(one, other)| one == other).count();
        let rest = old[start..].iter().rev().zip(new[start..].iter().rev());
        let end = rest.take_while(|(one, other)| one == other).count();
        let (above, below) = (start.min(context), end.min(context));
        let gone = &old[start - above..old.len() - end + below];
        let come = &new[start - above..new.len() - end + below];
        let is_there = |run: &&[&str]| *run == gone;
        // A string that becomes nothing leaves an empty line.
        if gone.is_empty()
            || come.is_empty()
            || old.windows(gone.len()).filter(is_there).count() != 1
        {
            return false;
        }
        let (old, new) = (gone.join("\n"), come.join("\n"));
        let file = format!("{ROOT}/{path}");
        let args = json!({"path": file, "old_string": old, "new_string": new}).to_string();
        let call = self.call("Edit", "edit", &args);
        self.result(call, "done");
        let mut fields = format!(
            r#""call_id":"c{call}","op":"update","file":"{file}","before_hash":"{}","after_hash":"{}""#,
            Hash::of_text(&old),
            Hash::of_text(&new)
        );
        for (side, text) in [("before", &old), ("after", &new)] {
            if !anchors(text).is_empty() {
                write!(fields, r#","{side}_anchor_hashes":{}"#, hex(text)).unwrap();
            }
        }
        let (gone, come) = (gone.len(), come.len());
        write!(
            fields,
            r#","before_lines":{gone},"after_lines":{come},"basis":"snippet","parent":{call}"#
        )
        .unwrap();
        self.event("code.edit", &fields);
        true
    }

    /// Writes a whole text over a file.
    pub fn write(&mut self, path: &str, text: &str) {
        let file = format!("{ROOT}/{path}");
        let args = json!({"path": file, "content": text}).to_string();
        let call = self.call("Write", "write", &args);
        self.result(call, "done");
        let mut fields = format!(
            r#""call_id":"c{call}","op":"overwrite","file":"{file}","after_range":[1,{}],"after_hash":"{}","file_after_hash":"{}""#,
            text.lines().count(),
            Hash::of_text(text.strip_suffix('\n').unwrap_or(text)),
            Hash::of_text(text)
        );
        if !anchors(text).is_empty() {
            write!(fields, r#","after_anchor_hashes":{}"#, hex(text)).unwrap();
        }
        write!(fields, r#","parent":{call}"#).unwrap();
        self.event("code.edit", &fields);
    }

    /// Says that lines were moved from one file to another: first and last line of both.
    pub fn link(
        &mut self,
        (from, (b0, b1)): (&str, (usize, usize)),
        (to, (a0, a1)): (&str, (usize, usize)),
    ) {
        let call = self.call("Move", "move", "{}");
        self.result(call, "done");
        let fields = format!(
            r#""from_file":"{ROOT}/{from}","from_range":[{b0},{b1}],"to_file":"{ROOT}/{to}","to_range":[{a0},{a1}],"parent":{call}"#
        );
        self.event("span.link", &fields);
    }

    fn call(&mut self, tool: &str, kind: &str, args: &str) -> u64 {
        let id = self.seq;
        self.event(
            "tool.call",
            &format!(r#""tool":"{tool}","kind":"{kind}","call_id":"c{id}","args":{args}"#),
        )
    }

    fn result(&mut self, call: u64, text: &str) {
        self.event(
            "tool.result",
            &format!(
                r#""call_id":"c{call}","status":"ok","stdout":{},"parent":{call}"#,
                json!(text)
            ),
        );
    }

    /// The whole tape.
    pub fn end(mut self) -> String {
        self.event(
            "meta",
            r#""label":"usage","model":"toy-1","tokens":{"input":1000,"output":200}"#,
        );
        let mut counts = self.counts;
        counts[0] += 1;
        let counts: Vec<String> = KINDS
            .iter()
            .zip(counts)
            .map(|(kind, count)| format!("\"{kind}\":{count}"))
            .collect();
        let records = self.seq;
        let hash = Hash::of_text(&self.text);
        let bytes = self.text.len();
        self.event(
            "meta",
            &format!(
                r#""label":"tape.stop","counts":{{{}}},"ledger":{{"records":{records},"mapped":{records},"duplicate":0,"bookkeeping":0,"unrecognized":0,"malformed":0,"omitted":[]}},"input":{{"hash":"{hash}","bytes":{bytes}}},"complete":true"#,
                counts.join(",")
            ),
        );
        self.text
    }
}

fn hex(text: &str) -> String {
    json!(
        anchors(text)
            .iter()
            .map(|anchor| format!("{anchor:016x}"))
            .collect::<Vec<_>>()
    )
    .to_string()
}

/// Lines of made-up code.
pub fn code(lines: usize, random: &mut fastrand::Rng) -> String {
    let word = |random: &mut fastrand::Rng| {
        (0..random.usize(3..10))
            .map(|_| random.lowercase())
            .collect::<String>()
    };
    (0..lines)
        .map(|line| match line % 6 {
            0 => format!("fn {}({}: u64) -> u64 {{\n", word(random), word(random)),
            5 => "}\n".to_owned(),
            _ => format!(
                "    let {} = {}({}, {});\n",
                word(random),
                word(random),
                word(random),
                random.u32(..1000)
            ),
        })
        .collect()
}
