//! Completions and manual pages say what the command line takes.

use std::collections::BTreeSet;
use std::process::Command;

use crate::support::Bench;

/// Every command and its own commands, as words behind `iostone`: what the helps list, beginning with that of `path`.
fn commands_below(bench: &Bench, path: &[&str]) -> Vec<Vec<String>> {
    let asked: Vec<&str> = path.iter().copied().chain(["--help"]).collect();
    let help = bench.iostone(&asked).ended_with(0).stdout;
    // The program's own commands stand in groups between its usage and its options.
    let list = match help.split_once("\nCommands:\n") {
        Some((_, list)) => list.split_once("\n\n").map_or(list, |(list, _)| list),
        None if path.is_empty() => help.split_once("\nOptions:\n").unwrap().0,
        None => "",
    };
    let lines = list.lines();
    let names = lines
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help" && !name.starts_with('-'));
    let mut found = vec![path.iter().map(|&word| word.to_owned()).collect()];
    for name in names {
        let inner: Vec<&str> = path.iter().copied().chain([name]).collect();
        found.extend(commands_below(bench, &inner));
    }
    found
}

/// Runs a program on a file where the program is installed; what it said on stderr.
fn complaints(program: &str, arguments: &[&str], bench: &Bench) -> Option<String> {
    let output = Command::new(program).args(arguments).current_dir(bench.path("")).output().ok()?;
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn every_command_has_a_manual_page() {
    let bench = Bench::new();
    let said = bench.iostone(&["man", "pages"]).ended_with(0);
    let commands = commands_below(&bench, &[]);
    let page_of =
        |words: Vec<String>| format!("{}.1", [vec!["iostone".to_owned()], words].concat().join("-"));
    let expected: BTreeSet<String> = commands.into_iter().map(page_of).collect();
    let pages: BTreeSet<String> = std::fs::read_dir(bench.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(pages, expected);
    said.complains_of(&format!("{} pages in pages", pages.len()));
    for name in &pages {
        let page = std::fs::read_to_string(bench.path(&format!("pages/{name}"))).unwrap();
        assert!(page.contains(".TH ") && page.contains(".SH NAME"), "{name}:\n{page}");
        let complaints =
            complaints("groff", &["-man", "-Tutf8", "-ww", "-z", &format!("pages/{name}")], &bench);
        assert_eq!(complaints.unwrap_or_default(), "", "{name}");
    }
    let read = |name: &str| {
        let page = std::fs::read_to_string(bench.path(&format!("pages/{name}.1"))).unwrap();
        page.replace("\\-", "-")
    };
    for (name, words) in [
        ("iostone", ["iostone-guest(1)", "130 interrupted"]),
        ("iostone-run", ["--dry-run", "IOSTONE_RUNS"]),
        ("iostone-io", ["  --rw=KIND           read,", "--after-crash"]),
        ("iostone-orion", ["-num_disks N", "--resume PREFIX"]),
        ("iostone-guest-run", ["iostone guest run", "--kernel"]),
    ] {
        for word in words {
            assert!(read(name).contains(word), "`{word}` is not in {name}:\n{}", read(name));
        }
    }
}

#[test]
fn manual_pages_replace_their_own_and_nothing_else() {
    let bench = Bench::new();
    bench.iostone(&["man", "pages"]).ended_with(0);
    bench.iostone(&["man", "pages"]).ended_with(0);
    bench.write("pages/iostone-run.1", "somebody's own");
    bench.iostone(&["man", "pages"]).ended_with(3).complains_of("iostone-run.1");
    assert_eq!(std::fs::read_to_string(bench.path("pages/iostone-run.1")).unwrap(), "somebody's own");
    bench.write("file", "");
    bench.iostone(&["man", "file"]).ended_with(2).complains_of("cannot create `file`");
}

#[test]
fn completions_are_scripts_that_know_every_command() {
    let bench = Bench::new();
    let names: BTreeSet<String> = commands_below(&bench, &[]).into_iter().flatten().collect();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.iostone(&["completions", shell]).ended_with(0).stdout;
        for name in &names {
            assert!(script.contains(name.as_str()), "{shell} does not know `{name}`");
        }
        assert!(!script.contains('\u{1b}') && !script.contains('\u{fffd}'), "{shell}");
        bench.write("script", &script);
        // Parsed, not run. A shell that is not installed says nothing.
        assert_eq!(complaints(shell, &["-n", "script"], &bench).unwrap_or_default(), "", "{shell}");
    }
    bench.iostone(&["completions", "cmd"]).ended_with(2).complains_of("possible values: bash");
}

#[test]
fn bash_completes_commands_options_and_values() {
    let bench = Bench::new();
    bench.write("iostone.bash", bench.iostone(&["completions", "bash"]).ended_with(0).stdout);
    for (words, wanted) in [
        ("iostone cas", "casebook"),
        ("iostone run --dry", "--dry-run"),
        ("iostone guest ker", "kernels"),
        ("iostone report --format h", "html"),
    ] {
        let typed: Vec<&str> = words.split(' ').collect();
        let script = format!(
            "source ./iostone.bash; COMP_WORDS=({words}); COMP_CWORD={}; _iostone iostone '{}' '{}'; echo \"${{COMPREPLY[*]}}\"",
            typed.len() - 1,
            typed[typed.len() - 1],
            typed[typed.len() - 2],
        );
        let output = Command::new("bash").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), wanted, "{words}: {output:?}");
    }
}
