//! One run of bonnie++, wherever it was read from.

use iostone_model::dataset::{DataKind, Ending, Facts, Figure, Observation};

use crate::units::figure;

/// The phases in the order of every CSV line; the names are those of [`iostone_model::metric::BONNIE_METRICS`].
pub(super) const PHASES: [&str; 12] = [
    "char_write",
    "block_write",
    "rewrite",
    "char_read",
    "block_read",
    "random_seeks",
    "sequential_create",
    "sequential_stat",
    "sequential_delete",
    "random_create",
    "random_stat",
    "random_delete",
];

/// How many of them move a file's bytes, and how many are about one file.
pub(super) const TRANSFERS: usize = 5;
pub(super) const OF_ONE_FILE: usize = 6;

/// The first version (1.90b) that stops the clock after fsync(2).
const FLUSHES: f64 = 1.9;
/// The first version whose tables print wrong rates for the phases about many files.
const PRINTS_WRONG: f64 = 1.98;

/// Seeks and seekers unless the command line says otherwise.
const SEEKS: &str = "8192";
const SEEKERS: &str = "5";

const KIB: f64 = 1024.0;
const MIB: u64 = 1 << 20;

/// What stands where a figure could.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) enum Cell {
    /// Nothing: the phase was left out.
    #[default]
    Absent,
    /// `+++++`: it took less than half a second.
    TooFast,
    /// A figure in base units.
    Figure(Figure),
}

/// A run.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Record {
    pub(super) line: u64,
    /// Of the program, as it says itself; empty in CSV lines of 1.03.
    pub(super) version: String,
    /// The first field of a CSV line; empty in 1.03 and in tables.
    pub(super) format: String,
    pub(super) name: String,
    pub(super) concurrency: String,
    /// As printed: `1536M`; empty without the phases of one file.
    pub(super) file_size: String,
    /// Bytes moved at a time, as printed (`64k`); empty for the default of 8 KiB.
    pub(super) chunk: String,
    pub(super) seeks: String,
    pub(super) seekers: String,
    /// `num[:max[:min]][/dirs]` as for `-n`; empty without the phases of many files.
    pub(super) files: String,
    pub(super) rates: [Cell; 12],
    pub(super) cpus: [Cell; 12],
    pub(super) latencies: [Option<Figure>; 12],
    pub(super) remarks: Vec<String>,
}

impl Cell {
    /// The rate of a phase, of tables of 1.98 and later with `k`, `m` or `g` for KiB, MiB and GiB a second.
    pub(super) fn rate(text: &str, phase: usize) -> Option<Self> {
        let text = text.trim();
        if phase >= TRANSFERS {
            return Self::of(text, 1.0);
        }
        match text.chars().last() {
            Some('k') => Self::of(text.get(..text.len() - 1)?, KIB),
            Some('m') => Self::of(text.get(..text.len() - 1)?, KIB * KIB),
            Some('g') => Self::of(text.get(..text.len() - 1)?, KIB * KIB * KIB),
            _ => Self::of(text, KIB),
        }
    }

    /// Time of the CPU in percent of the time that passed.
    pub(super) fn cpu(text: &str) -> Option<Self> {
        match Self::of(text.trim(), 1.0)? {
            Self::Figure(_) => figure(&format!("{}e-2", text.trim()), 1.0).map(Self::Figure),
            none => Some(none),
        }
    }

    fn of(text: &str, factor: f64) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::Absent);
        }
        if text.bytes().all(|byte| byte == b'+') {
            return Some(Self::TooFast);
        }
        figure(text, factor).filter(|figure| figure.value >= 0.0).map(Self::Figure)
    }
}

/// The longest single operation: `us`, `ms` or `s`; None inside where nothing stands, outside where it is no latency.
#[expect(clippy::option_option, reason = "two different absences")]
pub(super) fn latency(text: &str) -> Option<Option<Figure>> {
    let text = text.trim();
    let exponents = [("us", -6), ("ms", -3), ("s", 0)];
    if text.is_empty() {
        return Some(None);
    }
    let (number, exponent) =
        exponents.iter().find_map(|(unit, exponent)| Some((text.strip_suffix(unit)?, exponent)))?;
    // So that 89204us becomes 0.089204 s and not a neighbour of it.
    figure(&format!("{number}e{exponent}"), 1.0).map(Some)
}

/// A file's size as printed, in bytes: MiB unless it says G or T.
pub(super) fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (number, unit) = match text.chars().last()? {
        'M' | 'm' => (text.get(..text.len() - 1)?, MIB),
        'G' | 'g' => (text.get(..text.len() - 1)?, MIB << 10),
        'T' | 't' => (text.get(..text.len() - 1)?, MIB << 20),
        _ => (text, MIB),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The number at the beginning of a version: 2.0 of `2.00a`.
pub(super) fn number_of(version: &str) -> Option<f64> {
    let end = version.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(version.len());
    version.get(..end)?.parse().ok()
}

impl Record {
    /// Whether any phase about many files is filled in.
    pub(super) fn has_files(&self) -> bool {
        !self.files.is_empty() || self.rates.iter().skip(OF_ONE_FILE).any(|cell| *cell != Cell::Absent)
    }

    /// Keeps how many seeks and seekers there were, if that was asked for: only then it is worth a word.
    pub(super) fn set_seeks(&mut self, seeks: &str, seekers: &str) {
        let asked = |text: &str, default: &str| if text == default { String::new() } else { text.to_owned() };
        (self.seeks, self.seekers) = (asked(seeks, SEEKS), asked(seekers, SEEKERS));
    }

    /// Drops rates that the tables of 1.98 and later print wrongly: a floating-point number as an integer (`%5d`).
    pub(super) fn drop_wrong_rates(&mut self) {
        if number_of(&self.version).is_none_or(|version| version < PRINTS_WRONG) {
            return;
        }
        let mut dropped = false;
        for cell in self.rates.iter_mut().skip(OF_ONE_FILE) {
            if matches!(cell, Cell::Figure(_)) {
                *cell = Cell::Absent;
                dropped = true;
            }
        }
        if dropped {
            self.remarks.push(format!(
                "the table of bonnie++ {} prints wrong rates of creating, looking up and deleting files; they are left \
                 out, its CSV line has the right ones",
                self.version
            ));
        }
    }

    /// Whether this table could show, rounded and shortened, what that CSV line says.
    pub(super) fn is_rounded_from(&self, line: &Self) -> bool {
        let near =
            |one: Figure, other: Figure| (one.value - other.value).abs() <= 1.01 * (one.step + other.step);
        let cells = self.rates.iter().chain(&self.cpus).zip(line.rates.iter().chain(&line.cpus));
        let mut both = 0;
        for cells in cells {
            match cells {
                (Cell::Figure(one), Cell::Figure(other)) if near(*one, *other) => both += 1,
                (Cell::TooFast, Cell::TooFast) => both += 1,
                (Cell::Absent, _) | (_, Cell::Absent) => {}
                _ => return false,
            }
        }
        for pair in self.latencies.iter().zip(&line.latencies) {
            if let (Some(one), Some(other)) = pair {
                if !near(*one, *other) {
                    return false;
                }
                both += 1;
            }
        }
        both > 0 && line.name.starts_with(&self.name) && self.file_size == line.file_size
    }

    /// What it measured.
    pub(super) fn into_observation(self) -> Observation {
        let mut observation =
            Observation { line: Some(self.line), tool: "bonnie".to_owned(), ..Observation::default() };
        let labels = [
            ("host", &self.name),
            ("concurrency", &self.concurrency),
            ("tool_version", &self.version),
            ("file_size", &self.file_size),
            ("chunk", &self.chunk),
            ("seeks", &self.seeks),
            ("seekers", &self.seekers),
            ("files", &self.files),
        ];
        for (label, value) in labels {
            if !value.is_empty() {
                observation.labels.insert(label.to_owned(), value.clone());
            }
        }
        observation.facts = Facts {
            work: Some(self.work()),
            working_set_bytes: size(&self.file_size),
            flushed: number_of(&self.version).filter(|version| *version >= FLUSHES).map(|_| true),
            data: Some(DataKind::Zeros),
            ending: Some(Ending::Completed),
            remarks: self.remarks,
            ..Facts::default()
        };
        for (place, phase) in PHASES.iter().enumerate() {
            match self.rates.get(place) {
                Some(Cell::Figure(rate)) => {
                    observation.figures.insert((*phase).to_owned(), *rate);
                }
                Some(Cell::TooFast) => observation.facts.too_fast.push((*phase).to_owned()),
                _ => {}
            }
            if let Some(Cell::Figure(cpu)) = self.cpus.get(place) {
                observation.figures.insert(format!("{phase}.cpu"), *cpu);
                if *phase == "random_seeks" && cpu.value > 1.0 {
                    observation.facts.remarks.push(
                        "each seeker counts the CPU time of all, so the CPU share of random seeks is too high".to_owned(),
                    );
                }
            }
            if let Some(Some(latency)) = self.latencies.get(place) {
                observation.figures.insert(format!("{phase}.latency_max"), *latency);
            }
        }
        observation
    }

    fn work(&self) -> String {
        let mut work = "bonnie++".to_owned();
        let options = [
            (" -s ", &self.file_size),
            (":", &self.chunk),
            (" -n ", &self.files),
            (" -c ", &self.concurrency),
        ];
        for (option, value) in options {
            if !value.is_empty() {
                work.push_str(option);
                work.push_str(value);
            }
        }
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_program() {
        assert_eq!(
            Cell::rate("243m", 1),
            Some(Cell::Figure(Figure { value: 243.0 * 1_048_576.0, step: 1_048_576.0 }))
        );
        assert_eq!(
            Cell::rate("590366", 1),
            Some(Cell::Figure(Figure { value: 590_366.0 * 1024.0, step: 1024.0 }))
        );
        assert_eq!(Cell::rate("+++++", 5), Some(Cell::TooFast));
        assert_eq!(Cell::rate("fast", 5), None);
        assert_eq!(latency("1411ms"), Some(figure("1411e-3", 1.0)));
        assert_eq!(latency("12s"), Some(figure("12", 1.0)));
        assert_eq!((latency(""), latency("12")), (Some(None), None));
        assert_eq!((size("4G"), size("300M"), size("")), (Some(4 << 30), Some(300 << 20), None));
        assert_eq!((number_of("2.00a"), number_of("1.03c"), number_of("")), (Some(2.0), Some(1.03), None));
    }
}
