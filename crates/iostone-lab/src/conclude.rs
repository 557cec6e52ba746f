//! What the recorded trials say: verdicts, flags, evidence, and the lines that would make the winner permanent. What is doubtful
//! in them the rules of `iostone-audit` find; here it only comes into force.
//!
//! Pure: the same records give the same verdicts, today or years later.

mod balances;
mod evidence;
mod explained;
mod findings;
mod flatness;
mod headline;
mod lacking;
mod machines;
mod permanent;
mod predicted;
mod proofs;
mod rates;
mod subject;

use iostone_model::covariate::{self, DeclaredCovariate};
use iostone_model::environment::Environment;
use iostone_model::evidence::RunEvidence;
use iostone_model::experiment::Experiment;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{
    BlockCount, Comparison, ConfigurationSummary, ENVIRONMENT_UNFIT, Flag, NoiseFloor, VERDICTS_SCHEMA,
    Verdicts,
};
use iostone_stats::curve::conclude_curves;
use iostone_stats::forecast::noise_floor;
use iostone_stats::judge::{Looks, Rules};
use iostone_stats::median::summarize;

use crate::directory::{block_records, declared_covariates, declared_ramp};
use crate::error::LabError;
use crate::journal::{Entry, JournalEvent};
use crate::pilot::with_found_runtime;
use crate::sweep::PlannedSweep;

pub use explained::explain_run;
pub(crate) use findings::mark_flags_of_rules;
pub(crate) use flatness::{blocks_of_pairs, waiting};
pub use headline::headline;
pub use subject::{Subject, SubjectFigures, SubjectPoint};

/// The rules that were declared with the plan and, of covariates, before the first block.
pub fn rules(plan: &Plan, covariates: &[DeclaredCovariate]) -> Rules {
    let decide = &plan.experiment.decide;
    Rules {
        margin: decide.margin.0,
        confidence: decide.confidence.0,
        budget: decide.blocks.max,
        minimum: decide.blocks.min,
        // The order of every block follows from the plan's seed.
        randomised: true,
        // Figures are measured by us at full precision.
        resolution: 0.0,
        looks: if plan.superblock > 0 { Looks::AfterSuperblock(plan.superblock) } else { Looks::Sequential },
        seed: plan.seed,
        conditioned: decide.conditioning,
        claim: decide.claim,
        slopes: covariate::slopes(covariates),
        ..Rules::new(&plan.experiment.baseline_level, plan.better)
    }
}

/// Concludes a run from its records.
///
/// # Errors
/// Figures that cannot be judged: zero or negative ones.
pub fn conclude(
    plan: &Plan,
    trials: &[TrialRecord],
    entries: &[Entry],
    environment: &Environment,
    futile: bool,
) -> Result<Verdicts, LabError> {
    conclude_subject(plan, &Subject::of(plan), trials, entries, environment, futile)
}

/// Concludes a run that was made for one question by another: the plan's baseline is not the one that `own`, the experiment as it
/// was declared, has. When to stop was decided by the run's own question; the limits hold at whatever block that was.
///
/// # Errors
/// As [`conclude`].
pub(crate) fn look_again(
    plan: &Plan,
    own: &Experiment,
    trials: &[TrialRecord],
    entries: &[Entry],
    environment: &Environment,
) -> Result<Verdicts, LabError> {
    let mut verdicts = conclude(plan, trials, entries, environment, false)?;
    let (now, declared) = [&plan.experiment, own]
        .map(|one| format!("`{}` of `{}`", one.baseline_level, one.baseline_factor))
        .into();
    let message = format!(
        "another look at trials that are there: levels are held against {now} here, and the run's own question, which \
         settled how many blocks there are, holds them against {declared}; the confidence is that of each look by itself"
    );
    verdicts.flags.insert(0, Flag::new("another-baseline", message));
    Ok(verdicts)
}

fn conclude_subject(
    plan: &Plan,
    subject: &Subject,
    trials: &[TrialRecord],
    entries: &[Entry],
    environment: &Environment,
    futile: bool,
) -> Result<Verdicts, LabError> {
    let plan = &with_found_runtime(plan, declared_ramp(entries).as_ref());
    let blocks = block_records(entries);
    let covariates = declared_covariates(entries);
    let figures = subject.figures(plan, trials, &blocks, &covariates);
    let mut comparisons = Vec::new();
    let mut flags = Vec::new();
    let any_counted = blocks.iter().any(|block| block.counted);
    let sweep = PlannedSweep::of(plan, trials, &blocks)?.filter(|_| any_counted).map(|sweep| sweep.verdict());
    if any_counted && !plan.quick && sweep.is_none() {
        let judgement = figures.judge(subject, plan, &rules(plan, &covariates))?;
        comparisons = judgement.comparisons;
        flags = judgement.flags;
    }
    let run = RunEvidence::of(plan, trials, &blocks);
    let one_sided = lacking::note(&run, subject, &mut comparisons);
    flags.extend(unfit(entries));
    flags.extend(explained::above_limits(&run));
    let audit = iostone_audit::judge(&iostone_audit::evidence("", plan, trials, &blocks, environment));
    flags.extend(findings::put_in_force(&audit.findings, &mut comparisons));
    let mut curves = if subject.curve { conclude_curves(&mut comparisons) } else { Vec::new() };
    lacking::withhold(&mut curves, &one_sided);
    lacking::note_unmatched(plan, subject, &mut curves);
    if futile {
        flags.push(Flag::new(
            "futile",
            "stopped early: at this spread the rest of the budget would most likely have been spent for nothing",
        ));
    }
    let noise = noise(plan, &comparisons);
    let mut verdicts = Verdicts {
        schema: VERDICTS_SCHEMA.to_owned(),
        source: format!("{} {}", plan.experiment.name, plan.run_id),
        question: plan.experiment.question.clone(),
        headline: String::new(),
        metric: plan.experiment.decide.metric.clone(),
        unit: plan.unit,
        better: plan.better,
        margin: plan.experiment.decide.margin.0,
        confidence: plan.experiment.decide.confidence.0,
        baseline: plan.experiment.baseline_level.clone(),
        permanent: match &sweep {
            Some(sweep) => permanent::of_sweep(plan, sweep),
            None => permanent::lines(plan, &comparisons, &curves),
        },
        sweep,
        configurations: summaries(&run, subject, trials),
        blocks: count(plan, &blocks),
        flags,
        evidence: evidence::sentences(&run),
        ceilings: explained::ceilings(&run),
        predictions: predicted::predictions(&run),
        comparisons,
        noise,
        audit: None,
        flatness: if plan.quick { Vec::new() } else { flatness::verdicts(&run) },
        curves,
        scope: machines::scope(plan),
    };
    verdicts.headline = if plan.quick {
        "A rehearsal in small: it claims no verdict.".to_owned()
    } else {
        headline(&verdicts)
    };
    Ok(verdicts)
}

/// What a machine could show is a matter of the usual budget, not of how long its noise was measured.
const USUAL_BUDGET: u32 = 40;

fn noise(plan: &Plan, comparisons: &[Comparison]) -> Option<NoiseFloor> {
    // Of a curve the point that tells least: what is shown there is shown everywhere.
    let floors = comparisons.iter().filter(|_| plan.identical_levels);
    let floors =
        floors.filter_map(|comparison| noise_floor(comparison.spread?, &comparison.log_ratios, USUAL_BUDGET));
    floors.max_by(|left, right| left.sigma.total_cmp(&right.sigma))
}

fn unfit(entries: &[Entry]) -> impl Iterator<Item = Flag> {
    entries.iter().filter_map(|entry| match &entry.event {
        JournalEvent::Unfit { failed, begun } => Some(Flag::new(
            ENVIRONMENT_UNFIT,
            format!(
                "machine too busy: {failed} of the first {begun} blocks were disturbed (more than a fifth). None was \
                 discarded; treat the result as provisional"
            ),
        )),
        _ => None,
    })
}

fn count(plan: &Plan, blocks: &[BlockRecord]) -> BlockCount {
    // One that waits for a reboot is not lost.
    let ended = || blocks.iter().filter(|block| !block.waits_for_reboot());
    let discarded = ended().filter(|block| !block.counted).count();
    BlockCount {
        complete: BlockRecord::count_complete(blocks),
        superblock: plan.superblock,
        discarded: u32::try_from(discarded).unwrap_or(u32::MAX),
        maximum: plan.experiment.decide.blocks.max,
    }
}

/// Each configuration by itself. A curve has no middle, but one at each of its points.
fn summaries(run: &RunEvidence<'_>, subject: &Subject, trials: &[TrialRecord]) -> Vec<ConfigurationSummary> {
    let decide = &run.plan.experiment.decide;
    let (metric, confidence) = (&decide.metric, decide.confidence.0);
    run.groups
        .iter()
        .map(|group| {
            let configuration = group.configuration;
            let all = trials.iter().filter(|trial| trial.configuration == configuration.name).count();
            let counting: Vec<&&TrialRecord> =
                group.trials.iter().filter(|trial| subject.is_in(&trial.metrics)).collect();
            let figures = |metric: &str| -> Vec<f64> {
                counting.iter().filter_map(|trial| trial.metrics.get(metric).copied()).collect()
            };
            let middle = |metric: &str| {
                let median = summarize(&figures(metric), confidence).median?;
                Some((metric.to_owned(), median))
            };
            let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
            let whole = if subject.curve { Vec::new() } else { figures(metric) };
            let points = subject.points.iter().filter(|_| subject.curve);
            let summary = summarize(&whole, confidence).of_configuration(
                configuration.name.clone(),
                configuration.levels.clone(),
                number(all - counting.len()),
            );
            ConfigurationSummary {
                trials: number(counting.len()),
                points: points.filter_map(|point| middle(&point.metric)).collect(),
                ..summary
            }
        })
        .collect()
}

#[cfg(test)]
pub(crate) mod tests;
