//! What flat write curves are put down to, and the two curves of each such finding side by side.

use iostone_model::metric::Unit;
use iostone_model::verdict::{CurveShape, FlatnessVerdict, LoadCurve};

use crate::figures::{factor_digits, figure, percent};

/// A finding on one pair of curves.
pub(in crate::html) struct FlatFinding {
    /// What it comes to: "volume=fast: the flat curve is put down to barriers".
    pub(in crate::html) lead: String,
    /// With barriers, then without.
    pub(in crate::html) lines: Vec<FlatLine>,
    /// What that rests on, in a sentence without its point; empty where nothing is known.
    pub(in crate::html) evidence: String,
}

/// A write curve over load.
pub(in crate::html) struct FlatLine {
    pub(in crate::html) configuration: String,
    pub(in crate::html) shape: &'static str,
    pub(in crate::html) slope: String,
    pub(in crate::html) rate: String,
    /// "99.8 % of 500 writes/s".
    pub(in crate::html) limit: String,
    pub(in crate::html) flushes: String,
}

impl FlatFinding {
    pub(super) fn of(found: &FlatnessVerdict) -> Self {
        let begin = format!(": {} ", found.with.configuration);
        let (lead, evidence) = match found.sentence.find(&begin) {
            Some(place) => found.sentence.split_at(place),
            None => (found.sentence.as_str(), ""),
        };
        Self {
            lead: match found.stratum.as_str() {
                "" => capitalised(lead),
                stratum => format!("{stratum}: {lead}"),
            },
            lines: [&found.with, &found.without].map(FlatLine::of).into(),
            evidence: evidence.trim_start_matches(": ").to_owned(),
        }
    }
}

impl FlatLine {
    fn of(curve: &LoadCurve) -> Self {
        let slope = match (curve.slope, curve.slope_interval) {
            (Some(slope), [Some(low), Some(high)]) => {
                format!("{} ({} to {})", hundredths(slope), hundredths(low), hundredths(high))
            }
            _ => String::new(),
        };
        let limit = curve.limit.as_ref().zip(curve.limit_share);
        Self {
            configuration: curve.configuration.clone(),
            shape: match curve.shape {
                CurveShape::Flat => "flat",
                CurveShape::Plateau => "grows, then flat",
                CurveShape::Rises => "rises",
                CurveShape::Falls => "falls",
                CurveShape::Uneven => "up and down",
                CurveShape::Incomplete => "loads without a rate",
                CurveShape::Undecided => "not settled",
            },
            slope,
            rate: curve.plateau.map(|rate| figure(Unit::PerSecond, rate)).unwrap_or_default(),
            limit: limit.map(|(limit, share)| format!("{} of {limit}", percent(share))).unwrap_or_default(),
            flushes: curve.flushes_per_write.map(flushes).unwrap_or_default(),
        }
    }
}

fn flushes(share: f64) -> String {
    match share {
        0.0 => "0".to_owned(),
        low if low < 0.01 => format!("1 in {}", (1.0 / low).round()),
        share => factor_digits(share),
    }
}

/// Two digits behind the point, and no zero below zero.
fn hundredths(value: f64) -> String {
    format!("{:.2}", (value * 100.0).round() / 100.0 + 0.0).replace('-', "\u{2212}")
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
