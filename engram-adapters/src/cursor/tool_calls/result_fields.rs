//! The fields of results.

use engram_core::event::SideFile;
use engram_core::text::Text;

use crate::cursor::fields::decoded;
use crate::cursor::readers::ResultFields;
use crate::shared::value::{is_true, non_empty_text};

impl<'a> ResultFields<'a> {
    /// The whole result as JSON.
    pub(super) fn json(&self) -> Text<'a> {
        self.object().json()
    }

    /// Why a call failed. Several reasons are kept together as the JSON that contains them.
    pub(super) fn failure(&self) -> Option<Text<'a>> {
        let reasons = [
            self.reason(),
            self.error(),
            self.error_message(),
            self.model_visible_error(),
        ];
        let mut stated = reasons.into_iter().filter_map(non_empty_text);
        let first = stated.next()?;
        Some(if stated.next().is_some() {
            self.json()
        } else {
            first
        })
    }

    /// True if the harness shortened the output.
    pub(super) fn is_truncated(&self) -> bool {
        is_true(self.exceeded_limit())
    }

    /// The file that contains the whole output.
    pub(super) fn side_file(&self) -> Option<SideFile<'a>> {
        let path = non_empty_text(self.output_location()?.member("filePath"))?;
        let size = self
            .output_location()
            .and_then(|location| location.member("sizeBytes"));
        Some(SideFile {
            path,
            hash: None,
            bytes: decoded(size).and_then(|size| size.parse().ok()),
        })
    }
}
