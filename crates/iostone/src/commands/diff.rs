//! `iostone diff`: runs side by side, what was recorded differently first, then what may be said of their figures.

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_lab::difference::{Side, difference};
use iostone_lab::history::NamedSummary;

use crate::cli::RunsDirectory;
use crate::exit_code::ExitCode;
use crate::printer::Printer;
use crate::runs;

/// What the columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// A run
    Run,
    /// All runs of a host
    Host,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Runs: directories, ids, `last`, `last-3`, or ranges such as `last-10..last`; the first is what the others are held against
    #[arg(required = true, value_name = "RUN")]
    named: Vec<String>,
    /// What is compared: single runs, or the hosts that they ran on
    #[arg(long, value_enum, value_name = "WHAT", default_value = "run")]
    by: By,
    /// The metric, by default the one that the first run decides by
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Show every difference and every figure
    #[arg(long, conflicts_with = "json")]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    directory: RunsDirectory,
}

pub(crate) fn diff(arguments: &DiffArguments, printer: &mut Printer) -> Result<ExitCode> {
    let parent = &arguments.directory.runs;
    let paths = runs::find_several(parent, &arguments.named, printer)?;
    let mut index = runs::index();
    let named: Vec<NamedSummary> =
        paths.iter().map(|path| runs::summary(&mut index, path)).collect::<Result<_, _>>()?;
    let sides = sides(&named, arguments.by);
    match (sides.len(), arguments.by) {
        (0 | 1, By::Run) => {
            bail!("one run alone differs from nothing; name another, or a range such as `last-10..last`")
        }
        (0 | 1, By::Host) => bail!("all of these runs are of one host; name runs of others"),
        _ => {}
    }
    let others = runs::summaries(parent, printer)?;
    let found = difference(&sides, &others, arguments.metric.as_deref());
    if let Some(metric) = arguments.metric.as_deref().filter(|_| found.figures.is_empty()) {
        let known: Vec<&str> =
            named.iter().take(1).flat_map(|run| run.summary.metrics.keys()).map(String::as_str).collect();
        let has = if known.is_empty() { "no figure".to_owned() } else { known.join(", ") };
        bail!("`{metric}` is no figure of the first run; it has {has}");
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&found)?));
    } else {
        printer.data(&iostone_report::difference_text(&found, arguments.full, printer.text_style()));
    }
    Ok(ExitCode::Success)
}

fn sides(runs: &[NamedSummary], by: By) -> Vec<Side<'_>> {
    let mut sides: Vec<Side<'_>> = Vec::new();
    for run in runs {
        let name = match by {
            By::Run => &run.directory,
            By::Host => &run.summary.machine.host,
        };
        match sides.iter_mut().find(|side| side.name == *name && by == By::Host) {
            Some(side) => side.runs.push(run),
            None => sides.push(Side { name: name.clone(), runs: vec![run] }),
        }
    }
    for side in &mut sides {
        side.runs.sort_by(|a, b| a.summary.started_at.cmp(&b.summary.started_at));
    }
    sides
}
