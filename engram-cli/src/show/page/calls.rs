//! Calls on a page: what was asked for, the change, and what came back.

use std::io::{self, Write};

use super::code::{self, Language};
use super::html::{escaped, line};
use super::{Page, time};
use crate::show::numbers::{self, file_of};
use crate::show::safe::{visible, visible_line};
use crate::show::view::*;
use crate::show::words::{number, outcome};

/// A diff up to this size is unfolded.
const UNFOLDED_BYTES: usize = 16 << 10;
/// An argument up to this size, on one line, is listed beside its name.
const LINE_BYTES: usize = 120;
/// Of a longer output, the beginning and the end are on the page.
const OUTPUT_BYTES: (usize, usize) = (6 << 10, 2 << 10);
/// Arguments that are commands of a shell.
const COMMANDS: [&str; 2] = ["command", "cmd"];

impl<W: Write> Page<'_, '_, W> {
    pub(super) fn call(&mut self, item: &Item, call: &Call) -> io::Result<()> {
        let class = if call.has_failed() {
            "call failed"
        } else {
            "call"
        };
        self.begin(item, class)?;
        let size: usize = call
            .diffs
            .iter()
            .flat_map(|diff| &diff.parts)
            .map(|(_, text)| text.len())
            .sum();
        let is_open = !call.agents.is_empty() || (size > 0 && size <= UNFOLDED_BYTES);
        write!(
            self.out,
            "<details{}><summary>{}{}<b>{}</b> <code>{}</code> <i>{}</i></summary>",
            if is_open { " open" } else { "" },
            self.link(item),
            time(item),
            line(&call.tool),
            line(call.summary.as_deref().unwrap_or_default()),
            line(&outcome(call))
        )?;
        self.arguments(&call.arguments)?;
        for diff in &call.diffs {
            self.diff(diff, call)?;
        }
        self.list(&call.effects)?;
        for agent in &call.agents {
            self.agent(agent)?;
        }
        if let Some(result) = &call.result {
            // What a harness answers to a change is the change again.
            self.result(
                result,
                !call.diffs.is_empty() && !call.has_failed(),
                language_of(call),
            )?;
        }
        writeln!(self.out, "</details></article>")
    }

    /// Short arguments side by side, long ones in boxes.
    fn arguments(&mut self, arguments: &[(String, String)]) -> io::Result<()> {
        let is_short = |value: &str| value.len() <= LINE_BYTES && !value.contains('\n');
        let (short, long): (Vec<_>, Vec<_>) =
            arguments.iter().partition(|(_, value)| is_short(value));
        if !short.is_empty() {
            write!(self.out, "<dl class=\"arguments\">")?;
            for (name, value) in short {
                write!(self.out, "<dt>{}</dt><dd>{}</dd>", line(name), line(value))?;
            }
            writeln!(self.out, "</dl>")?;
        }
        for (name, value) in long {
            write!(self.out, "<h4>{}</h4>", line(name))?;
            let is_command = COMMANDS.contains(&name.as_str());
            self.output(value, is_command.then(|| code::named("sh")).flatten())?;
        }
        Ok(())
    }

    fn result(
        &mut self,
        result: &CallResult,
        is_folded: bool,
        language: Option<&Language>,
    ) -> io::Result<()> {
        for (name, text, language) in [
            ("output", &result.stdout, language),
            ("error output", &result.stderr, None),
        ] {
            let Some(text) = text.as_ref().filter(|text| !text.is_empty()) else {
                continue;
            };
            if is_folded {
                write!(
                    self.out,
                    "<details><summary class=\"fact\">{name}</summary>"
                )?;
                self.output(text, language)?;
                write!(self.out, "</details>")?;
            } else {
                write!(self.out, "<h4>{name}</h4>")?;
                self.output(text, language)?;
            }
        }
        self.attached(&result.files)
    }

    /// The text of an output. A long one is cut in the middle, unless everything is wanted.
    fn output(&mut self, text: &str, language: Option<&Language>) -> io::Result<()> {
        let (first, last) = OUTPUT_BYTES;
        if self.style.is_full || text.len() <= first + last {
            return self.code(text, language);
        }
        let (begin, end) = (
            text.floor_char_boundary(first),
            text.ceil_char_boundary(text.len() - last),
        );
        self.code(&text[..begin], language)?;
        let left_out = number((end - begin) as u64);
        write!(
            self.out,
            "<p class=\"fact\">{left_out} bytes are left out; <code>--full</code> shows them</p>"
        )?;
        self.code(&text[end..], language)
    }

    /// A line end directly after `<pre>` is not a part of its text.
    fn code(&mut self, text: &str, language: Option<&Language>) -> io::Result<()> {
        writeln!(
            self.out,
            "<pre class=\"code\" dir=\"auto\">\n{}</pre>",
            code::html(&visible(text), language)
        )
    }

    fn diff(&mut self, diff: &Diff, call: &Call) -> io::Result<()> {
        if diff.parts.iter().all(|(_, text)| text.is_empty()) {
            let what = if diff.is_new_file {
                "an empty file"
            } else {
                "no text"
            };
            return writeln!(self.out, "<p class=\"fact\">{what}</p>");
        }
        let numbers = numbers::of(diff, call);
        let is_numbered = numbers
            .iter()
            .any(|(old, new)| old.is_some() || new.is_some());
        let class = if is_numbered { "diff numbered" } else { "diff" };
        write!(self.out, "<pre class=\"{class}\">")?;
        let mut language = language_of(call);
        for ((sign, text), numbers) in diff.parts.iter().zip(numbers) {
            if let Some(file) = text.lines().filter_map(file_of).next_back()
                && *sign == Sign::Header
            {
                language = code::of_file(file);
            }
            let language = language.filter(|_| *sign != Sign::Header);
            let html = code::html(&visible(text), language);
            let lines: Vec<&str> = match is_numbered {
                true => html.split('\n').collect(),
                false => vec![&html],
            };
            for (index, line) in (0..).zip(lines) {
                let number = |name: &str, number: Option<u64>| {
                    number.map_or_else(String::new, |first| {
                        format!(" data-{name}=\"{}\"", first.saturating_add(index))
                    })
                };
                let (old, new) = (number("o", numbers.0), number("n", numbers.1));
                self.lines(*sign, line, &(old + &new))?;
            }
        }
        writeln!(self.out, "</pre>")
    }

    /// Lines of a diff with one sign, as HTML.
    fn lines(&mut self, sign: Sign, html: &str, attributes: &str) -> io::Result<()> {
        let element = match sign {
            Sign::Removed => "del",
            Sign::Added => "ins",
            Sign::Same | Sign::Header => "span",
        };
        let prefix = sign.prefix();
        let html = html.replace('\n', &format!("\n{prefix}"));
        write!(
            self.out,
            "<{element}{attributes}>{prefix}{html}\n</{element}>"
        )
    }

    /// Pictures that the log has, and the names of other files.
    pub(super) fn attached(&mut self, files: &[Attached]) -> io::Result<()> {
        for file in files {
            let label = escaped(&visible_line(&file.label));
            match self.style.images.get(file) {
                Some(image) => write!(
                    self.out,
                    "<img src=\"data:{};base64,{}\" alt=\"{label}\">",
                    image.media_type, image.base64
                )?,
                None => write!(self.out, "<p class=\"fact\">{label}</p>")?,
            }
        }
        Ok(())
    }
}

/// The language of the file that a call is about, if its telling argument is a path.
fn language_of(call: &Call) -> Option<&'static Language> {
    let path = call.summary.as_deref()?;
    code::of_file(path).filter(|_| !path.contains(char::is_whitespace))
}
