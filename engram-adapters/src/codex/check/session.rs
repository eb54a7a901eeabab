//! The check of headers, settings and token counts.

use engram_core::emit::{Fault, Pointer};
use engram_core::event::Kind as EventKind;
use engram_core::keys::hash64;
use engram_core::steps::Check;

use crate::shared::value::{Value, count, count_or_zero, raw_str};

use super::{Checker, Facts, uuid_millis};
use crate::codex::notes::{Counts, Header, Kind, Tokens};
use crate::codex::readers::{
    Notice, PrintedSettings, SessionMeta, Settings, TokenInfo, TokenUsage, UsageRecord,
};
use crate::codex::record::Record;
use crate::codex::schema::spawned;

/// The settings that `exec --json` prints up to 0.42.
pub fn printed_settings(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    PrintedSettings::strict(record.value, "").map(|_| Facts::default())
}

/// The prompt that it prints.
pub fn printed_prompt(
    _: &mut Checker,
    record: &Record<'_>,
    check: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let prompt = record
        .value
        .first_member("prompt")
        .unwrap_or(Value::MISSING);
    if prompt.text().is_none() {
        return Err(Fault::malformed("/prompt", "a text", prompt.raw()));
    }
    check.gives(EventKind::MsgIn, Pointer::At("/prompt"))?;
    Ok(Facts::default())
}

/// The header of the envelope form.
pub fn session_meta(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let meta = SessionMeta::strict(record.value, record.at)?;
    let sub_agent = meta.source().and_then(|source| source.member("subagent"));
    let started = uuid_millis(raw_str(meta.id()));
    checker.needs_times |= checker.notes.headers.is_empty() && started.is_none();
    checker.notes.headers.push(Header {
        id: meta.id().map_or(0, |id| hash64(id.raw())),
        started,
        own_from: meta
            .own_from()
            .and_then(Value::unsigned)
            .and_then(|from| u32::try_from(from).ok()),
        is_fork: (meta.forked_from_id().is_some() || spawned(meta.source()).is_some())
            && meta.history_base().is_none(),
        is_new: meta.forked_from_id().is_none()
            && meta.history_base().is_none()
            && sub_agent.is_none(),
        has_base: meta.history_base().is_some(),
    });
    Ok(Facts {
        at: checker.notes.headers.len() as u32 - 1,
        ..Facts::of(Kind::Header)
    })
}

/// The settings of a request (up to 0.105) or of a turn.
pub fn turn_context(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    Settings::strict(record.value, record.at).map(|_| Facts::default())
}

/// The settings of the thread, after a client changed them.
pub fn thread_settings(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let Some(settings) = Notice::strict(record.value, record.at)?.thread_settings() else {
        return Err(Fault::malformed(
            "/payload/thread_settings",
            "settings",
            "nothing",
        ));
    };
    Settings::strict(settings, "/payload/thread_settings").map(|_| Facts::default())
}

/// The state behind the harness's own messages.
pub fn world_state(
    _: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    match record.value.member("state") {
        Some(_) => Ok(Facts::default()),
        None => Err(Fault::malformed("/payload/state", "an object", "nothing")),
    }
}

/// The counts of the last request as an event, with the running totals.
pub fn token_count(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let info_at = if record.at == "/msg" {
        "/msg/info"
    } else {
        "/payload/info"
    };
    let info = record
        .value
        .first_member("info")
        .map(|info| TokenInfo::strict(info, info_at))
        .transpose()?;
    let request = info
        .and_then(|info| info.last())
        .map(|last| TokenUsage::strict(last, &format!("{info_at}/last_token_usage")))
        .transpose()?;
    let total = info
        .and_then(|info| info.total())
        .map(|total| TokenUsage::strict(total, &format!("{info_at}/total_token_usage")))
        .transpose()?;
    // Up to 0.29 the event itself has the counts.
    if info.is_none() && record.at == "/msg" && record.value.first_member("input_tokens").is_some()
    {
        let counts = counts_of(&TokenUsage::strict(record.value, record.at)?);
        return Ok(checker.add_tokens(Tokens::Record(counts)));
    }
    // A total that cannot be read gives no difference.
    let total = total
        .as_ref()
        .filter(|total| is_readable(total))
        .map(counts_of);
    let last = request.as_ref().map(counts_of);
    if last.is_none() && total.is_none() {
        // A process of the harness writes this before its first response.
        return Ok(Facts::of(Kind::NoTokens));
    }
    Ok(checker.add_tokens(Tokens::Event { last, total }))
}

/// The counts of a response as a line of their own.
pub fn token_usage_record(
    checker: &mut Checker,
    record: &Record<'_>,
    _: &mut Check<'_>,
) -> Result<Facts, Fault> {
    let Some(counts) = UsageRecord::strict(record.value, record.at)?.usage() else {
        return Err(Fault::malformed(
            "/payload/usage",
            "token counts",
            "nothing",
        ));
    };
    let counts = counts_of(&TokenUsage::strict(counts, "/payload/usage")?);
    Ok(checker.add_tokens(Tokens::Record(counts)))
}

impl Checker {
    fn add_tokens(&mut self, tokens: Tokens) -> Facts {
        self.notes.tokens.push(tokens);
        Facts {
            at: self.notes.tokens.len() as u32 - 1,
            ..Facts::of(Kind::Tokens)
        }
    }
}

/// True if all counts that are there can be read.
fn is_readable(usage: &TokenUsage<'_>) -> bool {
    let counts = [
        usage.input(),
        usage.cached_input(),
        usage.cache_write_input(),
        usage.output(),
        usage.reasoning_output(),
    ];
    counts
        .into_iter()
        .all(|count| count_or_zero(count).is_some())
}

fn counts_of(usage: &TokenUsage<'_>) -> Counts {
    // The harness counts the cache as input, so without its part the rest is not known.
    let cache = count_or_zero(usage.cached_input()).and(count_or_zero(usage.cache_write_input()));
    Counts {
        input: count(usage.input()).filter(|_| cache.is_some()),
        cache_read: count(usage.cached_input()),
        cache_write: count(usage.cache_write_input()),
        output: count(usage.output()),
        reasoning: count(usage.reasoning_output()),
    }
}
