//! ORION's command line, `-name value`, read into a test; what a run level does not allow is refused as its manual says.

use std::str::FromStr;
use std::time::Duration;

use super::{LargeIo, MOST_IN_FLIGHT, Matrix, OrionTest, RunLevel, SimulatedArray, shortened};
use crate::units::{Bytes, Span};

/// The most disks that are counted; which loads they make possible is looked at apart.
const MOST_DISKS: u64 = 65_536;
/// The longest `-testname`: paths end at 4,096 bytes (`PATH_MAX`), and endings of files follow it.
const LONGEST_NAME_BYTES: usize = 4_000;
/// The longest of its last part: names end at 255 bytes (`NAME_MAX`), of which date, time and ending take some.
const LONGEST_LAST_BYTES: usize = 200;

/// Why a command line is not one of ORION's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrionArgumentError {
    /// No level was given.
    #[error("`-run` is required: simple, normal, advanced, oltp or dss")]
    NoRun,
    /// An option that there is not.
    #[error("ORION has no option `{}`{}", shortened(.word), hint(*.nearest))]
    Unknown {
        /// As it was typed.
        word: String,
        /// The option it looks like.
        nearest: Option<&'static str>,
    },
    /// A word that is no option.
    #[error(
        "expected an option instead of `{}`; a value follows its option after a space, as in `-run simple`",
        shortened(.word)
    )]
    Stray {
        /// As it was typed.
        word: String,
    },
    /// The value is missing.
    #[error("`{option}` needs a value: {expected}")]
    NoValue {
        /// The option.
        option: &'static str,
        /// What it takes.
        expected: &'static str,
    },
    /// The value cannot be.
    #[error("`{option}` is `{}`; expected {expected}", shortened(.value))]
    BadValue {
        /// The option.
        option: &'static str,
        /// As it was typed.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// The same option twice.
    #[error("`{option}` is given twice")]
    Twice {
        /// The option.
        option: &'static str,
    },
    /// An option that this level does not allow.
    #[error("`{option}` needs `-run advanced`; `-run {run}` sets it")]
    NotAtThisLevel {
        /// The option.
        option: &'static str,
        /// The level.
        run: &'static str,
    },
    /// More at once than a machine can have.
    #[error("`{option} {value}` needs {needed} {what}; the maximum is {most}")]
    TooHeavy {
        /// The option.
        option: &'static str,
        /// Its value.
        value: u32,
        /// How many of them.
        needed: u64,
        /// Of what.
        what: &'static str,
        /// How many there can be.
        most: u64,
    },
    /// More load points than anybody measures.
    #[error("`{option} {value}` gives {points} load points; the maximum is {most}")]
    TooManyPoints {
        /// The option.
        option: &'static str,
        /// Its value.
        value: u32,
        /// How many.
        points: u64,
        /// How many there may be.
        most: u64,
    },
    /// An option that needs another.
    #[error("`{option}` {reason}")]
    Mismatch {
        /// The option.
        option: &'static str,
        /// What it needs.
        reason: String,
    },
}

fn hint(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(
        || "; `iostone orion -help` lists them".to_owned(),
        |name| format!("; did you mean `{name}`?"),
    )
}

/// Each option, what it takes, and whether it takes anything.
const OPTIONS: &[(&str, &str)] = &[
    ("-run", "simple, normal, advanced, oltp or dss"),
    ("-testname", "a name; NAME.lun lists the LUNs"),
    ("-num_disks", "a number of disks"),
    ("-size_small", "KB, as in 8"),
    ("-size_large", "KB, as in 1024"),
    ("-type", "rand or seq"),
    ("-num_streamIO", "I/Os in flight per stream"),
    ("-simulate", "concat or raid0"),
    ("-stripe", "KB, as in 1024"),
    ("-write", "a percentage"),
    ("-cache_size", "MB, 0 for no warming"),
    ("-duration", "seconds"),
    ("-matrix", "basic, detailed, point, row, col or max"),
    ("-num_small", "outstanding small I/Os"),
    ("-num_large", "outstanding large I/Os, or streams"),
    ("-storax", "skgfr"),
    ("-verbose", ""),
    ("-hugenotneeded", ""),
];

impl OrionTest {
    /// Reads ORION's command line: options as its manual spells them (in any case, as its own help does), each value
    /// after a space.
    ///
    /// # Errors
    /// See [`OrionArgumentError`].
    pub fn parse(words: &[String]) -> Result<Self, OrionArgumentError> {
        let given = Given::read(words)?;
        let run = given.value("-run")?.ok_or(OrionArgumentError::NoRun)?;
        let mut test = Self::new(run);
        given.fill(&mut test)?;
        test.check(&given)?;
        // As many disks as LUNs are known later.
        test.check_loads(test.num_disks.unwrap_or(1))?;
        Ok(test)
    }
}

fn is_option(word: &str) -> bool {
    OPTIONS.iter().any(|(name, _)| name.eq_ignore_ascii_case(word))
}

/// The options given, with their values.
struct Given<'a>(Vec<(&'static str, &'static str, &'a str)>);

impl<'a> Given<'a> {
    fn read(words: &'a [String]) -> Result<Self, OrionArgumentError> {
        let mut given: Vec<(&'static str, &'static str, &'a str)> = Vec::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            if !word.starts_with('-') {
                return Err(OrionArgumentError::Stray { word: word.clone() });
            }
            let known = OPTIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
            let Some((option, expected)) = known.copied() else {
                return Err(OrionArgumentError::Unknown { word: word.clone(), nearest: nearest(word) });
            };
            if given.iter().any(|(name, ..)| *name == option) {
                return Err(OrionArgumentError::Twice { option });
            }
            let value = if expected.is_empty() {
                ""
            } else {
                // An option in the value's place was not meant as one.
                let value = words.next().filter(|value| !is_option(value));
                value.ok_or(OrionArgumentError::NoValue { option, expected })?.as_str()
            };
            given.push((option, expected, value));
        }
        Ok(Self(given))
    }

    fn has(&self, option: &str) -> bool {
        self.0.iter().any(|(name, ..)| *name == option)
    }

    fn value<T: FromStr>(&self, option: &str) -> Result<Option<T>, OrionArgumentError> {
        let Some((option, expected, value)) = self.0.iter().find(|(name, ..)| *name == option) else {
            return Ok(None);
        };
        value.to_ascii_lowercase().parse().map(Some).map_err(|_| OrionArgumentError::BadValue {
            option,
            value: (*value).to_owned(),
            expected: (*expected).to_owned(),
        })
    }

    /// A number within bounds.
    fn number(&self, option: &'static str, least: u64, most: u64) -> Result<Option<u64>, OrionArgumentError> {
        let Some((.., value)) = self.0.iter().find(|(name, ..)| *name == option) else { return Ok(None) };
        match value.parse() {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => {
                let expected = format!("a whole number from {least} to {most}");
                Err(OrionArgumentError::BadValue { option, value: (*value).to_owned(), expected })
            }
        }
    }

    fn load(&self, option: &'static str, least: u64, most: u64) -> Result<Option<u32>, OrionArgumentError> {
        Ok(self.number(option, least, most)?.and_then(|number| u32::try_from(number).ok()))
    }

    /// The name of the test, which becomes the beginning of names of files.
    fn test_name(&self) -> Result<Option<String>, OrionArgumentError> {
        const OPTION: &str = "-testname";
        let Some((.., name)) = self.0.iter().find(|(name, ..)| *name == OPTION) else { return Ok(None) };
        let refuse = |expected: &str| {
            let (option, value) = (OPTION, name.escape_debug().to_string());
            Err(OrionArgumentError::BadValue { option, value, expected: expected.to_owned() })
        };
        if name.is_empty() {
            return refuse("a name; NAME.lun lists the LUNs");
        }
        if name.chars().any(char::is_control) {
            return refuse("a name without line breaks or other control characters");
        }
        if name.len() > LONGEST_NAME_BYTES
            || name.rsplit('/').next().is_some_and(|last| last.len() > LONGEST_LAST_BYTES)
        {
            return refuse(&format!(
                "a name of at most {LONGEST_LAST_BYTES} bytes: names of files end at 255, and date, time and ending follow it"
            ));
        }
        Ok(Some((*name).to_owned()))
    }

    fn fill(&self, test: &mut OrionTest) -> Result<(), OrionArgumentError> {
        if let Some(name) = self.test_name()? {
            test.test_name = name;
        }
        test.num_disks = self.load("-num_disks", 1, MOST_DISKS)?;
        let kib =
            |option, least, most| self.number(option, least, most).map(|kib| kib.map(|kib| Bytes(kib << 10)));
        test.size_small = kib("-size_small", 1, LARGEST_KIB)?.unwrap_or(test.size_small);
        test.size_large = kib("-size_large", 1, LARGEST_KIB)?.unwrap_or(test.size_large);
        test.stripe = kib("-stripe", 1, LARGEST_STRIPE_KIB)?.unwrap_or(test.stripe);
        test.large_io = self.value("-type")?.unwrap_or_default();
        test.num_stream_io = self.load("-num_streamIO", 1, MOST_IN_FLIGHT)?.unwrap_or(test.num_stream_io);
        test.simulate = self.value("-simulate")?.unwrap_or_default();
        test.write_percent = self
            .number("-write", 0, 100)?
            .and_then(|percent| u32::try_from(percent).ok())
            .unwrap_or(test.write_percent);
        test.cache_size = self.number("-cache_size", 0, LARGEST_CACHE_MIB)?.map(|mib| Bytes(mib << 20));
        if let Some(seconds) = self.number("-duration", 1, LONGEST_POINT_SECONDS)? {
            test.duration = Span(Duration::from_secs(seconds));
        }
        test.matrix = self.value("-matrix")?.unwrap_or_default();
        test.num_small = self.load("-num_small", 0, MOST_IN_FLIGHT)?;
        test.num_large = self.load("-num_large", 0, MOST_IN_FLIGHT)?;
        test.verbose = self.has("-verbose");
        if let Some((_, _, layer)) = self.0.iter().find(|(name, ..)| *name == "-storax")
            && !layer.eq_ignore_ascii_case("skgfr")
        {
            let expected = "`skgfr`; `oss`, `asmlib` and `odmlib` are Oracle's own layers".to_owned();
            return Err(OrionArgumentError::BadValue {
                option: "-storax",
                value: (*layer).to_owned(),
                expected,
            });
        }
        Ok(())
    }
}

/// The largest `-size_small` and `-size_large`: 1 GiB.
const LARGEST_KIB: u64 = 1 << 20;
/// The largest `-stripe`: 64 GiB.
const LARGEST_STRIPE_KIB: u64 = 1 << 26;
/// The largest `-cache_size`: 1 PiB.
const LARGEST_CACHE_MIB: u64 = 1 << 30;
/// The longest `-duration`: a month.
const LONGEST_POINT_SECONDS: u64 = 31 * 24 * 3600;

impl OrionTest {
    /// Checks what options ask of each other.
    fn check(&self, given: &Given<'_>) -> Result<(), OrionArgumentError> {
        self.check_level(given)?;
        let mismatch =
            |option, reason: &str| Err(OrionArgumentError::Mismatch { option, reason: reason.to_owned() });
        if self.run == RunLevel::Advanced {
            let needs = |needed: &[Matrix]| needed.contains(&self.matrix);
            for (option, value, matrices) in [
                ("-num_small", self.num_small, [Matrix::Point, Matrix::Col, Matrix::Max]),
                ("-num_large", self.num_large, [Matrix::Point, Matrix::Row, Matrix::Max]),
            ] {
                if needs(&matrices) && value.is_none() {
                    return mismatch(option, &format!("is needed with `-matrix {}`", self.matrix.word()));
                }
                if !needs(&matrices) && value.is_some() {
                    let words = matrices.map(Matrix::word);
                    return mismatch(
                        option,
                        &format!("can only be given with `-matrix {}`", words.join("`, `")),
                    );
                }
            }
        }
        if given.has("-num_streamIO") && self.large_io != LargeIo::Seq {
            return mismatch("-num_streamIO", "can only be given with `-type seq`");
        }
        if given.has("-stripe") && self.simulate != SimulatedArray::Raid0 {
            return mismatch("-stripe", "can only be given with `-simulate raid0`");
        }
        Ok(())
    }

    /// ORION's manual allows other values than the defaults only with `advanced`; `-write` is scripted by many for `oltp`
    /// and `dss`, where it works.
    fn check_level(&self, given: &Given<'_>) -> Result<(), OrionArgumentError> {
        if self.run == RunLevel::Advanced {
            return Ok(());
        }
        let plain = Self::new(self.run);
        let writes_allowed = matches!(self.run, RunLevel::Oltp | RunLevel::Dss);
        let differs = [
            ("-size_small", self.size_small != plain.size_small),
            ("-size_large", self.size_large != plain.size_large),
            ("-type", self.large_io != plain.large_io),
            ("-num_streamIO", self.num_stream_io != plain.num_stream_io),
            ("-simulate", self.simulate != plain.simulate),
            ("-stripe", self.stripe != plain.stripe),
            ("-write", self.write_percent != plain.write_percent && !writes_allowed),
            ("-duration", self.duration != plain.duration),
            ("-matrix", given.has("-matrix") && self.matrix != self.shape()),
            ("-num_small", self.num_small.is_some()),
            ("-num_large", self.num_large.is_some()),
        ];
        match differs.iter().find(|(_, differs)| *differs) {
            Some((option, _)) => Err(OrionArgumentError::NotAtThisLevel { option, run: self.run.word() }),
            None => Ok(()),
        }
    }
}

/// The option that a word looks like: the one with which it shares the longest beginning, of at least three letters.
fn nearest(word: &str) -> Option<&'static str> {
    let typed = word.trim_start_matches('-').to_ascii_lowercase().replace('-', "_");
    let shared = |name: &str| {
        let name = name.trim_start_matches('-').to_ascii_lowercase();
        name.bytes().zip(typed.bytes()).take_while(|(a, b)| a == b).count()
    };
    OPTIONS
        .iter()
        .map(|(name, _)| *name)
        .max_by_key(|name| shared(name))
        .filter(|name| shared(name) >= 3.min(name.len() - 1))
}

macro_rules! words {
    ($type:ty: $($variant:ident),+) => {
        impl FromStr for $type {
            type Err = ();

            fn from_str(text: &str) -> Result<Self, ()> {
                [$(Self::$variant),+].into_iter().find(|one| one.word() == text).ok_or(())
            }
        }
    };
}

words!(RunLevel: Simple, Normal, Advanced, Oltp, Dss);
words!(LargeIo: Rand, Seq);
words!(SimulatedArray: Concat, Raid0);
words!(Matrix: Basic, Detailed, Point, Row, Col, Max);

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<OrionTest, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        OrionTest::parse(&words).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_of_field_report_5_is_read() {
        let test =
            parse("-run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1")
                .unwrap();
        assert_eq!((test.num_disks, test.write_percent, test.size_small), (Some(4), 20, Bytes(8192)));
        assert_eq!(test.points(4).len(), 29);
    }

    #[test]
    fn what_a_level_settles_is_refused_and_what_works_in_practice_is_not() {
        assert!(parse("-run oltp -write 50 -num_disks 4 -hugenotneeded").is_ok());
        assert!(parse("-run simple -testname x -num_disks 8 -cache_size 0 -verbose").is_ok());
        assert!(parse("-run simple -size_small 8").is_ok());
        assert!(parse("-run simple -write 10").unwrap_err().contains("needs `-run advanced`"));
        assert!(parse("-run normal -duration 10").unwrap_err().contains("`-duration`"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(parse("").unwrap_err().contains("`-run` is required"));
        assert!(parse("-run fast").unwrap_err().contains("expected simple, normal"));
        assert!(parse("-run simple -testnam x").unwrap_err().contains("did you mean `-testname`?"));
        assert!(
            parse("-run advanced -matrix row")
                .unwrap_err()
                .contains("`-num_large` is needed with `-matrix row`")
        );
        assert!(parse("-run advanced -storax asmlib").unwrap_err().contains("skgfr"));
        assert_eq!(parse("-write -run advanced").unwrap_err(), "`-write` needs a value: a percentage");
        let words = |name: &str| ["-run", "simple", "-testname", name].map(str::to_owned);
        let refused = |name: &str| OrionTest::parse(&words(name)).unwrap_err().to_string();
        assert!(refused("a\nb").contains("`-testname` is `a\\nb`; expected a name without line breaks"));
        let long = refused(&"a".repeat(5_000));
        assert!(long.contains("aaa...aaa") && long.len() < 400, "{long}");
        assert!(parse("-run advanced -write 101").unwrap_err().contains("from 0 to 100"));
    }
}
