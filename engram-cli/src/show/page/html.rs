//! The frame of every page: its head with style and policy, its end with the script, and text as HTML.

use std::io::{self, Read, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engram_adapters::open::regular;
use sha2::{Digest, Sha256};

use crate::show::safe::visible_line;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Marks a page of this program, near the beginning of the file.
const GENERATOR: &str = "<meta name=\"generator\" content=\"engram\">";
const HEAD_BYTES: u64 = 4096;

/// The beginning of a page, with its policy and style.
///
/// # Errors
/// When `out` cannot be written to.
pub fn begin(title: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n{GENERATOR}\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>",
        policy(),
        escaped(&visible_line(title))
    )
}

/// The end of a page.
///
/// # Errors
/// When `out` cannot be written to.
pub fn end(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<footer>Made by engram.</footer>\n<script>{SCRIPT}</script>\n</body>\n</html>"
    )
}

/// True for a file that has something else than a page of this program: it must not be lost.
pub fn is_foreign(path: &Path) -> bool {
    let mut head = Vec::new();
    let Ok(file) = regular(path) else {
        return false;
    };
    let read = file.take(HEAD_BYTES).read_to_end(&mut head);
    let has_mark = String::from_utf8_lossy(&head).contains(GENERATOR);
    read.is_ok() && !head.is_empty() && !has_mark
}

/// The policy allows the page's own style and script, by their hashes, and pictures that are inside the page.
fn policy() -> String {
    let hash = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

/// Text for an element or a quoted attribute.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16);
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
        out.push_str(&rest[..at]);
        out.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            b'"' => "&quot;",
            _ => "&#39;",
        });
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out
}

/// Text of a log on one line, for an element or a quoted attribute.
pub fn line(text: &str) -> String {
    escaped(&visible_line(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_elements_and_attributes() {
        assert_eq!(
            escaped("<script>'a' & \"b\"</script>"),
            "&lt;script&gt;&#39;a&#39; &amp; &quot;b&quot;&lt;/script&gt;"
        );
        assert_eq!(escaped("é\n"), "é\n");
    }

    #[test]
    fn style_and_script_cannot_end_their_element() {
        assert!(!STYLE.contains('<') && !SCRIPT.contains("</") && !SCRIPT.contains("<!--"));
    }
}
