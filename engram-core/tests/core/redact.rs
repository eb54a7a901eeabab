//! Redaction: what it must find, what it must leave alone, and what becomes of the rest of a tape.

use std::collections::BTreeSet;
use std::io;

use engram_core::check::check;
use engram_core::event::{Event, EventRef};
use engram_core::hash::Hash;
use engram_core::redact::{Redacting, fixed_formats, rule_names};
use engram_core::sink::EventSink;
use engram_core::tape::{JsonLines, events, replay};
use proptest::prelude::*;

use crate::check::GOOD;

/// Letters and digits of a token: no token that an issuer has given.
fn letters(count: usize) -> String {
    "aB3dE5gH7jK9mN2pQ4rS6tU8vW"
        .chars()
        .cycle()
        .take(count)
        .collect()
}

fn hex(count: usize) -> String {
    "0123456789abcdef".chars().cycle().take(count).collect()
}

const UUID: &str = "550e8400-e29b-41d4-a716-446655440000";

/// Each rule with a text and the secret in it.
fn secrets() -> Vec<(&'static str, String, String)> {
    let alone = |rule, secret: String| (rule, secret.clone(), secret);
    let key = format!(
        "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n-----END RSA PRIVATE KEY-----",
        letters(64),
        letters(20)
    );
    let numbered = format!(
        "-----BEGIN PRIVATE KEY-----\n     2→{}\n     3→{}",
        letters(64),
        letters(64)
    );
    let headers = format!(
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{}\n\n{}\n-----END EC PRIVATE KEY-----",
        hex(32),
        letters(64)
    );
    let removed = key.replace('\n', "\n-");
    vec![
        ("private-key", format!("see {key}\nend"), key.clone()),
        (
            "private-key",
            format!("     1→{numbered}\n     4→"),
            numbered,
        ),
        alone("private-key", headers),
        ("private-key", format!("-{removed}"), removed),
        alone("private-key", key.replace('\n', "\\n")),
        alone(
            "age-key",
            format!("AGE-SECRET-KEY-1{}", letters(58).to_uppercase()),
        ),
        alone(
            "anthropic-key",
            format!("sk-ant-api03-{}-_{}AA", letters(40), letters(40)),
        ),
        alone(
            "openai-key",
            format!("sk-proj-{}_{}", letters(40), letters(40)),
        ),
        alone("openai-key", format!("sk-{}", letters(48))),
        alone("openrouter-key", format!("sk-or-v1-{}", hex(64))),
        alone("aws-access-key-id", "AKIAIOSFODNN7EXAMPLE".to_owned()),
        (
            "aws-secret-access-key",
            format!("aws_secret_access_key = {}/+", letters(38)),
            format!("{}/+", letters(38)),
        ),
        (
            "aws-secret-access-key",
            format!("\\\"SecretAccessKey\\\": \\\"{}\\\"", letters(40)),
            letters(40),
        ),
        (
            "azure-storage-key",
            format!("AccountName=a;AccountKey={}==;E", letters(86)),
            format!("{}==", letters(86)),
        ),
        alone("databricks-token", format!("dapi{}", hex(32))),
        alone("digitalocean-token", format!("dop_v1_{}", hex(64))),
        alone("docker-token", format!("dckr_pat_{}", letters(27))),
        alone("figma-token", format!("figd_{}", letters(40))),
        alone("github-token", format!("ghp_{}", letters(36))),
        alone("github-token", format!("ghs_{}", letters(36))),
        alone(
            "github-token",
            format!("github_pat_{}_{}", letters(22), letters(59)),
        ),
        (
            "github-token",
            format!("\u{1b}[1;32mghp_{}\u{1b}[0m", letters(36)),
            format!("ghp_{}", letters(36)),
        ),
        (
            "github-token",
            format!("?q=token%3Dghp_{}", letters(36)),
            format!("ghp_{}", letters(36)),
        ),
        (
            "github-token",
            format!("token\\u003dghp_{}", letters(36)),
            format!("ghp_{}", letters(36)),
        ),
        (
            "aws-access-key-id",
            "MY_AKIAIOSFODNN7EXAMPLE".to_owned(),
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
        ),
        alone("gitlab-token", format!("glpat-{}", letters(20))),
        alone("google-api-key", format!("AIza{}", letters(35))),
        alone("google-oauth-token", format!("ya29.{}", letters(60))),
        alone("google-oauth-token", format!("GOCSPX-{}", letters(28))),
        alone("grafana-token", format!("glsa_{}_{}", letters(32), hex(8))),
        alone("groq-key", format!("gsk_{}", letters(52))),
        alone("huggingface-token", format!("hf_{}", letters(34))),
        alone(
            "jwt",
            format!("eyJ{}.eyJ{}.{}", letters(20), letters(30), letters(43)),
        ),
        alone("linear-key", format!("lin_api_{}", letters(40))),
        alone("notion-token", format!("ntn_{}", letters(46))),
        alone("npm-token", format!("npm_{}", letters(36))),
        alone("perplexity-key", format!("pplx-{}", letters(48))),
        alone("pypi-token", format!("pypi-AgE{}", letters(100))),
        alone("replicate-token", format!("r8_{}", letters(37))),
        alone(
            "sendgrid-key",
            format!("SG.{}.{}", letters(22), letters(43)),
        ),
        alone("sentry-token", format!("sntrys_{}", letters(60))),
        alone("shopify-token", format!("shpat_{}", hex(32))),
        alone(
            "slack-token",
            format!("xoxb-{}-{}", "123456789012", letters(24)),
        ),
        alone("slack-token", format!("xapp-1-{}", letters(40))),
        (
            "slack-webhook",
            format!(
                "https://hooks.slack.com/services/T{}/B{}",
                letters(9),
                letters(24)
            ),
            format!("T{}/B{}", letters(9), letters(24)),
        ),
        alone("stripe-key", format!("sk_live_{}", letters(24))),
        alone("stripe-key", format!("whsec_{}", letters(32))),
        alone("supabase-token", format!("sbp_{}", hex(40))),
        alone("telegram-token", format!("123456789:AA{}", letters(33))),
        alone("vault-token", format!("hvs.{}", letters(90))),
        alone("xai-key", format!("xai-{}", letters(80))),
        (
            "http-authorization",
            format!("curl -H 'Authorization: Bearer {}' x", letters(30)),
            letters(30),
        ),
        (
            "http-authorization",
            format!("{{\\\"authorization\\\": \\\"Basic {}==\\\"}}", letters(12)),
            format!("{}==", letters(12)),
        ),
        (
            "named-secret",
            format!("\"api_key\": \"{}\"", hex(32)),
            hex(32),
        ),
        (
            "named-secret",
            format!("\\\"apiKey\\\": \\\"{}\\\"", hex(32)),
            hex(32),
        ),
        (
            "named-secret",
            format!("//registry.npmjs.org/:_authToken={UUID}"),
            UUID.to_owned(),
        ),
        (
            "named-secret",
            format!("export SESSION_TOKEN='{}'", letters(24)),
            letters(24),
        ),
        (
            "named-secret",
            format!("client-secret: {}", letters(20)),
            letters(20),
        ),
        (
            "named-secret",
            format!("https://a.b/c?access_token={}&x=1", letters(32)),
            letters(32),
        ),
        (
            "named-secret",
            format!("deploy --api-key {} --dry-run", letters(32)),
            letters(32),
        ),
        (
            "named-secret",
            format!("config['secret_key'] = '{}'", letters(30)),
            letters(30),
        ),
        (
            "named-secret",
            "DB_PASSWORD=\"Tr0ub4dor#3x!\"".to_owned(),
            "Tr0ub4dor#3x!".to_owned(),
        ),
        (
            "named-secret",
            format!("{{ password => '{}' }}", letters(12)),
            letters(12),
        ),
        (
            "named-secret",
            format!("AWS_SESSION_TOKEN={}", letters(900)),
            letters(900),
        ),
        (
            "env-secret",
            "DB_PASS=hunter2!".to_owned(),
            "hunter2!".to_owned(),
        ),
        (
            "env-secret",
            "export MYSQL_PWD='s3cure-it'".to_owned(),
            "s3cure-it".to_owned(),
        ),
        (
            "curl-password",
            "curl -s https://a.b/c -u admin:hunter2 -o x".to_owned(),
            "hunter2".to_owned(),
        ),
        (
            "curl-password",
            "curl --user \"admin:hunter2\" https://a.b".to_owned(),
            "hunter2".to_owned(),
        ),
        (
            "cookie",
            format!("Cookie: sid={}; theme=1", letters(24)),
            format!("sid={}; theme=1", letters(24)),
        ),
        (
            "netrc-password",
            "machine a.b\n  login me\n  password s3cure".to_owned(),
            "s3cure".to_owned(),
        ),
        (
            "docker-auth",
            "{\"auths\":{\"a.b\":{\"auth\": \"bWU6aHVudGVyMg==\"}}}".to_owned(),
            "bWU6aHVudGVyMg==".to_owned(),
        ),
        (
            "azure-sas",
            format!("https://a.b/c?sv=2024-01-01&sig={}%3D&se=2027", letters(43)),
            format!("{}%3D", letters(43)),
        ),
        (
            "discord-webhook",
            format!(
                "https://discord.com/api/webhooks/112233445566778899/{}",
                letters(68)
            ),
            letters(68),
        ),
        alone(
            "discord-token",
            format!("M{}.{}.{}", letters(25), letters(6), letters(38)),
        ),
        alone("new-relic-licence", format!("{}NRAL", hex(36))),
        alone(
            "terraform-token",
            format!("{}.atlasv1.{}", letters(14), letters(64)),
        ),
        alone("maxmind-key", format!("{}_{}_mmk", letters(6), letters(29))),
        alone("mailgun-key", format!("key-{}", hex(32))),
        (
            "teams-webhook",
            format!(
                "https://x.webhook.office.com/webhookb2/{UUID}@{UUID}/IncomingWebhook/{}/{UUID}",
                hex(32)
            ),
            format!("{UUID}@{UUID}/IncomingWebhook/{}/{UUID}", hex(32)),
        ),
        (
            "url-password",
            "postgres://app:hunter2@db.internal/x".to_owned(),
            "hunter2".to_owned(),
        ),
        (
            "url-password",
            "git clone https://me:p%40ss.w0rd@example.com/x.git".replace("%40", "-"),
            "p-ss.w0rd".to_owned(),
        ),
    ]
}

/// Texts that look like secrets and are none.
fn harmless() -> Vec<String> {
    let base64 = |count: usize| format!("{}/+{}", letters(count / 2), letters(count / 2));
    vec![
        format!("blake3:{}", hex(64)),
        format!("commit {} and sha256 {}", hex(40), hex(64)),
        hex(32),
        "integrity sha512-".to_owned() + &base64(86) + "==",
        "550e8400-e29b-41d4-a716-446655440000".to_owned(),
        "0194fdc2-fa2f-7cc0-81d3-ff12045b73c8 toolu_01A09q90qw90lq917835lq9 msg_013Zva2CMHLNnjNjJKqJ2EF".to_owned(),
        "call_abc123DEF456ghi789JKL012".to_owned(),
        format!("data:image/png;base64,iVBORw0KGgo{}", base64(4000)),
        format!("AKIA{}", letters(40)),
        format!("x/AKIAIOSFODNN7EXAMPLE{}", letters(10)),
        format!("+AIza{}", base64(200)),
        "/home/dev/proj/src/sk-folding-cube.css".to_owned(),
        "C:\\Users\\dev\\AppData\\Roaming\\npm_modules".to_owned(),
        "/nix/store/0c5b3dxwm9z9q3w5xvkp1l8j6f4d2s0a-glibc-2.39".to_owned(),
        "sk-ant-... sk-proj-XXXX sk-your-key-here ghp_xxxx github_pat_example".to_owned(),
        "Authorization: Bearer $GITHUB_TOKEN".to_owned(),
        "Authorization: Bearer ${TOKEN}".to_owned(),
        "Authorization: Bearer YOUR_API_KEY".to_owned(),
        "authorization: basic explanation of roles".to_owned(),
        "https://example.com:8080/a@b".to_owned(),
        "https://user@example.com/x and git@github.com:me/x.git".to_owned(),
        "postgres://app:${DB_PASSWORD}@db/x mysql://u:$PASS@h https://a:<password>@h https://a:****@h".to_owned(),
        "ssh://git@host:2222/x mailto:a@b.c".to_owned(),
        "password = os.environ['DB_PASSWORD']".to_owned(),
        "the secret access key is in the vault".to_owned(),
        "if line.startswith(\"-----BEGIN PRIVATE KEY-----\") and line != \"x\":".to_owned(),
        "-----BEGIN PUBLIC KEY-----\n".to_owned() + &letters(64) + "\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n".to_owned() + &base64(64) + "\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI".to_owned() + &letters(43) + " dev@host",
        "eyJhbGciOiJIUzI1NiJ9 alone is a header".to_owned(),
        "the eyJ prefix, xoxb-, hvs., npm_config_cache=/tmp/npm-cache-directory-of-the-user".to_owned(),
        "npm_lifecycle_script npm_package_config_registry_of_the_project".to_owned(),
        "hf_hub_download(repo_id='org/model', filename='model.safetensors')".to_owned(),
        "secret_key_base glpat-short whsec_short sbp_xyz r8_short do_v1".to_owned(),
        "https://hooks.slack.com/services/your/webhook/path/goes/here".to_owned(),
        "12:30:45 AA 123456789:AA".to_owned(),
        "token_count: 12345 max_tokens=200000 \"input_tokens\": 14712, tokens: 0123456789abcdef0123456789abcdef".to_owned(),
        "token: 1234567890123456 token_type: bearer2 token = tokens[0] secret: 123456".to_owned(),
        format!("\"session_id\": \"{UUID}\", \"uuid\": \"{UUID}\", \"parentUuid\": \"{UUID}\""),
        format!("commit: {} tree={} sha256: {} \"hash\": \"blake3:{}\"", hex(40), hex(40), hex(64), hex(64)),
        format!("cache_key: {} public_key: {} key = {} \"keyId\": \"{UUID}\"", hex(32), hex(64), letters(32)),
        format!("secret: data:image/png;base64,iVBORw0KGgo{}", base64(4000)),
        format!("\"token\": \"{}\"", base64(4000)),
        "const token = getAccessTokenV2(request.headers1, 2)".to_owned(),
        "api_key = os.environ[\"API_KEY_2\"] or config.api_key_v2".to_owned(),
        "apiKey: process.env.OPENAI_API_KEY_2, token: string; password: String2".to_owned(),
        "API_KEY=your_api_key_here_1 TOKEN=$TOKEN2 SECRET=${SECRET_1} password: <password1>".to_owned(),
        "password = hunter2; the password: changeme123, --token-file /run/secrets/token1".to_owned(),
        "secret: /run/secrets/db_password_2 credentials=~/.aws/credentials2".to_owned(),
        "the secret is 42, a token: the smallest unit; password: see 1Password".to_owned(),
        "[redacted:jwt] Authorization: Bearer [redacted:http-authorization] https://u:[redacted:url-password]@h".to_owned(),
        "DB_PASS=$PASS DB_PASSWORD=${DB_PASSWORD} DB_PASS=<password1> APP_SECRET=/run/secrets/app1 X_PWD=your_password1".to_owned(),
        "PWD=/home/dev/proj1 OLDPWD=/home/dev2 MAX_TOKENS=4096 DB_PASS=postgres DB_PASS=password1".to_owned(),
        "curl -u $USER:$PASS https://a.b; curl -u user:password https://a.b; curl -X POST a.b:8080/x1".to_owned(),
        "docker run -u 1000:1000x image, curl --unix-socket a:b1cdef".to_owned(),
        "Cookie: required; cookie: the small thing that = is baked; set-cookie: a=b".to_owned(),
        "machine learning: login page, password reset".to_owned(),
        "\"auth\": \"oauth2client1\" \"auth\":\"none\"".to_owned(),
        "https://a.b/c?sig=short&size=1, signature=abc".to_owned(),
        "API-GATEWAY-AND-OTHER-SERVICES SKU0123456789 key-value pul-request sha256~ ico-large".to_owned(),
        format!("skeleton SK{} EZAK pat.check.this.one sat. fio-u- s.{}", letters(32), letters(24)),
        "é日本語👩‍👩‍👧 \u{202e}".to_owned(),
    ]
}

/// Redacts a message with this text, and returns the text and the rules that replaced something.
fn redact(text: &str) -> (String, Vec<(String, u64)>) {
    let line = message(text);
    let mut sink = Redacting::new(Texts::default()).unwrap();
    replay(line.as_bytes(), &mut sink).unwrap();
    let counts = sink
        .redactions()
        .into_iter()
        .map(|redacted| (redacted.rule.into_owned(), redacted.count))
        .collect();
    (sink.into_inner().0.remove(0), counts)
}

fn message(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    format!(
        "{{\"seq\":0,\"t\":\"2026-01-02T03:04:05Z\",\"k\":\"msg.in\",\"source\":{{\"harness\":\"toy\"}},\"role\":\"user\",\"by\":\"person\",\"text\":{text}}}\n"
    )
}

/// The texts of prompts.
#[derive(Default)]
struct Texts(Vec<String>);

impl EventSink for Texts {
    fn event(&mut self, record: &EventRef<'_>) -> io::Result<()> {
        if let Event::MsgIn(message) = record.event {
            self.0
                .extend(message.text.map(|text| text.decode_lossy().into_owned()));
        }
        Ok(())
    }
}

/// A tape without its secrets.
fn redacted(tape: &str) -> String {
    let mut written = Vec::new();
    replay(
        tape.as_bytes(),
        &mut Redacting::new(JsonLines::new(&mut written)).unwrap(),
    )
    .unwrap();
    String::from_utf8(written).unwrap()
}

#[test]
fn every_rule_finds_its_secret_and_nothing_around_it() {
    for (rule, text, secret) in secrets() {
        let expected = text.replace(&secret, &format!("[redacted:{rule}]"));
        assert_eq!(redact(&text), (expected, vec![(rule.to_owned(), 1)]));
        for (before, after) in [
            ("token=", "\n"),
            ("\"", "\","),
            ("(", ")"),
            ("\\n", "\\n"),
            ("a ", " b"),
        ] {
            let (shown, _) = redact(&format!("{before}{text}{after}"));
            // A header has its line to its end.
            let is_whole = ["cookie", "netrc-password"].contains(&rule) || shown.ends_with(after);
            assert!(
                !shown.contains(&secret) && shown.starts_with(before) && is_whole,
                "{rule}: {shown}"
            );
        }
    }
    let shown: BTreeSet<&str> = secrets().iter().map(|(rule, ..)| *rule).collect();
    // Those that are data have tests beside them.
    let own = rule_names().filter(|rule| !fixed_formats().any(|format| format == *rule));
    assert_eq!(shown, own.collect(), "every rule is tested");
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    for text in harmless() {
        assert_eq!(redact(&text), (text, Vec::new()));
    }
}

#[test]
fn secrets_that_follow_each_other_are_all_found() {
    let (one, other) = (format!("ghp_{}", letters(36)), "AKIAIOSFODNN7EXAMPLE");
    let (shown, counts) = redact(&format!("{one} {other} {one},{other}"));
    let (one, other) = ("[redacted:github-token]", "[redacted:aws-access-key-id]");
    assert_eq!(shown, format!("{one} {other} {one},{other}"));
    assert_eq!(
        counts,
        [
            ("aws-access-key-id".to_owned(), 2),
            ("github-token".to_owned(), 2)
        ]
    );
}

/// A tape with a call that has `args`, its result, a read and an edit of it.
fn call_tape(args: &str, stdout: &str, edit: &str) -> String {
    let hash = Hash::of_text("old");
    let lines = [
        format!(r#""k":"tool.call","tool":"Edit","kind":"edit","args":{args}"#),
        format!(r#""k":"tool.result","stdout":{stdout},"parent":0"#),
        format!(
            r#""k":"code.read","file":"f","range":[1,1],"hash":"{hash}","anchor_hashes":["00112233aabbccdd"],"parent":0"#
        ),
        format!(r#""k":"code.edit","op":"update","file":"f",{edit},"parent":0"#),
    ];
    let line = |(seq, line): (usize, &String)| {
        format!(
            "{{\"seq\":{seq},\"t\":\"2026-01-02T03:04:05Z\",{}}}\n",
            line.replacen(",", ",\"source\":{\"harness\":\"toy\"},", 1)
        )
    };
    lines.iter().enumerate().map(line).collect()
}

#[test]
fn strings_of_json_are_redacted_and_the_rest_of_it_stays() {
    let token = format!("ghp_{}", letters(36));
    let args = format!(
        r#"{{"a":1.0,"b\n":["x","{token}\n{token}",null],"{token}":2,"aws_secret_access_key":"{}"}}"#,
        letters(40)
    );
    let shown = redacted(&call_tape(&args, "\"x\"", "\"before_lines\":1"));
    let mark = "[redacted:github-token]";
    let expected = format!(
        r#"{{"a":1.0,"b\n":["x","{mark}\n{mark}",null],"{mark}":2,"aws_secret_access_key":"[redacted:aws-secret-access-key]"}}"#
    );
    assert!(shown.contains(&expected), "{shown}");
}

#[test]
fn a_hash_stays_if_its_text_is_on_the_tape_and_has_no_secret() {
    let (old, whole) = (Hash::of_text("old"), Hash::of_text("a whole file"));
    let range = format!(
        r#""before_range":[1,1],"before_hash":"{old}","file_before_hash":"{whole}","before_anchor_hashes":["00112233aabbccdd"]"#
    );
    let snippet = format!(r#""before_hash":"{whole}","basis":"snippet""#);
    let hashes = |args: &str, stdout: &str, edit: &str| {
        let shown = redacted(&call_tape(args, stdout, edit));
        let lines: Vec<&str> = shown.lines().collect();
        (
            lines[2].contains("\"hash\""),
            lines[3].contains("before_hash\":\"blake3")
                && !lines[3].contains("\"before_anchor_hashes\":[]"),
        )
    };
    let token = format!("\"ghp_{}\"", letters(36));
    assert_eq!(
        hashes(r#"{"old_string":"old\n"}"#, "\"x\"", &range),
        (true, true)
    );
    assert_eq!(
        hashes(r#"{"old_string":"part"}"#, "\"x\"", &range),
        (true, false),
        "the lines have more than the argument"
    );
    assert_eq!(
        hashes(r#"{"old_string":"part"}"#, "\"x\"", &snippet),
        (true, true)
    );
    assert_eq!(
        hashes(
            &format!(r#"{{"old_string":"old","x":{token}}}"#),
            "\"x\"",
            &range
        ),
        (false, false)
    );
    assert_eq!(
        hashes(r#"{"old_string":"old"}"#, &token, &snippet),
        (false, false)
    );
    let shown = redacted(&call_tape(r#"{"old_string":"old"}"#, "\"x\"", &range));
    assert!(!shown.contains("file_before_hash"));
}

#[test]
fn a_span_whose_text_has_a_secret_has_nothing_on_a_redacted_tape() {
    let secret = format!("AKIAIOSFODNN7EXAMPLE {}", letters(4));
    let with_text = |text: &str| {
        let hash = Hash::of_text(text);
        let edit = format!(
            r#""before_hash":"{hash}","before_anchor_hashes":["00112233aabbccdd"],"before_text":"{text}","basis":"snippet""#
        );
        redacted(&call_tape("{}", "\"x\"", &edit))
    };
    assert!(with_text("old").contains(r#""before_text":"old""#));
    let shown = with_text(&secret);
    assert!(
        !shown.contains("AKIA") && !shown.contains("before_") && !shown.contains("snippet"),
        "{shown}"
    );
}

#[test]
fn a_redacted_tape_is_valid_and_stays_as_it_is() {
    let tape = GOOD.replace(
        r#""text":"hello""#,
        &format!(r#""text":"hello ghp_{}""#, letters(36)),
    );
    assert_ne!(tape, GOOD);
    let shown = redacted(&tape);
    assert_eq!(check(&shown), []);
    assert!(shown.contains(r#""redactions":[{"rule":"github-token","count":"#));
    assert_eq!(redacted(&shown), shown);
}

proptest! {
    /// Texts with and without secrets, in any event of a tape.
    #[test]
    fn no_event_changes_its_order_kind_or_place(texts in prop::collection::vec((any::<String>(), 0..secrets().len()), 1..8)) {
        let mut tape = GOOD.to_owned();
        for (around, secret) in texts {
            let text = serde_json::to_string(&format!("{around} {} {around}", secrets()[secret].1)).unwrap();
            tape = tape.replacen(r#""text":"hello""#, &format!(r#""text":{text}"#), 1);
            tape = tape.replacen(r#""stdout":"out""#, &format!(r#""stdout":{text}"#), 1);
        }
        let shown = redacted(&tape);
        prop_assert_eq!(check(&shown), []);
        let places = |tape: &str| -> Vec<_> {
            events(tape).map(|event| event.unwrap()).map(|event| (event.seq, event.event.kind(), event.parent, event.t.to_owned())).collect()
        };
        prop_assert_eq!(places(&tape), places(&shown));
        prop_assert_eq!(redacted(&shown), shown);
    }

    /// Any text, and any JSON string: nothing panics, and JSON stays JSON.
    #[test]
    fn any_text_can_be_redacted(text in any::<String>()) {
        redact(&text);
        let args = serde_json::to_string(&serde_json::json!({ text.clone(): [text.clone()] })).unwrap();
        let shown = redacted(&call_tape(&args, "\"\"", "\"before_lines\":1"));
        prop_assert_eq!(events(&shown).filter(|event| event.is_err()).count(), 0);
    }
}
