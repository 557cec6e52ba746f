//! Where random requests lie: fio's `random_distribution`, and hot and cold data.

use std::fmt;
use std::str::FromStr;

use super::Decimal;
use crate::units::{UnitError, textual};

/// Where random requests lie in the span.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RandomDistribution {
    /// Everywhere alike: `random`.
    #[default]
    Random,
    /// Zipf's law, the block of rank k with probability proportional to `1 / k^theta`: `zipf:1.2`.
    Zipf {
        /// Above 0, below 100, and not 1.
        theta: Decimal,
        /// Where in the span (0 to 1) the likeliest block lies; blocks are scattered when not given.
        center: Option<Decimal>,
    },
    /// A share `1 - h` of the requests goes to the first `h` of the blocks, and so on within them: `pareto:0.2`, the
    /// rule of 80 to 20 (Gray et al., "Quickly Generating Billion-Record Synthetic Databases", SIGMOD 1994).
    Pareto {
        /// Between 0 and 1.
        h: Decimal,
        /// As with `Zipf`.
        center: Option<Decimal>,
    },
    /// A normal distribution: `normal:20`.
    Normal {
        /// Standard deviation in percent of the span, from above 0 to 100.
        deviation_percent: Decimal,
        /// Where in the span (0 to 1) its mean lies; the middle when not given.
        center: Option<Decimal>,
    },
    /// Parts of the span, one after the other, each with its share of the requests: `zoned:60/10:30/20:10/70`.
    Zoned(Vec<Zone>),
    /// The first part of the span is hot, the rest is cold: `hot-cold:90/10`, 90 % of the requests on 10 % of it.
    HotCold(Zone),
}

/// A part of the span and its share of the requests, both in percent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Its share of the requests.
    pub access_percent: Decimal,
    /// How much of the span it is.
    pub span_percent: Decimal,
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
            Self::HotCold(hot) => {
                let rest = |percent: Decimal| HUNDRED.checked_sub(percent).unwrap_or(NOTHING);
                let cold =
                    Zone { access_percent: rest(hot.access_percent), span_percent: rest(hot.span_percent) };
                vec![*hot, cold]
            }
            _ => Vec::new(),
        }
    }
}

const NOTHING: Decimal = Decimal::whole(0);
const ONE: Decimal = Decimal::whole(1);
const HUNDRED: Decimal = Decimal::whole(100);
/// fio takes no more (`ZONESPLIT_MAX`).
const MOST_ZONES: usize = 256;

impl FromStr for RandomDistribution {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        read(text).map_err(|reason| UnitError { text: text.to_owned(), kind: "a distribution", reason })
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
            let (theta, center) = read_skew(rest)?;
            if theta == NOTHING || theta == ONE || theta >= HUNDRED {
                return Err("theta must be above 0, below 100 and not 1".to_owned());
            }
            Ok(RandomDistribution::Zipf { theta, center })
        }
        ("pareto", Some(rest)) => {
            let (h, center) = read_skew(rest)?;
            if h == NOTHING || h >= ONE {
                return Err("its number must be between 0 and 1".to_owned());
            }
            Ok(RandomDistribution::Pareto { h, center })
        }
        ("normal", Some(rest)) => {
            let (deviation_percent, center) = read_skew(rest)?;
            if deviation_percent == NOTHING || deviation_percent > HUNDRED {
                return Err("the deviation must be above 0 and at most 100 percent".to_owned());
            }
            Ok(RandomDistribution::Normal { deviation_percent, center })
        }
        ("zoned", Some(rest)) => read_zones(rest).map(RandomDistribution::Zoned),
        ("hot-cold", Some(rest)) => {
            let zone = read_zone(rest)?;
            let inside = |percent: Decimal| percent > NOTHING && percent < HUNDRED;
            if !inside(zone.access_percent) || !inside(zone.span_percent) {
                return Err("both percentages must be between 0 and 100".to_owned());
            }
            Ok(RandomDistribution::HotCold(zone))
        }
        ("zipf", None) => Err("it needs its theta, as in zipf:1.2".to_owned()),
        ("pareto", None) => Err("it needs a number, as in pareto:0.2".to_owned()),
        ("normal", None) => Err("it needs a deviation in percent, as in normal:20".to_owned()),
        ("zoned", None) => Err("it needs zones, as in zoned:60/10:30/20:10/70".to_owned()),
        ("hot-cold", None) => Err("it needs two percentages, as in hot-cold:90/10".to_owned()),
        _ => Err("expected random, zipf, pareto, normal, zoned or hot-cold".to_owned()),
    }
}

/// A number and perhaps a centre: `1.2`, `1.2:0.5`.
fn read_skew(text: &str) -> Result<(Decimal, Option<Decimal>), String> {
    let (number, center) = match text.split_once(':') {
        Some((number, center)) => (number, Some(center.parse::<Decimal>()?)),
        None => (text, None),
    };
    if center.is_some_and(|center| center > ONE) {
        return Err("a centre is a share of the target, from 0 to 1".to_owned());
    }
    Ok((number.parse()?, center))
}

fn read_zone(text: &str) -> Result<Zone, String> {
    let (access, span) = text
        .split_once('/')
        .ok_or_else(|| format!("`{text}` needs two percentages, of the requests and of the target"))?;
    Ok(Zone { access_percent: access.parse()?, span_percent: span.parse()? })
}

fn read_zones(text: &str) -> Result<Vec<Zone>, String> {
    let zones: Vec<Zone> = text.split(':').map(read_zone).collect::<Result<_, _>>()?;
    if zones.len() > MOST_ZONES {
        return Err(format!("there are more than {MOST_ZONES} zones"));
    }
    let sum = |of: fn(&Zone) -> Decimal| {
        zones.iter().try_fold(NOTHING, |sum: Decimal, zone| sum.checked_add(of(zone)))
    };
    match (sum(|zone| zone.access_percent), sum(|zone| zone.span_percent)) {
        (Some(HUNDRED), Some(span)) if span <= HUNDRED => Ok(zones),
        (Some(HUNDRED), _) => Err("the zones cover more than the target".to_owned()),
        (Some(access), _) => Err(format!("the shares of the requests add up to {access}, not 100")),
        (None, _) => Err("the shares of the requests are too large".to_owned()),
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.access_percent, self.span_percent)
    }
}

impl fmt::Display for RandomDistribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut skew = |word: &str, number: &Decimal, center: &Option<Decimal>| {
            write!(f, "{word}:{number}")?;
            center.iter().try_for_each(|center| write!(f, ":{center}"))
        };
        match self {
            Self::Random => f.write_str("random"),
            Self::Zipf { theta, center } => skew("zipf", theta, center),
            Self::Pareto { h, center } => skew("pareto", h, center),
            Self::Normal { deviation_percent, center } => skew("normal", deviation_percent, center),
            Self::Zoned(zones) => {
                f.write_str("zoned")?;
                zones.iter().try_for_each(|zone| write!(f, ":{zone}"))
            }
            Self::HotCold(hot) => write!(f, "hot-cold:{hot}"),
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
    use super::super::decimal::tests::decimals;
    use super::*;
    use proptest::option;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_with_a_distribution_is_named() {
        for (text, reason) in [
            ("zipf", "it needs its theta, as in zipf:1.2"),
            ("zipf:1", "theta must be above 0, below 100 and not 1"),
            ("zipf:1.2:1.5", "a centre is a share of the target, from 0 to 1"),
            ("pareto:1", "its number must be between 0 and 1"),
            ("normal:101", "the deviation must be above 0 and at most 100 percent"),
            ("zoned:60/10:30/20", "the shares of the requests add up to 90, not 100"),
            ("zoned:60/60:40/60", "the zones cover more than the target"),
            ("zoned:100", "`100` needs two percentages, of the requests and of the target"),
            ("hot-cold:100/10", "both percentages must be between 0 and 100"),
            ("random:3", "`random` takes no number"),
            ("uniform", "expected random, zipf, pareto, normal, zoned or hot-cold"),
            ("zipf:x", "`x` is not a number with up to six decimals"),
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
        let center = || option::of(decimals(0..=1_000_000));
        let inside = || decimals(1..=99_999_999);
        prop_oneof![
            Just(RandomDistribution::Random),
            (decimals(1_000_001..=99_999_999), center())
                .prop_map(|(theta, center)| RandomDistribution::Zipf { theta, center }),
            (decimals(1..=999_999), center())
                .prop_map(|(h, center)| RandomDistribution::Pareto { h, center }),
            (decimals(1..=100_000_000), center()).prop_map(|(deviation_percent, center)| {
                RandomDistribution::Normal { deviation_percent, center }
            }),
            (inside(), inside()).prop_map(|(access_percent, span_percent)| {
                RandomDistribution::HotCold(Zone { access_percent, span_percent })
            }),
            (inside(), inside()).prop_map(|(access_percent, span_percent)| {
                let hot = RandomDistribution::HotCold(Zone { access_percent, span_percent });
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
