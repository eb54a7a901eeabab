//! The tokens of a response. `promptTokenCount` has those from the cache in it, and `totalTokenCount` tells whether the reasoning is part of
//! `candidatesTokenCount` (interfaces of OpenAI and Anthropic) or beside it (those of Gemini). With Anthropic's interface the prompt also has the
//! tokens in it that went to the cache (0.24.4: recorded). They are in no record, so such a response has no `input`.

use engram_core::emit::{Pointer, RecordHeader};
use engram_core::event::{Meta, Tokens, Usage};
use engram_core::steps::{Emitter, Record};
use engram_core::text::Text;

use super::state::Request;
use crate::qwen::interface::Interface;
use crate::qwen::notes::{counts, counts_of_event};
use crate::qwen::readers::{Counts, Line, Telemetry};
use crate::shared::time::tape_time;
use crate::shared::value::{Field, count, non_empty_text, raw_str, text};

/// The usage of a response, directly behind its last event.
pub fn of_line(line: &Line<'_>, request: &Request, out: &mut Emitter<'_>) {
    let Some(counts) = line.usage() else {
        return;
    };
    let usage = Usage {
        message_id: request.id.as_deref().map(Text::Plain),
        model: non_empty_text(line.model()),
        tokens: tokens(&Counts::lenient(counts), request.interface),
        ..Usage::default()
    };
    out.emit(Meta::Usage(usage), Pointer::At("/usageMetadata"));
}

/// The usage of a response whose last event is in this record: that of a sub-agent, which has a line for each call.
pub fn of_earlier(
    record: &Record<'_>,
    (number, request): (usize, &Request),
    out: &mut Emitter<'_>,
) {
    let Some(mut again) = record.others.get(number) else {
        return;
    };
    let Some(line) = again.value().map(Line::lenient) else {
        return;
    };
    let time = tape_time(line.timestamp());
    let header = RecordHeader {
        t: time.as_deref(),
        id: text(line.uuid()),
        replay: line.forked_from().is_some(),
    };
    out.of_record(number, header, |out| of_line(&line, request, out));
}

/// The usage of a request without a response in the log. None if nothing was counted.
pub fn of_event<'a>(event: &Telemetry<'a>) -> Option<Usage<'a>> {
    let interface = Interface::named(raw_str(event.interface()));
    let tokens = counted(counts_of_event(event), interface);
    let is_nothing = [tokens.input, tokens.cache_read, tokens.output]
        .iter()
        .all(|count| count.is_none_or(|count| count == 0));
    (!is_nothing).then(|| Usage {
        message_id: non_empty_text(event.response_id()),
        model: non_empty_text(event.model()),
        tokens,
        ..Usage::default()
    })
}

fn tokens(of: &Counts<'_>, interface: Interface) -> Tokens {
    let mut tokens = counted(counts(of), interface);
    // What tools of the provider put into the prompt is counted beside it.
    if let Some(of_tools) = count(of.tool_use()) {
        tokens.input = tokens.input.and_then(|input| input.checked_add(of_tools));
    }
    tokens
}

/// Tokens by the counts of prompt, cache, output, reasoning, and all together.
fn counted(counts: [Field<'_>; 5], interface: Interface) -> Tokens {
    let [prompt, cached, output, thoughts, total] = counts.map(count);
    let prompt_alone = prompt.filter(|_| interface == Interface::Usual);
    Tokens {
        input: prompt_alone.and_then(|prompt| prompt.checked_sub(cached.unwrap_or(0))),
        cache_read: cached,
        output: whole_output(prompt, output, thoughts, total),
        reasoning: thoughts,
        ..Tokens::default()
    }
}

/// The output with the reasoning. None if the log does not tell whether the reasoning is part of it.
fn whole_output(
    prompt: Option<u64>,
    output: Option<u64>,
    thoughts: Option<u64>,
    total: Option<u64>,
) -> Option<u64> {
    let (output, thoughts) = (output?, thoughts.unwrap_or(0));
    if thoughts == 0 {
        return Some(output);
    }
    let with_thoughts = output.checked_add(thoughts)?;
    let rest = total?.checked_sub(prompt?)?;
    [output, with_thoughts]
        .into_iter()
        .find(|output| *output == rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_tells_whether_reasoning_is_part_of_the_output() {
        let output = |total| whole_output(Some(1000), Some(50), Some(16), total);
        assert_eq!(output(Some(1050)), Some(50));
        assert_eq!(output(Some(1066)), Some(66));
        assert_eq!(output(Some(1070)), None);
        assert_eq!(output(None), None);
        assert_eq!(whole_output(None, Some(50), None, None), Some(50));
    }
}
