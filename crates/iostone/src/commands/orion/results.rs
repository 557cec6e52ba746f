//! What a test came to: ORION's lines, iostone's findings, the files; for people, or as one document.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use iostone_model::orion::{Maxima, OrionFindings, OrionHeader, OrionRecord};
use iostone_orion::files::{Format, console, write_files};
use iostone_report::clean;
use serde::Serialize;
use serde_json::Value;

use super::prefix::Prefix;
use crate::printer::Printer;

/// The version of the document that `--json` prints.
const RESULT_SCHEMA: &str = "iostone/orion-result/1";

/// A test that ended, with all that is made of it.
pub(super) struct Results<'a> {
    pub(super) record: &'a OrionRecord,
    pub(super) findings: OrionFindings,
    pub(super) files: Vec<PathBuf>,
    format: Format,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// Whether all points of its course were measured.
    finished: bool,
    /// Why not.
    reason: Option<&'a str>,
    header: &'a OrionHeader,
    maxima: &'a Maxima,
    findings: &'a OrionFindings,
    /// Every point; the histograms are in the record.
    points: Value,
    /// Points that were not measured but estimated.
    estimates: &'a [iostone_model::orion::CellEstimate],
    prefix: &'a str,
    files: Vec<String>,
}

impl<'a> Results<'a> {
    /// Writes the files of a test: ORION's, and the page.
    pub(super) fn write(record: &'a OrionRecord, prefix: &Prefix, format: Format) -> Result<Self> {
        let findings = iostone_orion::findings::find(record);
        let mut files = write_files(record, prefix.as_path(), format)?;
        let page = iostone_report::orion_html(record, &findings)?;
        write_whole(&prefix.report(), &page)?;
        files.extend([prefix.report(), prefix.record()]);
        Ok(Self { record, findings, files, format })
    }

    pub(super) fn print(&self, prefix: &Prefix, json: bool, printer: &mut Printer) -> Result<()> {
        let text = if json { self.document(prefix)? } else { self.in_words(printer)? };
        printer.data(&text);
        Ok(())
    }

    fn document(&self, prefix: &Prefix) -> Result<String> {
        let mut points = serde_json::to_value(&self.record.points)?;
        drop_histograms(&mut points);
        let end = self.record.end.as_ref();
        let document = Document {
            schema: RESULT_SCHEMA,
            finished: self.record.is_finished(),
            reason: end.and_then(|end| end.reason.as_deref()),
            header: &self.record.header,
            maxima: &self.findings.maxima,
            findings: &self.findings,
            points,
            estimates: end.map(|end| end.estimates.as_slice()).unwrap_or_default(),
            prefix: prefix.as_str(),
            files: self.files.iter().map(|file| file.display().to_string()).collect(),
        };
        Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
    }

    fn in_words(&self, printer: &Printer) -> Result<String> {
        let mut text = console(self.record, self.format);
        text.push('\n');
        text.push_str(&iostone_report::orion_text(self.record, &self.findings, printer.text_style()));
        writeln!(text)?;
        for file in &self.files {
            writeln!(text, "{}", clean(&file.display().to_string()))?;
        }
        Ok(text)
    }
}

/// Takes the histograms out: they are the bulk of a record, and nothing to read.
fn drop_histograms(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("histogram");
            fields.values_mut().for_each(drop_histograms);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_histograms),
        _ => {}
    }
}

/// Writes a file in one step, so that nobody ever reads half of it.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::Builder::new()
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(folder)?;
        std::io::Write::write_all(&mut file, text.as_bytes())?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_go_and_percentiles_stay() {
        let mut value =
            serde_json::json!([{"small_io": {"latency": {"p99": 0.1, "histogram": [[1, 2, 3]]}}}]);
        drop_histograms(&mut value);
        assert_eq!(value, serde_json::json!([{"small_io": {"latency": {"p99": 0.1}}}]));
    }
}
