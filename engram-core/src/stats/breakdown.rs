//! Counts divided by time, model or tool, or several of them: one [`Stats`] for each value.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::io;
use std::sync::Arc;

use super::{Fact, NO_MODEL, Stats, TapeOf, fact, owned};
use crate::event::*;
use crate::sink::EventSink;

/// What counts are divided by.
#[derive(Clone)]
pub enum Split {
    /// The time of each event, as this function names it: a day, a week. [`NO_TIME`] if the log states none.
    Time(Arc<dyn Fn(&str) -> String + Send + Sync>),
    /// The model. Only responses and their tokens have one.
    Model,
    /// The tool. Only calls, and the edits of calls, have one.
    Tool,
}

impl fmt::Debug for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Split::Time(_) => "Time",
            Split::Model => "Model",
            Split::Tool => "Tool",
        })
    }
}

/// The value of events whose log states no time.
pub const NO_TIME: &str = "unknown";

/// One value for each [`Split`].
type Values = Vec<String>;

/// A sink that counts by [`Split`]. It can take any number of tapes, one after the other.
///
/// A tape counts as a session of every value that one of its events has. An event counts if it has a value for every split. The total that a
/// log states for a session is not divided: [`Costs::give_totals`](super::Costs::give_totals).
#[derive(Debug)]
pub struct Breakdown {
    splits: Vec<Split>,
    groups: BTreeMap<Values, Stats>,
    tape: Tape,
}

/// The state of the current tape.
#[derive(Debug, Default)]
struct Tape {
    /// Whose tape it is; `None` before `tape.start`.
    of: Option<TapeOf>,
    model: Option<String>,
    /// The values of each call. Its result and edits belong there, too.
    calls: HashMap<Seq, Values>,
    /// The values that have an event of this tape.
    values: HashSet<Values>,
}

impl Breakdown {
    /// A sink without counts.
    pub fn new(splits: Vec<Split>) -> Breakdown {
        Breakdown {
            splits,
            groups: BTreeMap::new(),
            tape: Tape::default(),
        }
    }

    /// The counts by their values, in the order of the splits.
    pub fn into_groups(self) -> BTreeMap<Vec<String>, Stats> {
        self.groups
    }

    /// The values that an event has by itself. `None` if it lacks one.
    fn values(&self, record: &EventRef<'_>, fact: &Fact) -> Option<Values> {
        let value = |split: &Split| match (split, fact) {
            (Split::Time(_), _) if record.t_basis == Some(TimeBasis::Absent) => {
                Some(NO_TIME.to_owned())
            }
            (Split::Time(name), _) => Some(name(record.t)),
            (Split::Model, Fact::Usage(response)) => Some(
                response
                    .model
                    .clone()
                    .or_else(|| self.tape.model.clone())
                    .unwrap_or_else(|| NO_MODEL.to_owned()),
            ),
            (Split::Tool, _) => match record.event {
                Event::ToolCall(call) => Some(owned(call.tool)),
                _ => None,
            },
            (Split::Model, _) => None,
        };
        self.splits.iter().map(value).collect()
    }

    /// Counts what an event says.
    fn count(&mut self, record: &EventRef<'_>, fact: Fact) {
        match &fact {
            Fact::Tape(of) => {
                self.tape = Tape {
                    of: Some(*of),
                    ..Tape::default()
                };
                return;
            }
            Fact::Session(said) => {
                self.tape.model = said.model.clone().or(self.tape.model.take());
                return;
            }
            _ => {}
        }
        let call = record.parent.and_then(|call| self.tape.calls.get(&call));
        let values = match &fact {
            Fact::Result(..) => call.cloned(),
            fact => self.values(record, fact).or_else(|| call.cloned()),
        };
        let Some(values) = values else { return };
        if let Fact::Call(seq, _) = fact {
            self.tape.calls.insert(seq, values.clone());
        }
        let stats = self.groups.entry(values.clone()).or_default();
        if self.tape.values.insert(values) {
            let of = self.tape.of.unwrap_or_else(|| TapeOf::agent_of(None, None));
            stats.count(Fact::Tape(of));
        }
        stats.note_agent(record);
        stats.count(match (fact, &self.tape.model) {
            (Fact::Usage(response), Some(model)) => Fact::Usage(response.with_model(model)),
            (fact, _) => fact,
        });
    }
}

impl EventSink for Breakdown {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Some(fact) = fact(record) {
            self.count(record, fact);
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

    fn groups(splits: Vec<Split>, lines: &[(&str, &str)]) -> BTreeMap<String, Counts> {
        let line = |(seq, (t, rest)): (usize, &(&str, &str))| {
            let rest = rest.replacen("\",", "\",\"source\":{\"harness\":\"toy\"},", 1);
            format!("{{\"seq\":{seq},\"t\":\"{t}T03:04:05Z\",{rest}\n")
        };
        let tape: String = lines.iter().enumerate().map(line).collect();
        let mut sink = Breakdown::new(splits);
        replay(tape.as_bytes(), &mut sink).unwrap();
        sink.into_groups()
            .into_iter()
            .map(|(values, stats)| (values.join(" "), stats.counts()))
            .collect()
    }

    fn by_day() -> Split {
        Split::Time(Arc::new(|time| time[..10].to_owned()))
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
            vec![by_day()],
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
        let by_tool = groups(
            vec![Split::Tool],
            &[("2026-01-02", CALL), ("2026-01-02", EDIT)],
        );
        assert_eq!(
            (
                by_tool["Edit"].files_edited,
                by_tool["Edit"].calls["edit"].len()
            ),
            (1, 1)
        );
    }

    #[test]
    fn what_has_no_time_keeps_its_model() {
        let usage = |basis: &str| {
            format!(r#""k":"meta","label":"usage",{basis}"model":"m","tokens":{{"input":3}}}}"#)
        };
        let (dated, undated) = (usage(""), usage(r#""t_basis":"absent","#));
        let found = groups(
            vec![by_day(), Split::Model],
            &[("2026-01-02", &dated), ("2026-01-02", &undated)],
        );
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            ["2026-01-02 m", "unknown m"]
        );
    }

    #[test]
    fn tokens_belong_to_the_model_of_the_response_or_of_the_session() {
        let by_model = groups(
            vec![Split::Model],
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

    #[test]
    fn an_event_counts_where_it_has_a_value_for_every_split() {
        let usage = r#""k":"meta","label":"usage","model":"m","tokens":{"input":3}}"#;
        let lines = [
            ("2026-01-02", usage),
            ("2026-01-03", usage),
            ("2026-01-03", CALL),
        ];
        let by_both = groups(vec![by_day(), Split::Model], &lines);
        assert_eq!(
            by_both.keys().collect::<Vec<_>>(),
            ["2026-01-02 m", "2026-01-03 m"]
        );
        assert_eq!(by_both["2026-01-03 m"].tokens["m"].input, Some(3));
        assert!(by_both["2026-01-03 m"].calls.is_empty());
    }
}
