//! `iostone audit`: says what is doubtful in figures, with the evidence and what to do about it.

use anyhow::{Result, anyhow, bail};
use iostone_model::audit::{AuditReport, Severity};
use iostone_model::dataset::{Ceiling, Dataset, Order, Quantity};
use iostone_model::figures::counted;
use iostone_report::clean;

use crate::cli::{AuditArguments, FailOn, ListedOrder};
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::subject::{self, Reading};

pub(crate) fn audit(arguments: &AuditArguments, printer: &mut Printer) -> Result<ExitCode> {
    let reading = Reading {
        tool: arguments.tool.as_deref(),
        by: arguments.by.as_deref(),
        name: None,
        factors: &arguments.factors,
    };
    let mut found = subject::find(&arguments.subjects, &reading, &arguments.runs.runs, printer)?;
    supplement(&mut found.dataset, arguments)?;
    let report = iostone_audit::judge(&found.evidence());
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&report)?));
    } else {
        let style = printer.text_style();
        printer.data(&iostone_report::audit_text(&report, style));
    }
    if found.unread > 0 {
        let files = counted(found.unread, "file");
        bail!("{files} could not be read and were left out; see the warnings above");
    }
    Ok(if fails(&report, arguments.fail_on) { ExitCode::Failure } else { ExitCode::Success })
}

/// Adds what the user knows of the figures.
fn supplement(dataset: &mut Dataset, arguments: &AuditArguments) -> Result<()> {
    for text in &arguments.ceilings {
        dataset.ceilings.push(ceiling(text)?);
    }
    if let Some(memory) = arguments.memory {
        for observation in &mut dataset.observations {
            observation.facts.memory_bytes.get_or_insert(memory.0);
        }
    }
    if arguments.order == Some(ListedOrder::AsListed) {
        dataset.order = Order::AsListed;
    }
    Ok(())
}

fn ceiling(text: &str) -> Result<Ceiling> {
    let (name, limit) =
        text.rsplit_once('=').filter(|(name, _)| !name.trim().is_empty()).ok_or_else(|| {
            anyhow!("`--ceiling {}` has no name; write `--ceiling 'instance link=500Mbps'`", clean(text))
        })?;
    let limit: Quantity = limit.parse().map_err(|error| anyhow!("`--ceiling {}`: {error}", clean(text)))?;
    Ok(Ceiling {
        name: name.trim().to_owned(),
        limit,
        restated: None,
        metrics: Vec::new(),
        applies: std::collections::BTreeMap::new(),
        source: "given with --ceiling".to_owned(),
    })
}

fn fails(report: &AuditReport, fail_on: Option<FailOn>) -> bool {
    let least = match fail_on {
        None => return false,
        Some(FailOn::Note) => Severity::Note,
        Some(FailOn::Warning) => Severity::Warning,
        Some(FailOn::Serious) => Severity::Serious,
    };
    report.worst().is_some_and(|worst| worst >= least)
}
