//! The fixed Arrow schemas of the tables, and what their columns mean.

use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, Schema, SchemaRef};

use super::events::EventRows;
use super::rows::Rows;
use super::small::{CallRows, EditRows, PromptRows, SessionRows, UsageRows};
use super::table::Table;
use super::tapes::TapeRows;

/// The schema of a table.
pub fn of(table: Table) -> SchemaRef {
    static SCHEMAS: OnceLock<[SchemaRef; Table::ALL.len()]> = OnceLock::new();
    let schemas =
        SCHEMAS.get_or_init(|| Table::ALL.map(|table| Arc::new(Schema::new(fields(table)))));
    Arc::clone(&schemas[table as usize])
}

fn fields(table: Table) -> Vec<Field> {
    match table {
        Table::Events => EventRows::fields(),
        Table::Tapes => TapeRows::fields(),
        Table::Sessions => SessionRows::fields(),
        Table::Prompts => PromptRows::fields(),
        Table::Calls => CallRows::fields(),
        Table::Edits => EditRows::fields(),
        Table::Usage => UsageRows::fields(),
    }
}

/// The columns of a table with what they mean, in the order of its schema.
pub fn meanings(table: Table) -> &'static [(&'static str, &'static str)] {
    match table {
        Table::Events => EventRows::MEANINGS,
        Table::Tapes => TapeRows::MEANINGS,
        Table::Sessions => SessionRows::MEANINGS,
        Table::Prompts => PromptRows::MEANINGS,
        Table::Calls => CallRows::MEANINGS,
        Table::Edits => EditRows::MEANINGS,
        Table::Usage => UsageRows::MEANINGS,
    }
}

/// The schema of `events`: a row for each event.
pub fn events() -> SchemaRef {
    of(Table::Events)
}

/// The schema of `tapes`: a row for each tape.
pub fn tapes() -> SchemaRef {
    of(Table::Tapes)
}

/// The schema of `sessions`: a row for each session or sub-agent of a tape.
pub fn sessions() -> SchemaRef {
    of(Table::Sessions)
}

/// The schema of `prompts`: a row for each prompt of a person or an agent.
pub fn prompts() -> SchemaRef {
    of(Table::Prompts)
}

/// The schema of `calls`: a row for each call of a tool, with its result.
pub fn calls() -> SchemaRef {
    of(Table::Calls)
}

/// The schema of `edits`: a row for each change of a file.
pub fn edits() -> SchemaRef {
    of(Table::Edits)
}

/// The schema of `usage`: a row for each response that says what it cost.
pub fn usage() -> SchemaRef {
    of(Table::Usage)
}

/// The schemas as Markdown: a table of columns for each.
pub fn markdown() -> String {
    let mut text = String::new();
    for table in Table::ALL {
        text += &format!("### `{table}`\n\n| column | type | meaning |\n|---|---|---|\n");
        for (field, (_, meaning)) in of(table).fields().iter().zip(meanings(table)) {
            text += &format!(
                "| `{}` | {}{} | {meaning} |\n",
                field.name(),
                type_name(field.data_type()),
                if field.is_nullable() {
                    ""
                } else {
                    ", never null"
                }
            );
        }
        text.push('\n');
    }
    text
}

/// A type as documents name it.
fn type_name(data_type: &arrow_schema::DataType) -> String {
    use arrow_schema::DataType as Type;
    match data_type {
        Type::Utf8 => "string".to_owned(),
        Type::Dictionary(_, _) => "string (dictionary)".to_owned(),
        Type::Int64 => "int64".to_owned(),
        Type::UInt64 => "uint64".to_owned(),
        Type::Float64 => "double".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::FixedSizeBinary(bytes) => format!("binary({bytes})"),
        Type::Timestamp(_, _) => "timestamp(ns, UTC)".to_owned(),
        Type::List(item) => format!("list<{}>", type_name(item.data_type())),
        Type::Struct(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|member| format!("{}: {}", member.name(), type_name(member.data_type())))
                .collect();
            format!("struct<{}>", members.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_a_meaning_and_a_name_of_its_own() {
        for table in Table::ALL {
            let schema = of(table);
            assert_eq!(schema.fields().len(), meanings(table).len());
            for (index, (field, (name, meaning))) in
                schema.fields().iter().zip(meanings(table)).enumerate()
            {
                assert_eq!(field.name(), name);
                assert!(!meaning.is_empty());
                assert_eq!(schema.index_of(name).ok(), Some(index));
            }
        }
    }
}
