//! `no-flush`: barriers are all that differs, and the kernel sent no flush under either level: the setting had nothing to act
//! on, whatever the figures say.

use iostone_model::audit::{Effect, Finding, Severity, Subject};
use iostone_model::evidence::{Evidence, Group};
use iostone_model::experiment::WriteCache;
use iostone_model::run::PlannedComparison;

use super::looked;
use crate::{Outcome, Rule, finding};

/// Barriers without flushes.
pub(super) struct NoFlush;

impl Rule for NoFlush {
    fn name(&self) -> &'static str {
        "no-flush"
    }

    fn looks_for(&self) -> &'static str {
        "levels that differ in write barriers alone, under which the kernel sent no flush"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let mut pairs = run.pairs().filter(|(_, sides)| differ_in_barriers_alone(sides)).peekable();
            pairs.peek()?;
            Some(pairs.filter_map(|(pair, sides)| self.look_at(pair, sides)).collect())
        })
    }
}

impl NoFlush {
    fn look_at(&self, pair: PlannedComparison, sides: [&Group<'_>; 2]) -> Option<Finding> {
        let mut device = None;
        for trial in sides.iter().flat_map(|side| &side.trials) {
            let under_test = trial.signals.device_under_test()?;
            if under_test.flushes? > 0 {
                return None;
            }
            device = Some(under_test.name);
        }
        let [level, _] = sides.map(|side| side.configuration);
        let cause = if level.stack.queue.write_cache == Some(WriteCache::WriteThrough) {
            "because its write_cache is \"write through\""
        } else if level.workload.syncs() {
            "as it does for a device without a volatile cache"
        } else {
            "because the workload never asks for one"
        };
        let message = format!(
            "the kernel sent no flush to {} under either level, {cause}, so barriers do nothing here",
            device?
        );
        let advice = "Compare barriers on a device with a volatile cache, by work that calls fsync(2).";
        Some(Finding {
            subject: Subject::Comparison { level: pair.level, stratum: Some(pair.stratum) },
            effect: Effect::WithholdDifference,
            ..finding(self, Severity::Warning, message, advice)
        })
    }
}

/// Whether two levels differ in nothing but whether ext4 sends flushes.
fn differ_in_barriers_alone(sides: &[&Group<'_>; 2]) -> bool {
    let [level, baseline] = sides.map(|side| side.configuration);
    level.workload == baseline.workload
        && level.machine == baseline.machine
        && level.stack.differs_in_barriers_alone(&baseline.stack)
}
