//! Sentences of others as HTML: escaped, with what stands between backticks as code.

use crate::svg::escape;

/// A sentence as escaped HTML.
pub(super) struct Prose(String);

impl Prose {
    /// Escapes a sentence; a pair of backticks becomes `<code>`, a lone one stays.
    pub(super) fn of(sentence: &str) -> Self {
        let mut html = String::with_capacity(sentence.len());
        let mut rest = sentence;
        while let Some((before, after)) = rest.split_once('`') {
            let Some((literal, tail)) = after.split_once('`') else { break };
            html.push_str(&escape(before));
            html.push_str("<code>");
            html.push_str(&escape(literal));
            html.push_str("</code>");
            rest = tail;
        }
        html.push_str(&escape(rest));
        Self(html)
    }
}

impl Prose {
    /// Words that lead to the element with that identifier on the page.
    pub(super) fn link(id: &str, words: &str) -> Self {
        Self(format!("<a href=\"#{}\">{}</a>", escape(id), escape(words)))
    }

    /// Several, separated by commas.
    pub(super) fn list(parts: &[Self]) -> Self {
        let parts: Vec<&str> = parts.iter().map(|part| part.0.as_str()).collect();
        Self(parts.join(", "))
    }
}

impl std::fmt::Display for Prose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Replaces what could reorder or hide text on the page (Unicode's bidirectional controls, UAX 9) and control
/// characters, which HTML does not allow.
pub(super) fn without_controls(page: &str) -> String {
    let harmless = |character: char| match character {
        '\n' | '\t' => character,
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        other if other.is_control() => '\u{fffd}',
        other => other,
    };
    page.chars().map(harmless).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_become_code_and_markup_stays_text() {
        assert_eq!(Prose::of("under `a<b>` it `is").to_string(), "under <code>a&lt;b&gt;</code> it `is");
    }

    #[test]
    fn text_cannot_be_turned_around() {
        assert_eq!(without_controls("a\u{202e}b\u{1b}c\nd"), "a\u{fffd}b\u{fffd}c\nd");
    }
}
