//! What the plan says of one record.

/// What becomes of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Decision {
    /// Earlier records with its id have said all of it.
    pub is_repeat: bool,
    /// Which of its facts they have said, by their places ([`crate::opencode::record_facts`]).
    pub stated: [bool; 3],
    /// The message that ends after it, by the number of its record.
    pub ends: Option<u32>,
    /// A part of a notice, which only the person sees.
    pub is_of_notice: bool,
    /// A part of a prompt that the harness writes again.
    pub is_written_again: bool,
    /// A file of a prompt whose `msg.in` another part gives.
    pub is_attached: bool,
    /// The end of a request whose message has another one.
    pub is_one_of_several: bool,
}
