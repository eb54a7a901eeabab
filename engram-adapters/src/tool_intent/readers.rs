//! The views of the objects that the adapter reads. Generated from `members/*.members` (`ENGRAM_BLESS=1` with the unit tests writes
//! it). Do not edit it.

use crate::shared::view::view;

view! {
    /// The first line.
    Header {
        schema: "schema" String,
        work_id: "work_id" String,
        episode_id: "episode_id" String,
        session_id: "session_id" String,
        profile: "adapter_profile_hash" String,
        /// The agent, as profiles name it.
        harness: "harness" String,
        version: "version" String,
        model: "model" String,
        /// The hash of the nonce of the episode's frames.
        nonce_hash: "nonce_hash" String,
        /// What each intent is.
        capability_map: "capability_map" Array,
        tool_limits: "tool_limits" Object,
        t: "t" String,
    }
}

view! {
    /// The bounds under which the driver read frames.
    ToolLimits {
        max_args_bytes: "max_args_bytes" Number,
        max_line_bytes: "max_line_bytes" Number,
        max_requests: "max_requests" Number,
    }
}

view! {
    /// What an intent is.
    Capability {
        intent: "intent" String,
        tool_class: "tool_class" String,
    }
}

view! {
    /// A text of the driver or the agent.
    Said {
        /// `driver` or `agent`.
        from: "from" String,
        /// `preamble`: the driver's own words.
        part: "part" String,
        text: "text" String,
        /// Behind an answer to a request that was allowed.
        result: "result" Object,
        t: "t" String,
    }
}

view! {
    /// What a tool returned.
    Output {
        /// The bytes of the envelope, whose hash is in the answer.
        bytes: "bytes" Any,
        /// `ok` or `error`.
        status: "status" String,
        /// The output or its beginning.
        text: "text" String,
        /// The bytes of the whole output.
        text_bytes: "text_bytes" Any,
    }
}

view! {
    /// What happened beside the texts.
    Event {
        /// `ToolDecided` or `EpisodeEnded`.
        event: "event" String,
        t: "t" String,
        /// The request.
        id: "id" String,
        /// `allow` or `deny`.
        decision: "decision" String,
        status: "status" String,
    }
}
