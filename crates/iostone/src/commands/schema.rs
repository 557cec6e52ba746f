//! `iostone schema`: the JSON Schema of experiment files, from the types that read them.

use anyhow::Result;
use iostone_model::experiment::json_schema;

use crate::exit_code::ExitCode;
use crate::printer::Printer;

pub(crate) fn schema(printer: &mut Printer) -> Result<ExitCode> {
    printer.data(&format!("{}\n", serde_json::to_string_pretty(&json_schema())?));
    Ok(ExitCode::Success)
}
