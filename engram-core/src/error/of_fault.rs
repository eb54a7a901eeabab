//! The errors that faults are under strict policy.

use super::{AdapterError, ErrorCode, Fault};

/// The error that a fault is under strict policy.
pub(crate) fn error_of(fault: Fault, line: u64) -> AdapterError {
    let mut error = match fault {
        Fault::Fatal(error) => return error,
        Fault::Json(error) => AdapterError::new(ErrorCode::MalformedRecord)
            .expected("JSON")
            .found(&error.to_string()),
        Fault::Unrecognized { name } => AdapterError::new(ErrorCode::UnrecognizedRecord)
            .expected("a known record type")
            .found(&name),
        Fault::Malformed {
            pointer,
            expected,
            found,
        }
        | Fault::Refused {
            pointer,
            expected,
            found,
        } => {
            let mut error = AdapterError::new(ErrorCode::MalformedRecord).expected(expected);
            error.pointer = Some(pointer);
            error.found = Some(found);
            error
        }
        Fault::Limit(limit) => AdapterError::new(ErrorCode::LimitExceeded)
            .expected(format!("{} of at most {}", limit.limit, limit.allowed)),
    };
    error.line = (line > 0).then_some(line);
    error
}

/// The error of a part that cannot be read.
pub(crate) fn unreadable(bytes: &[u8], expected: &str, line: u64) -> AdapterError {
    let error = AdapterError::new(ErrorCode::MalformedRecord).expected(expected);
    let error = if line > 0 { error.line(line) } else { error };
    error.found(&String::from_utf8_lossy(&bytes[..bytes.len().min(512)]))
}
