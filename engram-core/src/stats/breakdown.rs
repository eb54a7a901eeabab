//! Counts divided by time, model or tool: one [`Stats`] for each value.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::{Fact, NO_MODEL, Stats, TapeOf, fact, owned};
use crate::event::*;
use crate::sink::EventSink;

/// What counts are divided by.
#[derive(Debug, Clone, Copy)]
pub enum Split {
    /// The time of each event, as this function names it: a day, a week.
    Time(fn(&str) -> String),
    /// The model. Only responses and their tokens have one.
    Model,
    /// The tool. Only calls, and the edits of calls, have one.
    Tool,
}

/// A sink that counts by [`Split`]. It can take any number of tapes, one after the other.
///
/// A tape counts as a session of every value that one of its events has.
#[derive(Debug)]
pub struct Breakdown {
    split: Split,
    groups: BTreeMap<String, Stats>,
    tape: Tape,
}

/// The state of the current tape.
#[derive(Debug, Default)]
struct Tape {
    /// Whose tape it is; `None` before `tape.start`.
    of: Option<TapeOf>,
    model: Option<String>,
    /// The value of each call. Its result and edits belong there, too.
    calls: HashMap<Seq, String>,
    /// The values that have an event of this tape.
    values: Vec<String>,
}

impl Breakdown {
    /// A sink without counts.
    pub fn new(split: Split) -> Breakdown {
        Breakdown {
            split,
            groups: BTreeMap::new(),
            tape: Tape::default(),
        }
    }

    /// The counts by value.
    pub fn into_groups(self) -> BTreeMap<String, Stats> {
        self.groups
    }

    fn value(&self, record: &EventRef<'_>) -> Option<String> {
        match (self.split, record.event) {
            (Split::Time(name), _) => {
                (record.t_basis != Some(TimeBasis::Absent)).then(|| name(record.t))
            }
            (Split::Tool, Event::ToolCall(call)) => Some(owned(call.tool)),
            (Split::Tool | Split::Model, _) => None,
        }
    }

    /// Counts what an event says. `value` is its value, if the event has it by itself.
    fn count(&mut self, value: Option<String>, parent: Option<Seq>, fact: Fact) {
        match &fact {
            Fact::Tape(of) => {
                self.tape = Tape {
                    of: Some(*of),
                    ..Tape::default()
                };
                return;
            }
            Fact::Model(model) => return self.tape.model = Some(model.clone()),
            _ => {}
        }
        let of_call = || parent.and_then(|call| self.tape.calls.get(&call).cloned());
        let value = match (self.split, &fact) {
            (Split::Model, Fact::Usage(model, _)) => Some(
                model
                    .clone()
                    .or_else(|| self.tape.model.clone())
                    .unwrap_or_else(|| NO_MODEL.to_owned()),
            ),
            (Split::Model, _) => None,
            (_, Fact::Result(..)) => of_call(),
            _ => value.or_else(of_call),
        };
        let Some(value) = value else { return };
        if let Fact::Call(seq, _) = fact {
            self.tape.calls.insert(seq, value.clone());
        }
        let stats = self.groups.entry(value.clone()).or_default();
        if !self.tape.values.contains(&value) {
            stats.count(Fact::Tape(self.tape.of.unwrap_or(TapeOf {
                is_sub_agent: false,
                id: None,
            })));
            self.tape
                .model
                .iter()
                .for_each(|model| stats.count(Fact::Model(model.clone())));
            self.tape.values.push(value);
        }
        stats.count(fact);
    }
}

impl EventSink for Breakdown {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Some(fact) = fact(record) {
            self.count(self.value(record), record.parent, fact);
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.groups.values_mut().try_for_each(EventSink::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Counts;
    use crate::tape::replay;

    fn groups(split: Split, lines: &[(&str, &str)]) -> BTreeMap<String, Counts> {
        let line = |(seq, (t, rest)): (usize, &(&str, &str))| {
            let rest = rest.replacen("\",", "\",\"source\":{\"harness\":\"toy\"},", 1);
            format!("{{\"seq\":{seq},\"t\":\"{t}T03:04:05Z\",{rest}\n")
        };
        let tape: String = lines.iter().enumerate().map(line).collect();
        let mut sink = Breakdown::new(split);
        replay(tape.as_bytes(), &mut sink).unwrap();
        sink.into_groups()
            .into_iter()
            .map(|(value, stats)| (value, stats.counts()))
            .collect()
    }

    const CALL: &str = r#""k":"tool.call","tool":"Edit","kind":"edit","call_id":"1"}"#;
    const EDIT: &str = r#""k":"code.edit","op":"update","file":"f","parent":0}"#;

    #[test]
    fn a_result_and_an_edit_belong_to_the_value_of_their_call() {
        let result = (
            r#"2026-01-03"#,
            r#""k":"tool.result","status":"ok","parent":0}"#,
        );
        let by_day = groups(
            Split::Time(|time| time[..10].to_owned()),
            &[("2026-01-02", CALL), result, ("2026-01-03", EDIT)],
        );
        assert_eq!(
            by_day["2026-01-02"].calls["edit"],
            BTreeMap::from([("ok", 1)])
        );
        assert_eq!(
            (
                by_day["2026-01-02"].sessions,
                by_day["2026-01-03"].edits["update"]
            ),
            (1, 1)
        );
        let by_tool = groups(Split::Tool, &[("2026-01-02", CALL), ("2026-01-02", EDIT)]);
        assert_eq!(
            (
                by_tool["Edit"].files_edited,
                by_tool["Edit"].calls["edit"].len()
            ),
            (1, 1)
        );
    }

    #[test]
    fn tokens_belong_to_the_model_of_the_response_or_of_the_session() {
        let by_model = groups(
            Split::Model,
            &[
                ("2026-01-02", r#""k":"meta","label":"session","model":"m"}"#),
                (
                    "2026-01-02",
                    r#""k":"meta","label":"usage","tokens":{"input":3}}"#,
                ),
                (
                    "2026-01-02",
                    r#""k":"meta","label":"usage","model":"n","tokens":{"input":1}}"#,
                ),
                ("2026-01-02", CALL),
            ],
        );
        assert_eq!(by_model.keys().collect::<Vec<_>>(), ["m", "n"]);
        assert_eq!(
            (
                by_model["m"].tokens["m"].input,
                by_model["n"].tokens["n"].input
            ),
            (Some(3), Some(1))
        );
    }
}
