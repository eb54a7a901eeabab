//! The functions of the views that give costs. The rule is that of `engram_core::stats::Costs`, which `engram stats` uses, too.

use std::sync::Arc;

use engram_core::prices::Prices;
use engram_core::stats::{Cost, Costs, TapeCost};
use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags, SqlFnOutput};

/// The names of the functions.
pub const FUNCTIONS: [&str; 5] = [
    "without_cost",
    "computed_usd",
    "computed_after_total_usd",
    "session_cost",
    "session_cost_basis",
];

/// Gives a connection the functions. Costs that no log states are computed with these prices.
///
/// # Errors
/// As SQLite gives them.
pub fn make(db: &Connection, prices: &Arc<Prices>) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let [without_cost, computed, after_total, cost, basis] = FUNCTIONS;
    db.create_scalar_function(without_cost, 2, flags, |values| {
        let model: Option<String> = values.get(1)?;
        let tape = tape_cost(values.get(0)?);
        Ok(tape.map_or(0, |tape| tape.responses_without_cost(model.as_deref())))
    })?;
    let with = Arc::clone(prices);
    db.create_scalar_function(computed, 2, flags, move |values| {
        let model: Option<String> = values.get(1)?;
        let tape = tape_cost(values.get(0)?);
        Ok(tape.and_then(|tape| tape.computed_usd(model.as_deref(), &with)))
    })?;
    let with = Arc::clone(prices);
    db.create_scalar_function(after_total, 1, flags, move |values| {
        let tape = tape_cost(values.get(0)?);
        Ok(tape.and_then(|tape| tape.computed_after_total_usd(&with)))
    })?;
    let usd = OfSession(Arc::clone(prices), |cost| cost.usd);
    db.create_aggregate_function(cost, 2, flags, usd)?;
    let word = OfSession(Arc::clone(prices), |cost| cost.basis.map(|it| it.as_str()));
    db.create_aggregate_function(basis, 2, flags, word)
}

/// What a tape says about costs. What cannot be read is unknown.
fn tape_cost(json: Option<String>) -> Option<TapeCost> {
    serde_json::from_str(&json?).ok()
}

/// A part of what tapes cost together: of a session, and of its sub-agents that are sessions of their own.
struct OfSession<T>(Arc<Prices>, fn(Cost) -> T);

impl<T: SqlFnOutput> Aggregate<Costs, T> for OfSession<T> {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Costs> {
        Ok(Costs::default())
    }

    fn step(&self, values: &mut Context<'_>, costs: &mut Costs) -> rusqlite::Result<()> {
        let (tape, session) = (tape_cost(values.get(0)?), values.get::<Option<i64>>(1)?);
        let session = session.map(i64::cast_unsigned);
        tape.into_iter().for_each(|tape| costs.begin(session, tape));
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, costs: Option<Costs>) -> rusqlite::Result<T> {
        Ok(self.1(costs.unwrap_or_default().cost(&self.0)))
    }
}
