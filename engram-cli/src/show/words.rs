//! Words and numbers that every form of a view has in common.

use engram_core::prices::Prices;
use engram_core::stats::{Basis, Cost, TokenCounts};
use jiff::Timestamp;

use super::safe::visible_line;
use super::view::{Body, Call, CallResult, Facts, Item, SessionView, Totals, Who};

/// The time of day of a time in a tape; the time itself if it has another form.
pub fn clock(time: &str) -> &str {
    time.get(11..19).unwrap_or(time)
}

/// The first line of a view: harness, version, session and agent.
pub fn heading(facts: &Facts) -> String {
    let harness = [Some(facts.harness.as_str()), facts.version.as_deref()];
    let mut parts = vec![joined(&harness, " ")];
    parts.retain(|part| !part.is_empty());
    parts.extend(facts.session_id.as_ref().map(|id| format!("session {id}")));
    parts.extend(facts.agent_id.as_ref().map(|id| format!("sub-agent {id}")));
    parts.join(", ")
}

/// The longest title that is made of a prompt, in characters.
const TITLE_CHARS: usize = 100;

/// The title of a session, else its first prompt, else its heading.
pub fn page_title(view: &SessionView) -> String {
    if let Some(title) = view
        .facts
        .title
        .as_ref()
        .filter(|title| !title.trim().is_empty())
    {
        return title.clone();
    }
    let prompts = view.items.iter().filter_map(|item| match &item.body {
        Body::Message(message) if matches!(message.who, Who::Person | Who::Agent) => {
            message.text.as_deref()
        }
        _ => None,
    });
    prompts
        .filter_map(first_line)
        .next()
        .unwrap_or_else(|| heading(&view.facts))
}

/// The first line of a text that has something in it, shortened.
pub fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let end = line.char_indices().nth(TITLE_CHARS).map(|(end, _)| end);
    Some(end.map_or_else(|| line.to_owned(), |end| format!("{}…", &line[..end])))
}

/// The lines below the heading.
pub fn summary(view: &SessionView, prices: &Prices) -> Vec<String> {
    let SessionView { facts, totals, .. } = view;
    let branch = facts
        .branch
        .as_ref()
        .map(|branch| format!("branch {branch}"));
    let agent = facts.agent.as_ref().map(|agent| format!("agent {agent}"));
    let models = facts.models.join(", ");
    let place = joined(
        &[
            facts.cwd.as_deref(),
            branch.as_deref(),
            agent.as_deref(),
            Some(&models),
        ],
        ", ",
    );
    let times = facts.times.as_ref().map(|(first, last)| times(first, last));
    let parts = [
        (totals.failed_calls - totals.denied_calls, "failed"),
        (totals.denied_calls, "denied"),
    ];
    let parts = parts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", number(*count)))
        .collect::<Vec<_>>()
        .join(", ");
    let failed = match parts.is_empty() {
        true => parts,
        false => format!(" ({parts})"),
    };
    let counts = format!(
        "{}, {}{failed}, {}",
        count(totals.prompts, "prompt"),
        count(totals.calls, "call"),
        count(totals.edits, "edit")
    );
    let mut lines = vec![
        place,
        times.unwrap_or_default(),
        counts,
        tokens(&without_cost(totals.tokens)),
    ];
    lines.extend(agents(view));
    lines.extend(cost(view, prices));
    if !facts.degraded.is_empty() {
        lines.push(format!("lowered claims: {}", facts.degraded.join(", ")));
    }
    if !facts.redacted.is_empty() {
        let rules: Vec<String> = facts
            .redacted
            .iter()
            .map(|(rule, count)| format!("{rule} {}", number(*count)))
            .collect();
        lines.push(format!("redacted: {}", rules.join(", ")));
    }
    if !view.is_complete {
        lines.push("the log ends inside a record".to_owned());
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The sums over a session and its sub-agents.
pub fn with_agents(view: &SessionView) -> Totals {
    let mut sum = view.totals;
    for agent in view.agents() {
        sum.prompts += agent.totals.prompts;
        sum.calls += agent.totals.calls;
        sum.edits += agent.totals.edits;
        sum.tokens.add(agent.totals.tokens);
    }
    sum
}

/// `with 3 sub-agents: 27 calls, 5 edits, tokens: ...`: the sums over the session and its sub-agents.
fn agents(view: &SessionView) -> Option<String> {
    let own = view.agents().into_iter().filter(|agent| !agent.is_copy);
    let agents = own.count() as u64;
    if agents == 0 {
        return None;
    }
    let sum = with_agents(view);
    let (calls, edits, tokens) = (
        count(sum.calls, "call"),
        count(sum.edits, "edit"),
        tokens(&without_cost(sum.tokens)),
    );
    let tokens = if tokens.is_empty() {
        tokens
    } else {
        format!(", {tokens}")
    };
    Some(format!(
        "with {}: {calls}, {edits}{tokens}",
        count(agents, "sub-agent")
    ))
}

/// `2026-01-02 03:04:05 to 03:09:00 UTC (4 min 55 s)`.
fn times(first: &str, last: &str) -> String {
    let (day, last_day) = (
        first.get(..10).unwrap_or_default(),
        last.get(..10).unwrap_or_default(),
    );
    let last_time = last;
    let last = if day == last_day {
        clock(last).to_owned()
    } else {
        format!("{last_day} {}", clock(last))
    };
    let span = span(first, last_time)
        .map(|span| format!(" ({span})"))
        .unwrap_or_default();
    format!("{day} {} to {last} UTC{span}", clock(first))
}

/// How long it is between two times: `4 min 55 s`, `3 h 20 min`, `2 d 4 h`.
fn span(first: &str, last: &str) -> Option<String> {
    let seconds = last
        .parse::<Timestamp>()
        .ok()?
        .duration_since(first.parse().ok()?)
        .as_secs();
    let of = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small > 0 {
            format!("{large} {unit} {small} {small_unit}")
        } else {
            format!("{large} {unit}")
        }
    };
    match seconds {
        ..=0 => None,
        1..60 => Some(format!("{seconds} s")),
        60..3600 => Some(of(seconds / 60, "min", seconds % 60, "s")),
        3600..86_400 => Some(of(seconds / 3600, "h", seconds % 3600 / 60, "min")),
        _ => Some(of(seconds / 86_400, "d", seconds % 86_400 / 3600, "h")),
    }
}

/// The tokens alone: what a session costs has a line of its own.
fn without_cost(mut tokens: TokenCounts) -> TokenCounts {
    tokens.cost_usd = None;
    tokens
}

/// What the session and its sub-agents cost, by the rule of `engram stats`.
pub fn cost_of(view: &SessionView, prices: &Prices) -> Cost {
    let mut costs = view.costs.clone();
    view.agents()
        .iter()
        .for_each(|agent| costs.add(&agent.costs));
    costs.cost(prices)
}

/// `cost: 0.16 USD`.
fn cost(view: &SessionView, prices: &Prices) -> Option<String> {
    let cost = cost_of(view, prices);
    let least = if cost.is_partial { "at least " } else { "" };
    let basis = match cost.basis? {
        Basis::Stated => "",
        Basis::Computed => ", computed from tokens and list prices",
        Basis::Mixed => ", in part computed from tokens and list prices",
    };
    Some(format!("cost: {least}{:.4} USD{basis}", cost.usd?))
}

/// Tokens and cost; empty if there are none. What no response says is left out, and a sum without the counts of some says so.
pub fn tokens(sum: &TokenCounts) -> String {
    let least = |is_partial: bool| if is_partial { "at least " } else { "" };
    let of = |count: Option<u64>, is_partial: bool, what: &str| {
        count
            .filter(|count| *count > 0)
            .map(|count| format!("{}{} {what}", least(is_partial), number(count)))
    };
    let partial = sum.partial;
    let cost = sum
        .cost_usd
        .filter(|cost| *cost > 0.0)
        .map(|cost| format!("{}{cost:.4} USD", least(partial.cost_usd)));
    let parts = [
        of(sum.input, partial.input, "in"),
        of(sum.cache_read, partial.cache_read, "cache read"),
        of(sum.cache_write, partial.cache_write, "cache write"),
        of(sum.output, partial.output, "out"),
        cost,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("tokens: {}", parts.join(", "))
    }
}

/// Tokens and cost of one response, and its model.
pub fn usage(sum: &TokenCounts, model: Option<&str>) -> String {
    let model = model.map(|model| format!(" ({model})")).unwrap_or_default();
    format!("{}{model}", tokens(sum))
}

/// All tokens of one response: `12,345 tokens`.
pub fn short_usage(sum: &TokenCounts) -> String {
    sum.all()
        .map_or_else(|| "tokens".to_owned(), |(all, _)| count(all, "token"))
}

/// The titles of a group of items of no importance, each once with its number.
pub fn titles(items: &[Item]) -> String {
    let mut titles: Vec<(String, u64)> = Vec::new();
    for title in items.iter().filter_map(Item::detail).map(visible_line) {
        match titles.iter_mut().find(|(known, _)| *known == title) {
            Some((_, times)) => *times += 1,
            None => titles.push((title, 1)),
        }
    }
    let titles: Vec<String> = titles
        .into_iter()
        .map(|(title, times)| {
            if times > 1 {
                format!("{title} ({})", number(times))
            } else {
                title
            }
        })
        .collect();
    titles.join(", ")
}

/// How a call ended: `error, exit 1, 2.3 s`.
pub fn outcome(call: &Call) -> String {
    let Some(result) = &call.result else {
        return "no result".to_owned();
    };
    let CallResult {
        status,
        exit,
        is_truncated,
        duration_ms,
        ..
    } = result;
    let exit = exit
        .filter(|exit| *exit != 0)
        .map(|exit| format!("exit {exit}"));
    let cut = is_truncated.then_some("output cut by the harness");
    let duration = duration_ms.map(duration);
    joined(&[*status, exit.as_deref(), duration.as_deref(), cut], ", ")
}

fn duration(ms: u64) -> String {
    if ms < 1000 {
        format!("{ms} ms")
    } else {
        format!("{}.{} s", number(ms / 1000), ms % 1000 / 100)
    }
}

/// `1,234 prompts`.
pub fn count(n: u64, what: &str) -> String {
    format!("{} {what}{}", number(n), if n == 1 { "" } else { "s" })
}

/// A number with commas between thousands.
pub fn number(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn joined(parts: &[Option<&str>], separator: &str) -> String {
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    parts.join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(number),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [count(1, "call"), count(2000, "call")],
            ["1 call", "2,000 calls"]
        );
    }

    #[test]
    fn the_day_is_written_once() {
        assert_eq!(
            times("2026-01-02T03:04:05.1Z", "2026-01-02T03:09:00Z"),
            "2026-01-02 03:04:05 to 03:09:00 UTC (4 min 54 s)"
        );
        assert_eq!(
            times("2026-01-02T03:04:05Z", "2026-01-03T00:00:00Z"),
            "2026-01-02 03:04:05 to 2026-01-03 00:00:00 UTC (20 h 55 min)"
        );
    }

    #[test]
    fn durations_are_short() {
        assert_eq!([duration(12), duration(1250)], ["12 ms", "1.2 s"]);
    }
}
