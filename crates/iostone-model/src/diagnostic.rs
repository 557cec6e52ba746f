//! An error in a file, with the places it points at; rendering is for whoever prints it.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// One thing wrong with a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// A stable code: `io0003`.
    pub code: String,
    /// What is wrong, naming the object.
    pub message: String,
    /// The bytes of the file it is about, with a word on them; empty where the whole file is meant.
    pub labels: Vec<Label>,
    /// What was expected, and what to do.
    pub notes: Vec<String>,
    /// What the first label's text should be replaced by, where that is known.
    pub fix: Option<String>,
}

/// A place in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Byte range.
    pub span: Range<usize>,
    /// What is to be said of it.
    pub text: String,
}

impl Diagnostic {
    /// A diagnostic without places.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            labels: Vec::new(),
            notes: Vec::new(),
            fix: None,
        }
    }

    /// Points at a place in the file.
    #[must_use]
    pub fn at(mut self, span: Option<Range<usize>>, text: impl Into<String>) -> Self {
        if let Some(span) = span {
            self.labels.push(Label { span, text: text.into() });
        }
        self
    }

    /// Adds what was expected or what to do.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what the first label's text should be.
    #[must_use]
    pub fn fix(mut self, replacement: impl Into<String>) -> Self {
        self.fix = Some(replacement.into());
        self
    }
}

/// The known word nearest to a mistyped one, if it is near enough to be meant.
///
/// Distance is Damerau-Levenshtein restricted to adjacent transpositions (optimal string alignment); a third of
/// the length is allowed, as compilers do.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (word.chars().count().max(3)) / 3;
    known
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.to_lowercase().chars().collect();
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut best = (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["volume", "mount", "filesystem"];
        assert_eq!(nearest("volmue", known), Some("volume"));
        assert_eq!(nearest("Mont", known), Some("mount"));
        assert_eq!(nearest("banana", known), None);
    }
}
