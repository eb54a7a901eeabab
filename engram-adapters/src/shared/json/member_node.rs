//! Indexed JSON values as a member table sees them.

use engram_core::members::{JsonNode, JsonTypes, MemberName};

use super::value::{Name, Value};

impl<'a> JsonNode<'a> for Value<'a> {
    type Name = Name<'a>;

    #[inline(always)]
    fn types(self) -> JsonTypes {
        JsonTypes(Value::types(self))
    }

    #[inline(always)]
    fn named(self) -> impl Iterator<Item = (Self::Name, Self)> {
        self.named_members()
    }

    fn text_of(name: Self::Name) -> &'a str {
        name.text()
    }

    #[inline(always)]
    fn is_name(name: Self::Name, expected: &MemberName) -> bool {
        name.is(expected)
    }

    #[inline(always)]
    fn items(self) -> impl Iterator<Item = Self> {
        self.elements()
    }

    fn json(self) -> &'a str {
        self.raw()
    }

    fn find(self, name: &str) -> Option<Self> {
        self.first_member(name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::index::StructuralIndex;
    use super::super::value::parse;
    use super::*;

    #[test]
    fn types_have_the_bits_that_tables_use() {
        let mut index = StructuralIndex::default();
        let value = parse(r#"["x",true,1,{},[],null]"#, &mut index).unwrap();
        let types: Vec<JsonTypes> = JsonNode::items(value).map(JsonNode::types).collect();
        let expected = [JsonTypes::STRING, JsonTypes::BOOL, JsonTypes::NUMBER, JsonTypes::OBJECT, JsonTypes::ARRAY, JsonTypes::ANY];
        assert_eq!(types, expected);
    }
}
