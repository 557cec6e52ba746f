//! Quantities as people type them, with what is wrong in their units: told where it can be read, refused where it cannot.

use std::str::FromStr;

use anyhow::{Result, anyhow, bail};
use iostone_cloud::Expectation;
use iostone_model::cloud::VolumeSpec;
use iostone_model::units::{ByteRate, Bytes, Fraction, Span, UnitError};
use iostone_model::verdict::Flag;
use iostone_report::clean;

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;
/// How near two rates are that are the same but for their units.
const SAME: f64 = 0.002;

/// A quantity and what is doubtful in how it was written.
#[derive(Debug, Clone)]
pub(crate) struct Parsed<T> {
    pub(crate) value: T,
    pub(crate) said: String,
    pub(crate) mistakes: Vec<Flag>,
}

impl<T> Parsed<T> {
    fn of(value: T, said: &str, mistake: Option<Flag>) -> Self {
        Self { value, said: said.trim().to_owned(), mistakes: mistake.into_iter().collect() }
    }
}

/// A size: `220GiB`.
pub(crate) fn size(text: &str) -> Result<Parsed<Bytes>> {
    if text.trim_start().starts_with('-') {
        bail!("`{}` is not a size above 0, as in 5GiB", clean(text));
    }
    let (number, unit) = split(text);
    if unit.is_empty()
        && let Ok(value) = number.parse::<f64>()
        && value > 0.0
    {
        bail!(
            "`{number}` has no unit: {number}GiB is {} GB, and {number}GB is {} GiB",
            short(value * GIB / 1e9),
            short(value * 1e9 / GIB)
        );
    }
    if let Some(prefix) = unit.strip_suffix("bit").or_else(|| unit.strip_suffix('b'))
        && matches!(prefix, "k" | "K" | "M" | "G" | "T" | "Ki" | "Mi" | "Gi" | "Ti")
    {
        bail!("`{}` are bits; a size counts bytes: {number}{prefix}B", clean(text));
    }
    let value: Bytes = text.parse()?;
    if value.0 == 0 {
        bail!("`{}` must be above 0", clean(text));
    }
    let thousands = number.parse::<u64>().ok().filter(|count| *count >= 10_000 && count.is_multiple_of(1000));
    let mistake = thousands.zip(larger(unit)).map(|(count, larger)| {
        let meant = count / 1000;
        Flag::new(
            "unit-thousands",
            format!(
                "{count}{unit} is {} {larger}, not {meant}: 1 {larger} is 1024 {unit}, and {meant}{larger} is {}{unit}",
                short(count as f64 / 1024.0),
                meant * 1024
            ),
        )
    });
    Ok(Parsed::of(value, text, mistake))
}

/// The next larger of the binary units.
fn larger(unit: &str) -> Option<&'static str> {
    match unit {
        "KiB" => Some("MiB"),
        "MiB" => Some("GiB"),
        "GiB" => Some("TiB"),
        _ => None,
    }
}

/// A rate: `62.5MB/s`, `500Mbps`; other spellings are read and told.
pub(crate) fn rate(text: &str) -> Result<Parsed<ByteRate>> {
    let (number, unit) = split(text);
    let failed = match text.parse::<ByteRate>() {
        Ok(value) if value.0 == 0 => bail!("`{}` must be above 0", clean(text)),
        Ok(value) => return Ok(Parsed::of(value, text, None)),
        Err(error) => error,
    };
    let Some(usual) = usual_spelling(unit) else { return Err(told(number, unit, failed)) };
    let value: ByteRate = format!("{number}{usual}").parse()?;
    let bits = if usual.ends_with("bps") { "bits" } else { "bytes" };
    let flag = Flag::new(
        "unit-spelling",
        format!("`{}` is read as {number}{usual}, {bits}: {} MB/s", text.trim(), short(value.0 as f64 / 1e6)),
    );
    Ok(Parsed::of(value, text, Some(flag)))
}

/// A rate without its time gets the hint that it lacks one.
fn told(number: &str, unit: &str, error: UnitError) -> anyhow::Error {
    if Bytes::from_str(&format!("{number}{unit}")).is_ok() && !unit.is_empty() {
        return anyhow!("`{number}{unit}` is a size; a rate is {number}{unit}/s");
    }
    if unit.is_empty() && number.parse::<f64>().is_ok() {
        return anyhow!(
            "`{number}` has no unit: {number}MB/s are bytes, {number}Mbps are bits, an eighth as much"
        );
    }
    error.into()
}

/// How iostone spells a unit of rates that others spell in another way.
fn usual_spelling(unit: &str) -> Option<&'static str> {
    Some(match unit {
        "kb/s" | "Kb/s" | "kbit/s" | "Kbit/s" => "kbps",
        "Mb/s" | "Mbit/s" | "mbps" | "MBit/s" => "Mbps",
        "Gb/s" | "Gbit/s" | "gbps" | "GBit/s" => "Gbps",
        "kBps" | "KBps" => "kB/s",
        "MBps" => "MB/s",
        "GBps" => "GB/s",
        "KiBps" => "KiB/s",
        "MiBps" => "MiB/s",
        "GiBps" => "GiB/s",
        _ => return None,
    })
}

/// Volumes: `gp2:220GiB`, `4xgp3:500GiB:6000iops:250MiB/s`.
pub(crate) fn volumes(text: &str) -> Result<Parsed<VolumeSpec>> {
    let mut mistakes = Vec::new();
    let mut parts = Vec::new();
    let mut decimal_rate = None;
    for (place, part) in text.trim().split(':').enumerate() {
        let is_iops = part.to_ascii_lowercase().ends_with("iops");
        match place {
            1 => {
                mistakes.extend(size(part)?.mistakes);
                parts.push(part.to_owned());
            }
            _ if place > 1 && !is_iops => {
                let asked = rate(part)?;
                decimal_rate = Some(asked.clone()).filter(|asked| !asked.said.contains("iB"));
                mistakes.extend(asked.mistakes);
                parts.push(asked.value.to_string());
            }
            _ => parts.push(part.to_owned()),
        }
    }
    let spec: VolumeSpec = parts.join(":").parse()?;
    // GCP writes GB and means GiB, and Sakura counts in its own steps: only of EBS is it known what a GB is taken for.
    if spec.provider == "aws" {
        if !spec.size.0.is_multiple_of(1 << 30) {
            let said = parts.get(1).map_or("", String::as_str);
            let (number, _) = split(said);
            mistakes.push(Flag::new(
                "unit-volume",
                format!(
                    "EBS counts GiB: {said} is {} GiB; {number}GiB would be {} GB",
                    short(spec.size.0 as f64 / GIB),
                    short(number.parse::<f64>().unwrap_or_default() * GIB / 1e9)
                ),
            ));
        }
        if let Some(asked) = decimal_rate {
            let said = &asked.said;
            let binary = short(asked.value.0 as f64 / MIB);
            mistakes.push(Flag::new(
                "unit-volume",
                format!("EBS counts provisioned throughput in MiB/s: {said} is {binary} MiB/s"),
            ));
        }
    }
    Ok(Parsed { value: spec, said: text.trim().to_owned(), mistakes })
}

/// What is doubtful in a link that is given in place of an instance's own.
pub(crate) fn link_mistake(asked: &Parsed<ByteRate>, own: f64) -> Option<Flag> {
    let ratio = asked.value.0 as f64 / own;
    let is = |other: f64| (ratio / other - 1.0).abs() < SAME;
    let bits = short(own * 8.0 / 1e6);
    let units = format!("{bits} Mbps = {} MB/s = {} MiB/s", short(own / 1e6), short(own / MIB));
    let said = &asked.said;
    let binary = MIB / 1e6;
    if is(8.0) || is(8.0 * binary) {
        let flag = format!("{said} is 8 times the type's link: its {bits} Mbps are bits; {units}");
        return Some(Flag::new("unit-bits", flag));
    }
    if is(0.125) || is(binary / 8.0) {
        let flag = format!("{said} is an eighth of the type's link, which is {units}");
        return Some(Flag::new("unit-bits", flag));
    }
    (is(binary) || is(1.0 / binary)).then(|| {
        Flag::new(
            "unit-binary",
            format!("{said} is {} Mbps; the type's link is {units}", short(asked.value.0 as f64 * 8.0 / 1e6)),
        )
    })
}

/// What is doubtful in an amount beside a volume: the same number in the other unit.
pub(crate) fn amount_mistake(asked: &Parsed<Bytes>, volumes: &Parsed<VolumeSpec>) -> Option<Flag> {
    let volume = volumes.value.size;
    let (number, unit) = split(&asked.said);
    let (room, other) = (volume.to_string(), split(&volume.to_string()).0.to_owned());
    let is_other = unit.contains("iB") != room.contains("iB");
    (number == other && is_other && asked.value != volume && volumes.value.count == 1).then(|| {
        Flag::new(
            "unit-amount",
            format!("{} is {}, and the volume has {room}", asked.said, asked.value.in_words()),
        )
    })
}

/// A span of time, in days too.
pub(crate) fn seconds(text: &str) -> Result<f64> {
    let (number, unit) = split(text);
    if unit.is_empty() && number.parse::<f64>().is_ok() {
        bail!("`{number}` has no unit: {number}s, {number}min, {number}h");
    }
    let seconds = match unit {
        "d" => format!("{number}h").parse::<Span>()?.0.as_secs_f64() * 24.0,
        _ => text.parse::<Span>()?.0.as_secs_f64(),
    };
    if seconds <= 0.0 {
        bail!("`{}` must be above 0", clean(text));
    }
    Ok(seconds)
}

/// A time as precisely as it was said: "23min" is half a minute either way.
pub(crate) fn expectation(text: &str) -> Result<Expectation> {
    let seconds = seconds(text)?;
    let (number, _) = split(text);
    let value: f64 = number.parse()?;
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let digit = 10_f64.powi(-i32::try_from(decimals).unwrap_or(i32::MAX));
    Ok(Expectation { seconds, half_digit: seconds / value * digit / 2.0 })
}

/// What is said of processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum CpuUse {
    /// A limit, of one processor.
    Share(Fraction),
    /// CPU time that a byte takes, in seconds of one processor.
    SecondsPerByte(f64),
}

/// `30%`, or `2s/GiB`.
pub(crate) fn cpu(text: &str) -> Result<CpuUse> {
    if let Ok(share) = text.parse::<Fraction>() {
        return Ok(CpuUse::Share(share));
    }
    match text.trim().strip_suffix("/GiB") {
        Some(span) => Ok(CpuUse::SecondsPerByte(seconds(span)? / GIB)),
        None => bail!("`{}` is neither a limit, as in 30%, nor CPU time per GiB, as in 2s/GiB", clean(text)),
    }
}

/// A share of a whole: at most `100%`.
pub(crate) fn share(text: &str) -> Result<Fraction> {
    let share: Fraction = text.parse()?;
    if share.0 > 1.0 {
        bail!("`{}` is above 100%", clean(text));
    }
    Ok(share)
}

/// What buckets hold at the start: `full`, `empty`, `40%`.
pub(crate) fn start(text: &str) -> Result<Fraction> {
    match text.trim() {
        "full" => Ok(Fraction(1.0)),
        "empty" => Ok(Fraction(0.0)),
        share => match share.parse::<Fraction>() {
            Ok(share) if share.0 <= 1.0 => Ok(share),
            _ => bail!("`{}` is not full, empty or a share as in 40%", clean(text)),
        },
    }
}

fn split(text: &str) -> (&str, &str) {
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    (number, unit.trim_start())
}

/// At most one decimal.
fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags<T>(asked: &Parsed<T>) -> String {
        asked.mistakes.iter().map(|flag| flag.message.clone()).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn a_size_without_a_unit_is_refused_with_what_was_meant() {
        let refused = |text: &str| size(text).expect_err(text).to_string();
        assert_eq!(refused("220"), "`220` has no unit: 220GiB is 236.2 GB, and 220GB is 204.9 GiB");
        assert_eq!(refused("220Gb"), "`220Gb` are bits; a size counts bytes: 220GB");
        assert_eq!(refused("0GiB"), "`0GiB` must be above 0");
    }

    #[test]
    fn a_thousand_mib_is_no_gib() {
        let asked = size("220000MiB").expect("a size");
        assert_eq!(
            flags(&asked),
            "220000MiB is 214.8 GiB, not 220: 1 GiB is 1024 MiB, and 220GiB is 225280MiB"
        );
        assert!(size("225280MiB").expect("a size").mistakes.is_empty());
    }

    #[test]
    fn other_spellings_of_rates_are_read_and_told() {
        let bits = rate("500Mb/s").expect("a rate");
        assert_eq!(bits.value, ByteRate(62_500_000));
        assert_eq!(flags(&bits), "`500Mb/s` is read as 500Mbps, bits: 62.5 MB/s");
        assert_eq!(rate("62.5MBps").expect("a rate").value, ByteRate(62_500_000));
        assert!(rate("62.5MB/s").expect("a rate").mistakes.is_empty());
        assert_eq!(rate("500MB").expect_err("a size").to_string(), "`500MB` is a size; a rate is 500MB/s");
        assert!(rate("500").expect_err("no unit").to_string().contains("an eighth as much"));
    }

    #[test]
    fn volumes_count_in_gib_and_mib() {
        let asked = volumes("gp2:220GB").expect("a volume");
        assert_eq!(flags(&asked), "EBS counts GiB: 220GB is 204.9 GiB; 220GiB would be 236.2 GB");
        let asked = volumes("gp3:500GiB:6000iops:250MB/s").expect("a volume");
        assert_eq!(flags(&asked), "EBS counts provisioned throughput in MiB/s: 250MB/s is 238.4 MiB/s");
        assert!(volumes("gp3:500GiB:6000iops:250MiB/s").expect("a volume").mistakes.is_empty());
    }

    #[test]
    fn a_link_in_the_wrong_unit_is_told() {
        let told = |text: &str| link_mistake(&rate(text).expect(text), 62.5e6).map(|flag| flag.message);
        assert!(told("500MB/s").is_some_and(|message| message.contains("8 times the type's link")));
        let binary = told("62.5MiB/s").expect("a mistake");
        assert!(binary.contains("500 Mbps = 62.5 MB/s = 59.6 MiB/s"), "{binary}");
        assert_eq!((told("500Mbps"), told("1000Mbps")), (None, None));
    }

    #[test]
    fn an_expectation_is_as_precise_as_it_was_said() {
        let said = expectation("23min").expect("a time");
        assert_eq!((said.seconds, said.half_digit), (1380.0, 30.0));
        let said = expectation("22.9min").expect("a time");
        assert!((said.half_digit - 3.0).abs() < 1e-9);
    }
}
