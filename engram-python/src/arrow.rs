//! `Batches`: Arrow record batches that any library takes by the Arrow C interface.

use std::ffi::CStr;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use engram_export::arrow::{Table, schema};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

/// The names of capsules that the interface prescribes.
const STREAM: &CStr = c"arrow_array_stream";
const SCHEMA: &CStr = c"arrow_schema";

/// The table of this name.
pub fn table_named(name: &str) -> PyResult<Table> {
    Table::ALL
        .into_iter()
        .find(|table| table.as_str() == name)
        .ok_or_else(|| {
            let names = Table::ALL.map(Table::as_str).join(", ");
            PyValueError::new_err(format!("there is no table {name:?}; there are {names}"))
        })
}

/// The columns of a table.
#[pyclass(frozen, module = "engram")]
pub struct Schema(pub Table);

#[pymethods]
impl Schema {
    /// The columns, as the interface hands them over.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*schema::of(self.0))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, SCHEMA)
    }
}

/// The rows of one table.
#[pyclass(frozen, module = "engram")]
pub struct Batches {
    table: Table,
    batches: Vec<RecordBatch>,
}

impl Batches {
    /// These batches of a table.
    pub fn new(table: Table, batches: Vec<RecordBatch>) -> Batches {
        Batches { table, batches }
    }
}

#[pymethods]
impl Batches {
    /// The batches as a stream. A wish for another schema may be left unheard, says the interface.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<Result<RecordBatch, ArrowError>> =
            self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, schema::of(self.table));
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), STREAM)
    }

    /// Their schema.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Schema(self.table).__arrow_c_schema__(py)
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!(
            "<engram.Batches of {} with {} rows>",
            self.table,
            self.__len__()
        )
    }
}
