//! Indexed JSON values as a member table sees them.

use crate::members::{JsonNode, JsonTypes, KnownName};

use super::value::{Member, Value};

impl<'a> JsonNode<'a> for Value<'a> {
    type Member = Member<'a>;
    type Place = u32;

    #[inline(always)]
    fn types(self) -> JsonTypes {
        JsonTypes(Value::types(self))
    }

    #[inline(always)]
    fn each_member(self) -> impl Iterator<Item = Self::Member> {
        self.each_member()
    }

    #[inline(always)]
    fn member_after(self, place: &mut u32, leaves: u32) -> Option<Self::Member> {
        self.member_after(place, leaves)
    }

    fn name_of(member: Self::Member) -> &'a str {
        member.name()
    }

    #[inline(always)]
    fn has_name(member: Self::Member, name: &KnownName) -> bool {
        member.has_name(name)
    }

    #[inline(always)]
    fn types_of(member: Self::Member) -> JsonTypes {
        JsonTypes(member.types())
    }

    fn value_of(member: Self::Member) -> Self {
        member.value()
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
        let expected = [
            JsonTypes::STRING,
            JsonTypes::BOOL,
            JsonTypes::NATURAL,
            JsonTypes::OBJECT,
            JsonTypes::ARRAY,
            JsonTypes::ANY,
        ];
        assert_eq!(types, expected);
    }

    #[test]
    fn numbers_have_the_types_of_their_text() {
        let numbers = "0,7,12345678901234567890,18446744073709551616,9223372036854775807,9223372036854775808,-1,-0,1.5,1e3,0.0,-1.5E-7";
        let mut index = StructuralIndex::default();
        // With and without text after the number that is read at once.
        for pad in [String::new(), ",1".repeat(40)] {
            let text = format!("[{numbers}{pad}]");
            for value in JsonNode::items(parse(&text, &mut index).unwrap()) {
                assert_eq!(
                    JsonNode::types(value),
                    JsonTypes::of_number(value.raw()),
                    "{}",
                    value.raw()
                );
            }
        }
    }
}
