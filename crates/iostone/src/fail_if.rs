//! `--fail-if`: verdicts that make a command fail, so that a pipeline stops at them.

use anyhow::{Result, anyhow, bail};
use clap::Args;
use iostone_model::run::{Plan, RunRecord};
use iostone_model::verdict::{Condition, Sides, Verdicts};
use iostone_report::clean;

use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// The option; the same in every command that gives verdicts.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct FailIf {
    /// Exit with code 1 if this verdict is given: `A slower than B`, `A not faster than B`, `A equivalent to B` or
    /// `undecided`; repeatable
    #[arg(long = "fail-if", value_name = "VERDICT")]
    conditions: Vec<Condition>,
}

impl FailIf {
    /// Whether any verdict is named.
    pub(crate) fn is_given(&self) -> bool {
        !self.conditions.is_empty()
    }

    /// Refuses what a plan will not answer, before anything is measured.
    pub(crate) fn check_plan(&self, plan: &Plan) -> Result<()> {
        let experiment = &plan.experiment;
        if plan.quick && self.is_given() {
            bail!("`--fail-if` needs verdicts, and a rehearsal claims none");
        }
        let planned = plan.comparisons();
        let is_sweep = experiment.factors.iter().any(|factor| factor.sweep.is_some());
        let sides = planned
            .iter()
            .filter(|_| !is_sweep)
            .map(|comparison| Sides { level: &comparison.level, baseline: &experiment.baseline_level });
        self.check(&sides.collect::<Vec<_>>())
    }

    /// The code that a recorded run ends with.
    pub(crate) fn judge_run(&self, record: &RunRecord, printer: &mut Printer) -> Result<ExitCode> {
        match &record.verdicts {
            _ if !self.is_given() => Ok(ExitCode::Success),
            Some(verdicts) if !record.plan.quick => self.judge(verdicts, printer),
            _ if record.plan.quick => Err(anyhow!("`--fail-if` needs verdicts, and a rehearsal claims none")),
            _ => Err(anyhow!("`--fail-if` needs verdicts, and the run has none yet")),
        }
    }

    /// The code that a command ends with: 1 with the reason if one of the verdicts was given.
    pub(crate) fn judge(&self, verdicts: &Verdicts, printer: &mut Printer) -> Result<ExitCode> {
        let compared = verdicts.comparisons.iter().filter(|_| verdicts.sweep.is_none());
        let sides = compared
            .map(|comparison| Sides { level: &comparison.level, baseline: &comparison.baseline })
            .collect::<Vec<_>>();
        self.check(&sides)?;
        let held = self.conditions.iter().find_map(|one| Some((one, one.holds(verdicts)?)));
        Ok(match held {
            Some((condition, reason)) => {
                printer.failure(format_args!("{} (`--fail-if '{condition}'`)", clean(&reason)));
                ExitCode::Failure
            }
            None => ExitCode::Success,
        })
    }

    fn check(&self, sides: &[Sides<'_>]) -> Result<()> {
        for condition in &self.conditions {
            condition.check(sides).map_err(|error| {
                anyhow!("`--fail-if '{}'`: {}", clean(&condition.to_string()), clean(&error.to_string()))
            })?;
        }
        Ok(())
    }
}
