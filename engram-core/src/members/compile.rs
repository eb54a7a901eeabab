//! Compiles the lines of a member table: resolves shapes, inherits what becomes of values, and merges the members of cases.

use std::borrow::Cow;
use std::collections::HashMap;

use super::json_types::JsonTypes;
use super::known_name::KnownName;
use super::left_out::{omission, text_of};
use super::model::{
    Choice, Content, Fate, FateKind, Member, MemberTable, Need, RecordShape, Row, RowId, Selector,
    SelectorKey, Shape, ShapeId, TableContext, TableMark, TableRule,
};
use super::syntax::{self, Line, MemberTableError, Word};
use super::value_forms::ValueForms;
use crate::event::Kind;

/// The maximum depth of shapes that include shapes.
const MAX_INCLUDES: usize = 16;

impl MemberTable {
    /// Compiles the text of a table.
    ///
    /// # Errors
    /// If the text is not a member table.
    pub fn parse(text: &str) -> Result<MemberTable, MemberTableError> {
        Ok(Compiler::of(&syntax::parse(text)?)?.table)
    }
}

pub(super) struct Compiler<'l> {
    pub table: MemberTable,
    sources: HashMap<&'l str, &'l Line<'l>>,
    /// The shapes by name, inherited fate, and whether that is forced on all values.
    compiled: HashMap<(&'l str, Option<Fate>, bool), ShapeId>,
    /// The places of rows and shapes: equal ones are one, which makes a table a third of its size.
    rows: HashMap<Row, RowId>,
    shapes: HashMap<Shape, ShapeId>,
    /// The fate of all values of a record that is omitted as a whole.
    forced: Option<Fate>,
}

/// The words of a row after its name and types, or of a record after its name.
#[derive(Default)]
struct Suffix<'l> {
    shape: Option<&'l str>,
    free: bool,
    records: bool,
    fate: Option<Fate>,
    groups: Vec<String>,
    feeds: Vec<Kind>,
    context: Option<TableContext>,
}

/// The members of an object while it is compiled.
#[derive(Clone, Default)]
struct Members<'l> {
    shape: Shape,
    /// The line of the selector, and those of its cases.
    by: Option<(&'l Line<'l>, Vec<&'l Line<'l>>)>,
}

impl<'l> Compiler<'l> {
    /// Compiles the lines of a table.
    pub fn of(lines: &'l [Line<'l>]) -> Result<Compiler<'l>, MemberTableError> {
        let mut compiler = Compiler {
            table: MemberTable::default(),
            sources: HashMap::new(),
            compiled: HashMap::new(),
            rows: HashMap::new(),
            shapes: HashMap::new(),
            forced: None,
        };
        for line in lines.iter().filter(|line| line.keyword() == "shape") {
            if compiler.sources.insert(line.name()?, line).is_some() {
                return Err(line.error("a shape of this name exists"));
            }
        }
        for line in lines {
            compiler.top(line)?;
        }
        Ok(compiler)
    }

    /// The shape with this name, for a reader: what becomes of its values does not matter.
    pub fn shape_to_read(&mut self, name: &str) -> Option<ShapeId> {
        let (name, line) = self
            .sources
            .get_key_value(name)
            .map(|(name, line)| (*name, *line))?;
        self.shape(
            line,
            name,
            Some(&Fate {
                kind: FateKind::Tape,
                name: Cow::Borrowed(""),
            }),
        )
        .ok()
    }

    fn top(&mut self, line: &'l Line<'l>) -> Result<(), MemberTableError> {
        match line.keyword() {
            "shape" => Ok(()),
            "rule" => {
                let name = line.name()?.to_owned();
                let reason = text_of(&line.words[2..]);
                if reason.is_empty() || self.table.rules.iter().any(|rule| rule.name == name) {
                    return Err(line.error("a rule has a name of its own and a reason"));
                }
                self.table.rules.to_mut().push(TableRule {
                    name: name.into(),
                    reason: reason.into(),
                });
                Ok(())
            }
            "mark" => match &line.words[1..] {
                [name, mark, meaning @ ..] if !meaning.is_empty() => {
                    let (name, mark) = (name.text.to_string(), mark.text.to_string());
                    self.table.marks.push(TableMark {
                        name,
                        mark,
                        meaning: text_of(meaning),
                    });
                    Ok(())
                }
                _ => Err(line.error("a mark has a name, a text and a meaning")),
            },
            "omission" => {
                self.table.omissions.push(omission(line)?);
                Ok(())
            }
            "record" => {
                let name = line.name()?;
                let record = self.record(name, JsonTypes::OBJECT, line, 2)?;
                if self.table.records.iter().any(|known| known.name == name) {
                    return Err(line.error("a record of this type exists"));
                }
                self.table.by_name.push(name);
                self.table.records.to_mut().push(record);
                Ok(())
            }
            "document" => {
                let types = line.words.get(1).and_then(|word| types_of(line, word).ok());
                let words = if types.is_some() { 2 } else { 1 };
                let document = self.record(
                    "",
                    types.map_or(JsonTypes::OBJECT, |(types, _)| types),
                    line,
                    words,
                )?;
                self.table.documents.to_mut().push(document);
                Ok(())
            }
            _ => {
                Err(line
                    .error("expected `rule`, `mark`, `omission`, `shape`, `record` or `document`"))
            }
        }
    }

    fn record(
        &mut self,
        name: &str,
        types: JsonTypes,
        line: &'l Line<'l>,
        words: usize,
    ) -> Result<RecordShape, MemberTableError> {
        let suffix = read_suffix(line, &line.words[words..])?;
        let (groups, feeds, context) = (
            suffix.groups.iter().cloned().map(Cow::Owned).collect(),
            suffix.feeds.clone().into(),
            suffix.context.clone(),
        );
        self.forced = suffix.fate.clone();
        let row = self.row_of(line, (types, ValueForms::NONE), suffix, None)?;
        self.forced = None;
        Ok(RecordShape {
            name: name.to_owned().into(),
            groups,
            feeds,
            context,
            row,
        })
    }

    /// Compiles a member row: its names, and the row itself.
    fn member(
        &mut self,
        line: &'l Line<'l>,
        inherited: Option<&Fate>,
    ) -> Result<(Vec<&'l str>, Need, RowId), MemberTableError> {
        let [name, types, rest @ ..] = &line.words[..] else {
            return Err(line.error("a row has a name and types"));
        };
        let (names, need) = names(name);
        let (mut types, forms) = types_of(line, types)?;
        // Many harnesses write a member that they do not have as `null`. A number or a time that is `null` would be missing without a word.
        if need == Need::Optional && !types.meets(JsonTypes::NATURAL) && forms == ValueForms::NONE {
            types = types.or(JsonTypes::NULL);
        }
        let row = self.row_of(line, (types, forms), read_suffix(line, rest)?, inherited)?;
        Ok((names, need, row))
    }

    fn row_of(
        &mut self,
        line: &'l Line<'l>,
        (types, forms): (JsonTypes, ValueForms),
        suffix: Suffix<'l>,
        inherited: Option<&Fate>,
    ) -> Result<RowId, MemberTableError> {
        let fate = self
            .forced
            .clone()
            .or(suffix.fate.clone())
            .or_else(|| inherited.cloned());
        let has_scalars = types.meets(JsonTypes::STRING.or(JsonTypes::NATURAL).or(JsonTypes::BOOL));
        if fate.is_none() && !suffix.records && (has_scalars || suffix.free) {
            return Err(line.error("nothing says what becomes of this value"));
        }
        let content = self.content(line, types, &suffix, fate.as_ref())?;
        Ok(self.push_row(Row {
            types,
            forms,
            fate,
            content,
        }))
    }

    fn push_row(&mut self, row: Row) -> RowId {
        let rows = self.table.rows.to_mut();
        *self.rows.entry(row).or_insert_with_key(|row| {
            rows.push(row.clone());
            RowId(rows.len() as u32 - 1)
        })
    }

    fn content(
        &mut self,
        line: &'l Line<'l>,
        types: JsonTypes,
        suffix: &Suffix<'l>,
        fate: Option<&Fate>,
    ) -> Result<Content, MemberTableError> {
        let (items, members): (Vec<&Line<'_>>, Vec<&Line<'_>>) = line
            .children
            .iter()
            .partition(|line| line.keyword() == "[]");
        let is_described = !line.children.is_empty() || suffix.shape.is_some();
        if suffix.free || suffix.records {
            return match is_described {
                true => Err(line.error("user data and records have no rows here")),
                false if suffix.free => Ok(Content::Free),
                false => Ok(Content::Record),
            };
        }
        if types.or(JsonTypes::NULL) == JsonTypes::EVERY && !is_described {
            return Err(line.error("a value of any type is `free`, or has rows"));
        }
        let referenced = suffix
            .shape
            .map(|name| self.shape(line, name, fate))
            .transpose()?;
        let mut object = types
            .meets(JsonTypes::OBJECT)
            .then_some(referenced)
            .flatten();
        if types.meets(JsonTypes::OBJECT) && object.is_none() {
            object = Some(self.object(&Members::default(), &members, fate)?);
        } else if !members.is_empty() {
            return Err(line.error("members of a value that is no object"));
        }
        let mut item_row = None;
        if let ([item], true) = (&items[..], types.meets(JsonTypes::ARRAY)) {
            let [_, item_types, rest @ ..] = &item.words[..] else {
                return Err(item.error("items have types"));
            };
            item_row = Some(self.row_of(
                item,
                types_of(item, item_types)?,
                read_suffix(item, rest)?,
                fate,
            )?);
        } else if !items.is_empty() {
            return Err(line.error("one row for the items of an array"));
        } else if let Some(shape) = referenced.filter(|_| types.meets(JsonTypes::ARRAY)) {
            let content = Content::Described {
                object: Some(shape),
                items: None,
            };
            item_row = Some(self.push_row(Row {
                types: JsonTypes::OBJECT,
                forms: ValueForms::NONE,
                fate: fate.cloned(),
                content,
            }));
        }
        Ok(Content::Described {
            object,
            items: item_row,
        })
    }

    /// The shape with this name, its values with this fate unless they have their own.
    fn shape(
        &mut self,
        line: &Line<'_>,
        name: &'l str,
        inherited: Option<&Fate>,
    ) -> Result<ShapeId, MemberTableError> {
        let source = *self
            .sources
            .get(name)
            .ok_or_else(|| line.error(format!("no shape `{name}`")))?;
        let own = read_suffix(source, &source.words[2..])?.fate;
        let fate = self.forced.clone().or(own).or_else(|| inherited.cloned());
        if let Some(shape) = self
            .compiled
            .get(&(name, fate.clone(), self.forced.is_some()))
        {
            return Ok(*shape);
        }
        // Its place first: a shape may contain itself.
        let id = ShapeId(self.table.shapes.len() as u32);
        self.table.shapes.to_mut().push(Shape::default());
        self.compiled
            .insert((name, fate.clone(), self.forced.is_some()), id);
        let lines: Vec<&Line<'_>> = source.children.iter().collect();
        let shape = self.members_of(&Members::default(), &lines, fate.as_ref())?;
        self.shapes.entry(shape.clone()).or_insert(id);
        self.table.shapes.to_mut()[id.0 as usize] = shape;
        Ok(id)
    }

    /// Compiles an object: the members of `base`, and those of `lines`.
    fn object(
        &mut self,
        base: &Members<'l>,
        lines: &[&'l Line<'l>],
        fate: Option<&Fate>,
    ) -> Result<ShapeId, MemberTableError> {
        let shape = self.members_of(base, lines, fate)?;
        let shapes = self.table.shapes.to_mut();
        Ok(*self.shapes.entry(shape).or_insert_with_key(|shape| {
            shapes.push(shape.clone());
            ShapeId(shapes.len() as u32 - 1)
        }))
    }

    fn members_of(
        &mut self,
        base: &Members<'l>,
        lines: &[&'l Line<'l>],
        fate: Option<&Fate>,
    ) -> Result<Shape, MemberTableError> {
        let mut members = Members {
            shape: base.shape.clone(),
            by: None,
        };
        self.add_lines(&mut members, lines, fate, 0)?;
        if let Some((by, cases)) = members.by.take() {
            members.shape.selector = Some(self.selector(&members, by, &cases, fate)?);
        }
        members.shape.index();
        Ok(members.shape)
    }

    fn add_lines(
        &mut self,
        members: &mut Members<'l>,
        lines: &[&'l Line<'l>],
        fate: Option<&Fate>,
        includes: usize,
    ) -> Result<(), MemberTableError> {
        for line in lines {
            match line.keyword() {
                "include" => {
                    let name = line.name()?;
                    let source = self.sources.get(name).filter(|_| includes < MAX_INCLUDES);
                    let source = *source
                        .ok_or_else(|| line.error(format!("no shape `{name}` to include here")))?;
                    let own = read_suffix(source, &source.words[2..])?.fate;
                    let lines: Vec<&Line<'_>> = source.children.iter().collect();
                    self.add_lines(members, &lines, own.as_ref().or(fate), includes + 1)?;
                }
                "by" if members.by.is_none() => members.by = Some((line, Vec::new())),
                "case" | "else" => {
                    let (_, cases) = members
                        .by
                        .as_mut()
                        .ok_or_else(|| line.error("a case without `by` before it"))?;
                    cases.push(line);
                }
                "*" => {
                    let (_, _, row) = self.member(line, fate)?;
                    members.shape.rest = Some(row);
                }
                _ => self.add_member(&mut members.shape, line, fate)?,
            }
        }
        Ok(())
    }

    fn add_member(
        &mut self,
        shape: &mut Shape,
        line: &'l Line<'l>,
        fate: Option<&Fate>,
    ) -> Result<(), MemberTableError> {
        let (names, need, row) = self.member(line, fate)?;
        for name in names {
            let Row { types, forms, .. } = *self.table.row(row);
            let (name, repeats) = name
                .strip_suffix('+')
                .map_or((name, false), |name| (name, true));
            let member = Member {
                name: name.to_owned().into(),
                types,
                forms,
                need,
                row,
                repeats,
            };
            let members = shape.members.to_mut();
            match members.iter_mut().find(|known| known.name == name) {
                Some(known) => *known = member,
                None => members.push(member),
            }
        }
        Ok(())
    }

    fn selector(
        &mut self,
        base: &Members<'l>,
        by: &'l Line<'l>,
        lines: &[&'l Line<'l>],
        fate: Option<&Fate>,
    ) -> Result<Selector, MemberTableError> {
        let (mut cases, mut otherwise) = (Vec::new(), Choice::Unknown);
        for line in lines {
            let values = line.words[1..]
                .iter()
                .take_while(|word| word.quoted || !is_suffix(&word.text))
                .count();
            let choice = self.choice(base, line, &line.words[1 + values..], fate)?;
            match line.keyword() {
                "case" if values > 0 => cases.extend(
                    line.words[1..=values]
                        .iter()
                        .map(|value| (value.text.to_string().into(), choice)),
                ),
                "else" if values == 0 => otherwise = choice,
                _ => return Err(line.error("`case` has values, `else` has none")),
            }
        }
        Ok(Selector::new(selector_key(by)?, cases, otherwise))
    }

    fn choice(
        &mut self,
        base: &Members<'l>,
        line: &'l Line<'l>,
        words: &'l [Word<'l>],
        fate: Option<&Fate>,
    ) -> Result<Choice, MemberTableError> {
        if let [word] = words
            && word.text == "unrecognized"
        {
            return Ok(Choice::Unrecognized);
        }
        let suffix = read_suffix(line, words)?;
        let own = suffix.fate.clone().or_else(|| fate.cloned());
        if suffix.free {
            return Ok(Choice::Free(self.row_of(
                line,
                (JsonTypes::EVERY, ValueForms::NONE),
                suffix,
                fate,
            )?));
        }
        let lines: Vec<&Line<'_>> = line.children.iter().collect();
        Ok(Choice::Shape(self.object(base, &lines, own.as_ref())?))
    }
}

impl Line<'_> {
    /// The word after the keyword.
    pub(super) fn name(&self) -> Result<&str, MemberTableError> {
        self.words
            .get(1)
            .map(|word| word.text.as_ref())
            .ok_or_else(|| self.error("a name is missing"))
    }
}

/// The names of a row, and whether one of them must be there.
fn names<'l>(word: &'l Word<'_>) -> (Vec<&'l str>, Need) {
    if word.quoted {
        return (
            vec![&word.text],
            if word.optional {
                Need::Optional
            } else {
                Need::Always
            },
        );
    }
    let (names, need) = word
        .text
        .strip_suffix('?')
        .map_or((word.text.as_ref(), Need::Always), |names| {
            (names, Need::Optional)
        });
    (names.split('|').collect(), need)
}

/// The JSON types of a row, and the forms of its values.
fn types_of(line: &Line<'_>, word: &Word<'_>) -> Result<(JsonTypes, ValueForms), MemberTableError> {
    let one = |name| {
        ValueForms::from_name(name)
            .or_else(|| Some((ValueForms::NONE, JsonTypes::from_name(name)?)))
    };
    let mut all = (JsonTypes(0), ValueForms::NONE);
    for name in word.text.split('|') {
        let (forms, types) =
            one(name).ok_or_else(|| line.error(format!("`{}` is no JSON type", word.text)))?;
        all = (all.0.or(types), all.1.or(forms));
    }
    Ok(all)
}

fn selector_key(line: &Line<'_>) -> Result<SelectorKey, MemberTableError> {
    let mut name = line.name()?;
    if let Some(key) = name.strip_prefix('@') {
        return Ok(SelectorKey::Adapter(key.to_owned().into()));
    }
    let mut levels = 0;
    while let Some(rest) = name.strip_prefix("../") {
        (name, levels) = (rest, levels + 1);
    }
    let known = KnownName::new(name);
    Ok(SelectorKey::Member {
        levels,
        name: name.to_owned().into(),
        known,
    })
}

/// True for the words that can follow the types of a row.
fn is_suffix(word: &str) -> bool {
    matches!(
        word,
        "tape"
            | "as"
            | "omit"
            | "opaque"
            | "free"
            | "records"
            | "in"
            | "context"
            | "feeds"
            | "unrecognized"
    )
}

/// The event of a record that is only data.
fn context(words: &[&str]) -> Option<TableContext> {
    match words {
        ["name"] => Some(TableContext::Name),
        ["text", pointer] => Some(TableContext::Text((*pointer).to_owned().into())),
        ["file", name, text] => Some(TableContext::File {
            name: (*name).to_owned().into(),
            text: (*text).to_owned().into(),
        }),
        ["hash", pointer] => Some(TableContext::Hash((*pointer).to_owned().into())),
        _ => None,
    }
}

/// The words after the types of a row.
fn read_suffix<'l>(
    line: &'l Line<'l>,
    words: &'l [Word<'l>],
) -> Result<Suffix<'l>, MemberTableError> {
    let mut suffix = Suffix::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let mut named = |kind| match words.next() {
            Some(name) if kind != FateKind::Tape => Ok(Fate {
                kind,
                name: name.text.to_string().into(),
            }),
            _ => Err(line.error(format!("a name after `{}`", word.text))),
        };
        match word.text.as_ref() {
            "tape" => {
                suffix.fate = Some(Fate {
                    kind: FateKind::Tape,
                    name: Cow::Borrowed(""),
                })
            }
            "as" => suffix.fate = Some(named(FateKind::As)?),
            "omit" => suffix.fate = Some(named(FateKind::Omit)?),
            "opaque" => suffix.fate = Some(named(FateKind::Opaque)?),
            "free" => suffix.free = true,
            "records" => suffix.records = true,
            "in" => {
                while let Some(group) = words.next_if(|word| !is_suffix(&word.text)) {
                    suffix.groups.push(group.text.to_string());
                }
            }
            "context" => {
                let mut given: Vec<&str> = Vec::new();
                while let Some(word) = words.next_if(|word| !is_suffix(&word.text)) {
                    given.push(&word.text);
                }
                suffix.context = Some(context(&given).ok_or_else(|| {
                    line.error("a context is `name`, `text`, `file` or `hash`, with its pointers")
                })?);
            }
            "feeds" => {
                while let Some(kind) = words.peek().and_then(|word| Kind::from_name(&word.text)) {
                    suffix.feeds.push(kind);
                    words.next();
                }
            }
            other => match other.strip_prefix('=') {
                Some(shape) => suffix.shape = Some(shape),
                None => return Err(line.error(format!("`{other}` is not known here"))),
            },
        }
    }
    Ok(suffix)
}
