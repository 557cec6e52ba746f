//! Sentences that several formats share: what was decided, what is open, how the blocks went.

pub(crate) mod ceiling;
pub(crate) mod curve;
pub(crate) mod explanation;

use iostone_model::metric::Direction;
use iostone_model::run::{BlockRecord, RunRecord};
use iostone_model::trial::TrialRecord;
use iostone_model::units::p_value;
use iostone_model::verdict::{BlockCount, Comparison, Flag, NoiseFloor, Verdict, Verdicts};

use crate::figures::{counted, declared_percent, own_interval, own_ratio, percent};
use crate::view::View;

/// Why blocks were not counted, beyond so many reasons only their number is given.
const REASONS_NAMED: usize = 3;

/// The answer in one or two sentences, or why there is none yet.
pub(crate) fn headline(run: &RunRecord) -> String {
    if run.plan.quick {
        let went = if run.trials.is_empty() {
            if run.ended.is_some() { "it ended before its first trial" } else { "nothing has run yet" }
        } else if !run.finished {
            "it has not come to its end"
        } else if let Some(lacking) = without_figure(run) {
            return format!("{}: {lacking}. It claims no verdict.", rehearsal(run));
        } else if run.trials.iter().all(|trial| trial.valid) {
            "every step ran, and every trial passed its gates"
        } else {
            "every step ran, but some trials failed their gates"
        };
        return format!("{}: {went}. It claims no verdict.", rehearsal(run));
    }
    match &run.verdicts {
        // Whatever was concluded from nothing, it is not that more will come by itself.
        _ if run.trials.is_empty() && run.ended.is_some() => {
            "No verdict: the run ended before its first trial.".to_owned()
        }
        Some(verdicts) if !verdicts.headline.is_empty() => verdicts.headline.clone(),
        _ if run.trials.is_empty() => "No verdict: no trial has run yet.".to_owned(),
        _ => {
            let complete = u64::from(BlockRecord::count_complete(&run.blocks));
            let minimum = run.plan.experiment.decide.blocks.min;
            let done = counted(complete, "block");
            format!("No verdict yet: {done} complete, and none is given before {minimum}.")
        }
    }
}

/// What kind of rehearsal it is: of how much of the experiment, and how small.
fn rehearsal(run: &RunRecord) -> String {
    let Some(shrunk) = run.plan.shrunk else { return "A rehearsal in small".to_owned() };
    let (kept, all) = (run.plan.experiment.configurations.len() as u64, u64::from(shrunk.of_configurations));
    let part =
        if kept < all { format!(" of {kept} of {}", counted(all, "configuration")) } else { String::new() };
    let sizes = if shrunk.sizes { " with shrunken sizes" } else { "" };
    format!("A rehearsal{part}{sizes}")
}

/// Trials of a rehearsal that did not yield what is to be decided by, and why the first of them did not.
fn without_figure(run: &RunRecord) -> Option<String> {
    let metric = &run.plan.experiment.decide.metric;
    let configurations = &run.plan.experiment.configurations;
    let has_figure = |trial: &TrialRecord| {
        let own = configurations.iter().find(|configuration| configuration.name == trial.configuration);
        // Of a curve, any point will do.
        match own.and_then(|configuration| configuration.workload.curve(metric)) {
            Some(points) => points.iter().any(|point| trial.metrics.contains_key(&point.metric)),
            None => trial.metrics.contains_key(metric),
        }
    };
    let lacking: Vec<&TrialRecord> = run.trials.iter().filter(|trial| !has_figure(trial)).collect();
    let why = lacking.first()?.workload.absent.get(metric).map(|why| format!(" ({why})")).unwrap_or_default();
    let (some, all) = (lacking.len(), run.trials.len());
    Some(format!("every step ran, but {some} of {all} trials have no figure `{metric}`{why}"))
}

/// What a run's journal, and its last block, say of one that goes on after a reboot.
const WAITS_FOR_REBOOT: &str = "waits for a reboot";

/// Why an unfinished run stopped, where its last session told: "Ended before its time: interrupted."
pub(crate) fn premature_end(run: &RunRecord) -> Option<String> {
    let reason = run.ended.as_deref().filter(|_| !run.finished)?;
    if let Some(boot) = reason.strip_prefix(WAITS_FOR_REBOOT) {
        return Some(format!("It waits for a reboot{}.", boot.trim_end().trim_end_matches('.')));
    }
    Some(format!("Ended before its time: {}.", reason.trim_end().trim_end_matches('.')))
}

/// What stopped a finished run before every comparison had its verdict, as a clause. The reasons are those of the
/// run's journal.
fn stopped_by(run: &RunRecord) -> Option<&'static str> {
    match run.ended.as_deref().filter(|_| run.finished)? {
        "budget of time spent" => Some("stopped by `decide.time`"),
        "budget of blocks spent" => Some("stopped by `decide.blocks.max`"),
        "futile" => Some("stopped because more would hardly have brought a verdict"),
        _ => None,
    }
}

/// The verdict's word with what it needs to be understood: "equivalent within 3 %".
pub(crate) fn verdict_words(comparison: &Comparison, margin: f64, rehearsal: bool) -> String {
    match comparison.verdict {
        _ if rehearsal => "none claimed".to_owned(),
        Some(Verdict::Equivalent) => format!("equivalent within {}", declared_percent(margin)),
        Some(verdict) => verdict.word().to_owned(),
        None if comparison.unpaired.is_some() => "not blocked".to_owned(),
        None => "no verdict".to_owned(),
    }
}

/// The interval to be shown beside a verdict: with `equivalent` that of the equivalence test, which decided it. None beside one
/// that is withheld, since what forbids it may have made the interval.
pub(crate) fn deciding_interval(comparison: &Comparison) -> [Option<f64>; 2] {
    match comparison.verdict {
        _ if comparison.is_withheld() => [None, None],
        Some(Verdict::Equivalent) => comparison.equivalence_interval,
        _ => comparison.ratio_interval,
    }
}

/// The interval of the difference, none where the verdict is withheld.
pub(crate) fn shown_interval(comparison: &Comparison) -> [Option<f64>; 2] {
    if comparison.is_withheld() { [None, None] } else { comparison.ratio_interval }
}

/// What marks a verdict that the interval beside it does not bear out, because it was decided together with others.
pub(crate) const TOGETHER: &str = "\u{2020}";

/// The flags of such a verdict: the others are settled, or they are points of one curve.
pub(crate) const DECIDED_TOGETHER: [&str; 2] = ["step-down", "joint"];

/// Whether the verdict was decided together with others and needs less than the interval beside it.
pub(crate) fn is_decided_together(flags: &[Flag]) -> bool {
    flags.iter().any(|flag| DECIDED_TOGETHER.contains(&flag.name.as_str()))
}

/// How the intervals of those comparisons are to be read, as far as it is not plain.
pub(crate) fn interval_notes(equivalent: bool, together: bool) -> String {
    let equivalent = equivalent.then_some(
        " Beside `equivalent` stands the interval of the equivalence test, each bound of which holds at the declared \
         confidence.",
    );
    let together = together.then_some(
        " \u{2020}: decided together with other comparisons; the interval beside it is wider than the verdict needs.",
    );
    format!("{}{}", equivalent.unwrap_or_default(), together.unwrap_or_default())
}

/// A comparison in one sentence, for readers who do not see the figure.
pub(crate) fn comparison_sentence(
    name: &str,
    comparison: &Comparison,
    margin: f64,
    view: &View<'_>,
) -> String {
    let ratio = own_ratio(view.better, comparison.ratio, shown_interval(comparison));
    let interval = ratio.interval_with_unit().map(|text| format!(", interval {text}")).unwrap_or_default();
    let verdict = verdict_words(comparison, margin, view.rehearsal);
    format!("{name} against {}: {verdict}, typical ratio {}{interval}", comparison.baseline, ratio.estimate)
}

/// With an undecided comparison: what is ruled out, and what more blocks would bring.
pub(crate) fn outlook(comparison: &Comparison, better: Direction) -> Option<String> {
    if comparison.verdict != Some(Verdict::Undecided) || comparison.is_withheld() {
        return None;
    }
    let excluded = ruled_out(own_interval(better, comparison.ratio_interval));
    Some(match forecast(comparison) {
        Some(forecast) => format!("{excluded} {forecast}"),
        None => excluded,
    })
}

/// "Ruled out: more than 2.1 % lower, more than 5.0 % higher."
fn ruled_out([low, high]: [Option<f64>; 2]) -> String {
    let usable = |value: Option<f64>| value.filter(|v| v.is_finite() && *v > 0.0);
    let as_change = |ratio: f64| {
        if (0.5..=1.5).contains(&ratio) {
            percent((ratio - 1.0).abs())
        } else {
            format!(
                "a factor of {}",
                crate::figures::factor_digits(if ratio < 1.0 { 1.0 / ratio } else { ratio })
            )
        }
    };
    let lower = usable(low).filter(|low| *low < 1.0).map(|low| format!("more than {} lower", as_change(low)));
    let higher =
        usable(high).filter(|high| *high > 1.0).map(|high| format!("more than {} higher", as_change(high)));
    match (lower, higher) {
        (Some(lower), Some(higher)) => format!("Ruled out: {lower}, {higher}."),
        (Some(one), None) | (None, Some(one)) => format!("Ruled out: {one}."),
        (None, None) => "Nothing is ruled out yet.".to_owned(),
    }
}

fn forecast(comparison: &Comparison) -> Option<String> {
    let forecast = comparison.forecast?;
    let budget = counted(forecast.budget, "block");
    match (forecast.chance, forecast.between) {
        (Some(chance), Some([low, high])) => {
            return Some(format!(
                "Forecast: settled after {low} to {high} blocks, with a chance of {} within the budget of {budget}.",
                declared_percent((chance * 100.0).round() / 100.0)
            ));
        }
        (Some(_), None) => return Some(format!("Most likely not settled within the budget of {budget}.")),
        // Made by version 0.1.0, whose forecasts are of the size seen alone.
        (None, _) => {}
    }
    let at = [forecast.difference_at, forecast.equivalence_at].into_iter().flatten().min()?;
    Some(format!("About {at} blocks would settle it."))
}

/// With an unblocked comparison: what the exact unpaired test says.
pub(crate) fn unpaired(comparison: &Comparison, better: Direction) -> Option<String> {
    let test = comparison.unpaired.as_ref()?;
    let kind = if test.exact { "exact" } else { "approximate" };
    let ratio = own_ratio(better, Some(test.ratio), test.ratio_interval);
    let interval =
        ratio.interval_with_unit().map_or_else(|| ", no interval".to_owned(), |text| format!(" {text}"));
    Some(format!(
        "Not blocked, so no verdict: {} + {} figures, typical ratio {}{interval}, {kind} Wilcoxon-Mann-Whitney {}.",
        test.sizes[0],
        test.sizes[1],
        ratio.estimate,
        p_value(test.p_value)
    ))
}

/// "11 blocks (22 trials), stopped by `decide.time`, 1 discarded: steal 7.1 % of CPU time, limit 5 %".
pub(crate) fn blocks_sentence(run: &RunRecord) -> String {
    let complete = run.blocks.iter().filter(|block| block.counted && !block.is_superblock()).count() as u64;
    let blocks = match run.blocks.iter().find(|block| block.counted && block.is_superblock()) {
        Some(superblock) if complete == 0 => format!("a superblock of {} trials each", superblock.count()),
        Some(superblock) => {
            format!("a superblock of {} trials each and {}", superblock.count(), counted(complete, "block"))
        }
        None => counted(complete, "block"),
    };
    let discarded: Vec<String> = discards(run).into_iter().map(|discard| discard.reason).collect();
    let is_counted = |number: u32| run.blocks.iter().any(|block| block.number == number && block.counted);
    let trials = run.trials.iter().filter(|trial| is_counted(trial.block)).count() as u64;
    let mut sentence = format!("{blocks} ({})", counted(trials, "trial"));
    if let Some(clause) = stopped_by(run) {
        sentence = format!("{sentence}, {clause}");
    }
    if !discarded.is_empty() {
        let mut reasons = discarded.clone();
        reasons.sort();
        reasons.dedup();
        let more = reasons.len().saturating_sub(REASONS_NAMED);
        let named: Vec<String> = reasons.into_iter().take(REASONS_NAMED).collect();
        let rest = if more > 0 { format!("; and {more} more reasons") } else { String::new() };
        sentence = format!("{sentence}, {} discarded: {}{rest}", discarded.len(), named.join("; "));
    }
    sentence
}

/// The same from verdicts alone.
pub(crate) fn block_count_sentence(verdicts: &Verdicts) -> String {
    let BlockCount { complete, discarded, maximum, .. } = verdicts.blocks;
    let trials: u64 = verdicts.configurations.iter().map(|c| u64::from(c.trials)).sum();
    if complete == 0 && discarded == 0 {
        return format!("{}, not in blocks", counted(trials, "figure"));
    }
    let mut sentence = format!("{} ({})", counted(complete, "block"), counted(trials, "figure"));
    if discarded > 0 {
        sentence = format!("{sentence}, {discarded} discarded");
    }
    if maximum > 0 { format!("{sentence}, budget {maximum}") } else { sentence }
}

/// What the gates of a rehearsal found, which repeats nothing for them: a sentence for each gate.
pub(crate) fn failed_gates(trials: &[TrialRecord]) -> Vec<String> {
    let mut told: Vec<&str> = Vec::new();
    let mut sentences = Vec::new();
    // A workload that fails ends the run, which says so.
    let gates = trials.iter().flat_map(|trial| &trial.gates);
    for gate in gates.filter(|gate| !gate.passed && gate.gate != "workload") {
        if told.contains(&gate.gate.as_str()) {
            continue;
        }
        told.push(&gate.gate);
        let has_failed =
            |trial: &&TrialRecord| trial.gates.iter().any(|own| own.gate == gate.gate && !own.passed);
        let failed = trials.iter().filter(has_failed).count();
        let of = counted(trials.len() as u64, "trial");
        sentences.push(format!("gate {} failed in {failed} of {of}: {}", gate.gate, gate.message));
    }
    sentences
}

/// A block that was not counted, and the trials that were lost with it.
#[derive(Debug)]
pub(crate) struct Discard {
    /// The block's number in the seed's stream of orders, from 0.
    pub(crate) block: u32,
    /// What the gate said, or "interrupted".
    pub(crate) reason: String,
    /// The trials that failed a gate themselves: number and configuration.
    pub(crate) failed: Vec<(u32, String)>,
}

/// Every block that was not counted, with the gates' own messages.
pub(crate) fn discards(run: &RunRecord) -> Vec<Discard> {
    // What waits for a reboot goes on after it.
    let not_counted = run.blocks.iter().filter(|block| !block.counted && !block.waits_for_reboot());
    not_counted
        .map(|block| {
            let failed = run.trials.iter().filter(|trial| trial.block == block.number && !trial.valid);
            let mut messages: Vec<&str> = failed
                .clone()
                .flat_map(|trial| trial.gates.iter().filter(|gate| !gate.passed))
                .map(|gate| gate.message.as_str())
                .collect();
            messages.dedup();
            let own = block.reason.as_deref().unwrap_or("not complete");
            let reason = if messages.is_empty() { own.to_owned() } else { messages.join("; ") };
            let failed = failed.map(|trial| (trial.number, trial.configuration.clone())).collect();
            Discard { block: block.number, reason, failed }
        })
        .collect()
}

/// With identical levels: what this machine's noise hides.
pub(crate) fn noise_sentence(noise: &NoiseFloor, blocks: u32) -> String {
    format!(
        "Noise of this machine, from identical levels: ratios within a block spread by {} (robust standard deviation). \
         The {} measured would show a difference of {} or more, {} one of {} or more (80 % power).",
        percent(noise.sigma),
        counted(blocks, "block"),
        percent(noise.detectable_at_run),
        counted(noise.budget, "block"),
        percent(noise.detectable)
    )
}

/// The metric and the terms of the decision: "throughput, higher is better; margin 3 %, confidence 95 %".
pub(crate) fn terms(view: &View<'_>, margin: f64, confidence: f64) -> String {
    format!(
        "{}, {}; margin {}, confidence {}",
        view.metric_title(),
        view.direction_words(),
        declared_percent(margin),
        declared_percent(confidence)
    )
}

/// Where the mean of the blocks tells another story than the typical block: a few very bad trials.
pub(crate) fn mean_note(comparison: &Comparison, better: Direction) -> Option<String> {
    let (typical, mean) = (comparison.ratio?, comparison.mean_ratio?);
    let apart = (mean / typical).ln().abs();
    let written = |ratio: f64| own_ratio(better, Some(ratio), [None, None]).estimate;
    let told = apart.is_finite() && apart > 0.01 && written(mean) != written(typical);
    told.then(|| {
        format!("the mean of the blocks is {}, the typical block {}", written(mean), written(typical))
    })
}

/// What the statistics say beside the verdicts, with where it belongs: the run (none), or a comparison's name. Flags that render
/// findings are left to the audit, which tells more of them; those of curves are [`curve::flags`].
pub(crate) fn flags<'a>(
    view: &View<'a>,
    verdicts: Option<&'a Verdicts>,
) -> Vec<(Option<String>, &'a str, &'a str)> {
    let of_run = verdicts.map(|v| v.flags.as_slice()).unwrap_or_default();
    let told = |flag: &&Flag| flag.severity.is_none();
    let of_run = of_run.iter().filter(told).map(|flag| (None, flag.name.as_str(), flag.message.as_str()));
    let several = view.comparisons().len() > 1;
    let of_comparisons = view.comparisons().into_iter().flat_map(move |(name, comparison)| {
        let name = several.then_some(name);
        let own = comparison.flags.iter().filter(told);
        own.map(move |flag| (name.clone(), flag.name.as_str(), flag.message.as_str()))
    });
    of_run.chain(of_comparisons).collect()
}
