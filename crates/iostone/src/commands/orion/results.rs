//! What a test came to: ORION's lines, iostone's findings, the files; for people, or as one document.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use iostone_model::orion::{Maxima, OrionFindings, OrionHeader, OrionRecord};
use iostone_orion::files::{Format, console, files_of, paths};
use iostone_report::clean;
use iostone_stack::{OutputFile, Permit, Placing};
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
    /// What a test came to; nothing of it is written yet.
    pub(super) fn of(record: &'a OrionRecord, format: Format) -> Self {
        Self { record, findings: iostone_orion::findings::find(record), files: Vec::new(), format }
    }

    /// Writes the files of a test: ORION's, and the page. All of them are checked before the first is replaced.
    ///
    /// # Errors
    /// Which of them could not be written, and why; one that was changed by somebody else is not.
    pub(super) fn write(&mut self, prefix: &Prefix) -> Result<()> {
        // Whatever becomes of the others, it is there.
        self.files = vec![prefix.record()];
        let mut files = files_of(self.record, prefix.as_path(), self.format);
        files.push((prefix.report(), iostone_report::orion_html(self.record, &self.findings)?));
        let mut opened = Vec::new();
        for (path, text) in &files {
            // Nothing is to be done then, whosever the file is.
            if path.is_file() && std::fs::read(path).is_ok_and(|there| there == text.as_bytes()) {
                continue;
            }
            opened.push((OutputFile::open(path, Placing::Replace, &Permit::none())?, text));
        }
        for (output, text) in opened {
            output.write(text)?;
        }
        self.files.splice(..0, files.into_iter().map(|(path, _)| path));
        Ok(())
    }

    /// Refuses what [`Self::write`] would refuse after the test.
    ///
    /// # Errors
    /// A file that iostone did not write, or that was changed since.
    pub(super) fn check(prefix: &Prefix, format: Format) -> Result<()> {
        for path in paths(prefix.as_path(), format).iter().chain([&prefix.report()]) {
            OutputFile::check(path, Placing::Replace, &Permit::none())?;
        }
        Ok(())
    }

    /// Names the files that were written earlier, and writes none.
    pub(super) fn keep(&mut self, prefix: &Prefix) {
        self.files = paths(prefix.as_path(), self.format);
        self.files.extend([prefix.report(), prefix.record()]);
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
