//! Borrowed views of objects: the members that a converter reads, each found once.

pub use engram_core::emit::Fault;
use engram_core::json::NULL;

use super::field_hash::Names;
use super::json::JsonType;
use super::value::{Field, Value};

/// The members of an object that a view names. Keeps four bytes for each, so that a view with many fields stays small.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a, const N: usize> {
    object: Value<'a>,
    /// The offset of each field's node from the object's node; 0 if the field is absent.
    offsets: [u32; N],
}

impl<'a, const N: usize> Fields<'a, N> {
    /// No fields.
    pub const NONE: Self = Fields {
        object: Value::MISSING,
        offsets: [0; N],
    };

    /// The field with this number.
    #[inline(always)]
    pub fn get(&self, number: usize) -> Field<'a> {
        match self.offsets[number] {
            0 => None,
            offset => Some(self.object.at_offset(offset)),
        }
    }

    /// No fields of `object` yet; [`Fields::set`] adds some.
    pub fn empty_of(object: Value<'a>) -> Self {
        Fields {
            object,
            ..Self::NONE
        }
    }

    /// The object that has the fields.
    pub fn object(&self) -> Value<'a> {
        self.object
    }

    /// Sets the field with this number to a value anywhere in the object.
    pub fn set(&mut self, number: usize, field: Field<'a>) {
        self.offsets[number] = field.map_or(0, |value| value.offset_in(self.object));
    }

    /// Finds the fields of `object`, which is at `pointer`. No field may be set.
    ///
    /// # Errors
    /// [`Fault::Malformed`] if it is not an object, or if a field has another type or occurs twice.
    pub fn strict_into(
        &mut self,
        object: Value<'a>,
        names: &Names,
        pointer: &str,
    ) -> Result<(), Fault> {
        self.object = object;
        find_strict(object, names, pointer, &mut self.offsets)
    }

    /// As [`Fields::strict_into`], but a field of another type counts as absent, and of several of one name the last counts.
    pub fn lenient_into(&mut self, object: Value<'a>, names: &Names) {
        self.object = object;
        find_lenient(object, names, &mut self.offsets);
    }
}

// All views share these two loops, so that the code that runs for every record stays in the instruction cache.

#[inline(never)]
fn find_strict(
    object: Value<'_>,
    names: &Names,
    pointer: &str,
    offsets: &mut [u32],
) -> Result<(), Fault> {
    if !object.is_object() {
        return Err(Fault::malformed(pointer, "an object", object.raw()));
    }
    let rejected = visit_named(
        object,
        names,
        |Member {
             number,
             expected,
             types,
             offset,
         }| {
            let slot = offsets.get_mut(number)?;
            if !expected.is_among(types) || *slot != 0 {
                return None;
            }
            if types != NULL {
                *slot = offset;
            }
            Some(())
        },
    );
    match rejected {
        None => Ok(()),
        Some(Member {
            number,
            expected,
            types,
            offset,
        }) => Err(expected.mismatch(
            types,
            object.at_offset(offset).raw(),
            pointer,
            names.name(number),
        )),
    }
}

#[inline(never)]
fn find_lenient(object: Value<'_>, names: &Names, offsets: &mut [u32]) {
    visit_named(
        object,
        names,
        |Member {
             number,
             expected,
             types,
             offset,
         }| {
            *offsets.get_mut(number)? = if expected.is_among(types) && types != NULL {
                offset
            } else {
                0
            };
            Some(())
        },
    );
}

/// A member that a view names.
#[derive(Clone, Copy)]
struct Member {
    /// The number of its name.
    number: usize,
    /// The type that it should have.
    expected: JsonType,
    /// The types that it has.
    types: u8,
    /// The offset of its node from the object's node.
    offset: u32,
}

/// Calls `visit` for each member with one of these names. Stops at the first for which it returns none, and returns that member.
#[inline(always)]
fn visit_named(
    object: Value<'_>,
    names: &Names,
    mut visit: impl FnMut(Member) -> Option<()>,
) -> Option<Member> {
    let text = object.record().as_bytes();
    for (offset, node) in object.child_nodes(JsonType::Object) {
        if let Some((number, expected)) = names.find(text, node.name_in(text)) {
            let member = Member {
                number,
                expected,
                types: node.types(),
                offset,
            };
            if visit(member).is_none() {
                return Some(member);
            }
        }
    }
    None
}

/// Declares a borrowed view of an object: each field with the name and the
/// [`JsonType`](crate::shared::json::JsonType) that it has in the source.
///
/// The view is visible to the parent of the declaring module, unless another visibility precedes its name. It has a method for each
/// field, and `strict`, `strict_into`, `lenient` and `lenient_opt` to make it from a [`Value`](crate::shared::value::Value).
///
/// ```
/// use engram_adapters::shared::value::{StructuralIndex, parse, raw_str};
///
/// mod schema {
///     use engram_adapters::shared::view::view;
///
///     view! {
///         /// A line of a log.
///         Record {
///             /// `user` or `assistant`.
///             role: "role" String,
///             content: "content" Any,
///         }
///     }
/// }
///
/// let mut index = StructuralIndex::default();
/// let line = parse(r#"{"role":"user","content":"hello"}"#, &mut index)?;
/// let record = schema::Record::strict(line, "")?;
/// assert_eq!((raw_str(record.role()), raw_str(record.content())), ("user", "hello"));
/// # Ok::<(), engram_core::emit::Fault>(())
/// ```
#[macro_export]
macro_rules! view {
    ($(#[$meta:meta])* $view:ident { $($fields:tt)* }) => {
        $crate::shared::view::view! { $(#[$meta])* pub(super) $view { $($fields)* } }
    };
    ($(#[$meta:meta])* $vis:vis $view:ident { $($(#[$field_meta:meta])* $field:ident: $name:literal $shape:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        $vis struct $view<'a>($crate::shared::view::Fields<'a, { $view::NAMES.len() }>);

        impl Default for $view<'_> {
            fn default() -> Self {
                $view($crate::shared::view::Fields::NONE)
            }
        }

        impl $view<'_> {
            const NAMES: &'static [&'static str] = &[$($name,)*];

            fn names() -> &'static $crate::shared::field_hash::Names {
                use $crate::shared::{field_hash::{Names, Slots, slots_for}, json::JsonType};
                static SLOTS: Slots<{ slots_for($view::NAMES.len()) }> = Slots::of($view::NAMES, &[$(JsonType::$shape,)*]);
                static NAMES: Names = Names::of($view::NAMES, &SLOTS);
                &NAMES
            }
        }

        #[allow(dead_code, reason = "some views are read strictly, some leniently")]
        impl<'a> $view<'a> {
            $(
                $(#[$field_meta])*
                #[inline(always)]
                pub fn $field(&self) -> $crate::shared::value::Field<'a> {
                    const NUMBER: usize = $crate::shared::field_hash::number_of($name, $view::NAMES);
                    self.0.get(NUMBER)
                }
            )*

            /// No fields of `object` yet; [`Self::set`] adds some.
            pub fn empty_of(object: $crate::shared::value::Value<'a>) -> Self {
                $view($crate::shared::view::Fields::empty_of(object))
            }

            /// The object that has the fields.
            pub fn object(&self) -> $crate::shared::value::Value<'a> {
                self.0.object()
            }

            /// The number of the field of this name, for [`Self::set`]. Call it in a constant.
            pub const fn number(name: &str) -> usize {
                $crate::shared::field_hash::number_of(name, $view::NAMES)
            }

            /// Sets the field with this number to a value anywhere in the object.
            pub fn set(&mut self, number: usize, field: $crate::shared::value::Field<'a>) {
                self.0.set(number, field);
            }

            /// The fields of `value` that have their type; none if it is not an object.
            pub fn lenient(value: $crate::shared::value::Value<'a>) -> Self {
                let mut view = Self::default();
                view.0.lenient_into(value, Self::names());
                view
            }

            /// As [`Self::lenient`], for a value that may be absent.
            pub fn lenient_opt(field: $crate::shared::value::Field<'a>) -> Self {
                let mut view = Self::default();
                if let Some(value) = field {
                    view.0.lenient_into(value, Self::names());
                }
                view
            }

            /// The fields of `value`, which is at `pointer`.
            ///
            /// # Errors
            /// `Fault::Malformed` if it is not an object, or if one of these fields has another type or occurs twice.
            pub fn strict(value: $crate::shared::value::Value<'a>, pointer: &str) -> Result<Self, $crate::shared::view::Fault> {
                let mut view = Self::default();
                view.strict_into(value, pointer)?;
                Ok(view)
            }

            /// As [`Self::strict`], into an empty view in place, which avoids moving large views.
            pub fn strict_into(&mut self, value: $crate::shared::value::Value<'a>, pointer: &str) -> Result<(), $crate::shared::view::Fault> {
                self.0.strict_into(value, Self::names(), pointer)
            }
        }
    };
}
pub use view;

#[cfg(test)]
mod tests {
    use super::super::value::{StructuralIndex, parse, raw_str};

    view! {
        /// A view of two fields.
        Pair {
            name: "name" String,
            rest: "rest" Any,
        }
    }

    #[test]
    fn strict_view_rejects_wrong_types_and_duplicates() {
        let mut index = StructuralIndex::default();
        let pair = Pair::strict(
            parse(
                r#"{"x":[{"name":"inner"}],"rest":[1],"name":"a"}"#,
                &mut index,
            )
            .unwrap(),
            "",
        )
        .unwrap();
        assert_eq!(
            (raw_str(pair.name()), pair.rest().map(|rest| rest.raw())),
            ("a", Some("[1]"))
        );
        for (source, pointer) in [
            (r#"{"name":7}"#, "/at/name"),
            (r#"{"name":"a","name":"a"}"#, "/at/name"),
            (r#"["name"]"#, "/at"),
            ("7", "/at"),
        ] {
            let fault = Pair::strict(parse(source, &mut index).unwrap(), "/at").unwrap_err();
            assert!(
                format!("{fault:?}").contains(&format!("\"{pointer}\"")),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn lenient_view_ignores_wrong_types_and_takes_the_last_duplicate() {
        let mut index = StructuralIndex::default();
        for (source, name) in [
            (r#"{"name":7}"#, ""),
            (r#"{"name":null}"#, ""),
            (r#"{"name":"a","name":"b"}"#, "b"),
            (r#"{"name":"a","name":7}"#, ""),
            (r#"["name"]"#, ""),
            ("{}", ""),
        ] {
            assert_eq!(
                raw_str(Pair::lenient(parse(source, &mut index).unwrap()).name()),
                name,
                "{source}"
            );
        }
    }

    #[test]
    fn fields_can_be_set_to_nested_values() {
        let mut index = StructuralIndex::default();
        let object = parse(r#"{"deep":[{"name":"a"},"b"],"name":"c"}"#, &mut index).unwrap();
        let mut pair = Pair::empty_of(object);
        assert!(pair.name().is_none() && pair.rest().is_none());
        pair.set(
            Pair::number("name"),
            object
                .member("deep")
                .and_then(|deep| deep.elements().nth(1)),
        );
        pair.set(Pair::number("rest"), object.member("name"));
        assert_eq!((raw_str(pair.name()), raw_str(pair.rest())), ("b", "c"));
        pair.set(Pair::number("name"), None);
        assert!(pair.name().is_none());
        assert_eq!(pair.object().raw(), object.raw());
    }

    #[test]
    fn default_view_has_no_fields() {
        let none = Pair::default();
        assert!(none.name().is_none() && none.object().raw().is_empty());
    }
}
