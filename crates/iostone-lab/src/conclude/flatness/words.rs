//! What a flat curve is put down to, in words, with the evidence.

use std::fmt::Write;

use iostone_model::units::{ratio_digits, three_digits};
use iostone_model::verdict::{CurveShape, FlatCause, FlatnessVerdict, LoadCurve};

use super::measured::BEYOND_LIMIT;
use super::{MATTERING_FLUSHES, Open};

/// The verdict's sentence; `open` says what is not settled where something is not.
pub(super) fn sentence(verdict: &FlatnessVerdict, open: Option<Open>) -> String {
    let FlatnessVerdict { with, without, .. } = verdict;
    let told = match (verdict.cause, open) {
        (FlatCause::Barriers, _) => "the flat curve is put down to barriers".to_owned(),
        (FlatCause::Lowered, _) if [with, without].iter().any(|curve| curve.shape == CurveShape::Plateau) => {
            "barriers lower the curve, but do not make its upper loads flat: those do not rise without them either"
                .to_owned()
        }
        (FlatCause::Lowered, _) => {
            "barriers lower the curve, but do not make it flat: it does not rise without them either"
                .to_owned()
        }
        (FlatCause::Volume, Some(Open::PartOfBarriers)) => {
            "the flat curve is put down to the volume's limit, at which it lies with and without barriers"
                .to_owned()
        }
        (FlatCause::Volume, _) => {
            "the flat curve is put down to the volume's limit, not to barriers".to_owned()
        }
        (FlatCause::Neither, _) => {
            "the flat curve is put down neither to barriers nor to a limit that is known".to_owned()
        }
        (FlatCause::NotFlat, _) => {
            "the curve with barriers is not flat: there is nothing to put down to them".to_owned()
        }
        (FlatCause::Undecided, open) => of_open(verdict, open),
    };
    let mut parts = vec![of_curve(with), of_curve(without)];
    if let (Some(ratio), [Some(low), Some(high)]) = (verdict.ratio, verdict.ratio_interval) {
        parts.push(format!(
            "without barriers the upper loads reach {} times the rate ({} to {})",
            three_digits(ratio),
            three_digits(low),
            three_digits(high)
        ));
    }
    match (with.flushes_per_write, without.flushes_per_write) {
        (Some(on), Some(off)) if on <= 0.0 && off <= 0.0 => {
            parts.push("no flush was served with barriers or without".to_owned());
        }
        (Some(on), Some(off)) => {
            parts.push(format!("served were {} with barriers, {} without", flushes(on), flushes(off)));
        }
        (Some(on), None) => parts.push(format!("served were {} with barriers", flushes(on))),
        _ => {}
    }
    if let (FlatCause::Neither, Some(cores)) = (verdict.cause, with.cores) {
        parts.push(format!("the workload itself used {} cores", ratio_digits(cores)));
    }
    format!("{told}: {}", parts.join("; "))
}

fn of_open(verdict: &FlatnessVerdict, open: Option<Open>) -> String {
    let why = match open {
        Some(Open::FewBlocks) => {
            let blocks = verdict.with.trials.min(verdict.without.trials);
            return format!(
                "what makes the curve flat, or whether it is, is not decided: {blocks} {}, and it takes {}",
                if blocks == 1 { "block" } else { "blocks" },
                verdict.fewest_blocks
            );
        }
        Some(Open::NoRate) => "some loads have no rate, so nothing is said of the curve",
        Some(Open::Shape) => "whether the curve with barriers is flat is not decided by these blocks",
        Some(Open::PartOfBarriers) => {
            "the flat curve lies at the volume's limit; whether barriers have a part in it cannot be told"
        }
        Some(Open::LimitHeldOnce) => {
            "the flat curve lies at the volume's limit, which did not hold without barriers: what makes it flat cannot be told"
        }
        Some(Open::Limit) => {
            "whether the flat curve lies at the volume's limit is not decided by these blocks"
        }
        Some(Open::FewFlushes) => {
            return format!(
                "the curve lies higher without barriers, but too few flushes were served to put that down to them (fewer than {} \
                 a write)",
                three_digits(MATTERING_FLUSHES)
            );
        }
        Some(Open::FlushedWithout) => {
            "the curve lies higher without barriers, but flushes were served without them as well, so that is not put down to them"
        }
        Some(Open::FlushesUnknown) => {
            "the curve lies higher without barriers, but nobody counted the flushes, so that is not put down to them"
        }
        Some(Open::ShapeWithout) => {
            "barriers lower the curve; whether they make it flat is not decided, since the curve without them is neither shown to \
             rise nor not"
        }
        Some(Open::Level) | None => "what makes the curve flat is not decided by these blocks",
    };
    why.to_owned()
}

/// "on is flat over Small=1 to 20, slope 0.01 (-0.01 to 0.02), 499 IOPS, 99.8 % of 500 writes/s".
fn of_curve(curve: &LoadCurve) -> String {
    let [first, last] = curve.loads;
    if let Some(load) = curve.missing.first() {
        let others = match curve.missing.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        return format!("{} has trials without a rate at Small={load}{others}", curve.configuration);
    }
    let shape = match curve.shape {
        CurveShape::Flat => "is flat",
        CurveShape::Plateau => "grows at first and is flat at the upper loads",
        CurveShape::Rises => "rises",
        CurveShape::Falls => "falls",
        CurveShape::Uneven => "goes up and down",
        CurveShape::Undecided | CurveShape::Incomplete => "is neither shown to be flat nor not",
    };
    let mut text = format!("{} {shape} over Small={first} to {last}", curve.configuration);
    if let (Some(slope), [Some(low), Some(high)]) = (curve.slope, curve.slope_interval) {
        let _ = write!(text, ", slope {} ({} to {})", hundredths(slope), hundredths(low), hundredths(high));
    }
    if let (CurveShape::Uneven | CurveShape::Undecided, Some(stray)) = (curve.shape, curve.stray) {
        let _ = write!(text, ", points up to {} % off that line", three_digits(stray * 100.0));
    }
    if let Some(plateau) = curve.plateau {
        let _ = write!(text, ", {} IOPS", three_digits(plateau));
    }
    if let (Some(limit), Some(share)) = (&curve.limit, curve.limit_share) {
        let _ = write!(text, ", {} % of {limit}", three_digits(share * 100.0));
        if curve.limit_share_interval[0].is_some_and(|low| low > BEYOND_LIMIT) {
            text.push_str(", so that limit did not hold");
        }
    }
    text
}

/// Two digits behind the point, and no zero below zero.
fn hundredths(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0)
}

/// "0.90 flushes a write", "1 flush in 880 writes", "no flush".
fn flushes(share: f64) -> String {
    if share <= 0.0 {
        "no flush".to_owned()
    } else if share >= MATTERING_FLUSHES {
        format!("{} flushes a write", three_digits(share))
    } else {
        format!("1 flush in {} writes", three_digits(share.recip()))
    }
}
