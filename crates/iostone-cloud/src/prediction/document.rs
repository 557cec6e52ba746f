//! A simulation as a document: times, phases with their buckets, ceilings, and how sure all of it is.

use iostone_model::cloud::CeilingKind;
use iostone_model::figures::list;
use iostone_model::prediction::{
    BucketLevel, CachedShare, CeilingRow, DISK_FULL, PREDICTION_SCHEMA, Phase, Prediction,
};
use iostone_model::units::Bytes;
use iostone_model::verdict::Flag;

use super::{Amount, CacheUse, Order, Pattern, PredictError, Route, RouteCpu, Work};
use crate::catalogue::{NETWORK_BURST_SECONDS, NETWORK_BURST_TAKEN};
use crate::ceiling::{
    Counted, Lane, Load, LoadPart, Outcome, Path, Stretch, filesystem_room, inode_tables, simulate,
    simulate_with,
};
use crate::volume::Delivered;

/// Phases that are told one by one; what comes after them is told as one.
const MOST_PHASES: usize = 1000;
const SECONDS_AN_HOUR: f64 = 3600.0;

impl Route {
    /// How long work takes here.
    ///
    /// # Errors
    /// [`PredictError`]: nothing known limits it, or something lets nothing through.
    pub fn predict(&self, work: &Work) -> Result<Prediction, PredictError> {
        let mut warnings = self.warnings.clone();
        let work = &self.fit(work, &mut warnings);
        let path = self.path(work);
        let load = Load::of(work);
        let is_limited = load
            .parts
            .iter()
            .filter(|part| part.bytes > 0.0)
            .all(|part| path.iter().any(|lane| lane.cost(part.written) > 0.0 && lane.base.is_finite()));
        if !is_limited {
            return Err(PredictError::Unlimited(work.in_words()));
        }
        let mut steps = Vec::new();
        let outcome = simulate_with(&path, &load, |step| note(&mut steps, step));
        let Some(first) = outcome.binds.or(steps.first().map(|step: &Stretch| step.binds)) else {
            return Err(self.never(&path, &load, work));
        };
        if !outcome.seconds.is_finite() {
            return Err(self.never(&path, &load, work));
        }
        let named: Vec<String> = path.iter().map(|lane| self.name(lane, work)).collect();
        let name = |index: usize| named.get(index).cloned().unwrap_or_default();
        let kind = |index: usize| path.get(index).map_or(CeilingKind::Source, |lane| lane.kind);
        let page_cache = self.page_cache(work, &outcome);
        let cached = page_cache.as_ref().map_or(0.0, |cached| cached.bytes);
        let doubt = self.doubt(&path, &load, &outcome, cached);
        let mut assumptions = self.assumptions.clone();
        assumptions.extend(self.assume(&path, work));
        assumptions.extend(doubt.words);
        let per_second = |bytes: f64| if outcome.seconds > 0.0 { bytes / outcome.seconds } else { 0.0 };
        let rate = per_second(outcome.bytes);
        Ok(Prediction {
            schema: PREDICTION_SCHEMA.to_owned(),
            instance: self.instance.clone(),
            volumes: self.volumes.clone(),
            date: self.date,
            work: work.in_words(),
            bytes: outcome.bytes,
            seconds: outcome.seconds,
            seconds_interval: doubt.seconds,
            bytes_per_second: rate,
            bytes_interval: doubt.bytes,
            long_run_bytes_per_second: long_run(&path, &load),
            ios_per_second: work.io_size.map(|size| rate / size.0.max(1) as f64),
            binds: kind(first),
            binding: name(first),
            timeline: self.timeline(&path, &steps, work),
            ceilings: self.rows(&path, &load, &outcome, work),
            page_cache,
            usd: self.price.as_ref().map(|price| price.usd_per_hour * outcome.seconds / SECONDS_AN_HOUR),
            price: self.price.clone(),
            speed: self.emulated,
            notes: notes(&steps, &outcome, &named),
            warnings,
            assumptions,
        })
    }

    fn never(&self, path: &Path, load: &Load, work: &Work) -> PredictError {
        let written = load.written();
        let tightest = path
            .iter()
            .filter(|lane| lane.cost(written) > 0.0)
            .min_by(|one, other| one.sustained(written).total_cmp(&other.sustained(written)));
        let ceiling = tightest.map(|lane| self.name(lane, work)).unwrap_or_default();
        PredictError::Never { work: work.in_words(), ceiling }
    }

    /// The bytes that data can take: of the filesystem where there is one, else of the volumes.
    pub fn room(&self) -> Option<Bytes> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a multiple of a size")]
        let all = self.size.map(|size| Bytes((size.0 as f64 * self.joined.room) as u64))?;
        Some(match self.filesystem {
            Some(kind) => filesystem_room(kind, all, self.date),
            None => all,
        })
    }

    /// The work as far as it fits: what is written one after the other ends when the disk is full.
    fn fit(&self, work: &Work, warnings: &mut Vec<Flag>) -> Work {
        let mut fitting = work.clone();
        let (Amount::Bytes { read, write }, Pattern::Sequential, Some(room)) =
            (work.amount, work.pattern, self.room())
        else {
            return fitting;
        };
        if write > room {
            let whose = match self.filesystem {
                Some(kind) => format!("{} on {}", kind.word(), self.volumes_in_words()),
                None => self.volumes_in_words(),
            };
            warnings.push(Flag::new(
                DISK_FULL,
                format!("{whose} has room for {} bytes of the {} to be written: the work ends there, when the disk is full", room.0, write.0),
            ));
            fitting.amount = Amount::Bytes { read, write: room };
        }
        fitting
    }

    fn volumes_in_words(&self) -> String {
        self.volumes.clone().unwrap_or_else(|| self.volume_name.clone())
    }

    /// What may still be in memory when the work ends.
    ///
    /// Writers wait beyond `vm.dirty_ratio` of available memory (Documentation/admin-guide/sysctl/vm.rst); of a machine that
    /// does nothing else that is nearly all of it.
    fn page_cache(&self, work: &Work, outcome: &Outcome) -> Option<CachedShare> {
        let CacheUse::Buffered { dirty_ratio } = work.cache else { return None };
        let memory = self.memory?;
        let most = memory.0 as f64 * dirty_ratio.0.clamp(0.0, 1.0);
        let bytes = most.min(outcome.written_bytes);
        let reason = format!("{dirty_ratio} of {} (`vm.dirty_ratio`)", memory.in_words());
        (bytes > 0.0).then_some(CachedShare { bytes, reason })
    }

    /// Between what times the work is expected to end, or what it moves in its time, and a sentence for each thing that makes them
    /// differ.
    fn doubt(&self, path: &Path, load: &Load, outcome: &Outcome, cached: f64) -> Doubt {
        let seconds = outcome.seconds;
        let is_timed = load.until.is_finite();
        let [most, least] =
            if is_timed { ["the most", "the least"] } else { ["the earliest end", "the latest end"] };
        let mut words = Vec::new();
        if cached > 0.0 {
            words.push(format!(
                "{most} leaves {} in memory, which the device gets after it",
                Bytes(whole(cached)).approximate()
            ));
        }
        let (mut faster, mut slower, mut more) = (None, None, 0.0);
        if let Some(Delivered { share, of_time }) = self.limits.as_ref().and_then(|limits| limits.delivered) {
            slower = Some(path.clone().at_share(&[CeilingKind::Volume, CeilingKind::Array], share.0));
            words.push(format!(
                "{least} has volumes at {share} of their limits: that is what they are said to deliver {of_time} of the time"
            ));
        }
        if let Some(baseline) = self.network_baseline {
            let [shortest, longest] = NETWORK_BURST_SECONDS;
            let bursting = |path: Path, seconds: f64| {
                path.with_buckets(CeilingKind::Link, seconds / NETWORK_BURST_TAKEN)
            };
            faster = Some(bursting(path.clone(), longest));
            slower = Some(bursting(slower.unwrap_or_else(|| path.clone()), shortest));
            words.push(format!(
                "{most} has the network at its peak for {:.0} min of full use from a full bucket, {least} for {:.0}; then it has its \
                 baseline of {baseline}",
                longest / 60.0,
                shortest / 60.0
            ));
        }
        let is_written = outcome.written_bytes > 0.0;
        if let (Some(kind), Some(size)) =
            (self.filesystem.filter(|_| is_written && self.writes_tables), self.size)
        {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a multiple of a size"
            )]
            let all = Bytes((size.0 as f64 * self.joined.room) as u64);
            if let Some(tables) = inode_tables(kind, all) {
                more = tables.0 as f64;
                words.push(format!(
                    "and the filesystem, just made, writes {} of inode tables beside the data (`lazy_itable_init`)",
                    tables.approximate()
                ));
            }
        }
        let early = match (&faster, cached) {
            (None, 0.0) => *outcome,
            (faster, cached) => simulate(faster.as_ref().unwrap_or(path), &shifted(load, -cached)),
        };
        let late = match (&slower, more) {
            (None, 0.0) => *outcome,
            (slower, more) => simulate(slower.as_ref().unwrap_or(path), &shifted(load, more)),
        };
        let bytes = [late.bytes - more, early.bytes + cached];
        Doubt {
            seconds: if is_timed {
                [seconds, seconds]
            } else {
                [early.seconds.min(seconds), late.seconds.max(seconds)]
            },
            bytes: is_timed.then(|| [bytes[0].clamp(0.0, outcome.bytes), bytes[1].max(outcome.bytes)]),
            words,
        }
    }

    /// What is taken for granted of the ceilings that stand in the path.
    fn assume(&self, path: &Path, work: &Work) -> Vec<String> {
        let mut words = Vec::new();
        let has = |kind: CeilingKind| path.iter().any(|lane| lane.kind == kind);
        let link = path.iter().find(|lane| lane.kind == CeilingKind::Link);
        if link.is_some_and(|link| link.burst.is_some()) && !self.is_network {
            words.push(
                "the link's credits are (maximum - baseline) x 30 min and fill with what stays unused below the baseline: the \
                 provider says 30 minutes in 24 hours and no law"
                    .to_owned(),
            );
        }
        if self.is_network && link.is_some_and(|link| link.burst.is_some()) {
            words.push(
                "the network keeps up its peak for 30 min of full use and fills with what stays unused below its baseline: the provider \
                 says 5 to 60 minutes and no law"
                    .to_owned(),
            );
        }
        if self.is_network && link.is_some() {
            words.push(
                "this type has no link of its own to its volumes: they share its network with everything else, which is \
                 taken to be idle"
                    .to_owned(),
            );
        }
        let has_bucket = path.iter().any(|lane| lane.burst.is_some() && lane.kind != CeilingKind::Cpu);
        if has_bucket && self.start.is_none() && self.volume_start.is_none() {
            words.push("buckets are full at the start".to_owned());
        }
        if has(CeilingKind::Cpu) && self.is_unlimited() {
            words.push(
                "the instance is in its unlimited mode: processor time beyond its credits is not withheld, and paid for apart"
                    .to_owned(),
            );
        }
        if has(CeilingKind::Cpu)
            && matches!(self.cpu, Some(RouteCpu::Processors(..)))
            && work.processors.is_none()
        {
            words.push("the work spreads over all processors".to_owned());
        }
        if work.pattern == Pattern::Random && work.io_size.is_none() {
            words.push("random I/Os are 4 KiB each".to_owned());
        }
        if self.limits.as_ref().is_some_and(|limits| limits.iops.is_some())
            && !path.iter().any(|lane| {
                matches!(lane.kind, CeilingKind::Volume | CeilingKind::Array) && lane.counted == Counted::Ios
            })
        {
            words.push(
                "the volume counts requests, and how the kernel cuts I/Os of this size into requests is not known: its IOPS \
                 are left out"
                    .to_owned(),
            );
        }
        let has_latency =
            self.latency.is_some() || self.limits.as_ref().is_some_and(|limits| limits.latency.is_some());
        if work.depth.is_some() && !has_latency {
            words.push("no latency is known, so that the queue's depth holds nothing".to_owned());
        } else if work.depth.is_some() && work.io_size.is_none() {
            words.push("the size of I/Os is not known, so that the queue's depth holds nothing".to_owned());
        }
        if matches!(work.cache, CacheUse::Buffered { .. }) && self.memory.is_none() {
            words.push("memory is not known: what it may keep back is not reckoned".to_owned());
        }
        if self.joined.members > 1.0 {
            words.push("members of the array share its I/O evenly".to_owned());
        }
        if work.order == Order::Together
            && matches!(work.amount, Amount::Bytes { read, write } if read.0 > 0 && write.0 > 0)
        {
            words.push("reads and writes are mixed evenly from start to end".to_owned());
        }
        words
    }

    fn timeline(&self, path: &Path, steps: &[Stretch], work: &Work) -> Vec<Phase> {
        let binding = |step: &Stretch| {
            let lane = path.get(step.binds)?;
            let is_bursting = step.rate * lane.cost(step.written) > lane.base * (1.0 + 1e-9);
            Some(self.name_in(lane, is_bursting, work))
        };
        let phase = |step: &Stretch| Phase {
            from_seconds: step.from,
            to_seconds: step.to,
            bytes_per_second: step.rate,
            binds: path.get(step.binds).map_or(CeilingKind::Source, |lane| lane.kind),
            binding: binding(step).unwrap_or_default(),
            buckets: self.buckets(path, step),
        };
        steps.iter().map(phase).collect()
    }

    fn buckets(&self, path: &Path, step: &Stretch) -> Vec<BucketLevel> {
        let levels = path.iter().zip(step.levels_from.iter().zip(step.levels_to));
        let bucket = |(lane, (from, to)): (&Lane, (&f64, f64))| {
            let burst = lane.burst?;
            let (name, unit) = self.bucket(lane);
            Some(BucketLevel { name, unit, capacity: burst.capacity, from: *from, to })
        };
        levels.filter_map(bucket).collect()
    }

    fn rows(&self, path: &Path, load: &Load, outcome: &Outcome, work: &Work) -> Vec<CeilingRow> {
        let written = load.written();
        let bound = path.iter().zip(outcome.bound_seconds);
        let mut rows: Vec<CeilingRow> = bound
            .filter(|(lane, _)| lane.cost(written) > 0.0)
            .map(|(lane, binds_seconds)| {
                let (basis, source) = self.source(lane, work);
                let sustained = lane.sustained(written);
                CeilingRow {
                    kind: lane.kind,
                    name: self.name(lane, work),
                    sustained,
                    burst: lane.burst(written).filter(|burst| *burst > sustained),
                    bucket: lane.burst.map(|_| self.bucket(lane).0),
                    binds_seconds,
                    basis,
                    source,
                }
            })
            .collect();
        rows.sort_by(|one, other| one.sustained.total_cmp(&other.sustained));
        rows
    }
}

/// Between what the answer is expected to lie.
struct Doubt {
    seconds: [f64; 2],
    /// Of work that is a time.
    bytes: Option<[f64; 2]>,
    /// What makes the ends differ, a sentence each.
    words: Vec<String>,
}

/// Bytes a second when every bucket is spent; not of two parts with a mixture each, nor below a law that goes slow and fast in turns.
fn long_run(path: &Path, load: &Load) -> Option<f64> {
    let [one, other] = load.parts;
    if one.bytes > 0.0 && other.bytes > 0.0 || path.law().is_some() {
        return None;
    }
    let rates = path.iter().map(|lane| lane.sustained(load.written()));
    Some(rates.fold(f64::INFINITY, f64::min)).filter(|rate| rate.is_finite())
}

fn whole(bytes: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let whole = bytes.round() as u64;
    whole
}

/// The load with so many bytes more, or fewer, written at its end; one that time ends is without end as it is.
fn shifted(load: &Load, bytes: f64) -> Load {
    if load.bytes().is_infinite() {
        return *load;
    }
    let [mut first, mut second] = load.parts;
    let add = |part: &mut LoadPart| {
        let writes = (part.bytes * part.written + bytes).max(0.0);
        let reads = part.bytes * (1.0 - part.written);
        part.bytes = reads + writes;
        part.written = if part.bytes > 0.0 { writes / part.bytes } else { part.written };
    };
    if second.bytes > 0.0 && second.written > 0.0 {
        add(&mut second);
    } else {
        add(&mut first);
    }
    Load { parts: [first, second], ..*load }
}

/// Keeps a step, one by one as far as that helps anybody.
fn note(steps: &mut Vec<Stretch>, step: &Stretch) {
    if steps.len() < MOST_PHASES {
        steps.push(*step);
    } else if let Some(last) = steps.last_mut() {
        let bytes = last.rate * (last.to - last.from) + step.rate * (step.to - step.from);
        last.rate = bytes / (step.to - last.from);
        last.to = step.to;
        last.levels_to = step.levels_to;
        last.tied |= step.tied;
    }
}

/// Ties, and what was averaged.
fn notes(steps: &[Stretch], outcome: &Outcome, named: &[String]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for step in steps.iter().filter(|step| step.tied.count_ones() > 1).take(MOST_PHASES) {
        let both: Vec<&str> = named
            .iter()
            .enumerate()
            .filter(|(index, _)| step.tied & (1 << index) != 0)
            .map(|(_, name)| name.as_str())
            .collect();
        let note = format!("{} bind alike; the first is named", list(&both));
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    if let Some(seconds) = outcome.averaged_from {
        notes.push(format!(
            "from {seconds:.0} s on the CPU allowance goes slow and fast in turns too often to tell: its average is"
        ));
    } else if steps.len() >= MOST_PHASES {
        notes.push("the last phase is the average of all that follow".to_owned());
    }
    notes
}
