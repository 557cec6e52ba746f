//! Words of recommendations that the terminal and the page share.

use iostone_model::metric::Unit;
use iostone_model::recommendation::{Choice, Recommendation, Unknown};
use iostone_model::units::Bytes;

use crate::figures::{count, counted, figure};
use crate::prediction::{both_units, dollars, span_words, time_words};
use crate::svg::forest::capitalised;

/// An instance with its volumes: "m7g.medium with gp3:220GiB".
pub(crate) fn rented(choice: &Choice) -> String {
    format!("{} with {}", choice.instance, choice.volumes)
}

/// What it does, shortly: "23.1 min", "512 MB/s", "20 000 IOPS".
pub(crate) fn short_performance(found: &Recommendation, choice: &Choice) -> String {
    if let Some(seconds) = choice.seconds {
        // Steps of a tenth would look alike in whole minutes.
        return if (120.0..7200.0).contains(&seconds) {
            format!("{:.1}\u{a0}min", seconds / 60.0)
        } else {
            span_words(seconds)
        };
    }
    match (found.target.ios_per_second, choice.ios_per_second) {
        (Some(_), Some(ios)) => format!("{} IOPS", count(whole(ios))),
        _ => figure(Unit::BytesPerSecond, choice.bytes_per_second),
    }
}

/// What it does: "done in 23 min (1385 s)", "512 MB/s = 488 MiB/s in the long run".
fn performance(found: &Recommendation, choice: &Choice) -> String {
    if let Some(seconds) = choice.seconds {
        return format!("done in {}", time_words(seconds));
    }
    let rate = match (found.target.ios_per_second, choice.ios_per_second) {
        (Some(_), Some(ios)) => format!("{} IOPS", count(whole(ios))),
        _ => both_units(choice.bytes_per_second),
    };
    match found.target.for_seconds {
        Some(seconds) => format!("{rate} for {}", span_words(seconds)),
        None => format!("{rate} in the long run"),
    }
}

/// A figure to the next whole number below, since a rate is not more than it is.
fn whole(figure: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let whole = (figure + 1e-6).floor() as u64;
    whole
}

/// The answer in a line.
pub(crate) fn headline(found: &Recommendation) -> String {
    let chosen = &found.chosen;
    let bursts = if chosen.bursts { " with bursts" } else { "" };
    let does = format!("{}{bursts}, held by {}", performance(found, chosen), chosen.binding);
    let rent = format!("{} for {} an hour", rented(chosen), dollars(chosen.usd_per_hour));
    if found.is_met {
        format!("{rent}: {does}")
    } else {
        format!("Nothing in the catalogue does it. The fastest there is: {rent}, {does}")
    }
}

/// What was asked: "write 220GiB one after the other, within 25min; in us-east-1, by the limits of 2026-11-22".
pub(crate) fn subject(found: &Recommendation) -> String {
    let work = match found.target.within_seconds {
        Some(_) => format!("{}, ", found.work),
        None => String::new(),
    };
    format!(
        "{work}{}, on at least {}; in {}, by the limits of {}",
        found.target.words,
        Bytes(whole(found.capacity_bytes)),
        found.region,
        found.date
    )
}

/// What a choice costs and does, a sentence each.
pub(crate) fn sentences(found: &Recommendation, choice: &Choice) -> Vec<String> {
    let [all, instance, volumes] = added_up(choice);
    let mut sentences = vec![format!(
        "{all} an hour: the instance {instance}, the volumes {volumes} ({} a month).",
        dollars(choice.volumes_usd_per_month),
    )];
    let cost = choice.job_usd.map(|usd| format!(", which costs {}", dollars(usd))).unwrap_or_default();
    sentences.push(format!(
        "{}{cost}. Held by {}.",
        capitalised(&performance(found, choice)),
        choice.binding
    ));
    if let Some(seconds) = choice.seconds_from_empty {
        sentences.push(format!(
            "Bursts are in that: from empty buckets, as soon after another such job, it takes {}.",
            span_words(seconds)
        ));
    } else if choice.bursts {
        sentences.push("Bursts are in that: from empty buckets it is less.".to_owned());
    }
    sentences
}

/// What an hour costs, of it the instance, and the volumes, rounded so that the parts add up as they stand.
fn added_up(choice: &Choice) -> [String; 3] {
    let places: u8 = if choice.usd_per_hour >= 1.0 { 2 } else { 4 };
    let one = 10_f64.powi(i32::from(places));
    let (all, instance) = ((choice.usd_per_hour * one).round(), (choice.instance_usd_per_hour * one).round());
    [all, instance, all - instance].map(|parts| format!("${:.*}", usize::from(places), parts / one))
}

/// Marks what rests on bursts.
pub(crate) const BURST_MARK: &str = "*";
/// What the mark means.
pub(crate) const BURST_WORDS: &str = "with bursts: slower from empty buckets";

/// What it does, shortly and with a mark where bursts are in it.
pub(crate) fn marked_performance(found: &Recommendation, choice: &Choice) -> String {
    let mark = if choice.bursts { BURST_MARK } else { "" };
    format!("{}{mark}", short_performance(found, choice))
}

/// What a step costs more than the chosen: "+$0.12", and "the same" where more volumes do more for the same money.
pub(crate) fn more(found: &Recommendation, choice: &Choice) -> String {
    let more = choice.usd_per_hour - found.chosen.usd_per_hour;
    if choice == &found.chosen {
        String::new()
    } else if more.abs() < 1e-8 {
        "the same".to_owned()
    } else {
        format!("+{}", dollars(more))
    }
}

/// What costs the least for the work as a whole, where that is not the cheapest by the hour.
pub(crate) fn cheapest_work(found: &Recommendation) -> Option<String> {
    let choice = found.cheapest_work.as_ref()?;
    Some(format!(
        "By the hour that is the cheapest; of the work as a whole it is {}: {}, at {} an hour, {}.",
        rented(choice),
        dollars(choice.job_usd?),
        dollars(choice.usd_per_hour),
        performance(found, choice)
    ))
}

/// Why there is no runner-up.
pub(crate) fn no_runner_up(found: &Recommendation) -> Option<&'static str> {
    (found.is_met && found.runner_up.is_none()).then_some(
        "No runner-up: of what may be rented, nothing of another instance family or volume type meets the target.",
    )
}

/// Why what is cheaper fails: a label and a sentence for each.
pub(crate) fn misses(found: &Recommendation) -> Vec<(String, String)> {
    let miss = |choice: &Choice| {
        let sentence = format!(
            "{} an hour, {}: held by {}.",
            dollars(choice.usd_per_hour),
            performance(found, choice),
            choice.binding
        );
        (rented(choice), sentence)
    };
    found.misses.iter().map(miss).collect()
}

/// What was looked at, in a sentence.
pub(crate) fn considered(found: &Recommendation) -> String {
    let looked = found.considered;
    format!(
        "{} and {} were looked at. Without those that are no better than cheaper ones they made {}.",
        counted(looked.instances, "instance type"),
        counted(looked.volumes, "volume"),
        counted(looked.pairs, "pair")
    )
}

/// What was left out for want of a figure: each reason with how many, and which where `names` says so.
pub(crate) fn left_out(found: &Recommendation, names: bool) -> Vec<(String, String)> {
    let mut reasons: Vec<&str> = Vec::new();
    for unknown in &found.unknown {
        if !reasons.contains(&unknown.reason.as_str()) {
            reasons.push(&unknown.reason);
        }
    }
    let of = |reason: &str| {
        let own: Vec<&Unknown> = found.unknown.iter().filter(|unknown| unknown.reason == reason).collect();
        let listed: Vec<&str> = own.iter().map(|unknown| unknown.name.as_str()).collect();
        let told =
            if names || listed.len() <= 2 { listed.join(", ") } else { format!("{} types", listed.len()) };
        (reason.to_owned(), told)
    };
    reasons.into_iter().map(of).collect()
}
