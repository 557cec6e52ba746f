//! Where the CPU time of trials went, split into parts of a whole that can be drawn.
//!
//! A workload that does one thing at a time spends its wall time on the parts one after the other, so the whole is the
//! wall time. Where several things run at once, the parts add up to more: then the whole is the time of all processors,
//! and so it is where only the whole machine's times are known.

use iostone_model::median::median;
use iostone_model::trial::CpuAccount;

use crate::view::{Point, Row, View};

/// Parts may exceed the wall time by so much, as clocks are read one after the other, before more than one thing ran.
const CLOCKS_APART: f64 = 0.02;
/// Rounding residue, as a share of the whole; treated as zero.
const ROUNDING: f64 = 1e-9;
/// In a workload that is shorter than this many seconds, what is between its own clock and the probe's shows.
const SHORT: f64 = 0.2;

/// What must be known of a steal that the machine itself did not see.
pub(crate) const STEAL_FROM_HOST: &str = "Steal is what the host saw, because the guest could not: part of it is in user and \
     system time, where the guest booked it so, and those can exceed what the guest's own processors were counted to do.";

/// One thing that time went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    User,
    System,
    Throttled,
    Governed,
    Steal,
    IoWait,
    Other,
    /// Of the whole machine, anybody's: told, and never drawn as a part of the workload's time.
    Pressure,
}

impl Part {
    /// All, in the order in which they are stacked.
    pub(crate) const ALL: [Self; 8] = [
        Self::User,
        Self::System,
        Self::Throttled,
        Self::Governed,
        Self::Steal,
        Self::IoWait,
        Self::Other,
        Self::Pressure,
    ];

    /// Whether it is a part of the whole, and not only told beside it.
    pub(crate) fn is_drawn(self) -> bool {
        self != Self::Pressure
    }

    /// Its name in tables and legends.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::System => "system",
            Self::Throttled => "throttled",
            Self::Governed => "governed",
            Self::Steal => "steal",
            Self::IoWait => "I/O wait",
            Self::Other => "idle/other",
            Self::Pressure => "I/O pressure of the machine",
        }
    }

    /// What it means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::User => "computing in the program",
            Self::System => "computing in the kernel",
            Self::Throttled => "stood still by its own limit",
            Self::Governed => "withheld by the emulated allowance, as steal would be",
            Self::Steal => "taken by the hypervisor for others",
            Self::IoWait => "waiting for I/O",
            Self::Other => "idle, or waiting for something else",
            Self::Pressure => "some task of the machine, anybody's, waited for I/O",
        }
    }
}

/// What a full bar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whole {
    /// The wall time.
    Wall,
    /// The wall time of all processors together.
    Processors,
}

/// One trial's time, or the medians of several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Split {
    /// Wall time, seconds.
    pub(crate) wall: f64,
    /// What a full bar stands for, seconds of one processor.
    pub(crate) whole: f64,
    /// Whether steal was seen from the host of a guest, and not by the kernel of the machine.
    pub(crate) steal_from_host: bool,
    /// Each part that is known, in order, in seconds; what is not observable or not limited has none.
    parts: Vec<(Part, f64)>,
}

impl Split {
    fn of(account: &CpuAccount, whole: Whole, of_machine: bool) -> Option<Self> {
        let wall = usable(Some(account.wall_seconds)).filter(|wall| *wall > 0.0)?;
        let (user, system) = if of_machine {
            (Some(account.machine_user_seconds), Some(account.machine_system_seconds))
        } else {
            (account.user_seconds, account.system_seconds)
        };
        // What all others on the machine waited for is no part of the workload's time.
        let (io_wait, pressure) = if of_machine {
            (Some(account.machine_iowait_seconds), None)
        } else if account.io_wait_seconds.is_some() {
            (account.io_wait_seconds, None)
        } else {
            (None, account.machine_io_pressure_seconds)
        };
        let seen = usable(account.machine_steal_seconds);
        let from_host =
            usable(account.host_steal_seconds).filter(|outside| seen.is_none_or(|seen| seen < *outside));
        let known = [
            (Part::User, user),
            (Part::System, system),
            (Part::Throttled, account.throttled_seconds),
            (Part::Governed, account.governed_seconds),
            (Part::Steal, from_host.or(seen)),
            (Part::IoWait, io_wait),
            (Part::Pressure, pressure),
        ];
        let parts = known.into_iter().filter_map(|(part, seconds)| Some((part, usable(seconds)?))).collect();
        let lanes = if whole == Whole::Wall { 1.0 } else { f64::from(account.processors.max(1)) };
        Some(Self { steal_from_host: from_host.is_some(), ..Self::filled(wall, wall * lanes, parts) })
    }

    /// The medians of each part over several splits.
    fn median(splits: &[&Self]) -> Option<Self> {
        let typical =
            |figure: &dyn Fn(&Self) -> Option<f64>| median(splits.iter().filter_map(|split| figure(split)));
        let parts = Part::ALL.into_iter().filter(|part| *part != Part::Other);
        let parts = parts.filter_map(|part| Some((part, typical(&|split| split.seconds(part))?))).collect();
        let filled =
            Self::filled(typical(&|split| Some(split.wall))?, typical(&|split| Some(split.whole))?, parts);
        Some(Self { steal_from_host: splits.iter().any(|split| split.steal_from_host), ..filled })
    }

    /// With what the parts leave of the whole as a part of its own.
    fn filled(wall: f64, whole: f64, mut parts: Vec<(Part, f64)>) -> Self {
        parts.retain(|(part, _)| *part != Part::Other);
        let mut split = Self { wall, whole, steal_from_host: false, parts };
        let drawn: f64 = split.drawn().iter().map(|(_, seconds)| seconds).sum();
        // Rounding residue.
        let left = whole - drawn;
        split.parts.push((Part::Other, if left > ROUNDING * whole { left } else { 0.0 }));
        split.whole = whole.max(drawn);
        split
    }

    /// Seconds of a part; none where it is not known.
    pub(crate) fn seconds(&self, part: Part) -> Option<f64> {
        self.parts.iter().find(|(own, _)| *own == part).map(|(_, seconds)| *seconds)
    }

    /// Each part that is known with the length it is drawn at. Steal and waiting for I/O are seen on the whole machine
    /// and may overlap the others: of them no more is drawn than the others leave.
    pub(crate) fn drawn(&self) -> Vec<(Part, f64)> {
        let mut left = self.whole;
        let mut drawn = Vec::with_capacity(self.parts.len());
        for (part, seconds) in self.parts.iter().filter(|(part, _)| part.is_drawn()) {
            let of_machine = matches!(part, Part::Steal | Part::IoWait | Part::Other);
            let length = if of_machine { seconds.min(left.max(0.0)) } else { *seconds };
            left -= length;
            drawn.push((*part, length));
        }
        drawn
    }
}

fn usable(seconds: Option<f64>) -> Option<f64> {
    seconds.filter(|seconds| seconds.is_finite()).map(|seconds| seconds.max(0.0))
}

/// The splits of a run.
#[derive(Debug)]
pub(crate) struct CpuTimes<'a> {
    /// What a full bar stands for.
    pub(crate) whole: Whole,
    /// Whether user and system time are those of the whole machine, because the workload's own are not known.
    pub(crate) of_machine: bool,
    /// One a configuration that has any.
    pub(crate) rows: Vec<CpuRow<'a>>,
}

/// One configuration.
#[derive(Debug)]
pub(crate) struct CpuRow<'a> {
    /// Its place among the configurations.
    pub(crate) index: usize,
    /// Its name.
    pub(crate) name: &'a str,
    /// The medians over its trials: those that count, else all.
    pub(crate) typical: Split,
    /// Its trials in run order.
    pub(crate) trials: Vec<(Point<'a>, Split)>,
}

impl<'a> CpuTimes<'a> {
    /// The splits of every trial that has an account of its CPU time; none where no trial has.
    pub(crate) fn of(view: &View<'a>) -> Option<Self> {
        let accounts = || view.rows.iter().flat_map(|row| &row.trials).filter_map(account);
        accounts().next()?;
        let of_machine = accounts().any(|account| account.used_seconds().is_none());
        let whole = if of_machine || accounts().any(runs_several) { Whole::Processors } else { Whole::Wall };
        let rows = view.rows.iter().enumerate();
        let rows: Vec<CpuRow<'a>> =
            rows.filter_map(|(index, row)| CpuRow::of(index, row, whole, of_machine)).collect();
        (!rows.is_empty()).then_some(Self { whole, of_machine, rows })
    }

    /// The parts that any trial tells of, and those only that are not nothing everywhere.
    pub(crate) fn parts(&self) -> Vec<Part> {
        let splits = || self.rows.iter().flat_map(|row| row.trials.iter().map(|(_, split)| split));
        let told = |part: &Part| {
            let known = || splits().filter_map(|split| split.seconds(*part));
            match part {
                Part::User | Part::System | Part::Other => true,
                // A limit that never held is told: "throttled 0 s" is an answer.
                Part::Throttled | Part::Governed => known().next().is_some(),
                Part::Steal | Part::IoWait | Part::Pressure => known().any(|seconds| seconds >= 0.0005),
            }
        };
        Part::ALL.into_iter().filter(told).collect()
    }

    /// The longest whole of the configurations.
    pub(crate) fn longest(&self) -> f64 {
        self.rows.iter().map(|row| row.typical.whole).fold(0.0, f64::max)
    }

    /// What 100 % is, and what must be known to read the bars.
    pub(crate) fn note(&self) -> String {
        let mut sentences = vec![
            match self.whole {
                Whole::Wall => "A whole bar, 100\u{a0}%, is the wall time of the workload.",
                Whole::Processors if self.of_machine => {
                    "A whole bar, 100\u{a0}%, is the wall time times the processors of the machine. User and system time are \
                     those of the whole machine, because the workload's own are not known."
                }
                Whole::Processors => {
                    "More than one processor was at work, so a whole bar, 100\u{a0}%, is the wall time times the processors of \
                     the machine, and the parts are seconds of one processor."
                }
            }
            .to_owned(),
        ];
        let has = |part: Part| self.parts().contains(&part);
        if has(Part::Governed) {
            sentences.push(format!("Governed: {}.", Part::Governed.meaning()));
        }
        if has(Part::Throttled) {
            sentences.push(
                "Throttled: its own limit was used up; the kernel adds this up over processors.".to_owned(),
            );
        }
        if has(Part::Steal) || has(Part::IoWait) {
            let named: Vec<&str> =
                [Part::Steal, Part::IoWait].into_iter().filter(|part| has(*part)).map(Part::name).collect();
            sentences.push(format!(
                "What can overlap other parts ({}) is drawn only as far as the rest leaves room.",
                named.join(", ")
            ));
        }
        if has(Part::Pressure) {
            sentences.push(
                "I/O pressure is machine-wide, so it is no part of the bar: this kernel has no per-cgroup PSI."
                    .to_owned(),
            );
        }
        if self.rows.iter().any(|row| row.typical.wall < SHORT) {
            sentences.push(
                "The wall time lies between two looks of the probe around the workload: a little more than what the workload \
                 itself measures, which shows in one so short."
                    .to_owned(),
            );
        }
        sentences.extend(self.steal_sentence());
        sentences.join(" ")
    }

    /// Where steal is not observable, or nothing.
    fn steal_sentence(&self) -> Option<String> {
        let unseen = |row: &&CpuRow<'_>| row.typical.seconds(Part::Steal).is_none();
        let names: Vec<&str> = self.rows.iter().filter(unseen).map(|row| row.name).collect();
        let from_host: Vec<&CpuRow<'_>> =
            self.rows.iter().filter(|row| row.typical.steal_from_host).collect();
        if names.is_empty() && !from_host.is_empty() {
            return Some(STEAL_FROM_HOST.to_owned());
        }
        match names.len() {
            0 if self.parts().contains(&Part::Steal) => None,
            0 => Some("Steal: none.".to_owned()),
            all if all == self.rows.len() => {
                Some("Steal is not observable: the kernel could not see it.".to_owned())
            }
            _ => Some(format!("Steal is not observable under {}.", names.join(", "))),
        }
    }
}

impl<'a> CpuRow<'a> {
    fn of(index: usize, row: &Row<'a>, whole: Whole, of_machine: bool) -> Option<Self> {
        let split = |point: &Point<'a>| Some((*point, Split::of(account(point)?, whole, of_machine)?));
        let trials: Vec<(Point<'a>, Split)> = row.trials.iter().filter_map(split).collect();
        let counting: Vec<&Split> =
            trials.iter().filter(|(point, _)| point.counts).map(|(_, split)| split).collect();
        let typical = if counting.is_empty() {
            Split::median(&trials.iter().map(|(_, split)| split).collect::<Vec<&Split>>())
        } else {
            Split::median(&counting)
        };
        Some(Self { index, name: row.name, typical: typical?, trials })
    }
}

/// The account of a trial.
fn account<'a>(point: &Point<'a>) -> Option<&'a CpuAccount> {
    point.record.signals.cpu.as_ref()
}

/// Whether what the workload did and what it was kept from add up to more than the wall time.
fn runs_several(account: &CpuAccount) -> bool {
    let own =
        [account.user_seconds, account.system_seconds, account.throttled_seconds, account.governed_seconds];
    own.into_iter().flatten().sum::<f64>() > account.wall_seconds * (1.0 + CLOCKS_APART)
}

/// The split of one account by itself, and what a full bar of it stands for.
pub(crate) fn of_one(account: &CpuAccount) -> Option<(Split, Whole)> {
    let of_machine = account.used_seconds().is_none();
    let whole = if of_machine || runs_several(account) { Whole::Processors } else { Whole::Wall };
    Some((Split::of(account, whole, of_machine)?, whole))
}

#[cfg(test)]
mod tests;
