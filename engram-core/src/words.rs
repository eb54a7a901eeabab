//! Words of a tape as values.

/// Declares an `enum` with the word that each variant has on a tape.
macro_rules! words {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// Every value, in the order of the documentation. `value as usize` is its index here.
            pub const ALL: [$name; [$($word),+].len()] = [$($name::$variant),+];

            /// The words of all values, in the same order.
            pub const WORDS: [&'static str; [$($word),+].len()] = [$($word),+];

            /// The word of this value.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)+
                }
            }
        }
    };
}
pub(crate) use words;
