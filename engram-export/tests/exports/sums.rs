//! What each document says of tokens, beside what its tape says.

use engram_export::Wrote;
use engram_export::atif::{Atif, Version};
use engram_export::otlp::{Options, Otlp, Part};
use serde_json::Value;

use crate::documents::{Family, json, session};
use crate::golden::GOLDEN;

/// Input and output tokens of responses.
type Tokens = [u64; 2];

fn of_tape(text: &str) -> Tokens {
    let mut sum = [0, 0];
    for line in text.lines() {
        let event: Value = serde_json::from_str(line).unwrap();
        if event["label"] == "usage" && event["replay"] != true {
            for (at, key) in [
                (0, "input"),
                (0, "cache_read"),
                (0, "cache_write"),
                (1, "output"),
            ] {
                sum[at] += event["tokens"][key].as_u64().unwrap_or_default();
            }
        }
    }
    sum
}

fn of_atif(document: &Value) -> Tokens {
    let steps = document["steps"].as_array().into_iter().flatten();
    let steps = steps.filter(|step| step["is_copied_context"] != true);
    steps.fold([0, 0], |[input, output], step| {
        let of = |key: &str| step["metrics"][key].as_u64().unwrap_or_default();
        [
            input + of("prompt_tokens"),
            output + of("completion_tokens"),
        ]
    })
}

fn of_otlp(line: &str) -> Tokens {
    let data: Value = serde_json::from_str(line).unwrap_or_default();
    let mut sum = [0, 0];
    let spans = data["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array();
    for attribute in spans
        .into_iter()
        .flatten()
        .flat_map(|span| span["attributes"].as_array().into_iter().flatten())
    {
        let value = attribute["value"]["intValue"]
            .as_str()
            .and_then(|value| value.parse::<u64>().ok());
        match attribute["key"].as_str() {
            Some("gen_ai.usage.input_tokens") => sum[0] += value.unwrap_or_default(),
            Some("gen_ai.usage.output_tokens") => sum[1] += value.unwrap_or_default(),
            _ => {}
        }
    }
    sum
}

#[test]
fn every_document_has_the_tokens_of_its_tape() {
    let (mut found, mut compared) = (Vec::new(), 0);
    for tape in GOLDEN.iter() {
        let expected = of_tape(&tape.text);
        let mut line = Vec::new();
        let part = Part {
            name: &tape.name,
            session: session(tape),
            parent: None,
        };
        let mut otlp = Otlp::new(Options::default());
        let wrote = otlp.line(std::iter::once(Ok(part)), &mut line).unwrap();
        let line = String::from_utf8(line).unwrap();
        let family = Family {
            tapes: vec![tape],
            parents: vec![None],
        };
        let document = json(&family, 0, &mut Atif::new(Version::V1_7)).unwrap_or_default();
        let document = serde_json::from_str(&document).unwrap_or_default();
        // A tape without any time has no trace, which is a counted loss.
        let of_trace = (wrote == Wrote::Session).then(|| of_otlp(&line));
        let sums = [("otlp", of_trace), ("atif", Some(of_atif(&document)))];
        for (export, sum) in sums {
            let Some(sum) = sum else { continue };
            compared += usize::from(expected != [0, 0]);
            if sum != expected {
                found.push(format!(
                    "{}: {export} {sum:?}, tape {expected:?}",
                    tape.name
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}\n{}", found.len(), found.join("\n"));
    assert!(compared > 500, "{compared}");
}
