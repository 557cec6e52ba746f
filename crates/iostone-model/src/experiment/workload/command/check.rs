//! Whether a program can be run, and figures picked from what it prints.

use crate::experiment::check::Findings;
use std::collections::BTreeSet;

use crate::experiment::{CommandWorkload, Configuration, PickedMetric};
use crate::metric::{self, COMMAND_METRICS, COMMON_METRICS, Direction, Unit};

pub(super) fn check(command: &CommandWorkload, configuration: &Configuration, findings: &mut Findings<'_>) {
    check_directory(command, configuration, findings);
    if command.argv.first().is_none_or(String::is_empty) {
        findings.value("workload.argv", "there is no program to run", "expected [\"program\", \"argument\"]");
    }
    if command.argv.iter().any(|argument| argument.contains('\0')) {
        findings.value(
            "workload.argv",
            "an argument contains a NUL byte",
            "programs cannot receive NUL bytes",
        );
    }
    check_preparation(command, findings);
    if command.timeout.is_some_and(|timeout| timeout.0.is_zero()) {
        findings.value("workload.timeout", "the timeout is 0", "longer than the program runs");
    }
    for name in command.env.keys() {
        if name.is_empty() || name.contains(['=', '\0']) {
            findings.key(
                &format!("workload.env.{name}"),
                format!("`{name}` cannot name a variable"),
                "not empty, without `=`",
            );
        } else if name.starts_with("IOSTONE_") {
            findings.key(
                &format!("workload.env.{name}"),
                format!("`{name}` is set by iostone itself"),
                "rename it",
            );
        }
    }
    for (name, picked) in &command.metrics {
        check_metric(name, picked, findings);
    }
}

/// A directory of the user's is the host's, and nothing is copied into it.
fn check_directory(command: &CommandWorkload, configuration: &Configuration, findings: &mut Findings<'_>) {
    if command.directory.is_none() {
        return;
    }
    let path = "workload.directory";
    if !command.files.is_empty() {
        let message = "`files` are copied to where the program starts, and `directory` is yours";
        findings.key(path, message, "leave one of them out");
    }
    if !configuration.stack.container.is_none() || configuration.machine.guest().is_some() {
        let message = "a container or a guest does not see a directory of this host";
        findings.key(path, message, "leave it out, and name what the program needs in `files`");
    }
}

fn check_preparation(command: &CommandWorkload, findings: &mut Findings<'_>) {
    for (index, argv) in command.prepare.iter().enumerate() {
        let path = format!("workload.prepare[{index}]");
        if argv.first().is_none_or(String::is_empty) {
            findings.value(&path, "there is no program to run", "expected [\"program\", \"argument\"]");
        }
        if argv.iter().any(|argument| argument.contains('\0')) {
            findings.value(&path, "an argument contains a NUL byte", "programs cannot receive NUL bytes");
        }
    }
    let mut names = BTreeSet::new();
    for (index, file) in command.files.iter().enumerate() {
        let path = format!("workload.files[{index}]");
        let text = file.to_string_lossy();
        match file.file_name() {
            None => findings.value(
                &path,
                format!("`{text}` does not name a file"),
                "expected a path that ends in a file name",
            ),
            Some(_) if text.ends_with('/') || text.contains('\0') => {
                findings.value(
                    &path,
                    format!("`{text}` does not name a file"),
                    "expected a path that ends in a file name",
                );
            }
            Some(name) if !names.insert(name) => {
                let message = format!("two files are named `{}`", name.to_string_lossy());
                findings.value(&path, message, "both are copied into one directory; rename one");
            }
            Some(_) => {}
        }
    }
}

/// Longer names do not fit into a table.
const LONGEST_NAME: usize = 64;

fn check_metric(name: &str, picked: &PickedMetric, findings: &mut Findings<'_>) {
    let path = format!("workload.metrics.{name}");
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        let message = format!("`{name}` is not a valid metric name");
        findings.key(&path, message, "up to 64 lower-case letters, digits, `_`, `.` and `-`");
    } else if COMMAND_METRICS.iter().chain(COMMON_METRICS).any(|own| own.name == name) {
        let message = format!("`{name}` is measured by iostone itself");
        findings.key(&path, message, "rename it");
    } else if let Some(known) = metric::find(name)
        && (known.unit, known.direction) != (picked.unit.kind, picked.better)
    {
        // One name must mean the same wherever runs are compared.
        let unit = match known.unit {
            Unit::BytesPerSecond => "MB/s",
            Unit::PerSecond => "/s",
            Unit::Seconds => "s",
            Unit::Bytes => "MiB",
            Unit::Share => "%",
            Unit::Plain => "no unit",
        };
        let better = match known.direction {
            Direction::Higher => "higher",
            Direction::Lower => "lower",
        };
        let message = format!("`{name}` is a built-in metric ({unit}, {better} is better)");
        findings.key(&path, message, "rename it, or use this unit and direction");
    }
    match (&picked.regex, &picked.pointer) {
        (Some(_), Some(_)) => {
            findings.key(&path, format!("`{name}` is picked twice"), "either `regex` or `pointer`");
        }
        (None, None) => findings.key(
            &path,
            format!("`{name}` has no pattern to find it in the output"),
            "add `regex = '...'`, or `pointer = \"/...\"` for JSON output",
        ),
        (Some(pattern), None) => {
            if let Err(why) = check_pattern(pattern) {
                let label = "one group for the number, as in '([0-9.]+) MB/s'";
                findings.value(&format!("{path}.regex"), why, label);
            }
        }
        (None, Some(pointer)) => {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                let message = format!("`{pointer}` is not a JSON pointer");
                findings.value(
                    &format!("{path}.pointer"),
                    message,
                    "it starts with `/`, as in \"/jobs/0/iops\"",
                );
            }
        }
    }
}

fn check_pattern(pattern: &str) -> Result<(), String> {
    match regex::Regex::new(pattern) {
        Ok(regex) if regex.captures_len() == 2 => Ok(()),
        Ok(regex) => {
            let groups = regex.captures_len() - 1;
            let groups = if groups == 0 { "no group".to_owned() } else { format!("{groups} groups") };
            Err(format!("the expression has {groups}; use `(?:...)` for the other groups"))
        }
        Err(error) => {
            // The crate draws the pattern with a mark below it; its last line says what is wrong.
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(format!("not a regular expression: {why}"))
        }
    }
}
