//! The lines that would make the winner permanent.

mod limits;

use iostone_model::experiment::{Configuration, Volume};
use iostone_model::run::Plan;
use iostone_model::verdict::{Comparison, CurveVerdict, SweepLevel, SweepState, SweepVerdict, Verdict};

/// What one level came to, by one figure or as a curve.
struct Outcome<'a> {
    level: &'a str,
    stratum: &'a str,
    verdict: Option<Verdict>,
    /// The typical ratio; of a curve, the geometric mean of its points'.
    ratio: f64,
}

/// For the fastest level that is faster than the baseline: what to write where. Otherwise why to leave things alone.
pub(super) fn lines(plan: &Plan, comparisons: &[Comparison], curves: &[CurveVerdict]) -> Vec<String> {
    if plan.identical_levels || plan.quick {
        return Vec::new();
    }
    let planned = plan.comparisons();
    let outcomes = outcomes(comparisons, curves);
    let best = outcomes
        .iter()
        .filter(|outcome| outcome.verdict == Some(Verdict::Faster))
        .max_by(|left, right| left.ratio.total_cmp(&right.ratio));
    let Some(best) = best else {
        let settled = outcomes
            .iter()
            .all(|outcome| matches!(outcome.verdict, Some(Verdict::Slower | Verdict::Equivalent)));
        return if settled && !outcomes.is_empty() {
            vec![format!("# nothing to change: no level is faster than {}", plan.experiment.baseline_level)]
        } else {
            Vec::new()
        };
    };
    let find = |index: usize| plan.experiment.configurations.get(index);
    let pair = planned
        .iter()
        .find(|candidate| candidate.level == best.level && candidate.stratum == best.stratum)
        .and_then(|candidate| Some((find(candidate.configuration)?, find(candidate.baseline)?)));
    pair.map(|(winner, baseline)| changes(winner, baseline)).unwrap_or_default()
}

/// For the best level of a sweep, once it is known: what to write where.
pub(super) fn of_sweep(plan: &Plan, sweep: &SweepVerdict) -> Vec<String> {
    let best = sweep.best.as_ref().filter(|_| !plan.quick);
    let is_worse = |level: &SweepLevel| matches!(level.state, SweepState::Worse | SweepState::BeyondWorse);
    if best.is_some() && !sweep.levels.iter().any(is_worse) {
        return vec!["# nothing to change: no level was shown to be worse than another".to_owned()];
    }
    let configurations = &plan.experiment.configurations;
    let winner = best.and_then(|best| configurations.iter().find(|c| c.name == *best));
    // Any other level shows which setting is swept.
    let other = winner.and_then(|winner| configurations.iter().find(|other| other.name != winner.name));
    winner.zip(other).map(|(winner, other)| changes(winner, other)).unwrap_or_default()
}

fn outcomes<'a>(comparisons: &'a [Comparison], curves: &'a [CurveVerdict]) -> Vec<Outcome<'a>> {
    if curves.is_empty() {
        let of_comparison = |c: &'a Comparison| Outcome {
            level: &c.level,
            stratum: &c.stratum,
            verdict: c.verdict,
            ratio: c.ratio.unwrap_or(0.0),
        };
        return comparisons.iter().map(of_comparison).collect();
    }
    let mean = |curve: &CurveVerdict| {
        let own = comparisons.iter().filter(|c| c.level == curve.level && c.stratum == curve.stratum);
        let logs: Vec<f64> = own.filter_map(|point| point.ratio).map(f64::ln).collect();
        if logs.is_empty() { 0.0 } else { (logs.iter().sum::<f64>() / logs.len() as f64).exp() }
    };
    let of_curve = |curve: &'a CurveVerdict| Outcome {
        level: &curve.level,
        stratum: &curve.stratum,
        verdict: Some(curve.verdict),
        ratio: mean(curve),
    };
    curves.iter().map(of_curve).collect()
}

/// What the winner sets and the baseline does not, or otherwise.
fn without<T: PartialEq>(winner: Vec<T>, baseline: &[T]) -> Vec<T> {
    winner.into_iter().filter(|setting| !baseline.contains(setting)).collect()
}

fn changes(winner: &Configuration, baseline: &Configuration) -> Vec<String> {
    let mut lines = Vec::new();
    let options = &winner.stack.mount.options;
    if *options != baseline.stack.mount.options {
        let kind = winner.stack.filesystem.name().unwrap_or("auto");
        if options.iter().any(|option| option == "nobarrier" || option == "barrier=0") {
            lines.push(
                "# Without barriers a power cut can lose writes that were acknowledged, or the filesystem itself, \
                 unless the device's cache survives it."
                    .to_owned(),
            );
        }
        lines.push("# /etc/fstab, with your volume's UUID (blkid) and mount point".to_owned());
        lines.push(format!("UUID=<uuid>  <mount point>  {kind}  {}  0  2", options.join(",")));
    }
    let settings = |one: &Configuration| {
        let queue = &one.stack.queue;
        let readahead = queue.readahead_sectors().map(|sectors| ("read_ahead_kb", (sectors / 2).to_string()));
        queue.settings().into_iter().chain(readahead).collect::<Vec<_>>()
    };
    let changed = without(settings(winner), &settings(baseline));
    if !changed.is_empty() {
        lines.push("# /etc/udev/rules.d/60-queue.rules, with your device's name".to_owned());
        let assignments: Vec<String> =
            changed.iter().map(|(name, value)| format!("ATTR{{queue/{name}}}=\"{value}\"")).collect();
        lines.push(format!("ACTION==\"add|change\", KERNEL==\"<device>\", {}", assignments.join(", ")));
    }
    let changed = without(winner.stack.sysctl.settings(), &baseline.stack.sysctl.settings());
    if !changed.is_empty() {
        lines.push(
            "# /etc/sysctl.d/60-storage.conf, for the whole machine; `sysctl --system` reads it".to_owned(),
        );
        lines.extend(changed.iter().map(|(row, value)| format!("{} = {value}", row.name)));
    }
    lines.extend(limits::lines(&winner.stack.limit, &baseline.stack.limit));
    if winner.stack.filesystem != baseline.stack.filesystem
        && let Some(kind) = winner.stack.filesystem.name()
    {
        lines.push("# only for a new filesystem: this erases the volume".to_owned());
        let arguments = winner.stack.filesystem.mkfs().join(" ");
        lines.push(format!("mkfs.{kind} {arguments} <device>").replace("  ", " "));
    }
    if lines.is_empty() && winner.workload != baseline.workload {
        let place = match &winner.stack.volume {
            Volume::Directory(_) => "in this directory",
            _ => "on this volume",
        };
        lines.push(format!("# nothing to change {place}: `{}` is another command", winner.name));
    }
    lines
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::read;

    use super::*;

    #[test]
    fn settings_that_only_the_winner_has_are_written_for_udev_and_sysctl() {
        let text = "name = \"t\"\n[stack]\nvolume = { kind = \"loop\", size = \"1GiB\" }\nqueue.nomerges = 2\n[[factor]]\n\
                    name = \"f\"\nlevels.old = { queue.scheduler = \"none\" }\nlevels.new = { queue = { scheduler = \"bfq\", \
                    read_ahead_kb = 128 }, sysctl = { vm.dirty_bytes = \"64MiB\", vm.swappiness = 1 } }\n[workload]\n\
                    kind = \"io\"\nrw = \"randread\"\nruntime = \"1s\"\n[decide]\nmetric = \"iops\"\nbaseline = \"old\"\n";
        let configurations = read(text, &[]).unwrap().configurations;
        let of = |name: &str| configurations.iter().find(|one| one.name == name).unwrap();
        assert_eq!(
            changes(of("new"), of("old")),
            [
                "# /etc/udev/rules.d/60-queue.rules, with your device's name",
                "ACTION==\"add|change\", KERNEL==\"<device>\", ATTR{queue/scheduler}=\"bfq\", ATTR{queue/read_ahead_kb}=\"128\"",
                "# /etc/sysctl.d/60-storage.conf, for the whole machine; `sysctl --system` reads it",
                "vm.dirty_bytes = 67108864",
                "vm.swappiness = 1",
            ]
        );
    }
}
