//! The arguments that say how sessions are converted.

use std::num::NonZeroUsize;

use clap::Args;
use engram_core::limits::Limits;
use engram_core::policy::Policy;

use crate::size;

/// How sessions are converted.
#[derive(Debug, Clone, Args)]
pub struct Conversion {
    /// Refuse unknown versions and records, or convert the rest and report them
    #[arg(long, default_value_t = Policy::Permissive, value_name = "strict|permissive")]
    pub policy: Policy,
    /// Skip detection and use this adapter (see `engram adapters`)
    #[arg(long, value_name = "ID", add = crate::complete::adapters())]
    pub adapter: Option<String>,
    /// Largest record that is read: bytes, or a size such as `10MB` or `1GiB`
    #[arg(long, default_value_t = Limits::default().record_bytes, value_name = "SIZE", value_parser = size::bytes)]
    pub max_record_bytes: u64,
    /// Convert each session in every form that is there, not only in the one that says most
    #[arg(long)]
    pub every_form: bool,
    /// Parallel jobs [default: number of CPUs]
    #[arg(long, value_name = "N", value_parser = jobs)]
    pub jobs: Option<NonZeroUsize>,
}

impl Conversion {
    /// The requested limits.
    pub fn limits(&self) -> Limits {
        Limits {
            record_bytes: self.max_record_bytes,
            ..Limits::default()
        }
    }
}

/// 0 is what other programs call as many as there are CPUs.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let jobs: usize = text
        .parse()
        .map_err(|_| "a number of jobs is a whole number, such as `4`".to_owned())?;
    NonZeroUsize::new(jobs).map_or_else(
        || std::thread::available_parallelism().map_err(|error| error.to_string()),
        Ok,
    )
}
