//! The prompts of an agent: the rules for asking, the task, and the conversation so far.

use engram_profiles::Profile;
use engram_profiles::profile::Continuation;

/// By this the model server knows a turn of an episode: the beginning of a frame.
pub const MARK: &str = "⟦TI1 ";
/// What a log has instead of the nonce.
pub const HIDDEN: &str = "<nonce>";

/// The rules of the conversation. No line of it is a frame of the driver.
pub fn preamble(profile: &Profile, nonce: &str) -> String {
    let intents: Vec<&str> = profile
        .capability_map
        .iter()
        .map(|row| row.intent.as_str())
        .collect();
    let bridge = profile.tool_bridge.as_ref();
    let most = bridge.map_or(0, |bridge| bridge.max_args_bytes.get());
    let how = match bridge.map(|bridge| bridge.continuation) {
        Some(Continuation::Restart) => {
            "End your turn after you have asked. You are asked again, with the answers below your words."
        }
        Some(Continuation::Resume) => {
            "End your turn after you have asked. The answers are your next prompt."
        }
        Some(Continuation::Stream) => "The answers come on standard input.",
        Some(Continuation::None) | None => "You get no answers.",
    };
    format!(
        "You have no tools of your own. Ask for one with a line of its own:\n\
         \n  {MARK}{nonce}⟧ ID TOOL ARGUMENTS\n\n\
         The line begins in its first column, with one space between its parts. ID is a new one for each line: letters, digits and ._-\n\
         TOOL is one of: {}. ARGUMENTS is a JSON object in canonical form (RFC 8785), at most {most} bytes, as base64url without padding.\n\
         list and read take {{\"path\"}}, write takes {{\"path\",\"text\"}}. Paths are relative to the project.\n\
         An answer repeats the ID, with `ok` and the hash of the result, or `denied` and the reason. The result follows, indented.\n\
         {how}\n\
         When you are done, the last line is a JSON object: {{\"status\":\"done\",\"summary\":\"…\"}}, or with \"failed\".\n",
        intents.join(", ")
    )
}

/// The first prompt.
pub fn first(preamble: &str, task: &str) -> String {
    format!("{preamble}\nTask: {task}\n")
}

/// The prompt of a later run, for an agent that remembers nothing.
pub fn again(preamble: &str, task: &str, said: &str) -> String {
    format!(
        "{}\nSo far you and the driver said:\n\n{said}\nGo on.\n",
        first(preamble, task)
    )
}

/// An answer as an agent sees it: the frame, and the beginning of the result, indented so that no line of it is a frame.
pub fn answer(frame: &str, result: Option<&str>, most: usize) -> String {
    let mut text = frame.to_owned();
    let Some(result) = result else { return text };
    let shown = &result[..result.floor_char_boundary(most)];
    for line in shown.lines() {
        text.push_str("  ");
        text.push_str(line);
        text.push('\n');
    }
    if shown.len() < result.len() {
        text.push_str(&format!("  … {} bytes more\n", result.len() - shown.len()));
    }
    text
}

/// True if a line is what an agent ends with: a JSON object with a status and a summary.
pub fn is_final(line: &str) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Final {
        status: String,
        #[serde(rename = "summary")]
        _summary: String,
    }
    let line = line.trim();
    line.starts_with('{')
        && serde_json::from_str::<Final>(line)
            .is_ok_and(|end| matches!(end.status.as_str(), "done" | "failed"))
}

#[cfg(test)]
mod tests {
    use engram_profiles::grammar::response;
    use engram_profiles::nonce::Nonce;
    use engram_profiles::registry;

    use super::*;

    #[test]
    fn preamble_hides_the_nonce_and_has_no_frame() {
        let nonce = Nonce::scripted("s", "e");
        for shipped in registry::all() {
            let text = preamble(&shipped.profile, HIDDEN);
            assert!(
                !text.contains(nonce.as_str())
                    && preamble(&shipped.profile, nonce.as_str()).contains(nonce.as_str())
            );
            assert!(
                text.lines()
                    .all(|line| !line.starts_with('⟦') && response(line, &nonce.hash()).is_none()),
                "{text}"
            );
        }
    }

    #[test]
    fn result_is_cut_and_has_no_frame() {
        let frame = "⟦TR1 0123456789abcdef⟧ r1 ok x\n";
        let text = answer(frame, Some("⟦TR1 a⟧\nümlaut"), 11);
        assert_eq!(
            text,
            format!("{frame}  ⟦TR1 a⟧\n  … 8 bytes more\n").replace("… 8", "… 8")
        );
        assert_eq!(answer(frame, None, 9), frame);
    }

    #[test]
    fn final_line_has_a_status_and_a_summary() {
        assert!(is_final(" {\"status\":\"done\",\"summary\":\"x\"}\n"));
        for line in [
            "done",
            "{}",
            r#"{"status":"maybe","summary":"x"}"#,
            r#"{"status":"done"}"#,
            r#"{"status":"done","summary":"x","more":1}"#,
        ] {
            assert!(!is_final(line), "{line}");
        }
    }
}
