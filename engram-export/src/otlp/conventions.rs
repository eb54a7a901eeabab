//! The conventions of OpenTelemetry for generative AI: all names that they define and this export writes. A new version changes this file.

/// The version of the conventions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Semconv {
    /// `semantic-conventions-genai` 0.1.0, the first release of its own, on 1.45.0 of the general conventions.
    #[default]
    GenAi0_1,
    /// `semantic-conventions` 1.41, and with its older names what back ends know since 1.36.
    V1_41,
}

impl Semconv {
    /// The version, in words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Semconv::GenAi0_1 => "genai-0.1.0",
            Semconv::V1_41 => "1.41",
        }
    }

    /// The schema that a back end may look up. That of the new repository is not published.
    pub(super) const fn schema_url(self) -> &'static str {
        match self {
            Semconv::GenAi0_1 => "",
            Semconv::V1_41 => "https://opentelemetry.io/schemas/1.41.0",
        }
    }

    /// The attributes that hold the provider. Back ends of before 1.37 know the second one only.
    pub(super) const fn provider(self) -> &'static [&'static str] {
        match self {
            Semconv::GenAi0_1 => &["gen_ai.provider.name"],
            Semconv::V1_41 => &["gen_ai.provider.name", "gen_ai.system"],
        }
    }

    /// The tokens that went to a cache.
    pub(super) const fn cache_write(self) -> &'static str {
        match self {
            Semconv::GenAi0_1 => "gen_ai.usage.cache_write.input_tokens",
            Semconv::V1_41 => "gen_ai.usage.cache_creation.input_tokens",
        }
    }

    /// True if the span of an agent has its id.
    pub(super) const fn has_agent_id(self) -> bool {
        matches!(self, Semconv::V1_41)
    }
}

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const AGENT_NAME: &str = "gen_ai.agent.name";
pub(super) const AGENT_ID: &str = "gen_ai.agent.id";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
pub(super) const COMPACTED: &str = "gen_ai.conversation.compacted";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const REASONING_TOKENS: &str = "gen_ai.usage.reasoning.output_tokens";
pub(super) const INPUT_MESSAGES: &str = "gen_ai.input.messages";
pub(super) const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
pub(super) const TOOL_NAME: &str = "gen_ai.tool.name";
pub(super) const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
pub(super) const TOOL_RESULT: &str = "gen_ai.tool.call.result";
pub(super) const EXIT_CODE: &str = "process.exit.code";
pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const SERVICE_NAME: &str = "service.name";
pub(super) const SERVICE_VERSION: &str = "service.version";
pub(super) const REPO_URL: &str = "vcs.repository.url.full";
pub(super) const REPO_BRANCH: &str = "vcs.ref.head.name";
pub(super) const REPO_REVISION: &str = "vcs.ref.head.revision";

/// The span of an agent that runs in this process.
pub(super) const INVOKE_AGENT: &str = "invoke_agent";
/// The span of a call of a tool.
pub(super) const EXECUTE_TOOL: &str = "execute_tool";

/// The operation of a response, by harness.
pub(super) fn inference(harness: &str) -> &'static str {
    if harness == "gemini" {
        "generate_content"
    } else {
        "chat"
    }
}

/// A provider, and whether its name was derived from that of the model.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Provider {
    pub(super) name: String,
    pub(super) is_derived: bool,
}

/// Who makes the models whose names begin so, as the conventions name them. They ask for the best knowledge of who wrote the span: a cloud that
/// resells a model may have answered.
const MAKERS: [(&str, &str); 8] = [
    ("claude-", "anthropic"),
    ("gpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini-", "gcp.gemini"),
    ("grok-", "x_ai"),
    ("deepseek-", "deepseek"),
];

/// The provider: a known name for what the log says or the harness implies, else the log's own word, else the maker of the model. The conventions
/// require one.
pub(super) fn provider_of(stated: Option<&str>, harness: &str, model: Option<&str>) -> Provider {
    let known = |word: &str| match word.to_ascii_lowercase().as_str() {
        "anthropic" => Some("anthropic"),
        "openai" => Some("openai"),
        "google" | "gemini" => Some("gcp.gemini"),
        _ => None,
    };
    let maker = || {
        let model = model?;
        let maker = MAKERS.iter().find(|(begin, _)| model.starts_with(begin));
        maker.map(|(_, maker)| *maker)
    };
    let (name, is_derived) = match (stated, harness) {
        (Some(word), _) => (known(word).unwrap_or(word), false),
        (None, "gemini") => ("gcp.gemini", false),
        (None, _) => maker().map_or(("unknown", false), |maker| (maker, true)),
    };
    Provider {
        name: name.to_owned(),
        is_derived,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_what_the_log_states_else_the_maker_of_the_model() {
        let of = |stated, harness, model| {
            let Provider { name, is_derived } = provider_of(stated, harness, model);
            (name, is_derived)
        };
        let name = |name: &str, is_derived| (name.to_owned(), is_derived);
        assert_eq!(
            of(Some("Anthropic"), "opencode", None),
            name("anthropic", false)
        );
        assert_eq!(of(Some("own"), "codex", Some("gpt-5")), name("own", false));
        assert_eq!(
            of(None, "claude-code", Some("claude-opus-5")),
            name("anthropic", true)
        );
        assert_eq!(of(None, "codex", Some("gpt-5-codex")), name("openai", true));
        assert_eq!(
            of(None, "cursor", Some("composer-2.5")),
            name("unknown", false)
        );
        assert_eq!(of(None, "gemini", None), name("gcp.gemini", false));
    }
}
