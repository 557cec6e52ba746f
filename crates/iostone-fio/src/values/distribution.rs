//! Where random I/O goes.

use iostone_model::load::{Extent, PerDirection, RandomDistribution, Zone};
use iostone_model::units::Bytes;

use crate::number::{Amount, amount, real, size};
use crate::values::KbBase;
use crate::values::blocks::{by_direction, deal_out, pairs, percent};

/// The most zones that fio takes (`ZONESPLIT_MAX`).
const MOST_ZONES: usize = 256;

/// Reads `zipf:1.2:0.5`, `zoned:60/10:40/90`, `zoned_abs:60/20g:40/100g`; zones may differ between directions.
pub(crate) fn read_distribution(
    text: &str,
    kb_base: KbBase,
) -> Result<PerDirection<RandomDistribution>, String> {
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
        "random" if postfix.is_none() => Ok(PerDirection::default()),
        "random" => Err("`random` takes no number".into()),
        "zipf" | "pareto" | "normal" => skewed(word, postfix).map(PerDirection::all),
        "zoned" => zones(lists()?, |sizes| {
            let given = sizes.iter().map(|typed| percent(typed)).collect::<Result<Vec<_>, _>>()?;
            Ok(deal_out(&given)?.into_iter().map(|percent| Extent::Percent(percent.into())).collect())
        }),
        "zoned_abs" => zones(lists()?, |sizes| {
            let bytes = |typed: &&str| if typed.is_empty() { Ok(0) } else { size(typed, kb_base) };
            sizes.iter().map(|typed| bytes(typed).map(|bytes| Extent::Bytes(Bytes(bytes)))).collect()
        }),
        "sequence" => Err("a fixed sequence of blocks is not offered".into()),
        _ => Err("it must be one of random, zipf, pareto, normal, zoned, zoned_abs".into()),
    }
}

/// Zipf, Pareto or normal from the numbers behind the name; also what `file_service_type` takes.
pub(crate) fn skewed(word: &str, postfix: Option<&str>) -> Result<RandomDistribution, String> {
    let (first, center) = match postfix.map(|postfix| (postfix, postfix.split_once(':'))) {
        None => (None, None),
        Some((first, None)) => (Some(first), None),
        Some((_, Some((first, center)))) => (Some(first), Some(real(center, 0.0, 1.0)?)),
    };
    let number = |default: f64| first.map_or(Ok(default), |first| real(first, f64::MIN, f64::MAX));
    let distribution = match word {
        "zipf" => RandomDistribution::Zipf { theta: number(1.1)?, center },
        "pareto" => RandomDistribution::Pareto { h: number(0.2)?, center },
        _ => match number(0.0)? {
            deviation_percent if deviation_percent < 100.0 => {
                RandomDistribution::Normal { deviation_percent, center }
            }
            _ => return Err("the deviation must be below 100 per cent".into()),
        },
    };
    distribution.check().map(|()| distribution)
}

fn zones(
    text: &str,
    read_extents: impl Fn(&[&str]) -> Result<Vec<Extent>, String>,
) -> Result<PerDirection<RandomDistribution>, String> {
    let lists = by_direction(text, |part| {
        let (accesses, sizes): (Vec<_>, Vec<_>) = pairs(part, MOST_ZONES)?.into_iter().unzip();
        let access = |text: &str| match amount(text, KbBase::Binary)? {
            Amount::Plain(value @ 0..=100) => Ok(value as f64),
            _ => Err(format!("`{text}` is not a percentage from 0 to 100")),
        };
        let zones = accesses.into_iter().zip(read_extents(&sizes)?);
        let make = |(text, extent)| Ok(Zone { access_percent: access(text)?, extent });
        let distribution = RandomDistribution::Zoned(zones.map(make).collect::<Result<_, String>>()?);
        distribution.check().map(|()| distribution)
    })?;
    match lists {
        [Some(read), Some(write), Some(trim)] => Ok(PerDirection { read, write, trim }),
        _ => Err("a list of zones is empty".into()),
    }
}
