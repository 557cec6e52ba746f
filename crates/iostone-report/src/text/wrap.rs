//! Line breaks by what characters occupy on a terminal.

use unicode_width::UnicodeWidthStr as _;

/// Columns that a text occupies.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Breaks a text at spaces so that no line is wider than `width`, as far as its words allow.
pub(super) fn wrap(text: &str, width: usize) -> String {
    hang(text, width, "", "")
}

/// The same with something before the first line and before the others.
pub(super) fn hang(text: &str, width: usize, first: &str, rest: &str) -> String {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_bare = true;
    // Only the plain space breaks: no-break spaces hold a figure and its unit together.
    for word in text.split([' ', '\n']).filter(|word| !word.is_empty()) {
        for piece in split_long(word, width.saturating_sub(columns(rest)).max(1)) {
            if !is_bare && columns(&line) + 1 + columns(&piece) > width {
                lines.push(std::mem::replace(&mut line, rest.to_owned()));
                is_bare = true;
            }
            if !is_bare {
                line.push(' ');
            }
            line.push_str(&piece);
            is_bare = false;
        }
    }
    lines.push(line);
    lines.join("\n")
}

/// A word that is wider than a line is cut.
fn split_long(word: &str, width: usize) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        if let Some(last) = pieces.last_mut() {
            let mut longer = last.clone();
            longer.push(character);
            if columns(&longer) > width && !last.is_empty() {
                pieces.push(character.to_string());
            } else {
                *last = longer;
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_spaces_and_hang() {
        assert_eq!(hang("one two three four", 11, "- ", "  "), "- one two\n  three\n  four");
        assert_eq!(wrap("a\u{a0}b c", 3), "a\u{a0}b\nc");
    }

    #[test]
    fn a_word_wider_than_a_line_is_cut() {
        assert_eq!(wrap("abcdefgh", 3), "abc\ndef\ngh");
        assert_eq!(wrap("日本語", 4), "日本\n語");
    }
}
