//! Numbers out of kernel text, in place and without allocation.

/// The fields of a line, separated by any amount of white space.
pub(crate) fn split_fields(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty())
}

/// The lines of a text without their ends. A last line without an end is one too.
pub(crate) fn split_lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&byte| byte == b'\n')
}

/// A decimal number of digits only; `None` for anything else, including one that does not fit.
pub(crate) fn parse_decimal(field: &[u8]) -> Option<u64> {
    if field.is_empty() {
        return None;
    }
    field.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        value.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// The number that follows `key` at the start of a line: `nr_periods 12`, `Dirty:   64 kB`.
pub(crate) fn find_value(text: &[u8], key: &[u8]) -> Option<u64> {
    split_lines(text).find_map(|line| {
        let mut fields = split_fields(line);
        if fields.next()? == key { parse_decimal(fields.next()?) } else { None }
    })
}

/// The number after `prefix` in a field: `total=12` with prefix `total=`.
pub(crate) fn parse_prefixed(field: &[u8], prefix: &[u8]) -> Option<u64> {
    parse_decimal(field.strip_prefix(prefix)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_number_is_digits_only() {
        assert_eq!(parse_decimal(b"18446744073709551615"), Some(u64::MAX));
        for text in [&b"18446744073709551616"[..], b"", b"-1", b"+1", b"1.5", b"0x1", b"12a", "１".as_bytes()]
        {
            assert_eq!(parse_decimal(text), None, "{}", String::from_utf8_lossy(text));
        }
    }

    #[test]
    fn a_key_is_matched_whole_and_at_the_start_of_the_line() {
        let text = b"WritebackTmp:   7 kB\nWriteback:  3 kB\n  Writeback: 9 kB\n";
        assert_eq!(find_value(text, b"Writeback:"), Some(3));
        assert_eq!(find_value(text, b"kB"), None);
        assert_eq!(find_value(b"Dirty:", b"Dirty:"), None);
    }

    proptest! {
        #[test]
        fn every_number_is_read_back(value: u64) {
            prop_assert_eq!(parse_decimal(value.to_string().as_bytes()), Some(value));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text: Vec<u8>, key in "[a-z:]{0,4}") {
            let _ = find_value(&text, key.as_bytes());
            for line in split_lines(&text) {
                for field in split_fields(line) {
                    let _ = parse_decimal(field);
                    let _ = parse_prefixed(field, b"total=");
                }
            }
        }
    }
}
