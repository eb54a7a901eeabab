//! The fields of results.

use engram_core::event::SideFile;
use engram_core::text::Text;

use crate::cursor::fields::decoded;
use crate::shared::value::{is_true, non_empty_text};
use crate::shared::view::view;

view! {
    /// The fields of all results for which the tape has a place.
    ResultFields {
        exit_code: "exitCode" Any,
        stdout: "stdout" Any,
        stderr: "stderr" Any,
        interleaved_output: "interleavedOutput" Any,
        output_head: "outputHead" Any,
        output_tail: "outputTail" Any,
        elided_chars: "elidedChars" Any,
        output_location: "outputLocation" Any,
        execution_time: "executionTime" Any,
        aborted: "aborted" Any,
        reason: "reason" Any,
        error: "error" Any,
        error_message: "errorMessage" Any,
        model_visible_error: "modelVisibleError" Any,
        message: "message" Any,
        path: "path" Any,
        content: "content" Any,
        is_error: "isError" Any,
        markdown: "markdown" Any,
        exceeded_limit: "exceededLimit" Any,
        total_lines: "totalLines" Any,
        read_range: "readRange" Any,
        lines_removed: "linesRemoved" Any,
        diff_string: "diffString" Any,
        before_full_file_content: "beforeFullFileContent" Any,
        after_full_file_content: "afterFullFileContent" Any,
        prev_content: "prevContent" Any,
    }
}

impl<'a> ResultFields<'a> {
    /// The whole result as JSON.
    pub(super) fn json(&self) -> Text<'a> {
        self.object().json()
    }

    /// Why a call failed. Several reasons are kept together as the JSON that contains them.
    pub(super) fn failure(&self) -> Option<Text<'a>> {
        let reasons = [self.reason(), self.error(), self.error_message(), self.model_visible_error()];
        let mut stated = reasons.into_iter().filter_map(non_empty_text);
        let first = stated.next()?;
        Some(if stated.next().is_some() { self.json() } else { first })
    }

    /// True if the harness shortened the output.
    pub(super) fn is_truncated(&self) -> bool {
        is_true(self.exceeded_limit())
    }

    /// The file that contains the whole output.
    pub(super) fn side_file(&self) -> Option<SideFile<'a>> {
        let path = non_empty_text(self.output_location()?.member("filePath"))?;
        let size = self.output_location().and_then(|location| location.member("sizeBytes"));
        Some(SideFile { path, hash: None, bytes: decoded(size).and_then(|size| size.parse().ok()) })
    }
}
