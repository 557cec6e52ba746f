//! Which of two versions of Debian packages is newer: the order of `deb-version(7)`.

use std::cmp::Ordering;

/// Compares `[epoch:]upstream[-revision]`.
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one, other) = (Parts::of(one), Parts::of(other));
    let by_epoch = one.epoch.cmp(&other.epoch);
    by_epoch
        .then_with(|| order(one.upstream, other.upstream))
        .then_with(|| order(one.revision, other.revision))
}

struct Parts<'a> {
    epoch: u64,
    upstream: &'a str,
    revision: &'a str,
}

impl<'a> Parts<'a> {
    fn of(version: &'a str) -> Self {
        let (epoch, rest) = version.split_once(':').unwrap_or(("0", version));
        // No revision is the same as revision 0.
        let (upstream, revision) = rest.rsplit_once('-').unwrap_or((rest, "0"));
        Self { epoch: epoch.parse().unwrap_or(0), upstream, revision }
    }
}

/// Text and numbers by turns: text letter by letter, numbers by their value.
fn order(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one.as_bytes(), other.as_bytes());
    while !one.is_empty() || !other.is_empty() {
        loop {
            let (first, second) = (rank(one.first()), rank(other.first()));
            if first == 0 && second == 0 {
                break;
            }
            if first != second {
                return first.cmp(&second);
            }
            (one, other) = (rest(one), rest(other));
        }
        let (first, second) = (number(&mut one), number(&mut other));
        let by_value = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
        if by_value != Ordering::Equal {
            return by_value;
        }
    }
    Ordering::Equal
}

/// A tilde is before the end, letters are before everything else; the end and digits are in between.
fn rank(byte: Option<&u8>) -> i32 {
    match byte {
        None => 0,
        Some(byte) if byte.is_ascii_digit() => 0,
        Some(b'~') => -1,
        Some(byte) if byte.is_ascii_alphabetic() => i32::from(*byte),
        Some(byte) => i32::from(*byte) + 256,
    }
}

fn rest(bytes: &[u8]) -> &[u8] {
    bytes.split_first().map_or(bytes, |(_, rest)| rest)
}

/// The digits in front, without leading zeros.
fn number<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = bytes.split_at(length);
    *bytes = rest;
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    digits.get(zeros..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_are_in_debian_s_order() {
        let rising = [
            "0.9~rc1",
            "0.9",
            "5.10.223-1",
            "6.1.0-9",
            "6.1.0-10",
            "6.1.176-1",
            "6.12.107-1~deb12u1",
            "6.12.107-1",
            "6.12.107-1+b1",
            "6.12.113-1",
            "7.2.6-1~bpo13+1",
            "1:0.1-1",
        ];
        for pair in rising.windows(2) {
            assert_eq!(compare(pair[0], pair[1]), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare("1.0", "1.0-0"), Ordering::Equal);
        assert_eq!(compare("1.01", "1.1"), Ordering::Equal);
    }

    proptest! {
        #[test]
        fn the_order_is_one(
            one in "[0-9][0-9a-z.+~]{0,8}(-[0-9a-z~+.]{1,4})?",
            two in "[0-9][0-9a-z.+~]{0,8}(-[0-9a-z~+.]{1,4})?",
            three in "[0-9][0-9a-z.+~]{0,8}(-[0-9a-z~+.]{1,4})?",
        ) {
            prop_assert_eq!(compare(&one, &one), Ordering::Equal);
            prop_assert_eq!(compare(&one, &two), compare(&two, &one).reverse());
            if compare(&one, &two) != Ordering::Greater && compare(&two, &three) != Ordering::Greater {
                prop_assert!(compare(&one, &three) != Ordering::Greater);
            }
        }
    }
}
