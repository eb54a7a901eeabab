//! The tables of Cursor's databases.

use super::store_kinds;
use crate::open::tables::{NeededTable, StoreTables};

/// One chat: blobs under their hashes, and the record of the chat. Other products have tables with these names and columns too.
pub(in crate::cursor) const CHAT: StoreTables = StoreTables {
    kind: store_kinds::CHATS,
    is_file_name: |name| name == "store.db",
    tables: &[
        NeededTable {
            name: "blobs",
            columns: &["id", "data"],
            is_mark: false,
        },
        NeededTable {
            name: "meta",
            columns: &["key", "value"],
            is_mark: false,
        },
    ],
};

/// Agents, their runs, and the events of these.
pub(in crate::cursor) const RUNS: StoreTables = StoreTables {
    kind: store_kinds::RUNS,
    is_file_name: |name| name == "index.db",
    tables: &[
        NeededTable {
            name: "agents",
            columns: &["agent_id", "latest_checkpoint_ref_json", "metadata_json"],
            is_mark: true,
        },
        NeededTable {
            name: "runs",
            columns: &["run_id", "agent_id", "turn_number", "status", "created_at"],
            is_mark: true,
        },
        NeededTable {
            name: "run_events",
            columns: &["run_id", "seq", "event_type", "payload_json"],
            is_mark: true,
        },
    ],
};

/// Conversations of the editor: as rows (2026), or in values (2024). A database may have one of the tables or both.
pub(in crate::cursor) const EDITOR: StoreTables = StoreTables {
    kind: store_kinds::EDITOR,
    is_file_name: |name| name == "state.vscdb",
    tables: &[
        NeededTable {
            name: "cursorDiskKV",
            columns: &["key", "value"],
            is_mark: true,
        },
        NeededTable {
            name: "ItemTable",
            columns: &["key", "value"],
            is_mark: true,
        },
    ],
};
