//! Where random requests lie: fio's `random_distribution`, and hot and cold data.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::units::{Bytes, UnitError, textual};

/// Where random requests lie in the span.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum RandomDistribution {
    /// Everywhere alike: `random`.
    #[default]
    Random,
    /// Zipf's law, the block of rank k with probability proportional to `1 / k^theta`: `zipf:1.2`.
    Zipf {
        /// Above 0, below 100, and not 1.
        theta: f64,
        /// Where in the span (0 to 1) the likeliest block lies; blocks are scattered when not given.
        center: Option<f64>,
    },
    /// A share `1 - h` of the requests goes to the first `h` of the blocks, and so on within them: `pareto:0.2`, the
    /// rule of 80 to 20 (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994).
    Pareto {
        /// Between 0 and 1.
        h: f64,
        /// As with `Zipf`.
        center: Option<f64>,
    },
    /// A normal distribution: `normal:20`.
    Normal {
        /// Standard deviation in percent of the span, from above 0 to 100.
        deviation_percent: f64,
        /// Where in the span (0 to 1) its mean lies; the middle when not given.
        center: Option<f64>,
    },
    /// Parts of the span, one after the other, each with its share of the requests: `zoned:60/10:30/20:10/70`.
    Zoned(Vec<Zone>),
    /// The first part of the span is hot, the rest is cold: `hot-cold:90/10`, 90 % of the requests on 10 % of it.
    HotCold {
        /// Percent of the requests on the hot part.
        access_percent: f64,
        /// Percent of the span that is hot.
        span_percent: f64,
    },
}

/// Its numbers are read and checked, so that each equals itself.
impl Eq for RandomDistribution {}

/// A part of the span and its share of the requests.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Zone {
    /// Its share of the requests, in percent.
    pub access_percent: f64,
    /// How much of the span it is.
    pub extent: Extent,
}

/// The length of a zone, as a share or absolute.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// Percent of the span.
    Percent(f64),
    /// Bytes, as in fio's `zoned_abs`. Not for experiments.
    Bytes(Bytes),
}

impl RandomDistribution {
    /// Whether some blocks are likelier than others.
    pub fn is_skewed(&self) -> bool {
        *self != Self::Random
    }

    /// Hot and cold as the two zones that they are; the zones of `Zoned`; nothing else has any.
    pub fn zones(&self) -> Vec<Zone> {
        match self {
            Self::Zoned(zones) => zones.clone(),
            Self::HotCold { access_percent, span_percent } => {
                [(*access_percent, *span_percent), (100.0 - access_percent, 100.0 - span_percent)]
                    .map(|(access_percent, span)| Zone { access_percent, extent: Extent::Percent(span) })
                    .to_vec()
            }
            _ => Vec::new(),
        }
    }

    /// Checks its numbers.
    ///
    /// # Errors
    /// What is wrong with them, as a clause.
    pub fn check(&self) -> Result<(), String> {
        let inside = |number: f64, end: f64| number > 0.0 && number < end;
        let wrong = match self {
            Self::Zipf { theta, .. } if !inside(*theta, 100.0) || (theta - 1.0).abs() < 1e-9 => {
                "theta must be above 0, below 100 and not 1"
            }
            Self::Pareto { h, .. } if !inside(*h, 1.0) => "its number must be between 0 and 1",
            Self::Normal { deviation_percent, .. } if !inside(*deviation_percent, 100.0_f64.next_up()) => {
                "the deviation must be above 0 and at most 100 percent"
            }
            Self::Zipf { center: Some(center), .. }
            | Self::Pareto { center: Some(center), .. }
            | Self::Normal { center: Some(center), .. }
                if !(0.0..=1.0).contains(center) =>
            {
                "a centre is a share of the span, from 0 to 1"
            }
            Self::HotCold { access_percent, span_percent }
                if !inside(*access_percent, 100.0) || !inside(*span_percent, 100.0) =>
            {
                "both percentages must be between 0 and 100"
            }
            Self::Zoned(zones) => return check_zones(zones),
            _ => return Ok(()),
        };
        Err(wrong.to_owned())
    }
}

/// Sums of percentages are wrong by no more than this when they should be 100.
const ROUNDING: f64 = 1e-6;

fn check_zones(zones: &[Zone]) -> Result<(), String> {
    let access: f64 = zones.iter().map(|zone| zone.access_percent).sum();
    let span: f64 =
        zones.iter().map(|zone| if let Extent::Percent(percent) = zone.extent { percent } else { 0.0 }).sum();
    if access.is_nan() || (access - 100.0).abs() > ROUNDING {
        let access = (access / ROUNDING).round() * ROUNDING;
        return Err(format!("the shares of the requests add up to {access}, not to 100"));
    }
    if span > 100.0 + ROUNDING {
        return Err("the zones cover more than the span".to_owned());
    }
    Ok(())
}

/// fio takes no more (`ZONESPLIT_MAX`).
const MOST_ZONES: usize = 256;

impl FromStr for RandomDistribution {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        read(text)
            .and_then(|distribution| distribution.check().map(|()| distribution))
            .map_err(|reason| UnitError { text: text.to_owned(), kind: "a distribution", reason })
    }
}

fn read(text: &str) -> Result<RandomDistribution, String> {
    let (word, rest) = match text.trim().split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text.trim(), None),
    };
    match (word, rest) {
        ("random", None) => Ok(RandomDistribution::Random),
        ("random", Some(_)) => Err("`random` takes no number".to_owned()),
        ("zipf", Some(rest)) => {
            read_skew(rest).map(|(theta, center)| RandomDistribution::Zipf { theta, center })
        }
        ("pareto", Some(rest)) => read_skew(rest).map(|(h, center)| RandomDistribution::Pareto { h, center }),
        ("normal", Some(rest)) => read_skew(rest)
            .map(|(deviation_percent, center)| RandomDistribution::Normal { deviation_percent, center }),
        ("zoned", Some(rest)) => {
            let zones: Vec<Zone> = rest
                .split(':')
                .map(|zone| {
                    let (access_percent, span) = read_percentages(zone)?;
                    Ok(Zone { access_percent, extent: Extent::Percent(span) })
                })
                .collect::<Result<_, String>>()?;
            if zones.len() > MOST_ZONES {
                return Err(format!("there are more than {MOST_ZONES} zones"));
            }
            Ok(RandomDistribution::Zoned(zones))
        }
        ("hot-cold", Some(rest)) => read_percentages(rest).map(|(access_percent, span_percent)| {
            RandomDistribution::HotCold { access_percent, span_percent }
        }),
        ("zipf", None) => Err("it needs its theta, as in zipf:1.2".to_owned()),
        ("pareto", None) => Err("it needs a number, as in pareto:0.2".to_owned()),
        ("normal", None) => Err("it needs a deviation in percent, as in normal:20".to_owned()),
        ("zoned", None) => Err("it needs zones, as in zoned:60/10:30/20:10/70".to_owned()),
        ("hot-cold", None) => Err("it needs two percentages, as in hot-cold:90/10".to_owned()),
        _ => Err("expected random, zipf, pareto, normal, zoned or hot-cold".to_owned()),
    }
}

/// A number of 0 or more, without an exponent.
fn read_number(text: &str) -> Result<f64, String> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain).ok_or_else(|| format!("`{text}` is not a number"))
}

/// A number and perhaps a centre: `1.2`, `1.2:0.5`.
fn read_skew(text: &str) -> Result<(f64, Option<f64>), String> {
    match text.split_once(':') {
        Some((number, center)) => Ok((read_number(number)?, Some(read_number(center)?))),
        None => Ok((read_number(text)?, None)),
    }
}

fn read_percentages(text: &str) -> Result<(f64, f64), String> {
    let (access, span) = text
        .split_once('/')
        .ok_or_else(|| format!("`{text}` needs two percentages, of the requests and of the span"))?;
    Ok((read_number(access)?, read_number(span)?))
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.extent {
            Extent::Percent(percent) => write!(f, "{}/{percent}", self.access_percent),
            Extent::Bytes(bytes) => write!(f, "{}/{bytes}", self.access_percent),
        }
    }
}

impl fmt::Display for RandomDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut skew = |word: &str, number: f64, center: Option<f64>| {
            write!(f, "{word}:{number}")?;
            center.iter().try_for_each(|center| write!(f, ":{center}"))
        };
        match self {
            Self::Random => f.write_str("random"),
            Self::Zipf { theta, center } => skew("zipf", *theta, *center),
            Self::Pareto { h, center } => skew("pareto", *h, *center),
            Self::Normal { deviation_percent, center } => skew("normal", *deviation_percent, *center),
            Self::Zoned(zones) => {
                let is_share = zones.iter().all(|zone| matches!(zone.extent, Extent::Percent(_)));
                f.write_str(if is_share { "zoned" } else { "zoned_abs" })?;
                zones.iter().try_for_each(|zone| write!(f, ":{zone}"))
            }
            Self::HotCold { access_percent, span_percent } => {
                write!(f, "hot-cold:{access_percent}/{span_percent}")
            }
        }
    }
}

textual!(
    RandomDistribution,
    "RandomDistribution",
    "a distribution",
    r"^(random|(zipf|pareto|normal):[0-9.]+(:[0-9.]+)?|zoned(:[0-9.]+/[0-9.]+)+|hot-cold:[0-9.]+/[0-9.]+)$",
    "zipf:1.2"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::option;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_with_a_distribution_is_named() {
        for (text, reason) in [
            ("zipf", "it needs its theta, as in zipf:1.2"),
            ("zipf:1", "theta must be above 0, below 100 and not 1"),
            ("zipf:1.2:1.5", "a centre is a share of the span, from 0 to 1"),
            ("pareto:1", "its number must be between 0 and 1"),
            ("normal:101", "the deviation must be above 0 and at most 100 percent"),
            ("zoned:60/10:30/20", "the shares of the requests add up to 90, not to 100"),
            ("zoned:60/60:40/60", "the zones cover more than the span"),
            ("zoned:100", "`100` needs two percentages, of the requests and of the span"),
            ("hot-cold:100/10", "both percentages must be between 0 and 100"),
            ("random:3", "`random` takes no number"),
            ("uniform", "expected random, zipf, pareto, normal, zoned or hot-cold"),
            ("zipf:x", "`x` is not a number"),
            ("zipf:1e-3", "`1e-3` is not a number"),
        ] {
            let said = text.parse::<RandomDistribution>().unwrap_err();
            assert_eq!(said.reason, reason, "{text}");
            // What stands behind the last colon becomes the label in the file.
            assert!(!reason.contains(": "));
        }
    }

    #[test]
    fn hot_and_cold_are_two_zones() {
        let zones = |text: &str| text.parse::<RandomDistribution>().unwrap().zones();
        assert_eq!(zones("hot-cold:90/10"), zones("zoned:90/10:10/90"));
        assert_eq!(zones("zipf:1.2"), []);
    }

    fn any_distribution() -> impl Strategy<Value = RandomDistribution> {
        let center = || option::of(0.0f64..=1.0);
        let percent = || 0.001f64..99.999;
        prop_oneof![
            Just(RandomDistribution::Random),
            (1.001f64..99.0, center()).prop_map(|(theta, center)| RandomDistribution::Zipf { theta, center }),
            (0.001f64..0.999, center()).prop_map(|(h, center)| RandomDistribution::Pareto { h, center }),
            (0.001f64..=100.0, center()).prop_map(|(deviation_percent, center)| {
                RandomDistribution::Normal { deviation_percent, center }
            }),
            (percent(), percent()).prop_map(|(access_percent, span_percent)| {
                RandomDistribution::HotCold { access_percent, span_percent }
            }),
            (percent(), percent()).prop_map(|(access_percent, span_percent)| {
                let hot = RandomDistribution::HotCold { access_percent, span_percent };
                RandomDistribution::Zoned(hot.zones())
            }),
        ]
    }

    proptest! {
        #[test]
        fn distributions_print_and_read_back_the_same(distribution in any_distribution()) {
            prop_assert_eq!(distribution.to_string().parse(), Ok(distribution.clone()));
            let json = serde_json::to_string(&distribution).unwrap();
            prop_assert_eq!(serde_json::from_str::<RandomDistribution>(&json).unwrap(), distribution);
        }

        #[test]
        fn no_text_panics(text in "(zipf|pareto|normal|zoned|hot-cold|random)?[:/0-9.]{0,24}") {
            let _ = text.parse::<RandomDistribution>();
        }
    }
}
