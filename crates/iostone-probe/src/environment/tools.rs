//! Versions of the tools that a run uses, as they tell it themselves.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::programs::find_program;

/// Where a tool prints its version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrintedOn {
    /// Standard output.
    Stdout,
    /// Standard error, as `mke2fs -V` does.
    Stderr,
    /// Whichever of the two has it; standard output is looked at first.
    Either,
}

/// Which line tells the version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VersionLine {
    /// The first that is not blank.
    First,
    /// The first that contains a text.
    Containing(String),
}

/// How a tool is asked for its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolQuery {
    /// What the tool is called in the record.
    pub name: String,
    /// Program and arguments: `["fio", "--version"]`. There is no shell.
    pub argv: Vec<String>,
    /// Where the answer is.
    pub printed_on: PrintedOn,
    /// Which line it is.
    pub line: VersionLine,
}

impl ToolQuery {
    /// Asks `name` itself with `argument`, and takes the first line of either output.
    pub fn simple(name: &str, argument: &str) -> Self {
        Self {
            name: name.to_owned(),
            argv: vec![name.to_owned(), argument.to_owned()],
            printed_on: PrintedOn::Either,
            line: VersionLine::First,
        }
    }
}

/// A tool that has said nothing by then is hanging.
const PATIENCE: Duration = Duration::from_secs(5);
/// Help texts that come instead of a version are shorter.
const LONGEST_OUTPUT_BYTES: u64 = 64 * 1024;
const LONGEST_VERSION_CHARS: usize = 200;
/// What is recorded of a tool that is there and does not tell.
const UNTOLD: &str = "present, version not told";
/// The version of each tool, by name. `None` for one that is not installed.
pub fn tool_versions(queries: &[ToolQuery]) -> BTreeMap<String, Option<String>> {
    queries.iter().map(|query| (query.name.clone(), ask(query, PATIENCE))).collect()
}

fn ask(query: &ToolQuery, patience: Duration) -> Option<String> {
    let (program, arguments) = query.argv.split_first()?;
    let program = find_program(program)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env("LC_ALL", "C")
        .env_remove("LANGUAGE")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let Ok(child) = command.spawn() else {
        return Some(UNTOLD.to_owned());
    };
    let (stdout, stderr) = collect_output(child, Instant::now() + patience);
    let picked = match query.printed_on {
        PrintedOn::Stdout => pick_line(&stdout, &query.line),
        PrintedOn::Stderr => pick_line(&stderr, &query.line),
        PrintedOn::Either => pick_line(&stdout, &query.line).or_else(|| pick_line(&stderr, &query.line)),
    };
    Some(picked.unwrap_or_else(|| UNTOLD.to_owned()))
}

/// Standard output and error of a process that is killed, with whatever it started, at the deadline.
fn collect_output(mut child: Child, deadline: Instant) -> (String, String) {
    let stdout = child.stdout.take().map(read_aside);
    let stderr = child.stderr.take().map(read_aside);
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(_)) => break,
            Ok(None) | Err(_) => {
                kill_group(&child);
                // Killed, so this does not block; it takes the dead process off the table.
                let _ = child.wait();
                break;
            }
        }
    }
    // A grandchild may keep the pipe open for ever, so even now the wait has an end.
    let take = |source: Option<Receiver<String>>| {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(100));
        source.and_then(|receiver| receiver.recv_timeout(left).ok()).unwrap_or_default()
    };
    (take(stdout), take(stderr))
}

fn kill_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Reads a pipe in a thread of its own, so that a full pipe never blocks the tool.
fn read_aside(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was read before an error still counts.
        let _ = pipe.take(LONGEST_OUTPUT_BYTES).read_to_end(&mut bytes);
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    receiver
}

fn pick_line(text: &str, line: &VersionLine) -> Option<String> {
    let picked = text.lines().map(str::trim).filter(|one| !one.is_empty()).find(|one| match line {
        VersionLine::First => true,
        VersionLine::Containing(word) => one.contains(word.as_str()),
    })?;
    Some(picked.chars().filter(|letter| !letter.is_control()).take(LONGEST_VERSION_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A tool made of a shell script, which must be run by its own path.
    fn make_tool(folder: &tempfile::TempDir, script: &str) -> String {
        let path = folder.path().join("tool");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn ask_script(script: &str, printed_on: PrintedOn, line: VersionLine) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let argv = vec!["/bin/sh".to_owned(), make_tool(&folder, script)];
        ask(&ToolQuery { name: "tool".to_owned(), argv, printed_on, line }, PATIENCE)
    }

    #[test]
    fn the_version_is_found_where_it_is_printed() {
        let script = "echo; echo 'tool 1.2 '; echo 'other 3.4' >&2; exit 1";
        let first = VersionLine::First;
        assert_eq!(ask_script(script, PrintedOn::Stdout, first.clone()).as_deref(), Some("tool 1.2"));
        assert_eq!(ask_script(script, PrintedOn::Stderr, first.clone()).as_deref(), Some("other 3.4"));
        let containing = VersionLine::Containing("other".to_owned());
        assert_eq!(ask_script(script, PrintedOn::Either, containing).as_deref(), Some("other 3.4"));
        assert_eq!(ask_script("exit 0", PrintedOn::Either, first).as_deref(), Some(UNTOLD));
    }

    #[test]
    fn the_tool_speaks_english_and_reads_nothing() {
        let script = "read line && echo read; echo \"$LC_ALL ${LANGUAGE:-unset}\"";
        assert_eq!(ask_script(script, PrintedOn::Stdout, VersionLine::First).as_deref(), Some("C unset"));
    }

    #[test]
    fn a_missing_tool_is_none() {
        assert_eq!(ask(&ToolQuery::simple("no-such-tool-anywhere", "--version"), PATIENCE), None);
        let text = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(ask(&ToolQuery::simple(text.path().to_str().unwrap(), "--version"), PATIENCE), None);
        assert_eq!(ask(&ToolQuery { argv: Vec::new(), ..ToolQuery::simple("x", "") }, PATIENCE), None);
    }

    #[test]
    fn a_tool_that_hangs_is_given_up_with_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let argv = vec!["/bin/sh".to_owned(), make_tool(&folder, "echo late; sleep 1000 & sleep 1000")];
        let query = ToolQuery { argv, ..ToolQuery::simple("tool", "") };
        // A busy machine takes long to start a shell.
        let told = [300, 3_000, 30_000].map(Duration::from_millis).into_iter().map(|time| ask(&query, time));
        assert!(told.into_iter().any(|told| told.as_deref() == Some("late")));
    }

    #[test]
    fn endless_output_is_cut() {
        let version = ask_script("yes $(printf '%0300d' 7)", PrintedOn::Stdout, VersionLine::First).unwrap();
        assert_eq!(version.len(), LONGEST_VERSION_CHARS);
    }

    #[test]
    fn an_argument_is_never_read_by_a_shell() {
        let query = ToolQuery {
            argv: vec!["printf".to_owned(), "%s".to_owned(), "$(id); `id`".to_owned()],
            ..ToolQuery::simple("printf", "")
        };
        assert_eq!(ask(&query, PATIENCE).as_deref(), Some("$(id); `id`"));
    }
}
