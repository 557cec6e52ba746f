//! What a guest printed on its serial console, read for people.

use std::io::Read;
use std::path::Path;

/// More than any guest prints before it is useless; a loop of messages must not fill the memory.
const LARGEST_BYTES: u64 = 4 << 20;
/// So many lines at the end say what happened.
const LINES: usize = 5;
/// What the kernel's first line about a trouble begins with or holds (`lib/bug.c`, `arch/x86/kernel/dumpstack.c`).
const TROUBLES: &[&str] = &[
    "BUG: ",
    "Oops: ",
    "general protection fault",
    "Out of memory: ",
    "VFS: Unable to mount root fs",
    PANIC,
];
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

/// The lines that say what happened: the first of a trouble, and the last ones; with a panic those that end with it.
pub(crate) fn last_lines(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
    let holds = |line: &&str, what: &[&str]| what.iter().any(|word| line.contains(word));
    let first = lines.iter().position(|line| holds(line, TROUBLES));
    // A call trace after the panic would push its line out of the last ones.
    let end = lines.iter().position(|line| holds(line, &[PANIC])).map_or(lines.len(), |at| at + 1);
    let start = end.saturating_sub(LINES);
    let first = first.filter(|at| *at < start).and_then(|at| lines.get(at));
    let last = lines.get(start..end).unwrap_or_default();
    first.into_iter().chain(last).map(|line| (*line).to_owned()).collect()
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
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[1].contains("Kernel panic"), "{lines:?}");
        assert_eq!(panic_line("all is well\n"), None);
    }

    #[test]
    fn a_trace_is_kept_to_its_first_line_and_its_end() {
        let mut text = String::from("booting\n[1.0] BUG: kernel NULL pointer dereference\n");
        for number in 0..40 {
            writeln!(text, "[1.1]  trace+{number}").unwrap();
        }
        text.push_str("[1.2] Kernel panic - not syncing: Fatal exception\n[1.3] Rebooting\n");
        let lines = last_lines(&text);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].contains("BUG: ") && lines[5].contains("Kernel panic"), "{lines:?}");
    }

    #[test]
    fn without_a_panic_the_last_lines_speak() {
        let lines: Vec<String> = (0..30).map(|number| format!("line {number}\n\n")).collect();
        let text = lines.concat();
        let lines = last_lines(&text);
        assert_eq!(lines.len(), 5);
        assert_eq!(lines.last().map(String::as_str), Some("line 29"));
    }
}
