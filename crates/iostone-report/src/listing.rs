//! Runs in a line each: name, trials, host, and the answer in a few words.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use iostone_model::metric::Direction;
use iostone_model::summary::{ComparisonSummary, RunListing, RunState};
use iostone_model::verdict::Verdict;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::figures::own_ratio;
use crate::ink::clean;
use crate::text::TextStyle;

/// So many levels are named with their verdicts; of more each verdict is counted.
const NAMED_LEVELS: usize = 3;

/// A line for each run, cut where the terminal ends.
pub(crate) fn lines(runs: &[RunListing], width: usize, style: TextStyle) -> String {
    let hosts: BTreeSet<&str> =
        runs.iter().map(|run| run.host.as_str()).filter(|host| !host.is_empty()).collect();
    let rows: Vec<[String; 4]> = runs
        .iter()
        .map(|run| {
            let noun = if run.imported { "observation" } else { "trial" };
            let plural = if run.trials == 1 { "" } else { "s" };
            // Where all were measured on one host, its name says nothing.
            let host = if hosts.len() > 1 { clean(&run.host) } else { String::new() };
            [clean(&run.directory), format!("{} {noun}{plural}", run.trials), host, clean(&answer(run))]
        })
        .collect();
    let widest = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.width()).max().unwrap_or_default()
    };
    let (name, trials, host) = (widest(0), widest(1), widest(2));
    let mut text = String::new();
    for [directory, count, on, answer] in rows {
        let pad = |cell: &str, width: usize| " ".repeat(width.saturating_sub(cell.width()));
        let mut line = format!("{directory}{}  {}{count}", pad(&directory, name), pad(&count, trials));
        if host > 0 {
            let _ = write!(line, "  {on}{}", pad(&on, host));
        }
        if !answer.is_empty() {
            let _ = write!(line, "  {answer}");
        }
        let line = cut(&line, width);
        let rest = line.strip_prefix(&directory).filter(|_| style.colour);
        let _ = match rest {
            Some(rest) => write!(text, "\u{1b}[1m{directory}\u{1b}[0m{rest}"),
            None => write!(text, "{line}"),
        };
        text.push('\n');
    }
    text
}

/// A line within so many columns, an ellipsis in place of what does not fit.
fn cut(line: &str, width: usize) -> String {
    if line.width() <= width {
        return line.to_owned();
    }
    let mut left = width.saturating_sub(1);
    let mut kept = String::new();
    for character in line.chars() {
        let columns = character.width().unwrap_or_default();
        if columns > left {
            break;
        }
        left -= columns;
        kept.push(character);
    }
    kept + "\u{2026}"
}

/// The state of a run that has not ended, else what it found.
fn answer(run: &RunListing) -> String {
    let found = found(run).filter(|_| run.finished || run.blocks > 0);
    let mut parts: Vec<String> = state(run).into_iter().chain(found).collect();
    if !run.tags.is_empty() {
        let tags: Vec<&str> = run.tags.iter().map(String::as_str).collect();
        parts.push(format!("[{}]", tags.join(", ")));
    }
    parts.join("; ")
}

/// The same without its tags, and without what its badges say.
pub(crate) fn plain_answer(run: &RunListing, has_badges: bool) -> String {
    let found = found(run).filter(|_| !has_badges && (run.finished || run.blocks > 0));
    state(run).into_iter().chain(found).collect::<Vec<_>>().join("; ")
}

/// Each verdict of a run with few levels: its word and how it is told.
pub(crate) fn badges(run: &RunListing) -> Vec<(&'static str, String)> {
    let has_best = run.sweep.as_ref().is_some_and(|sweep| sweep.best.is_some());
    let judged = judged(run);
    if run.rehearsal || has_best || judged.len() > NAMED_LEVELS {
        return Vec::new();
    }
    judged
        .into_iter()
        .filter_map(|one| Some((one.verdict?.word(), in_words(one, run.better.unwrap_or(Direction::Higher)))))
        .collect()
}

/// Verdicts on levels. Of identical levels nobody wants to know which is faster.
fn judged(run: &RunListing) -> Vec<&ComparisonSummary> {
    run.comparisons.iter().filter(|one| one.verdict.is_some() && !run.identical_levels).collect()
}

/// What has become of a run that has not ended.
fn state(run: &RunListing) -> Option<String> {
    let reason = run.ended.as_deref().unwrap_or_default();
    match run.state {
        _ if run.live => Some("running now".to_owned()),
        RunState::Finished | RunState::Imported => None,
        RunState::Interrupted => Some("interrupted".to_owned()),
        RunState::Waiting => Some(reason.to_owned()),
        RunState::Failed => Some(format!("failed: {reason}")),
        RunState::Unfinished => Some("unfinished".to_owned()),
    }
}

/// What a run found, in a few words; its headline where no level was held against a baseline.
fn found(run: &RunListing) -> Option<String> {
    if let Some(best) = run.sweep.as_ref().and_then(|sweep| sweep.best.as_ref()) {
        return Some(format!("best {best}"));
    }
    if run.rehearsal {
        return Some("rehearsal".to_owned());
    }
    let judged = judged(run);
    if judged.is_empty() {
        let first = run.headline.as_deref()?.split(". ").next()?;
        return Some(first.trim_end_matches('.').to_owned());
    }
    if judged.len() <= NAMED_LEVELS {
        let better = run.better.unwrap_or(Direction::Higher);
        let told: Vec<String> = judged.iter().map(|one| in_words(one, better)).collect();
        return Some(told.join(", "));
    }
    let all = [Verdict::Faster, Verdict::Slower, Verdict::Equivalent, Verdict::Undecided, Verdict::Unstable];
    let count = |verdict: Verdict| judged.iter().filter(|one| one.verdict == Some(verdict)).count();
    let counted: Vec<String> = all
        .into_iter()
        .map(|verdict| (count(verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| format!("{count} {}", verdict.word()))
        .collect();
    Some(counted.join(", "))
}

/// `off faster ×2.11`: the change of the figure itself, as the report's table has it.
fn in_words(one: &ComparisonSummary, better: Direction) -> String {
    let word = one.verdict.map(Verdict::word).unwrap_or_default();
    let level =
        if one.stratum.is_empty() { one.level.clone() } else { format!("{} ({})", one.level, one.stratum) };
    match one.verdict {
        Some(Verdict::Faster | Verdict::Slower) if one.ratio.is_some() => {
            format!("{level} {word} {}", own_ratio(better, one.ratio, [None, None]).estimate)
        }
        _ => format!("{level} {word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(directory: &str, host: &str) -> RunListing {
        RunListing {
            directory: directory.to_owned(),
            id: String::new(),
            experiment: String::new(),
            experiment_digest: None,
            created_at: String::new(),
            tags: BTreeSet::new(),
            host: host.to_owned(),
            kernel: String::new(),
            trials: 12,
            state: RunState::Finished,
            finished: true,
            live: false,
            ended: None,
            rehearsal: false,
            identical_levels: false,
            headline: Some("off is faster than on".to_owned()),
            comparisons: Vec::new(),
            better: None,
            sweep: None,
            blocks: 6,
            imported: false,
        }
    }

    fn comparison(level: &str, verdict: Verdict, ratio: f64) -> ComparisonSummary {
        ComparisonSummary {
            level: level.to_owned(),
            verdict: Some(verdict),
            ratio: Some(ratio),
            ..ComparisonSummary::default()
        }
    }

    #[test]
    fn a_run_is_a_line_and_hosts_are_named_where_there_are_several() {
        let style = TextStyle { width: 80, colour: false };
        let mut one = run("2026-a", "h1");
        one.comparisons =
            vec![comparison("off", Verdict::Faster, 2.11), comparison("x", Verdict::Undecided, 1.0)];
        let mut other = run("2026-longer", "h1");
        other.trials = 1;
        other.tags.insert("nightly".to_owned());
        let text = lines(&[one.clone(), other.clone()], usize::MAX, style);
        assert_eq!(
            text,
            "2026-a       12 trials  off faster \u{d7}2.11, x undecided\n2026-longer    1 trial  off is faster than on; \
             [nightly]\n"
        );
        other.host = "host2".to_owned();
        let text = lines(&[one.clone(), other], 40, style);
        assert_eq!(text.lines().next().unwrap(), "2026-a       12 trials  h1     off fast\u{2026}");
        one.comparisons = ["a", "b", "c", "d"].map(|level| comparison(level, Verdict::Slower, 0.5)).to_vec();
        (one.state, one.finished) = (RunState::Interrupted, false);
        assert!(lines(&[one], usize::MAX, style).ends_with("  interrupted; 4 slower\n"));
    }
}
