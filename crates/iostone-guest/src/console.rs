//! What a guest printed on its serial console, read for people.

use std::io::Read;
use std::path::Path;

/// More than any guest prints before it is useless; a loop of messages must not fill the memory.
const LARGEST_BYTES: u64 = 4 << 20;
/// So many lines say what happened.
const LINES: usize = 10;
/// What the kernel prints at its end (`kernel/panic.c`).
const PANIC: &str = "Kernel panic - not syncing";

/// The text of a console's file, without control characters; empty where there is none. Of a very long one the end.
pub(crate) fn read(path: &Path) -> String {
    let Ok(mut file) = std::fs::File::open(path) else { return String::new() };
    let length = file.metadata().map_or(0, |found| found.len());
    let skip = length.saturating_sub(LARGEST_BYTES);
    if skip > 0 && std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(skip)).is_err() {
        return String::new();
    }
    let mut bytes = Vec::new();
    // What was read before an error is still worth showing.
    let _ = file.take(LARGEST_BYTES).read_to_end(&mut bytes);
    printable(&String::from_utf8_lossy(&bytes))
}

/// Without escape sequences and control characters but for line ends.
fn printable(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_sequence(&mut characters),
            '\n' => clean.push('\n'),
            '\t' => clean.push(' '),
            other if other.is_control() => {}
            other => clean.push(other),
        }
    }
    clean
}

/// A control sequence ends with a byte from `@` to `~` (ECMA-48, 5.4); any other escape is one character long.
fn skip_sequence(characters: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    if characters.next() != Some('[') {
        return;
    }
    while let Some(character) = characters.next_if(|character| !character.is_control()) {
        if ('@'..='~').contains(&character) {
            return;
        }
    }
}

/// The kernel's own line about its panic, without its time stamp.
pub(crate) fn panic_line(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains(PANIC))?;
    line.find(PANIC).and_then(|at| line.get(at..)).map(|line| line.trim().to_owned())
}

/// The lines that say what happened: the last ones; with a panic those that end with it and the ones after.
pub(crate) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let panic = lines.iter().position(|line| line.contains(PANIC));
    // A call trace after the panic would push its line out of the last ten.
    let end = panic.map_or(lines.len(), |at| (at + LINES / 2).min(lines.len()));
    let start = end.saturating_sub(LINES);
    lines.get(start..end).unwrap_or_default().iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    #[test]
    fn control_sequences_of_a_terminal_are_taken_out() {
        assert_eq!(printable("\u{1b}c\u{1b}[?7l\u{1b}[2Jhello\r\n\u{7}world\u{1b}[0m\n"), "hello\nworld\n");
        assert_eq!(printable("\u{1b}["), "");
    }

    #[test]
    fn the_line_of_a_panic_is_found_among_its_trace() {
        let mut text =
            String::from("[    1.0] booting\n[    3.2] Kernel panic - not syncing: sysrq triggered crash\n");
        for number in 0..40 {
            writeln!(text, "[    3.3]  trace+{number}").unwrap();
        }
        assert_eq!(panic_line(&text).as_deref(), Some("Kernel panic - not syncing: sysrq triggered crash"));
        let lines = last_lines(&text);
        assert!(lines.len() <= 10 && lines.iter().any(|line| line.contains("Kernel panic")), "{lines:?}");
        assert_eq!(panic_line("all is well\n"), None);
    }

    #[test]
    fn without_a_panic_the_last_ten_lines_speak() {
        let lines: Vec<String> = (0..30).map(|number| format!("line {number}\n\n")).collect();
        let text = lines.concat();
        let lines = last_lines(&text);
        assert_eq!(lines.len(), 10);
        assert_eq!(lines.last().map(String::as_str), Some("line 29"));
    }
}
