//! The lines of a file before and after a step, from the differences that are stored of it.

use std::rc::Rc;

use crate::diff;
use crate::line_key::Key;
use crate::rows::Kind;

/// The lines before and after a step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Texts {
    /// `None` if nobody knows them.
    pub before: Option<Rc<[Key]>>,
    /// Empty if the step left no lines that are known.
    pub after: Rc<[Key]>,
}

/// True if a step of this kind has the text of its file, or of the part that is known from the first line on.
pub const fn is_of_file(kind: Kind) -> bool {
    match kind {
        Kind::Seen | Kind::Changed | Kind::Created | Kind::Moved | Kind::Copied => true,
        Kind::Piece | Kind::Appended | Kind::Deleted | Kind::Lost => false,
    }
}

/// Reads the lines of a step. `written` is the last text of the file on the tape, and becomes that of this step. `None` if the data does not fit.
pub fn read(
    kind: Kind,
    has_before: bool,
    mut data: &[u8],
    written: &mut Rc<[Key]>,
) -> Option<Texts> {
    match kind {
        Kind::Deleted | Kind::Lost => Some(Texts::default()),
        Kind::Piece | Kind::Appended => {
            let before = diff::decode(&Rc::default(), &mut data)?;
            let after = diff::decode(&before, &mut data)?;
            Some(Texts {
                before: Some(before),
                after,
            })
        }
        _ => {
            let before = match has_before {
                true => Some(diff::decode(written, &mut data)?),
                false => None,
            };
            let after = diff::decode(before.as_ref().unwrap_or(written), &mut data)?;
            *written = after.clone();
            Some(Texts { before, after })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(texts: &[(&[Key], &[Key])]) -> Vec<u8> {
        let mut data = Vec::new();
        for (old, new) in texts {
            diff::encode(old, new, &mut data);
        }
        data
    }

    #[test]
    fn a_text_goes_on_from_the_last_one_and_a_piece_from_nothing() {
        let (last, before, after) = ([1, 2, 3], [1, 2, 3, 4], [1, 9, 3, 4]);
        let mut written: Rc<[Key]> = Rc::from(last.as_slice());
        let changed = data(&[(&last, &before), (&before, &after)]);
        let texts = read(Kind::Changed, true, &changed, &mut written).unwrap();
        assert_eq!(texts.before.as_deref(), Some(before.as_slice()));
        assert_eq!(
            (&*texts.after, &*written),
            (after.as_slice(), after.as_slice())
        );
        let piece = data(&[(&[], &[7]), (&[7], &[8])]);
        let texts = read(Kind::Piece, false, &piece, &mut written).unwrap();
        assert_eq!(
            (texts.before.as_deref(), &*texts.after),
            (Some([7].as_slice()), [8].as_slice())
        );
        assert_eq!(&*written, after, "a piece is no text of the file");
    }

    #[test]
    fn damaged_data_has_no_text() {
        let mut written = Rc::default();
        assert_eq!(read(Kind::Seen, false, &[], &mut written), None);
        assert_eq!(
            read(Kind::Lost, false, &[], &mut written),
            Some(Texts::default())
        );
    }
}
