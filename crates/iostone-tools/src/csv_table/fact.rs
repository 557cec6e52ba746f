//! Facts by their name: what a column or a key of a described dataset may set, and how its value is written.

use iostone_model::dataset::{DataKind, Ending, Facts};
use iostone_model::units::{Bytes, BytesPerSecond, Fraction};

/// What can be told in one word, number or quantity, as named in [`Facts`].
pub(crate) const KEYS: &[&str] = &[
    "work",
    "instance",
    "volume",
    "date",
    "claimed_read_bytes",
    "claimed_written_bytes",
    "served_read_bytes",
    "served_written_bytes",
    "working_set_bytes",
    "memory_bytes",
    "volume_bytes",
    "direct",
    "flushed",
    "syncs_dropped_by",
    "flushes_off_by",
    "compressed_by",
    "served_flushes",
    "volatile_cache",
    "source",
    "source_bytes_per_second",
    "data",
    "steal",
    "throttled",
    "cpu_quota",
    "cpus",
    "cpus_used",
    "command",
    "network",
    "ending",
];

/// What is decided before something runs, and so may be what was varied; the others are measured.
pub(crate) const CHOSEN: &[&str] = &[
    "work",
    "instance",
    "volume",
    "working_set_bytes",
    "memory_bytes",
    "volume_bytes",
    "direct",
    "flushed",
    "source",
    "data",
    "cpu_quota",
    "cpus",
    "command",
];

const SIZE: &str = "a size, as in `15GiB`, or a number of bytes";
const RATE: &str = "a rate, as in `120MB/s`, or a number of bytes a second";
const SHARE: &str = "a share, as in `40%`, or a number from 0 to 1";
const VOLUME: &str = "a volume as TYPE:SIZE[:IOPSiops][:RATE], as in `gp2:220GiB` or `io1:300GiB:1000iops`";
const DATE: &str = "a day, a month or a year, as in `2017-07-10`, `2017-07` or `2017`";
const INSTANCE: &str = "an instance type, as in `c4.large`";
const COUNT: &str = "a whole number, as in `18342`";
const CPUS: &str = "a number of CPUs, as in `0.3` or `30%`";

/// Sets a fact from its text. A name that is not among [`KEYS`] sets nothing.
///
/// # Errors
/// What was expected instead of the text.
pub(crate) fn set(facts: &mut Facts, key: &str, text: &str) -> Result<(), &'static str> {
    let word = || Some(text.to_owned());
    match key {
        "work" => facts.work = word(),
        "instance" => facts.instance = Some(instance(text)?),
        "volume" => facts.volume = Some(text.parse().map_err(|_| VOLUME)?),
        "date" => facts.date = Some(text.parse().map_err(|_| DATE)?),
        "claimed_read_bytes" => facts.claimed_read_bytes = Some(size(text)?),
        "claimed_written_bytes" => facts.claimed_written_bytes = Some(size(text)?),
        "served_read_bytes" => facts.served_read_bytes = Some(size(text)?),
        "served_written_bytes" => facts.served_written_bytes = Some(size(text)?),
        "working_set_bytes" => facts.working_set_bytes = Some(size(text)?),
        "memory_bytes" => facts.memory_bytes = Some(size(text)?),
        "volume_bytes" => facts.volume_bytes = Some(size(text)?),
        "direct" => facts.direct = Some(truth(text)?),
        "flushed" => facts.flushed = Some(truth(text)?),
        "syncs_dropped_by" => facts.syncs_dropped_by = word(),
        "flushes_off_by" => facts.flushes_off_by = word(),
        "compressed_by" => facts.compressed_by = word(),
        "served_flushes" => facts.served_flushes = Some(text.parse().map_err(|_| COUNT)?),
        "volatile_cache" => facts.volatile_cache = Some(truth(text)?),
        "source" => facts.source = word(),
        "source_bytes_per_second" => facts.source_bytes_per_second = Some(rate(text)?),
        "data" => facts.data = Some(data(text)?),
        "steal" => facts.steal = Some(share(text)?),
        "throttled" => facts.throttled = Some(share(text)?),
        "cpu_quota" => facts.cpu_quota = Some(cpus(text)?),
        "cpus" => facts.cpus = Some(cpus(text)?),
        "cpus_used" => facts.cpus_used = Some(cpus(text)?),
        "command" => facts.command = word(),
        "network" => facts.network = word(),
        "ending" => facts.ending = Some(ending(text)?),
        _ => {}
    }
    Ok(())
}

/// A name of letters, digits, points and hyphens, as every provider's types have.
fn instance(text: &str) -> Result<String, &'static str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    let name = text.trim();
    if name.is_empty() || !name.chars().all(is_name) { Err(INSTANCE) } else { Ok(name.to_owned()) }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)
}

/// Published sizes are rounded (`17.1GiB` of memory is no whole number of bytes), so they are rounded to a byte here.
fn size(text: &str) -> Result<u64, &'static str> {
    if let Ok(bytes) = text.parse::<u64>() {
        return Ok(bytes);
    }
    let digits = text.find(|symbol: char| !symbol.is_ascii_digit() && symbol != '.').unwrap_or(text.len());
    let (amount, unit) = text.split_at_checked(digits).unwrap_or_default();
    let unit = if unit.is_empty() { "B" } else { unit.trim_start() };
    let unit = format!("1{unit}").parse::<Bytes>().map_err(|_| SIZE)?;
    let bytes = number(amount).ok_or(SIZE)? * unit.0 as f64;
    // Above that an f64 no longer holds every whole number.
    if bytes >= 9_007_199_254_740_992.0 {
        return Err(SIZE);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and never negative")]
    Ok(bytes.round() as u64)
}

fn rate(text: &str) -> Result<f64, &'static str> {
    number(text).or_else(|| text.parse::<BytesPerSecond>().ok().map(|rate| rate.0)).ok_or(RATE)
}

fn share(text: &str) -> Result<f64, &'static str> {
    let value = number(text).or_else(|| text.parse::<Fraction>().ok().map(|share| share.0));
    value.filter(|value| *value <= 1.0).ok_or(SHARE)
}

fn cpus(text: &str) -> Result<f64, &'static str> {
    number(text).or_else(|| text.parse::<Fraction>().ok().map(|share| share.0)).ok_or(CPUS)
}

fn truth(text: &str) -> Result<bool, &'static str> {
    match text.to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err("`true` or `false`"),
    }
}

fn data(text: &str) -> Result<DataKind, &'static str> {
    match text.to_lowercase().as_str() {
        "zeros" | "zero" | "zeroes" => Ok(DataKind::Zeros),
        "sparse" => Ok(DataKind::Sparse),
        "repeated" => Ok(DataKind::Repeated),
        "compressible" => Ok(DataKind::Compressible),
        "random" => Ok(DataKind::Random),
        _ => Err("`zeros`, `sparse`, `repeated`, `compressible` or `random`"),
    }
}

/// `completed`, `disk-full`, `given-up: after two weeks`, `failed: Input/output error`.
fn ending(text: &str) -> Result<Ending, &'static str> {
    let (how, why) = text.split_once(':').map_or((text, ""), |(how, why)| (how.trim_end(), why.trim()));
    match how.to_lowercase().replace([' ', '_'], "-").as_str() {
        "completed" if why.is_empty() => Ok(Ending::Completed),
        "disk-full" if why.is_empty() => Ok(Ending::DiskFull),
        "given-up" => Ok(Ending::GivenUp(why.to_owned())),
        "failed" => Ok(Ending::Failed(why.to_owned())),
        _ => Err("`completed`, `disk-full`, `given-up: WHY` or `failed: WHY`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_sets_the_fact_of_that_name() {
        let texts = [
            "7.5GiB",
            "40%",
            "true",
            "zeros",
            "Disk full",
            "120MB/s",
            "2017-07",
            "gp2:220GiB",
            "c4.large",
            "18342",
        ];
        for key in KEYS {
            let set_by = texts.iter().find_map(|text| {
                let mut facts = Facts::default();
                set(&mut facts, key, text).ok().map(|()| facts)
            });
            let json = serde_json::to_value(set_by.unwrap()).unwrap();
            assert_eq!(json.as_object().unwrap().keys().collect::<Vec<_>>(), [key]);
        }
        assert!(CHOSEN.iter().all(|key| KEYS.contains(key)));
    }

    #[test]
    fn sizes_are_rounded_to_a_byte() {
        assert_eq!(size("1024"), Ok(1024));
        assert_eq!(size("7.5GiB"), Ok(8_053_063_680));
        assert_eq!(size("17.1 GiB"), Ok(18_360_985_190));
        assert_eq!(size("232303771648.0"), Ok(232_303_771_648));
        assert!(
            size("").is_err() && size("-1").is_err() && size("1e400GiB").is_err() && size("15G/s").is_err()
        );
        assert!(size("µ").is_err());
    }

    #[test]
    fn shares_stay_within_one() {
        assert_eq!(share("40%"), Ok(0.4));
        assert_eq!(share("0.4"), Ok(0.4));
        assert_eq!(share("40"), Err(SHARE));
        assert_eq!(cpus("30%"), Ok(0.3));
        assert_eq!(ending("given-up: after two weeks"), Ok(Ending::GivenUp("after two weeks".to_owned())));
        assert!(ending("tired").is_err());
    }
}
