//! Notes on points, each kind in one sentence however many points have it.

use iostone_model::orion::{LoadPoint, OrionRecord};

use crate::point::{tells_precision, tells_served};

/// The same note but for its figures, at the points that have it.
struct Kind<'a> {
    /// The note without its figures.
    pattern: String,
    first: &'a str,
    /// Whether it is the same to the letter everywhere.
    same: bool,
    points: Vec<LoadPoint>,
}

/// The kinds of notes in order of their first point. What was served, and how precise rates are, is told of all points
/// together elsewhere; what was noted at the point without load, too.
pub(super) fn tell_notes(record: &OrionRecord) -> Vec<String> {
    let mut kinds: Vec<Kind> = Vec::new();
    for point in record.points.iter().filter(|point| point.small > 0 || point.large > 0) {
        for note in point.notes.iter().filter(|note| !tells_served(note) && !tells_precision(note)) {
            let pattern = without_figures(note);
            if let Some(kind) = kinds.iter_mut().find(|kind| kind.pattern == pattern) {
                kind.same &= kind.first == note;
                if kind.points.last() != Some(&point.point()) {
                    kind.points.push(point.point());
                }
            } else {
                kinds.push(Kind { pattern, first: note, same: true, points: vec![point.point()] });
            }
        }
    }
    kinds.iter().filter_map(tell).collect()
}

fn tell(kind: &Kind) -> Option<String> {
    let (first, more) = kind.points.split_first()?;
    let note = kind.first;
    Some(match (more.len(), kind.same) {
        (0, _) => format!("at {first}: {note}"),
        (more, true) => format!("at {} points from {first} on: {note}", more + 1),
        (1, false) => format!("at {first}, and alike at another point: {note}"),
        (more, false) => format!("at {first}, and alike at {more} more points: {note}"),
    })
}

/// Each number becomes one mark.
fn without_figures(note: &str) -> String {
    let mut pattern = String::with_capacity(note.len());
    for letter in note.chars() {
        if !letter.is_ascii_digit() {
            pattern.push(letter);
        } else if !pattern.ends_with('#') {
            pattern.push('#');
        }
    }
    pattern.replace("#.#", "#")
}
