//! What pages name exists: commands, options, links, images, make targets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use crate::pages::{Page, page, pages, root};

/// The options of each command, asked from the binary as they come up.
#[derive(Default)]
struct Help {
    options: BTreeMap<String, Option<BTreeSet<String>>>,
}

impl Help {
    /// The options of a command; none if there is no such command.
    fn of(&mut self, command: &str) -> Option<&BTreeSet<String>> {
        let asked = self.options.entry(command.to_owned()).or_insert_with(|| {
            let help = help_of(&[command]);
            let mut options = help.as_deref().map(options_in);
            // Options of a command's own commands are named behind these.
            for inner in help.iter().flat_map(|help| commands_in(help)) {
                let help = help_of(&[command, &inner]);
                if let Some(all) = options.as_mut() {
                    all.extend(help.iter().flat_map(|help| options_in(help)));
                }
            }
            if let Some(options) = options.as_mut().filter(|_| command == "io") {
                options.extend(options_of_fio());
            }
            options
        });
        asked.as_ref()
    }

    /// Whether any command has the option.
    fn knows(&mut self, option: &str) -> bool {
        let commands = [
            "run",
            "compare",
            "gate",
            "new",
            "demo",
            "report",
            "list",
            "show",
            "diff",
            "history",
            "serve",
            "judge",
            "import",
            "audit",
            "casebook",
            "export",
            "io",
            "orion",
            "disk",
            "guest",
            "image",
            "limit",
            "credits",
            "catalog",
            "emulate",
            "doctor",
            "cleanup",
            "schema",
            "completions",
            "man",
            "agent",
            "explain",
            "predict",
            "recommend",
            "fleet",
        ];
        commands.iter().any(|command| self.of(command).is_some_and(|options| options.contains(option)))
    }
}

/// What a command says of itself; none if there is no such command.
fn help_of(command: &[&str]) -> Option<String> {
    let mut iostone = Command::new(assert_cmd::cargo::cargo_bin!("iostone"));
    let output = iostone.args(command).arg("--help").output().unwrap();
    output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
}

/// The commands that a help lists.
fn commands_in(help: &str) -> Vec<String> {
    let list =
        help.split("Commands:\n").nth(1).and_then(|rest| rest.split("\n\n").next()).unwrap_or_default();
    let first = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    first.filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

/// fio's options, which `iostone io` takes, from the page that lists them all.
fn options_of_fio() -> BTreeSet<String> {
    let list = page("docs/reference/fio-options.md").text;
    let rows = list.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(name, _)| format!("--{name}")).collect()
}

/// Every long option in a text.
fn options_in(text: &str) -> BTreeSet<String> {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    text.split(|c: char| !named(c))
        .filter(|word| word.len() > 2 && word.starts_with("--") && !word[2..].starts_with('-'))
        .map(str::to_owned)
        .collect()
}

/// The part of a command line that is iostone's own: behind its name, before a pipe.
fn own_part(line: &str) -> Option<&str> {
    // Behind `--` stands somebody else's command.
    let line = line.split(" | ").next()?.split(" -- ").next()?;
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    line.strip_prefix("iostone ")
}

fn wrong_names(page: &Page, help: &mut Help) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in page.spans().iter().chain(&page.typed()) {
        if let Some(own) = own_part(line) {
            let command = own.split_whitespace().next().unwrap_or_default();
            match help.of(command).filter(|_| !command.starts_with('-')) {
                Some(known) => {
                    let unknown = options_in(own).into_iter().filter(|option| !known.contains(option));
                    wrong.extend(unknown.map(|option| format!("`{option}` of `iostone {command}`")));
                }
                None if command == "--help" => {}
                None => wrong.push(format!("`iostone {command}`")),
            }
        } else if line.starts_with("--") {
            let option = line.split([' ', '=']).next().unwrap_or_default();
            if !matches!(option, "--help" | "--version") && !help.knows(option) {
                wrong.push(format!("`{option}`"));
            }
        }
    }
    wrong
}

#[test]
fn every_command_and_option_that_is_named_exists() {
    let mut help = Help::default();
    for page in pages() {
        let wrong = wrong_names(&page, &mut help);
        assert!(wrong.is_empty(), "{} names what is not there: {}", page.name(), wrong.join(", "));
    }
}

#[test]
fn every_command_is_named_in_the_readme() {
    let readme = page("README.md").text;
    for command in commands_in(&help_of(&[]).unwrap()) {
        assert!(
            command == "help" || readme.contains(&format!("iostone {command}")),
            "`{command}` is not there"
        );
    }
}

#[test]
fn every_link_leads_somewhere() {
    for page in pages() {
        let links = page.links().into_iter().filter(|link| !link.starts_with("http"));
        for link in links {
            let (path, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let target =
                if path.is_empty() { page.path.clone() } else { page.path.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: `{link}` leads nowhere", page.name());
            if let Some(anchor) = anchor {
                let linked = Page { text: fs::read_to_string(&target).unwrap(), path: target };
                assert!(
                    linked.anchors().iter().any(|known| known == anchor),
                    "{}: no heading for `{link}`",
                    page.name()
                );
            }
        }
    }
}

#[test]
fn the_readme_is_one_page_and_the_index_has_every_page() {
    let text = page("README.md").text;
    // Comments are for the tests; nobody reads them.
    let words: usize = text
        .lines()
        .filter(|line| !line.starts_with("<!--"))
        .map(|line| line.split_whitespace().count())
        .sum();
    assert!(words <= 900, "README.md has {words} words");
    let index = page("docs/README.md").links();
    for page in pages() {
        let name = page.name();
        if let Some(below) = name.strip_prefix("docs/").filter(|below| *below != "README.md") {
            assert!(index.iter().any(|link| link == below), "docs/README.md does not list {name}");
        }
    }
}

/// What make is told to make; words with `=` set its variables.
fn make_targets(lines: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    let words = |line: &String| {
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        let words = line.strip_prefix("make ").unwrap_or_default().split_whitespace();
        words.filter(|word| !word.contains('=')).map(str::to_owned).collect::<Vec<_>>()
    };
    lines.into_iter().flat_map(|line| words(&line)).collect()
}

#[test]
fn set_up_is_two_commands_and_every_make_target_that_is_named_exists() {
    let makefile = fs::read_to_string(root().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> =
        makefile.lines().filter_map(|line| line.split_once(':')).map(|(target, _)| target.trim()).collect();
    for page in pages() {
        for target in make_targets(page.spans().into_iter().chain(page.typed())) {
            assert!(targets.contains(target.as_str()), "{} names `make {target}`", page.name());
        }
    }
    let typed = make_targets(page("README.md").typed());
    assert_eq!(typed.iter().map(String::as_str).collect::<Vec<_>>(), ["demo", "test"]);
}

#[test]
fn the_sources_that_experiments_build_have_the_sum_on_their_page() {
    use sha2::Digest as _;
    let page = page("experiments/build/README.md").text;
    let sources = fs::read(root().join("experiments/build/lua-5.4.4.tar.gz")).unwrap();
    let sum: Vec<String> = sha2::Sha256::digest(&sources).iter().map(|byte| format!("{byte:02x}")).collect();
    let sum = sum.concat();
    assert!(page.contains(&format!("`{sum}`")), "{sum} is not there");
    assert!(page.contains(&format!("| {} bytes |", sources.len())));
    assert!(
        page.contains("Copyright © 1994-2022 Lua.org, PUC-Rio.")
            && page.contains("Permission is hereby granted")
    );
}
