//! Borrowed views of objects: which members a converter needs, under names of its own.

use engram_core::emit::Fault;

use super::field_hash::Names;
use super::json_type::{ABSENT, JsonType};
use super::value::{Field, Value};

/// The members of an object that a view names. Of each only the place is noted, so that a view is small, however many fields it has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a, const N: usize> {
    object: Value<'a>,
    /// How many nodes behind the object's own each field's is; 0 where it is absent.
    places: [u32; N],
}

impl<'a, const N: usize> Fields<'a, N> {
    /// No field.
    pub(crate) const NONE: Self = Fields { object: Value::MISSING, places: [0; N] };

    /// The field of the name with that number.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> Field<'a> {
        match self.places[number] {
            0 => None,
            place => Some(self.object.behind(place)),
        }
    }

    /// No field of `object` yet.
    pub(crate) fn empty_of(object: Value<'a>) -> Self {
        Fields { object, ..Self::NONE }
    }

    /// What the fields are of.
    pub(crate) fn object(&self) -> Value<'a> {
        self.object
    }

    /// Puts a value that lies in the object in the place of the field with that number.
    pub(crate) fn set(&mut self, number: usize, field: Field<'a>) {
        self.places[number] = field.map_or(0, |value| value.nodes_behind(self.object));
    }

    /// Notes the fields of `object`, which lies at `pointer`. None must have been noted.
    ///
    /// # Errors
    /// [`Fault::Malformed`] where it is no object, or one of the fields has another shape or stands there twice.
    pub(crate) fn strict_into(&mut self, object: Value<'a>, names: &Names, pointer: &str) -> Result<(), Fault> {
        self.object = object;
        place(object, names, pointer, &mut self.places)
    }

    /// As `fill`, where a field of another shape counts as absent, and of several of one name the last counts.
    pub(crate) fn lenient_into(&mut self, object: Value<'a>, names: &Names) {
        self.object = object;
        place_lenient(object, names, &mut self.places);
    }
}

// All views share these two loops: what each line runs through must stay in the cache of a core.

#[inline(never)]
fn place(object: Value<'_>, names: &Names, pointer: &str, places: &mut [u32]) -> Result<(), Fault> {
    if !object.is_object() {
        return Err(Fault::malformed(pointer, "an object", object.raw()));
    }
    let wrong = each_named(object, names, |Member { number, shape, shapes, behind }| {
        let place = places.get_mut(number)?;
        if !shape.is_among(shapes) || *place != 0 {
            return None;
        }
        if shapes != ABSENT {
            *place = behind;
        }
        Some(())
    });
    match wrong {
        None => Ok(()),
        Some(Member { number, shape, shapes, behind }) => {
            Err(shape.misfit(shapes, object.behind(behind).raw(), pointer, names.name(number)))
        }
    }
}

#[inline(never)]
fn place_lenient(object: Value<'_>, names: &Names, places: &mut [u32]) {
    each_named(object, names, |Member { number, shape, shapes, behind }| {
        *places.get_mut(number)? = if shape.is_among(shapes) && shapes != ABSENT { behind } else { 0 };
        Some(())
    });
}

/// A member that a view names.
#[derive(Clone, Copy)]
struct Member {
    /// Of its name.
    number: usize,
    /// That it should have.
    shape: JsonType,
    /// That it has.
    shapes: u8,
    /// How many nodes behind the object's own its node is.
    behind: u32,
}

/// Hands on the members that `names` names; others are passed over without being looked at. Gives the one that is not taken.
#[inline(always)]
fn each_named(object: Value<'_>, names: &Names, mut take: impl FnMut(Member) -> Option<()>) -> Option<Member> {
    let text = object.record().as_bytes();
    for (behind, node) in object.each_node(JsonType::Object) {
        if let Some((number, shape)) = names.find(text, node.name_in(text)) {
            let member = Member { number, shape, shapes: node.shapes(), behind };
            if take(member).is_none() {
                return Some(member);
            }
        }
    }
    None
}

/// Declares a borrowed view of an object: each field with the name and the [`JsonType`] that it has in the source.
macro_rules! view {
    ($(#[$meta:meta])* $view:ident { $($(#[$field_meta:meta])* $field:ident: $name:literal $shape:ident,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy)]
        pub(super) struct $view<'a>($crate::shared::view::Fields<'a, { $view::NAMES.len() }>);

        impl Default for $view<'_> {
            fn default() -> Self {
                $view($crate::shared::view::Fields::NONE)
            }
        }

        impl $view<'_> {
            const NAMES: &'static [&'static str] = &[$($name,)*];

            fn names() -> &'static $crate::shared::field_hash::Names {
                use $crate::shared::{field_hash::{Names, Slots, slots_for}, json_type::JsonType};
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

            /// None of the fields of `object`; [`Self::set`] puts some there.
            pub fn empty_of(object: $crate::shared::value::Value<'a>) -> Self {
                $view($crate::shared::view::Fields::empty_of(object))
            }

            /// The value that the fields are of.
            pub fn object(&self) -> $crate::shared::value::Value<'a> {
                self.0.object()
            }

            /// Puts a value that lies in the object in the place of the field of that name.
            pub fn set(&mut self, name: &str, field: $crate::shared::value::Field<'a>) {
                self.0.set($crate::shared::field_hash::number_of(name, $view::NAMES), field);
            }

            /// The fields of `value` that have their shape; none where it is no object.
            pub fn lenient(value: $crate::shared::value::Value<'a>) -> Self {
                let mut view = Self::default();
                view.0.lenient_into(value, Self::names());
                view
            }

            /// As `of`, of a value that may be absent.
            pub fn lenient_opt(field: $crate::shared::value::Field<'a>) -> Self {
                let mut view = Self::default();
                if let Some(value) = field {
                    view.0.lenient_into(value, Self::names());
                }
                view
            }

            /// The fields of `value`, which lies at `pointer`.
            ///
            /// # Errors
            /// [`Fault::Malformed`](engram_core::emit::Fault::Malformed) where it is no object, or one of these fields has another shape
            /// or stands there twice.
            pub fn strict(value: $crate::shared::value::Value<'a>, pointer: &str) -> Result<Self, engram_core::emit::Fault> {
                let mut view = Self::default();
                view.strict_into(value, pointer)?;
                Ok(view)
            }

            /// As `read`, into an empty view where it stands: the large ones are not moved.
            pub fn strict_into(&mut self, value: $crate::shared::value::Value<'a>, pointer: &str) -> Result<(), engram_core::emit::Fault> {
                self.0.strict_into(value, Self::names(), pointer)
            }
        }
    };
}
pub(crate) use view;

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
    fn a_strict_view_takes_each_field_once_and_in_its_shape() {
        let mut index = StructuralIndex::default();
        let pair = Pair::strict(parse(r#"{"x":[{"name":"inner"}],"rest":[1],"name":"a"}"#, &mut index).unwrap(), "").unwrap();
        assert_eq!((raw_str(pair.name()), pair.rest().map(|rest| rest.raw())), ("a", Some("[1]")));
        for (source, place) in
            [(r#"{"name":7}"#, "/at/name"), (r#"{"name":"a","name":"a"}"#, "/at/name"), (r#"["name"]"#, "/at"), ("7", "/at")]
        {
            let fault = Pair::strict(parse(source, &mut index).unwrap(), "/at").unwrap_err();
            assert!(format!("{fault:?}").contains(&format!("\"{place}\"")), "{fault:?}");
        }
    }

    #[test]
    fn a_lenient_view_passes_over_what_does_not_fit() {
        let mut index = StructuralIndex::default();
        for (source, name) in [
            (r#"{"name":7}"#, ""),
            (r#"{"name":null}"#, ""),
            (r#"{"name":"a","name":"b"}"#, "b"),
            (r#"{"name":"a","name":7}"#, ""),
            (r#"["name"]"#, ""),
            ("{}", ""),
        ] {
            assert_eq!(raw_str(Pair::lenient(parse(source, &mut index).unwrap()).name()), name, "{source}");
        }
    }

    #[test]
    fn a_view_can_be_given_what_lies_deeper() {
        let mut index = StructuralIndex::default();
        let object = parse(r#"{"deep":[{"name":"a"},"b"],"name":"c"}"#, &mut index).unwrap();
        let mut pair = Pair::empty_of(object);
        assert!(pair.name().is_none() && pair.rest().is_none());
        pair.set("name", object.member("deep").and_then(|deep| deep.elements().nth(1)));
        pair.set("rest", object.member("name"));
        assert_eq!((raw_str(pair.name()), raw_str(pair.rest())), ("b", "c"));
        pair.set("name", None);
        assert!(pair.name().is_none());
        assert_eq!(pair.object().raw(), object.raw());
    }

    #[test]
    fn no_field_is_of_nothing() {
        let none = Pair::default();
        assert!(none.name().is_none() && none.object().raw().is_empty());
    }
}
