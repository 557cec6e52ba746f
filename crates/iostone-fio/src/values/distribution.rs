//! Where random I/O goes.

use iostone_model::units::Bytes;
use serde::Serialize;

use crate::number::{Amount, amount, real, size};
use crate::values::blocks::{by_direction, deal_out, pairs, percent};
use crate::values::{ByDirection, KbBase};

/// The size of a zone of [`Distribution::Zoned`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ZoneSize {
    /// A share of the job's region.
    Percent(u8),
    /// Bytes; 0 is all that is left.
    Bytes(Bytes),
}

/// One zone of [`Distribution::Zoned`]; they follow each other from the start of the region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Zone {
    /// The share of the I/Os that go there. The shares of a direction add up to 100.
    pub access_percent: u8,
    /// How much of the region it covers.
    pub size: ZoneSize,
}

/// Where random I/O goes; fio's `random_distribution`. All but `Uniform` do without a map of visited blocks.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Distribution {
    /// Everywhere alike.
    #[default]
    Uniform,
    /// Zipf.
    Zipf {
        /// The exponent, not 1 (default 1.1).
        theta: f64,
        /// Where the hottest block is, as a fraction of the region; none is a random place.
        centre: Option<f64>,
    },
    /// Pareto.
    Pareto {
        /// The power, between 0 and 1 (default 0.2).
        power: f64,
        /// Where the hottest block is, as a fraction of the region; none is a random place.
        centre: Option<f64>,
    },
    /// Normal.
    Normal {
        /// Standard deviation in per cent of the region, below 100 (default 0).
        deviation_percent: f64,
        /// The mean, as a fraction of the region; none is the middle.
        centre: Option<f64>,
    },
    /// By zones of given shares.
    Zoned(Box<ByDirection<Vec<Zone>>>),
}

/// The most zones that fio takes (`ZONESPLIT_MAX`).
const MOST_ZONES: usize = 256;

/// Reads `zipf:1.2:0.5`, `zoned:60/10:40/90`, `zoned_abs:60/20g:40/100g`.
pub(crate) fn read_distribution(text: &str, kb_base: KbBase) -> Result<Distribution, String> {
    let text = text.trim();
    let (word, postfix) = match text.split_once(':') {
        Some((word, postfix)) => (word, Some(postfix)),
        None => (text, None),
    };
    let lists = || {
        postfix
            .filter(|postfix| !postfix.is_empty())
            .ok_or_else(|| format!("`{word}` needs a list behind a `:`"))
    };
    match word {
        "random" if postfix.is_none() => Ok(Distribution::Uniform),
        "random" => Err("`random` takes no number".into()),
        "zipf" | "pareto" | "normal" => skewed(word, postfix),
        "zoned" => zones(lists()?, |typed| Ok(ZoneSize::Percent(percent(typed)?.unwrap_or(0)))),
        "zoned_abs" => zones(lists()?, |typed| {
            if typed.is_empty() {
                Ok(ZoneSize::Bytes(Bytes(0)))
            } else {
                size(typed, kb_base).map(|size| ZoneSize::Bytes(Bytes(size)))
            }
        }),
        "sequence" => Err("a fixed sequence of blocks is not offered".into()),
        _ => Err("it must be one of random, zipf, pareto, normal, zoned, zoned_abs".into()),
    }
}

/// Zipf, Pareto or normal from the numbers behind the name; also what `file_service_type` takes.
pub(crate) fn skewed(word: &str, postfix: Option<&str>) -> Result<Distribution, String> {
    let (first, centre) = match postfix {
        None => (None, None),
        Some(postfix) => {
            let (first, centre) =
                postfix.split_once(':').map_or((postfix, None), |(first, rest)| (first, Some(rest)));
            (Some(first), centre)
        }
    };
    let centre = centre.map(|centre| real(centre, 0.0, 1.0)).transpose()?;
    let number = |default: f64| first.map_or(Ok(default), |first| real(first, f64::MIN, f64::MAX));
    match word {
        "zipf" => match number(1.1)? {
            theta if (theta - 1.0).abs() < f64::EPSILON => Err("the exponent of zipf must not be 1".into()),
            theta if theta <= 0.0 => Err("the exponent of zipf must be above 0".into()),
            theta => Ok(Distribution::Zipf { theta, centre }),
        },
        "pareto" => match number(0.2)? {
            power if power > 0.0 && power < 1.0 => Ok(Distribution::Pareto { power, centre }),
            _ => Err("the power of pareto must be between 0 and 1".into()),
        },
        _ => match number(0.0)? {
            deviation_percent if (0.0..100.0).contains(&deviation_percent) => {
                Ok(Distribution::Normal { deviation_percent, centre })
            }
            _ => Err("the deviation must be from 0 to below 100 per cent".into()),
        },
    }
}

fn zones(
    text: &str,
    mut read_size: impl FnMut(&str) -> Result<ZoneSize, String>,
) -> Result<Distribution, String> {
    let lists = by_direction(text, |part| {
        let mut zones = Vec::new();
        let mut sizes = Vec::new();
        for (access, typed) in pairs(part, MOST_ZONES)? {
            let access_percent = match amount(access, KbBase::Binary)? {
                Amount::Plain(value) => u8::try_from(value).ok().filter(|percent| *percent <= 100),
                _ => None,
            };
            let access_percent =
                access_percent.ok_or_else(|| format!("`{access}` is not a percentage from 0 to 100"))?;
            let size = read_size(typed)?;
            sizes.push(match size {
                ZoneSize::Percent(percent) if percent > 0 => Some(percent),
                _ => None,
            });
            zones.push(Zone { access_percent, size });
        }
        let sum: u32 = zones.iter().map(|zone| u32::from(zone.access_percent)).sum();
        if sum != 100 {
            return Err(format!("the shares of the I/Os add up to {sum}, not to 100"));
        }
        if zones.iter().all(|zone| matches!(zone.size, ZoneSize::Percent(_))) {
            for (zone, percent) in zones.iter_mut().zip(deal_out(&sizes)?) {
                zone.size = ZoneSize::Percent(percent);
            }
        }
        Ok(zones)
    })?;
    match lists {
        [Some(read), Some(write), Some(trim)] => {
            Ok(Distribution::Zoned(Box::new(ByDirection { read, write, trim })))
        }
        _ => Err("a list of zones is empty".into()),
    }
}
