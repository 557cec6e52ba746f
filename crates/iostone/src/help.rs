//! What `iostone` says of itself: commands by what they are for, examples of each, and what to try first.

use std::fmt::Write as _;

use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue};
use clap::{Command, CommandFactory, Error};

use crate::cli::Cli;

/// What commands are for, in the order of the help. Each command that is not hidden belongs to one group.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Measure", &["compare", "gate", "run", "new", "demo", "io", "orion", "limit", "emulate", "fleet"]),
    ("Read", &["report", "list", "show", "diff", "history", "serve", "explain", "export"]),
    ("Judge figures of others", &["judge", "import", "audit", "casebook"]),
    ("Cloud", &["catalog", "predict", "recommend", "credits"]),
    ("Machine", &["doctor", "cleanup", "disk", "guest", "image", "schema", "completions", "man", "help"]),
];

/// Lines to try, for each command. A test parses each of them.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "iostone run experiment.toml --dry-run",
            "sudo iostone run experiment.toml --set workload.bs=8KiB",
            "iostone run experiment.toml --quick",
            "iostone run experiment.toml --fail-if 'new slower than old'",
            "sudo iostone run noatime",
            "iostone run --resume latest",
        ],
    ),
    (
        "compare",
        &[
            "iostone compare 'sh old.sh' 'sh new.sh'",
            "iostone compare --prepare 'make clean' 'make -j1' 'make -j2' --fail-if 'make -j2 slower than make -j1'",
            "sudo iostone compare --mount relatime noatime",
            "sudo iostone compare --fs ext4 xfs btrfs --load randwrite-4k",
            "sudo iostone compare --scheduler none mq-deadline --load randread-4k",
            "sudo iostone compare --readahead 128KiB 1MiB",
            "sudo iostone compare --set-factor workload.direct=true,false --load 'rw=read bs=1m'",
            "iostone compare --fs ext4 xfs --save experiment.toml",
        ],
    ),
    (
        "gate",
        &[
            "iostone gate 'sh old.sh' 'sh new.sh' --margin 5%",
            "sudo iostone gate experiment.toml --time 20min --format markdown --output gate.md",
            "iostone gate --run latest --format markdown",
        ],
    ),
    ("new", &["iostone new", "iostone new noatime", "iostone new noatime --output mine.toml"]),
    ("demo", &["sudo iostone demo", "iostone demo --set decide.time=60s"]),
    (
        "report",
        &[
            "iostone report",
            "iostone report latest --full",
            "iostone report --baseline ext4 --format html --output report.html",
            "iostone report --fail-if 'xfs not equivalent to ext4'",
        ],
    ),
    (
        "list",
        &[
            "iostone list",
            "iostone list --experiment 'ext4-*' --kernel '6.1.*' --since 4w",
            "iostone list --verdict slower --tag nightly --json",
        ],
    ),
    ("show", &["iostone show latest", "iostone show latest --trial 2"]),
    (
        "diff",
        &[
            "iostone diff last-1 last",
            "iostone diff last-10..last --full",
            "iostone diff last-20..last --by host --metric latency_p99",
        ],
    ),
    (
        "history",
        &[
            "iostone history weekly",
            "iostone history weekly.toml --metric all --html history.html",
            "iostone history weekly --confirm confirm.toml",
        ],
    ),
    ("serve", &["iostone serve", "iostone serve --listen 127.0.0.1:8080 --runs archive"]),
    (
        "judge",
        &[
            "iostone judge figures.csv",
            "iostone judge figures.csv --metric seconds --by version --baseline old --block round --order order",
            "iostone judge figures.csv --metric iops --by mount --baseline on --block round --fail-if 'off slower than on'",
            "iostone judge a-1.json a-2.json b-1.json b-2.json --by '{setting}-{run}.json' --metric iops --baseline a",
        ],
    ),
    (
        "import",
        &[
            "iostone import dbench *.log",
            "iostone import --by '{barrier}-{run}.txt' on-1.txt on-2.txt off-1.txt off-2.txt",
        ],
    ),
    ("audit", &["iostone audit latest", "iostone audit figures.toml --fail-on serious"]),
    ("casebook", &["iostone casebook", "iostone casebook instance-bandwidth"]),
    (
        "export",
        &[
            "iostone export latest --output figures.csv",
            "iostone export latest --format go",
            "iostone export --all --format parquet --output figures --since 4w",
            "iostone export latest --format svg --output plots",
        ],
    ),
    (
        "io",
        &[
            "iostone io --filename=scratch.dat --size=64MiB --rw=randread --bs=4KiB --iodepth=8 --runtime=5s --time_based",
            "iostone io --filename=scratch.dat --size=64MiB --rw=randwrite --fdatasync=1 --runtime=5s --time_based",
            "iostone io job.fio --parse-only",
        ],
    ),
    (
        "disk",
        &[
            "iostone disk serve --socket /tmp/v0 --memory --size 1GiB --iops 3000 --throughput 125MiB/s --latency 1ms",
            "sudo iostone disk statistics /dev/nvme1n1 --interval 10s",
        ],
    ),
    ("guest", &["iostone guest kernels", "iostone guest run --kernel debian:6.1 --drive 64MiB -- lsblk"]),
    ("image", &["iostone image info disk.vmdk", "iostone image convert disk.img disk.vhd --subformat fixed"]),
    ("credits", &["iostone credits t2.micro --work 9.33min", "iostone credits --list"]),
    ("limit", &["sudo iostone limit 30% -- make -j2", "sudo iostone limit --memory 500MiB -- sh backup.sh"]),
    (
        "catalog",
        &[
            "iostone catalog search --help",
            "iostone catalog show c5.large",
            "iostone catalog compare c4.large c4.4xlarge",
        ],
    ),
    (
        "predict",
        &[
            "iostone predict --instance c4.large --volume gp2:220GiB --write 220GiB",
            "iostone predict experiment.toml",
        ],
    ),
    (
        "recommend",
        &[
            "iostone recommend --iops 20000 --bs 16KiB --size 500GiB",
            "iostone recommend --write 220GiB --within 25min --html choice.html",
        ],
    ),
    (
        "explain",
        &["iostone explain latest", "iostone explain latest --instance c5.large --volume gp3:500GiB"],
    ),
    ("emulate", &["sudo iostone emulate c4.large --volume gp2:220GiB --speed 60 -- make"]),
    (
        "fleet",
        &[
            "iostone fleet run experiment.toml --inventory hosts.yml",
            "iostone fleet run --resume runs/2026-11-21-barrier-fleet-abcd1234",
            "iostone fleet collect results/*.tar",
            "iostone fleet template slurm experiment.toml --hosts 16",
        ],
    ),
    ("doctor", &["iostone doctor", "iostone doctor --json"]),
    ("cleanup", &["sudo iostone cleanup"]),
    ("completions", &["iostone completions bash > ~/.local/share/bash-completion/completions/iostone"]),
    ("man", &["iostone man ~/.local/share/man/man1"]),
    ("schema", &["iostone schema > experiment.schema.json"]),
];

/// What somebody tries who types the name alone.
pub(crate) const FIRST: &str = "\
Measure whether a change makes storage faster, by how much and why.

Try first:
  sudo iostone demo                         is ext4 faster without write barriers? three minutes
  iostone compare 'sh old.sh' 'sh new.sh'   which of two commands is faster?
  iostone new                               experiments for everyday questions
  iostone casebook                          published benchmarks, judged again

`iostone --help` lists all commands, `iostone COMMAND --help` has examples.
";

/// The command line with the groups and the examples in its help.
pub(crate) fn command() -> Command {
    let mut command = Cli::command();
    for (name, lines) in EXAMPLES {
        let examples: Vec<String> = lines.iter().map(|line| format!("  {line}")).collect();
        let examples = format!("Examples:\n{}", examples.join("\n"));
        command = command.mut_subcommand(name, |inner| {
            let own = inner.get_after_help().map(|own| format!("{own}\n\n")).unwrap_or_default();
            inner.after_help(format!("{own}{examples}"))
        });
    }
    let styles = Styles::styled();
    let heading = |text: &str| format!("{0}{text}:{0:#}", styles.get_header());
    let options = heading("Options");
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\n{options}\n{{options}}{{after-help}}",
        groups(&command, heading)
    );
    command.help_template(template)
}

/// A list of commands under each heading, with what each says of itself.
fn groups(command: &Command, heading: impl Fn(&str) -> String) -> String {
    let literal = Styles::styled();
    let literal = literal.get_literal();
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{}", heading(title));
        for name in names {
            let about = match command.find_subcommand(name).and_then(Command::get_about) {
                Some(about) => about.to_string(),
                // clap adds it by itself, and later.
                None => "Print this message or the help of the given commands".to_owned(),
            };
            let _ = writeln!(text, "  {literal}{name:<12}{literal:#} {about}");
        }
    }
    text
}

/// A usage error whose suggestions name no hidden command: clap looks for similar names among all of them.
pub(crate) fn without_hidden(mut error: Error) -> Error {
    let suggested = match error.remove(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(name)) => vec![name],
        Some(ContextValue::Strings(names)) => names,
        _ => return error,
    };
    let program = Cli::command();
    // Those of inner commands are not looked up: a name that is hidden anywhere is not suggested.
    let is_hidden = |name: &String| {
        let inner = program.get_subcommands().flat_map(Command::get_subcommands);
        program
            .get_subcommands()
            .chain(inner)
            .any(|command| command.get_name() == name && command.is_hide_set())
    };
    let shown: Vec<String> = suggested.into_iter().filter(|name| !is_hidden(name)).collect();
    if !shown.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(shown));
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Commands whose result is a stream, files, an exit code, or JSON anyway; ORION's has its own parser, and the option.
    const WITHOUT_JSON: [&str; 13] = [
        "orion",
        "serve",
        "disk serve",
        "guest run",
        "catalog export",
        "schema",
        "completions",
        "man",
        "help",
        "fleet cleanup",
        "fleet sign",
        "fleet template",
        "fleet verify",
    ];

    #[test]
    fn each_command_that_has_a_result_has_it_as_json() {
        let program = command();
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            let inner: Vec<&Command> =
                command.get_subcommands().filter(|inner| !inner.is_hide_set()).collect();
            let leaves = if inner.is_empty() { vec![command] } else { inner.clone() };
            for leaf in leaves {
                let name = if inner.is_empty() {
                    leaf.get_name().to_owned()
                } else {
                    format!("{} {}", command.get_name(), leaf.get_name())
                };
                let has = leaf.get_arguments().any(|argument| argument.get_long() == Some("json"));
                assert_eq!(has, !WITHOUT_JSON.contains(&name.as_str()), "{name}");
            }
        }
    }

    fn visible(command: &Command) -> Vec<String> {
        let shown = command.get_subcommands().filter(|inner| !inner.is_hide_set());
        shown.map(|inner| inner.get_name().to_owned()).collect()
    }

    #[test]
    fn each_command_is_in_one_group_and_no_group_names_another() {
        let mut command = Cli::command();
        command.build();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        grouped.sort_unstable();
        let mut commands = visible(&command);
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }

    /// As a shell splits a line that has no quotes but single ones.
    fn words_of(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        for (place, piece) in line.split('\'').enumerate() {
            let mut pieces =
                if place % 2 == 1 { vec![piece] } else { piece.split(' ').collect() }.into_iter();
            if let (Some(first), Some(last)) = (pieces.next(), words.last_mut()) {
                last.push_str(first);
            }
            words.extend(pieces.map(str::to_owned));
        }
        words
    }

    #[test]
    fn each_command_has_examples_that_it_takes() {
        let mut with_examples: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        // Its help is ORION's own.
        with_examples.push("orion");
        with_examples.sort_unstable();
        let mut commands = visible(&Cli::command());
        commands.sort_unstable();
        assert_eq!(with_examples, commands);
        for (name, line) in
            EXAMPLES.iter().flat_map(|(name, lines)| lines.iter().map(move |line| (name, line)))
        {
            let typed = line.split(" > ").next().unwrap();
            let words: Vec<String> = words_of(typed).into_iter().skip_while(|word| word == "sudo").collect();
            assert_eq!(words[..2], ["iostone".to_owned(), (*name).to_owned()], "{line}");
            let parsed = command().try_get_matches_from(&words);
            let is_help = |error: &Error| error.kind() == clap::error::ErrorKind::DisplayHelp;
            assert!(parsed.as_ref().err().is_none_or(is_help), "{line}: {parsed:?}");
        }
    }
}
