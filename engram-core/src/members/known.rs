//! Objects that were found complete. An object with the same members, in the same order, need not be compared with the table again.

use std::ops::Range;

use super::json_types::JsonTypes;
use super::known_name::KnownName;
use super::model::{Member, MemberTable, RowId, ShapeId};
use super::node::JsonNode;
use super::repeated::repeated;

/// The most outlines of one shape. A further outline replaces the outline that has not fitted a record for the longest time.
const MAX_OUTLINES: usize = 16;
/// The most members in all outlines. Outlines beyond it are not remembered.
const MAX_MEMBERS: usize = 16 << 10;

/// Outlines of objects whose members are all in their shape, with a type that it allows. Logs have few different ones.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// By shape. The one that fitted last comes first.
    outlines: Vec<Vec<Outline>>,
    /// The members of all outlines.
    members: Vec<KnownMember>,
    /// The containers, and the values with a form, of all outlines.
    inner: Vec<Inner>,
}

/// A member: its name and the type of its value.
#[derive(Debug)]
struct KnownMember {
    name: KnownName,
    /// Without the types that are not relevant.
    types: JsonTypes,
    /// The types that matter.
    relevant: JsonTypes,
}

/// The members of an object, as ranges of [`KnownObjects::members`] and [`KnownObjects::inner`].
#[derive(Debug, Clone)]
struct Outline {
    members: Range<usize>,
    inner: Range<usize>,
}

/// A container in an object, or a value with a form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inner {
    /// The number of members between the one before and this one.
    pub leaves: u32,
    /// None for user data.
    pub row: Option<RowId>,
}

impl KnownObjects {
    /// The containers, and the values with a form, in `object`, for [`KnownObjects::inner_at`], if all its members fit the shape.
    #[inline(always)]
    pub(super) fn inner<'a, N: JsonNode<'a>>(
        &mut self,
        table: &MemberTable,
        id: ShapeId,
        object: N,
    ) -> Option<Range<usize>> {
        let members = &self.members;
        let is_fit = |outline: &Outline| {
            fits(
                members.get(outline.members.clone()).unwrap_or_default(),
                object,
            )
        };
        let outlines = self
            .outlines
            .get_mut(id.0 as usize)
            .map(Vec::as_mut_slice)
            .unwrap_or_default();
        match outlines.iter().position(is_fit) {
            None => self.learn(table, id, object),
            Some(at) => {
                if let Some(tried) = outlines.get_mut(..=at).filter(|_| at > 0) {
                    tried.rotate_right(1);
                }
                outlines.first().map(|outline| outline.inner.clone())
            }
        }
    }

    /// True if no more can be learned.
    pub(super) fn is_full(&self) -> bool {
        self.members.len() >= MAX_MEMBERS
    }

    /// A container, or a value with a form.
    #[inline(always)]
    pub(super) fn inner_at(&self, at: usize) -> Option<Inner> {
        self.inner.get(at).copied()
    }

    #[cold]
    fn learn<'a, N: JsonNode<'a>>(
        &mut self,
        table: &MemberTable,
        id: ShapeId,
        object: N,
    ) -> Option<Range<usize>> {
        let at = id.0 as usize;
        // Names that are data differ from object to object.
        if table.shape(id).rest.is_some() || !repeated(object).is_empty() {
            return None;
        }
        let (members, inner) = (self.members.len(), self.inner.len());
        if self.push_members(table, id, object).is_none() {
            self.members.truncate(members);
            self.inner.truncate(inner);
            return None;
        }
        let outline = Outline {
            members: members..self.members.len(),
            inner: inner..self.inner.len(),
        };
        if self.outlines.len() <= at {
            self.outlines.resize(at + 1, Vec::new());
        }
        let outlines = &mut self.outlines[at];
        outlines.truncate(MAX_OUTLINES - 1);
        outlines.insert(0, outline.clone());
        Some(outline.inner)
    }

    /// Adds the members of an object. None if one of them does not fit the shape.
    fn push_members<'a, N: JsonNode<'a>>(
        &mut self,
        table: &MemberTable,
        id: ShapeId,
        object: N,
    ) -> Option<()> {
        let mut leaves = 0;
        for (name, value) in object.members() {
            let types = value.types();
            let fits = |member: &&Member| member.types.allow(types) && !self.is_full();
            let Member {
                row,
                types: allowed,
                forms,
                ..
            } = *table.shape(id).find(name).filter(fits)?;
            let relevant = allowed.relevant();
            self.members.push(KnownMember {
                name: KnownName::new(name),
                types: types.and(relevant),
                relevant,
            });
            // The value matters, not only its type.
            let has_form = !forms.is_none() && types != JsonTypes::ANY;
            if types.is_leaf() && !has_form {
                leaves += 1;
            } else {
                let row = Some(row).filter(|row| !table.row(*row).is_free());
                self.inner.push(Inner { leaves, row });
                leaves = 0;
            }
        }
        Some(())
    }
}

/// True if an object has these members and no others.
#[inline(never)]
fn fits<'a, N: JsonNode<'a>>(known: &[KnownMember], object: N) -> bool {
    let mut known = known.iter();
    let is_next = |member| {
        known.next().is_some_and(|known| {
            N::types_of(member).and(known.relevant) == known.types
                && N::has_name(member, &known.name)
        })
    };
    object.each_member().all(is_next) && known.next().is_none()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::node::RawNode;
    use super::super::{Path, Row, Visitor, Walk};
    use super::*;

    const TABLE: &str = "
rule ui.state  State of the screen.

record message feeds msg.in
  type      string         tape
  number?   number         tape
  count?    count          tape
  integer?  integer|string tape
  time?     time|millis    tape
  text?     string|array   tape
    []      object
      type  string         tape
      by type
      case a
        x?  number         tape
      case b
        y?  object         tape
          z? bool          tape
  args?     object         free tape
  env?      object         omit ui.state
    *       string
  a_name_that_is_longer_than_thirty_one_bytes? number tape
";

    /// What does not fit, and what is known if anything is.
    struct Found {
        known: Option<KnownObjects>,
        pointers: Vec<String>,
    }

    impl<N: Copy> Visitor<N> for Found {
        fn known(&mut self) -> Option<&mut KnownObjects> {
            self.known.as_mut()
        }

        fn unknown(&mut self, path: &Path<'_, N>) {
            self.pointers.push(format!("unknown {}", path.pointer()));
        }

        fn mismatch(&mut self, path: &Path<'_, N>, _: &Row) {
            self.pointers.push(format!("mismatch {}", path.pointer()));
        }
    }

    /// Checks records one after the other.
    fn check(records: &[String], known: Option<KnownObjects>) -> Found {
        let table = MemberTable::parse(TABLE).unwrap();
        let mut found = Found {
            known,
            pointers: Vec::new(),
        };
        for json in records {
            found.pointers.push(json.clone());
            let walk = Walk::of(&table, &|_| None);
            walk.record(
                table.record("message").unwrap(),
                &Path::root(RawNode::parse(json).unwrap()),
                &mut found,
            );
        }
        found
    }

    fn assert_same(records: &[String]) {
        assert_eq!(
            check(records, Some(KnownObjects::default())).pointers,
            check(records, None).pointers
        );
    }

    #[test]
    fn what_differs_from_a_known_object_is_compared_with_the_table() {
        let known = r#"{"type":"m","number":1,"text":[{"type":"b","y":{"z":true}}],"args":{"u":1},"env":{"a":"b"}}"#;
        for other in [
            r#"{"type":"m","number":1,"text":[{"type":"b","y":{"z":true}}],"args":{"u":1},"env":{"a":"b"},"more":1}"#,
            r#"{"type":"m","number":1,"text":[{"type":"b","y":{"z":true}}],"args":{"u":1}}"#,
            r#"{"type":"m","number":1,"text":[{"type":"b","y":{"z":1}}],"args":{"v":{}},"env":{"a":1}}"#,
            r#"{"type":"m","number":1,"text":[{"type":"a","y":{"z":true}}],"args":{"u":1},"env":{"a":"b"}}"#,
            r#"{"type":"m","number":"1","text":[{"type":"c"}],"args":{"u":1},"env":{"a":"b"}}"#,
            r#"{"type":"m","numbex":1,"text":[{"type":"b","y":{"z":true},"z":true}],"args":{"u":1},"env":{"a":"b"}}"#,
            r#"{"type":"m","number":1,"text":"x","args":[],"env":{"a":"b"}}"#,
            "{}",
        ] {
            assert_same(&[known, known, other, known, other].map(str::to_owned));
        }
    }

    #[test]
    fn objects_with_an_unknown_or_repeated_member_are_not_remembered() {
        for json in [
            r#"{"type":"m","other":1}"#,
            r#"{"type":1}"#,
            r#"{"type":"m","type":"m"}"#,
        ] {
            assert_same(&[json, json].map(str::to_owned));
            let known = check(&[json.to_owned()], Some(KnownObjects::default()))
                .known
                .unwrap();
            assert!(
                known.members.is_empty()
                    && known.inner.is_empty()
                    && known.outlines.iter().all(Vec::is_empty),
                "{json}"
            );
        }
    }

    #[test]
    fn an_object_is_learned_once() {
        let long = r#"{"type":"m","a_name_that_is_longer_than_thirty_one_bytes":1}"#;
        for json in [long, "{}", r#"{"type":"m","args":{},"text":[]}"#] {
            let known = check(
                &[json, json, json].map(str::to_owned),
                Some(KnownObjects::default()),
            )
            .known
            .unwrap();
            assert_eq!(known.outlines.iter().map(Vec::len).max(), Some(1), "{json}");
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        // Each number is another combination of members.
        let record = |number: usize| {
            let members = [
                r#""number":1"#,
                r#""text":"x""#,
                r#""args":{}"#,
                r#""env":{}"#,
                r#""number":null"#,
                r#""text":[]"#,
            ];
            let chosen: Vec<&str> = (0..6)
                .filter(|bit| number & (1 << bit) != 0)
                .map(|bit| members[bit])
                .collect();
            format!(
                r#"{{"type":"m"{}}}"#,
                chosen
                    .iter()
                    .map(|member| format!(",{member}"))
                    .collect::<String>()
            )
        };
        let records: Vec<String> = (0..64).chain(0..64).map(record).collect();
        assert_same(&records);
        let known = check(&records, Some(KnownObjects::default()))
            .known
            .unwrap();
        assert_eq!(
            known.outlines.iter().map(Vec::len).max(),
            Some(MAX_OUTLINES)
        );
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = "1|-1|1\\.5|1e3|9223372036854775808|18446744073709551616|null|true|\"a\"|\"2026-11-21T10:02:05Z\"|\"b\"|\\{\\}|\\[\\]";
        leaf.prop_recursive(3, 12, 4, |inner| {
            let name = prop_oneof![
                Just("type"),
                Just("number"),
                Just("count"),
                Just("integer"),
                Just("time"),
                Just("text"),
                Just("args"),
                Just("env"),
                Just("x"),
                Just("y"),
                Just("z")
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                prop::collection::vec((name, inner), 0..5).prop_map(|members| {
                    let members: Vec<String> = members
                        .iter()
                        .map(|(name, json)| format!("\"{name}\":{json}"))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_same_is_found_with_and_without_known_objects(records in prop::collection::vec(value(), 1..12)) {
            let records: Vec<String> = records.into_iter().map(|json| format!(r#"{{"type":"a","text":[{json}],"args":{json}}}"#)).collect();
            assert_same(&records);
            assert_same(&[records.clone(), records].concat());
        }
    }
}
