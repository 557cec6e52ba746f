//! Emphasis on the terminal, and keeping control characters from outside off it.
//!
//! While a page is laid out, emphasis is marked by characters that occupy no column, so that tables and line breaks
//! come out the same with and without colour. [`render`] turns them into ANSI escapes, or drops them.

/// A kind of emphasis. None carries meaning alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ink {
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
pub(super) fn dye(ink: Ink, text: &str) -> String {
    let Some((_, start, _)) = MARKS.iter().find(|(kind, _, _)| *kind == ink) else { return text.to_owned() };
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| if line.is_empty() { String::new() } else { format!("{start}{line}{END}") })
        .collect();
    lines.join("\n")
}

/// Turns marks into ANSI escapes, or removes them.
pub(super) fn render(text: &str, colour: bool) -> String {
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

/// Makes text from outside harmless on a terminal: control characters (an escape could rewrite the screen or the
/// window's title) and those that reorder or hide text become U+FFFD, line breaks and tabs a space.
pub(super) fn clean(text: &str) -> String {
    let harmless = |character: char| match character {
        '\n' | '\r' | '\t' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => {
            '\u{fffd}'
        }
        other if other.is_control() => '\u{fffd}',
        other => other,
    };
    text.chars().map(harmless).collect()
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
    fn colour_is_only_there_when_asked_for() {
        let marked = dye(Ink::Good, "faster");
        assert_eq!(render(&marked, false), "faster");
        assert_eq!(render(&marked, true), "\u{1b}[1;32mfaster\u{1b}[0m");
    }
}
