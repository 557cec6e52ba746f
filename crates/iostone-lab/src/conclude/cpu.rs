//! Flags on CPU time: identical work that did not take the same, and steal that no gate judged.

use iostone_model::experiment::{Configuration, Ends, Gate, Limit, Stack};
use iostone_model::metric::Unit;
use iostone_model::run::{BlockRecord, Plan};
use iostone_model::trial::TrialRecord;
use iostone_model::units::three_digits;
use iostone_model::verdict::Flag;
use iostone_stats::flags::{LITTLE_STEAL, cpu_time_differs};
use iostone_stats::median::median;

use super::evidence::counted;

/// `cpu-time-differs`: for each piece of work that several configurations did, or several trials of one.
pub(super) fn differs(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Vec<Flag> {
    let mut works: Vec<Vec<&Configuration>> = Vec::new();
    for configuration in
        plan.experiment.configurations.iter().filter(|one| one.workload.profile().ends == Ends::ByWork)
    {
        match works.iter_mut().find(|work| work.first().is_some_and(|one| is_same(one, configuration))) {
            Some(work) => work.push(configuration),
            None => works.push(vec![configuration]),
        }
    }
    works.iter().filter_map(|work| judge(work, trials, blocks)).collect()
}

/// The same work on the same processor: a guest's may be translated, a governed one is only held back.
fn is_same(one: &Configuration, other: &Configuration) -> bool {
    one.workload == other.workload && one.machine.guest() == other.machine.guest()
}

/// A trial's CPU time beside what was stolen meanwhile.
struct Cost {
    number: u32,
    seconds: f64,
    steal: Option<f64>,
}

fn judge(work: &[&Configuration], trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    // What is built below costs the kernel more or less, and that is a finding; what the program does by itself stays.
    let kernel_too = work.windows(2).all(|pair| {
        pair.first().map(|one| without_limits(&one.stack))
            == pair.last().map(|one| without_limits(&one.stack))
    });
    let what = if kernel_too { "CPU time" } else { "CPU time in user mode" };
    let costs: Vec<Vec<Cost>> =
        work.iter().map(|one| costs(counted(&one.name, trials, blocks), kernel_too)).collect();
    let medians: Vec<f64> = costs
        .iter()
        .map(|costs| median(&costs.iter().map(|cost| cost.seconds).collect::<Vec<_>>()).unwrap_or(f64::NAN))
        .collect();
    if let Some((least, most)) = cpu_time_differs(&medians) {
        let told = |place: usize| {
            let name = work.get(place).map_or("", |one| one.name.as_str());
            (medians.get(place).copied().unwrap_or_default(), format!("under `{name}`"))
        };
        let both: Vec<&Cost> =
            [least, most].into_iter().filter_map(|place| costs.get(place)).flatten().collect();
        return Some(tell(what, &told(least), &told(most), " (medians)", &both));
    }
    let all: Vec<&Cost> = costs.iter().flatten().collect();
    let (least, most) = cpu_time_differs(&all.iter().map(|cost| cost.seconds).collect::<Vec<_>>())?;
    let (least, most) = (*all.get(least)?, *all.get(most)?);
    let told = |cost: &Cost| (cost.seconds, format!("in trial {}", cost.number));
    Some(tell(what, &told(least), &told(most), "", &[least, most]))
}

fn without_limits(stack: &Stack) -> Stack {
    Stack { limit: Limit::default(), governor: None, ..stack.clone() }
}

fn costs<'a>(trials: impl Iterator<Item = &'a TrialRecord>, kernel_too: bool) -> Vec<Cost> {
    let cost = |trial: &TrialRecord| {
        let account = trial.signals.cpu.as_ref()?;
        let seconds = if kernel_too { account.used_seconds()? } else { account.user_seconds? };
        Some(Cost { number: trial.number, seconds, steal: trial.signals.steal })
    };
    trials.filter_map(cost).collect()
}

fn tell(what: &str, least: &(f64, String), most: &(f64, String), which: &str, both: &[&Cost]) -> Flag {
    let seconds = |(seconds, place): &(f64, String)| format!("{} {place}", Unit::Seconds.format(*seconds));
    let steals: Option<Vec<f64>> = both.iter().map(|cost| cost.steal).collect();
    let greatest = steals.map(|steals| steals.into_iter().fold(0.0, f64::max));
    let other = "a slower or slower clocked processor, or work that was not the same";
    let meaning = match greatest {
        None => format!(
            "steal is not observable here, so stolen time may have been booked as the program's own; else {other}"
        ),
        Some(share) if share < LITTLE_STEAL => {
            format!("steal of at most {} does not explain it; perhaps {other}", Unit::Share.format(share))
        }
        Some(share) => format!(
            "steal came to {}, and stolen time may have been booked as the program's own; else {other}",
            Unit::Share.format(share)
        ),
    };
    Flag::new(
        "cpu-time-differs",
        format!(
            "the same work took {} times the {what}: {}, {}{which}; {meaning}",
            three_digits(most.0 / least.0),
            seconds(most),
            seconds(least),
        ),
    )
}

/// `host-steal`: where the experiment limits CPU time itself the gate on steal is off, but what a hypervisor took beside
/// that is no part of the experiment.
pub(super) fn host_steal(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord]) -> Option<Flag> {
    let Gate::Limit(limit) = plan.experiment.gates.steal else { return None };
    if !plan.experiment.limits_cpu() {
        return None;
    }
    let names = plan.experiment.configurations.iter().map(|configuration| configuration.name.as_str());
    let shares: Vec<f64> = names
        .flat_map(|name| counted(name, trials, blocks))
        .filter_map(|trial| trial.signals.steal)
        .collect();
    let above: Vec<f64> = shares.iter().copied().filter(|share| *share > limit.0).collect();
    let most = above.iter().copied().fold(0.0, f64::max);
    (!above.is_empty()).then(|| {
        Flag::new(
            "host-steal",
            format!(
                "in {} of {} trials the hypervisor below this machine took more than {} of CPU time, up to {}: that \
                 came on top of the limits of this experiment, and no gate judged it",
                above.len(),
                shares.len(),
                Unit::Share.format(limit.0),
                Unit::Share.format(most)
            ),
        )
    })
}

#[cfg(test)]
mod tests;
