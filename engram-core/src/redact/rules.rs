//! The rules: what keys and tokens look like. Each follows the format that the issuer documents, and has a name that never changes. Formats
//! that are fixed characters and a number of others are in `formats.rs`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::formats::FORMATS;

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
    /// What a person could have chosen as a password: letters with digits or signs, no variable, no path, no word such as `your_password`.
    Password,
    /// Base64 of a name, a colon and a password.
    BasicAuth,
}

/// One rule.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub name: &'static str,
    /// A regular expression. Its first group is what is replaced.
    pub pattern: Cow<'static, str>,
    pub needs: Needs,
}

/// What may be before a token: the beginning of a word, an escape (of a text in a text, or of an address), a colour code of a terminal, `_`.
macro_rules! before {
    () => {
        r"(?:(?-u:\b)|\\[nrt]|\\u[0-9A-Fa-f]{4}|%[0-9A-Fa-f]{2}|\[[0-9;]{0,12}m|_)"
    };
}

/// A token.
macro_rules! token {
    ($name:literal, $pattern:literal) => {
        token!($name, $pattern, Needs::Nothing)
    };
    ($name:literal, $pattern:literal, $needs:expr) => {
        Rule {
            name: $name,
            pattern: Cow::Borrowed(concat!(before!(), "(", $pattern, ")")),
            needs: $needs,
        }
    };
}

/// A secret that is found by what precedes it.
macro_rules! after {
    ($name:literal, $pattern:expr, $needs:expr) => {
        Rule {
            name: $name,
            pattern: Cow::Borrowed($pattern),
            needs: $needs,
        }
    };
}

/// All rules. Of two that match at one place, the first one counts.
pub(super) static TABLE: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let formats = FORMATS.iter().map(|format| {
        let pattern = Cow::Owned(format!("{}({})", before!(), format.pattern()));
        Rule {
            name: format.name,
            pattern,
            needs: Needs::End,
        }
    });
    OWN.iter()
        .cloned()
        .chain(formats)
        .chain(NAMED.iter().cloned())
        .collect()
});

/// Rules for tokens with more than one form.
const OWN: &[Rule] = &[
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
    token!(
        "openai-key",
        r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|sk-[A-Za-z0-9]{32,}"
    ),
    token!("openrouter-key", r"sk-or-v1-[0-9a-f]{64}"),
    token!(
        "aws-access-key-id",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
        Needs::End
    ),
    after!(
        "aws-secret-access-key",
        r"(?i-u:(?:aws_?)?secret_?access_?key)[^A-Za-z0-9_]{1,10}([A-Za-z0-9/+]{40})",
        Needs::End
    ),
    after!(
        "azure-storage-key",
        r"AccountKey=([A-Za-z0-9+/]{86}==)",
        Needs::Nothing
    ),
    token!(
        "databricks-token",
        r"dapi[0-9a-f]{32}(?:-[0-9])?",
        Needs::End
    ),
    token!("digitalocean-token", r"do[opr]_v1_[0-9a-f]{64}"),
    token!("docker-token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{24,}"),
    token!("figma-token", r"fig[du]_[A-Za-z0-9_-]{36,}"),
    token!(
        "github-token",
        r"gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{50,}"
    ),
    token!(
        "gitlab-token",
        r"gl(?:pat|dt|ptt|rt|cbt|ft|soat|agent|oas|imt)-[A-Za-z0-9_-]{20,}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,})?"
    ),
    token!("google-api-key", r"AIza[A-Za-z0-9_-]{35}", Needs::End),
    token!(
        "google-oauth-token",
        r"ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{28}"
    ),
    token!(
        "grafana-token",
        r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/]{32,}={0,2}"
    ),
    token!("groq-key", r"gsk_[A-Za-z0-9]{48,}"),
    token!("huggingface-token", r"hf_[A-Za-z0-9]{34}"),
    token!(
        "jwt",
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"
    ),
    token!("linear-key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    token!("notion-token", r"(?:ntn|secret)_[A-Za-z0-9]{43,}"),
    token!("npm-token", r"npm_[A-Za-z0-9]{36}"),
    token!("perplexity-key", r"pplx-[A-Za-z0-9]{40,}"),
    token!("pypi-token", r"pypi-AgE[A-Za-z0-9_-]{50,}"),
    token!("replicate-token", r"r8_[A-Za-z0-9]{37}"),
    token!("sendgrid-key", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    token!("sentry-token", r"sntry[su]_[A-Za-z0-9_+/=-]{40,}"),
    token!("shopify-token", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    token!(
        "slack-token",
        r"xox[abeoprs]-(?:[0-9]-)?[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{20,}"
    ),
    after!(
        "slack-webhook",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]{20,})",
        Needs::DigitAndLetter
    ),
    token!(
        "stripe-key",
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}"
    ),
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
    // A file of keys (`.docker/config.json`): base64 of name and password.
    after!(
        "docker-auth",
        r#"[\"']auth[\\"']{1,4}[ \t]*:[ \t]*[\\"']{1,4}([A-Za-z0-9+/]{8,}={0,2})"#,
        Needs::BasicAuth
    ),
    after!(
        "azure-sas",
        r"[?&;]sig=([A-Za-z0-9%+/_-]{40,90}={0,2})",
        Needs::DigitAndLetter
    ),
    after!(
        "discord-webhook",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,22}/([A-Za-z0-9_-]{60,72})",
        Needs::Nothing
    ),
    token!(
        "discord-token",
        r"[MNO][A-Za-z0-9]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}",
        Needs::End
    ),
    token!("new-relic-licence", r"[0-9a-f]{36}NRAL", Needs::End),
    token!(
        "terraform-token",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}"
    ),
    token!(
        "maxmind-key",
        r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk",
        Needs::End
    ),
    token!("mailgun-key", r"key-[0-9a-f]{32}", Needs::End),
    after!(
        "teams-webhook",
        r"webhook\.office\.com/webhookb2/([0-9a-z@-]{36,110}/IncomingWebhook/[0-9a-z]{32}/[0-9a-z-]{36})",
        Needs::Nothing
    ),
    after!(
        "cookie",
        r#"(?i-u:(?:set-)?cookie)[\\"']{0,4}[ \t]*:[ \t]*[\\"']{0,4}([A-Za-z0-9_.-]+=[^\r\n"'\\]{8,})"#,
        Needs::DigitAndLetter
    ),
    after!(
        "curl-password",
        r#"(?-u:curl\b)[^\r\n|;]{0,100}?[ \t](?:-u|--user)[= \t]{0,4}[\\"']{0,4}[^ \t\r\n:"'\\$]{1,64}:([^ \t\r\n"'\\$<\{]{4,128})"#,
        Needs::Password
    ),
    after!(
        "netrc-password",
        r#"machine(?:[ \t\r\n]|\\[nrt])+[A-Za-z0-9.-]+?\.[A-Za-z0-9-]+(?:[ \t\r\n]|\\[nrt])+login(?:[ \t\r\n]|\\[nrt])+[^ \t\r\n]+?(?:[ \t\r\n]|\\[nrt])+password(?:[ \t\r\n]|\\[nrt])+([^ \t\r\n\\"']{3,})"#,
        Needs::Nothing
    ),
    // A password that consists of a variable of a shell or a template is none.
    after!(
        "url-password",
        r#"(?-u:\b)[A-Za-z][A-Za-z0-9+.-]{1,20}://[^ \t\r\n/:@'"<>\\`$\{\}\[\]%#?]{0,64}:([^ \t\r\n/:@'"<>\\`$\{\}\[\]*#?]{3,128})@[A-Za-z0-9\[]"#,
        Needs::Nothing
    ),
];

/// Rules for values without a form of their own, which come after all others.
const NAMED: &[Rule] = &[
    // By the end of the name that it is given to: `session_token`, but not `token_count`.
    after!(
        "named-secret",
        concat!(
            r#"(?:(?i-u:token|secret|passphrase|passw(?:or)?d|[_-]pass|[_-]pwd|credentials?"#,
            r#"|(?:api|access|secret|auth|signing|encryption|master|private|account|service)[_-]?key)"#,
            r#"[\\"'`\]]{0,4}[ \t]*(?:=>|:=|[:=])[ \t]*"#,
            r#"|(?-u:[ \t])--[A-Za-z0-9-]{0,40}(?i-u:token|secret|password|key)[ \t]+)"#,
            r#"[\\"'`]{0,4}([A-Za-z0-9_.~+/=!@#^*?%-]{8,})"#
        ),
        Needs::Random
    ),
    // A variable as in a file `.env`: `DB_PASS=..`.
    after!(
        "env-secret",
        r#"(?:[A-Z][A-Z0-9]*_)+(?:PASS|PASSWORD|PASSWD|PWD|PASSPHRASE|SECRET)=[\\"']{0,4}([^ \t\r\n"'\\;&|)]{6,})"#,
        Needs::Password
    ),
];
