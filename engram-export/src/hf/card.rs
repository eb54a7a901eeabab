//! The dataset card: a `README.md` with the head that `datasets` reads.

/// The directory of the traces: a directory for each harness, and in it a file for each session.
pub const TRACES_DIRECTORY: &str = "sessions";
/// The file of the conversations, a line for each session.
pub const MESSAGES_FILE: &str = "messages.jsonl";

const TRACE_FEATURES: &str = "  - name: type
    dtype: string
  - name: harness
    dtype: string
  - name: id
    dtype: string
  - name: name
    dtype: string
  - name: message
    struct:
    - name: role
      dtype: string
    - name: content
      dtype: string
    - name: reasoningContent
      dtype: string
    - name: toolCalls
      list:
      - name: id
        dtype: string
      - name: function
        struct:
        - name: name
          dtype: string
        - name: arguments
          dtype: string
    - name: toolCallId
      dtype: string
    - name: timestamp
      dtype: int64
    - name: model
      dtype: string
";

const MESSAGE_FEATURES: &str = "  - name: messages
    list:
    - name: role
      dtype: string
    - name: content
      dtype: string
    - name: reasoning_content
      dtype: string
    - name: tool_call_id
      dtype: string
    - name: tool_calls
      list:
      - name: id
        dtype: string
      - name: type
        dtype: string
      - name: function
        struct:
        - name: name
          dtype: string
        - name: arguments
          dtype: string
  - name: tools
    list:
    - name: type
      dtype: string
    - name: function
      struct:
      - name: name
        dtype: string
  - name: metadata
    struct:
    - name: harness
      dtype: string
    - name: version
      dtype: string
    - name: session_id
      dtype: string
    - name: agent_id
      dtype: string
    - name: model
      dtype: string
    - name: title
      dtype: string
    - name: parent_session_id
      dtype: string
    - name: started
      dtype: string
";

/// The card of a dataset with so many sessions. `is_redacted` says whether keys and tokens were replaced.
pub fn card(is_messages: bool, sessions: u64, is_redacted: bool) -> String {
    let (features, files, what) = if is_messages {
        (
            MESSAGE_FEATURES,
            MESSAGES_FILE.to_owned(),
            "conversations of coding agents, one a row, in the form that chat templates take",
        )
    } else {
        (
            TRACE_FEATURES,
            format!("{TRACES_DIRECTORY}/*/*.jsonl"),
            "session traces of coding agents, one a file",
        )
    };
    let redaction = if is_redacted {
        "Keys and tokens of known formats were replaced by `[redacted:<rule>]`. Secrets of another form may be left: look before you publish."
    } else {
        "Nothing was redacted: these sessions contain whatever their logs contain, secrets too."
    };
    format!(
        "---\nconfigs:\n- config_name: default\n  data_files: \"{files}\"\ndataset_info:\n  features:\n{features}tags:\n- agent-traces\n---\n\n\
         # Agent sessions\n\n{sessions} {what}, written by `engram export hf`.\n\n{redaction}\n\n\
         What was rewound, and history that was copied from another session, is left out. Sub-agents are rows of their own.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_card_names_its_files_and_keeps_its_indentation() {
        for (is_messages, files) in [(false, "sessions/*/*.jsonl"), (true, "messages.jsonl")] {
            let card = card(is_messages, 3, true);
            let (head, text) = card
                .strip_prefix("---\n")
                .and_then(|rest| rest.split_once("\n---\n"))
                .expect("a head");
            assert!(
                head.contains(&format!("data_files: \"{files}\""))
                    && head.contains("\n  features:\n  - name: "),
                "{head}"
            );
            assert!(
                text.contains("Keys and tokens")
                    && super::card(is_messages, 3, false).contains("Nothing was redacted")
            );
        }
    }
}
