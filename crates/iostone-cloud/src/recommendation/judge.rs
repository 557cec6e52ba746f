//! How well volumes and a link do what is wanted: by the same paths and the same flow as a prediction.

use std::time::Duration;

use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Link;
use iostone_model::units::{Bytes, Fraction, Span};

use super::{Goal, TINY, Wanted};
use crate::ceiling::{Joined, Load, Outcome, Parts, path, simulate};
use crate::prediction::{Amount, Work};
use crate::volume::VolumeLimits;

/// For how long the long run is shown: buckets are empty from the start on, so that any time gives the same rate.
pub(super) const LONG_RUN: Span = Span(Duration::from_secs(3600));

/// The work as it is judged.
#[derive(Debug, Clone)]
pub(super) struct Judge<'a> {
    wanted: &'a Wanted,
    pub(super) work: Work,
    pub(super) start: Option<Fraction>,
    load: Load,
}

/// What a path makes of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Performance {
    /// Bytes a second on average.
    pub(super) rate: f64,
    /// Seconds that it takes.
    pub(super) seconds: f64,
    /// What binds.
    pub(super) binds: CeilingKind,
}

impl<'a> Judge<'a> {
    /// Of a rate: evenly over the time for which it is wanted, from empty buckets where that is the long run. A rate can be held
    /// for a time just where the average over it, as fast as can be, is no less: what buckets let through is concave in time.
    pub(super) fn of(wanted: &'a Wanted) -> Self {
        let work = &wanted.work;
        let (work, start) = match wanted.goal {
            Goal::Within(_) => (work.clone(), wanted.start),
            Goal::Rate { span, .. } => {
                let written_per_mille = match work.amount {
                    Amount::Time { written_per_mille, .. } => written_per_mille,
                    Amount::Bytes { read: Bytes(read), write: Bytes(write) } => {
                        if write >= read {
                            1000
                        } else {
                            0
                        }
                    }
                };
                let amount = Amount::Time { span: span.unwrap_or(LONG_RUN), written_per_mille };
                let start = if span.is_some() { wanted.start } else { Some(Fraction(0.0)) };
                (Work { amount, ..work.clone() }, start)
            }
        };
        let load = Load::of(&work);
        Self { wanted, work, start, load }
    }

    /// Bytes of the work; none where it is a time.
    pub(super) fn bytes(&self) -> f64 {
        let bytes = self.load.bytes();
        if bytes.is_finite() { bytes } else { 0.0 }
    }

    /// Bytes a second on average that the target is.
    pub(super) fn target_rate(&self) -> f64 {
        match self.wanted.goal {
            Goal::Within(span) => self.bytes() / span.0.as_secs_f64(),
            Goal::Rate { bytes_per_second, .. } => bytes_per_second,
        }
    }

    pub(super) fn meets(&self, performance: Performance) -> bool {
        performance.rate >= self.target_rate() * (1.0 - TINY)
    }

    /// Volumes alone.
    pub(super) fn volumes(&self, limits: &VolumeLimits, count: u32) -> Performance {
        self.run(&self.parts(Some(limits), count, None))
    }

    /// A link alone, by the accounting of volumes on SSD.
    pub(super) fn link(&self, link: &Link) -> Performance {
        self.run(&self.parts(None, 1, Some(link)))
    }

    /// Volumes behind a link.
    pub(super) fn pair(&self, limits: &VolumeLimits, count: u32, link: &Link) -> Performance {
        self.run(&self.parts(Some(limits), count, Some(link)))
    }

    /// The same from empty buckets.
    pub(super) fn run_from_empty(&self, limits: &VolumeLimits, count: u32, link: &Link) -> Performance {
        let empty = Some(Fraction(0.0));
        let parts = self.parts(Some(limits), count, Some(link));
        self.run(&Parts { volume_start: empty, link_start: empty, ..parts })
    }

    fn parts<'b>(&self, limits: Option<&'b VolumeLimits>, count: u32, link: Option<&'b Link>) -> Parts<'b> {
        Parts {
            volume: limits,
            joined: Joined::raid0(count),
            link,
            volume_start: self.start,
            link_start: self.start,
            latency: self.wanted.latency.map(|latency| (latency, None)),
            ..Parts::none()
        }
    }

    fn run(&self, parts: &Parts<'_>) -> Performance {
        let path = path(parts, &self.work);
        let Outcome { seconds, bytes, binds, .. } = simulate(&path, &self.load);
        let rate = if seconds > 0.0 {
            if seconds.is_finite() { bytes / seconds } else { 0.0 }
        } else {
            f64::INFINITY
        };
        let lane = binds.and_then(|index| path.get(index));
        Performance { rate, seconds, binds: lane.map_or(CeilingKind::Source, |lane| lane.kind) }
    }
}
