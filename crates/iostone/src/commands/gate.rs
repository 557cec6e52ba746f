//! `iostone gate`: proves that a change made nothing worse, or that it did, or says that it cannot tell.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use iostone_lab::{is_import, read_run};
use iostone_model::run::RunRecord;
use iostone_model::units::{Fraction, Span};
use iostone_model::verdict::GateState;

use crate::cli::RunOptions;
use crate::commands::compare::{CommandOptions, asked};
use crate::commands::report::explained;
use crate::comparison::{Comparison, Load, Varied, VolumeChoice};
use crate::exit_code::ExitCode;
use crate::output_file::{Overwrite, write_out};
use crate::printer::Printer;
use crate::{commands, interrupt, runs};

/// The setting that makes a run end as soon as the question of a gate is answered.
const CLAIM: &str = "decide.claim=\"not-worse\"";

/// How a gate reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum GateFormat {
    /// For the terminal
    #[default]
    Text,
    /// For a comment on a pull request
    Markdown,
    /// The verdicts
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct GateArguments {
    /// An experiment (file, `-` or recipe), or two commands: the old one, then the new one
    #[arg(id = "commands", value_name = "EXPERIMENT | COMMAND", required_unless_present = "run")]
    subjects: Vec<String>,
    /// Judge a recorded gate again: its directory, its id, or `latest`
    #[arg(long, value_name = "RUN", conflicts_with_all = ["commands", "set", "dry_run", "aa", "margin", "confidence", "metric", "time", "warmup", "tag", "live", "destroy"])]
    run: Option<String>,
    /// The largest difference that does not matter; by default the experiment's, 3% for commands
    #[arg(long, value_name = "PERCENT")]
    margin: Option<Fraction>,
    /// Confidence of each answer; by default the experiment's, 95% for commands
    #[arg(long, value_name = "PERCENT")]
    confidence: Option<Fraction>,
    /// The metric that decides; by default the experiment's, `wall_time` for commands
    #[arg(long, value_name = "METRIC")]
    metric: Option<String>,
    /// End after this time, whatever has been found
    #[arg(long, value_name = "TIME")]
    time: Option<Span>,
    /// Output format
    #[arg(long, value_enum, default_value = "text", conflicts_with = "json")]
    format: GateFormat,
    /// Write to this file instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    overwrite: Overwrite,
    #[command(flatten)]
    of_commands: CommandOptions,
    #[command(flatten)]
    options: RunOptions,
}

pub(crate) fn gate(arguments: &GateArguments, printer: &mut Printer) -> Result<ExitCode> {
    let options = &arguments.options;
    if options.quick {
        bail!("a gate needs verdicts, and a rehearsal claims none; rehearse with `iostone run --quick`");
    }
    if options.aa {
        bail!("a gate has an old and a new one; `iostone run --aa` and `iostone compare --aa` measure noise");
    }
    let output = arguments.overwrite.open(arguments.output.as_deref())?;
    let format = if options.json { GateFormat::Json } else { arguments.format };
    let judged = match judge(arguments, printer) {
        Ok(judged) => judged,
        // The answer of an earlier gate must not stand there for this one.
        Err(error) => {
            if let Some(output) = output {
                let reason = format!("{error:#}");
                let text = iostone_report::gate_failure(&reason, format == GateFormat::Markdown);
                write_out(output, &text, printer)?;
            }
            return Err(error);
        }
    };
    let Some((record, state)) = judged else { return Ok(ExitCode::Success) };
    let mut style = printer.text_style();
    style.colour &= output.is_none();
    let text = match format {
        GateFormat::Text => {
            let report = iostone_report::text(&record, printer.extent(options.full), style);
            format!("{}\n{report}", iostone_report::gate_text(&record, state, style))
        }
        GateFormat::Markdown => iostone_report::gate_markdown(&record, state),
        GateFormat::Json => format!("{}\n", serde_json::to_string_pretty(&record.verdicts)?),
    };
    match output {
        Some(output) => write_out(output, &text, printer)?,
        None => printer.data(&text),
    }
    if let Some(verdicts) = &record.verdicts
        && options.fail_if.judge(verdicts, printer)? == ExitCode::Failure
    {
        return Ok(ExitCode::Failure);
    }
    Ok(match state {
        GateState::NotWorse => ExitCode::Success,
        GateState::Worse => ExitCode::Failure,
        GateState::Unsettled => ExitCode::Unsettled,
    })
}

/// The run and its answer; none of a dry run.
fn judge(arguments: &GateArguments, printer: &mut Printer) -> Result<Option<(RunRecord, GateState)>> {
    let record = match &arguments.run {
        Some(named) => Some(recorded(&arguments.options.runs.runs, named, printer)?),
        None => measured(arguments, printer)?,
    };
    record.map(|record| state_of(&record).map(|state| (record, state))).transpose()
}

/// The answer of a run, over all comparisons that were planned: one without a figure is open.
fn state_of(record: &RunRecord) -> Result<GateState> {
    let plan = &record.plan;
    if plan.experiment.decide.claim != iostone_model::experiment::Claim::NotWorse {
        bail!(
            "`{}` was no gate; run it with `iostone gate`, or see its verdicts with `iostone report`",
            record.directory
        );
    }
    let Some(verdicts) = &record.verdicts else { return Ok(GateState::Unsettled) };
    let is_answered = |level: &str, stratum: &str| {
        verdicts.comparisons.iter().any(|one| one.level == level && one.stratum == stratum)
    };
    let state = verdicts.gate().unwrap_or(GateState::Unsettled);
    let whole = plan.comparisons().iter().all(|planned| is_answered(&planned.level, &planned.stratum));
    Ok(if whole { state } else { state.max(GateState::Unsettled) })
}

fn recorded(parent: &Path, named: &str, printer: &mut Printer) -> Result<RunRecord> {
    let path = runs::find(parent, named, printer)?;
    if is_import(&path) {
        bail!("`{}` is an import, which has no verdicts", path.display());
    }
    Ok(explained(read_run(&path)?))
}

fn measured(arguments: &GateArguments, printer: &mut Printer) -> Result<Option<RunRecord>> {
    let subject = subject(arguments)?;
    let mut options = arguments.options.clone();
    options.set.extend(subject.set);
    options.set.push(CLAIM.to_owned());
    let experiment = commands::run::parse(&subject.name, &subject.text, &options.set, printer)?;
    if experiment.sweep().is_some() {
        bail!("a gate compares levels with a baseline, and a sweep has none; leave two levels of the factor");
    }
    let stop = interrupt::stop_flag();
    let ended =
        commands::run::measure(experiment, &subject.text, subject.directory, &options, stop, printer)?;
    Ok(ended.map(|ended| {
        if ended.report.is_err() {
            commands::run::tell_report(&ended.report, &options, printer);
        }
        ended.record
    }))
}

/// An experiment's text, where its files are, and what is laid over it.
struct Subject {
    name: String,
    text: String,
    directory: PathBuf,
    set: Vec<String>,
}

fn subject(arguments: &GateArguments) -> Result<Subject> {
    let CommandOptions { name, prepare, warmup, .. } = &arguments.of_commands;
    if let [experiment] = arguments.subjects.as_slice() {
        if arguments.of_commands.is_given() {
            bail!("the options for commands are for two commands; an experiment says so itself");
        }
        let source = commands::run::source_of(Path::new(experiment))?;
        let laid_over = [
            arguments.margin.map(|margin| format!("decide.margin={margin}")),
            arguments.confidence.map(|confidence| format!("decide.confidence={confidence}")),
            arguments.metric.as_ref().map(|metric| format!("decide.metric={metric}")),
            arguments.time.map(|time| format!("decide.time={time}")),
        ];
        let commands::run::Source { name, text, directory } = source;
        return Ok(Subject { name, text, directory, set: laid_over.into_iter().flatten().collect() });
    }
    let shell = arguments.of_commands.shell()?;
    let here = std::env::current_dir()?;
    let for_all = prepare.first().filter(|_| prepare.len() == 1);
    let comparison = Comparison {
        asked: asked(),
        varied: vec![Varied::commands(&arguments.subjects, name, prepare, &shell)?],
        volume: VolumeChoice::Directory(None),
        load: Load::of_command(None, Some(&here), for_all.map(String::as_str), &shell)?,
        metric: arguments.metric.clone(),
        baseline: None,
        margin: arguments.margin.unwrap_or(Fraction(0.03)),
        confidence: Some(arguments.confidence.unwrap_or(Fraction(0.95))),
        time: arguments.time,
        warmups: *warmup,
    };
    Ok(Subject { name: "gate".to_owned(), text: comparison.to_toml(), directory: here, set: Vec::new() })
}
