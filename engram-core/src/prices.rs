//! Prices of models, for the responses whose log states no cost.
//!
//! The table is `prices.tsv`: US dollars per million tokens, with the day and the source of each row. A cost from it is computed, never stated.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use crate::stats::tokens::TokenCounts;

/// Numbers of input tokens of one request, above which some models cost more. A tier is how many of these a request exceeds.
pub const TIERS: [u64; 3] = [128_000, 200_000, 272_000];

/// The tier of a request: how many of [`TIERS`] its input exceeds. Input is everything that the model read, from a cache or not.
pub fn tier_of(tokens: &TokenCounts) -> usize {
    let input = [tokens.input, tokens.cache_read, tokens.cache_write]
        .into_iter()
        .flatten()
        .fold(0, u64::saturating_add);
    TIERS.iter().filter(|tier| input > **tier).count()
}

/// A table of prices.
#[derive(Debug, Clone, Default)]
pub struct Prices(BTreeMap<String, Row>);

#[derive(Debug, Clone)]
struct Row {
    rates: Rates,
    /// What holds for all tokens of a request of a tier from this one on.
    above: Option<(usize, Rates)>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, Copy)]
struct Rates {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    cache_write_1h: f64,
}

/// Why a text is not a table of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadPrices {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for BadPrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for BadPrices {}

/// The columns that each table must have.
const NEEDED: [&str; 3] = ["model", "input", "output"];

impl Prices {
    /// The text of the table of this program.
    pub const BUILTIN: &str = include_str!("prices.tsv");

    /// The table of this program.
    pub fn builtin() -> &'static Prices {
        static TABLE: OnceLock<Prices> = OnceLock::new();
        // A test reads it.
        TABLE.get_or_init(|| Prices::parse(Self::BUILTIN).unwrap_or_default())
    }

    /// Reads a table: columns separated by tabs, with the names of `prices.tsv` in the first line. `model`, `input` and `output` must be there,
    /// other columns may be missing. An empty price of the cache is that of input, an empty `cache_write_1h` that of `cache_write`, and an
    /// empty price above the tier that below it. Lines that begin with `#` are comments.
    ///
    /// # Errors
    /// If a column is missing, a price is no number of 0 or more, or a tier is none of [`TIERS`].
    pub fn parse(text: &str) -> Result<Prices, BadPrices> {
        let mut lines = text
            .trim_start_matches('\u{feff}')
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let (line, head) = lines.next().unwrap_or((1, ""));
        let names: Vec<&str> = head.split('\t').map(str::trim).collect();
        if let Some(name) = NEEDED.iter().find(|name| !names.contains(name)) {
            let what = format!("there is no column `{name}`; columns are separated by tabs");
            return Err(BadPrices { line, what });
        }
        let mut rows = BTreeMap::new();
        for (line, text) in lines {
            let cells: Vec<&str> = text.split('\t').map(str::trim).collect();
            let cell = |name: &str| {
                let at = names.iter().position(|known| *known == name)?;
                cells.get(at).copied().filter(|cell| !cell.is_empty())
            };
            let row = Row::read(&cell).map_err(|what| BadPrices { line, what })?;
            rows.insert(cell("model").unwrap_or_default().to_owned(), row);
        }
        Ok(Prices(rows))
    }

    /// These prices, and for other models those of `others`.
    pub fn or(mut self, others: &Prices) -> Prices {
        for (model, row) in &others.0 {
            self.0.entry(model.clone()).or_insert_with(|| row.clone());
        }
        self
    }

    /// The row of a model: by its whole name, then without a date at its end, then the same without `provider/` before it,
    /// then all of this with dashes for dots: some harnesses write the numbers of a model with dots where its provider has dashes.
    fn row(&self, model: &str) -> Option<&Row> {
        let by_name = |model: &str| {
            self.0
                .get(model)
                .or_else(|| self.0.get(without_date(model)))
        };
        let plain = |model: &str| by_name(model).or_else(|| by_name(model.rsplit_once('/')?.1));
        plain(model).or_else(|| plain(&model.replace('.', "-")))
    }

    /// What tokens of one model cost in US dollars, if all of them are of requests of this tier. `None` if the table has no such model.
    pub fn cost(&self, model: &str, tier: usize, tokens: &TokenCounts) -> Option<f64> {
        let row = self.row(model)?;
        let rates = match row.above {
            Some((from, above)) if tier >= from => above,
            _ => row.rates,
        };
        let of = |tokens: Option<u64>, rate: f64| tokens.unwrap_or_default() as f64 * rate;
        let long = tokens.cache_write_1h.unwrap_or_default();
        let short = tokens.cache_write.unwrap_or_default().saturating_sub(long);
        let sum = of(tokens.input, rates.input)
            + of(tokens.output, rates.output)
            + of(tokens.cache_read, rates.cache_read)
            + of(Some(short), rates.cache_write)
            + of(Some(long), rates.cache_write_1h);
        Some(sum / 1e6)
    }
}

impl Row {
    fn read<'t>(cell: &dyn Fn(&str) -> Option<&'t str>) -> Result<Row, String> {
        cell("model").ok_or("the model has no name")?;
        let rates = Rates::read(cell, "", None)?;
        let above = match cell("tier") {
            None => None,
            Some(tier) => {
                let known = TIERS.iter().position(|known| known.to_string() == tier);
                let index =
                    known.ok_or_else(|| format!("`tier` is one of {TIERS:?}, not `{tier}`"))?;
                Some((index + 1, Rates::read(cell, "_above", Some(rates))?))
            }
        };
        Ok(Row { rates, above })
    }
}

impl Rates {
    /// The prices in the columns with this end. What is empty has the price in `below`, if there is one.
    fn read<'t>(
        cell: &dyn Fn(&str) -> Option<&'t str>,
        end: &str,
        below: Option<Rates>,
    ) -> Result<Rates, String> {
        let price = |column: &str, without: Option<f64>| {
            let column = format!("{column}{end}");
            match cell(&column) {
                None => without.ok_or_else(|| format!("`{column}` is empty")),
                Some(text) => text
                    .parse::<f64>()
                    .ok()
                    .filter(|price| price.is_finite() && *price >= 0.0)
                    .ok_or_else(|| format!("`{column}` is no price: `{text}`")),
            }
        };
        let input = price("input", below.map(|below| below.input))?;
        let cache_write = price(
            "cache_write",
            Some(below.map_or(input, |below| below.cache_write)),
        )?;
        Ok(Rates {
            input,
            output: price("output", below.map(|below| below.output))?,
            cache_read: price(
                "cache_read",
                Some(below.map_or(input, |below| below.cache_read)),
            )?,
            cache_write,
            cache_write_1h: price(
                "cache_write_1h",
                Some(below.map_or(cache_write, |below| below.cache_write_1h)),
            )?,
        })
    }
}

/// The name without a date at its end: `-20250929`, `-2026-04-23` or `@20250929`.
fn without_date(model: &str) -> &str {
    let is_date = |date: &str, pattern: &str| {
        date.len() == pattern.len()
            && date
                .bytes()
                .zip(pattern.bytes())
                .all(|(byte, wanted)| match wanted {
                    b'0' => byte.is_ascii_digit(),
                    wanted => byte == wanted,
                })
    };
    for pattern in ["-00000000", "@00000000", "-0000-00-00"] {
        let cut = model.len().saturating_sub(pattern.len());
        if let Some((name, date)) = model.split_at_checked(cut)
            && is_date(date, pattern)
        {
            return name;
        }
    }
    model
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(input: u64, output: u64) -> TokenCounts {
        TokenCounts {
            responses: 1,
            input: Some(input),
            output: Some(output),
            ..TokenCounts::default()
        }
    }

    #[test]
    fn the_table_of_the_program_is_whole_and_each_row_has_a_day_and_a_source() {
        let text = include_str!("prices.tsv");
        let rows = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let prices = Prices::parse(text).unwrap();
        assert_eq!(prices.0.len(), rows.clone().count());
        assert!(prices.0.len() > 100);
        for row in rows {
            let cells: Vec<&str> = row.split('\t').collect();
            let parts: Vec<usize> = cells[12].split('-').map(str::len).collect();
            assert_eq!(parts, [4, 2, 2], "{row}");
            assert!(cells[13].starts_with("litellm "), "{row}");
        }
    }

    #[test]
    fn a_name_is_found_exactly_then_without_date_then_without_provider() {
        let prices =
            Prices::parse("model\tinput\toutput\nm-1\t1\t2\nm-1-20250101\t3\t4\np/m-1\t5\t6\n")
                .unwrap();
        let cost = |model: &str| prices.cost(model, 0, &tokens(1_000_000, 0));
        assert_eq!(cost("m-1-20250101"), Some(3.0));
        assert_eq!(
            [
                cost("m-1-20260101"),
                cost("m-1-2026-01-01"),
                cost("m-1@20260101")
            ],
            [Some(1.0); 3]
        );
        assert_eq!([cost("p/m-1"), cost("p/m-1-20260101")], [Some(5.0); 2]);
        assert_eq!(cost("q/r/m-1-20250101"), Some(3.0));
        assert_eq!(
            [cost("m"), cost("m-1-latest"), cost("M-1"), cost("m-1-2026")],
            [None; 4]
        );
    }

    #[test]
    fn a_dot_is_a_dash_where_no_row_has_it() {
        let prices =
            Prices::parse("model\tinput\toutput\ns-4-6\t1\t2\ng-5.1\t3\t4\ng-5-1\t5\t6\n").unwrap();
        let cost = |model: &str| prices.cost(model, 0, &tokens(1_000_000, 0));
        assert_eq!([cost("s-4.6"), cost("p/s-4.6")], [Some(1.0); 2]);
        assert_eq!([cost("g-5.1"), cost("t-1.0")], [Some(3.0), None]);
    }

    #[test]
    fn cache_and_tiers_have_their_own_prices() {
        let table = "model\tinput\toutput\tcache_read\tcache_write\tcache_write_1h\ttier\tinput_above\n\
                     m\t4\t20\t0.2\t5\t8\t200000\t8\nn\t4\t20\n";
        let prices = Prices::parse(table).unwrap();
        let counts = TokenCounts {
            cache_read: Some(1_000_000),
            cache_write: Some(1_000_000),
            cache_write_1h: Some(500_000),
            ..tokens(1_000_000, 1_000_000)
        };
        let cost = |model: &str, tier| prices.cost(model, tier, &counts).unwrap();
        assert_eq!(cost("m", 1), 4.0 + 20.0 + 0.2 + 2.5 + 4.0);
        assert_eq!(cost("m", 2), 8.0 + 20.0 + 0.2 + 2.5 + 4.0);
        assert_eq!(
            cost("n", 3),
            4.0 + 20.0 + 4.0 + 4.0,
            "the cache costs what input costs"
        );
        assert_eq!(
            [tier_of(&tokens(128_000, 9)), tier_of(&tokens(200_001, 0))],
            [0, 2]
        );
    }

    #[test]
    fn a_table_that_cannot_be_read_says_where() {
        let fault = |text: &str| Prices::parse(text).unwrap_err().to_string();
        assert_eq!(
            fault("model,input,output\n"),
            "line 1: there is no column `model`; columns are separated by tabs"
        );
        assert_eq!(
            fault("# x\nmodel\tinput\toutput\nm\t1\t-1\n"),
            "line 3: `output` is no price: `-1`"
        );
        assert_eq!(
            fault("model\tinput\toutput\nm\t1\t\n"),
            "line 2: `output` is empty"
        );
        assert!(fault("model\tinput\toutput\ttier\nm\t1\t1\t5\n").contains("`tier` is one of"));
        // As spreadsheets write it.
        assert!(Prices::parse("\u{feff}model\tinput\toutput\nm\t1\t1\n").is_ok());
    }

    #[test]
    fn a_table_of_a_person_wins() {
        let own = Prices::parse("model\tinput\toutput\ngpt-5.5\t1\t1\nown\t1\t1\n").unwrap();
        let prices = own.or(Prices::builtin());
        let cost = |model: &str| prices.cost(model, 0, &tokens(1_000_000, 0));
        assert_eq!(
            [cost("gpt-5.5"), cost("own"), cost("gpt-5.4")],
            [Some(1.0), Some(1.0), Some(2.5)]
        );
    }
}
