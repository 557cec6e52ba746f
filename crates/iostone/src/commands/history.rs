//! `iostone history`: where the figures of an experiment changed from run to run, and what changed with them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use iostone_lab::history::{
    Apart, Followed, NamedSummary, Subject, confirming_experiment, experiments, follow,
};
use iostone_model::figures::choice;
use iostone_model::history::{Change, History};
use iostone_stats::history::{Hazard, replay};

use crate::cli::RunsDirectory;
use crate::exit_code::ExitCode;
use crate::output_file::{Overwrite, write_out};
use crate::printer::Printer;
use crate::{commands, runs};

/// What series of runs are kept apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// The host
    Host,
    /// The instance type, or the processor: for hosts that come and go
    Kind,
    /// Nothing: another host is a change like any other
    Nothing,
}

/// How often an alarm may be false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FalseAlarms {
    /// Once in 200 runs
    #[value(name = "1/200")]
    In200,
    /// Once in 500 runs: one in ten for a year of weekly runs
    #[value(name = "1/500")]
    In500,
    /// Once in 1,000 runs
    #[value(name = "1/1000")]
    In1000,
}

#[derive(Debug, Args)]
pub(crate) struct HistoryArguments {
    /// The experiment: its name or a part of it, its file, or one of its runs
    #[arg(value_name = "EXPERIMENT")]
    experiment: String,
    /// The metric, or `all`; by default the one that decides
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// Only this configuration
    #[arg(long, value_name = "NAME")]
    configuration: Option<String>,
    /// What runs are kept apart by
    #[arg(long, value_enum, value_name = "WHAT", default_value = "host")]
    by: By,
    /// How often an alarm may be false, for each run of a figure
    #[arg(long, value_enum, value_name = "RATE", default_value = "1/500")]
    false_alarms: FalseAlarms,
    /// Write an experiment that runs the state before the latest change beside the present one, where that can be brought back;
    /// otherwise say what to do
    #[arg(long, value_name = "FILE")]
    confirm: Option<PathBuf>,
    /// Write a page with a drawing of each figure
    #[arg(long, value_name = "FILE", conflicts_with = "confirm")]
    html: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    directory: RunsDirectory,
}

pub(crate) fn history(arguments: &HistoryArguments, printer: &mut Printer) -> Result<ExitCode> {
    let output = arguments.overwrite.open(arguments.confirm.as_deref().or(arguments.html.as_deref()))?;
    let parent = &arguments.directory.runs;
    let all = runs::summaries(parent, printer)?;
    let subject = named(arguments, &all, printer)?;
    let experiment = &subject.experiment;
    let apart = match arguments.by {
        By::Host => Apart::Host,
        By::Kind => Apart::Kind,
        By::Nothing => Apart::Nothing,
    };
    let followed = match arguments.metric.as_deref() {
        None => Followed::Decided,
        Some("all") => Followed::All,
        Some(metric) => Followed::Metric(metric),
    };
    let hazard = match arguments.false_alarms {
        FalseAlarms::In200 => Hazard::In200,
        FalseAlarms::In500 => Hazard::In500,
        FalseAlarms::In1000 => Hazard::In1000,
    };
    let mut history = follow(&subject, &all, apart, followed, hazard);
    if let Some(configuration) = &arguments.configuration {
        history.series.retain(|series| series.configuration == *configuration);
        if history.series.is_empty() {
            bail!("`{experiment}` has no configuration `{configuration}`");
        }
    }
    if let Some(metric) = arguments.metric.as_deref().filter(|_| history.series.is_empty()) {
        bail!("no run of `{experiment}` has a figure `{metric}`");
    }
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&history)?));
    } else {
        printer.data(&iostone_report::history_text(&history, printer.text_style()));
    }
    let Some(output) = output else { return Ok(ExitCode::Success) };
    if arguments.confirm.is_none() {
        write_out(output, &iostone_report::history_html(&history)?, printer)?;
        return Ok(ExitCode::Success);
    }
    let (run, change) = latest_change(&history)?;
    let path = parent.join(&run).join("experiment.toml");
    let text = fs::read_to_string(&path).with_context(|| format!("reading `{}`", path.display()))?;
    match confirming_experiment(&text, change, replay::CONFIRMING_CONFIDENCE) {
        Some(confirming) => {
            let name = output.path().display().to_string();
            commands::run::parse(&name, &confirming, &[], printer)?;
            write_out(output, &confirming, printer)?;
            let blocks = replay::fewest(replay::standing_confidence(52));
            printer.note(format_args!(
                "run it with `iostone run {name}`. As a level of every weekly run the old state needs `decide.confidence = \"{:.2}%\"` \
                 for a false alarm in one year of ten, and {blocks} blocks for a verdict",
                100.0 * replay::standing_confidence(52)
            ));
        }
        None => printer.note(iostone_report::confirming_words(change)),
    }
    Ok(ExitCode::Success)
}

/// The latest change, or the latest suspicion where there is none, with the latest run of its series.
fn latest_change(history: &History) -> Result<(String, &Change)> {
    let of_series = history.series.iter().filter_map(|series| {
        let change = series.changes.last().or(series.suspicion.as_ref())?;
        let begun = &series.runs.get(change.first as usize)?.started_at;
        Some((begun, series.runs.last()?.directory.clone(), change))
    });
    match of_series.max_by(|a, b| a.0.cmp(b.0)) {
        Some((_, run, change)) => Ok((run, change)),
        None => bail!("nothing changed, so there is nothing to confirm"),
    }
}

/// The experiment that is meant.
fn named(arguments: &HistoryArguments, all: &[NamedSummary], printer: &mut Printer) -> Result<Subject> {
    let of_name = |experiment: &str| Subject { experiment: experiment.to_owned(), digest: None };
    let asked = arguments.experiment.as_str();
    let known = experiments(all);
    if known.contains_key(asked) {
        return Ok(of_name(asked));
    }
    let path = Path::new(asked);
    if path.is_file() {
        let text = commands::run::read_file(path)?;
        let name = commands::run::parse(asked, &text, &[], printer)?.name;
        if !known.contains_key(name.as_str()) {
            bail!("there is no run of `{name}` in `{}`", arguments.directory.runs.display());
        }
        return Ok(of_name(&name));
    }
    let fitting: Vec<&str> = known.keys().copied().filter(|name| name.contains(asked)).collect();
    match fitting.as_slice() {
        [one] => return Ok(of_name(one)),
        [_, ..] => bail!("`{asked}` may be {}; give more of the name", choice(&fitting)),
        [] => {}
    }
    if let Ok(run) = runs::find(&arguments.directory.runs, asked, printer) {
        let summary = runs::summary(&mut runs::index(), &run)?.summary;
        return Ok(Subject { experiment: summary.experiment, digest: summary.experiment_digest });
    }
    if known.is_empty() {
        bail!("{}", runs::none_yet(&arguments.directory.runs));
    }
    let known: Vec<&str> = known.into_keys().collect();
    bail!("there is no run of `{asked}`; there are runs of {}", known.join(", "))
}
