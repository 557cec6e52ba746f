//! The text of a `.lun` file: its lines, and what is wrong with them whatever exists on the machine.

use super::error::{EntryFault, LunError};

/// `PATH_MAX` of Linux, less the byte that ends a path.
const LONGEST_PATH_BYTES: usize = 4_095;
/// `NAME_MAX`.
const LONGEST_PART_BYTES: usize = 255;

/// A name in a `.lun` file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunLine {
    /// The line, from 1.
    pub number: u64,
    /// The name as it stands there, blanks and all, without the end of the line.
    pub name: String,
}

/// Reads the text of a `.lun` file, which is called `file` in messages. Empty lines are passed over; a byte order mark, line
/// ends of Windows and a missing last newline are let pass, since no name can be meant otherwise.
///
/// # Errors
/// [`LunError::NotText`], [`LunError::Empty`], or [`LunError::Entry`] for a comment, a path of Windows, and a control
/// character within a name.
pub fn parse_lun_text(file: &str, text: &[u8]) -> Result<Vec<LunLine>, LunError> {
    let wide = text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff");
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Ok(name) = std::str::from_utf8(line) else {
            return Err(LunError::NotText { file: file.to_owned(), line: number, wide });
        };
        if name.trim().is_empty() {
            continue;
        }
        if let Some(fault) = fault_of(name) {
            return Err(LunError::entry(file, number, fault));
        }
        lines.push(LunLine { number, name: name.to_owned() });
    }
    if lines.is_empty() { Err(LunError::Empty { file: file.to_owned() }) } else { Ok(lines) }
}

fn fault_of(name: &str) -> Option<EntryFault> {
    let trimmed = name.trim();
    // A tab at either end is a blank, about which more can be said once it is known what exists.
    if let Some(control) = trimmed.chars().find(|letter| letter.is_control() && *letter != '\t') {
        let what = match control {
            '\r' => "a carriage return",
            '\0' => "a zero byte",
            _ => "a control character",
        };
        return Some(EntryFault::ControlCharacter { name: trimmed.escape_debug().to_string(), what });
    }
    if trimmed.starts_with('#') {
        return Some(EntryFault::Comment { name: trimmed.to_owned() });
    }
    let part_too_long = || trimmed.split('/').any(|part| part.len() > LONGEST_PART_BYTES);
    if trimmed.len() > LONGEST_PATH_BYTES || part_too_long() {
        return Some(EntryFault::TooLong { name: trimmed.to_owned(), bytes: trimmed.len() });
    }
    is_of_windows(trimmed).then(|| EntryFault::WindowsPath { name: trimmed.to_owned() })
}

/// `\\.\E:`, `H:\ERP\X.DATA`, `E:`.
fn is_of_windows(name: &str) -> bool {
    let drive = match name.as_bytes() {
        [letter, b':'] | [letter, b':', b'\\' | b'/', ..] => letter.is_ascii_alphabetic(),
        _ => false,
    };
    drive || name.starts_with(r"\\")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(text: &str) -> Vec<(u64, String)> {
        let lines = parse_lun_text("x.lun", text.as_bytes()).expect("good text");
        lines.into_iter().map(|line| (line.number, line.name)).collect()
    }

    fn refused(text: &[u8]) -> String {
        parse_lun_text("x.lun", text).unwrap_err().to_string()
    }

    #[test]
    fn harmless_line_ends_are_let_pass() {
        let two = vec![(1, "a".to_owned()), (2, "b".to_owned())];
        for text in ["a\nb\n", "a\nb", "a\r\nb\r\n", "\u{feff}a\nb\r\n", "a\nb\n\n  \n"] {
            assert_eq!(names(text), two, "{text:?}");
        }
        assert_eq!(names("\n\n/dev/sdb\n"), [(3, "/dev/sdb".to_owned())]);
        assert_eq!(names("a \n"), [(1, "a ".to_owned())], "blanks are for later");
    }

    #[test]
    fn each_mistake_is_named() {
        assert_eq!(
            refused(b"a\n# b\n"),
            "`x.lun` line 2: `# b` is a comment, which ORION does not allow in a `.lun` file; remove the line"
        );
        for windows in [r"\\.\E:", r"H:\ERP\X.DATA", "E:"] {
            assert!(refused(windows.as_bytes()).contains("is a path of Windows"), "{windows}");
        }
        assert!(refused(b"a\rb\r").contains(r"a carriage return stands within the name `a\rb`"));
        let long = refused(&[b'a'; 5_000]);
        assert!(long.contains("aaa...aaa") && long.contains("has 5000 bytes") && long.len() < 300, "{long}");
        assert!(refused(b"a\0b").contains("a zero byte"));
        assert!(refused(b"\xff\xfea\0").contains("UTF-16"));
        assert!(refused(b"a\nb\xff\n").contains("line 2 is not text in UTF-8;"));
        assert!(refused(b" \n\n").contains("names nothing"));
        assert!(refused(b"").contains("names nothing"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(lines) = parse_lun_text("x.lun", &text) {
                prop_assert!(!lines.is_empty());
                prop_assert!(lines.iter().all(|line| !line.name.trim().is_empty() && line.number > 0));
            }
        }
    }
}
