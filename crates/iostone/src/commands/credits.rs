//! `iostone credits`: how long work takes on an instance whose processors are rationed, and what it spends.

mod json;
mod list;
mod settle;
#[cfg(test)]
mod tests;
mod text;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use iostone_cloud::{
    Agreement, Simulation, allowances, best_limit, hold_against, runs_out_after, simulate_from,
};
use iostone_model::experiment::{Allowance, Law};
use iostone_model::units::{Fraction, Span};
use iostone_report::clean;

use crate::exit_code::ExitCode;
use crate::printer::Printer;
use settle::{Settled, settle};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct CreditsArguments {
    /// The instance type, as in `t2.micro`
    #[arg(required_unless_present = "list", value_name = "TYPE")]
    instance: Option<String>,
    /// CPU time that the work takes on one of its processors, as in `9.33min` or `2h`
    #[arg(
        long,
        value_name = "TIME",
        value_parser = work_seconds,
        allow_hyphen_values = true,
        required_unless_present = "list",
        conflicts_with = "list"
    )]
    work: Option<f64>,
    /// CPU utilisation of the work when unlimited; above 100% with several threads
    #[arg(long, value_name = "PERCENT", default_value = "100%")]
    utilisation: Fraction,
    /// CPU limit of the work itself, as a share of one processor
    #[arg(long, value_name = "PERCENT")]
    limit: Option<Fraction>,
    /// Credits at the start
    #[arg(long, value_enum, default_value_t = Start::Launch)]
    start: Start,
    /// CPU credits at the start, as shown in the provider's console
    #[arg(long, value_name = "CREDITS", conflicts_with = "start")]
    balance: Option<f64>,
    /// Unlimited mode: surplus credits are charged
    #[arg(long, conflicts_with_all = ["standard", "law"])]
    unlimited: bool,
    /// Standard mode: no surplus credits
    #[arg(long, conflicts_with = "law")]
    standard: bool,
    /// Add launch credits to `--balance` or `--start empty`
    #[arg(long, conflicts_with = "no_launch")]
    launch: bool,
    /// Leave launch credits out
    #[arg(long)]
    no_launch: bool,
    /// The model of the type's allowance; by default the one that fits its measurements best
    #[arg(long, value_name = "NAME")]
    law: Option<String>,
    /// A measured time of this work, to compare with the prediction; also in days, as in `14d`
    #[arg(long, value_name = "TIME", value_parser = long_span)]
    measured: Option<f64>,
    /// List the known types with their models and sources; only TYPE if given
    #[arg(long)]
    list: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Credits at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Start {
    /// The maximum balance
    Full,
    /// Those of a newly launched instance
    Launch,
    /// None
    Empty,
}

/// What is predicted, with everything that it is told beside.
#[derive(Debug)]
struct Prediction {
    settled: Settled,
    simulation: Simulation,
    /// Seconds after which the allowance would be used up, were there no end to the work.
    runs_out_after: Option<f64>,
    /// The limit that would be better, in processors, and the seconds it would take.
    best_limit: Option<(f64, f64)>,
    /// Every law of the type, the one in force first, with what it gives.
    laws: Vec<(Allowance, Simulation)>,
    measured: Option<Measured>,
    warnings: Vec<String>,
}

#[derive(Debug, Clone, Copy)]
struct Measured {
    seconds: f64,
    /// Over the prediction.
    ratio: f64,
    agreement: Agreement,
}

pub(crate) fn credits(arguments: &CreditsArguments, printer: &mut Printer) -> Result<ExitCode> {
    if arguments.list {
        let shown = list::of(arguments.instance.as_deref())?;
        printer.data(&if arguments.json { list::json(&shown)? } else { list::text(&shown) });
        return Ok(ExitCode::Success);
    }
    let prediction = predict(arguments)?;
    printer.data(&if arguments.json { json::of(&prediction)? } else { text::of(&prediction) });
    Ok(ExitCode::Success)
}

fn predict(arguments: &CreditsArguments) -> Result<Prediction> {
    let settled = settle(arguments)?;
    let simulation = simulate_from(settled.state.clone(), &settled.demand);
    let mut laws = vec![(settled.governor.allowance.clone(), simulation.clone())];
    for allowance in allowances(&settled.governor.allowance.instance)? {
        if allowance.name != settled.governor.allowance.name {
            let state = settle::state_under(&allowance, arguments)?;
            laws.push((allowance, simulate_from(state, &settled.demand)));
        }
    }
    let measured = arguments.measured.map(|seconds| {
        let (ratio, agreement) = hold_against(simulation.wall_seconds, seconds);
        Measured { seconds, ratio, agreement }
    });
    let warnings = text::warnings(&settled, &simulation, measured);
    Ok(Prediction {
        runs_out_after: runs_out_after(settled.state.clone(), &settled.demand),
        best_limit: best_limit(&settled.state, &settled.demand),
        settled,
        simulation,
        laws,
        measured,
        warnings,
    })
}

/// Seconds of work: what is less than nothing is told with what is nothing, when all else is known.
fn work_seconds(text: &str) -> Result<f64> {
    match text.trim().strip_prefix('-') {
        Some(negated) if span_seconds(negated).is_ok() => Ok(0.0),
        _ => span_seconds(text),
    }
}

fn long_span(text: &str) -> Result<f64> {
    positive(text, span_seconds(text)?)
}

/// Seconds of a span, in days too: nobody counts a fortnight in hours.
fn span_seconds(text: &str) -> Result<f64> {
    let Some(days) = text.trim().strip_suffix('d') else {
        return Ok(text.parse::<Span>()?.0.as_secs_f64());
    };
    let days: Span =
        format!("{days}h").parse().map_err(|_| anyhow!("`{}` is not a duration", clean(text)))?;
    Ok(days.0.as_secs_f64() * 24.0)
}

fn positive(text: &str, seconds: f64) -> Result<f64> {
    if seconds <= 0.0 {
        bail!("`{}` must be longer than 0", clean(text));
    }
    Ok(seconds)
}

/// Whether a law is one of CPU credits.
fn has_credits(allowance: &Allowance) -> bool {
    matches!(allowance.law, Law::Credits { .. })
}
