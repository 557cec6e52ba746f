//! What is written and how it is checked: patterns, verification, errors that are passed over.

/// A pattern that buffers are filled with, again and again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes; where an offset goes, eight zeros.
    pub bytes: Vec<u8>,
    /// Where in `bytes` the block's offset is put, as eight bytes of this machine's order (`%o`).
    pub offsets_at: Vec<usize>,
}

/// The largest pattern that is taken.
const LARGEST_PATTERN_BYTES: usize = 1 << 20;

/// Reads strings in `"`, decimal and hexadecimal numbers and `%o`, in any order and number: `0xff%o"abcd"-12`.
///
/// Decimal numbers are 32 bits, their bytes lowest first without the zeros above; see fio's `lib/pattern.c`.
pub(crate) fn read_pattern(text: &str, allow_offset: bool) -> Result<Pattern, String> {
    let mut pattern = Pattern { bytes: Vec::new(), offsets_at: Vec::new() };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err("a pattern is missing".into());
    }
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '"' => {
                let (word, behind) =
                    rest[1..].split_once('"').ok_or("a `\"` is missing at the end of the string")?;
                if word.is_empty() {
                    return Err("a string is empty".into());
                }
                pattern.bytes.extend_from_slice(word.as_bytes());
                behind
            }
            '\'' => return Err("patterns out of files are not read; write the bytes as `0x...`".into()),
            '%' => {
                let behind = rest.strip_prefix("%o").ok_or("after `%` only `o` is known")?;
                if !allow_offset {
                    return Err("`%o` has a meaning in `verify_pattern` only".into());
                }
                pattern.offsets_at.push(pattern.bytes.len());
                pattern.bytes.extend_from_slice(&[0; 8]);
                behind
            }
            _ => read_number(rest, &mut pattern.bytes)?,
        };
        if pattern.bytes.len() > LARGEST_PATTERN_BYTES {
            return Err("it passes 1 MiB".into());
        }
    }
    Ok(pattern)
}

fn hex_digits(text: &str) -> Option<&str> {
    text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))
}

fn read_number<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    let Some(hex) = hex_digits(text) else { return read_decimal(text, bytes) };
    let mut length = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
    // In 0xff0x14 the second zero belongs to the next number.
    if matches!(hex.as_bytes().get(length), Some(b'x' | b'X')) && hex[..length].ends_with('0') {
        length -= 1;
    }
    let digits = &hex.as_bytes()[..length];
    if digits.is_empty() {
        return Err("digits are missing behind `0x`".into());
    }
    let nibble =
        |digit: &u8| char::from(*digit).to_digit(16).and_then(|value| u8::try_from(value).ok()).unwrap_or(0);
    // An odd number of digits begins with half a byte.
    let (half, pairs) = digits.split_at(length % 2);
    bytes.extend(half.iter().map(nibble));
    bytes.extend(pairs.chunks_exact(2).map(|pair| nibble(&pair[0]) << 4 | nibble(&pair[1])));
    Ok(&hex[length..])
}

fn read_decimal<'a>(text: &'a str, bytes: &mut Vec<u8>) -> Result<&'a str, String> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = text.len() - unsigned.len();
    let mut digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    // In -100xab the zero belongs to 0xab.
    if digits > 1 && hex_digits(&unsigned[digits - 1..]).is_some() {
        digits -= 1;
    }
    let (number, behind) = text.split_at(sign + digits);
    let value: i32 = number
        .parse()
        .map_err(|_| format!("`{text}` does not begin with a 32-bit number, `0x...`, `\"...\"` or `%o`"))?;
    let little = value.to_le_bytes();
    let length = little.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.extend_from_slice(&little[..length]);
    Ok(behind)
}

/// How written blocks are told from others; fio's `verify`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are those of the checksums")]
pub enum Verify {
    /// They are not.
    #[default]
    None,
    Md5,
    Crc64,
    Crc32,
    Crc32c,
    Crc16,
    Crc7,
    Sha1,
    Sha256,
    Sha512,
    Sha3_224,
    Sha3_256,
    Sha3_384,
    Sha3_512,
    Xxhash,
    /// Offset, time and sequence number alone.
    Meta,
    /// The pattern alone, without a header.
    Pattern,
    /// A header and the pattern.
    PatternHeader,
    /// Everything but the look at the data.
    Null,
}

pub(crate) const VERIFY_CHOICES: &[(&str, Verify)] = &[
    ("0", Verify::None),
    ("md5", Verify::Md5),
    ("crc64", Verify::Crc64),
    ("crc32", Verify::Crc32),
    ("crc32c-intel", Verify::Crc32c),
    ("crc32c", Verify::Crc32c),
    ("crc16", Verify::Crc16),
    ("crc7", Verify::Crc7),
    ("sha1", Verify::Sha1),
    ("sha256", Verify::Sha256),
    ("sha512", Verify::Sha512),
    ("sha3-224", Verify::Sha3_224),
    ("sha3-256", Verify::Sha3_256),
    ("sha3-384", Verify::Sha3_384),
    ("sha3-512", Verify::Sha3_512),
    ("xxhash", Verify::Xxhash),
    ("meta", Verify::Meta),
    ("pattern", Verify::Pattern),
    ("pattern_hdr", Verify::PatternHeader),
    ("null", Verify::Null),
];

/// Which errors a job outlives; fio's `continue_on_error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContinueOn {
    /// Errors of reads.
    pub read: bool,
    /// Errors of writes.
    pub write: bool,
    /// Blocks that do not verify.
    pub verify: bool,
}

impl ContinueOn {
    const fn of(read: bool, write: bool, verify: bool) -> Self {
        Self { read, write, verify }
    }

    pub(crate) const CHOICES: &[(&str, Self)] = &[
        ("none", Self::of(false, false, false)),
        ("0", Self::of(false, false, false)),
        ("read", Self::of(true, false, false)),
        ("write", Self::of(false, true, false)),
        ("io", Self::of(true, true, false)),
        ("verify", Self::of(false, false, true)),
        ("all", Self::of(true, true, true)),
        ("1", Self::of(true, true, true)),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn patterns_are_strings_numbers_and_offsets() {
        for (text, bytes) in [
            ("\"abcd\"", &b"abcd"[..]),
            ("-1024", &[0, 0xfc, 0xff, 0xff]),
            ("66", &[0x42]),
            ("0", &[0]),
            ("0xFF0X1", &[0xff, 1]),
            ("\"123\"0xFFeeCC", &[0x31, 0x32, 0x33, 0xff, 0xee, 0xcc]),
            ("-100xab", &[0xf6, 0xff, 0xff, 0xff, 0xab]),
            ("0xdeadbeef", &[0xde, 0xad, 0xbe, 0xef]),
            ("0xfff", &[0xf, 0xff]),
        ] {
            assert_eq!(read_pattern(text, true).map(|pattern| pattern.bytes), Ok(bytes.to_vec()), "{text}");
        }
        let pattern = read_pattern("0xff%o\"ab\"", true).unwrap();
        assert_eq!((pattern.bytes.len(), pattern.offsets_at), (11, vec![1]));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "'file'", "\"abc", "\"\"", "%x", "abc", "99999999999", "0x", "0xzz"] {
            assert!(read_pattern(text, true).is_err(), "{text}");
        }
        assert!(read_pattern("%o", false).unwrap_err().contains("verify_pattern"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+\"'%o0-9xXa-fA-F é]{0,24}", any in "\\PC{0,16}") {
            if let Ok(pattern) = read_pattern(&text, true) {
                prop_assert!(!pattern.bytes.is_empty());
                prop_assert!(pattern.offsets_at.iter().all(|at| at + 8 <= pattern.bytes.len()));
            }
            let _ = read_pattern(&any, true);
        }
    }
}
