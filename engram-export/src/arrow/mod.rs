//! Arrow record batches of tapes: the tables, their fixed schemas, and the sink that fills them.
//!
//! ```
//! use engram_core::tape::replay;
//! use engram_export::arrow::{Table, Tables, schema};
//!
//! let tape = concat!(
//!     r#"{"seq":0,"t":"2026-01-02T03:04:05Z","k":"msg.in","source":{"harness":"toy"},"role":"user","by":"person","text":"fix it"}"#,
//!     "\n"
//! );
//! let mut tables = Tables::new(Vec::new(), &[Table::Events, Table::Prompts]);
//! tables.begin("toy/1");
//! replay(tape.as_bytes(), &mut tables)?;
//! let (batches, _losses) = tables.finish()?;
//! assert_eq!(batches.len(), 2);
//! assert_eq!(batches[0].1.schema(), schema::events());
//! assert_eq!(batches[0].1.num_rows(), 1);
//! # Ok::<(), std::io::Error>(())
//! ```

mod calls;
mod column;
mod events;
mod nested;
mod rows;
pub mod schema;
mod sessions;
mod small;
mod table;
mod tables;
mod tapes;
mod values;

pub use self::table::{BatchSink, Table};
pub use self::tables::{RULES, Tables};
pub use self::values::Project;
