//! Words of recommendations that the terminal and the page share.

use iostone_model::metric::Unit;
use iostone_model::recommendation::{Choice, Recommendation, Unknown};

use crate::figures::{count, figure};
use crate::prediction::{both_units, dollars, span_words, time_words};
use crate::svg::forest::capitalised;

/// An instance with its volumes: "m7g.medium with gp3:220GiB".
pub(crate) fn rented(choice: &Choice) -> String {
    format!("{} with {}", choice.instance, choice.volumes)
}

/// What it does, shortly: "23 min", "512 MB/s", "20 000 /s".
pub(crate) fn short_performance(found: &Recommendation, choice: &Choice) -> String {
    if let Some(seconds) = choice.seconds {
        return span_words(seconds);
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
    let does = format!("{}, held by {}", performance(found, chosen), chosen.binding);
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
        figure(Unit::Bytes, found.capacity_bytes),
        found.region,
        found.date
    )
}

/// What a choice costs and does, a sentence each.
pub(crate) fn sentences(found: &Recommendation, choice: &Choice) -> Vec<String> {
    let mut sentences = vec![format!(
        "{} an hour: the instance {}, the volumes {} ({} a month).",
        dollars(choice.usd_per_hour),
        dollars(choice.instance_usd_per_hour),
        dollars(choice.usd_per_hour - choice.instance_usd_per_hour),
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
    }
    sentences
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
        "{} instance types and {} volumes were looked at, and {} pairs of those that no other is both cheaper and faster than.",
        count(looked.instances),
        count(looked.volumes),
        count(looked.pairs)
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
