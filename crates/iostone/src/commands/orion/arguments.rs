//! Sorts the words behind `iostone orion` into ORION's options, of one dash, and iostone's, of two.

use anyhow::{Result, bail};
use clap::{Args, Command, FromArgMatches};
use iostone_model::orion::{Matrix, OrionTest};
use iostone_model::units::{Bytes, Fraction};
use iostone_orion::files::Format;

use crate::commands::dry_run::quoted;

/// iostone's own options of `iostone orion`, beside ORION's.
#[derive(Debug, Clone, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct OrionOptions {
    #[arg(long)]
    pub(super) plan: bool,
    #[arg(long)]
    pub(super) json: bool,
    #[arg(long, value_name = "VERSION")]
    pub(super) format: Option<Format>,
    #[arg(long, value_name = "FILE")]
    pub(super) destroy: Vec<String>,
    #[arg(long, value_name = "SIZE")]
    pub(super) create: Option<Bytes>,
    #[arg(long)]
    pub(super) prefill: bool,
    #[arg(long, conflicts_with = "prefill")]
    pub(super) allow_unwritten: bool,
    #[arg(long)]
    pub(super) buffered: bool,
    #[arg(long, value_name = "PERCENT")]
    pub(super) until: Option<Fraction>,
    #[arg(long, conflicts_with = "adaptive")]
    pub(super) knee: bool,
    #[arg(long, value_name = "PERCENT")]
    pub(super) adaptive: Option<Fraction>,
    #[arg(long, value_name = "N")]
    pub(super) seed: Option<u64>,
    #[arg(long, value_name = "PREFIX", conflicts_with_all = [
        "plan", "create", "prefill", "buffered", "until", "knee", "adaptive", "seed",
    ])]
    pub(super) resume: Option<String>,
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// What is asked for.
#[derive(Debug)]
pub(super) enum Asked {
    /// The page of options.
    Help,
    /// A test, or its plan.
    Test(Box<OrionTest>, OrionOptions),
    /// To go on with a test.
    Resume(String, OrionOptions),
}

/// ORION's options that take no value, which is all that must be known of them here.
const SWITCHES: [&str; 3] = ["-verbose", "-hugenotneeded", "-help"];

/// Reads the words. iostone's own options may stand anywhere among ORION's.
pub(super) fn sort(words: &[String]) -> Result<Asked> {
    let command = OrionOptions::augment_args(
        Command::new("iostone orion").no_binary_name(true).disable_help_flag(true),
    );
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let lower = word.to_ascii_lowercase();
        if matches!(lower.as_str(), "-help" | "--help" | "-h" | "-?") {
            return Ok(Asked::Help);
        }
        if word == "-q" {
            own.push(word.clone());
        } else if let Some(name) = word.strip_prefix("--") {
            let name = name.split('=').next().unwrap_or_default();
            let Some(option) = command.get_arguments().find(|option| option.get_long() == Some(name)) else {
                refuse_two_dashes(name)?;
                own.push(word.clone());
                continue;
            };
            own.push(word.clone());
            if option.get_action().takes_values() && !word.contains('=') {
                own.extend(words.next().cloned());
            }
        } else {
            refuse_one_dash(&command, word)?;
            rest.push(word.clone());
            // A value may look like anything, and is not looked at here.
            if word.starts_with('-') && !SWITCHES.contains(&lower.as_str()) {
                rest.extend(words.next().cloned());
            }
        }
    }
    let matches = command.try_get_matches_from(own).map_err(|error| {
        // clap says itself that it is an error, and of a usage that is only half of it.
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let text = text.split("\n\nUsage:").next().unwrap_or_default().trim_end().to_owned();
        anyhow::anyhow!("{text}; `iostone orion -help` lists the options")
    })?;
    judge(&rest, OrionOptions::from_arg_matches(&matches)?)
}

/// What does not go together.
fn judge(rest: &[String], options: OrionOptions) -> Result<Asked> {
    for (name, share) in [("--until", options.until), ("--adaptive", options.adaptive)] {
        if share.is_some_and(|share| !(0.001..=0.5).contains(&share.0)) {
            bail!("`{name}` takes a share from 0.1% to 50%, as in `{name} 2%`");
        }
    }
    if options.create.is_some_and(|size| size.0 == 0) {
        bail!("`--create` takes the size of each file, as in `--create 10GiB`");
    }
    if let Some(prefix) = options.resume.clone() {
        if let Some(word) = rest.first() {
            bail!("`--resume` goes on with a test as it was begun; leave out `{word}`");
        }
        return Ok(Asked::Resume(prefix, options));
    }
    let test = OrionTest::parse(rest)?;
    if test.shape() == Matrix::Point && (options.knee || options.adaptive.is_some()) {
        let option = if options.knee { "--knee" } else { "--adaptive" };
        bail!(
            "`-matrix point` is a single load point, of which `{option}` can choose none; leave one of them out"
        );
    }
    Ok(Asked::Test(Box::new(test), options))
}

/// ORION's options have one dash.
fn refuse_two_dashes(name: &str) -> Result<()> {
    let single = format!("-{name}");
    match OrionTest::parse(&["-run".to_owned(), "advanced".to_owned(), single.clone()]) {
        Err(iostone_model::orion::OrionArgumentError::Unknown { .. }) => Ok(()),
        _ => bail!("`--{name}` is an option of ORION's and has one dash: `{single}`"),
    }
}

/// iostone's own have two.
fn refuse_one_dash(command: &Command, word: &str) -> Result<()> {
    let Some(name) = word.strip_prefix('-') else { return Ok(()) };
    if command.get_arguments().any(|option| option.get_long() == Some(name)) {
        bail!("`{word}` is an option of iostone's and has two dashes: `--{name}`");
    }
    Ok(())
}

/// The command line that was typed, as a shell would take it again.
pub(super) fn typed_again(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("iostone orion {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(line: &str) -> Result<Asked, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        sort(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn own_options_stand_anywhere_among_those_of_orion() {
        let asked =
            sorted("--plan -run advanced --destroy a -testname t --destroy=b -num_disks 4 --format 11.1")
                .unwrap();
        let Asked::Test(test, options) = asked else { panic!("{asked:?}") };
        assert_eq!((test.num_disks, test.test_name.as_str()), (Some(4), "t"));
        assert!(options.plan);
        assert_eq!(
            (options.destroy, options.format),
            (vec!["a".to_owned(), "b".to_owned()], Some(Format::V11_1))
        );
    }

    #[test]
    fn every_spelling_of_help_is_understood() {
        for help in ["-help", "--help", "-h", "-HELP", "-run simple -help"] {
            assert!(matches!(sorted(help), Ok(Asked::Help)), "{help}");
        }
    }

    #[test]
    fn wrong_dashes_are_told() {
        assert_eq!(
            sorted("--run simple").unwrap_err(),
            "`--run` is an option of ORION's and has one dash: `-run`"
        );
        assert_eq!(
            sorted("-run simple -plan").unwrap_err(),
            "`-plan` is an option of iostone's and has two dashes: `--plan`"
        );
        assert!(sorted("-run simple --plna").unwrap_err().contains("--plan"));
    }

    #[test]
    fn contradictions_are_refused() {
        for line in [
            "-run simple --knee --adaptive 5%",
            "-run simple --prefill --allow-unwritten",
            "-run simple --resume x",
            "--resume x --plan",
            "-run simple --until 0%",
            "-run simple --until 80%",
            "-run simple --until 2",
            "-run simple --create 0B",
            "-run advanced -matrix point -num_small 1 -num_large 0 --knee",
        ] {
            assert!(sorted(line).is_err(), "{line}");
        }
    }
}
