//! Every bound on a profile and on an episode. The JSON Schema says those of a profile.

/// The most letters of a profile's id, an intent, a tool or a request's id.
pub const MAX_NAME: usize = 64;
/// The most arguments of a command line.
pub const MAX_ARGS: usize = 256;
/// The most bytes of one argument, of one value of the environment, or of one pattern.
pub const MAX_TEXT: usize = 4096;
/// The most variables of the environment.
pub const MAX_ENV: usize = 256;
/// The most files that are written before a run.
pub const MAX_FILES: usize = 64;
/// The most bytes of one such file.
pub const MAX_FILE_BYTES: usize = 64 << 10;
/// The most intents, and the most native tools that are allowed.
pub const MAX_TOOLS: usize = 256;
/// The most bytes of a profile.
pub const MAX_PROFILE_BYTES: usize = 1 << 20;
/// The largest whole number of canonical JSON that every reader has exactly: 2^53 - 1.
pub const MAX_INTEGER: u64 = (1 << 53) - 1;
/// The most bytes of a line that an agent prints.
pub const MAX_LINE_BYTES: u64 = 1 << 20;
/// The bytes of such a line if a profile says nothing else.
pub const LINE_BYTES: u64 = 256 << 10;
/// The most milliseconds of a bound: a day.
pub const MAX_MILLISECONDS: u64 = 86_400_000;
/// The most milliseconds between TERM and KILL.
pub const MAX_GRACE: u64 = 60_000;
/// The most bytes of a result.
pub const MAX_RESULT_BYTES: u64 = 16 << 20;
/// The most bytes that are kept of an episode.
pub const MAX_EVIDENCE_BYTES: u64 = 256 << 20;
/// The most letters of a version.
pub const MAX_VERSION: usize = 64;
/// The most bytes of a compiled pattern.
pub const MAX_REGEX: usize = 64 << 10;
/// The most requests of one episode.
pub const MAX_REQUESTS: u64 = 1 << 20;
/// The most letters of the reason of a denial.
pub const MAX_REASON: usize = 64;
/// The fewest and the most hexadecimal digits of a nonce.
pub const NONCE_DIGITS: (usize, usize) = (16, 64);
