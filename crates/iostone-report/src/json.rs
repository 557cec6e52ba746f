//! The report for machines: one versioned document, every number with its unit in its name.

mod cpu;
mod landing;

use std::collections::BTreeMap;

use iostone_model::audit::AuditReport;
use iostone_model::covariate::DeclaredCovariate;
use iostone_model::environment::Environment;
use iostone_model::explanation::Explanation;
use iostone_model::metric::{Direction, Unit};
use iostone_model::run::RunRecord;
use iostone_model::trial::{ContainerFacts, CpuAccount, GuestFacts, SpaceRecord, TrialPhases};
use iostone_model::verdict::Verdicts;
use iostone_model::warm_up::SteadyState;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::cpu_split::CpuTimes;
use crate::environment::guests_of;
use crate::landing::{Landing, landings};
use crate::latency::{Latencies, NAMED};
use crate::price::{self, Priced};
use crate::view::{Point, Row, View};
use crate::wording;
use cpu::{CpuPart, GovernorPart};
use landing::LandingPart;

/// The version of the JSON report. Fields may be added within a version, never renamed or removed.
pub const REPORT_SCHEMA: &str = "iostone/report/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    run: RunPart<'a>,
    metric: MetricPart<'a>,
    headline: String,
    configurations: Vec<ConfigurationPart<'a>>,
    blocks: Vec<BlockPart<'a>>,
    verdicts: Option<&'a Verdicts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audit: Option<&'a AuditReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    explanation: Option<Explanation>,
    environment: &'a Environment,
    experiment_toml: &'a str,
}

#[derive(Serialize)]
struct RunPart<'a> {
    directory: &'a str,
    id: &'a str,
    experiment: &'a str,
    question: Option<&'a str>,
    created_at: &'a str,
    iostone_version: &'a str,
    /// As text: JSON numbers lose digits beyond 2^53 in many readers.
    seed: String,
    rehearsal: bool,
    identical_levels: bool,
    finished: bool,
    ended: Option<&'a str>,
    defects: &'a [String],
    warm_up: Option<WarmUpPart<'a>>,
}

/// Where the ramp was left to pilots.
#[derive(Serialize)]
struct WarmUpPart<'a> {
    /// Null as long as it is not declared.
    declared_ramp_seconds: Option<f64>,
    /// Null unless it was left to the pilots too.
    declared_runtime_seconds: Option<f64>,
    rule: Option<&'a str>,
    asked_by: Option<&'a str>,
    at_limit: Option<bool>,
    pilots: Vec<PilotPart<'a>>,
    /// What verdicts are adjusted for.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    covariates: &'a [DeclaredCovariate],
}

#[derive(Serialize)]
struct PilotPart<'a> {
    number: u32,
    configuration: &'a str,
    session: u32,
    started_at: &'a str,
    total_seconds: f64,
    runtime_seconds: f64,
    cut_seconds: Option<f64>,
    at_limit: Option<bool>,
    failed_gates: Vec<&'a str>,
}

#[derive(Serialize)]
struct MetricPart<'a> {
    name: &'a str,
    title: &'a str,
    unit: Unit,
    better: Direction,
    margin_fraction: f64,
    confidence_fraction: f64,
}

#[derive(Serialize)]
struct ConfigurationPart<'a> {
    name: &'a str,
    levels: BTreeMap<&'a str, &'a str>,
    baseline: bool,
    counted_trials: u64,
    invalid_trials: u64,
    cv_fraction: Option<f64>,
    #[serde(flatten)]
    figures: Map<String, Value>,
    /// What an hour of its machine costs; left out where it is not known.
    #[serde(flatten)]
    price: Option<PricePart<'a>>,
    /// The last guest that it ran in, as that told from inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    guest: Option<&'a GuestFacts>,
    /// Seconds by percentile, over all counted trials; only those with an operation beyond them.
    latency_seconds: BTreeMap<&'static str, f64>,
    /// Where the CPU time went: medians over the trials.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<CpuPart>,
    /// Where its bytes landed, in a run with containers or several filesystems.
    #[serde(skip_serializing_if = "Option::is_none")]
    landing: Option<LandingPart<'a>>,
    trials: Vec<TrialPart<'a>>,
}

/// A price, and the metric set against it: one of the three where its unit allows.
#[derive(Serialize)]
struct PricePart<'a> {
    price_usd_per_hour: f64,
    price_source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes_per_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations_per_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usd_per_run: Option<f64>,
}

impl<'a> PricePart<'a> {
    fn of(priced: &Priced<'a>) -> Self {
        let mut part = Self {
            price_usd_per_hour: priced.usd_per_hour,
            price_source: priced.source,
            bytes_per_usd: None,
            operations_per_usd: None,
            usd_per_run: None,
        };
        match priced.value {
            Some(price::Value::BytesPerDollar(bytes)) => part.bytes_per_usd = Some(bytes),
            Some(price::Value::OperationsPerDollar(count)) => part.operations_per_usd = Some(count),
            Some(price::Value::DollarsPerRun(usd)) => part.usd_per_run = Some(usd),
            None => {}
        }
        part
    }
}

#[derive(Serialize)]
struct TrialPart<'a> {
    number: u32,
    block: u32,
    position: u32,
    session: u32,
    started_at: &'a str,
    counted: bool,
    valid: bool,
    ramp_seconds: f64,
    steady_state: Option<&'a SteadyState>,
    total_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    phases: Option<TrialPhases>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conditioned_seconds: Option<f64>,
    #[serde(flatten)]
    figure: Map<String, Value>,
    claimed_read_bytes: u64,
    claimed_written_bytes: u64,
    devices: Vec<DevicePart<'a>>,
    /// Null where the kernel cannot see steal.
    steal_fraction: Option<f64>,
    /// Where the CPU time went, as recorded; null in records of before it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<&'a CpuAccount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    governor: Option<GovernorPart<'a>>,
    failed_gates: Vec<&'a str>,
    error: Option<&'a str>,
    /// `uname` of the guest that it ran in.
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_uname: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    guest_boot_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<&'a ContainerFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    space: Option<&'a SpaceRecord>,
}

#[derive(Serialize)]
struct DevicePart<'a> {
    name: &'a str,
    role: &'a str,
    read_bytes: u64,
    written_bytes: u64,
    /// Null where the kernel does not count them.
    flushes: Option<u64>,
}

#[derive(Serialize)]
struct BlockPart<'a> {
    number: u32,
    order: &'a [String],
    counted: bool,
    reason: Option<String>,
}

/// See [`crate::json()`]. Figures that are not finite become null.
pub(crate) fn write(run: &RunRecord) -> Result<String, serde_json::Error> {
    let view = View::of_run(run);
    let plan = &run.plan;
    let experiment = &plan.experiment;
    let discards = wording::discards(run);
    let cpu = CpuTimes::of(&view);
    let landings = landings(run, &view);
    let document = Document {
        schema: REPORT_SCHEMA,
        run: RunPart {
            directory: &run.directory,
            id: &plan.run_id,
            experiment: &experiment.name,
            question: experiment.question.as_deref(),
            created_at: &plan.created_at,
            iostone_version: &plan.iostone_version,
            seed: plan.seed.to_string(),
            rehearsal: plan.quick,
            identical_levels: plan.identical_levels,
            finished: run.finished,
            ended: run.ended.as_deref(),
            defects: &run.defects,
            warm_up: warm_up(run),
        },
        metric: MetricPart {
            name: view.metric,
            title: view.metric_title(),
            unit: view.unit,
            better: view.better,
            margin_fraction: experiment.decide.margin.0,
            confidence_fraction: experiment.decide.confidence.0,
        },
        headline: wording::headline(run),
        configurations: view
            .rows
            .iter()
            .map(|row| configuration(run, &view, (cpu.as_ref(), &landings), row))
            .collect(),
        blocks: run
            .blocks
            .iter()
            .map(|block| BlockPart {
                number: block.number,
                order: &block.order,
                counted: block.counted,
                reason: discards
                    .iter()
                    .find(|d| d.block == block.number && !block.counted)
                    .map(|d| d.reason.clone()),
            })
            .collect(),
        verdicts: run.verdicts.as_ref(),
        audit: run.audit.as_ref(),
        explanation: run.explanation.clone().map(crate::worded),
        environment: &run.environment,
        experiment_toml: &run.experiment_text,
    };
    let mut text = serde_json::to_string_pretty(&document)?;
    text.push('\n');
    Ok(text)
}

fn warm_up(run: &RunRecord) -> Option<WarmUpPart<'_>> {
    let declared = run.declared_ramp.as_ref();
    let pilots = run.pilots.iter().map(|pilot| PilotPart {
        number: pilot.number,
        configuration: &pilot.configuration,
        session: pilot.session,
        started_at: &pilot.started_at,
        total_seconds: pilot.total_seconds,
        runtime_seconds: pilot.runtime.0.as_secs_f64(),
        cut_seconds: pilot.cut.map(|cut| cut.after.0.as_secs_f64()),
        at_limit: pilot.cut.map(|cut| cut.at_limit),
        failed_gates: pilot
            .gates
            .iter()
            .filter(|gate| !gate.passed)
            .map(|gate| gate.message.as_str())
            .collect(),
    });
    (declared.is_some() || !run.pilots.is_empty()).then(|| WarmUpPart {
        declared_ramp_seconds: declared.map(|declared| declared.ramp.0.as_secs_f64()),
        declared_runtime_seconds: declared
            .and_then(|declared| Some(declared.runtime.as_ref()?.runtime.0.as_secs_f64())),
        rule: declared.map(|declared| declared.rule.as_str()),
        asked_by: declared.map(|declared| declared.asked_by.as_str()),
        at_limit: declared.map(|declared| declared.at_limit),
        pilots: pilots.collect(),
        covariates: &run.covariates,
    })
}

/// `median` under the metric's unit: `median_bytes_per_second`.
pub(crate) fn named(name: &str, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond => format!("{name}_bytes_per_second"),
        Unit::PerSecond => format!("{name}_per_second"),
        Unit::Seconds => format!("{name}_seconds"),
        Unit::Bytes => format!("{name}_bytes"),
        Unit::Share => format!("{name}_share"),
        Unit::Plain => name.to_owned(),
    }
}

fn configuration<'a>(
    run: &'a RunRecord,
    view: &View<'a>,
    (cpu, landings): (Option<&CpuTimes<'a>>, &[Landing<'a>]),
    row: &Row<'a>,
) -> ConfigurationPart<'a> {
    let levels = run.plan.experiment.configurations.iter().find(|c| c.name == row.name).map(|c| &c.levels);
    let levels = levels.into_iter().flatten().map(|(factor, level)| (factor.as_str(), level.as_str()));
    let summary = row.summary;
    let [low, high] = summary.map_or([None, None], |s| s.median_interval);
    let figures = [
        ("median", summary.and_then(|s| s.median)),
        ("median_interval_low", low),
        ("median_interval_high", high),
        ("minimum", summary.and_then(|s| s.minimum)),
        ("maximum", summary.and_then(|s| s.maximum)),
    ];
    let (counted_trials, invalid_trials) = row.trial_counts();
    let latencies = Latencies::of(row);
    let percentile = |(share, label): (f64, &'static str)| {
        Some((label, latencies.as_ref()?.percentile_ns(share)? as f64 * 1e-9))
    };
    ConfigurationPart {
        name: row.name,
        levels: levels.collect(),
        baseline: row.baseline,
        counted_trials,
        invalid_trials,
        cv_fraction: summary.and_then(|s| s.cv),
        figures: figures
            .into_iter()
            .map(|(name, value)| (named(name, view.unit), Value::from(value)))
            .collect(),
        price: price::priced(run, view).iter().find(|priced| priced.name == row.name).map(PricePart::of),
        guest: guests_of(run, row.name).last(),
        latency_seconds: NAMED.into_iter().filter_map(percentile).collect(),
        cpu: cpu.and_then(|times| {
            let own = times.rows.iter().find(|own| own.name == row.name)?;
            Some(CpuPart::of(times, &own.typical))
        }),
        landing: landings.iter().find(|landing| landing.name == row.name).map(LandingPart::of),
        trials: row.trials.iter().map(|point| trial(view, point)).collect(),
    }
}

fn trial<'a>(view: &View<'a>, point: &Point<'a>) -> TrialPart<'a> {
    let record = point.record;
    let devices = record.signals.devices.iter().map(|device| DevicePart {
        name: &device.name,
        role: &device.role,
        read_bytes: device.served.read_bytes,
        written_bytes: device.served.written_bytes,
        flushes: device.flushes_counted.then_some(device.served.flushes),
    });
    TrialPart {
        number: record.number,
        block: record.block,
        position: record.position,
        session: record.session,
        started_at: &record.started_at,
        counted: point.counts,
        valid: record.valid,
        ramp_seconds: record.ramp_seconds,
        steady_state: record.steady_state.as_ref(),
        total_seconds: record.total_seconds,
        phases: record.phases,
        conditioned_seconds: record.conditioned_seconds,
        figure: Map::from_iter([(named("value", view.unit), Value::from(point.value))]),
        claimed_read_bytes: record.workload.claimed_read_bytes,
        claimed_written_bytes: record.workload.claimed_written_bytes,
        devices: devices.collect(),
        steal_fraction: record.signals.steal,
        cpu: record.signals.cpu.as_ref(),
        governor: record.governor.as_deref().map(GovernorPart::of),
        failed_gates: record.gates.iter().filter(|g| !g.passed).map(|g| g.message.as_str()).collect(),
        error: record.workload.error.as_deref(),
        guest_uname: record.guest.as_ref().map(|guest| guest.uname.as_str()),
        guest_boot_seconds: record.guest.as_ref().map(|guest| guest.boot_seconds),
        container: record.container.as_deref(),
        space: record.space.as_deref(),
    }
}
