//! Attached files: of a message, or of a tool result.

use engram_core::event::Attachment;

use crate::shared::media::data_url;
use crate::shared::value::{Field, non_empty_text};

/// An attached file. If its URL contains the content, that is hashed; any other URL is the file's name.
pub fn attachment<'a>(mime: Field<'a>, url: Field<'a>, filename: Field<'a>) -> Attachment<'a> {
    let none = Attachment {
        media_type: None,
        hash: None,
        bytes: None,
        name: None,
    };
    let of_url = url.and_then(data_url).unwrap_or(none);
    Attachment {
        media_type: non_empty_text(mime).or(of_url.media_type),
        name: of_url.name.or(non_empty_text(filename)),
        ..of_url
    }
}
