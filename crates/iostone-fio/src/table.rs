//! Every option of fio: its names, its type, and what iostone does with it.

mod access;
mod data;
mod engines;
mod foreign;
mod pace;
mod process;
mod report;
mod target;

use iostone_model::diagnostic::nearest;
use iostone_model::load::{Direction, PerDirection};

use crate::options::FioOptions;
use crate::raw::Raw;

/// Reads a value into its field.
pub(crate) type Setter = fn(&mut FioOptions, Raw<'_>) -> Result<(), String>;

/// How a value is written, in the words of fio's HOWTO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Str,
    /// `0` or `1`.
    Bool,
    /// Nothing, or `0` or `1`.
    Flag,
    /// A whole number or size.
    Int,
    /// Up to three of them, for reads, writes and trims.
    IntList,
    /// A time.
    Time,
    /// Two numbers, sizes or times.
    Range,
    /// A number with a fraction.
    Float,
    /// Several of them.
    FloatList,
    /// Text that may be left out.
    Optional,
}

impl Kind {
    /// The type as the HOWTO writes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Str => "str",
            Self::Bool => "bool",
            Self::Flag => "flag",
            Self::Int => "int",
            Self::IntList => "int[,int][,int]",
            Self::Time => "time",
            Self::Range => "irange",
            Self::Float => "float",
            Self::FloatList => "float_list",
            Self::Optional => "[str]",
        }
    }

    /// Whether the option may stand without `=`.
    pub fn may_stand_alone(self) -> bool {
        matches!(self, Self::Flag | Self::Optional)
    }
}

/// What iostone does with an option.
#[derive(Debug, Clone, Copy)]
pub enum Treatment {
    /// It shapes the work.
    Honoured,
    /// It changes nothing about the work, and why.
    NoEffect {
        /// Why.
        why: &'static str,
    },
    /// It is refused, or dropped and named where the caller is lenient.
    Refused {
        /// Why.
        why: &'static str,
        /// Values that ask for nothing, and are let through.
        harmless: &'static [&'static str],
    },
}

/// One option of fio.
#[derive(Clone, Copy)]
pub struct FioOption {
    /// Its first name.
    pub name: &'static str,
    /// Its other names.
    pub aliases: &'static [&'static str],
    /// How its value is written.
    pub kind: Kind,
    /// What iostone does with it.
    pub treatment: Treatment,
    /// What of it is not as in fio, or only so far; empty where there is nothing to say.
    pub limit: &'static str,
    /// The engines that it belongs to; empty where it belongs to all. fio does not know it under others.
    pub engines: &'static [&'static str],
    /// Larger ones are read before the others of a section, as fio does: `kb_base` before sizes, `filename` last.
    pub(crate) priority: i8,
    /// Reads the value; for options without effect only to see that it is one.
    pub(crate) set: Option<Setter>,
}

impl std::fmt::Debug for FioOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FioOption")
            .field("name", &self.name)
            .field("treatment", &self.treatment)
            .finish_non_exhaustive()
    }
}

/// A part of the table, under the heading that the HOWTO has for it.
#[derive(Debug, Clone, Copy)]
pub struct Group {
    /// The heading.
    pub title: &'static str,
    /// Its options.
    pub options: &'static [FioOption],
}

impl FioOption {
    pub(crate) const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    pub(crate) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.engines = engines;
        self
    }

    /// Says what of an honoured option is not as in fio.
    pub(crate) const fn within(mut self, limit: &'static str) -> Self {
        self.limit = limit;
        self
    }

    pub(crate) const fn priority(mut self, priority: i8) -> Self {
        self.priority = priority;
        self
    }

    /// Looks at the value of an option without effect.
    pub(crate) const fn checked(mut self, set: Setter) -> Self {
        self.set = Some(set);
        self
    }

    /// All its names, the first one first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

pub(crate) const fn honoured(name: &'static str, kind: Kind, set: Setter) -> FioOption {
    FioOption {
        name,
        aliases: &[],
        kind,
        treatment: Treatment::Honoured,
        limit: "",
        engines: &[],
        priority: 0,
        set: Some(set),
    }
}

pub(crate) const fn no_effect(name: &'static str, kind: Kind, why: &'static str) -> FioOption {
    FioOption {
        name,
        aliases: &[],
        kind,
        treatment: Treatment::NoEffect { why },
        limit: "",
        engines: &[],
        priority: 0,
        set: None,
    }
}

pub(crate) const fn refused(
    name: &'static str,
    kind: Kind,
    harmless: &'static [&'static str],
    why: &'static str,
) -> FioOption {
    FioOption {
        name,
        aliases: &[],
        kind,
        treatment: Treatment::Refused { why, harmless },
        limit: "",
        engines: &[],
        priority: 0,
        set: None,
    }
}

/// Stores a value.
#[expect(clippy::unnecessary_wraps, reason = "it ends setters, which may fail")]
pub(crate) fn put<T>(slot: &mut Option<T>, value: T) -> Result<(), String> {
    *slot = Some(value);
    Ok(())
}

/// Stores what was typed over what is there: `500k,` leaves writes and trims as they were.
#[expect(clippy::unnecessary_wraps, reason = "it ends setters, which may fail")]
pub(crate) fn put_all<T>(slots: &mut PerDirection<Option<T>>, values: [Option<T>; 3]) -> Result<(), String> {
    for (direction, value) in Direction::ALL.into_iter().zip(values) {
        if value.is_some() {
            *slots.of_mut(direction) = value;
        }
    }
    Ok(())
}

/// The whole table, in the order of the HOWTO.
pub fn groups() -> &'static [Group] {
    const GROUPS: &[Group] = &[
        target::UNITS,
        target::DESCRIPTION,
        pace::TIME,
        target::TARGET,
        access::IO_TYPE,
        access::BLOCK_SIZE,
        data::BUFFERS,
        access::IO_SIZE,
        engines::ENGINE,
        pace::DEPTH,
        pace::RATE,
        pace::LATENCY,
        process::REPLAY,
        process::JOBS,
        data::VERIFICATION,
        pace::STEADY_STATE,
        report::REPORTING,
        report::ERRORS,
        foreign::PROFILES,
        foreign::OTHER_ENGINES,
    ];
    GROUPS
}

/// Every option.
pub fn options() -> impl Iterator<Item = &'static FioOption> {
    groups().iter().flat_map(|group| group.options)
}

/// The option of a name.
pub fn find(name: &str) -> Option<&'static FioOption> {
    options().find(|option| option.names().any(|known| known == name))
}

/// The option's name nearest to a mistyped one.
pub(crate) fn suggest(name: &str) -> Option<&'static str> {
    // No option is longer than this, and the distance takes time by the product of the lengths.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    // A word with a blank instead of an `=` is looked up by its first part.
    let head = name.split_whitespace().next().unwrap_or(name);
    // Names that differ in length by more than a third are too far off, and take most of the time.
    let near = head.len().max(3) / 3;
    nearest(head, options().flat_map(FioOption::names).filter(|name| name.len().abs_diff(head.len()) <= near))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::values::is_engine;

    #[test]
    fn no_name_is_there_twice() {
        let mut seen = HashSet::new();
        for name in options().flat_map(FioOption::names) {
            assert!(seen.insert(name), "{name}");
        }
    }

    #[test]
    fn every_honoured_option_has_a_reader_and_every_other_a_reason() {
        for option in options() {
            match option.treatment {
                Treatment::Honoured => assert!(option.set.is_some(), "{}", option.name),
                Treatment::NoEffect { why } => assert!(why.len() > 10, "{}", option.name),
                Treatment::Refused { why, .. } => {
                    assert!(why.len() > 10 && option.set.is_none(), "{}", option.name);
                }
            }
        }
    }

    #[test]
    fn engines_that_own_options_exist() {
        for option in options() {
            for engine in option.engines {
                assert!(is_engine(engine), "{}: {engine}", option.name);
            }
        }
    }

    #[test]
    fn a_mistyped_option_is_recognised() {
        for (typed, meant) in [
            ("iodpeth", "iodepth"),
            ("blocksze", "blocksize"),
            ("iodepth 4", "iodepth"),
            ("run_time", "runtime"),
        ] {
            assert_eq!(suggest(typed), Some(meant), "{typed}");
        }
        assert_eq!(suggest("supercalifragilistic"), None);
        assert_eq!(suggest(&"x".repeat(100_000)), None);
    }
}
