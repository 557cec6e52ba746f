//! A prediction as JSON; docs/reference/credits.md tells its keys.

use anyhow::Result;
use iostone_cloud::{Agreement, CREDIT_SECONDS, Simulation};
use iostone_model::experiment::{Allowance, Law};
use serde::Serialize;

use super::text::phases;
use super::{Measured, Prediction};

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    allowance: &'a Allowance,
    work_cpu_seconds: f64,
    utilisation: f64,
    limit: Option<f64>,
    wall_seconds: Option<f64>,
    credits: Option<Credits>,
    slow_seconds: f64,
    slow_times: u64,
    slow_from_seconds: Option<f64>,
    runs_out_after_seconds: Option<f64>,
    best_limit: Option<BestLimit>,
    timeline: Vec<TimelinePhase>,
    laws: Vec<LawResult<'a>>,
    measured: Option<MeasuredResult>,
    warnings: &'a [String],
}

/// In credits, of 60 CPU seconds, for every law that keeps a balance.
#[derive(Serialize)]
struct Credits {
    begin: f64,
    earned: f64,
    lost: f64,
    spent: f64,
    launch_spent: f64,
    surplus: f64,
    left: f64,
    net_spent: f64,
}

#[derive(Serialize)]
struct BestLimit {
    limit: f64,
    wall_seconds: f64,
}

#[derive(Serialize)]
struct TimelinePhase {
    from_seconds: f64,
    to_seconds: f64,
    processors: f64,
    slow: bool,
    begin_credits: f64,
    left_credits: f64,
}

#[derive(Serialize)]
struct LawResult<'a> {
    name: &'a str,
    basis: iostone_model::experiment::Basis,
    source: &'a str,
    wall_seconds: Option<f64>,
    slow_seconds: f64,
}

#[derive(Serialize)]
struct MeasuredResult {
    seconds: f64,
    ratio: f64,
    agreement: &'static str,
}

pub(super) fn of(prediction: &Prediction) -> Result<String> {
    let Prediction { settled, simulation, .. } = prediction;
    let allowance = &settled.governor.allowance;
    let keeps_balance = !matches!(allowance.law, Law::Share { .. });
    let document = Document {
        schema: "iostone/credits/1",
        allowance,
        work_cpu_seconds: settled.demand.cpu_seconds,
        utilisation: settled.demand.processors,
        limit: settled.demand.limit,
        wall_seconds: finite(simulation.wall_seconds),
        credits: keeps_balance.then(|| credits(simulation)),
        slow_seconds: simulation.slow_seconds,
        slow_times: simulation.slow_times,
        slow_from_seconds: simulation.slow_from_seconds,
        runs_out_after_seconds: prediction.runs_out_after,
        best_limit: prediction.best_limit.map(|(limit, wall_seconds)| BestLimit { limit, wall_seconds }),
        timeline: timeline(simulation),
        laws: prediction.laws.iter().map(law_result).collect(),
        measured: prediction.measured.map(measured_result),
        warnings: &prediction.warnings,
    };
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn finite(seconds: f64) -> Option<f64> {
    Some(seconds).filter(|seconds| seconds.is_finite())
}

fn credits(simulation: &Simulation) -> Credits {
    let credits = |cpu_seconds: f64| cpu_seconds / CREDIT_SECONDS;
    Credits {
        begin: credits(simulation.begin_seconds),
        earned: credits(simulation.earned_seconds),
        lost: credits(simulation.lost_seconds),
        spent: credits(simulation.cpu_seconds),
        launch_spent: credits(simulation.launch_spent_seconds),
        surplus: credits(simulation.surplus_seconds),
        left: credits(simulation.left_seconds),
        net_spent: credits(simulation.begin_seconds - simulation.left_seconds),
    }
}

fn timeline(simulation: &Simulation) -> Vec<TimelinePhase> {
    phases(simulation)
        .into_iter()
        .map(|phase| TimelinePhase {
            from_seconds: phase.from_seconds,
            to_seconds: phase.to_seconds,
            processors: phase.processors,
            slow: phase.slow,
            begin_credits: phase.balance_seconds.0 / CREDIT_SECONDS,
            left_credits: phase.balance_seconds.1 / CREDIT_SECONDS,
        })
        .collect()
}

fn law_result((allowance, simulation): &(Allowance, Simulation)) -> LawResult<'_> {
    LawResult {
        name: &allowance.name,
        basis: allowance.basis,
        source: &allowance.source,
        wall_seconds: finite(simulation.wall_seconds),
        slow_seconds: simulation.slow_seconds,
    }
}

fn measured_result(measured: Measured) -> MeasuredResult {
    let agreement = match measured.agreement {
        Agreement::Agrees => "agrees",
        Agreement::Differs => "differs",
        Agreement::Contradicts => "contradicts",
    };
    MeasuredResult { seconds: measured.seconds, ratio: measured.ratio, agreement }
}
