//! What sessions cost, as the answers show it: `1.20`, `~1.20` if it is computed, with `+` if a part of it is unknown.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use engram_command::keys::Keys;
use engram_command::report::Reporter;
use engram_command::small_file;
use engram_core::error::{AdapterError, ErrorCode};
#[cfg(feature = "parquet")]
use engram_core::hash::Hash;
use engram_core::prices::{BadPrices, Prices};
use engram_core::stats::{Basis, Cost};
use serde_json::{Map, Value, json};

/// The model of responses that name none, as counts call it.
const UNNAMED: &str = "unknown";

/// The largest table of prices, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// Where prices come from.
#[derive(Debug, Clone, Default, Args)]
pub struct PriceTable {
    /// Prices of your own: a table with the columns of engram-core/src/prices.tsv, of which `model`, `input` and `output` must be there (US
    /// dollars per million tokens, separated by tabs). Models that it lacks have the built-in price
    #[arg(long = "prices", value_name = "FILE")]
    file: Option<PathBuf>,
}

impl PriceTable {
    /// A hash of the table, by which one is known again.
    ///
    /// # Errors
    /// If the file cannot be read.
    #[cfg(feature = "parquet")]
    pub fn hash(&self) -> Result<String, AdapterError> {
        let own = self.own()?.unwrap_or_default();
        let text = [&own[..], Prices::BUILTIN.as_bytes()].concat();
        Ok(Hash::of_bytes(&text).to_string())
    }

    /// The prices.
    ///
    /// # Errors
    /// If the file cannot be read, or is no table of prices.
    pub fn load(&self) -> Result<Cow<'static, Prices>, AdapterError> {
        let Some(own) = self.own()? else {
            return Ok(Cow::Borrowed(Prices::builtin()));
        };
        let text = small_file::text(own).map_err(|error| bad_prices(&error.to_string()));
        let own = text.and_then(|text| Prices::parse(&text).map_err(of_fault));
        let own = own.map_err(|error| error.path(self.path().to_string_lossy()))?;
        Ok(Cow::Owned(own.or(Prices::builtin())))
    }

    /// The bytes of the file, if there is one.
    fn own(&self) -> Result<Option<Vec<u8>>, AdapterError> {
        if self.file.is_none() {
            return Ok(None);
        }
        let read = small_file::bytes(self.path(), MAX_BYTES).map(Some);
        read.map_err(|error| small_file::error(error, self.path()))
    }

    fn path(&self) -> &Path {
        self.file.as_deref().unwrap_or(Path::new(""))
    }
}

fn bad_prices(what: &str) -> AdapterError {
    AdapterError::new(ErrorCode::BadPrices).found(what)
}

fn of_fault(fault: BadPrices) -> AdapterError {
    bad_prices(&fault.what).line(fault.line as u64)
}

/// The amount in a table; empty if nothing is known of it.
pub fn cell(cost: &Cost) -> String {
    let Some(usd) = cost.usd else {
        return String::new();
    };
    let mark = if is_computed(cost) { "~" } else { "" };
    let more = if cost.is_partial { "+" } else { "" };
    match usd {
        // An amount that would look like nothing.
        usd if usd > 0.0 && usd < 0.005 => format!("{mark}{usd:.4}{more}"),
        usd => format!("{mark}{usd:.2}{more}"),
    }
}

fn is_computed(cost: &Cost) -> bool {
    matches!(cost.basis, Some(Basis::Computed | Basis::Mixed))
}

/// Puts the cost into a JSON object: `cost_usd`, `cost_basis`, `cost_is_partial` and `models_without_price`, as far as they are known.
pub fn put(object: &mut Map<String, Value>, cost: &Cost) {
    object.remove("cost_usd");
    let parts = [
        ("cost_usd", cost.usd.map(|usd| json!(usd))),
        ("cost_basis", cost.basis.map(|basis| json!(basis))),
        ("cost_is_partial", cost.is_partial.then_some(json!(true))),
        (
            "models_without_price",
            (!cost.unpriced.is_empty()).then(|| json!(cost.unpriced)),
        ),
    ];
    for (name, value) in parts {
        value.map(|value| object.insert(name.to_owned(), value));
    }
}

/// Token counts as JSON without what responses state of their cost: the cost stands beside them, by the rule of [`Cost`].
pub fn tokens(mut tokens: Value) -> Value {
    let Some(counts) = tokens.as_object_mut() else {
        return tokens;
    };
    counts.remove("cost_usd");
    if let Some(partial) = counts.get_mut("partial").and_then(Value::as_object_mut) {
        partial.remove("cost_usd");
        if partial.is_empty() {
            counts.remove("partial");
        }
    }
    tokens
}

/// The amount and where it comes from, for a row of CSV.
pub fn csv(cost: &Cost) -> [String; 2] {
    let basis = cost.basis.map(Basis::as_str).unwrap_or_default();
    [
        cost.usd.map(|usd| usd.to_string()).unwrap_or_default(),
        basis.to_owned(),
    ]
}

/// Says below a table what the signs of its numbers mean, and which models have no price.
pub fn legend<'c>(
    costs: impl Iterator<Item = &'c Cost>,
    is_partial: bool,
    keys: Keys,
    report: &Reporter,
) {
    for mark in marks(costs, is_partial) {
        report.note(&keys.clean(&mark));
    }
}

/// What the signs of numbers mean, and which models have no price. `is_partial` is true if there is a sum of tokens that is at least so much.
pub fn marks<'c>(costs: impl Iterator<Item = &'c Cost>, mut is_partial: bool) -> Vec<String> {
    let (mut computed, mut unpriced) = (false, BTreeSet::new());
    for cost in costs {
        computed |= is_computed(cost);
        is_partial |= cost.is_partial && cost.usd.is_some();
        unpriced.extend(cost.unpriced.iter().map(String::as_str));
    }
    let has_unnamed = unpriced.remove(UNNAMED);
    let mut unpriced: Vec<&str> = unpriced.into_iter().collect();
    unpriced.extend(has_unnamed.then_some("responses whose model the log does not name"));
    let signs = [
        (is_partial, "+ at least: some responses do not state it"),
        (
            computed,
            "~ computed from tokens and list prices; the log does not state it",
        ),
    ];
    let signs = signs.iter().filter(|(is_so, _)| *is_so);
    let mut marks: Vec<String> = signs.map(|(_, mark)| (*mark).to_owned()).collect();
    if !unpriced.is_empty() {
        marks.push(format!(
            "no price for {}: what they cost is unknown (`--prices FILE` gives prices)",
            unpriced.join(", ")
        ));
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;
    use engram_core::stats::{Costs, TapeCost};

    fn cost(tape: Value) -> Cost {
        let mut costs = Costs::default();
        let tape: TapeCost = serde_json::from_value(tape).unwrap();
        costs.begin(Some(1), tape);
        costs.cost(Prices::builtin())
    }

    #[test]
    fn a_computed_cost_is_marked_and_an_unknown_one_is_no_zero() {
        let stated = cost(json!({"total_usd": 1.2}));
        let tokens = json!({"responses": 1, "input": 1_000_000, "output": 0});
        let of = |model: &str| json!({"after": {model: {"unpriced": {"0": tokens}}}});
        let (computed, unknown) = (cost(of("claude-opus-5-5")), cost(of("no-such-model")));
        assert_eq!(
            [cell(&stated), cell(&computed), cell(&unknown)],
            ["1.20", "~4.00", ""]
        );
        assert_eq!(csv(&computed), ["4", "computed"]);
        let mut object = Map::new();
        put(&mut object, &unknown);
        assert_eq!(
            Value::Object(object),
            json!({"cost_is_partial": true, "models_without_price": ["no-such-model"]})
        );
        let mut object = Map::new();
        put(&mut object, &stated);
        assert_eq!(
            Value::Object(object),
            json!({"cost_usd": 1.2, "cost_basis": "stated"})
        );
    }
}
