//! `iostone casebook`: published investigations with their authors' conclusions beside what their figures come to.

use std::io::{Error, ErrorKind};

use anyhow::{Result, bail};
use iostone_audit::reconsider;
use iostone_model::case::CaseReport;
use iostone_model::dataset::Dataset;
use iostone_model::figures::list;
use iostone_report::clean;
use iostone_tools::described::{Described, read_described};

use crate::cli::{CasebookArguments, CasebookFormat};
use crate::exit_code::ExitCode;
use crate::output_file::write_out;
use crate::printer::Printer;
use crate::subject::as_case;

/// A file of the casebook, built in.
macro_rules! built_in {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../casebook/", $name)))
    };
}

/// The cases, in the order in which they are told.
const CASES: &[(&str, &str)] = &[
    built_in!("barriers-and-kernels.toml"),
    built_in!("raid0.toml"),
    built_in!("cpu-limit.toml"),
    built_in!("instance-bandwidth.toml"),
    built_in!("btrfs-to-ext4.toml"),
];

/// The tables that the cases refer to.
const TABLES: &[(&str, &str)] = &[
    built_in!("barrier-dbench.csv"),
    built_in!("kernel-dbench.csv"),
    built_in!("raid0-bonnie.csv"),
    built_in!("cpu-limit-build.csv"),
    built_in!("instance-build.csv"),
    built_in!("ebs-bandwidth-dd.csv"),
];

pub(crate) fn casebook(arguments: &CasebookArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let cases = read_cases(arguments.case.as_deref())?;
    let format = if arguments.json { CasebookFormat::Json } else { arguments.format };
    let text = match format {
        CasebookFormat::Text => {
            let mut style = printer.text_style();
            style.colour &= arguments.output.is_none();
            let pages: Vec<String> =
                cases.iter().map(|case| iostone_report::case_text(case, style)).collect();
            pages.join("\n\n")
        }
        CasebookFormat::Html => iostone_report::casebook_html(&cases)?,
        CasebookFormat::Json => {
            let mut cases = cases;
            for case in &mut cases {
                case.explanation = case.explanation.take().map(iostone_report::worded);
            }
            let document = serde_json::json!({ "schema": "iostone/casebook/1", "cases": cases });
            format!("{}\n", serde_json::to_string_pretty(&document)?)
        }
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    Ok(ExitCode::Success)
}

/// Those cases whose names hold the given text, or all.
pub(crate) fn read_cases(named: Option<&str>) -> Result<Vec<CaseReport>> {
    fitting(named)?.into_iter().map(|(file, text)| read_case(file, text)).collect()
}

fn name_of(file: &str) -> String {
    file.strip_suffix(".toml").unwrap_or(file).to_owned()
}

/// The names of all cases.
pub(crate) fn names_of_cases() -> Vec<String> {
    CASES.iter().map(|(file, _)| name_of(file)).collect()
}

fn fitting(named: Option<&str>) -> Result<Vec<&'static (&'static str, &'static str)>> {
    let fitting: Vec<&(&str, &str)> =
        CASES.iter().filter(|(file, _)| named.is_none_or(|named| name_of(file).contains(named))).collect();
    if fitting.is_empty() {
        let known = names_of_cases().join(", ");
        bail!("there is no case `{}`; the cases are {known}", clean(named.unwrap_or_default()));
    }
    Ok(fitting)
}

fn read_case(file: &str, text: &str) -> Result<CaseReport> {
    Ok(reconsider(&as_case(described(file, text)?)))
}

fn described(file: &str, text: &str) -> Result<Described> {
    let open = |name: &str| {
        let table = TABLES.iter().find(|(known, _)| *known == name);
        table.map(|(_, text)| text.as_bytes().to_vec()).ok_or_else(|| Error::from(ErrorKind::NotFound))
    };
    Ok(read_described(text, file, &open)?)
}

/// The figures of the one case whose name holds the given text.
pub(crate) fn dataset_of_case(named: &str) -> Result<Dataset> {
    match fitting(Some(named))?.as_slice() {
        [(file, text)] => Ok(described(file, text)?.dataset),
        several => {
            let fit: Vec<String> = several.iter().map(|(file, _)| name_of(file)).collect();
            bail!("`{}` matches {}; name one", clean(named), list(&fit))
        }
    }
}
