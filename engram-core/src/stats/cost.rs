//! What sessions cost: what their logs state, and what is computed from their tokens.
//!
//! A log states costs in two ways: of a response, or of a session so far. They are never added. The cost of a session is
//!
//! 1. the sum over its responses, if each of them states its cost; else
//! 2. the largest total that the log states, with the cost of the responses after it. A total contains the sub-agents of the session, and
//!    requests that the log does not show. The total of a copy contains that of the session that it was copied from, too, and the log does not
//!    say how much of it: the total of a copy counts nothing; else
//! 3. the sum over its responses: what they state, and what is computed where they state nothing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::tokens::{MAX_COST, TokenCounts, is_false};
use crate::prices::{Prices, tier_of};

/// What one tape says about costs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct TapeCost {
    /// It is the tape of a sub-agent, which the total of its session contains.
    #[serde(skip_serializing_if = "is_false")]
    pub is_sub_agent: bool,
    /// It is the tape of a copy: its log goes on with the total of another session.
    #[serde(skip_serializing_if = "is_false")]
    pub is_copy: bool,
    /// The largest total that the log states for the session, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_usd: Option<f64>,
    /// The responses up to that total, by model.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub before: BTreeMap<String, Spent>,
    /// The responses after that total, or all if there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub after: BTreeMap<String, Spent>,
}

/// What responses of one model cost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Spent {
    /// The sum of what they state, in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stated_usd: Option<f64>,
    /// The tokens of those that state no cost, by [tier](crate::prices::tier_of).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unpriced: BTreeMap<usize, TokenCounts>,
}

/// A cost in US dollars.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The amount; `None` if nothing is known of it.
    pub usd: Option<f64>,
    /// Where the amount comes from.
    pub basis: Option<Basis>,
    /// The amount is at least so much: a response has neither a cost nor a price, or not all of its tokens are known.
    pub is_partial: bool,
    /// The models without a price.
    pub unpriced: BTreeSet<String>,
}

/// Where a cost comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The log states it.
    Stated,
    /// It is computed from tokens and a table of prices.
    Computed,
    /// A part of it is stated, the rest computed.
    Mixed,
}

impl Basis {
    /// Its word in answers.
    pub const fn as_str(self) -> &'static str {
        match self {
            Basis::Stated => "stated",
            Basis::Computed => "computed",
            Basis::Mixed => "mixed",
        }
    }
}

impl TapeCost {
    /// True if the tape says nothing about costs.
    pub fn is_empty(&self) -> bool {
        self.total_usd.is_none() && self.responses().next().is_none()
    }

    pub(super) fn total(&mut self, usd: f64) {
        if self.is_copy || self.total_usd.is_some_and(|known| known >= usd) {
            return;
        }
        self.total_usd = Some(usd);
        for (model, spent) in std::mem::take(&mut self.after) {
            self.before.entry(model).or_default().add(&spent);
        }
    }

    /// The session was copied from another one. The log may say so behind totals.
    pub(super) fn copied(&mut self) {
        self.is_copy = true;
        self.total_usd = None;
    }

    pub(super) fn response(&mut self, model: &str, tokens: TokenCounts) {
        let spent = self.after.entry(model.to_owned()).or_default();
        match tokens.cost_usd {
            Some(cost) => spent.add_stated(cost),
            None => spent
                .unpriced
                .entry(tier_of(&tokens))
                .or_default()
                .add(tokens),
        }
    }

    /// The number of its responses that state no cost: of one model, or of all.
    pub fn responses_without_cost(&self, model: Option<&str>) -> u64 {
        let of_model = self.responses().filter(|(name, _)| is_of(name, model));
        let tokens = of_model.flat_map(|(_, spent)| spent.unpriced.values());
        tokens.fold(0, |sum, tokens| sum.saturating_add(tokens.responses))
    }

    /// What its responses that state no cost cost by their tokens, in US dollars: of one model, or of all. `None` if nothing can be computed.
    pub fn computed_usd(&self, model: Option<&str>, prices: &Prices) -> Option<f64> {
        computed(
            self.responses().filter(|(name, _)| is_of(name, model)),
            prices,
        )
    }

    /// As [`TapeCost::computed_usd`], of the responses after the largest total. `None` for a sub-agent: the total of its session has its costs.
    pub fn computed_after_total_usd(&self, prices: &Prices) -> Option<f64> {
        let after = self.after.iter();
        computed(after, prices).filter(|_| !self.is_sub_agent)
    }

    fn responses(&self) -> impl Iterator<Item = (&String, &Spent)> {
        self.before.iter().chain(&self.after)
    }
}

/// True if responses with this name are of the model: the name may have a service tier behind the model.
fn is_of(name: &str, model: Option<&str>) -> bool {
    let Some(rest) = model.map_or(Some(""), |model| name.strip_prefix(model)) else {
        return false;
    };
    rest.is_empty() || (rest.starts_with(" (") && rest.ends_with(')'))
}

/// A sum of decimal fractions without the error of its binary form: `0.3`, and not `0.30000000000000004`.
fn in_nanos(usd: f64) -> f64 {
    let usd = usd.clamp(-MAX_COST, MAX_COST);
    (usd * 1e9).round() / 1e9
}

fn computed<'s>(
    responses: impl Iterator<Item = (&'s String, &'s Spent)>,
    prices: &Prices,
) -> Option<f64> {
    let mut sum = Cost::default();
    responses.for_each(|(model, spent)| sum.add(&Cost::computed(model, spent, prices)));
    sum.usd
}

impl Spent {
    fn add_stated(&mut self, usd: f64) {
        self.stated_usd = Some(self.stated_usd.unwrap_or_default() + usd);
    }

    fn add(&mut self, more: &Spent) {
        more.stated_usd
            .into_iter()
            .for_each(|usd| self.add_stated(usd));
        for (tier, tokens) in &more.unpriced {
            self.unpriced.entry(*tier).or_default().add(*tokens);
        }
    }
}

impl Cost {
    fn stated(usd: f64) -> Cost {
        Cost {
            usd: Some(in_nanos(usd)),
            basis: Some(Basis::Stated),
            ..Cost::default()
        }
    }

    /// Adds another cost.
    pub fn add(&mut self, more: &Cost) {
        self.usd = match (self.usd, more.usd) {
            (Some(one), Some(other)) => Some(in_nanos(one + other)),
            (one, other) => one.or(other),
        };
        self.basis = match (self.basis, more.basis) {
            (Some(one), Some(other)) if one != other => Some(Basis::Mixed),
            (one, other) => one.or(other),
        };
        self.is_partial |= more.is_partial;
        self.unpriced.extend(more.unpriced.iter().cloned());
    }

    /// What responses of one model cost.
    fn of(model: &str, spent: &Spent, prices: &Prices) -> Cost {
        let mut cost = spent.stated_usd.map(Cost::stated).unwrap_or_default();
        cost.add(&Cost::computed(model, spent, prices));
        cost
    }

    /// What responses of one model cost that do not state it.
    fn computed(model: &str, spent: &Spent, prices: &Prices) -> Cost {
        let mut sum = Cost::default();
        for (tier, tokens) in &spent.unpriced {
            let Some((_, is_partial)) = tokens.all() else {
                sum.is_partial = true;
                continue;
            };
            match prices.cost(model, *tier, tokens) {
                Some(usd) => sum.add(&Cost {
                    basis: Some(Basis::Computed),
                    is_partial,
                    ..Cost::stated(usd)
                }),
                None => {
                    sum.is_partial = true;
                    sum.unpriced.insert(model.to_owned());
                }
            }
        }
        sum
    }
}

/// The tapes of sessions, with what they say about costs.
#[derive(Debug, Clone, Default)]
pub struct Costs {
    /// By session.
    named: BTreeMap<u64, Vec<TapeCost>>,
    /// Those that name no session.
    unnamed: Vec<TapeCost>,
}

impl Costs {
    /// Begins a tape, of this session.
    pub fn begin(&mut self, session: Option<u64>, tape: TapeCost) {
        self.tapes(session).push(tape);
    }

    /// The last tape of this session.
    pub(super) fn last(&mut self, session: Option<u64>) -> &mut TapeCost {
        let tapes = self.tapes(session);
        if tapes.is_empty() {
            tapes.push(TapeCost::default());
        }
        let last = tapes.len() - 1;
        &mut tapes[last]
    }

    fn tapes(&mut self, session: Option<u64>) -> &mut Vec<TapeCost> {
        match session {
            Some(session) => self.named.entry(session).or_default(),
            None => &mut self.unnamed,
        }
    }

    /// Adds other tapes.
    pub fn add(&mut self, more: &Costs) {
        for (session, tapes) in &more.named {
            self.tapes(Some(*session)).extend_from_slice(tapes);
        }
        self.unnamed.extend_from_slice(&more.unnamed);
    }

    /// All tapes.
    pub fn into_tapes(self) -> impl Iterator<Item = TapeCost> {
        self.named.into_values().flatten().chain(self.unnamed)
    }

    /// What the sessions cost together.
    pub fn cost(&self, prices: &Prices) -> Cost {
        let mut sum = Cost::default();
        self.sessions()
            .for_each(|tapes| sum.add(&session_cost(tapes, prices)));
        sum
    }

    /// What the responses of each model cost. The total of a session is the cost of its model if it has one; else it cannot be divided, and
    /// its responses count alone.
    pub fn by_model(&self, prices: &Prices) -> BTreeMap<String, Cost> {
        let mut sums: BTreeMap<String, Cost> = BTreeMap::new();
        for tapes in self.sessions() {
            let responses = || tapes.iter().flat_map(TapeCost::responses);
            let models: BTreeSet<&String> = responses().map(|(model, _)| model).collect();
            if let ([_, ..], 1) = (tapes, models.len()) {
                let model = models
                    .first()
                    .map(|model| (*model).clone())
                    .unwrap_or_default();
                sums.entry(model)
                    .or_default()
                    .add(&session_cost(tapes, prices));
                continue;
            }
            for (model, spent) in responses() {
                let cost = Cost::of(model, spent, prices);
                sums.entry(model.clone()).or_default().add(&cost);
            }
        }
        sums
    }

    /// Takes the totals of sessions that are in one of `groups` alone: each group has only responses of its own. What is divided among several
    /// groups has no total, since the log does not state parts of it.
    pub fn give_totals<'g>(&self, groups: impl Iterator<Item = &'g mut Costs>) {
        let mut groups: Vec<&mut Costs> = groups.collect();
        for (session, tapes) in &self.named {
            if tapes.iter().all(|tape| tape.total_usd.is_none()) {
                continue;
            }
            let has = |costs: &Costs| {
                let mut tapes = costs.named.get(session).into_iter().flatten();
                tapes.any(|tape| tape.responses().next().is_some())
            };
            let mut with = groups.iter_mut().filter(|group| has(group));
            if let (Some(only), None) = (with.next(), with.next()) {
                only.named.insert(*session, tapes.clone());
            }
        }
    }

    fn sessions(&self) -> impl Iterator<Item = &[TapeCost]> {
        let unnamed = self.unnamed.iter().map(std::slice::from_ref);
        self.named.values().map(Vec::as_slice).chain(unnamed)
    }
}

/// What one session costs, by the rule of this module.
fn session_cost(tapes: &[TapeCost], prices: &Prices) -> Cost {
    let mut of_responses = Cost::default();
    for (model, spent) in tapes.iter().flat_map(TapeCost::responses) {
        of_responses.add(&Cost::of(model, spent, prices));
    }
    let totals = || {
        tapes
            .iter()
            .filter_map(|tape| Some((tape, tape.total_usd?)))
    };
    let Some((with_total, total)) = totals().max_by(|(_, one), (_, other)| one.total_cmp(other))
    else {
        return of_responses;
    };
    if of_responses.basis == Some(Basis::Stated) && !of_responses.is_partial {
        return of_responses;
    }
    let mut cost = Cost::stated(total);
    // Of several captures of one session, each states the total of its run or of all runs so far: the log does not tell which.
    cost.is_partial = totals().count() > 1;
    for tape in tapes {
        let is_counted = std::ptr::eq(tape, with_total) || tape.total_usd.is_none();
        if !is_counted || tape.is_sub_agent {
            continue;
        }
        for (model, spent) in &tape.after {
            cost.add(&Cost::computed(model, spent, prices));
        }
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(input: u64, cost_usd: Option<f64>) -> TokenCounts {
        TokenCounts {
            responses: 1,
            input: Some(input),
            output: Some(0),
            cost_usd,
            ..TokenCounts::default()
        }
    }

    fn prices() -> Prices {
        Prices::parse("model\tinput\toutput\nm\t1\t1\nn\t2\t2\n").unwrap()
    }

    const MILLION: u64 = 1_000_000;

    #[test]
    fn sums_are_decimal() {
        let sum = |costs: &[f64]| {
            let mut sum = Cost::default();
            costs.iter().for_each(|usd| sum.add(&Cost::stated(*usd)));
            sum.usd
        };
        assert_eq!(sum(&[0.1, 0.2]), Some(0.3));
        assert_eq!(sum(&[0.1 + 0.2]), Some(0.3));
        assert_eq!(sum(&[MAX_COST, MAX_COST]), Some(MAX_COST));
    }

    fn tape(build: impl FnOnce(&mut TapeCost)) -> TapeCost {
        let mut tape = TapeCost::default();
        build(&mut tape);
        tape
    }

    fn of(tapes: &[TapeCost]) -> (Option<f64>, Option<Basis>, bool) {
        let cost = session_cost(tapes, &prices());
        (cost.usd, cost.basis, cost.is_partial)
    }

    #[test]
    fn a_total_and_the_costs_of_responses_are_never_added() {
        let total_first = tape(|tape| {
            tape.total(0.5);
            tape.response("m", response(MILLION, Some(0.25)));
            tape.response("m", response(MILLION, Some(0.25)));
        });
        assert_eq!(of(&[total_first]), (Some(0.5), Some(Basis::Stated), false));
        let total_last = tape(|tape| {
            tape.response("m", response(MILLION, None));
            tape.response("m", response(MILLION, Some(0.25)));
            tape.total(0.5);
        });
        assert_eq!(of(&[total_last]), (Some(0.5), Some(Basis::Stated), false));
    }

    #[test]
    fn responses_after_the_largest_total_are_added_to_it() {
        let tape = tape(|tape| {
            tape.response("m", response(MILLION, None));
            tape.total(3.0);
            tape.response("m", response(MILLION, None));
            // Another process on the same session, which did not see the total of the first.
            tape.total(2.0);
        });
        assert_eq!(of(&[tape]), (Some(4.0), Some(Basis::Mixed), false));
    }

    #[test]
    fn a_total_contains_the_sub_agents_of_its_session() {
        let own = tape(|tape| {
            tape.response("m", response(MILLION, None));
            tape.total(5.0);
        });
        let agent = TapeCost {
            is_sub_agent: true,
            ..tape(|tape| tape.response("n", response(MILLION, None)))
        };
        assert_eq!(
            of(&[own.clone(), agent.clone()]),
            (Some(5.0), Some(Basis::Stated), false)
        );
        assert_eq!(
            of(std::slice::from_ref(&agent)),
            (Some(2.0), Some(Basis::Computed), false)
        );
        let mut costs = Costs::default();
        costs.begin(Some(1), own);
        costs.begin(Some(1), agent);
        let by_model = costs.by_model(&prices());
        assert_eq!(
            (by_model["m"].usd, by_model["n"].usd),
            (Some(1.0), Some(2.0)),
            "two models: not divided"
        );
    }

    #[test]
    fn the_total_of_a_copy_counts_nothing() {
        let origin = tape(|tape| {
            tape.response("m", response(MILLION, None));
            tape.total(5.0);
        });
        let copy = |is_said_late: bool| {
            tape(|tape| {
                if !is_said_late {
                    tape.copied();
                }
                tape.response("m", response(MILLION, None));
                tape.total(6.5);
                tape.response("m", response(MILLION, None));
                if is_said_late {
                    tape.copied();
                }
            })
        };
        for is_said_late in [false, true] {
            let mut costs = Costs::default();
            costs.begin(Some(1), origin.clone());
            costs.begin(Some(2), copy(is_said_late));
            let cost = costs.cost(&prices());
            assert_eq!((cost.usd, cost.basis), (Some(7.0), Some(Basis::Mixed)));
        }
    }

    #[test]
    fn the_parts_of_a_tape_are_those_of_its_cost() {
        let tape = tape(|tape| {
            tape.response("m", response(MILLION, None));
            tape.response("m", response(MILLION, Some(0.25)));
            tape.total(5.0);
            tape.response("m (flex)", response(MILLION, None));
            tape.response("mm", response(MILLION, None));
            tape.response("n", response(MILLION, None));
        });
        let [all, m, n, x] = [None, Some("m"), Some("n"), Some("x")].map(|model| {
            let usd = tape.computed_usd(model, &prices());
            (usd, tape.responses_without_cost(model))
        });
        assert_eq!(
            [all, m, n, x],
            [(Some(3.0), 4), (Some(1.0), 2), (Some(2.0), 1), (None, 0)]
        );
        assert_eq!(tape.computed_after_total_usd(&prices()), Some(2.0));
        let agent = TapeCost {
            is_sub_agent: true,
            ..tape
        };
        assert_eq!(agent.computed_after_total_usd(&prices()), None);
    }

    #[test]
    fn a_model_without_a_price_is_named_and_its_cost_is_unknown() {
        let tape = tape(|tape| tape.response("x", response(MILLION, None)));
        let cost = session_cost(&[tape], &prices());
        assert_eq!((cost.usd, cost.is_partial), (None, true));
        assert_eq!(cost.unpriced, BTreeSet::from(["x".to_owned()]));
    }

    #[test]
    fn a_total_belongs_to_a_group_that_has_the_whole_session() {
        let tape_of = |total: bool| {
            tape(|tape| {
                tape.response("m", response(MILLION, None));
                if total {
                    tape.total(7.0);
                }
            })
        };
        let costs = |sessions: &[(u64, bool)]| {
            let mut costs = Costs::default();
            sessions
                .iter()
                .for_each(|(id, total)| costs.begin(Some(*id), tape_of(*total)));
            costs
        };
        let all = costs(&[(1, true), (2, true)]);
        let mut groups = [costs(&[(1, false), (2, false)]), costs(&[(2, false)])];
        all.give_totals(groups.iter_mut());
        let cost = |at: usize| groups[at].cost(&prices()).usd;
        assert_eq!([cost(0), cost(1)], [Some(8.0), Some(1.0)]);
    }
}
