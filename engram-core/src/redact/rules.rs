//! The rules: what keys and tokens look like. Each follows the format that the issuer documents, and has a name that never changes.

/// The name of this set of rules in a tape. It changes with every rule.
pub const RULES: &str = "engram-redact/3";

/// What a match must have besides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing: the form is proof enough.
    Nothing,
    /// A digit and a letter: the form fits words, too, such as placeholders in documents.
    DigitAndLetter,
    /// No more characters of base64 after it: the form fits parts of encoded data, too.
    End,
    /// The look of random characters, and an end: the form fits every value.
    Random,
}

/// One rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    pub name: &'static str,
    /// A regular expression. Its first group is what is replaced.
    pub pattern: &'static str,
    pub needs: Needs,
}

/// A token that begins where a word begins, or after an escape (of a text in a text, or of an address), a colour code of a terminal or `_`.
macro_rules! token {
    ($name:literal, $pattern:literal) => {
        token!($name, $pattern, Needs::Nothing)
    };
    ($name:literal, $pattern:literal, $needs:expr) => {
        Rule {
            name: $name,
            pattern: concat!(r"(?:(?-u:\b)|\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}m|_)(", $pattern, ")"),
            needs: $needs,
        }
    };
}

/// A secret that is found by what precedes it.
macro_rules! after {
    ($name:literal, $pattern:expr, $needs:expr) => {
        Rule { name: $name, pattern: $pattern, needs: $needs }
    };
}

/// All rules. Of two that match at one place, the first one counts.
pub(super) const TABLE: &[Rule] = &[
    // Up to the end line. A key that is cut off ends with the last line that consists of base64.
    after!(
        "private-key",
        concat!(
            r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
            r"(?:(?:[A-Za-z0-9+/=:,.() \t\r\n\\|>\u{2192}]|-[^-])*-?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----",
            r"|(?:(?:[ \t\r\n0-9|>\u{2192}:+-]|\\[nrt])*[A-Za-z0-9+/=]{40,})+))"
        ),
        Needs::Nothing
    ),
    token!("age-key", r"AGE-SECRET-KEY-1[0-9A-Z]{58}"),
    token!("anthropic-key", r"sk-ant-[a-z0-9]{2,12}-[A-Za-z0-9_-]{20,}"),
    token!("openai-key", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,}"),
    token!("openrouter-key", r"sk-or-v1-[0-9a-f]{64}"),
    token!("aws-access-key-id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}", Needs::End),
    after!("aws-secret-access-key", r"(?i-u:(?:aws_?)?secret_?access_?key)[^A-Za-z0-9_]{1,10}([A-Za-z0-9/+]{40})", Needs::End),
    after!("azure-storage-key", r"AccountKey=([A-Za-z0-9+/]{86}==)", Needs::Nothing),
    token!("databricks-token", r"dapi[0-9a-f]{32}(?:-[0-9])?", Needs::End),
    token!("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    token!("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,}"),
    token!("figma-token", r"fig[du]_[A-Za-z0-9_-]{36,}"),
    token!("github-token", r"gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{50,}"),
    token!("gitlab-token", r"gl(?:pat|dt|ptt|rt|cbt|ft|soat|agent|oas|imt)-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,})?"),
    token!("google-api-key", r"AIza[A-Za-z0-9_-]{35}", Needs::End),
    token!("google-oauth-token", r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}"),
    token!("grafana-token", r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}"),
    token!("groq-key", r"gsk_[A-Za-z0-9]{48,}"),
    token!("huggingface-token", r"hf_[A-Za-z0-9]{34}"),
    token!("jwt", r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    token!("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    token!("notion-token", r"(?:ntn|secret)_[A-Za-z0-9]{43,}"),
    token!("npm-token", r"npm_[A-Za-z0-9]{36}"),
    token!("perplexity-key", r"pplx-[A-Za-z0-9]{40,}"),
    token!("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    token!("replicate-token", r"r8_[A-Za-z0-9]{37}"),
    token!("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token!("sentry-token", r"sntry[su]_[A-Za-z0-9_+/=-]{40,}"),
    token!("shopify-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    token!("slack-token", r"xox[abeoprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"),
    after!("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})", Needs::DigitAndLetter),
    token!("stripe-key", r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"),
    token!("supabase-token", r"sbp_[0-9a-f]{40}"),
    token!("telegram-token", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}"),
    token!("vault-token", r"hv[sbr]\.[A-Za-z0-9_-]{24,}"),
    token!("xai-key", r"xai-[A-Za-z0-9]{60,}"),
    after!(
        "http-authorization",
        concat!(
            r#"(?i-u:\bauthorization)[\\"']{0,4}[ \t]*[:=][ \t]*[\\"']{0,4}(?i-u:bearer|basic|token|apikey)[ \t]+"#,
            r"([A-Za-z0-9._~+/=-]{8,})"
        ),
        Needs::DigitAndLetter
    ),
    // A password that consists of a variable of a shell or a template is none.
    after!(
        "url-password",
        r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^ \t\r\n/:@'"<>\\`$\{\}\[\]%#?]{0,64}:([^ \t\r\n/:@'"<>\\`$\{\}\[\]*#?]{3,128})@[A-Za-z0-9\[]"#,
        Needs::Nothing
    ),
    // A value without a form of its own, by the end of the name that it is given to: `session_token`, but not `token_count`.
    after!(
        "named-secret",
        concat!(
            r#"(?:(?i-u:token|secret|passphrase|passw(?:or)?d|credentials?"#,
            r#"|(?:api|access|secret|auth|signing|encryption|master|private|account|service)[_-]?key)"#,
            r#"[\\"'`\]]{0,4}[ \t]*(?:=>|:=|[:=])[ \t]*"#,
            r#"|(?-u:[ \t])--[A-Za-z0-9-]{0,40}(?i-u:token|secret|password|key)[ \t]+)"#,
            r#"[\\"'`]{0,4}([A-Za-z0-9_.~+/=!@#^*?-]{8,256})"#
        ),
        Needs::Random
    ),
];
