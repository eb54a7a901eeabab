//! Colours of code: comments, texts, numbers and words of a language, found from left to right in one pass.
//!
//! A grammar for each language would say more. It also takes 4 MB of the binary and more time than all else on a page, and a regular expression
//! over the text of a log can take any time. These four classes are what a reader's eye looks for, and a wrong colour changes no character.

use super::html::escaped;

/// A longer text has no colours.
const MAX_BYTES: usize = 256 << 10;

/// How a language is written.
#[derive(Debug, PartialEq)]
pub struct Language {
    /// Its names in Markdown, and the endings of its files.
    names: &'static str,
    /// What begins a comment that ends with its line. `#` does so only after a blank.
    line_comments: &'static [&'static str],
    /// The beginning and the end of a comment of any length.
    comment: Option<(&'static str, &'static str)>,
    /// What a text stands between. One character ends at the end of its line at the latest.
    quotes: &'static [&'static str],
    /// What a text of several lines stands between.
    long_quotes: &'static [&'static str],
    /// Its words.
    words: &'static str,
}

const C_COMMENT: Option<(&str, &str)> = Some(("/*", "*/"));
const SLASHES: &[&str] = &["//"];
const HASH: &[&str] = &["#"];

const LANGUAGES: [Language; 15] = [
    Language {
        names: "rust rs",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &[],
        words: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref \
                return self Self static struct super trait true type unsafe use where while",
    },
    Language {
        names: "python py pyi",
        line_comments: HASH,
        comment: None,
        quotes: &["\"", "'"],
        long_quotes: &["\"\"\"", "'''"],
        words: "False None True and as assert async await break class continue def del elif else except finally for from global if import in \
                is lambda match nonlocal not or pass raise return try while with yield",
    },
    Language {
        names: "javascript typescript js jsx mjs cjs ts tsx mts cts vue svelte",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\"", "'"],
        long_quotes: &["`"],
        words: "abstract as async await break case catch class const continue default delete do else enum export extends false finally for \
                from function if implements import in instanceof interface let new null of private protected public readonly return static \
                super switch this throw true try type typeof undefined var void while yield",
    },
    Language {
        names: "json jsonl json5 jsonc",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &[],
        words: "true false null",
    },
    Language {
        names: "yaml yml toml ini cfg conf env properties",
        line_comments: HASH,
        comment: None,
        quotes: &["\"", "'"],
        long_quotes: &["\"\"\"", "'''"],
        words: "true false null yes no on off",
    },
    Language {
        names: "shell sh bash zsh fish console dockerfile makefile mk",
        line_comments: HASH,
        comment: None,
        quotes: &[],
        long_quotes: &["\"", "'"],
        words: "if then else elif fi for in do done while until case esac function return exit export local set cd echo source trap \
                FROM RUN COPY ADD CMD ENTRYPOINT ENV ARG WORKDIR EXPOSE USER",
    },
    Language {
        names: "c h cc cpp cxx hpp hh objc m",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &[],
        words: "auto bool break case catch char class const constexpr continue default delete do double else enum explicit extern false \
                float for friend if inline int long namespace new nullptr operator override private protected public return short signed \
                sizeof static struct switch template this throw true try typedef typename union unsigned using virtual void volatile while",
    },
    Language {
        names: "java kotlin kt kts scala cs csharp swift dart groovy gradle",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &["\"\"\""],
        words: "abstract as async await boolean break case catch class const continue data def default do double else enum extends false \
                final finally float for fun func guard if implements import in int interface internal is let long namespace new null object \
                override package private protected public return sealed static string struct super switch this throw throws true try using \
                val var void when while",
    },
    Language {
        names: "go",
        line_comments: SLASHES,
        comment: C_COMMENT,
        quotes: &["\""],
        long_quotes: &["`"],
        words: "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil \
                package range return select struct switch true type var",
    },
    Language {
        names: "ruby rb perl pl r elixir ex exs",
        line_comments: HASH,
        comment: None,
        quotes: &["\"", "'"],
        long_quotes: &[],
        words: "and begin break case class def defmodule do else elsif end ensure false fn for function if in module my next nil not or \
                package redo require rescue return self sub super then true undef unless until use when while yield",
    },
    Language {
        names: "php",
        line_comments: &["//", "#"],
        comment: C_COMMENT,
        quotes: &["\"", "'"],
        long_quotes: &[],
        words: "abstract as break case catch class const continue default do echo else elseif extends false final finally fn for foreach \
                function if implements interface match namespace new null private protected public readonly return static switch this \
                throw trait true try use var while yield",
    },
    Language {
        names: "sql",
        line_comments: &["--"],
        comment: C_COMMENT,
        quotes: &["'", "\""],
        long_quotes: &[],
        words: "SELECT FROM WHERE AND OR NOT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE VIEW INDEX DROP ALTER ADD JOIN LEFT RIGHT INNER \
                OUTER ON AS GROUP BY ORDER HAVING LIMIT UNION ALL DISTINCT CASE WHEN THEN ELSE END NULL IS IN LIKE BETWEEN WITH PRIMARY KEY \
                select from where and or not insert into values update set delete create table view index drop alter add join left right \
                inner outer on as group by order having limit union all distinct case when then else end null is in like between with",
    },
    Language {
        names: "html htm xml svg xhtml",
        line_comments: &[],
        comment: Some(("<!--", "-->")),
        quotes: &["\"", "'"],
        long_quotes: &[],
        words: "",
    },
    Language {
        names: "css scss less",
        line_comments: &[],
        comment: C_COMMENT,
        quotes: &["\"", "'"],
        long_quotes: &[],
        words: "important media import supports keyframes",
    },
    Language {
        names: "lua hs haskell",
        line_comments: &["--"],
        comment: None,
        quotes: &["\"", "'"],
        long_quotes: &[],
        words: "and break case class data deriving do else elseif end false for function if import in instance let local module newtype nil \
                not of or repeat return then true type until where while",
    },
];

/// The language of this name in Markdown.
pub fn named(name: &str) -> Option<&'static Language> {
    let name = name.to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.names.split(' ').any(|known| known == name))
}

/// The language of a file, by its ending or name.
pub fn of_file(path: &str) -> Option<&'static Language> {
    let name = path.rsplit(['/', '\\']).next()?;
    named(name.rsplit('.').next()?)
}

/// What a piece of code is: the class of its element, if it has one.
type Class = Option<&'static str>;

/// The text as HTML. Each element ends on the line where it begins. Without a language there are no colours.
pub fn html(text: &str, language: Option<&Language>) -> String {
    let Some(language) = language.filter(|_| text.len() <= MAX_BYTES) else {
        return escaped(text);
    };
    let mut out = String::with_capacity(text.len() * 2);
    let (mut rest, mut before, mut long) = (text, ' ', Long::Close);
    while let Some(first) = rest.chars().next() {
        let (class, len) = piece(rest, first, before, language, &mut long);
        let (token, after) = rest.split_at(len);
        before = token.chars().next_back().unwrap_or(' ');
        rest = after;
        match class {
            None => out.push_str(&escaped(token)),
            Some(class) => push(&mut out, class, token),
        }
    }
    out
}

fn push(out: &mut String, class: &str, token: &str) {
    for (index, line) in token.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(&format!("<i class=\"{class}\">{}</i>", escaped(line)));
        }
    }
}

/// Whether texts of several lines end. After one that does not, they are not searched for: a text of 256 KiB would take seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Long {
    Close,
    StayOpen,
}

/// The class and the length of the piece that `text` begins with.
fn piece(
    text: &str,
    first: char,
    before: char,
    language: &Language,
    long: &mut Long,
) -> (Class, usize) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let line = || text.find('\n').unwrap_or(text.len());
    let is_comment =
        |begin: &&&str| text.starts_with(**begin) && (**begin != "#" || before.is_whitespace());
    if language
        .line_comments
        .iter()
        .any(|begin| is_comment(&begin))
    {
        return (Some("c"), line());
    }
    if let Some((begin, end)) = language.comment
        && let Some(rest) = text.strip_prefix(begin)
    {
        let len = rest
            .find(end)
            .map_or(text.len(), |at| begin.len() + at + end.len());
        return (Some("c"), len);
    }
    if let Some(quote) = language
        .long_quotes
        .iter()
        .find(|quote| text.starts_with(**quote))
    {
        let len = (*long == Long::Close)
            .then(|| quoted(text, quote, &[]))
            .flatten();
        if len.is_none() {
            *long = Long::StayOpen;
        }
        return (Some("s"), len.unwrap_or_else(line));
    }
    if let Some(quote) = language
        .quotes
        .iter()
        .find(|quote| text.starts_with(**quote))
    {
        return (Some("s"), quoted(text, quote, &['\n']).unwrap_or_else(line));
    }
    if is_word(first) && !is_word(before) {
        let len = text.find(|c: char| !is_word(c)).unwrap_or(text.len());
        let is_known = language
            .words
            .split_ascii_whitespace()
            .any(|word| word == &text[..len]);
        let class = match first {
            first if first.is_ascii_digit() => Some("n"),
            _ if is_known => Some("k"),
            _ => None,
        };
        return (class, len);
    }
    (None, first.len_utf8())
}

/// The length of a text between quotes, with both; `None` if it does not end before one of `ends`. A backslash takes the character after it.
fn quoted(text: &str, quote: &str, ends: &[char]) -> Option<usize> {
    let mark = quote.chars().next()?;
    let mut at = quote.len();
    loop {
        let next = at + text[at..].find(|c| c == '\\' || c == mark || ends.contains(&c))?;
        let rest = &text[next..];
        if let Some(escaped) = rest.strip_prefix('\\') {
            at = next + 1 + escaped.chars().next()?.len_utf8();
        } else if rest.starts_with(quote) {
            return Some(next + quote.len());
        } else if rest.starts_with(mark) {
            at = next + mark.len_utf8();
        } else {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> String {
        html(text, named(name))
    }

    #[test]
    fn comments_texts_numbers_and_words_have_colours() {
        assert_eq!(
            of("rust", "let a = \"x\\\"<\"; // 1 let\nfoo(12_u8)"),
            "<i class=\"k\">let</i> a = <i class=\"s\">&quot;x\\&quot;&lt;&quot;</i>; <i class=\"c\">// 1 let</i>\nfoo(<i class=\"n\">12_u8</i>)"
        );
        assert_eq!(
            of("rust", "fn f<'a>(x: &'a str)"),
            "<i class=\"k\">fn</i> f&lt;&#39;a&gt;(x: &amp;&#39;a str)"
        );
        assert_eq!(
            of("py", "'''a\nb''' + c"),
            "<i class=\"s\">&#39;&#39;&#39;a</i>\n<i class=\"s\">b&#39;&#39;&#39;</i> + c"
        );
        assert_eq!(
            of("sh", "echo $#a # b"),
            "<i class=\"k\">echo</i> $#a <i class=\"c\"># b</i>"
        );
        assert_eq!(
            of("js", "letter 'open\nnext"),
            "letter <i class=\"s\">&#39;open</i>\nnext"
        );
    }

    #[test]
    fn files_have_the_language_of_their_ending() {
        let name =
            |path: &str| of_file(path).map(|language| language.names.split(' ').next().unwrap());
        assert_eq!(name("/p/a.rs"), Some("rust"));
        assert_eq!(name("C:\\p\\a.TSX"), Some("javascript"));
        assert_eq!(name("/p/Makefile"), Some("shell"));
        assert_eq!([name("/p/a.txt"), name(""), name("/p.rs/a")], [None; 3]);
    }

    #[test]
    fn each_name_belongs_to_one_language() {
        let mut names: Vec<&str> = LANGUAGES
            .iter()
            .flat_map(|language| language.names.split(' '))
            .collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    /// Colours add elements and nothing else, whatever the text.
    #[test]
    fn no_character_is_lost_or_becomes_markup() {
        let mut random = fastrand::Rng::with_seed(7);
        let parts = [
            "\"", "'", "`", "/*", "*/", "//", "#", "\\", "\n", "<b>", "&", "let", "1", "é",
            "\"\"\"", "<!--", "-->", " ",
        ];
        for round in 0..2000 {
            let text: String = (0..random.usize(..20))
                .map(|_| parts[random.usize(..parts.len())])
                .collect();
            let language = &LANGUAGES[round % LANGUAGES.len()];
            let html = html(&text, Some(language));
            let plain = ["c", "s", "n", "k"]
                .iter()
                .fold(html.clone(), |html, class| {
                    html.replace(&format!("<i class=\"{class}\">"), "")
                });
            assert_eq!(plain.replace("</i>", ""), escaped(&text), "{text:?}");
            assert!(
                html.lines()
                    .all(|line| line.matches("<i ").count() == line.matches("</i>").count())
            );
        }
    }

    #[test]
    fn a_text_made_to_be_slow_is_not() {
        let begin = std::time::Instant::now();
        for part in ["\"", "\"\" ", "\\'\n", "/*", "\"\\", "\\\"\"\"\n", "<!--"] {
            for name in ["rust", "py", "js", "sh", "html"] {
                let text = part.repeat((200 << 10) / part.len());
                assert!(of(name, &text).len() >= text.len());
            }
        }
        // A second in a build without optimisation; minutes if it were quadratic.
        assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
    }
}
