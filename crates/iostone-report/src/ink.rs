//! Emphasis on the terminal, and keeping control characters from outside off it.
//!
//! While a page is laid out, emphasis is marked by characters that occupy no column, so that tables and line breaks
//! come out the same with and without colour. [`render`] turns them into ANSI escapes, or drops them.

use std::fmt::Write as _;

/// A kind of emphasis. None carries meaning alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Bold,
    Dim,
    Good,
    Bad,
    Caution,
}

/// Deprecated format characters of Unicode: no width, and [`clean`] keeps them out of any text from outside.
const MARKS: [(Ink, char, &str); 5] = [
    (Ink::Bold, '\u{206a}', "\u{1b}[1m"),
    (Ink::Dim, '\u{206b}', "\u{1b}[2m"),
    (Ink::Good, '\u{206c}', "\u{1b}[1;32m"),
    (Ink::Bad, '\u{206d}', "\u{1b}[1;31m"),
    (Ink::Caution, '\u{206e}', "\u{1b}[1;33m"),
];
const END: char = '\u{206f}';
const RESET: &str = "\u{1b}[0m";

/// Marks a text, line by line.
pub(crate) fn dye(ink: Ink, text: &str) -> String {
    let Some((_, start, _)) = MARKS.iter().find(|(kind, _, _)| *kind == ink) else { return text.to_owned() };
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("{start}{line}{END}") })
        .collect();
    lines.join("\n")
}

/// Turns marks into ANSI escapes, or removes them.
pub(crate) fn render(text: &str, colour: bool) -> String {
    let mut rendered = String::with_capacity(text.len());
    for character in text.chars() {
        let mark = MARKS.iter().find(|(_, mark, _)| *mark == character);
        match mark {
            Some((_, _, escape)) if colour => rendered.push_str(escape),
            None if character == END && colour => rendered.push_str(RESET),
            None if character != END => rendered.push(character),
            _ => {}
        }
    }
    rendered
}

/// Text from outside as one line that is safe to show on a terminal: line breaks and tabs become spaces, and what a
/// terminal would act upon (an escape could rewrite the screen or the window's title), or what reorders or hides text,
/// is shown as what it is: `\x1b`, `\u202e`.
pub fn clean(text: &str) -> String {
    shown(&text.replace("\r\n", " ").replace(['\n', '\r', '\t'], " "), |c| steers(c) || is_hidden(c))
}

/// The same for text of several lines: line feeds and tabs stay.
pub fn clean_lines(text: &str) -> String {
    shown(&text.replace("\r\n", "\n"), |c| !matches!(c, '\n' | '\t') && (steers(c) || is_hidden(c)))
}

/// The last net before a terminal: of everything that a terminal acts upon, only line feeds, tabs and the very escapes
/// that reports are written with pass; the rest is shown as [`clean`] shows it.
///
/// JSON keeps its meaning: what is shown differently there has no other place than in strings, and is an escape of
/// JSON too.
pub fn harmless(text: &str) -> String {
    let own = |rest: &str| {
        let escapes = MARKS.iter().map(|(_, _, escape)| *escape).chain([RESET]);
        escapes.into_iter().find(|escape| rest.starts_with(escape))
    };
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(steers) {
        let (before, from) = rest.split_at(at);
        safe.push_str(before);
        let length = match own(from) {
            Some(escape) => {
                safe.push_str(escape);
                escape.len()
            }
            None => from.chars().next().map_or(from.len(), |character| {
                match character {
                    '\n' | '\t' => safe.push(character),
                    other => push_shown(&mut safe, other),
                }
                character.len_utf8()
            }),
        };
        rest = from.get(length..).unwrap_or_default();
    }
    safe.push_str(rest);
    safe
}

fn shown(text: &str, hostile: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if hostile(character) { push_shown(&mut safe, character) } else { safe.push(character) }
    }
    safe
}

/// `\x1b` as in a shell for what JSON never holds raw, `\u009b` as in JSON for the rest.
fn push_shown(text: &mut String, character: char) {
    let code = u32::from(character);
    // Writing into a string does not fail.
    let _ = if code < 0x20 { write!(text, "\\x{code:02x}") } else { write!(text, "\\u{code:04x}") };
}

/// What a terminal acts upon: control characters (C0, DEL, C1) and Unicode's bidirectional controls (UAX 9).
pub fn steers(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What has no width: two names that look the same could differ by it. Our own marks are among them.
fn is_hidden(character: char) -> bool {
    matches!(character, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_from_outside_never_reach_the_terminal() {
        let hostile = "\u{1b}]0;owned\u{7}\u{1b}[2Jname\u{9b}31m\u{202e}x\u{206a}";
        let rendered = render(&dye(Ink::Bold, &clean(hostile)), false);
        assert!(rendered.chars().all(|c| !c.is_control()), "{rendered:?}");
        assert!(!rendered.contains('\u{202e}'));
    }

    #[test]
    fn what_a_terminal_would_act_upon_is_shown_instead() {
        assert_eq!(
            clean("a\u{1b}[31m\u{9b}2J\u{202e}\u{7f}\r\nb\tc"),
            "a\\x1b[31m\\u009b2J\\u202e\\u007f b c"
        );
        assert_eq!(clean_lines("a\tb\r\nc\u{8}\rd"), "a\tb\nc\\x08\\x0dd");
        assert_eq!(clean("naïve 日本語 😀 12\u{a0}%"), "naïve 日本語 😀 12\u{a0}%");
    }

    #[test]
    fn the_net_lets_through_what_reports_are_written_with_and_nothing_else() {
        let own = render(&format!("{}\n\t{}", dye(Ink::Bold, "bold"), dye(Ink::Caution, "!")), true);
        assert_eq!(harmless(&own), own);
        assert_eq!(harmless("a\u{1b}[2Jb\u{1b}]0;t\u{7}\u{1b}"), "a\\x1b[2Jb\\x1b]0;t\\x07\\x1b");
    }

    #[test]
    fn the_net_keeps_the_meaning_of_json() {
        let value = serde_json::json!({"name": "\u{1b}[2J\u{9b}\u{7f}\u{202e}\n日本"});
        let safe = harmless(&value.to_string());
        assert!(!safe.chars().any(char::is_control), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }

    #[test]
    fn colour_is_only_there_when_asked_for() {
        let marked = dye(Ink::Good, "faster");
        assert_eq!(render(&marked, false), "faster");
        assert_eq!(render(&marked, true), "\u{1b}[1;32mfaster\u{1b}[0m");
    }
}
