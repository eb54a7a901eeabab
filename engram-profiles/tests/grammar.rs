//! The scanner: what is a frame, what breaks the grammar, and that chunks make no difference.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engram_profiles::grammar::{
    Answer, Limits, Line, LineKind, Request, Response, Scanner, Violation, request_frame, response,
    response_frame,
};
use engram_profiles::nonce::Nonce;
use proptest::prelude::*;

fn nonce() -> Nonce {
    Nonce::scripted("tests", "e1")
}

fn limits() -> Limits {
    Limits {
        max_line_bytes: 300,
        max_args_bytes: 60,
        max_requests: 3,
        terminal: false,
    }
}

fn scan(limits: Limits, chunks: &[&[u8]]) -> Vec<Line> {
    let (mut scanner, mut lines) = (Scanner::new(nonce().hash(), limits), Vec::new());
    chunks
        .iter()
        .for_each(|chunk| scanner.push(chunk, &mut lines));
    scanner.end_block(&mut lines);
    lines
}

fn kinds(text: &str) -> Vec<LineKind> {
    scan(limits(), &[text.as_bytes()])
        .into_iter()
        .map(|line| line.kind)
        .collect()
}

fn request(id: &str, args: &str) -> Request {
    Request {
        id: id.to_owned(),
        tool: "read".to_owned(),
        args: args.to_owned(),
    }
}

fn frame(rest: &str) -> String {
    format!("⟦TI1 {}⟧ {rest}", nonce().as_str())
}

fn violation(line: &str) -> Option<Violation> {
    match kinds(line).into_iter().next()? {
        LineKind::Violation(violation) => Some(violation),
        _ => None,
    }
}

#[test]
fn frame_is_a_whole_line() {
    let asked = request("r1", r#"{"path":"a.txt"}"#);
    let text = request_frame(&nonce(), &asked);
    assert_eq!(
        kinds(&format!("look\n{text}done")),
        [
            LineKind::Text,
            LineKind::Request(asked.clone()),
            LineKind::Text
        ]
    );
    assert_eq!(
        kinds(text.trim_end()),
        [LineKind::Request(asked)],
        "the last line needs no end"
    );
    assert_eq!(kinds(&format!(" {text}")), [LineKind::Text]);
    assert_eq!(kinds(&format!("> {text}")), [LineKind::Text]);
}

#[test]
fn what_is_wrong_behind_an_opening_is_a_violation() {
    let args = URL_SAFE_NO_PAD.encode("{}");
    let encoded = |text: &str| frame(&format!("r1 read {}", URL_SAFE_NO_PAD.encode(text)));
    let cases = [
        ("⟦TI1 abc⟧ r1 read e30".to_owned(), Violation::Nonce),
        ("⟦TI1 ".to_owned(), Violation::Nonce),
        (
            format!("⟦TI1 {}⟧ r1 read {args}", nonce().as_str().to_uppercase()),
            Violation::Nonce,
        ),
        (frame(""), Violation::Fields),
        (frame(&format!("r1 read {args} ")), Violation::Fields),
        (frame(&format!("r1  read {args}")), Violation::Fields),
        (frame("r1 read"), Violation::Fields),
        (frame(&format!("r/1 read {args}")), Violation::Id),
        (
            frame(&format!("{} read {args}", "r".repeat(65))),
            Violation::Id,
        ),
        (frame(&format!("r1 Read {args}")), Violation::Tool),
        (frame("r1 read e30="), Violation::ArgsEncoding),
        (frame("r1 read e31"), Violation::ArgsEncoding),
        (frame("r1 read e3+"), Violation::ArgsEncoding),
        (frame(&format!("r1 read {args}\r")), Violation::ArgsEncoding),
        (
            encoded(&format!(r#"{{"a":"{}"}}"#, "x".repeat(60))),
            Violation::ArgsSize,
        ),
        (encoded(r#"{"b":1,"a":1}"#), Violation::ArgsForm),
        (encoded(r#"{"a":1,"a":1}"#), Violation::ArgsForm),
        (encoded(r#"{"a": 1}"#), Violation::ArgsForm),
        (encoded("[]"), Violation::ArgsForm),
        (encoded("{"), Violation::ArgsForm),
        (
            format!("⟦TR1 {}⟧ r1 denied NO", nonce().as_str()),
            Violation::ResponseByAgent,
        ),
        (
            frame(&format!("r1 read {}", "A".repeat(300))),
            Violation::LineSize,
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(violation(&line), Some(expected), "{line}");
    }
}

#[test]
fn frame_of_another_episode_is_text() {
    let other = Nonce::scripted("tests", "e2");
    let quoted = request_frame(&other, &request("r1", "{}"));
    assert_eq!(kinds(&quoted), [LineKind::Foreign]);
    assert_eq!(
        kinds(&format!("⟦TI1 {}⟧ nonsense", other.as_str())),
        [LineKind::Foreign]
    );
}

#[test]
fn id_is_used_once_and_requests_are_counted() {
    let ask = |id: &str| request_frame(&nonce(), &request(id, "{}"));
    let found = kinds(&[ask("a"), ask("a"), ask("b"), ask("c"), ask("d")].concat());
    let violations: Vec<_> = found
        .iter()
        .map(|kind| {
            if let LineKind::Violation(violation) = kind {
                Some(*violation)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(
        violations,
        [
            None,
            Some(Violation::IdUsed),
            None,
            None,
            Some(Violation::TooMany)
        ]
    );
}

#[test]
fn many_short_lines_of_text_take_little_more_than_their_bytes() {
    let text = "\n".repeat(100_000);
    let lines = scan(limits(), &[text.as_bytes()]);
    assert!(lines.len() <= text.len() / 300 + 1, "{}", lines.len());
    assert!(lines.iter().all(|line| line.kind == LineKind::Text));
}

#[test]
fn frame_does_not_go_on_in_the_next_block() {
    let text = request_frame(&nonce(), &request("r1", "{}"));
    let (first, second) = text.split_at(text.len() - 6);
    let (mut scanner, mut lines) = (Scanner::new(nonce().hash(), limits()), Vec::new());
    for block in [first, second] {
        scanner.push(block.as_bytes(), &mut lines);
        scanner.end_block(&mut lines);
    }
    let found: Vec<_> = lines.into_iter().map(|line| line.kind).collect();
    assert_eq!(
        found,
        [LineKind::Violation(Violation::Fields), LineKind::Text]
    );
}

#[test]
fn long_line_is_text_in_pieces_and_no_piece_is_a_frame() {
    let text = format!(
        "{}{}",
        "x".repeat(300),
        request_frame(&nonce(), &request("r1", "{}"))
    );
    let lines = scan(limits(), &[text.as_bytes()]);
    assert!(
        lines.len() == 2 && lines.iter().all(|line| line.kind == LineKind::Text),
        "{lines:?}"
    );
    // A letter is not cut.
    let text = format!("{}é{}", "x".repeat(299), "y".repeat(400));
    let lines = scan(limits(), &[text.as_bytes()]);
    assert_eq!(
        lines
            .iter()
            .map(|line| line.text.as_str())
            .collect::<String>(),
        text
    );
}

#[test]
fn end_of_a_line_of_a_terminal_is_dropped() {
    let text = request_frame(&nonce(), &request("r1", "{}")).replace('\n', "\r\n");
    let lines = scan(
        Limits {
            terminal: true,
            ..limits()
        },
        &[text.as_bytes()],
    );
    assert_eq!(lines[0].kind, LineKind::Request(request("r1", "{}")));
    let lines = scan(limits(), &[text.as_bytes()]);
    assert_eq!(lines[0].kind, LineKind::Violation(Violation::ArgsEncoding));
}

#[test]
fn answers_are_read_as_they_are_written() {
    let answers = [
        Answer::Ok(format!("blake3:{}", "0".repeat(64))),
        Answer::Denied("UNKNOWN_TOOL".to_owned()),
    ];
    for answer in answers {
        let written = Response {
            id: "r1".to_owned(),
            answer,
        };
        let line = response_frame(&nonce(), &written);
        assert_eq!(
            response(line.trim_end(), &nonce().hash()),
            Some(Ok(written))
        );
        assert_eq!(
            response(line.trim_end(), &Nonce::scripted("tests", "e2").hash()),
            None
        );
    }
    for rest in [
        "r1 ok blake3:00",
        "r1 denied no",
        "r1 denied 1NO",
        "r1 maybe NO",
    ] {
        let line = format!("⟦TR1 {}⟧ {rest}", nonce().as_str());
        assert_eq!(
            response(&line, &nonce().hash()),
            Some(Err(Violation::Answer)),
            "{rest}"
        );
    }
    assert_eq!(response("text", &nonce().hash()), None);
}

/// Lines as agents print them, and worse.
fn printed() -> impl Strategy<Value = Vec<u8>> {
    let sound = prop::sample::select(vec!["a", "b", "c", "d", "e"])
        .prop_map(|id| request_frame(&nonce(), &request(id, r#"{"a":"é"}"#)).into_bytes());
    let line = prop_oneof![
        sound,
        ".{0,40}\n".prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..700),
        "[ a-z0-9]{0,20}\n?".prop_map(|rest| frame(&rest).into_bytes()),
        Just(format!("⟦TI1 {}", "é".repeat(200)).into_bytes()),
    ];
    prop::collection::vec(line, 0..12).prop_map(|lines| lines.concat())
}

proptest! {
    #[test]
    fn chunks_make_no_difference(text in printed(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..20)) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        let whole = scan(limits(), &[&text]);
        prop_assert_eq!(&scan(limits(), &chunks), &whole);
        prop_assert_eq!(&scan(limits(), &bytes), &whole);
    }

    #[test]
    fn no_text_is_lost_and_no_line_is_too_long(text in printed()) {
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = scan(limits(), &[text.as_bytes()]);
        let all: String = lines.iter().map(|line| line.text.as_str()).collect();
        prop_assert_eq!(all, text);
        prop_assert!(lines.iter().all(|line| line.text.len() <= limits().max_line_bytes + 1));
    }

    #[test]
    fn request_is_read_as_it_is_written(id in "[A-Za-z0-9._-]{1,64}", tool in "[a-z0-9._-]{1,64}", path in "\\PC{0,20}") {
        let args = serde_jcs::to_string(&serde_json::json!({"path": path})).unwrap();
        let asked = Request { id, tool, args };
        let lines = scan(Limits::default(), &[request_frame(&nonce(), &asked).as_bytes()]);
        prop_assert_eq!(&lines[0].kind, &LineKind::Request(asked));
    }
}
