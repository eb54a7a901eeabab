//! JSON values as a member table sees them, however they are stored.

use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::json_types::JsonTypes;
use super::known_name::KnownName;

/// A JSON value that a member table can be compared with.
pub trait JsonNode<'a>: Copy {
    /// A member. Its name and its value are looked for when they are needed.
    type Member: Copy;
    /// A place among the members of an object; by default the beginning.
    type Place: Default;

    /// Its type; all types for `null`.
    fn types(self) -> JsonTypes;
    /// Its members, if it is an object.
    fn each_member(self) -> impl Iterator<Item = Self::Member>;
    /// The member at a place, after `leaves` members that contain nothing. The place becomes the one after it.
    fn member_after(self, place: &mut Self::Place, leaves: u32) -> Option<Self::Member>;
    /// The name of a member. Escapes are not decoded.
    fn name_of(member: Self::Member) -> &'a str;
    /// True if the member has this name.
    fn has_name(member: Self::Member, name: &KnownName) -> bool;
    /// The type of a member; all types for `null`.
    fn types_of(member: Self::Member) -> JsonTypes;
    /// The value of a member.
    fn value_of(member: Self::Member) -> Self;
    /// Its items, if it is an array.
    fn items(self) -> impl Iterator<Item = Self>;
    /// Its JSON text.
    fn json(self) -> &'a str;

    /// Names and values of its members, if it is an object.
    #[inline(always)]
    fn members(self) -> impl Iterator<Item = (&'a str, Self)> {
        self.each_member()
            .map(|member| (Self::name_of(member), Self::value_of(member)))
    }

    /// True for `null`.
    #[inline(always)]
    fn is_null(self) -> bool {
        self.types() == JsonTypes::ANY
    }

    /// The contents of a string, escapes not decoded, or the JSON text of another value.
    fn word(self) -> &'a str {
        let json = self.json();
        json.strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'))
            .unwrap_or(json)
    }

    /// The first member with this name, unless it is `null`.
    fn find(self, name: &str) -> Option<Self> {
        self.members()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value)
            .filter(|value| !value.is_null())
    }
}

/// A JSON value that is parsed level by level, where speed does not matter.
#[derive(Debug, Clone, Copy)]
pub struct RawNode<'a>(pub &'a RawValue);

impl<'a> RawNode<'a> {
    /// The value of a JSON text. `None` if it is not JSON.
    pub fn parse(json: &'a str) -> Option<RawNode<'a>> {
        serde_json::from_str(json).ok().map(RawNode)
    }
}

impl<'a> JsonNode<'a> for RawNode<'a> {
    type Member = (&'a str, RawNode<'a>);
    type Place = usize;

    fn member_after(self, place: &mut usize, leaves: u32) -> Option<Self::Member> {
        *place += leaves as usize + 1;
        self.members().nth(*place - 1)
    }

    fn name_of((name, _): Self::Member) -> &'a str {
        name
    }

    fn has_name((name, _): Self::Member, expected: &KnownName) -> bool {
        expected.is_at(format!("{name}\"").as_bytes(), 0)
    }

    fn types_of((_, value): Self::Member) -> JsonTypes {
        value.types()
    }

    fn value_of((_, value): Self::Member) -> Self {
        value
    }

    fn types(self) -> JsonTypes {
        JsonTypes::of_json(self.json())
    }

    fn each_member(self) -> impl Iterator<Item = Self::Member> {
        let is_object = self.types() == JsonTypes::OBJECT;
        let mut read = serde_json::Deserializer::from_str(self.json());
        let members = if is_object {
            read.deserialize_map(RawMembers).unwrap_or_default()
        } else {
            Vec::new()
        };
        members.into_iter()
    }

    fn items(self) -> impl Iterator<Item = Self> {
        let is_array = self.types() == JsonTypes::ARRAY;
        let items: Vec<&RawValue> = if is_array {
            serde_json::from_str(self.json()).unwrap_or_default()
        } else {
            Vec::new()
        };
        items.into_iter().map(RawNode)
    }

    fn json(self) -> &'a str {
        self.0.get()
    }
}

/// Reads the members of an object, with names as they are written.
struct RawMembers;

impl<'a> Visitor<'a> for RawMembers {
    type Value = Vec<(&'a str, RawNode<'a>)>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut members = Vec::new();
        while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
            let token = name.get();
            members.push((
                token.get(1..token.len() - 1).unwrap_or_default(),
                RawNode(value),
            ));
        }
        Ok(members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_and_items_are_read_with_their_types() {
        let node = RawNode::parse(r#"{"a\n":[1,"x",true,null,{}],"b":"y"}"#).unwrap();
        let members: Vec<(&str, &str)> = node
            .members()
            .map(|(name, value)| (name, value.json()))
            .collect();
        assert_eq!(
            members,
            [("a\\n", r#"[1,"x",true,null,{}]"#), ("b", r#""y""#)]
        );
        let types: Vec<JsonTypes> = node
            .find("a\\n")
            .unwrap()
            .items()
            .map(RawNode::types)
            .collect();
        assert_eq!(
            types,
            [
                JsonTypes::NATURAL,
                JsonTypes::STRING,
                JsonTypes::BOOL,
                JsonTypes::ANY,
                JsonTypes::OBJECT
            ]
        );
        assert_eq!(
            (node.find("b").unwrap().word(), node.items().count()),
            ("y", 0)
        );
        assert!(RawNode::parse("{").is_none());
    }
}
