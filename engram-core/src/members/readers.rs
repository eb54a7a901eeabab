//! Readers: the members that a converter reads of some objects of a table, each with the type that the table has. Code is generated from them.

use super::compile::Compiler;
use super::json_types::JsonTypes;
use super::left_out::text_of;
use super::model::{Choice, Content, MemberTable, Shape, ShapeId};
use super::syntax::{self, Line, MemberTableError, Word};

/// What a converter reads of the objects at some places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// Its name.
    pub name: String,
    /// What the objects are; may be empty.
    pub meaning: String,
    /// The members that are read.
    pub fields: Vec<ReaderField>,
}

/// A member that a [`Reader`] reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderField {
    /// The name of the member.
    pub member: String,
    /// The name of the field.
    pub name: String,
    /// The types that the member may have.
    pub types: JsonTypes,
    /// What the value is; may be empty.
    pub meaning: String,
}

/// The readers of `text`, over the member table `table`.
///
/// ```
/// use engram_core::members::{JsonTypes, readers};
///
/// let table = "record answer feeds msg.out\n  parts array\n    [] object\n      text string tape\n";
/// let readers = readers(table, "reader Part  A part of an answer.\n  of answer /parts/*\n  text  text\n")?;
/// assert_eq!(readers[0].fields[0].types, JsonTypes::STRING);
/// # Ok::<(), engram_core::members::MemberTableError>(())
/// ```
///
/// # Errors
/// If one of them is not written as it should, or if a reader names a place or a member that the table does not have. The line is one of
/// `text`, unless `table` is not a member table.
pub fn readers(table: &str, text: &str) -> Result<Vec<Reader>, MemberTableError> {
    let lines = syntax::parse(table)?;
    let mut compiler = Compiler::of(&lines)?;
    syntax::parse(text)?
        .iter()
        .map(|line| reader(&mut compiler, line))
        .collect()
}

fn reader(compiler: &mut Compiler<'_>, line: &Line<'_>) -> Result<Reader, MemberTableError> {
    if line.keyword() != "reader" {
        return Err(line.error("expected `reader`"));
    }
    let (places, fields): (Vec<&Line<'_>>, Vec<&Line<'_>>) = line
        .children
        .iter()
        .partition(|line| line.keyword() == "of");
    let mut objects = Objects::default();
    for place in places {
        objects.add(compiler, place)?;
    }
    let fields = fields
        .into_iter()
        .map(|line| field(&compiler.table, &objects, line))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Reader {
        name: line.name()?.to_owned(),
        meaning: text_of(&line.words[2..]),
        fields,
    })
}

fn field(
    table: &MemberTable,
    objects: &Objects,
    line: &Line<'_>,
) -> Result<ReaderField, MemberTableError> {
    let [member, name, rest @ ..] = &line.words[..] else {
        return Err(line.error("a field has the name of a member and its own"));
    };
    let written = rest.first().and_then(written_type);
    let known = objects.types_of(table, &member.text);
    let types = match (known, written) {
        (None, Some(types)) if objects.are_free => types,
        (None, _) if objects.are_free => {
            return Err(line.error("the table does not have this member: its type is missing here"));
        }
        (None, _) => return Err(line.error("no place of the reader has this member")),
        (Some(known), Some(types)) if !known.meets(types) => {
            return Err(line.error("the table has another type"));
        }
        (Some(known), written) => written.unwrap_or(known),
    };
    let meaning = text_of(&rest[usize::from(written.is_some())..]);
    Ok(ReaderField {
        member: member.text.to_string(),
        name: name.text.to_string(),
        types,
        meaning,
    })
}

/// The type that a field says itself.
fn written_type(word: &Word<'_>) -> Option<JsonTypes> {
    let names = ["any", "string", "bool", "number", "object", "array"];
    names
        .contains(&&*word.text)
        .then(|| JsonTypes::from_name(&word.text))
        .flatten()
}

/// The objects that a reader reads.
#[derive(Default)]
struct Objects {
    shapes: Vec<ShapeId>,
    /// True if some of them are user data.
    are_free: bool,
}

impl Objects {
    /// Adds the objects of an `of` line.
    fn add(
        &mut self,
        compiler: &mut Compiler<'_>,
        line: &Line<'_>,
    ) -> Result<(), MemberTableError> {
        let words: Vec<&str> = line.words[1..].iter().map(|word| &*word.text).collect();
        let (pointer, names) = match words.split_last() {
            Some((last, names)) if last.starts_with('/') => (*last, names),
            _ => ("", &words[..]),
        };
        match names {
            ["free"] if pointer.is_empty() => self.are_free = true,
            [] | ["shape"] => return Err(line.error("the name of a place is missing")),
            ["shape", names @ ..] => {
                for name in names {
                    let object = compiler
                        .shape_to_read(name)
                        .ok_or_else(|| line.error(format!("no shape `{name}`")))?;
                    self.add_at(
                        &compiler.table,
                        vec![Content::Described {
                            object: Some(object),
                            items: None,
                        }],
                        pointer,
                        line,
                    )?;
                }
            }
            _ => {
                for name in names {
                    self.add_at(&compiler.table, roots(&compiler.table, name), pointer, line)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the objects at a pointer below some roots.
    fn add_at(
        &mut self,
        table: &MemberTable,
        roots: Vec<Content>,
        pointer: &str,
        line: &Line<'_>,
    ) -> Result<(), MemberTableError> {
        let step = |contents: Vec<Content>, name: &str| {
            contents
                .into_iter()
                .flat_map(|content| inner(table, content, name))
                .collect()
        };
        let contents = pointer.split('/').skip(1).fold(roots, step);
        let found: Vec<ShapeId> = contents
            .into_iter()
            .flat_map(|content| shapes_of(table, content))
            .collect();
        if found.is_empty() {
            return Err(line.error("the table describes no object here"));
        }
        self.shapes.extend(found);
        Ok(())
    }

    /// The types of the member with this name, in any of the objects.
    fn types_of(&self, table: &MemberTable, name: &str) -> Option<JsonTypes> {
        let found = self
            .shapes
            .iter()
            .filter_map(|shape| table.shape(*shape).find(name))
            .map(|member| member.types);
        found.reduce(JsonTypes::or)
    }
}

/// What the records with types of this pattern contain, and the outer parts of documents for `document`.
fn roots(table: &MemberTable, name: &str) -> Vec<Content> {
    let (documents, records) = (table.documents().iter(), table.records().iter());
    let of_type = records.filter(|record| is_like(&record.name, name));
    let chosen: Vec<_> = if name == "document" {
        documents.collect()
    } else {
        of_type.collect()
    };
    chosen
        .into_iter()
        .map(|shape| table.row(shape.row).content)
        .collect()
}

/// True if a name is the pattern, in which one `*` matches any run of characters.
fn is_like(name: &str, pattern: &str) -> bool {
    let is_between = |(start, end)| {
        name.strip_prefix(start)
            .is_some_and(|rest: &str| rest.ends_with(end))
    };
    name == pattern || pattern.split_once('*').is_some_and(is_between)
}

/// What the members with names of this pattern contain; for `*` the items of an array and the members of a map too.
fn inner(table: &MemberTable, content: Content, pattern: &str) -> Vec<Content> {
    let pattern = pattern.replace("~1", "/").replace("~0", "~");
    let mut rows = Vec::new();
    for shape in shapes_of(table, content) {
        let Shape { members, rest, .. } = table.shape(shape);
        rows.extend(
            members
                .iter()
                .filter(|member| is_like(&member.name, &pattern))
                .map(|member| member.row),
        );
        rows.extend(rest.filter(|_| pattern == "*"));
    }
    if let (
        Content::Described {
            items: Some(items), ..
        },
        "*",
    ) = (content, &*pattern)
    {
        rows.push(items);
    }
    rows.into_iter().map(|row| table.row(row).content).collect()
}

/// The shapes that an object may have: those of all cases of its selectors.
fn shapes_of(table: &MemberTable, content: Content) -> Vec<ShapeId> {
    let Content::Described {
        object: Some(object),
        ..
    } = content
    else {
        return Vec::new();
    };
    let (mut open, mut found) = (vec![object], Vec::new());
    while let Some(shape) = open.pop() {
        match &table.shape(shape).selector {
            None => found.push(shape),
            Some(selector) => open.extend(selector.choices().filter_map(|choice| match choice {
                Choice::Shape(shape) => Some(shape),
                Choice::Unknown | Choice::Unrecognized | Choice::Free(_) => None,
            })),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "
shape part
  text?       string        tape
  count?      count         tape

document object feeds meta
  title       string        tape

record a/b feeds msg.in
  id          string        tape
  parts       string|array  =part tape
  args        object        free tape
  map?        object        tape
    *         object        =part

record a/c feeds msg.out
  id          number        tape
  kind        string        tape
  by kind
  case x
    more?     bool          tape
  case y
    more?     null          tape
  else free tape
";

    /// The names and types of the fields of a reader with these lines.
    fn fields(lines: &[&str]) -> Result<Vec<String>, MemberTableError> {
        let text = format!("reader R  It is read.\n  {}\n", lines.join("\n  "));
        let field = |field: ReaderField| {
            format!(
                "{} {}: {}",
                field.name,
                field.types.without(JsonTypes::NULL).name(),
                field.meaning
            )
        };
        readers(TABLE, &text)
            .map(|mut readers| readers.remove(0).fields.into_iter().map(field).collect())
    }

    #[test]
    fn types_are_those_of_all_places() {
        for (lines, expected) in [
            (
                &["of a/b", "id name  The name."][..],
                "name string: The name.",
            ),
            (&["of a/c", "id id"], "id number: "),
            (&["of a/*", "id id"], "id string|number: "),
            (&["of a/b", "of a/c", "id id"], "id string|number: "),
            (&["of a/b a/c", "id id"], "id string|number: "),
            (&["of a/c", "more more"], "more bool: "),
            (&["of a/b /parts/*", "text text"], "text string: "),
            (&["of a/b /map/*", "count count any"], "count any: "),
            (&["of a/b /*/*", "count count"], "count count: "),
            (&["of * /m*/*", "text text"], "text string: "),
            (&["of shape part", "count count"], "count count: "),
            (&["of document", "title title"], "title string: "),
            (
                &["of a/b", "parts parts array  A list."],
                "parts array: A list.",
            ),
            (
                &["of free", "x x string  Of a tool."],
                "x string: Of a tool.",
            ),
            (&["of a/b", "of free", "id id", "x x any"], "id string: "),
        ] {
            assert_eq!(fields(lines).unwrap()[0], expected, "{lines:?}");
        }
    }

    #[test]
    fn what_the_table_does_not_have_is_an_error() {
        for (lines, line) in [
            (&["of a/b", "kind kind"][..], 3),
            (&["of a/d", "id id"], 2),
            (&["of a/b /none", "id id"], 2),
            (&["of a/b /id", "id id"], 2),
            (&["of a/b /args", "id id"], 2),
            (&["of a/b a/d", "id id"], 2),
            (&["of shape part /none", "id id"], 2),
            (&["of shape none", "id id"], 2),
            (&["of"], 2),
            (&["of shape"], 2),
            (&["of /parts", "id id"], 2),
            (&["of a/b", "id"], 3),
            (&["of a/b", "id id number"], 3),
            (&["of free", "x x"], 3),
            (&["x x string"], 2),
        ] {
            assert_eq!(fields(lines).unwrap_err().line, line, "{lines:?}");
        }
        assert_eq!(readers(TABLE, "record a\n").unwrap_err().line, 1);
    }
}
