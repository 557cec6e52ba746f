//! Emulated CPU allowances on the terminal: which law, on whose word, how exactly, and what others would have given.

use super::{Page, columns};
use crate::figures::{counted, figure, percent};
use crate::governed::{
    Emulation, GovernedRow, emulations, error_sentence, law_names, law_words, laws_sentence,
};
use crate::ink::clean;
use crate::view::View;
use iostone_model::metric::Unit;
use iostone_model::run::RunRecord;

/// Adds a list for each allowance; nothing where none was emulated.
pub(super) fn add(page: &mut Page, run: &RunRecord, view: &View<'_>) {
    for emulation in emulations(run, view) {
        let heading = format!("Emulated CPU allowance: {}", clean(&emulation.governor.in_words()));
        let (header, rows) = table(&emulation);
        let fits = columns::width(&header, &rows) + 2 <= page.width;
        page.add_list(&heading, &entries(&emulation, !fits));
        if fits && !rows.is_empty() {
            let lines = columns::lines(&header, &rows, 1);
            let lines: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
            page.add(lines.join("\n"));
        }
    }
}

/// A line a configuration: what was measured, what each law would have given, how long the law was slow.
fn table(emulation: &Emulation<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let laws = law_names(emulation);
    let law_heads = laws.iter().map(|law| clean(&format!("by `{law}`")));
    let header = ["", "measured"].map(str::to_owned).into_iter().chain(law_heads);
    let header = header.chain(["slow for", "CPU used", "excess"].map(str::to_owned)).collect();
    let seconds = |value: Option<f64>| value.map_or_else(String::new, |value| figure(Unit::Seconds, value));
    let row = |row: &GovernedRow<'_>| {
        let of_law = |law: &&str| row.laws.iter().find(|(name, _)| name == law).map(|(_, wall)| *wall);
        let mut cells = vec![clean(row.name), seconds(row.wall)];
        cells.extend(laws.iter().map(|law| seconds(of_law(law))));
        let excess = row.excess.map(percent).unwrap_or_default();
        cells.extend([seconds(row.slow), seconds(row.used), excess]);
        cells
    };
    (header, emulation.rows.iter().filter(|row| row.used.is_some()).map(row).collect())
}

fn entries(emulation: &Emulation<'_>, with_rows: bool) -> Vec<(String, String)> {
    let allowance = &emulation.governor.allowance;
    let mut entries = vec![
        ("law".to_owned(), clean(&law_words(emulation.governor))),
        ("source".to_owned(), clean(&allowance.source)),
    ];
    entries.extend(error_sentence(emulation).map(|sentence| ("error".to_owned(), clean(&sentence))));
    for row in emulation.rows.iter().filter(|_| with_rows) {
        let told = [slow_sentence(row), laws_sentence(row, &allowance.name)];
        let told: Vec<String> = told.into_iter().flatten().map(|sentence| clean(&sentence)).collect();
        if !told.is_empty() {
            entries.push((clean(row.name), told.join("\n")));
        }
    }
    entries
}

/// "slow for 13.9 s, became so once; used 2.95 s of CPU time, excess 0.4 %".
fn slow_sentence(row: &GovernedRow<'_>) -> Option<String> {
    let slow = row.slow?;
    let slow = if slow > 0.0 {
        format!("slow for {}", figure(Unit::Seconds, slow))
    } else {
        "never slow".to_owned()
    };
    let times =
        row.times.filter(|times| *times >= 0.5).map(|times| format!(", became so {}", times_words(times)));
    let used = row.used.map(|used| format!("; used {} of CPU time", figure(Unit::Seconds, used)));
    let excess = row.excess.map(|excess| format!(", excess {}", percent(excess)));
    Some(format!(
        "{slow}{}{}{}",
        times.unwrap_or_default(),
        used.unwrap_or_default(),
        excess.unwrap_or_default()
    ))
}

/// A median of counts, which may lie between two.
fn times_words(times: f64) -> String {
    if (times - 1.0).abs() < f64::EPSILON {
        "once".to_owned()
    } else if times.fract() > 0.0 {
        format!("{times:.1} times")
    } else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a whole count that is not negative"
        )]
        let whole = times as u64;
        counted(whole, "time")
    }
}
