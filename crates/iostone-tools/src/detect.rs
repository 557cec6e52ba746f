//! Which tool printed a file, told by its content.

use crate::csv_table::begins_with_header;
use crate::{FORMATS, Format, Head, Likeness};

/// Why no tool could be told. Each message is about a file that the caller names before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRecognised {
    /// There is nothing in it, or nothing but blank lines.
    #[error("it is empty")]
    Empty,
    /// It must be unpacked first.
    #[error("it is {what}; unpack it first: `{command}`")]
    Packed {
        /// By what: `compressed with gzip`.
        what: &'static str,
        /// The command that unpacks it.
        command: String,
    },
    /// It is text in two bytes a character.
    #[error("it is UTF-16 text; convert it first: `{command}`")]
    Utf16 {
        /// The command that converts it.
        command: String,
    },
    /// It is no text.
    #[error("it is binary data, not the output of a tool as text")]
    Binary,
    /// Two formats are equally sure.
    #[error("it could be {first} or {second} output; say which: `--tool {first}` or `--tool {second}`")]
    Ambiguous {
        /// The one that is listed first.
        first: &'static str,
        /// The other.
        second: &'static str,
    },
    /// A described dataset is no output of a tool.
    #[error(
        "it looks like a described dataset in TOML, not the output of a tool; audit it by itself: `iostone audit {file}`"
    )]
    Described {
        /// Its name, quoted for a shell.
        file: String,
    },
    /// Nothing knows it.
    #[error(
        "no tool is known whose output begins with {start}; say which tool printed it: `--tool NAME` with one of {}",
        names().join(", ")
    )]
    Unknown {
        /// Its first line, in backticks, shortened.
        start: String,
    },
}

/// A name of a tool that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no tool `{name}` whose output could be read; {}",
    nearest.map_or_else(|| format!("there are {}", names().join(", ")), |near| format!("did you mean `{near}`?"))
)]
pub struct UnknownTool {
    name: String,
    nearest: Option<&'static str>,
}

/// The format of that name.
///
/// # Errors
/// There is none; the message has the nearest one or all.
pub fn tool(name: &str) -> Result<&'static dyn Format, UnknownTool> {
    let unknown = || {
        let nearest = iostone_model::diagnostic::nearest(name, names());
        UnknownTool { name: name.to_owned(), nearest }
    };
    crate::find(name).ok_or_else(unknown)
}

/// Tells the format of a file by its beginning: the one that is surest of it.
///
/// # Errors
/// Two are equally sure, or none knows it: then what the file is, and what to do.
pub fn detect(head: &Head<'_>) -> Result<&'static dyn Format, NotRecognised> {
    if let Some(obstacle) = obstacle(head) {
        return Err(obstacle);
    }
    let claims: Vec<(Likeness, &'static dyn Format)> =
        FORMATS.iter().map(|format| (format.recognise(head), *format)).collect();
    let surest = claims.iter().map(|(likeness, _)| *likeness).max().unwrap_or(Likeness::No);
    let mut claiming = claims.iter().filter(|(likeness, _)| *likeness == surest).map(|(_, format)| *format);
    match (surest, claiming.next(), claiming.next()) {
        (Likeness::No, _, _) | (_, None, _) => Err(unknown(head)),
        // Lines of bonnie++ 1.03 have no header, and many a row of many columns resembles one.
        (Likeness::Likely, Some(only), None) if only.name() == "bonnie" && begins_with_header(head.text) => {
            Ok(&crate::csv_table::CsvTable)
        }
        (_, Some(only), None) => Ok(only),
        // Anything with commas may be a plain table, so that it gives way to whatever else there is, and is listed last.
        (Likeness::Perhaps, Some(first), Some(second)) if second.name() == "csv" => Ok(first),
        (_, Some(first), Some(second)) => {
            Err(NotRecognised::Ambiguous { first: first.name(), second: second.name() })
        }
    }
}

/// What is told before any format is asked: the first bytes, as far as they are left where they were no text.
fn obstacle(head: &Head<'_>) -> Option<NotRecognised> {
    let text = head.text;
    let file = quote(head.name);
    let packed = |what, command: String| Some(NotRecognised::Packed { what, command });
    if text.trim().is_empty() {
        return Some(NotRecognised::Empty);
    }
    // Bytes of the magic numbers that are no UTF-8 stand as U+FFFD.
    let magic = |start: &str| text.starts_with(start);
    if magic("\u{1f}\u{fffd}\u{8}") {
        return packed("compressed with gzip", format!("gunzip -k {file}"));
    }
    if magic("\u{fffd}7zXZ") {
        return packed("compressed with xz", format!("unxz -k {file}"));
    }
    if magic("(\u{fffd}/\u{fffd}") {
        return packed("compressed with zstd", format!("unzstd {file}"));
    }
    if magic("BZh") && text.contains("1AY&SY") {
        return packed("compressed with bzip2", format!("bunzip2 -k {file}"));
    }
    if magic("\u{4}\"M\u{18}") {
        return packed("compressed with lz4", format!("unlz4 {file}"));
    }
    if magic("PK\u{3}\u{4}") {
        return packed("a ZIP archive", format!("unzip {file}"));
    }
    if text.get(257..262) == Some("ustar") {
        return packed("a tar archive", format!("tar -xf {file}"));
    }
    if is_utf16(text) {
        let command = format!("iconv -f UTF-16 -t UTF-8 {file} > {}", quote(&format!("{}.txt", head.name)));
        return Some(NotRecognised::Utf16 { command });
    }
    // Text in another encoding than UTF-8 has no control characters either, so that U+FFFD tells nothing.
    let sample: Vec<char> = text.chars().take(4096).collect();
    let strange = sample.iter().filter(|symbol| is_strange(**symbol)).count();
    (text.contains('\0') || strange * 20 > sample.len()).then_some(NotRecognised::Binary)
}

/// Control characters that logs do not have; escape begins the colours of a terminal.
fn is_strange(symbol: char) -> bool {
    symbol.is_control() && !matches!(symbol, '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' | '\u{1b}')
}

/// A byte order mark that is no UTF-8, or every other byte zero.
fn is_utf16(text: &str) -> bool {
    let start = text.strip_prefix("\u{fffd}\u{fffd}").unwrap_or(text);
    let (mut even, mut odd, mut all) = (0, 0, 0);
    for (index, symbol) in start.chars().take(200).enumerate() {
        all += 1;
        if symbol == '\0' {
            *(if index % 2 == 0 { &mut even } else { &mut odd }) += 1;
        }
    }
    let half = all / 2;
    // Mostly one byte of each pair, and never the other: zeros alone are no text.
    half > 0 && ((even * 10 >= half * 8 && odd * 10 < half) || (odd * 10 >= half * 8 && even * 10 < half))
}

fn unknown(head: &Head<'_>) -> NotRecognised {
    let described = ["[[table]]", "[[observation]]", "[[comparison]]"];
    if head.text.lines().any(|line| described.contains(&line.trim())) {
        return NotRecognised::Described { file: quote(head.name) };
    }
    let first = head.text.lines().map(str::trim).find(|line| !line.is_empty());
    let start = first.map_or_else(
        || "nothing".to_owned(),
        |line| {
            let shown: String = line.chars().filter(|symbol| !symbol.is_control()).take(60).collect();
            let more = if shown.len() < line.len() { "…" } else { "" };
            format!("`{shown}{more}`")
        },
    );
    NotRecognised::Unknown { start }
}

fn names() -> Vec<&'static str> {
    FORMATS.iter().map(|format| format.name()).collect()
}

/// A file's name as a shell takes it for one word.
fn quote(name: &str) -> String {
    let plain = |symbol: char| symbol.is_ascii_alphanumeric() || "._-+=,/@%".contains(symbol);
    let name = if name.starts_with('-') { format!("./{name}") } else { name.to_owned() };
    if !name.is_empty() && name.chars().all(plain) {
        return name;
    }
    let shown: String = name.chars().map(|symbol| if symbol.is_control() { '?' } else { symbol }).collect();
    format!("'{}'", shown.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_bytes(name: &str, bytes: &[u8]) -> String {
        let text = String::from_utf8_lossy(bytes);
        detect(&Head { name, text: &text }).map(Format::name).unwrap_err().to_string()
    }

    #[test]
    fn what_must_be_unpacked_is_said_with_the_command() {
        let is = |bytes: &[u8], message: &str| assert_eq!(of_bytes("a.log", bytes), message);
        is(
            b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48",
            "it is compressed with gzip; unpack it first: `gunzip -k a.log`",
        );
        is(b"\xfd7zXZ\x00\x00\x04", "it is compressed with xz; unpack it first: `unxz -k a.log`");
        is(b"\x28\xb5\x2f\xfd\x04\x58", "it is compressed with zstd; unpack it first: `unzstd a.log`");
        is(b"BZh91AY&SY\x00", "it is compressed with bzip2; unpack it first: `bunzip2 -k a.log`");
        is(b"PK\x03\x04\x14\x00", "it is a ZIP archive; unpack it first: `unzip a.log`");
        is(b"", "it is empty");
        is(&[0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0], "it is binary data, not the output of a tool as text");
        is(&[0; 64], "it is binary data, not the output of a tool as text");
    }

    #[test]
    fn two_bytes_a_character_are_noticed() {
        let text = "a,b\n1,2\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for (mark, bytes) in [(&b"\xff\xfe"[..], &little), (b"\xfe\xff", &big), (b"", &little)] {
            let marked = [mark, bytes].concat();
            assert_eq!(
                of_bytes("it's.csv", &marked),
                r"it is UTF-16 text; convert it first: `iconv -f UTF-16 -t UTF-8 'it'\''s.csv' > 'it'\''s.csv.txt'`"
            );
        }
    }

    #[test]
    fn what_nothing_knows_is_shown_with_the_tools_there_are() {
        let message = of_bytes("a.log", b"\n  hello there\n");
        assert!(
            message.starts_with("no tool is known whose output begins with `hello there`; say which"),
            "{message}"
        );
        assert!(message.ends_with("phoronix, iostone, csv"), "{message}");
        // Japanese in EUC, as old systems wrote it, is text.
        assert!(of_bytes("a", b"\xb5\xad\xcf\xbf \xc6\xfe\xce\xcf\n").contains("no tool is known"));
        assert!(of_bytes("-x", b"[[table]]\nfile = \"a.csv\"\n").contains("`iostone audit ./-x`"));
    }

    #[test]
    fn a_plain_table_is_recognised_when_nothing_else_claims_it() {
        let head = Head { name: "table.txt", text: "condition;mb_s\non;1,5\noff;1,6\n" };
        assert_eq!(detect(&head).unwrap().name(), "csv");
    }

    #[test]
    fn a_mistyped_tool_is_met_with_the_nearest() {
        assert_eq!(tool("dbench").unwrap().name(), "dbench");
        let error = |name: &str| tool(name).map(Format::name).unwrap_err().to_string();
        assert_eq!(
            error("dbnech"),
            "there is no tool `dbnech` whose output could be read; did you mean `dbench`?"
        );
        assert!(error("spreadsheet").contains("there are dbench, bonnie, "));
    }
}
