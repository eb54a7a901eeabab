//! The catalogue of broken adapters: what each does wrong, and the check that must find it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};

use engram_core::adapter::HarnessAdapter;
use engram_core::coverage::Grade;
use engram_core::descriptor::{AdapterDescriptor, Gap};
use engram_core::error::{AdapterError, ErrorCode};
use engram_core::hash::Hash;
use engram_core::policy::Policy;
use engram_core::version::{Revision, VersionMatrix};

use crate::adapter::{Changed, Real};
use crate::claims;
use crate::tape::Tape;

/// One broken adapter.
pub struct Break {
    /// What it does wrong.
    pub name: &'static str,
    /// The check that exists for it.
    pub check: &'static str,
    /// The registered adapter that it changes.
    pub adapter: &'static str,
    /// Its policy.
    pub policy: Policy,
    /// The fixtures for the test; if empty, all fixtures with their declared scenarios.
    pub fixtures: &'static [&'static str],
    /// Also provide the streaming form of the real adapter.
    pub with_stream: bool,
    /// What it changes.
    pub change: Change,
}

/// What a broken adapter changes.
#[derive(Clone, Copy)]
pub enum Change {
    /// Events of the tape. Numbers, parents and counts are corrected afterwards.
    Events(fn(&mut Tape)),
    /// Bytes of the tape.
    Bytes(fn(&mut Tape)),
    /// How a session is converted.
    Convert(fn(&Real, &str) -> Result<String, AdapterError>),
    /// The descriptor, and the claims of each tape.
    Descriptor(fn(AdapterDescriptor) -> AdapterDescriptor),
}

impl Break {
    /// The adapter.
    pub fn adapter(&self) -> Changed {
        let mut changed = Changed::unchanged(self.adapter, self.policy);
        match self.change {
            Change::Events(change) => {
                changed.convert =
                    Box::new(move |real, input| edited(real, input, change, Tape::sealed))
            }
            Change::Bytes(change) => {
                changed.convert =
                    Box::new(move |real, input| edited(real, input, change, Tape::text))
            }
            Change::Convert(convert) => changed.convert = Box::new(convert),
            Change::Descriptor(descriptor) => {
                changed.descriptor = descriptor;
                let claims = changed.descriptor();
                changed.convert = Box::new(move |real, input| {
                    real.convert(input)
                        .map(|tape| claims::with_claims_of(&tape, &claims))
                });
            }
        }
        changed
    }
}

fn edited(
    real: &Real,
    input: &str,
    change: fn(&mut Tape),
    text: fn(&Tape) -> String,
) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    change(&mut tape);
    Ok(text(&tape))
}

/// The fixture for most broken adapters.
pub const EDIT: &[&str] = &["claude-code/2.0.10/b_edit"];
/// A recording with a read of a file that nobody changes.
const UNCHANGED: &[&str] = &["claude-code/2.0.10/n_skills"];
const CONTEXT: &[&str] = &["claude-code/2.1.329/a_qa"];
const AGENTS: &[&str] = &["claude-code/2.0.60/c_subagent"];
/// A recording with the tasks of sub-agents.
const TASKS: &[&str] = &["claude-code/2.1.14/c_subagent"];
const AGENTS_IN_ONE_FILE: &[&str] = &["claude-code/1.0.0/c_subagent"];
const PATCHES: &[&str] = &["codex/0.125.0/main"];

const fn events(name: &'static str, check: &'static str, change: fn(&mut Tape)) -> Break {
    Break {
        name,
        check,
        adapter: "claude-code",
        policy: Policy::Permissive,
        fixtures: EDIT,
        with_stream: false,
        change: Change::Events(change),
    }
}

const fn bytes(name: &'static str, check: &'static str, change: fn(&mut Tape)) -> Break {
    Break {
        change: Change::Bytes(change),
        ..events(name, check, change)
    }
}

const fn converts(
    name: &'static str,
    check: &'static str,
    convert: fn(&Real, &str) -> Result<String, AdapterError>,
) -> Break {
    Break {
        change: Change::Convert(convert),
        ..events(name, check, |_| {})
    }
}

const fn describes(
    name: &'static str,
    check: &'static str,
    descriptor: fn(AdapterDescriptor) -> AdapterDescriptor,
) -> Break {
    Break {
        change: Change::Descriptor(descriptor),
        ..events(name, check, |_| {})
    }
}

const fn over(fixtures: &'static [&'static str], broken: Break) -> Break {
    Break { fixtures, ..broken }
}

const fn strict(broken: Break) -> Break {
    Break {
        policy: Policy::Strict,
        ..broken
    }
}

const fn of_codex(broken: Break) -> Break {
    Break {
        adapter: "codex",
        fixtures: PATCHES,
        ..broken
    }
}

/// Uses all fixtures of the smallest harness, because only a complete tree proves claims.
const fn on_all(broken: Break) -> Break {
    Break {
        adapter: "gemini",
        fixtures: &[],
        with_stream: true,
        ..broken
    }
}

/// Replaces a text in the first event that contains all of these texts.
fn change(tape: &mut Tape, texts: &[&str], from: &str, to: &str) {
    if let Some(at) = tape.find(texts) {
        tape.replace(at, from, to);
    }
}

/// Sets a field of the first event that contains all of these texts.
fn set(tape: &mut Tape, texts: &[&str], key: &str, value: &str) {
    if let Some(at) = tape.find(texts)
        && let Some(old) = tape.field(at, key).map(str::to_owned)
    {
        tape.replace(
            at,
            &format!("\"{key}\":{old}"),
            &format!("\"{key}\":{value}"),
        );
    }
}

const WRONG_HASH: &str =
    "\"blake3:0000000000000000000000000000000000000000000000000000000000000000\"";

/// Every broken adapter.
pub const BREAKS: &[Break] = &[
    converts("refuses every session", "session.converts", |_, _| {
        Err(AdapterError::new(ErrorCode::MalformedRecord))
    }),
    events("drops a record", "text.all", |tape| {
        if let Some(at) = tape.find(&["LAB single edit now."]) {
            tape.remove(at);
        }
    }),
    converts(
        "names the branch by a random hash",
        "bytes.twice",
        with_random_branch,
    ),
    bytes(
        "names neither version nor schema",
        "version.identified",
        |tape| {
            let harness = tape
                .line(0)
                .split_once("\"family\":\"claude-code\"")
                .and_then(|(_, rest)| rest.split_once('}'))
                .map(|(named, _)| named.to_owned());
            tape.replace(0, &harness.unwrap_or_default(), "");
        },
    ),
    strict(converts(
        "ignores an unknown version",
        "version.strict",
        |real, input| match real.convert(input) {
            Err(error) if error.code == ErrorCode::UnknownHarnessVersion => {
                real.under(Policy::Permissive, input)
            }
            made => made,
        },
    )),
    converts(
        "does not mark a degraded tape",
        "version.permissive",
        |real, input| {
            Ok(real.convert(input)?.replacen(
                "\"degraded\":[\"unknown_harness_version\"]",
                "\"degraded\":[]",
                1,
            ))
        },
    ),
    strict(converts(
        "accepts a newer version",
        "version.strict",
        |real, input| match real.convert(input) {
            Err(error) if error.older_recorded.is_some() => real.under(Policy::Permissive, input),
            made => made,
        },
    )),
    converts(
        "takes a newer version for an unknown one",
        "version.permissive",
        |real, input| {
            Ok(real
                .convert(input)?
                .replacen("\"support\":\"ahead\"", "\"support\":\"unknown\"", 1))
        },
    ),
    strict(converts(
        "reports errors without a line",
        "error.located",
        |real, input| {
            real.convert(input).map_err(|mut error| {
                error.line = None;
                error
            })
        },
    )),
    converts("panics on a truncated line", "error.cut", |real, input| {
        assert!(
            input.ends_with('\n') || input.is_empty(),
            "a truncated line"
        );
        real.convert(input)
    }),
    events("emits a prompt twice", "prompt.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"msg.in\"", "LAB please do many edits"]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    over(
        &["claude-code/2.1.329/a_qa"],
        events(
            "emits answers as system notices",
            "answer.present",
            |tape| {
                for at in tape.all(&["\"k\":\"msg.out\"", "\"text\":"]) {
                    let text = tape.field(at, "text").unwrap_or_default().to_owned();
                    let line = tape.line(at);
                    let (head, tail) = (
                        line.split_once("\"k\":").unwrap_or_default().0.to_owned(),
                        line.rsplit_once(",\"origin\"")
                            .unwrap_or_default()
                            .1
                            .to_owned(),
                    );
                    let source = line
                        .split_once("\"source\":")
                        .and_then(|(_, rest)| rest.split_once("},"))
                        .unwrap_or_default()
                        .0
                        .to_owned();
                    tape.remove(at);
                    tape.insert(at, format!("{head}\"k\":\"meta\",\"source\":{source}}},\"label\":\"system\",\"name\":\"answer\",\"text\":{text},\"origin\"{tail}"));
                }
            },
        ),
    ),
    events(
        "takes a prompt for text of the harness",
        "prompt.person",
        |tape| {
            change(
                tape,
                &["\"k\":\"msg.in\"", "LAB please do many edits"],
                "\"by\":\"person\"",
                "\"by\":\"harness\"",
            );
        },
    ),
    over(
        &["claude-code/2.1.332/n_perms"],
        events(
            "takes the reason of a refusal for words of a person",
            "prompt.person",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "LABUSER not this"],
                    "LABUSER not this",
                    "permission-rule",
                );
            },
        ),
    ),
    over(
        &["codex/0.98.0/main"],
        of_codex(events(
            "takes the image of a tool for a prompt",
            "prompt.person",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"harness\",\"attachments\""],
                    "\"by\":\"harness\"",
                    "\"by\":\"person\"",
                );
            },
        )),
    ),
    over(
        TASKS,
        events(
            "takes the task of a sub-agent for text of the harness",
            "message.author",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"agent\""],
                    "\"by\":\"agent\"",
                    "\"by\":\"harness\"",
                );
            },
        ),
    ),
    over(
        TASKS,
        events(
            "leaves the words of an agent in what the harness writes around them",
            "message.author",
            |tape| {
                change(
                    tape,
                    &["\"k\":\"msg.in\"", "\"by\":\"agent\""],
                    "\"text\":\"",
                    "\"text\":\"<teammate-message>\\n",
                );
            },
        ),
    ),
    bytes("writes a space into the JSON", "tape.canonical", |tape| {
        tape.replace(2, "{\"seq\":2,", "{\"seq\":2, ")
    }),
    bytes("invents a key", "tape.envelope", |tape| {
        change(
            tape,
            &["\"k\":\"msg.in\""],
            "\"role\":",
            "\"mood\":\"fine\",\"role\":",
        )
    }),
    bytes("invents a ninth kind", "tape.kinds", |tape| {
        tape.insert(2, tape.line(2).replacen("msg.in", "note", 1))
    }),
    bytes("skips a number", "tape.seq", |tape| {
        let last = tape.all(&["{\"seq\":"]).len() - 1;
        tape.replace(
            last,
            &format!("{{\"seq\":{last},"),
            &format!("{{\"seq\":{},", last + 1),
        );
    }),
    bytes("names another harness in an event", "tape.source", |tape| {
        tape.replace(2, "\"harness\":\"claude-code\"", "\"harness\":\"other\"")
    }),
    bytes("counts its events wrongly", "tape.bracket", |tape| {
        let count = tape
            .find(&["tape.stop"])
            .and_then(|at| tape.field(at, "span.link").map(str::to_owned))
            .unwrap_or_default();
        change(
            tape,
            &["tape.stop"],
            &format!("\"span.link\":{count}"),
            "\"span.link\":7",
        );
    }),
    events("omits a parent", "tape.parent", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.result\""]) {
            let parent = tape.field(at, "parent").unwrap_or_default().to_owned();
            tape.replace(at, &format!(",\"parent\":{parent}"), "");
        }
    }),
    bytes("adds the ledger up wrongly", "tape.ledger", |tape| {
        set(tape, &["tape.stop"], "mapped", "1")
    }),
    bytes("writes a time in another format", "tape.time", |tape| {
        set(tape, &["tape.start"], "t", "\"yesterday\"")
    }),
    strict(bytes(
        "marks a complete session as incomplete",
        "tape.policy",
        |tape| {
            change(
                tape,
                &["tape.stop"],
                "\"complete\":true",
                "\"complete\":false",
            )
        },
    )),
    events("invents a time", "time.recorded", |tape| {
        set(
            tape,
            &["\"k\":\"msg.in\"", "LAB please"],
            "t",
            "\"2026-11-21T03:04:05Z\"",
        )
    }),
    events(
        "emits a read behind later results",
        "order.source",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"code.read\""]) {
                let later = tape
                    .all(&["\"k\":\"tool.result\""])
                    .into_iter()
                    .filter(|result| *result > at)
                    .nth(2);
                let read = tape.remove(at);
                tape.insert(later.unwrap_or(at), read);
            }
        },
    ),
    events("does not recognize a record", "record.known", |tape| {
        let notice = without_record(
            tape,
            2,
            "meta",
            "\"label\":\"unrecognized\",\"name\":\"mystery\",\"raw\":{}",
        );
        tape.insert(3, notice);
    }),
    converts(
        "does not report unknown members",
        "member.known",
        |real, input| Ok(without_unknown_members(&real.convert(input)?)),
    ),
    converts(
        "emits a record again that the log repeats",
        "record.repeated",
        with_repeated_prompts,
    ),
    converts(
        "takes a record for a repeat if its id occurred before",
        "id.shared",
        without_shared_ids,
    ),
    events("emits a record of another line again", "id.once", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"msg.out\"", "\"id\":"])
            && let Some(line) = tape
                .field(at, "line")
                .and_then(|line| line.parse::<u64>().ok())
        {
            let again = tape.line(at).replacen(
                &format!("\"line\":{line}"),
                &format!("\"line\":{}", line + 1),
                1,
            );
            tape.insert(at + 1, again);
        }
    }),
    events(
        "emits the answer of another response between two blocks",
        "response.together",
        |tape| {
            let blocks = tape.all(&["\"k\":\"msg.out\"", "\"message_id\":"]);
            let is_same = |pair: &&[usize]| {
                tape.field(pair[0], "message_id") == tape.field(pair[1], "message_id")
            };
            if let Some(second) = blocks.windows(2).find(is_same).map(|pair| pair[1]) {
                let other = without_record(
                    tape,
                    second,
                    "msg.out",
                    "\"text\":\"elsewhere\",\"message_id\":\"msg_other\"",
                );
                tape.insert(second, other);
            }
        },
    ),
    events(
        "emits the usage of a response behind the result of its call",
        "response.together",
        |tape| {
            if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"stop_reason\":\"tool_use\""]) {
                let usage = tape.remove(at);
                tape.insert(at + 1, usage);
            }
        },
    ),
    over(
        AGENTS_IN_ONE_FILE,
        events(
            "emits the usage of a response behind what another agent does",
            "response.together",
            |tape| {
                let is_others =
                    |at: &usize| tape.field(*at, "agent_id") != tape.field(*at + 1, "agent_id");
                if let Some(at) = tape
                    .all(&["\"label\":\"usage\""])
                    .into_iter()
                    .find(is_others)
                {
                    let usage = tape.remove(at);
                    tape.insert(at + 1, usage);
                }
            },
        ),
    ),
    over(
        &["claude-code/2.1.329/b_edit"],
        events(
            "emits the usage of a response before its last call",
            "response.together",
            |tape| {
                let message = "\"message_id\":\"msg_lab4f43d1355d7643d391\"";
                let call = tape.find(&["\"k\":\"tool.call\"", message]);
                if let (Some(call), Some(at)) = (call, tape.find(&["\"label\":\"usage\"", message]))
                {
                    let usage = tape.remove(at);
                    tape.insert(call + 1, usage);
                }
            },
        ),
    ),
    events("counts a response twice", "usage.sum", |tape| {
        if let Some(at) = tape.find(&["\"label\":\"usage\""]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    events("counts the cache as input", "usage.sum", |tape| {
        change(
            tape,
            &["\"label\":\"usage\"", "\"input\":1001"],
            "\"input\":1001",
            "\"input\":1023",
        )
    }),
    events("loses the usage of a response", "usage.sum", |tape| {
        if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"input\":1001"]) {
            tape.remove(at);
        }
    }),
    events("loses a count of a response", "usage.sum", |tape| {
        change(
            tape,
            &["\"label\":\"usage\"", "\"output\":33"],
            ",\"output\":33",
            "",
        )
    }),
    events("loses a call", "call.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.call\"", "/src/a.py\"}"]) {
            tape.remove(at);
        }
    }),
    events("invents a call", "call.once", |tape| {
        let call = without_record(
            tape,
            2,
            "tool.call",
            "\"tool\":\"Read\",\"kind\":\"read\",\"call_id\":\"toolu_none\",\"args\":{}",
        );
        tape.insert(3, call);
    }),
    converts(
        "takes a call for a repeat if its id occurred before",
        "call.id_repeated",
        without_repeated_ids,
    ),
    events("changes the arguments of a call", "call.facts", |tape| {
        change(
            tape,
            &["\"tool\":\"Grep\"", "\"pattern\":\"NEW\""],
            "NEW",
            "OLD",
        )
    }),
    events(
        "adds an argument that the log does not have",
        "call.facts",
        |tape| {
            change(
                tape,
                &["\"tool\":\"Grep\"", "\"pattern\":\"NEW\""],
                "\"pattern\":\"NEW\"",
                "\"pattern\":\"NEW\",\"glob\":\"*.rs\"",
            )
        },
    ),
    events("emits the wrong kind of a tool", "call.kind", |tape| {
        change(
            tape,
            &["\"tool\":\"Grep\"", "\"kind\":\"search\""],
            "\"kind\":\"search\"",
            "\"kind\":\"list\"",
        )
    }),
    events("duplicates a result", "result.once", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.result\"", "\"tool\":\"Grep\""]) {
            tape.insert(at + 1, tape.line(at).to_owned());
        }
    }),
    events(
        "emits a failed command as successful",
        "result.facts",
        |tape| {
            change(
                tape,
                &[
                    "\"k\":\"tool.result\"",
                    "\"tool\":\"Bash\"",
                    "\"status\":\"error\"",
                ],
                "\"status\":\"error\"",
                "\"status\":\"ok\"",
            );
        },
    ),
    Break {
        with_stream: true,
        ..events("has another tape in its string form", "form.same", |tape| {
            change(tape, &["LAB single edit now."], "single", "double")
        })
    },
    describes("claims too little", "claim.none", |descriptor| {
        claims::with_reads(descriptor, Grade::None)
    }),
    describes("claims too much", "claim.open", |descriptor| {
        claims::with_reads(descriptor, Grade::Full)
    }),
    describes(
        "describes a gap that no claim names",
        "claim.whole",
        |descriptor| {
            claims::with_gap(
                descriptor,
                Gap {
                    code: "edit.magic",
                    reason: "for the test",
                    fixture: "2.0.10/b_edit",
                },
            )
        },
    ),
    describes(
        "supports versions that no recording proves",
        "claim.whole",
        |descriptor| {
            claims::with_revision(descriptor, |revision| Revision {
                versions: revision.versions.map(|_| ">=0.0.1"),
                ..revision
            })
        },
    ),
    on_all(describes(
        "names a version as tested that has no recording",
        "claim.shown",
        |descriptor| {
            claims::with_revision(descriptor, |revision| Revision {
                tested: &["9.9.9"],
                ..revision
            })
        },
    )),
    on_all(describes(
        "names a fixture that does not exhibit the gap",
        "claim.gaps",
        claims::with_wrong_fixtures,
    )),
    on_all(describes(
        "has an unused rule",
        "rule.needed",
        claims::with_unused_rule,
    )),
    over(
        UNCHANGED,
        events("reads the wrong lines", "read.range", |tape| {
            set(tape, &["\"k\":\"code.read\""], "range", "[4")
        }),
    ),
    over(
        UNCHANGED,
        events("hashes the wrong lines of a read", "read.hash", |tape| {
            set(tape, &["\"k\":\"code.read\""], "hash", WRONG_HASH)
        }),
    ),
    Break {
        adapter: "gemini",
        fixtures: &["gemini/0.61.0/g_hooks"],
        ..events(
            "reads the words of a hook as lines",
            "read.file",
            Tape::read_whole_result,
        )
    },
    Break {
        adapter: "opencode",
        fixtures: &["opencode/1.18.34/main"],
        ..events(
            "hashes lines that the file never had, without a real result",
            "read.file",
            |tape| {
                set(
                    tape,
                    &["\"k\":\"code.read\"", "\"range\":[5,14]"],
                    "hash",
                    WRONG_HASH,
                );
            },
        )
    },
    events("emits a read for a failed call", "read.applied", |tape| {
        if let Some(at) = tape.find(&[
            "\"k\":\"tool.result\"",
            "\"tool\":\"Read\"",
            "\"status\":\"error\"",
        ]) {
            let (id, parent) = (
                tape.field(at, "call_id").unwrap_or_default(),
                tape.field(at, "parent").unwrap_or_default(),
            );
            let read = without_record(
                tape,
                at,
                "code.read",
                &format!(
                    "\"call_id\":{id},\"file\":\"/home/dev/proj/missing.txt\",\"parent\":{parent}"
                ),
            );
            tape.insert(at + 1, read);
        }
    }),
    events("emits an edit for a failed call", "edit.applied", |tape| {
        if let Some(at) = tape.find(&[
            "\"k\":\"tool.result\"",
            "\"tool\":\"Edit\"",
            "\"status\":\"error\"",
        ]) {
            let (id, parent) = (
                tape.field(at, "call_id").unwrap_or_default(),
                tape.field(at, "parent").unwrap_or_default(),
            );
            let fields = format!(
                "\"call_id\":{id},\"op\":\"update\",\"file\":\"/home/dev/proj/src/a.py\",\"parent\":{parent}"
            );
            let edit = without_record(tape, at, "code.edit", &fields);
            tape.insert(at + 1, edit);
        }
    }),
    events("leaves a path relative", "file.absolute", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "file",
            "\"uni.txt\"",
        );
    }),
    events(
        "leaves out the model of a response",
        "usage.model",
        |tape| {
            if let Some(at) = tape.find(&["\"label\":\"usage\"", "\"model\""]) {
                let model = tape.field(at, "model").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"model\":{model}"), "");
            }
        },
    ),
    events("gives a new file lines before", "edit.sides", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "\"op\":\"create\""]) {
            tape.replace(
                at,
                ",\"after_range\"",
                ",\"before_range\":[1,0],\"after_range\"",
            );
        }
    }),
    events("loses an edit", "edit.all", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "uni.txt"]) {
            tape.remove(at);
        }
    }),
    events(
        "emits an edit of a file that did not change",
        "edit.real",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"code.edit\"", "uni.txt"]) {
                let fields = "\"op\":\"update\",\"file\":\"/home/dev/proj/untouched.txt\"";
                let edit = without_record(tape, at, "code.edit", fields);
                tape.insert(at + 1, edit);
            }
        },
    ),
    events("has one wrong hash of a span", "edit.span", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "after_hash",
            WRONG_HASH,
        )
    }),
    events("has one wrong hash of a file", "edit.file", |tape| {
        set(
            tape,
            &["\"k\":\"code.edit\"", "uni.txt"],
            "file_after_hash",
            WRONG_HASH,
        )
    }),
    events(
        "starts an edit from the wrong state",
        "edit.chain",
        |tape| {
            set(
                tape,
                &[
                    "\"k\":\"code.edit\"",
                    "src/a.py",
                    "\"before_range\":[10,10]",
                ],
                "file_before_hash",
                WRONG_HASH,
            );
        },
    ),
    over(
        &["claude-code/2.1.332/m_tuifork"],
        events(
            "says that files stayed when a person went back",
            "edit.chain",
            |tape| {
                change(tape, &["\"label\":\"rewind\""], ",\"files\":true", "");
            },
        ),
    ),
    of_codex(events(
        "hashes a text that is not in the call",
        "edit.snippet",
        |tape| {
            set(
                tape,
                &[
                    "\"k\":\"code.edit\"",
                    "\"basis\":\"snippet\"",
                    "\"before_hash\"",
                ],
                "before_hash",
                WRONG_HASH,
            );
        },
    )),
    of_codex(events(
        "hashes more of a call than the file had",
        "edit.statements",
        hash_whole_arguments,
    )),
    of_codex(events(
        "leaves out the number of lines of a snippet",
        "snippet.lines",
        |tape| {
            if let Some(at) = tape.find(&[
                "\"k\":\"code.edit\"",
                "\"basis\":\"snippet\"",
                "\"before_hash\"",
            ]) {
                let lines = tape
                    .field(at, "before_lines")
                    .unwrap_or_default()
                    .to_owned();
                tape.replace(at, &format!(",\"before_lines\":{lines}"), "");
            }
        },
    )),
    of_codex(events(
        "does not name the move of a link",
        "move.linked",
        |tape| {
            if let Some(at) = tape.find(&["\"k\":\"span.link\""]) {
                let parent = tape.field(at, "parent").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"parent\":{parent}"), "");
            }
        },
    )),
    over(
        AGENTS,
        events(
            "attributes a sub-agent's work to the main session",
            "agent.attributed",
            |tape| {
                for key in ["agent_id", "parent_session_id"] {
                    for at in tape.all(&[&format!("\"{key}\":")]) {
                        let value = tape.field(at, key).unwrap_or_default().to_owned();
                        tape.replace(at, &format!(",\"{key}\":{value}"), "");
                    }
                }
            },
        ),
    ),
    events("runs tools after an interrupt", "interrupt.final", |tape| {
        if let Some(at) = tape.find(&["\"k\":\"tool.call\"", "\"tool\":\"Grep\""]) {
            let interrupt = without_record(tape, at, "meta", "\"label\":\"interrupt\"");
            tape.insert(at, interrupt);
        }
    }),
    over(
        CONTEXT,
        events("does not hash implicit context", "context.hashed", |tape| {
            if let Some(at) = tape.find(&["\"label\":\"context\"", "\"hash\":"]) {
                let hash = tape.field(at, "hash").unwrap_or_default().to_owned();
                tape.replace(at, &format!(",\"hash\":{hash}"), "");
            }
        }),
    ),
    over(
        CONTEXT,
        events("leaks a key", "context.secrets", |tape| {
            let secret = format!(
                "\"text\":\"ANTHROPIC_API_KEY=sk-ant-{}\",\"origin\"",
                "0".repeat(24)
            );
            change(
                tape,
                &["\"label\":\"context\"", "\"hash\":"],
                "\"origin\"",
                &secret,
            );
        }),
    ),
];

/// An event with the envelope of the one at an index, but without a record.
fn without_record(tape: &Tape, at: usize, kind: &str, fields: &str) -> String {
    let (head, rest) = tape.line(at).split_once("\"k\":").unwrap_or_default();
    let source = rest
        .split_once("\"source\":")
        .and_then(|(_, rest)| rest.split_once('}'))
        .unwrap_or_default()
        .0;
    format!(
        "{{\"seq\":90000{},\"k\":\"{kind}\",\"source\":{source}}},{fields}}}",
        head.split_once(',')
            .map(|(_, time)| format!(",{}", time.trim_end_matches(',')))
            .unwrap_or_default()
    )
}

/// The tape without the unknown members in its ledger.
fn without_unknown_members(tape: &str) -> String {
    match tape.split_once(",\"unknown_members\":[") {
        Some((before, rest)) => format!("{before}{}", rest.split_once(']').unwrap_or_default().1),
        None => tape.to_owned(),
    }
}

/// The tape with a hash whose seed is another one in each run.
fn with_random_branch(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let hash = RandomState::new().hash_one(input);
    set(
        &mut tape,
        &["\"label\":\"session\"", "\"repo_branch\""],
        "repo_branch",
        &format!("\"{hash}\""),
    );
    Ok(tape.text())
}

/// The tape with its first prompt once more for each line of the input that repeats the one before it.
fn with_repeated_prompts(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let lines: Vec<&str> = input.lines().collect();
    if let Some(at) = tape.find(&["\"k\":\"msg.in\""]) {
        lines
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .for_each(|_| tape.insert(at + 1, tape.line(at).to_owned()));
    }
    Ok(tape.sealed())
}

/// The tape without the events of records whose id a record of another line has.
fn without_shared_ids(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let mut lines: BTreeMap<String, String> = BTreeMap::new();
    let mut shared = Vec::new();
    for at in tape.all(&["\"origin\":", "\"id\":"]) {
        let Some(id) = tape
            .line(at)
            .rsplit_once("\"id\":\"")
            .and_then(|(_, rest)| rest.split_once('"'))
        else {
            continue;
        };
        let line = tape.field(at, "line").unwrap_or_default().to_owned();
        if *lines.entry(id.0.to_owned()).or_insert_with(|| line.clone()) != line {
            shared.push(at);
        }
    }
    shared
        .into_iter()
        .rev()
        .for_each(|at| drop(tape.remove(at)));
    Ok(tape.sealed())
}

/// The tape without the calls whose id an earlier call has.
fn without_repeated_ids(real: &Real, input: &str) -> Result<String, AdapterError> {
    let mut tape = Tape::of(&real.convert(input)?);
    let mut ids: Vec<String> = Vec::new();
    let mut repeated = Vec::new();
    for at in tape.all(&["\"k\":\"tool.call\""]) {
        let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
        if ids.contains(&id) {
            repeated.push(at)
        } else {
            ids.push(id)
        }
    }
    repeated
        .into_iter()
        .rev()
        .for_each(|at| drop(tape.remove(at)));
    Ok(tape.sealed())
}

/// The hash of the arguments of the call of a snippet, in place of its own.
fn hash_whole_arguments(tape: &mut Tape) {
    let Some(at) = tape.find(&[
        "\"k\":\"code.edit\"",
        "\"basis\":\"snippet\"",
        "\"before_hash\"",
    ]) else {
        return;
    };
    let id = tape.field(at, "call_id").unwrap_or_default().to_owned();
    let Some(call) = tape.find(&["\"k\":\"tool.call\"", &id]) else {
        return;
    };
    let call: serde_json::Value = serde_json::from_str(tape.line(call)).unwrap_or_default();
    let args = call["args"].as_str().unwrap_or_default();
    for (key, value) in [
        ("before_hash", format!("\"{}\"", Hash::of_text(args))),
        ("before_lines", args.lines().count().to_string()),
    ] {
        if let Some(old) = tape.field(at, key).map(str::to_owned) {
            tape.replace(
                at,
                &format!("\"{key}\":{old}"),
                &format!("\"{key}\":{value}"),
            );
        }
    }
}

/// The descriptor's matrix with other revisions.
pub fn matrix(descriptor: &AdapterDescriptor, revisions: Vec<Revision>) -> VersionMatrix {
    VersionMatrix {
        revisions: Box::leak(revisions.into_boxed_slice()),
        ..descriptor.matrix
    }
}
