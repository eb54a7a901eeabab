//! The compiled form of a member table.

use std::borrow::Cow;

use super::json_types::JsonTypes;
use super::known_name::KnownName;
use super::node::JsonNode;
use super::value_forms::ValueForms;
use crate::event::Kind;
use crate::omission::Omission;

/// A text of a table: of one that was compiled with the program, or when it runs.
pub type Name = Cow<'static, str>;
/// A list of a table, likewise.
pub type List<T> = Cow<'static, [T]>;

/// What becomes of a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fate {
    /// How the tape treats it.
    pub kind: FateKind,
    /// The field of the tape, or the name of the rule; empty for [`FateKind::Tape`].
    pub name: Name,
}

/// How the tape treats a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FateKind {
    /// It is on the tape as it is.
    Tape,
    /// It is on the tape in another form, in the named field.
    As,
    /// The named rule omits it.
    Omit,
    /// The named rule declares it as opaque.
    Opaque,
}

/// A rule that a table defines: why values are known and left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableRule {
    /// Its name.
    pub name: Name,
    /// The reason.
    pub reason: Name,
}

/// A name by which an adapter recognises its logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMark {
    /// The name of the constant.
    pub name: String,
    /// The mark.
    pub mark: String,
    /// What has it.
    pub meaning: String,
}

/// A rule by which records, or members that the tape has in another form, are left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableOmission {
    /// The name of the rule.
    pub rule: String,
    /// The kind of omission.
    pub omission: Omission,
    /// The record type; `*` matches any run of characters.
    pub record: String,
    /// For members: their JSON pointer from the root of the record.
    pub pointer: Option<String>,
    /// Why the tape loses nothing by it.
    pub reason: String,
}

/// The event of a record that is only data: a `meta context` with the name of its type. Values are JSON pointers from the root of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableContext {
    /// It has only the name.
    Name,
    /// It has this value as text.
    Text(Name),
    /// It has the name and the text of a file.
    File {
        /// Where the name is.
        name: Name,
        /// Where the text is.
        text: Name,
    },
    /// It has hash and size of this value.
    Hash(Name),
}

/// One row: the types of a value, what becomes of it, and what it contains.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Row {
    /// The types that it may have.
    pub types: JsonTypes,
    /// The forms of its values.
    pub forms: ValueForms,
    /// What becomes of the leaf values in it. `None` for containers whose contents have rows of their own.
    pub fate: Option<Fate>,
    #[doc(hidden)]
    pub content: Content,
}

impl Row {
    /// True if its contents are user data that the table does not describe.
    pub fn is_free(&self) -> bool {
        matches!(self.content, Content::Free)
    }

    /// The names of the types and forms that a value may have, without `null`.
    pub fn expected(&self) -> String {
        self.forms.names(self.types.without(JsonTypes::NULL))
    }

    /// What a value is that does not fit the row: its JSON type, a time that is not readable, or a negative number.
    pub fn found<'a, N: JsonNode<'a>>(&self, node: N) -> Cow<'static, str> {
        match self.types.allow(node.types()) {
            true => Cow::Borrowed(self.forms.mismatch(node)),
            false if node.is_null() => JsonTypes::NULL.name(),
            false => node.types().name(),
        }
    }
}

/// What a value contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Content {
    /// Members and items that have rows.
    Described {
        /// The members, if the value is an object.
        object: Option<ShapeId>,
        /// The items, if it is an array.
        items: Option<RowId>,
    },
    /// Anything.
    Free,
    /// A record of its own, or an array of them.
    Record,
}

/// The place of a row in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RowId(pub u32);

/// The place of a shape in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShapeId(pub u32);

/// True if a member is in every object of its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Need {
    /// It is in every one.
    Always,
    /// It may be absent.
    Optional,
}

/// A named member of an object.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Member {
    /// Its name.
    pub name: Name,
    /// The types of its row.
    pub types: JsonTypes,
    /// The forms of its row.
    pub forms: ValueForms,
    /// Whether it must be there.
    pub need: Need,
    /// Its row.
    pub row: RowId,
    /// True if the harness writes it more than once into one object.
    pub repeats: bool,
}

/// The members of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Those with a name.
    pub members: List<Member>,
    /// The places in `members` by name. Empty until [`Shape::index`].
    pub by_name: NameIndex,
    /// The row of all other members.
    pub rest: Option<RowId>,
    /// What chooses another shape in place of this one.
    pub selector: Option<Selector>,
}

/// The places of names in a list: the places of names in one bucket are a chain.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NameIndex {
    /// The index of the first place in each bucket, plus one; 0 for an empty bucket.
    pub first: [u16; BUCKETS],
    /// For each place the next one of its bucket, in the same form.
    pub next: List<u16>,
}

/// The number of buckets of an index.
const BUCKETS: usize = 64;

/// The bucket of a name: names in one list mostly differ in length, first or last byte.
fn bucket(name: &str) -> usize {
    let (first, last) = (
        name.bytes().next().unwrap_or(0),
        name.bytes().next_back().unwrap_or(0),
    );
    (name.len() + 7 * usize::from(first) + 31 * usize::from(last)) % BUCKETS
}

/// True for equal names. They are short: a call of `memcmp` costs more.
#[inline(always)]
fn is_same(name: &str, other: &str) -> bool {
    name.len() == other.len()
        && name
            .bytes()
            .zip(other.bytes())
            .all(|(byte, other)| byte == other)
}

impl Default for NameIndex {
    fn default() -> Self {
        NameIndex {
            first: [0; BUCKETS],
            next: List::default(),
        }
    }
}

impl NameIndex {
    /// An index of these names, at places 0, 1, and so on. Of equal names the first is found first.
    pub fn of<'n>(names: impl DoubleEndedIterator<Item = &'n str> + ExactSizeIterator) -> Self {
        let (mut first, mut next) = ([0; BUCKETS], vec![0; names.len()]);
        for (at, name) in names.enumerate().rev() {
            next[at] = std::mem::replace(&mut first[bucket(name)], at as u16 + 1);
        }
        NameIndex {
            first,
            next: next.into(),
        }
    }

    /// Adds the next name of a list of different names.
    pub fn push(&mut self, name: &str) {
        let number = self.next.len() as u16 + 1;
        self.next
            .to_mut()
            .push(std::mem::replace(&mut self.first[bucket(name)], number));
    }

    /// The places that this name may have.
    #[inline(always)]
    fn places(&self, name: &str) -> impl Iterator<Item = usize> {
        let mut at = self.first[bucket(name)];
        std::iter::from_fn(move || {
            let place = usize::from(at).checked_sub(1)?;
            at = *self.next.get(place)?;
            Some(place)
        })
    }
}

impl Shape {
    /// Prepares the search by name.
    pub fn index(&mut self) {
        self.by_name = NameIndex::of(self.members.iter().map(|member| &*member.name));
    }

    /// The member with this name.
    pub fn find(&self, name: &str) -> Option<&Member> {
        self.by_name
            .places(name)
            .map(|at| &self.members[at])
            .find(|member| &*member.name == name)
    }
}

/// Chooses the shape of an object by a value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Selector {
    /// Where the value is.
    pub key: SelectorKey,
    /// Values and what they choose.
    pub cases: List<(Name, Choice)>,
    /// The places in `cases` by value.
    pub by_value: NameIndex,
    /// For all other values.
    pub otherwise: Choice,
}

/// Where the value of a selector is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SelectorKey {
    /// A member of the object, or of an object this many levels around it.
    Member {
        /// How many objects are between.
        levels: usize,
        /// The name of the member.
        name: Name,
        /// The same, to compare with.
        known: KnownName,
    },
    /// The adapter knows it.
    Adapter(Name),
}

/// What applies to an object with a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Choice {
    /// The value of the selector is reported as an unknown member.
    Unknown,
    /// The adapter reports the object.
    Unrecognized,
    /// The object is user data.
    Free(RowId),
    /// The object has these members.
    Shape(ShapeId),
}

/// A record type, or the document.
#[derive(Debug, Clone)]
pub struct RecordShape {
    /// The record type; empty for the document.
    pub name: Name,
    /// The groups of record types that it belongs to: each is dispatched by one `match`.
    pub groups: List<Name>,
    /// The kinds of events that it gives.
    pub feeds: List<Kind>,
    /// Its event, if it is only data.
    pub context: Option<TableContext>,
    #[doc(hidden)]
    pub row: RowId,
}

/// A table of what a harness's own types declare, which may be compiled only when it is asked for.
pub trait DeclaredTypes: std::fmt::Debug + Sync {
    /// The table; `None` if its text cannot be compiled.
    fn declared_table(&self) -> Option<&MemberTable>;
}

/// Every member of every record of a harness. See the module.
#[derive(Debug, Clone, Default)]
pub struct MemberTable {
    pub(super) rules: List<TableRule>,
    /// Only of a table that was compiled from its text: the code of an adapter has them as constants.
    pub(super) marks: Vec<TableMark>,
    /// Likewise.
    pub(super) omissions: Vec<TableOmission>,
    pub(super) rows: List<Row>,
    pub(super) shapes: List<Shape>,
    pub(super) records: List<RecordShape>,
    pub(super) documents: List<RecordShape>,
    /// The place in `records` of each name.
    pub(super) by_name: NameIndex,
    /// What the harness's own types declare beside these rows.
    pub(super) declared: Option<&'static dyn DeclaredTypes>,
}

impl MemberTable {
    /// A table of parts that a build script has compiled.
    #[doc(hidden)]
    pub const fn of(
        rules: &'static [TableRule],
        rows: &'static [Row],
        shapes: &'static [Shape],
        records: &'static [RecordShape],
        documents: &'static [RecordShape],
        by_name: NameIndex,
        declared: Option<&'static dyn DeclaredTypes>,
    ) -> MemberTable {
        MemberTable {
            rules: Cow::Borrowed(rules),
            marks: Vec::new(),
            omissions: Vec::new(),
            rows: Cow::Borrowed(rows),
            shapes: Cow::Borrowed(shapes),
            records: Cow::Borrowed(records),
            documents: Cow::Borrowed(documents),
            by_name,
            declared,
        }
    }

    /// All shapes, in the order in which they were compiled.
    #[doc(hidden)]
    pub fn shapes(&self) -> &[Shape] {
        &self.shapes
    }

    /// The places of the records by name.
    #[doc(hidden)]
    pub fn by_name(&self) -> &NameIndex {
        &self.by_name
    }

    /// The shape of records of this type.
    pub fn record(&self, record: &str) -> Option<&RecordShape> {
        let exact = self
            .by_name
            .places(record)
            .map(|at| &self.records[at])
            .find(|shape| is_same(&shape.name, record));
        exact.or_else(|| self.record_by_beginning(record))
    }

    fn record_by_beginning(&self, record: &str) -> Option<&RecordShape> {
        self.records.iter().find(|shape| {
            shape
                .name
                .strip_suffix('*')
                .is_some_and(|start| record.starts_with(start))
        })
    }

    /// What the harness's own types declare: a table of its own, compiled when a record first has something that this one does not name.
    pub fn declared(&self) -> Option<&'static MemberTable> {
        self.declared?.declared_table()
    }

    /// The table that names records of this type, and their shape: this one, or that of the declared types.
    pub fn of_record(&self, record: &str) -> Option<(&MemberTable, &RecordShape)> {
        let declared = || {
            self.declared()
                .and_then(|table| Some((table, table.record(record)?)))
        };
        self.record(record)
            .map(|shape| (self, shape))
            .or_else(declared)
    }

    /// True if a value chooses a case somewhere in this table: if it is the type of a block.
    pub fn names_case(&self, value: &str) -> bool {
        let selectors = self
            .shapes
            .iter()
            .filter_map(|shape| shape.selector.as_ref());
        let mut cases = selectors.flat_map(|selector| selector.cases.iter());
        cases.any(|(case, _)| case == value)
    }

    /// The rule by which all values of a record are left out.
    pub fn rule_of(&self, record: &RecordShape) -> Option<&str> {
        self.row(record.row)
            .fate
            .as_ref()
            .filter(|fate| fate.kind == FateKind::Omit)
            .map(|fate| &*fate.name)
    }

    /// The shapes of artifacts that are one document.
    pub fn documents(&self) -> &[RecordShape] {
        &self.documents
    }

    /// All record types.
    pub fn records(&self) -> &[RecordShape] {
        &self.records
    }

    /// The rules that the table defines.
    pub fn rules(&self) -> &[TableRule] {
        &self.rules
    }

    /// The marks by which the logs are recognised.
    pub fn marks(&self) -> &[TableMark] {
        &self.marks
    }

    /// The rules that leave out whole records, or members that the tape has in another form.
    pub fn omissions(&self) -> &[TableOmission] {
        &self.omissions
    }

    /// All rows, in the order in which they were compiled.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    #[inline(always)]
    pub(super) fn row(&self, id: RowId) -> &Row {
        &self.rows[id.0 as usize]
    }

    #[inline(always)]
    pub(super) fn shape(&self, id: ShapeId) -> &Shape {
        &self.shapes[id.0 as usize]
    }
}

impl Selector {
    pub(super) fn new(key: SelectorKey, cases: Vec<(Name, Choice)>, otherwise: Choice) -> Selector {
        let by_value = NameIndex::of(cases.iter().map(|(value, _)| &**value));
        Selector {
            key,
            cases: cases.into(),
            by_value,
            otherwise,
        }
    }

    /// What a value chooses.
    pub fn choose(&self, value: &str) -> Choice {
        let case = self
            .by_value
            .places(value)
            .map(|at| &self.cases[at])
            .find(|(known, _)| is_same(known, value));
        case.map_or(self.otherwise, |(_, choice)| *choice)
    }

    /// What any value chooses.
    pub fn choices(&self) -> impl Iterator<Item = Choice> {
        self.cases
            .iter()
            .map(|(_, choice)| *choice)
            .chain([self.otherwise])
    }
}
