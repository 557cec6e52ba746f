//! What the `orion` workload is asked to do: Oracle ORION's command line as it is, or its options as keys.

mod check;
mod figures;
mod numbers;
mod precision;

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::{Profile, Profiled, Rehearsal, WorkingSet, WorkloadKind};
use super::{DeclaredMetric, Ends, Preparation, one, parts};
use crate::dataset::DataKind;
use crate::experiment::check::Findings;
use crate::experiment::{Configuration, Timing};
use crate::figures::counted;
use crate::orion::{
    FileData, LargeIo, LoadPoint, Matrix, OrionArgumentError, OrionTest, RunLevel, SimulatedArray,
};
use crate::units::{Bytes, Span};

pub(in crate::experiment) use check::{check_metric, unmeasured_point};
use figures::ORION_METRICS;
pub use figures::point_metric;
pub use precision::Precision;

/// Oracle ORION's test on iostone's engine: small and large I/O at the loads of a matrix, one point after another.
///
/// Either `arguments`, or ORION's options as keys. What a level (`run`) settles cannot be set otherwise, as on ORION's
/// command line, but for the time of a point: with ORION's minute a trial of a whole matrix would take hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OrionWorkload {
    /// ORION's command line: `-run advanced -testname orion-test -size_small 8 -num_disks 4 -write 20 -duration 1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<String>,
    /// `-run`: the level. Needed unless `arguments` are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunLevel>,
    /// `-num_disks`, which scales the loads; as many as `files` when left out.
    #[serde(
        default,
        deserialize_with = "numbers::from_to::<1, 65536, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1))]
    pub num_disks: Option<u32>,
    /// `-size_small`; 8 KiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_small: Option<Bytes>,
    /// `-size_large`; 1 MiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_large: Option<Bytes>,
    /// `-type`: whether large I/O is random or sequential; random when left out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub large_io: Option<LargeIo>,
    /// `-num_streamIO`: I/Os in flight of each sequential stream; 4 when left out.
    #[serde(
        default,
        deserialize_with = "numbers::from_to::<1, 65536, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(min = 1))]
    pub num_stream_io: Option<u32>,
    /// `-simulate`: how several files make one volume; one behind the other when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulate: Option<SimulatedArray>,
    /// `-stripe`; 1 MiB when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe: Option<Bytes>,
    /// `-write`: the percentage of writes; 0 when left out.
    #[serde(
        default,
        deserialize_with = "numbers::from_to::<0, 100, _>",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(range(max = 100))]
    pub write: Option<u32>,
    /// `-cache_size`: how much is moved unmeasured before each large sequential point; two minutes of it when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_size: Option<Bytes>,
    /// `-duration`: how long each point is measured; a minute when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// `-matrix`: which points are measured, with `run = "advanced"`; `basic` when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matrix: Option<Matrix>,
    /// `-num_small`, with the matrices `point`, `col` and `max`.
    #[serde(
        default,
        deserialize_with = "numbers::from_to::<0, 65536, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub num_small: Option<u32>,
    /// `-num_large`, with the matrices `point`, `row` and `max`.
    #[serde(
        default,
        deserialize_with = "numbers::from_to::<0, 65536, _>",
        skip_serializing_if = "Option::is_none"
    )]
    pub num_large: Option<u32>,
    /// Data files, each a LUN. A bare device is the one LUN.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    #[schemars(range(min = 1))]
    pub files: u32,
    /// Size of each file; needed on a filesystem.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// A point ends once the half width of the 95 % interval of its rate is at most this share of it: `"2%"`; at the
    /// latest after `duration`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Precision>,
    /// What the files hold and what is written; data that does not compress when left out. Not on a bare device.
    #[serde(default, skip_serializing_if = "FileData::is_random")]
    pub data: FileData,
    /// Past the page cache (`O_DIRECT`), as ORION does.
    #[serde(default = "yes", skip_serializing_if = "is_true")]
    pub direct: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_true(set: &bool) -> bool {
    *set
}

/// Points of a trial at most: beyond, a trial takes days and its record is larger than what it tells.
pub const MOST_POINTS: usize = 2000;

/// What ORION warms the array's cache for, before each large sequential point, unless it is told how much.
const WARMING: Duration = Duration::from_secs(120);

impl OrionWorkload {
    /// Nothing but a level.
    pub fn new(run: RunLevel) -> Self {
        Self {
            arguments: None,
            run: Some(run),
            num_disks: None,
            size_small: None,
            size_large: None,
            large_io: None,
            num_stream_io: None,
            simulate: None,
            stripe: None,
            write: None,
            cache_size: None,
            duration: None,
            matrix: None,
            num_small: None,
            num_large: None,
            files: 1,
            size: None,
            until: None,
            data: FileData::Random,
            direct: true,
        }
    }

    /// The test in ORION's terms, however it was written, with ORION's defaults.
    ///
    /// # Errors
    /// What ORION's command line does not allow either, [`OrionTest::parse`]; the time of a point is not bound to
    /// `advanced` here.
    pub fn test(&self) -> Result<OrionTest, OrionArgumentError> {
        let mut words = match &self.arguments {
            Some(line) => line.split_whitespace().map(str::to_owned).collect(),
            None => self.words()?,
        };
        let duration = take_duration(&mut words)?.or(self.duration);
        let mut test = OrionTest::parse(&words)?;
        test.duration = duration.unwrap_or(test.duration);
        test.cache_size = self.cache_size.or(test.cache_size);
        Ok(test)
    }

    /// The keys as ORION's options; those that it counts in other units, and are bound to nothing, are left out.
    fn words(&self) -> Result<Vec<String>, OrionArgumentError> {
        let kib = |option, size: Option<Bytes>| match size {
            Some(size) if !size.0.is_multiple_of(1024) => {
                let expected = "whole KiB, as ORION counts them".to_owned();
                Err(OrionArgumentError::BadValue { option, value: size.to_string(), expected })
            }
            size => Ok(size.map(|size| (size.0 >> 10).to_string())),
        };
        let number = |number: Option<u32>| number.map(|number| number.to_string());
        let word = |word: &'static str| word.to_owned();
        let options = [
            ("-run", self.run.map(|run| word(run.word()))),
            ("-num_disks", number(self.num_disks)),
            ("-size_small", kib("-size_small", self.size_small)?),
            ("-size_large", kib("-size_large", self.size_large)?),
            ("-type", self.large_io.map(|large| word(large.word()))),
            ("-num_streamIO", number(self.num_stream_io)),
            ("-simulate", self.simulate.map(|array| word(array.word()))),
            ("-stripe", kib("-stripe", self.stripe)?),
            ("-write", number(self.write)),
            ("-matrix", self.matrix.map(|matrix| word(matrix.word()))),
            ("-num_small", number(self.num_small)),
            ("-num_large", number(self.num_large)),
        ];
        let given = options.into_iter().filter_map(|(option, value)| Some([option.to_owned(), value?]));
        Ok(given.flatten().collect())
    }

    /// The keys as ORION's command line; sizes and times that are not whole in its units (MiB, seconds) are left out.
    pub fn command_line(&self) -> String {
        let mut words = self.words().unwrap_or_default();
        let mut add = |option: &str, value: u64| words.extend([option.to_owned(), value.to_string()]);
        if let Some(size) = self.cache_size.filter(|size| size.0.is_multiple_of(1 << 20)) {
            add("-cache_size", size.0 >> 20);
        }
        if let Some(Span(duration)) = self.duration.filter(|span| span.0.subsec_nanos() == 0) {
            add("-duration", duration.as_secs());
        }
        words.join(" ")
    }

    /// The keys that are given of those that stand for ORION's options.
    pub fn keys(&self) -> Vec<&'static str> {
        let given = [
            ("run", self.run.is_some()),
            ("num_disks", self.num_disks.is_some()),
            ("size_small", self.size_small.is_some()),
            ("size_large", self.size_large.is_some()),
            ("type", self.large_io.is_some()),
            ("num_stream_io", self.num_stream_io.is_some()),
            ("simulate", self.simulate.is_some()),
            ("stripe", self.stripe.is_some()),
            ("write", self.write.is_some()),
            ("cache_size", self.cache_size.is_some()),
            ("duration", self.duration.is_some()),
            ("matrix", self.matrix.is_some()),
            ("num_small", self.num_small.is_some()),
            ("num_large", self.num_large.is_some()),
        ];
        given.into_iter().filter(|(_, given)| *given).map(|(key, _)| key).collect()
    }

    /// Whether ORION's options are given as keys.
    pub fn has_keys(&self) -> bool {
        !self.keys().is_empty()
    }

    /// The same with its options as keys, so that one of them can be changed; itself where they make no test.
    #[must_use]
    pub fn with_keys(&self) -> Self {
        let (Some(_), Ok(test)) = (&self.arguments, self.test()) else { return self.clone() };
        let plain = OrionTest::new(test.run);
        let changed = |value: Bytes, plain: Bytes| (value != plain).then_some(value);
        Self {
            num_disks: test.num_disks,
            size_small: changed(test.size_small, plain.size_small),
            size_large: changed(test.size_large, plain.size_large),
            large_io: (test.large_io != plain.large_io).then_some(test.large_io),
            num_stream_io: (test.num_stream_io != plain.num_stream_io).then_some(test.num_stream_io),
            simulate: (test.simulate != plain.simulate).then_some(test.simulate),
            stripe: changed(test.stripe, plain.stripe),
            write: (test.write_percent > 0).then_some(test.write_percent),
            cache_size: test.cache_size,
            duration: (test.duration != plain.duration).then_some(test.duration),
            matrix: (test.matrix != plain.matrix).then_some(test.matrix),
            num_small: test.num_small,
            num_large: test.num_large,
            files: self.files,
            size: self.size,
            until: self.until,
            data: self.data,
            direct: self.direct,
            ..Self::new(test.run)
        }
    }

    /// The disks that scale the loads.
    pub fn disks(&self, test: &OrionTest) -> u32 {
        test.num_disks.unwrap_or(self.files.max(1))
    }

    /// The load points in the order in which they are measured; none where the options make no test, or one of more than
    /// [`MOST_POINTS`].
    pub fn points(&self) -> Vec<LoadPoint> {
        let Ok(test) = self.test() else { return Vec::new() };
        let disks = self.disks(&test);
        if self.point_count(&test) > MOST_POINTS { Vec::new() } else { test.points(disks) }
    }

    /// How many points there are, before they are listed: those of many disks are millions.
    pub fn point_count(&self, test: &OrionTest) -> usize {
        usize::try_from(test.point_count(self.disks(test))).unwrap_or(usize::MAX)
    }

    /// The bytes that all I/Os in flight at the highest load take.
    pub fn in_flight(&self, test: &OrionTest) -> Bytes {
        let extremes = test.extremes(self.disks(test));
        extremes.into_iter().map(|point| test.bytes_in_flight(point)).max().unwrap_or_default()
    }

    /// The room that its files take; nothing on a bare device.
    fn room(&self) -> Bytes {
        Bytes(self.size.unwrap_or_default().0.saturating_mul(u64::from(self.files)))
    }

    /// How long its points take: each the ramp and the measured time, and the warming of the array's cache before a large
    /// sequential one. With `until` they may take less.
    fn asked_time(&self) -> Option<Duration> {
        let test = self.test().ok()?;
        let duration = test.duration.0;
        let ramp = (duration / 10).min(Duration::from_secs(1));
        let warms = test.large_io == LargeIo::Seq && test.cache_size.is_none();
        let of = |point: &LoadPoint| match point {
            LoadPoint { small: 0, large: 0 } => duration.min(Duration::from_secs(1)),
            point if point.large > 0 && warms => WARMING + ramp + duration,
            _ => ramp + duration,
        };
        Some(self.points().iter().map(of).sum())
    }

    /// `ORION -run advanced`, `29 points of 1s`, `20 % writes`, `2 files of 1GiB`.
    fn summary(&self) -> Vec<String> {
        let Ok(test) = self.test() else { return vec!["ORION".to_owned()] };
        let points = self.points().len();
        let until = self.until.map_or_else(String::new, |until| format!(" or ±{until}"));
        parts([
            Some(format!("ORION {}", test.run.word())),
            (test.run == RunLevel::Advanced).then(|| format!("matrix {}", test.matrix.word())),
            Some(format!("{} of {}{until}", counted(points, "point"), test.duration)),
            (test.write_percent > 0).then(|| format!("{} % writes", test.write_percent)),
            (test.large_io == LargeIo::Seq).then(|| "large I/O sequential".to_owned()),
            self.size.map(|size| match self.files {
                1 => format!("a file of {size}"),
                files => format!("{files} files of {size}, {}", test.simulate.word()),
            }),
            (self.data == FileData::Zeros).then(|| "of zeros".to_owned()),
            (!self.direct).then(|| "through the page cache".to_owned()),
        ])
    }
}

pub(super) const KIND: WorkloadKind = WorkloadKind::new("orion", ORION_METRICS);

impl Profiled for OrionWorkload {
    fn profile(&self) -> Profile {
        // One that is wrong itself is spoken of elsewhere.
        let test = self.test().ok();
        let writes = test.as_ref().is_none_or(OrionTest::writes);
        let laid_out = |size| {
            let files = if self.files == 1 { "a file".to_owned() } else { format!("{} files", self.files) };
            let words = format!("lay out {files} of {size} with random data, sync, drop from the cache");
            Preparation { words, bytes: self.room() }
        };
        Profile {
            direct: Some(self.direct),
            // It never syncs.
            syncs: Some(false),
            flushed: (test.is_some() && writes).then_some(false),
            reads: test.as_ref().is_none_or(|test| test.write_percent < 100),
            writes,
            must_reach_device: Some(self.direct),
            data: Some(match self.data {
                FileData::Random => DataKind::Random,
                FileData::Zeros => DataKind::Zeros,
            }),
            working_set: self.size.map_or(WorkingSet::Device, |_| WorkingSet::Bytes(self.room())),
            demand: Err("it is a matrix of loads, of which each has a ceiling of its own"),
            ends: Ends::ByTime,
            takes: self.asked_time().map(|time| [time; 2]),
            // Each point has one of its own.
            ramp: Some(Timing::default()),
            runs_here: true,
            needs_directory: false,
            room: Some(self.room()),
            preparation: self.size.map(laid_out),
            ..Profile::of_program(self.summary(), None)
        }
    }

    fn check(&self, configuration: &Configuration, findings: &mut Findings<'_>) {
        check::check(self, configuration, findings);
    }

    /// Every point of the matrix, because each is a figure, in some ten seconds together, or less where there are many
    /// configurations; and files that still hold all I/Os in flight.
    fn rehearse(&mut self, rehearsal: Rehearsal) {
        const MATRIX: Duration = Duration::from_secs(10);
        const MATRICES: Duration = Duration::from_secs(20);
        const SHORTEST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(1);
        // A command line counts whole seconds.
        *self = self.with_keys();
        let Ok(test) = self.test() else { return };
        let points = u32::try_from(self.points().len().max(1)).unwrap_or(u32::MAX);
        // In whole tenths of a second, as rates are kept.
        let matrix = MATRIX.min(MATRICES / rehearsal.configurations.max(1));
        let tenths = u64::try_from((matrix / points).as_millis() / 100).unwrap_or(0);
        let point = Span(Duration::from_millis(tenths * 100).clamp(SHORTEST, LONGEST));
        self.duration = Some(test.duration.min(point));
        self.until = None;
        // Two minutes before each sequential point when left out.
        self.cache_size = Some(test.cache_size.unwrap_or(Rehearsal::FILE).min(Rehearsal::FILE));
        let flight = self.in_flight(&test).0.div_ceil(u64::from(self.files.max(1)));
        let whole = test.stripe.0.max(test.size_large.0).max(1);
        let least = Rehearsal::FILE.0.max(flight.saturating_mul(2)).next_multiple_of(whole);
        let least = Bytes(least.next_multiple_of(4096));
        self.size = self.size.map(|size| size.min(least));
    }

    fn settle_metrics<'a>(&'a self, metrics: &mut Vec<DeclaredMetric<'a>>) {
        *metrics = self.metrics();
    }
}

/// Takes `-duration` out of a command line, because it is bound to a level there. Given twice, both stay and are refused.
fn take_duration(words: &mut Vec<String>) -> Result<Option<Span>, OrionArgumentError> {
    let is_it = |word: &String| word.eq_ignore_ascii_case("-duration");
    if words.iter().filter(|word| is_it(word)).count() != 1 {
        return Ok(None);
    }
    let Some(at) = words.iter().position(is_it).filter(|at| at + 1 < words.len()) else { return Ok(None) };
    let pair: Vec<String> = words.drain(at..at + 2).collect();
    let alone = ["-run", "advanced"].map(str::to_owned).into_iter().chain(pair).collect::<Vec<_>>();
    Ok(Some(OrionTest::parse(&alone)?.duration))
}

#[cfg(test)]
mod tests;
