//! How much of a known limit was used at a point, in figures and in words.

use iostone_model::metric::Unit;
use iostone_model::orion::{KnownLimit, LimitKind, LoadFigures, PointRecord, ServedAtPoint};

/// A limit and what was measured of the kind it counts.
pub(super) struct Usage<'a> {
    pub(super) limit: &'a KnownLimit,
    /// I/Os or bytes a second.
    measured: f64,
    /// Measured over limit.
    pub(super) share: f64,
}

/// The use of each limit at a point with one of the two loads.
pub(super) fn usages<'a>(limits: &'a [KnownLimit], record: &PointRecord, small: bool) -> Vec<Usage<'a>> {
    let figures = if small { record.small_io.as_ref() } else { record.large_io.as_ref() };
    let Some(figures) = figures.filter(|_| record.seconds > 0.0) else { return Vec::new() };
    limits
        .iter()
        .filter(|limit| limit.value > 0.0)
        .map(|limit| {
            let served = record.served.as_ref().filter(|served| !small && lies_on(limit, served));
            let measured = count(limit.kind, figures, served) as f64 / record.seconds;
            Usage { limit, measured, share: measured / limit.value }
        })
        .collect()
}

/// Whether the counted devices are those of the limit: what a device further down serves is not counted.
fn lies_on(limit: &KnownLimit, served: &ServedAtPoint) -> bool {
    let named = |device: &String| limit.on.split([' ', ',', '(']).any(|word| word == device);
    !served.devices.is_empty() && served.devices.iter().all(named)
}

/// What the limit counts. Where the devices' own requests are known they are taken if there are more of them, for merged
/// ones were merged behind the limit.
fn count(kind: LimitKind, figures: &LoadFigures, served: Option<&ServedAtPoint>) -> u64 {
    match kind {
        LimitKind::ReadIops => figures.reads.ios.max(match served {
            Some(served) if figures.reads.ios > 0 => served.reads,
            _ => 0,
        }),
        LimitKind::WriteIops => figures.writes.ios.max(match served {
            Some(served) if figures.writes.ios > 0 => served.writes,
            _ => 0,
        }),
        LimitKind::ReadBytes => figures.reads.bytes,
        LimitKind::WriteBytes => figures.writes.bytes,
    }
}

impl Usage<'_> {
    /// "500 writes a second", "64.0 MB/s of writes".
    pub(super) fn limit_in_words(&self) -> String {
        let value = figure(self.limit.kind, self.limit.value);
        match self.limit.kind {
            LimitKind::ReadIops => format!("{value} reads a second"),
            LimitKind::WriteIops => format!("{value} writes a second"),
            LimitKind::ReadBytes => format!("{value} of reads"),
            LimitKind::WriteBytes => format!("{value} of writes"),
        }
    }

    pub(super) fn measured_in_words(&self) -> String {
        figure(self.limit.kind, self.measured)
    }

    pub(super) fn share_in_words(&self) -> String {
        Unit::Share.format(self.share)
    }
}

fn figure(kind: LimitKind, value: f64) -> String {
    match kind {
        LimitKind::ReadBytes | LimitKind::WriteBytes => Unit::BytesPerSecond.format(value),
        LimitKind::ReadIops | LimitKind::WriteIops => format!("{:.0}", value.round()),
    }
}
