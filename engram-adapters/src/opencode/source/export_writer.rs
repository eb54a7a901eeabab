//! Writes a session in the form of `opencode export`: rows and files are joined as text, none of them is rewritten.

use engram_core::error::{AdapterError, ErrorCode};
use engram_core::limits::Limits;

use crate::shared::value::{StructuralIndex, parse};

/// An export being written.
pub(super) struct ExportWriter {
    text: String,
    limit: u64,
    has_messages: bool,
    has_parts: bool,
    /// A message with its parts is not closed yet.
    is_open: bool,
    index: StructuralIndex,
}

impl ExportWriter {
    /// Starts an export with the session's own record, to which `id` is added if it has none. No limit is checked here.
    pub fn new(limits: Limits, info: &[u8], session_id: &str) -> Self {
        let mut export = ExportWriter {
            text: String::from("{\"info\":"),
            limit: limits.record_bytes,
            has_messages: false,
            has_parts: false,
            is_open: false,
            index: StructuralIndex::default(),
        };
        export.push_record(info, &[("id", session_id)]);
        export.text.push_str(",\"messages\":[");
        export
    }

    /// Adds a message, without its parts.
    ///
    /// # Errors
    /// `limit_exceeded` if the export is longer than a record may be. So for parts and steps.
    pub fn message(
        &mut self,
        record: &[u8],
        ids: [(&'static str, &str); 2],
    ) -> Result<(), AdapterError> {
        self.begin_message();
        self.text.push_str("{\"info\":");
        self.push_record(record, &ids);
        self.text.push_str(",\"parts\":[");
        self.has_parts = false;
        self.is_open = true;
        self.check_limit()
    }

    /// Adds a message of 2.x, which is complete.
    #[cfg_attr(
        not(feature = "sqlite"),
        allow(dead_code, reason = "only a database has them")
    )]
    pub fn step(
        &mut self,
        record: &[u8],
        ids: [(&'static str, &str); 2],
    ) -> Result<(), AdapterError> {
        self.begin_message();
        self.push_record(record, &ids);
        self.check_limit()
    }

    /// Adds a part to the last message.
    pub fn part(
        &mut self,
        record: &[u8],
        ids: &[(&'static str, &str)],
    ) -> Result<(), AdapterError> {
        if std::mem::replace(&mut self.has_parts, true) {
            self.text.push(',');
        }
        self.push_record(record, ids);
        self.check_limit()
    }

    /// The text of the export.
    pub fn finish(mut self) -> String {
        self.end_message();
        self.text.push_str("]}");
        self.text
    }

    fn begin_message(&mut self) {
        self.end_message();
        if std::mem::replace(&mut self.has_messages, true) {
            self.text.push(',');
        }
    }

    fn end_message(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.text.push_str("]}");
        }
    }

    fn check_limit(&self) -> Result<(), AdapterError> {
        if self.text.len() as u64 <= self.limit {
            return Ok(());
        }
        Err(AdapterError::new(ErrorCode::LimitExceeded)
            .expected(format!("a session of at most {} bytes", self.limit)))
    }

    /// Adds a record, with the ids that it lacks and the store has. Anything but a JSON object in UTF-8 becomes a string, which the
    /// adapter then reports as malformed.
    fn push_record(&mut self, record: &[u8], ids: &[(&str, &str)]) {
        let object = std::str::from_utf8(record).unwrap_or_default().trim_ascii();
        let known = parse(object, &mut self.index)
            .ok()
            .filter(|value| value.is_object());
        let (Some(known), Some(body)) = (known, object.strip_suffix('}')) else {
            push_string(&mut self.text, &String::from_utf8_lossy(record));
            return;
        };
        self.text.push_str(body);
        let mut is_empty = body.trim_ascii_end().ends_with('{') && body.trim_ascii_end().len() == 1;
        for (key, value) in ids {
            if known.member(key).is_none() && !value.is_empty() {
                self.text.push_str(if std::mem::take(&mut is_empty) {
                    "\""
                } else {
                    ",\""
                });
                self.text.push_str(key);
                self.text.push_str("\":");
                push_string(&mut self.text, value);
            }
        }
        self.text.push('}');
    }
}

/// Appends text as a JSON string.
pub(super) fn push_string(out: &mut String, text: &str) {
    engram_core::text::push_text(out, engram_core::text::Text::Plain(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_get_missing_ids_and_other_values_are_quoted() {
        let mut export = ExportWriter::new(Limits::default(), b"{ }", "ses_1");
        export
            .message(
                b"{\"role\":\"user\"}\n",
                [("id", "msg_\"1"), ("sessionID", "ses_1")],
            )
            .unwrap();
        export
            .part(b"{\"id\":\"own\",\"type\":\"text\"}", &[("id", "prt_1")])
            .unwrap();
        export.part(b"null", &[("id", "prt_2")]).unwrap();
        export.part(b"{\"cut\":", &[("id", "prt_3")]).unwrap();
        export
            .message(b"{\"a\":\xff}", [("id", "m"), ("sessionID", "s")])
            .unwrap();
        let expected = concat!(
            r#"{"info":{ "id":"ses_1"},"messages":[{"info":{"role":"user","id":"msg_\"1","sessionID":"ses_1"},"parts":["#,
            r#"{"id":"own","type":"text"},"null","{\"cut\":"]},{"info":"{\"a\":"#,
            "\u{fffd}",
            r#"}","parts":[]}]}"#,
        );
        assert_eq!(export.finish(), expected);
    }

    #[test]
    fn a_session_over_the_limit_is_an_error() {
        let mut export = ExportWriter::new(
            Limits {
                record_bytes: 64,
                ..Limits::default()
            },
            b"{}",
            "ses_1",
        );
        let refused = export
            .message(&[b' '; 128], [("id", "m"), ("sessionID", "s")])
            .unwrap_err();
        assert_eq!(refused.code, ErrorCode::LimitExceeded);
    }
}
