//! The history of an experiment in words, shared by the terminal and the page.

use iostone_model::history::{Change, Circumstance, History, Series};

use crate::figures::{counted, signed_percent};

/// The answer: how many changes, and how many of them for the worse.
pub(crate) fn headline(history: &History) -> String {
    let changes = || history.series.iter().flat_map(|series| &series.changes);
    let worse = changes().filter(|change| change.worse == Some(true)).count();
    let runs = history.series.iter().map(|series| series.runs.len()).max().unwrap_or(0);
    let figures = counted(history.series.len() as u64, "figure");
    match changes().count() {
        _ if history.series.is_empty() => format!("{}: no run with a figure to follow.", history.experiment),
        0 if history.series.iter().all(|series| series.runs_until_alarm > 0) => format!(
            "{}: {} of it, too few for any change to be seen.",
            history.experiment,
            counted(runs as u64, "run")
        ),
        0 => format!(
            "{}: no change in {figures} over {} of it.",
            history.experiment,
            counted(runs as u64, "run")
        ),
        some => format!(
            "{}: {} in {figures}, {worse} for the worse.",
            history.experiment,
            counted(some as u64, "change")
        ),
    }
}

/// What a series is of: "on, throughput, on h1".
pub(crate) fn subject(series: &Series) -> String {
    let place = if series.machine.is_empty() { String::new() } else { format!(", on {}", series.machine) };
    format!("{}, {}{place}", series.configuration, series.title)
}

/// "−7.4 % from 2026-03-02 on (run 19 of 52; seen at run 23): kernel 6.1 → 6.12".
pub(crate) fn change_sentence(series: &Series, change: &Change) -> String {
    let date =
        series.runs.get(change.first as usize).map_or("", |run| run.started_at.get(..10).unwrap_or(""));
    let verdict = match change.worse {
        Some(true) => " (worse)",
        Some(false) => " (better)",
        None => "",
    };
    format!(
        "typically {}{verdict} from {date} on, run {} of {}, seen at run {}: {}",
        signed_percent(change.ratio - 1.0),
        change.first + 1,
        series.runs.len(),
        change.seen_at + 1,
        cause(change)
    )
}

/// What changed there, at most so many things.
fn cause(change: &Change) -> String {
    const NAMED: usize = 4;
    let Some(at) = change.circumstances_at else { return "nothing recorded changed there".to_owned() };
    let named: Vec<String> = change.circumstances.iter().take(NAMED).map(circumstance).collect();
    let more = match change.circumstances.len().saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let away = match i64::from(at) - i64::from(change.first) {
        0 => String::new(),
        later @ 1.. => format!(", {} later", counted(later.unsigned_abs(), "run")),
        earlier => format!(", {} earlier", counted(earlier.unsigned_abs(), "run")),
    };
    format!("{}{more}{away}", named.join(", "))
}

fn circumstance(one: &Circumstance) -> String {
    let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "not recorded".to_owned());
    format!("{} {} \u{2192} {}", one.name, word(&one.before), word(&one.after))
}

/// What else must be known of a series.
pub(crate) fn cautions(series: &Series) -> Vec<String> {
    let mut cautions = Vec::new();
    // Where nothing was alarmed, no alarm is doubtful.
    let is_alarmed = !series.changes.is_empty() || series.suspicion.is_some();
    if series.runs_depend && is_alarmed {
        cautions.push(
            "runs-depend: neighbouring runs are alike (Bartels' rank ratio, p below 5 %), so changes are alarmed more often than \
             promised; confirm them with `--confirm`"
                .to_owned(),
        );
    }
    if let Some(suspicion) = &series.suspicion {
        cautions.push(format!("suspected, not shown: {}", change_sentence(series, suspicion)));
    }
    if series.runs_until_alarm > 0 {
        let more = counted(u64::from(series.runs_until_alarm), "more run");
        let which = if series.changes.is_empty() { "a change" } else { "a further change" };
        cautions.push(format!("too few runs: {more} before {which} can be seen"));
    }
    cautions
}

/// How to read it.
pub(crate) fn terms(history: &History) -> String {
    format!(
        "An alarm is false in at most 1 of {:.0} runs of a figure, if runs do not depend on each other. It is a suspicion until the old \
         state has run beside the new one (`--confirm`).",
        1.0 / history.false_alarms
    )
}

/// What to do about a change whose old state no experiment can bring back.
pub(crate) fn confirming_words(change: &Change) -> String {
    let programs = change.circumstances.iter().filter(|one| one.before.is_some() && one.after.is_some());
    // Programs carry their version alone; what has a space in its name is part of a device or a configuration.
    let is_program = |name: &str| !NOT_PROGRAMS.contains(&name) && !name.contains(' ');
    let programs: Vec<&str> = programs.map(|one| one.name.as_str()).filter(|name| is_program(name)).collect();
    if !programs.is_empty() {
        return format!(
            "{} changed there: install the old version beside the new one and hold both against each other with `iostone compare`",
            iostone_model::figures::list(&programs)
        );
    }
    "what changed there cannot be brought back by an experiment: it stays a suspicion until two more runs, on other days, agree \
     (runs of one day share that day)"
        .to_owned()
}

/// Circumstances of one word that are no program of the experiment's.
const NOT_PROGRAMS: [&str; 14] = [
    "experiment",
    "kernel",
    "host",
    "instance",
    "zone",
    "image",
    "os",
    "cpu",
    "cpus",
    "memory",
    "hypervisor",
    "container",
    "steal",
    "filesystem",
];
