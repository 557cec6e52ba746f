//! Numbers with prefixes and units as fio prints them for people: `55.8k`, `218MiB/s`, `1021.3k`.

use iostone_model::dataset::Figure;

use crate::units::figure;

/// What `KB` without an `i` stands for: 1000 since fio 2.17, 1024 before, where `kb_base` was 1024.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kilo {
    Decimal,
    Binary,
}

/// A count, with a decimal prefix or none (`num2str` with `N2S_NONE`): `5217`, `10.1k`, `12M`.
pub(super) fn count(text: &str) -> Option<Figure> {
    let (number, unit) = split(text);
    let power = match unit.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 3,
        "m" => 6,
        "g" => 9,
        "t" => 12,
        _ => return None,
    };
    figure(number, 10f64.powi(power))
}

/// Bytes, or bytes a second where it ends with `/s`: `218MiB`, `229MB/s`, `1834Mbit/s`, `437.0MB`, `80000KB/s`.
pub(super) fn bytes(text: &str, kilo: Kilo) -> Option<Figure> {
    let (number, unit) = split(text);
    let unit = unit.strip_suffix("/s").unwrap_or(unit).to_ascii_lowercase();
    let (prefix, size) = match unit.strip_suffix("bit") {
        Some(prefix) => (prefix, 0.125),
        None => (unit.strip_suffix('b').unwrap_or(&unit), 1.0),
    };
    let (prefix, binary) = match prefix.strip_suffix('i') {
        Some(prefix) => (prefix, true),
        None => (prefix, kilo == Kilo::Binary),
    };
    let power = power_of(prefix)?;
    let base: f64 = if binary { 1024.0 } else { 1000.0 };
    figure(number, size * base.powi(power.into()))
}

/// The digits, and what follows them.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|char: char| !(char.is_ascii_digit() || char == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(end).unwrap_or((text, ""));
    (number, unit.trim())
}

/// The power of the base that a prefix in small letters stands for.
pub(super) fn power_of(prefix: &str) -> Option<u8> {
    Some(match prefix {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_those_of_the_version() {
        let value = |figure: Option<Figure>| figure.unwrap().value;
        assert_eq!(count("55.8k"), Some(Figure { value: 55_800.0, step: 100.0 }));
        assert_eq!(count("5217"), Some(Figure { value: 5217.0, step: 1.0 }));
        assert!((value(bytes("218MiB/s", Kilo::Decimal)) - 228_589_568.0).abs() < 1.0);
        assert!((value(bytes("229MB/s", Kilo::Decimal)) - 229e6).abs() < 1.0);
        assert!((value(bytes("437.0MB", Kilo::Binary)) - 437.0 * 1_048_576.0).abs() < 1.0);
        assert!((value(bytes("80000KB/s", Kilo::Binary)) - 81_920_000.0).abs() < 1.0);
        assert!((value(bytes("1834Mbit/s", Kilo::Decimal)) - 229.25e6).abs() < 1.0);
        assert!((value(bytes("512B/s", Kilo::Decimal)) - 512.0).abs() < 1e-9);
        assert_eq!((count("x"), bytes("", Kilo::Binary), bytes("3XB", Kilo::Binary)), (None, None, None));
    }
}
