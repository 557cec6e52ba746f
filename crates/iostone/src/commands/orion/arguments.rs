//! Sorts the words behind `iostone orion` into ORION's options, of one dash, and iostone's, of two.

use anyhow::{Result, bail};
use clap::error::{ContextKind, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use iostone_model::experiment::quoted;
use iostone_model::orion::{Matrix, OrionTest, shortened};
use iostone_model::units::{Bytes, Fraction};
use iostone_orion::files::Format;

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
    #[arg(long, value_name = "PERCENT", value_parser = read_share)]
    pub(super) until: Option<Fraction>,
    #[arg(long, conflicts_with = "adaptive")]
    pub(super) knee: bool,
    #[arg(long, value_name = "PERCENT", value_parser = read_share)]
    pub(super) adaptive: Option<Fraction>,
    #[arg(long, value_name = "N", value_parser = read_seed)]
    pub(super) seed: Option<u64>,
    #[arg(long, value_name = "PREFIX", conflicts_with_all = [
        "plan", "create", "prefill", "buffered", "until", "knee", "adaptive", "seed",
    ])]
    pub(super) resume: Option<String>,
    #[arg(long, short)]
    pub(super) quiet: bool,
}

/// A share, which has its sign of percent.
fn read_share(text: &str) -> Result<Fraction, String> {
    text.parse().map_err(|_| match text.parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => format!("did you mean `{text}%`?"),
        _ => "expected a share, as in `2%`".to_owned(),
    })
}

/// The seed of offsets and data.
fn read_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

/// What is asked for.
#[derive(Debug)]
pub(super) enum Invocation {
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
pub(super) fn sort(words: &[String]) -> Result<Invocation> {
    let command = OrionOptions::augment_args(
        Command::new("iostone orion").no_binary_name(true).disable_help_flag(true),
    );
    let (mut own, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let lower = word.to_ascii_lowercase();
        if matches!(lower.as_str(), "-help" | "--help" | "-h" | "-?") {
            return Ok(Invocation::Help);
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
                own.extend(value_of(&command, &mut words));
            }
        } else {
            refuse_one_dash(&command, word)?;
            rest.push(word.clone());
            // A value may look like anything else, and is not looked at here.
            if word.starts_with('-') && !SWITCHES.contains(&lower.as_str()) {
                rest.extend(value_of(&command, &mut words));
            }
        }
    }
    let matches =
        command.try_get_matches_from(own).map_err(|error| anyhow::anyhow!("{}", in_our_words(&error)))?;
    judge(&rest, OrionOptions::from_arg_matches(&matches)?)
}

/// The next word as the value of an option, unless it is an option itself: then the value was forgotten.
fn value_of(command: &Command, words: &mut std::slice::Iter<'_, String>) -> Option<String> {
    let word = words.as_slice().first()?;
    let name = word.strip_prefix("--").map(|name| name.split('=').next().unwrap_or_default());
    if name.is_some_and(|name| command.get_arguments().any(|option| option.get_long() == Some(name))) {
        return None;
    }
    words.next().cloned()
}

/// What clap says, as ORION's options are spoken of.
fn in_our_words(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string);
    // `--seed <N>`
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    let (name, takes) = option.split_once(' ').unwrap_or((&option, ""));
    let value = context(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::ValueValidation => {
            let reason = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            format!("`{name}` is `{}`: {reason}", shortened(&value))
        }
        ErrorKind::InvalidValue if value.is_empty() => {
            let takes = takes.trim_matches(['<', '>']);
            format!("`{name}` needs a value: {takes}; `iostone orion -help` explains it")
        }
        ErrorKind::UnknownArgument => {
            let name = shortened(name);
            match context(ContextKind::SuggestedArg) {
                Some(meant) => format!("iostone orion has no option `{name}`; did you mean `{meant}`?"),
                None => format!("iostone orion has no option `{name}`; `iostone orion -help` lists them"),
            }
        }
        ErrorKind::ArgumentConflict => {
            let other = context(ContextKind::PriorArg).unwrap_or_default();
            let other = other.split(' ').next().unwrap_or_default();
            if other == name {
                return format!("`{name}` is given twice");
            }
            format!("`{name}` cannot be given with `{other}`; leave one of them out")
        }
        // clap says itself that it is an error, and of a usage that is only half of it.
        _ => {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let text = text.split("\n\nUsage:").next().unwrap_or_default().trim_end().to_owned();
            format!("{text}; `iostone orion -help` lists the options")
        }
    }
}

/// What does not go together.
fn judge(rest: &[String], options: OrionOptions) -> Result<Invocation> {
    if let Some(prefix) = options.resume.clone() {
        if let Some(word) = rest.first() {
            bail!("`--resume` goes on with a test as it was begun; leave out `{word}`");
        }
        return Ok(Invocation::Resume(prefix, options));
    }
    let test = OrionTest::parse(rest)?;
    // Those of as many disks as LUNs are counted later.
    test.check_point_count(test.num_disks.unwrap_or(1))?;
    for (name, share) in [("--until", options.until), ("--adaptive", options.adaptive)] {
        if share.is_some_and(|share| !(0.001..=0.5).contains(&share.0)) {
            bail!("`{name}` takes a share from 0.1% to 50%, as in `{name} 2%`");
        }
    }
    if options.create.is_some_and(|size| size.0 == 0) {
        bail!("`--create` takes the size of each file, as in `--create 10GiB`");
    }
    if test.shape() == Matrix::Point && (options.knee || options.adaptive.is_some()) {
        let option = if options.knee { "--knee" } else { "--adaptive" };
        bail!(
            "`-matrix point` is a single load point, of which `{option}` can choose none; leave one of them out"
        );
    }
    Ok(Invocation::Test(Box::new(test), options))
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

    fn sorted(line: &str) -> Result<Invocation, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        sort(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn own_options_stand_anywhere_among_those_of_orion() {
        let asked =
            sorted("--plan -run advanced --destroy a -testname t --destroy=b -num_disks 4 --format 11.1")
                .unwrap();
        let Invocation::Test(test, options) = asked else { panic!("{asked:?}") };
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
            assert!(matches!(sorted(help), Ok(Invocation::Help)), "{help}");
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
    fn what_clap_finds_is_said_as_of_the_options_of_orion() {
        for (line, complaint) in [
            (
                "-run simple --seed x",
                "`--seed` is `x`: expected a whole number from 0 to 18446744073709551615",
            ),
            ("-run simple --until 2", "`--until` is `2`: did you mean `2%`?"),
            ("-run simple --adaptive x", "`--adaptive` is `x`: expected a share, as in `2%`"),
            ("-run simple --seed", "`--seed` needs a value: N; `iostone orion -help` explains it"),
            ("-run simple --seed --plan", "`--seed` needs a value: N; `iostone orion -help` explains it"),
            ("-run simple --plna", "iostone orion has no option `--plna`; did you mean `--plan`?"),
            (
                "-run simple --knee --adaptive 5%",
                "`--knee` cannot be given with `--adaptive`; leave one of them out",
            ),
            ("-run advanced -write --plan", "`-write` needs a value: a percentage"),
            ("-write -run advanced --plan", "`-write` needs a value: a percentage"),
            (
                "-run simple -num_disks 99999999999999999999",
                "`-num_disks` is `99999999999999999999`; expected a whole number from 1 to 65536",
            ),
            (
                "-run normal -num_disks 2000 --plan",
                "`-num_disks 2000` gives 114400 load points; the maximum is 100000",
            ),
        ] {
            assert_eq!(sorted(line).unwrap_err(), complaint, "{line}");
        }
    }

    #[test]
    fn a_missing_level_is_said_in_one_way() {
        let missing = "`-run` is required: simple, normal, advanced, oltp or dss";
        for line in
            ["", "--plan", "-num_disks 4", "--until 80%", "-verbose -testname x", "--create 0B --json"]
        {
            assert_eq!(sorted(line).unwrap_err(), missing, "{line}");
        }
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
