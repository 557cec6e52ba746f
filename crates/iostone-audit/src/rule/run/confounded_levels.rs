//! `confounded-levels`: levels that by the experiment itself change more than one thing.

use iostone_model::audit::{Finding, Severity, Subject};
use iostone_model::evidence::Evidence;
use iostone_model::experiment::{ConfoundedLevel, confounded_sentences};

use super::looked;
use crate::{Outcome, Rule, finding};

const ADVICE: &str = "Give each of these things a factor of its own, so that each varies by itself.";

/// Levels of more than one thing. Factors that were declared to go together are what they are called.
pub(super) struct ConfoundedLevels;

impl Rule for ConfoundedLevels {
    fn name(&self) -> &'static str {
        "confounded-levels"
    }

    fn looks_for(&self) -> &'static str {
        "levels that change more than one thing at once"
    }

    fn judge(&self, evidence: &Evidence<'_>) -> Outcome {
        looked(evidence, |run| {
            let compared = |level: &ConfoundedLevel| {
                level.factor == run.plan.experiment.baseline_factor
                    && run.pairs().any(|(pair, _)| pair.level == level.level)
            };
            let levels = run.plan.confounded_levels();
            let all = levels.iter().filter(|level| !level.declared).cloned();
            let (of_comparisons, of_run): (Vec<_>, Vec<_>) = all.partition(compared);
            let mut findings: Vec<Finding> =
                of_comparisons.iter().map(|level| self.of_level(level)).collect();
            let sentences = confounded_sentences(&of_run);
            findings.extend(
                sentences.into_iter().map(|sentence| finding(self, Severity::Warning, sentence, ADVICE)),
            );
            Some(findings)
        })
    }
}

impl ConfoundedLevels {
    fn of_level(&self, level: &ConfoundedLevel) -> Finding {
        let message = format!(
            "`{}` differs from `{}` in {} things at once, {}: the ratio is of all together and cannot be put down to any \
             one of them",
            level.level,
            level.against,
            level.things.len(),
            level.things_in_words()
        );
        Finding {
            subject: Subject::Comparison { level: level.level.clone(), stratum: None },
            ..finding(self, Severity::Warning, message, ADVICE)
        }
    }
}
