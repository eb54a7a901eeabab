//! What really happened: the results that came, the files that changed, and the answers that were sent.

use regex::Regex;
use serde_json::json;

use super::{Asked, Inner, Sent};
use crate::sandbox::{differences, snapshot};
use crate::server::message::{Block, Dialect, Ending, Reply, Request};
use crate::tools::Call;
use crate::truth::{Answer, Counted, Edit, MadeCall, Returned};

/// Of longer results the ground truth has only so many characters.
const RESULT_CHARS: usize = 2000;

impl Inner {
    /// Looks at the project, keeps the results that came, and forgets the calls that they end.
    pub(super) fn take_results(&mut self, request: &Request) {
        self.look();
        for result in &request.results {
            // Two processes may share a session. Then one process may invent a result that the other process has not returned yet.
            let is_known =
                |known: &Returned| known.id == result.id && known.is_error == result.is_error;
            if result.id.is_some() && self.truth.results.iter().any(is_known) {
                continue;
            }
            self.learn(&result.text);
            let text = result.text.chars().take(RESULT_CHARS).collect();
            self.truth.results.push(Returned {
                id: result.id.clone(),
                tool: result.tool.clone(),
                text,
                is_error: result.is_error,
            });
            let ends = |sent: &Sent| match (&sent.id, &result.id) {
                (Some(sent), Some(id)) => sent == id,
                _ => Some(&sent.tool) == result.tool.as_ref(),
            };
            if let Some(at) = self.in_flight.iter().position(ends) {
                self.in_flight.remove(at);
            }
        }
    }

    /// Ids that results state and later calls need: of a shell or an agent in the background, of a session of a terminal.
    fn learn(&mut self, text: &str) {
        const IDS: &[(&str, &str)] = &[
            (
                "background_task",
                r"(?:running in (?:the )?background with ID|task_id|bash_id|shell_id|agentId|ID)[: ]+.?([a-z0-9_]{6,})",
            ),
            ("terminal", r"session[ _]ID[^A-Za-z0-9]{0,6}([0-9]+)"),
            (
                "agent",
                r"agent_id[^A-Za-z0-9]{1,8}([0-9a-f]{8}-[0-9a-f-]{27})",
            ),
        ];
        for (name, pattern) in IDS {
            let Some(found) = Regex::new(pattern)
                .ok()
                .and_then(|pattern| pattern.captures(text).map(|found| found[1].to_owned()))
            else {
                continue;
            };
            let value = found
                .parse::<u64>()
                .ok()
                .filter(|_| *name == "terminal")
                .map_or_else(|| json!(found), |number| json!(number));
            self.known.insert((*name).to_owned(), value);
        }
    }

    /// Attributes what has changed to the calls that were running.
    pub(super) fn look(&mut self) {
        let now = snapshot(&self.project);
        let running = if self.in_flight.is_empty() {
            &self.last_step
        } else {
            &self.in_flight
        };
        for name in differences(&self.files, &now) {
            let (before, after) = (self.files.get(name), now.get(name));
            self.truth.edits.push(Edit {
                call_ids: running.iter().map(|sent| sent.id.clone()).collect(),
                calls: running.iter().map(|sent| sent.place).collect(),
                tools: running.iter().map(|sent| sent.tool.clone()).collect(),
                file: name.to_owned(),
                before: before
                    .and_then(|state| state.text.as_deref())
                    .map(str::to_owned),
                after: after
                    .and_then(|state| state.text.as_deref())
                    .map(str::to_owned),
                before_sha256: before.map(|state| state.sha256.clone()),
                after_sha256: after.map(|state| state.sha256.clone()),
            });
        }
        self.files = now;
    }

    pub(super) fn keep(&mut self, asked: &Asked, dialect: Dialect, reply: &Reply) {
        if matches!(reply.ending, Ending::Refused { .. }) {
            return;
        }
        let (kind, thread) = match asked {
            Asked::Turn(key) if self.main.contains(key) => ("main".to_owned(), "main".to_owned()),
            Asked::Turn(key) => (format!("sub:{key}"), format!("sub:{key}")),
            Asked::Compaction => ("compact".to_owned(), "main".to_owned()),
            Asked::Aside => ("aux".to_owned(), "main".to_owned()),
        };
        let mut step = Vec::new();
        for block in &reply.blocks {
            let (channel, text) = match block {
                Block::Say(text, _) => ("text", text.as_str()),
                Block::Think(text) => ("reasoning", text.as_str()),
                Block::Call(id, call) => {
                    // One API gives calls no ids.
                    let id = (dialect != Dialect::GeminiGenerate).then(|| id.clone());
                    step.push(Sent {
                        id: id.clone(),
                        place: self.truth.calls.len(),
                        tool: call.tool.clone(),
                    });
                    self.truth.calls.push(made(id, call, &thread));
                    continue;
                }
                Block::Redacted(_) | Block::Item(_) => continue,
            };
            let (message_id, kind) = (reply.id.clone(), kind.clone());
            self.truth.answers.push(Answer {
                message_id,
                kind,
                channel: channel.to_owned(),
                text: text.to_owned(),
            });
        }
        // The turn has ended: what a person takes back at a terminal now is no call's.
        if step.is_empty() && self.in_flight.is_empty() && kind == "main" {
            self.last_step.clear();
        }
        self.truth.usage.push(Counted::new(reply, kind));
        self.in_flight.extend(step.iter().cloned());
        if !step.is_empty() {
            self.last_step = step;
        }
    }
}

fn made(id: Option<String>, call: &Call, thread: &str) -> MadeCall {
    MadeCall {
        id,
        tool: call.tool.clone(),
        args: call.args.clone(),
        thread: thread.to_owned(),
    }
}
