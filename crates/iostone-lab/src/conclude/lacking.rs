//! Figures that one side of a comparison lacks: whose, in how many blocks, and why.

use iostone_model::evidence::RunEvidence;
use iostone_model::run::{Plan, PlannedComparison};
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::{Comparison, CurveVerdict, Flag, Verdict, name_loads};

use super::subject::{Subject, SubjectPoint};

/// A comparison for which most blocks have the figure of one level only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OneSided {
    stratum: String,
    level: String,
    point: String,
}

/// How one level fared at a point.
#[derive(Default)]
struct Side {
    /// Blocks without a figure.
    lacking: usize,
    /// What the last trial without a figure said.
    reason: Option<String>,
}

impl Side {
    fn look(&mut self, trial: &TrialRecord, point: &SubjectPoint) -> bool {
        let has = point.is_measured(trial);
        if !has {
            self.lacking += 1;
            self.reason = trial.workload.absent.get(&point.metric).cloned().or(self.reason.take());
        }
        has
    }

    fn sentence(&self, level: &str, blocks: usize) -> Option<String> {
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
        let share = if self.lacking == blocks {
            format!("any of {blocks} blocks")
        } else {
            format!("{} of {blocks} blocks", self.lacking)
        };
        (self.lacking > 0).then(|| format!("`{level}` has no figure in {share}{reason}"))
    }
}

/// Flags every comparison that a block has not both figures of (`no-figures`), and names those where most blocks have
/// that of one level only.
pub(super) fn note(
    run: &RunEvidence<'_>,
    subject: &Subject,
    comparisons: &mut [Comparison],
) -> Vec<OneSided> {
    let pairs: Vec<_> = run.pairs().collect();
    let mut one_sided = Vec::new();
    for comparison in comparisons {
        let of_it = |(pair, _): &&(PlannedComparison, _)| {
            pair.level == comparison.level && pair.stratum == comparison.stratum
        };
        let Some((_, [level, baseline])) = pairs.iter().find(of_it) else { continue };
        let of_point = |point: &&SubjectPoint| !subject.curve || point.metric == comparison.point;
        let Some(point) = subject.points.iter().find(of_point) else { continue };
        let (mut of_baseline, mut of_level) = (Side::default(), Side::default());
        let (mut ran, mut alone) = (0, 0);
        for block in run.blocks.iter().filter(|block| block.counted) {
            let [own, other] = [*baseline, *level]
                .map(|group| group.trials.iter().filter(|trial| trial.block == block.number));
            // Of a superblock turn by turn.
            for (left, right) in own.zip(other) {
                ran += 1;
                alone += usize::from(of_baseline.look(left, point) != of_level.look(right, point));
            }
        }
        let sentences =
            [of_baseline.sentence(&comparison.baseline, ran), of_level.sentence(&comparison.level, ran)];
        let sentences: Vec<String> = sentences.into_iter().flatten().collect();
        if sentences.is_empty() {
            continue;
        }
        comparison.flags.push(Flag::new("no-figures", sentences.join("; ")));
        if alone * 2 > ran {
            one_sided.push(OneSided {
                stratum: comparison.stratum.clone(),
                level: comparison.level.clone(),
                point: comparison.point.clone(),
            });
        }
    }
    one_sided
}

/// Takes a curve's verdict back where a point stands for one level alone: what the other could not even measure may be
/// the largest difference of all, and nobody knows which way.
pub(super) fn withhold(curves: &mut [CurveVerdict], one_sided: &[OneSided]) {
    for curve in curves {
        let own = |point: &&OneSided| point.stratum == curve.stratum && point.level == curve.level;
        let points: Vec<&str> = one_sided.iter().filter(own).map(|point| point.point.as_str()).collect();
        if points.is_empty()
            || !matches!(curve.verdict, Verdict::Faster | Verdict::Slower | Verdict::Equivalent)
        {
            continue;
        }
        let message = format!(
            "most blocks have the figure of one level only for {}; elsewhere `{}` is shown {}",
            name_loads(&points, |_| true),
            curve.level,
            curve.verdict.word()
        );
        curve.verdict = Verdict::Undecided;
        curve.flags.push(Flag::new("withheld", message));
    }
}

/// Flags each curve that has points its rival does not measure at all (`no-counterpart`): they are not compared.
pub(super) fn note_unmatched(plan: &Plan, subject: &Subject, curves: &mut [CurveVerdict]) {
    let names: Vec<&str> = subject.points.iter().map(|point| point.metric.as_str()).collect();
    for pair in plan.comparisons() {
        let own = |curve: &&mut CurveVerdict| curve.level == pair.level && curve.stratum == pair.stratum;
        let Some(curve) = curves.iter_mut().find(own) else { continue };
        let sides = [
            (pair.configuration, pair.baseline, &curve.level, &curve.baseline),
            (pair.baseline, pair.configuration, &curve.baseline, &curve.level),
        ];
        let mut sentences = Vec::new();
        for (one, other, name, rival) in sides {
            let alone = |index: usize| {
                subject.points.get(index).is_some_and(|p| p.is_yielded(one) && !p.is_yielded(other))
            };
            if (0..names.len()).any(alone) {
                sentences.push(format!(
                    "{} of `{name}` without a counterpart in `{rival}`",
                    name_loads(&names, alone)
                ));
            }
        }
        if !sentences.is_empty() {
            curve.flags.push(Flag::new("no-counterpart", format!("not compared: {}", sentences.join("; "))));
        }
    }
}
