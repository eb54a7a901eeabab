//! Faults with their place in the record as an RFC 6901 pointer. The pointer is put together only where something is wrong.

use engram_core::emit::{Fault, Pointer};

use crate::shared::value::{Field, Value};

/// The fault of a field at `place` that is absent or not of the expected type.
pub(in crate::cursor) fn absent(
    place: Pointer<'_>,
    expected: &'static str,
    field: Field<'_>,
) -> Fault {
    Fault::malformed(
        place.to_string(),
        expected,
        field.map_or("nothing", Value::raw),
    )
}

/// A fault found inside the member `name` of the object at `place`.
pub(in crate::cursor) fn within_member(place: &str, name: &str, fault: Fault) -> Fault {
    let segment = name.replace('~', "~0").replace('/', "~1");
    fault.within(Pointer::Member(place, &segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(fault: &Fault) -> &str {
        match fault {
            Fault::Malformed { pointer, .. } => pointer,
            _ => "another fault",
        }
    }

    #[test]
    fn pointers_of_nested_faults_are_joined() {
        let inner = absent(Pointer::At("/name"), "a string", None);
        assert_eq!(pointer(&inner), "/name");
        let outer = inner.within(Pointer::Field("/messages", 2, "/toolCalls/0"));
        assert_eq!(pointer(&outer), "/messages/2/toolCalls/0/name");
        let fault = absent(Pointer::Root, "an object", None).within(Pointer::Item("/content", 1));
        assert_eq!(pointer(&fault), "/content/1");
        let member = within_member(
            "/query",
            "a/b~c",
            absent(Pointer::At("/args"), "an object", None),
        );
        assert_eq!(pointer(&member), "/query/a~1b~0c/args");
    }
}
