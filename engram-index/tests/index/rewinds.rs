//! Edits that a person took back together with their files.

use engram_index::{Index, Query, Tier, Words};

use crate::recorded::{fixtures, made};
use crate::truth::paths;

/// The text of the file with a line, and the lines that calls made; every other line is older than the session.
fn check(index: &Index, file: &str, text: &str, made: &[(usize, &str)]) {
    let mut query = Query::new(text);
    (query.paths, query.limit, query.words) = (paths(file), usize::MAX, Words::None);
    for item in index.explain(&query).unwrap().items {
        for line in item.lines.iter().flat_map(|[first, last]| *first..=*last) {
            let call = item
                .call
                .as_ref()
                .and_then(|call| call.call_id.clone())
                .unwrap_or_default();
            let maker = made.iter().find(|(made, _)| *made == line);
            let is_right = match maker {
                Some(_) => matches!(item.tier, Tier::State | Tier::Line),
                None => item.tier == Tier::Older,
            };
            assert!(is_right, "{file}:{line}: {item:?}");
            let maker = maker.map(|(_, call)| *call).unwrap_or_default();
            assert!(call.starts_with(maker), "{file}:{line}: {item:?}");
        }
    }
}

const HEAD: &str = "# OLD header\ndef one():\n    return 10\n\ndef two():\n";

#[test]
fn lines_of_an_edit_that_was_taken_back_are_what_they_were_before() {
    let recording = &fixtures("claude-code/2.1.332/m_tuifork")[0];
    let made = made(&[recording]);
    let index = made.open();
    let text = format!("{HEAD}    return 2\n\ndef three():\n    return 3  # OLD\n# OLD end\n");
    check(&index, "src/a.py", &text, &[(3, "toolu_lab78152bd")]);
    // The fork went on behind the rewind, and its log never shows the file.
    let text = text.replace("return 3 ", "return 30 ");
    let makers = [(3, "toolu_lab78152bd"), (9, "toolu_labd2012c")];
    check(&index, "src/a.py", &text, &makers);
    // A file that the taken back call made is no file of the session.
    let mut query = Query::new("new\n");
    (query.paths, query.limit, query.words) = (paths("new.txt"), usize::MAX, Words::None);
    let answer = index.explain(&query).unwrap();
    assert_eq!(
        answer.lines.state + answer.lines.older,
        0,
        "{:?}",
        answer.items
    );
}
