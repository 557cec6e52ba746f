//! What the devices served, held against what was asked for: over all points in one sentence for each direction.

use iostone_model::metric::Unit;
use iostone_model::orion::{
    LoadFigures, LoadPoint, OrionRecord, PointRecord, ServedAtPoint, TransferFigures,
};
use iostone_model::units::Bytes;

use crate::point::served_tolerance;

/// Claimed and served bytes of a whole test may differ by this share: requests under way at the edges of each point.
const WHOLE_TEST: f64 = 0.05;

/// Reads, or writes.
#[derive(Clone, Copy)]
struct Direction {
    word: &'static str,
    claimed: fn(&LoadFigures) -> &TransferFigures,
    served: fn(&ServedAtPoint) -> u64,
}

const DIRECTIONS: [Direction; 2] = [
    Direction { word: "read", claimed: |io| &io.reads, served: |served| served.read_bytes },
    Direction { word: "written", claimed: |io| &io.writes, served: |served| served.written_bytes },
];

/// A point's bytes of one direction.
#[derive(Clone, Copy)]
struct Held {
    point: LoadPoint,
    claimed: u64,
    served: u64,
    tolerance: f64,
}

/// How far they are apart, of reads and of writes, where they are.
pub(super) fn tell_served(record: &OrionRecord) -> Vec<String> {
    DIRECTIONS.iter().flat_map(|direction| tell(record, *direction)).collect()
}

fn tell(record: &OrionRecord, direction: Direction) -> Vec<String> {
    let held: Vec<Held> = record.points.iter().filter_map(|point| hold(point, direction)).collect();
    let less: Vec<Held> = held.iter().copied().filter(|held| held.share() < 1.0 - held.tolerance).collect();
    let more: Vec<Held> = held.iter().copied().filter(|held| held.share() > 1.0 + held.tolerance).collect();
    let devices = devices(record);
    let word = direction.word;
    let mut told = Vec::new();
    if let Some((shares, places)) = range(&less, held.len(), |one, other| one < other) {
        let cause = "the rest came to a cache above, so the rates are not the storage's";
        told.push(format!("{devices} served {shares} the bytes {word} at {places}: {cause}"));
    }
    if let Some((shares, places)) = range(&more, held.len(), |one, other| one > other) {
        let cause = "others used it too, or what lies above adds I/O of its own";
        told.push(format!("{devices} served {shares} the bytes {word} at {places}: {cause}"));
    }
    if told.is_empty() {
        told.extend(tell_whole(&held, &devices, word));
    }
    told
}

impl Held {
    fn share(&self) -> f64 {
        self.served as f64 / self.claimed as f64
    }
}

fn hold(point: &PointRecord, direction: Direction) -> Option<Held> {
    let loads = [&point.small_io, &point.large_io].into_iter().flatten();
    let claimed: u64 = loads.map(|io| (direction.claimed)(io).bytes).fold(0, u64::saturating_add);
    let served = (direction.served)(point.served.as_ref().filter(|_| claimed > 0)?);
    Some(Held { point: point.point(), claimed, served, tolerance: served_tolerance(point.seconds) })
}

fn devices(record: &OrionRecord) -> String {
    let of_points = record.points.iter().filter_map(|point| point.served.as_ref());
    let mut devices: Vec<&str> = of_points.flat_map(|served| &served.devices).map(String::as_str).collect();
    devices.sort_unstable();
    devices.dedup();
    // As in the notes on points; a name at the beginning of a sentence also stays as it is.
    format!("`{}`", devices.join("`, `"))
}

/// "1.3 to 5.1 times" and "20 of 29 points, the worst Small=1 and Large=0"; of a single point "2.0 times" and that point.
fn range(off: &[Held], all: usize, is_worse: fn(f64, f64) -> bool) -> Option<(String, String)> {
    let further = |most: Held, other: Held| if is_worse(other.share(), most.share()) { other } else { most };
    let worst = off.iter().copied().reduce(further)?;
    if off.len() == 1 {
        return Some((times(worst.share()), worst.point.to_string()));
    }
    let shares = || off.iter().map(Held::share);
    let (low, high) = (shares().fold(f64::INFINITY, f64::min), shares().fold(0.0, f64::max));
    let (low, high) = (times(low), times(high));
    // Both of a range lie on the same side of one, and so have the same words behind them.
    let range = match low.split_once(' ') {
        Some((number, _)) if low != high => format!("{number} to {high}"),
        _ => high,
    };
    Some((range, format!("{} of {all} points, the worst {}", off.len(), worst.point)))
}

/// `5.1 times`, and below one `50 % of`.
fn times(share: f64) -> String {
    if share >= 1.0 { format!("{share:.1} times") } else { format!("{:.0} % of", share * 100.0) }
}

/// Each point may be within what its own short time allows, and all together still be off.
fn tell_whole(held: &[Held], devices: &str, word: &str) -> Option<String> {
    let sum = |of: fn(&Held) -> u64| held.iter().map(of).fold(0, u64::saturating_add);
    let (claimed, served) = (sum(|held| held.claimed), sum(|held| held.served));
    let share = served as f64 / claimed as f64;
    let (asked, told) = (Bytes(claimed).approximate(), Bytes(served).approximate());
    let share_told = Unit::Share.format(share);
    if claimed == 0 || (share - 1.0).abs() <= WHOLE_TEST {
        None
    } else if share < 1.0 {
        let cause = "the rest came to a cache above";
        Some(format!("of {asked} {word} at all points, {devices} served {told} ({share_told}): {cause}"))
    } else {
        let cause = "others used it too, or what lies above adds I/O of its own";
        Some(format!("{devices} served {told} {word} where {asked} were asked for ({share_told}): {cause}"))
    }
}
