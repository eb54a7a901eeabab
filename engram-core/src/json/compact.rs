//! The text of a value without white space between its parts.

use std::borrow::Cow;

use super::json_type::JsonType;
use super::node::Node;
use super::value::Value;

impl<'a> Value<'a> {
    /// The JSON text without white space between its parts: equal values have equal texts, if the members of their objects have the same
    /// order.
    ///
    /// ```
    /// use engram_core::json::{StructuralIndex, parse};
    ///
    /// let mut index = StructuralIndex::default();
    /// assert_eq!(parse(r#" { "a b" : [ 1, "x y" ] } "#, &mut index)?.compact(), r#"{"a b":[1,"x y"]}"#);
    /// # Ok::<(), engram_core::emit::Fault>(())
    /// ```
    pub fn compact(self) -> Cow<'a, str> {
        let (text, nodes) = self.parts();
        let Some((value, contents)) = nodes.split_first().map(|(value, rest)| (value, rest.get(..value.size() - 1).unwrap_or_default()))
        else {
            return Cow::Borrowed("");
        };
        if contents.is_empty() && !is_container(value) || is_compact(text, value, contents) {
            Cow::Borrowed(self.raw())
        } else {
            Cow::Owned(compacted(text, value, contents))
        }
    }
}

fn is_container(node: &Node) -> bool {
    node.is(JsonType::Object) || node.is(JsonType::Array)
}

/// True if the value has no white space between its parts: then it is as long as its parts together.
fn is_compact(text: &str, value: &Node, contents: &[Node]) -> bool {
    let mut length = 2 - usize::from(!contents.is_empty());
    for node in contents {
        if node.name != node.start {
            if !is_member(text, node) || text.as_bytes().get(node.start as usize - 2) != Some(&b'"') {
                return false;
            }
            length += (node.start - node.name) as usize;
        }
        // A container has two brackets, and one comma less than values.
        length += if is_container(node) { 3 - usize::from(node.size() > 1) } else { (node.end - node.start) as usize + 1 };
    }
    length == (value.end - value.start) as usize
}

/// True if the node has a name. Before an element of an array there is at most white space.
fn is_member(text: &str, node: &Node) -> bool {
    node.name + 1 < node.start && text.as_bytes().get(node.name as usize) == Some(&b'"')
}

#[cold]
fn compacted(text: &str, value: &Node, contents: &[Node]) -> String {
    let mut compact = String::with_capacity((value.end - value.start) as usize);
    let mut at = value.start as usize;
    // Between names and scalars there are only brackets, colons, commas and white space.
    let push_brackets = |compact: &mut String, from: usize, to: usize| {
        let between = text.as_bytes().get(from..to).unwrap_or_default();
        between.iter().filter(|byte| **byte > b' ').for_each(|byte| compact.push(char::from(*byte)));
    };
    for node in contents {
        if is_member(text, node) {
            push_brackets(&mut compact, at, node.name as usize);
            at = node.name_in(text.as_bytes()).end + 1;
            compact.push_str(text.get(node.name as usize..at).unwrap_or_default());
        }
        push_brackets(&mut compact, at, node.start as usize);
        at = node.start as usize;
        if !is_container(node) {
            compact.push_str(text.get(at..node.end as usize).unwrap_or_default());
            at = node.end as usize;
        }
    }
    push_brackets(&mut compact, at, value.end as usize);
    compact
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::index::StructuralIndex;
    use super::super::value::parse;
    use super::*;

    #[test]
    fn compact_text_is_borrowed() {
        let mut index = StructuralIndex::default();
        for text in ["{}", "[]", r#"" ""#, "1", r#"{"a b":[1,{},[[]],{"c":" "}],"":"","d":null}"#, r#"["x",["y","z"],{"a":{}}]"#] {
            let value = parse(text, &mut index).unwrap();
            assert!(matches!(value.compact(), Cow::Borrowed(compact) if compact == text), "{text}");
        }
    }

    proptest! {
        /// Random white space at every place where JSON allows it.
        #[test]
        fn white_space_does_not_count(spaces in prop::collection::vec("[ \t\r\n]{0,3}", 24)) {
            const PARTS: [&str; 24] = [
                "{", "\"a b\"", ":", "[", "1", ",", "{", "}", ",", "[", "[", "]", "]", "]", ",", "\"c\"", ":", "\" x\"", ",", "\"d\"", ":",
                "null", "}", "",
            ];
            let text: String = spaces.iter().zip(PARTS).map(|(space, part)| format!("{space}{part}")).collect();
            let mut index = StructuralIndex::default();
            prop_assert_eq!(parse(&text, &mut index).unwrap().compact(), PARTS.concat());
        }
    }
}
