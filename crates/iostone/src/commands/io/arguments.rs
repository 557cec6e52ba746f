//! Sorts the arguments of `iostone io` into its own options and fio's, and reads units as the rest of iostone does.

use std::str::FromStr;

use anyhow::{Result, bail};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use iostone_fio::{Argument, Kind, find, split_arguments};
use iostone_model::units::{Bytes, BytesPerSecond, Span};

use crate::cli::{Eta, IoArguments, IoFormat, IoOptions};

/// The load that was asked for.
pub(super) struct Load {
    pub(super) options: IoOptions,
    /// fio's options.
    pub(super) arguments: Vec<Argument>,
    /// Job files.
    pub(super) files: Vec<String>,
}

/// Options of fio whose values are names, not quantities.
const NAMES: [&str; 8] = [
    "name",
    "filename",
    "directory",
    "filename_format",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "description",
];

/// Sorts the arguments. iostone's own options may stand anywhere among fio's.
pub(super) fn sort(given: &IoArguments) -> Result<Load> {
    let command = IoOptions::augment_args(Command::new("iostone io").no_binary_name(true));
    let mut own = Vec::new();
    let mut rest = Vec::new();
    let mut words = given.load.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            rest.extend(words.by_ref().cloned());
            break;
        }
        let Some(option) = find_own(&command, word) else {
            rest.push(word.clone());
            continue;
        };
        own.push(word.clone());
        if option.get_action().takes_values() && !word.contains('=') {
            own.extend(words.next().cloned());
        }
    }
    let matches = command.try_get_matches_from(own).map_err(|error| {
        // clap says itself that it is an error.
        let text = error.to_string();
        anyhow::anyhow!("{}", text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned())
    })?;
    let mut options = join(&given.options, &matches)?;
    if options.minimal {
        options.output_format = IoFormat::Terse;
    }
    let rest = complete(rest);
    let (mut arguments, files) = split_arguments(&rest).map_err(|problems| {
        anyhow::anyhow!(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    })?;
    for argument in &mut arguments {
        if let Some(value) = argument.value.as_mut().filter(|_| !NAMES.contains(&argument.name.as_str())) {
            *value = spell_as_fio(value);
        }
    }
    if files.is_empty() && arguments.is_empty() {
        bail!(
            "there is nothing to do: name a job file of fio's, or a load, as in \
             `iostone io --filename data --rw randread --size 1GiB`"
        );
    }
    if files.is_empty() && !arguments.iter().any(|argument| argument.name == "name") {
        // One load without a name, as it is typed most often. What is wrong with all of it is wrong from the first on.
        let name = Argument { name: "name".to_owned(), value: Some("io".to_owned()), position: 1 };
        arguments.insert(0, name);
    }
    Ok(Load { options, arguments, files })
}

/// iostone's own options from before the load and from within it; the later ones win.
fn join(before: &IoOptions, matches: &ArgMatches) -> Result<IoOptions> {
    let within = IoOptions::from_arg_matches(matches)?;
    let is_default = within.output_format == IoFormat::default();
    let options = IoOptions {
        json: before.json || within.json,
        output_format: if is_default { before.output_format } else { within.output_format },
        minimal: before.minimal || within.minimal,
        terse_version: within.terse_version.or_else(|| before.terse_version.clone()),
        eta: if within.eta == Eta::default() { before.eta } else { within.eta },
        readonly: before.readonly || within.readonly,
        output: within.output.or_else(|| before.output.clone()),
        destroy: [before.destroy.clone(), within.destroy].concat(),
        lenient: before.lenient || within.lenient,
        section: [before.section.clone(), within.section].concat(),
        parse_only: before.parse_only || within.parse_only,
        ledger: within.ledger.or_else(|| before.ledger.clone()),
        after_crash: before.after_crash || within.after_crash,
    };
    if options.json && options.output_format != IoFormat::default() {
        bail!("`--json` and `--output-format` both say what to print; leave one of them out");
    }
    Ok(options)
}

/// Writes out what may be left out on the command line: `--direct` is `--direct=1`, and `--engine` is fio's
/// `--ioengine`.
fn complete(words: Vec<String>) -> Vec<String> {
    let mut words = words.into_iter().peekable();
    let mut complete = Vec::new();
    while let Some(word) = words.next() {
        if word == "--" {
            complete.push(word);
            complete.extend(words);
            break;
        }
        let word = match word.strip_prefix("--engine") {
            Some(rest) if rest.is_empty() || rest.starts_with('=') => format!("--ioengine{rest}"),
            _ => word,
        };
        let option = word.strip_prefix("--").and_then(find);
        let is_switch = option.is_some_and(|option| option.kind == Kind::Bool);
        let has_value = words.peek().is_some_and(|next| matches!(next.as_str(), "0" | "1"));
        complete.push(if is_switch && !has_value { format!("{word}=1") } else { word });
    }
    complete
}

/// iostone's own option that a word is, by its long name.
fn find_own<'a>(command: &'a Command, word: &str) -> Option<&'a clap::Arg> {
    let name = word.strip_prefix("--")?.split('=').next()?;
    command.get_arguments().find(|argument| argument.get_long() == Some(name))
}

/// Rewrites quantities with the units of iostone (`4KiB`, `40MB/s`, `5min`) in the spelling of fio, to which `4KiB` would
/// be 4000 bytes. What is fio's spelling already, as `4k`, stays.
fn spell_as_fio(value: &str) -> String {
    if let Ok(rate) = BytesPerSecond::from_str(value) {
        return format!("{:.0}", rate.0);
    }
    // Sizes come in lists, ranges and splits: `4KiB-64KiB`, `4KiB/60:64KiB/40`.
    let mut spelled = String::with_capacity(value.len());
    let mut word = String::new();
    for letter in value.chars() {
        if ",:/-".contains(letter) {
            spelled += &spell_word(&std::mem::take(&mut word));
            spelled.push(letter);
        } else {
            word.push(letter);
        }
    }
    spelled + &spell_word(&word)
}

fn spell_word(word: &str) -> String {
    if word.ends_with('B')
        && let Ok(bytes) = Bytes::from_str(word)
    {
        return bytes.0.to_string();
    }
    if word.ends_with("min")
        && let Ok(span) = Span::from_str(word)
    {
        return format!("{}s", span.0.as_secs());
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(words: &[&str]) -> Load {
        let load = words.iter().map(|word| (*word).to_owned()).collect();
        sort(&IoArguments { options: IoOptions::default(), load }).unwrap()
    }

    #[test]
    fn units_of_iostone_mean_what_they_say() {
        let cases = [
            ("4KiB", "4096"),
            ("4k", "4k"),
            ("1.5MiB", "1572864"),
            ("4kB", "4000"),
            ("40MB/s", "40000000"),
            ("4KiB-64KiB", "4096-65536"),
            ("4KiB/60:64KiB/40", "4096/60:65536/40"),
            ("10min", "600s"),
            ("500ms", "500ms"),
            ("zipf:1.2", "zipf:1.2"),
            ("randread", "randread"),
        ];
        for (written, spelled) in cases {
            assert_eq!(spell_as_fio(written), spelled);
        }
    }

    #[test]
    fn own_options_stand_anywhere_and_names_are_left_alone() {
        let load = sorted(&["--filename", "/dev/4KiB", "--json", "--bs=4KiB", "--destroy", "x", "--direct"]);
        assert!(load.options.json);
        assert_eq!(load.options.destroy.len(), 1);
        let given: Vec<(&str, Option<&str>)> = load
            .arguments
            .iter()
            .map(|argument| (argument.name.as_str(), argument.value.as_deref()))
            .collect();
        let expected = [
            ("name", Some("io")),
            ("filename", Some("/dev/4KiB")),
            ("bs", Some("4096")),
            ("direct", Some("1")),
        ];
        assert_eq!(given, expected);
        assert!(sorted(&["a.fio", "--lenient"]).options.lenient);
    }
}
