//! What `iostone limit` says of a command, for people.

use iostone_model::units::{Bytes, Fraction};

use super::document::LimitDocument;

/// SIGKILL (signal(7)): what the kernel sends where memory is short.
const KILL: u8 = 9;

/// A table, a line for each figure: those that were neither limited nor can be observed say so or are left out.
pub(super) fn describe(document: &LimitDocument) -> String {
    let mut rows: Vec<(&str, String)> = vec![
        ("wall", seconds(document.wall_seconds)),
        ("user", seconds(document.user_seconds)),
        ("system", seconds(document.system_seconds)),
        ("used", used(document)),
    ];
    match document.throttled_seconds {
        Some(time) => rows.push(("throttled", throttled(time, document))),
        None if document.share_asked.is_some() => {
            rows.push(("throttled", "  not known: its control group was gone before it ended".to_owned()));
        }
        None => {}
    }
    let above = document.throttled_above_seconds;
    rows.extend(
        above.map(|time| ("throttled above", format!("{}, all that is in that group", seconds(time)))),
    );
    rows.extend(document.governed_seconds.map(|time| ("governed", governed(time, document))));
    rows.push(("steal", steal(document)));
    rows.push(("peak memory", memory(document)));
    let how = match document.signal {
        Some(KILL) if document.memory_kills.is_some_and(|kills| kills > 0) => {
            "was killed for want of memory (signal 9)".to_owned()
        }
        Some(signal) => format!("ended by signal {signal}"),
        None => format!("ended with status {}", document.exit_code),
    };
    let name = document.command.first().map_or("the command", String::as_str);
    let mut lines = vec![format!("iostone limit: `{name}` {how}")];
    lines.extend(rows.into_iter().map(|(name, value)| format!("  {name:<15}{value}")));
    lines.extend(kills(document).map(|remark| format!("  {remark}")));
    lines.extend(document.notes.iter().map(|note| format!("  {note}")));
    lines.join("\n") + "\n"
}

/// What the memory limit did, and what helps.
fn kills(document: &LimitDocument) -> Option<String> {
    let kills = document.memory_kills.filter(|kills| *kills > 0)?;
    let limit = document.limit.memory?;
    let who = if kills == 1 { "a process was".to_owned() } else { format!("{kills} processes were") };
    let more = Bytes(limit.0.saturating_mul(2));
    Some(format!("{who} killed by the memory limit of {limit}; give more, as in `--memory {more}`"))
}

fn seconds(time: f64) -> String {
    format!("{time:>9.3} s")
}

fn used(document: &LimitDocument) -> String {
    let share = format!("{:>9.1} % of a processor", document.share_used * 100.0);
    let asked = document.share_asked.map(|share| format!(", of {} asked", Fraction(share)));
    let own = document.user_seconds + document.system_seconds;
    // The two accounts are kept apart by the kernel, to within a tick or so.
    let beside = document.group_cpu_seconds.map(|group| group - own).filter(|more| *more > 0.05 + own * 0.02);
    let beside = beside.map(|more| format!(" ({more:.3} s of it by processes that it did not wait for)"));
    let left = exceeded(document).then(|| {
        " (more than its quota gives: some of it has left the control group, or its quota was changed)"
            .to_owned()
    });
    [Some(share), asked, beside, left].into_iter().flatten().collect()
}

/// Whether more was used than the quota can give: what a period has at either end of the time and what was kept for a burst
/// come beside it, and processors notice the end of a quota at a tick, 10 ms at most.
fn exceeded(document: &LimitDocument) -> bool {
    let Some(quota) = document.limit.cpu.quota() else { return false };
    let own = document.user_seconds + document.system_seconds;
    let used = own.max(document.group_cpu_seconds.unwrap_or_default());
    let beside = 2.0 * quota.quota.as_secs_f64()
        + quota.burst.unwrap_or_default().as_secs_f64()
        + 0.01 * f64::from(document.processors);
    used > document.wall_seconds * quota.share() * 1.02 + beside
}

fn throttled(time: f64, document: &LimitDocument) -> String {
    match (document.periods, document.throttled_periods) {
        (Some(periods), Some(throttled)) => {
            format!("{}, in {throttled} of {periods} periods", seconds(time))
        }
        _ => seconds(time),
    }
}

fn governed(time: f64, document: &LimitDocument) -> String {
    match &document.governor {
        Some(record) => {
            let allowance = &record.governor.allowance;
            format!(
                "{}, by the allowance of {} (law `{}`)",
                seconds(time),
                allowance.instance,
                allowance.name
            )
        }
        None => seconds(time),
    }
}

fn steal(document: &LimitDocument) -> String {
    match document.steal_seconds {
        Some(time) => {
            let all = document.wall_seconds * f64::from(document.processors);
            let share = if all > 0.0 { 100.0 * time / all } else { 0.0 };
            format!("{}, {share:.1} % of the machine's time", seconds(time))
        }
        None => "  not observable here".to_owned(),
    }
}

fn memory(document: &LimitDocument) -> String {
    match (document.peak_memory_bytes, document.limit.memory) {
        (Some(peak), Some(limit)) => format!("{:>11} of {limit}", Bytes(peak).approximate()),
        (Some(peak), None) => format!("{:>11}", Bytes(peak).approximate()),
        (None, _) => {
            format!("{:>11} in its largest process", Bytes(document.largest_process_bytes).approximate())
        }
    }
}
