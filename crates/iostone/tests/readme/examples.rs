//! Runs the examples that are marked for it, each page in a directory of its own.

use std::fs::{self, File};
use std::process::Command;

use crate::compare::assert_same;
use crate::pages::{Page, page, pages, root};

/// The name that pages give to the directory in which their examples run.
const SHOWN_DIRECTORY: &str = "/home/me";

/// Runs what is marked in a page; gives the number of commands.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn run_examples(page: &Page) -> usize {
    // Not /tmp: it may be in memory, where flushes cost nothing and experiments about it are refused.
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = fs::canonicalize(directory.path()).unwrap();
    for folder in ["experiments", "experiments/build"] {
        fs::create_dir(here.join(folder)).unwrap();
        for entry in fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_file() {
                fs::copy(&entry, here.join(folder).join(entry.file_name().unwrap())).unwrap();
            }
        }
    }
    let mut count = 0;
    for block in page.blocks() {
        let Some(comment) = block.comment else { continue };
        if let Some(name) = comment.strip_prefix("file: ") {
            fs::write(here.join(name), block.lines.join("\n") + "\n").unwrap();
        }
        let place = format!("{}, line {}", page.name(), block.line);
        if comment == "run" {
            for typed in block.lines.iter().filter_map(|line| line.strip_prefix("$ ")) {
                let (code, said) = say(&here, typed, &place);
                assert_eq!(code, Some(0), "{place}: `{typed}` said\n{said}");
                count += 1;
            }
        }
        if comment != "check" && !comment.starts_with("check with ") {
            continue;
        }
        let further = comment.strip_prefix("check with ").unwrap_or_default();
        assert!(block.lines.first().is_some_and(|line| line.starts_with("$ ")), "{place}: no command first");
        let mut lines = block.lines.iter().peekable();
        while let Some(typed) = lines.next().and_then(|line| line.strip_prefix("$ ")) {
            let mut shown = Vec::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
                shown.push(*line);
            }
            let (_, said) = say(&here, &format!("{typed} {further}"), &place);
            if said.contains("in memory, where flushes cost nothing") {
                eprintln!("skipped: {place}: {} is in memory", here.display());
                return count;
            }
            assert_same(&place, &shown, &said.replace(&here.display().to_string(), SHOWN_DIRECTORY));
            count += 1;
        }
    }
    let journals = here.join("state/journals");
    assert!(!journals.exists() || fs::read_dir(journals).unwrap().next().is_none(), "a journal is left");
    count
}

/// How a command ends, and what it prints, output and errors as they come.
fn say(here: &std::path::Path, typed: &str, place: &str) -> (Option<i32>, String) {
    let words = words(typed);
    let (program, arguments) = words.split_first().unwrap();
    assert_eq!(program, "iostone", "{place}: only iostone can be checked");
    let path = here.join("said");
    let file = File::create(&path).unwrap();
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("iostone"));
    command.args(arguments).current_dir(here).stdout(file.try_clone().unwrap()).stderr(file);
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "IOSTONE_QUIET", "IOSTONE_RUNS", "COLUMNS"] {
        command.env_remove(variable);
    }
    let status = command.env("IOSTONE_STATE_DIR", here.join("state")).status().unwrap();
    (status.code(), fs::read_to_string(path).unwrap())
}

/// The words of a command line; single quotes keep spaces.
fn words(typed: &str) -> Vec<String> {
    let quoted = typed.split('\'').enumerate();
    quoted
        .flat_map(|(index, part)| {
            if index % 2 == 1 {
                vec![part.to_owned()]
            } else {
                part.split_whitespace().map(str::to_owned).collect()
            }
        })
        .collect()
}

#[test]
fn the_examples_of_the_readme_run() {
    assert!(run_examples(&page("README.md")) >= 3);
}

#[test]
fn the_examples_of_the_pages_run() {
    let count: usize = pages().iter().filter(|page| page.name() != "README.md").map(run_examples).sum();
    assert!(count >= 36, "{count} commands are checked");
}

/// Every command that a page shows is run, or its comment says why not; then its options are read all the same.
#[test]
fn what_is_not_run_says_why_and_has_options_that_exist() {
    let here = tempfile::tempdir().unwrap();
    let mut unread = 0;
    for page in pages() {
        for block in page.blocks().iter().filter(|block| block.language == "console") {
            let typed = block.lines.iter().filter_map(|line| line.strip_prefix("$ "));
            let typed = typed.map(|line| line.strip_prefix("sudo ").unwrap_or(line));
            let place = format!("{}, line {}", page.name(), block.line);
            for line in typed.filter(|line| line.starts_with("iostone ")) {
                let comment = block.comment.unwrap_or_default();
                if comment == "run" || comment.starts_with("check") {
                    continue;
                }
                let is_reason = comment.starts_with("as root") || comment.starts_with("not run: ");
                assert!(is_reason, "{place}: `{line}` is not run, and no comment says why");
                // Reads everything before the programs, pipes and further lines of a shell, and does nothing.
                let own = [" -- ", " | ", " > ", " \\"]
                    .iter()
                    .fold(line, |own, end| own.split_once(end).map_or(own, |(before, _)| before));
                let look = if own.starts_with("iostone io ") { "--parse-only" } else { "--help" };
                let (code, said) = say(here.path(), &format!("{own} {look}"), &place);
                assert_eq!(code, Some(0), "{place}: `{line}`: {said}");
                unread += 1;
            }
        }
    }
    assert!(unread > 40, "{unread} commands are not run");
}

#[test]
fn a_word_in_quotes_keeps_its_spaces() {
    assert_eq!(words("iostone run --set 'a={ b = 1 }' x"), ["iostone", "run", "--set", "a={ b = 1 }", "x"]);
}
