//! Formats of keys and tokens that begin with fixed characters: facts as data. What a token begins with, the characters that follow, and how
//! many. They are those that issuers document, and that gitleaks (8.30, July 2026) has with a fixed beginning; see
//! [the tape format](https://github.com/engram-tape/engram/blob/main/docs/tape-format.md#redaction) for what is left out.

use std::fmt::Write;

use self::Chars::*;
use self::Part::{Run, Word};

/// The characters of a part of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chars {
    /// `0-9a-f`
    Hex,
    /// `0-9a-z`
    Lower,
    /// `0-9A-Z`
    Upper,
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_` and `-`.
    Url,
    /// Those of `Url`, `.` and `=`.
    Dotted,
    /// Letters, digits, `+` and `/`.
    Base64,
}

/// What follows the beginning of a token.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// At least and at most so many characters. At most 0 of them: any number.
    Run(Chars, usize, usize),
    /// These characters.
    Word(&'static str),
}

/// A format.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// The name of its rule.
    pub name: &'static str,
    /// What a token begins with: one of these.
    pub begins: &'static [&'static str],
    /// What follows, in order.
    pub rest: &'static [Part],
}

impl Chars {
    fn class(self) -> &'static str {
        match self {
            Hex => "[0-9a-f]",
            Lower => "[0-9a-z]",
            Upper => "[0-9A-Z]",
            Alnum => "[0-9A-Za-z]",
            Url => "[0-9A-Za-z_-]",
            Dotted => "[0-9A-Za-z_.=-]",
            Base64 => "[0-9A-Za-z+/]",
        }
    }
}

impl Format {
    /// The regular expression of a whole token.
    pub fn pattern(&self) -> String {
        let mut pattern = format!(
            "(?:{})",
            self.begins
                .iter()
                .map(|begin| regex::escape(begin))
                .collect::<Vec<_>>()
                .join("|")
        );
        for part in self.rest {
            // Writing to a string cannot fail.
            let _ = match part {
                Run(chars, least, 0) => write!(pattern, "{}{{{least},}}", chars.class()),
                Run(chars, least, most) => write!(pattern, "{}{{{least},{most}}}", chars.class()),
                Word(word) => write!(pattern, "{}", regex::escape(word)),
            };
        }
        pattern
    }
}

const fn of(name: &'static str, begins: &'static [&'static str], rest: &'static [Part]) -> Format {
    Format { name, begins, rest }
}

/// Exactly so many characters.
const fn run(chars: Chars, count: usize) -> Part {
    Run(chars, count, count)
}

/// The formats, by name.
pub(super) const FORMATS: &[Format] = &[
    of("1password-token", &["ops_eyJ"], &[Run(Base64, 250, 0)]),
    of(
        "1password-key",
        &["A3-"],
        &[
            run(Upper, 6),
            Word("-"),
            Run(Upper, 6, 11),
            Word("-"),
            Run(Upper, 5, 5),
            Word("-"),
            Run(Upper, 5, 5),
        ],
    ),
    of("adobe-secret", &["p8e-"], &[run(Lower, 32)]),
    of(
        "airtable-token",
        &["pat"],
        &[run(Alnum, 14), Word("."), run(Hex, 64)],
    ),
    of("alibaba-key-id", &["LTAI"], &[run(Alnum, 20)]),
    of("artifactory-key", &["AKCp"], &[run(Alnum, 69)]),
    of("artifactory-token", &["cmVmd"], &[run(Alnum, 59)]),
    of("atlassian-token", &["ATATT3"], &[Run(Dotted, 186, 0)]),
    of("aws-bedrock-key", &["ABSK"], &[Run(Base64, 109, 0)]),
    of(
        "aws-bedrock-session",
        &["bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t"],
        &[Run(Base64, 0, 0)],
    ),
    of("clickhouse-key", &["4b1d"], &[run(Alnum, 38)]),
    of("clojars-token", &["CLOJARS_"], &[run(Lower, 60)]),
    of(
        "cloudflare-origin-key",
        &["v1.0-"],
        &[run(Hex, 24), Word("-"), run(Hex, 146)],
    ),
    of(
        "defined-key",
        &["dnkey-"],
        &[run(Url, 26), Word("-"), run(Url, 52)],
    ),
    of(
        "doppler-token",
        &[
            "dp.pt.",
            "dp.st.",
            "dp.ct.",
            "dp.sa.",
            "dp.scim.",
            "dp.audit.",
        ],
        &[Run(Alnum, 40, 44)],
    ),
    of(
        "duffel-token",
        &["duffel_test_", "duffel_live_"],
        &[Run(Dotted, 43, 43)],
    ),
    of(
        "dynatrace-token",
        &["dt0c01."],
        &[run(Alnum, 24), Word("."), run(Alnum, 64)],
    ),
    of("easypost-key", &["EZAK", "EZTK"], &[run(Alnum, 54)]),
    of("facebook-token", &["EAAM", "EAAC"], &[Run(Alnum, 100, 0)]),
    of(
        "flutterwave-key",
        &["FLWSECK_TEST-", "FLWSECK-"],
        &[run(Lower, 32), Word("-X")],
    ),
    of("fly-token", &["fo1_"], &[run(Url, 43)]),
    of(
        "fly-macaroon",
        &["fm1a_", "fm1r_", "fm2_"],
        &[Run(Base64, 100, 0)],
    ),
    of("frameio-token", &["fio-u-"], &[Run(Dotted, 64, 64)]),
    of(
        "gitlab-feature-token",
        &["glffct-", "GR1348941"],
        &[Run(Url, 20, 25)],
    ),
    of("gitlab-session", &["_gitlab_session="], &[run(Lower, 32)]),
    of("grafana-key", &["eyJrIjoi"], &[Run(Alnum, 70, 0)]),
    of(
        "harness-key",
        &["pat.", "sat."],
        &[
            run(Url, 22),
            Word("."),
            run(Alnum, 24),
            Word("."),
            run(Alnum, 20),
        ],
    ),
    of("heroku-key", &["HRKU-AA"], &[run(Url, 58)]),
    of("huggingface-org-token", &["api_org_"], &[run(Alnum, 34)]),
    of("infracost-key", &["ico-"], &[run(Alnum, 32)]),
    of(
        "intra42-secret",
        &["s-s4t2ud-", "s-s4t2af-"],
        &[run(Hex, 64)],
    ),
    of(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        &[run(Hex, 32), Word("_"), run(Hex, 10)],
    ),
    of(
        "mapbox-secret",
        &["sk.eyJ"],
        &[Run(Url, 55, 120), Word("."), run(Url, 22)],
    ),
    of(
        "new-relic-key",
        &["NRAK-", "NRII-", "NRJS-", "NRIQ-", "NRRA-"],
        &[Run(Url, 19, 40)],
    ),
    of("nvidia-key", &["nvapi-"], &[Run(Url, 60, 70)]),
    of("octopus-key", &["API-"], &[run(Upper, 26)]),
    of("openshift-token", &["sha256~"], &[run(Url, 43)]),
    of(
        "planetscale-token",
        &["pscale_tkn_", "pscale_oauth_", "pscale_pw_"],
        &[Run(Dotted, 32, 64)],
    ),
    of(
        "plaid-token",
        &[
            "access-sandbox-",
            "access-development-",
            "access-production-",
        ],
        &[
            run(Hex, 8),
            Word("-"),
            run(Hex, 4),
            Word("-"),
            run(Hex, 4),
            Word("-"),
            run(Hex, 4),
            Word("-"),
            run(Hex, 12),
        ],
    ),
    of("posthog-key", &["phx_"], &[Run(Alnum, 43, 48)]),
    of(
        "postman-key",
        &["PMAK-"],
        &[run(Hex, 24), Word("-"), run(Hex, 34)],
    ),
    of("prefect-key", &["pnu_"], &[run(Alnum, 36)]),
    of("pulumi-token", &["pul-"], &[run(Hex, 40)]),
    of("readme-key", &["rdme_"], &[run(Lower, 70)]),
    of("rubygems-key", &["rubygems_"], &[run(Hex, 48)]),
    of("scalingo-token", &["tk-us-"], &[run(Url, 48)]),
    of(
        "sendinblue-key",
        &["xkeysib-"],
        &[run(Hex, 64), Word("-"), run(Alnum, 16)],
    ),
    of(
        "settlemint-token",
        &["sm_aat_", "sm_pat_", "sm_sat_"],
        &[run(Alnum, 16)],
    ),
    of(
        "shippo-token",
        &["shippo_live_", "shippo_test_"],
        &[run(Hex, 40)],
    ),
    of("sonar-token", &["squ_", "sqp_", "sqa_"], &[run(Hex, 40)]),
    of(
        "sourcegraph-token",
        &["sgp_", "sgp_local_"],
        &[run(Hex, 40)],
    ),
    of(
        "sourcegraph-instance-token",
        &["sgp_"],
        &[run(Hex, 16), Word("_"), run(Hex, 40)],
    ),
    of("square-token", &["sq0atp-", "sq0csp-"], &[Run(Url, 22, 60)]),
    of(
        "stripe-prod-key",
        &["sk_prod_", "rk_prod_"],
        &[Run(Alnum, 10, 99)],
    ),
    of(
        "tavily-key",
        &["tvly-", "tvly-dev-", "tvly-prod-"],
        &[Run(Alnum, 32, 40)],
    ),
    of("twilio-key", &["SK"], &[run(Hex, 32)]),
    of("typeform-token", &["tfp_"], &[Run(Dotted, 59, 59)]),
    of("yandex-key", &["AQVN"], &[Run(Url, 35, 38)]),
];

#[cfg(test)]
mod tests {
    use super::super::find::COMPILED;
    use super::*;

    impl Chars {
        /// So many of the characters, as they could be in a token.
        fn sample(self, count: usize) -> String {
            let all = match self {
                Hex => "3fa9c07be51d",
                Lower => "a3k9x0p7q2w8e5",
                Upper => "A3K9X0P7Q2W8E5",
                Alnum | Url | Dotted | Base64 => "aB3xK9pQ0wE7rT5z",
            };
            all.chars().cycle().take(count).collect()
        }
    }

    impl Format {
        /// A token that begins like this. Its parts have the fewest characters, and `less` fewer in the first one.
        fn sample(&self, begin: &str, less: usize) -> String {
            let mut token = begin.to_owned();
            let mut less = less;
            for part in self.rest {
                match part {
                    Run(chars, least, _) => token
                        .push_str(&chars.sample(least.saturating_sub(std::mem::take(&mut less)))),
                    Word(word) => token.push_str(word),
                }
            }
            token
        }
    }

    /// The text without its secrets, and the name of the first rule.
    fn redact(text: &str) -> Option<(String, &'static str)> {
        let mut found = Vec::new();
        let rules = COMPILED.as_ref().unwrap();
        let text = rules.text(text, &mut found)?;
        Some((text, rules.name(found[0])))
    }

    #[test]
    fn each_format_is_found_with_every_beginning_and_nothing_around_it() {
        for format in FORMATS {
            for begin in format.begins {
                let token = format.sample(begin, 0);
                for (before, after) in [
                    ("", ""),
                    ("export X=", "\n"),
                    ("\"", "\","),
                    ("(", ")"),
                    ("a ", " b"),
                    ("\\n", "\\n"),
                ] {
                    let (text, rule) = redact(&format!("{before}{token}{after}"))
                        .unwrap_or_else(|| panic!("{}: {token}", format.name));
                    assert!(!text.contains(&token), "{}: {text}", format.name);
                    assert!(
                        text.starts_with(before) && text.ends_with(after),
                        "{}: {text}",
                        format.name
                    );
                    assert_eq!(rule, format.name, "{token}");
                }
            }
        }
    }

    #[test]
    fn what_is_too_short_or_too_long_or_inside_a_word_stays() {
        let mut shorter = 0;
        for format in FORMATS {
            let begin = format.begins[0];
            let token = format.sample(begin, 0);
            for (before, after) in [("x", ""), ("9", "")] {
                let inside = format!("{before}{token}{after}");
                // A beginning with a sign cannot be inside a word.
                if begin.starts_with(|c: char| c.is_ascii_alphanumeric()) {
                    assert_eq!(redact(&inside), None, "{}: {inside}", format.name);
                }
            }
            if let Some(Run(_, least, _)) = format
                .rest
                .first()
                .filter(|part| matches!(part, Run(_, 1.., _)))
            {
                let short = format.sample(begin, (*least).min(4));
                assert_eq!(redact(&short), None, "{}: {short}", format.name);
                shorter += 1;
            }
            if let Some(Run(_, least, most)) = format.rest.last()
                && (*least, *most) != (0, 0)
                && least == most
            {
                let long = format!("{token}z9");
                assert_eq!(redact(&long), None, "{}: {long}", format.name);
            }
        }
        assert!(shorter > 40, "{shorter}");
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<&str> =
            FORMATS.iter().map(|format| format.name).collect();
        assert_eq!(names.len(), FORMATS.len());
    }
}
