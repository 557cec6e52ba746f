//! What a point claims held against what the LUNs' devices served.

use std::fmt;

use iostone_model::metric::Unit;
use iostone_model::orion::{LoadFigures, PointRecord};

use super::served::tolerance;

/// What differs between what was asked for and what devices served, in one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Divergence {
    /// The devices.
    devices: Vec<String>,
    /// `read` or `written`.
    word: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Fewer bytes: something above them served the rest.
    Fewer { claimed_bytes: u64, served_bytes: u64, page_cache: bool },
    /// More bytes.
    More { claimed_bytes: u64, served_bytes: u64 },
    /// As many bytes in fewer requests.
    Merged { ios: u64, requests: u64 },
}

impl Divergence {
    /// In a few words, for a line that has others beside it: `vda served 5.0x`.
    pub fn in_short(&self) -> String {
        let devices = self.devices.join(", ");
        let times = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        match self.kind {
            Kind::Fewer { claimed_bytes, served_bytes, .. } | Kind::More { claimed_bytes, served_bytes } => {
                let share = times(served_bytes, claimed_bytes);
                let digits = if share < 0.1 { 2 } else { 1 };
                format!("{devices} served {share:.digits$}x")
            }
            Kind::Merged { ios, requests } => {
                format!("{devices} got {:.1}x the requests", times(requests, ios))
            }
        }
    }
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (devices, word) = (self.devices.join("`, `"), self.word);
        let told = |bytes: u64| Unit::Bytes.format(bytes as f64);
        match self.kind {
            Kind::Fewer { claimed_bytes, served_bytes, page_cache } => {
                let cause = if page_cache { "the page cache" } else { "a cache above it" };
                let (claimed, served) = (told(claimed_bytes), told(served_bytes));
                write!(f, "of {claimed} {word}, `{devices}` served {served}: {cause} served the rest")
            }
            Kind::More { claimed_bytes, served_bytes } => write!(
                f,
                "`{devices}` served {} {word} where {} were asked for: others use it too, or the filesystem adds its own",
                told(served_bytes),
                told(claimed_bytes)
            ),
            Kind::Merged { ios, requests } => {
                write!(f, "`{devices}` got {requests} requests for {ios} I/Os {word}: the kernel merged them")
            }
        }
    }
}

/// Where claimed and served differ by more than 5 %, or what 200 ms of the measured time are, whichever is more.
pub fn divergences(record: &PointRecord, page_cache: bool) -> Vec<Divergence> {
    let Some(served) = &record.served else { return Vec::new() };
    let loads = || [&record.small_io, &record.large_io].into_iter().flatten();
    let claimed = |of: fn(&LoadFigures) -> u64| loads().map(of).sum::<u64>();
    let tolerance = tolerance(record.seconds);
    let reads = (claimed(|io| io.reads.bytes), claimed(|io| io.reads.ios), served.read_bytes, served.reads);
    let writes =
        (claimed(|io| io.writes.bytes), claimed(|io| io.writes.ios), served.written_bytes, served.writes);
    let off = |served: u64, claimed: u64| served as f64 / claimed.max(1) as f64 - 1.0;
    let kind = |(claimed_bytes, ios, served_bytes, requests): (u64, u64, u64, u64)| {
        if claimed_bytes == 0 {
            None
        } else if off(served_bytes, claimed_bytes) < -tolerance {
            Some(Kind::Fewer { claimed_bytes, served_bytes, page_cache })
        } else if off(served_bytes, claimed_bytes) > tolerance {
            Some(Kind::More { claimed_bytes, served_bytes })
        } else if off(requests, ios) < -tolerance {
            Some(Kind::Merged { ios, requests })
        } else {
            None
        }
    };
    [("read", kind(reads)), ("written", kind(writes))]
        .into_iter()
        .filter_map(|(word, kind)| Some(Divergence { devices: served.devices.clone(), word, kind: kind? }))
        .collect()
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::{ServedAtPoint, TransferFigures};

    use super::*;

    fn read(claimed: u64, ios: u64, served_bytes: u64, reads: u64) -> Vec<[String; 2]> {
        let reads_of = TransferFigures { ios, bytes: claimed, latency: None };
        let small_io = LoadFigures { reads: reads_of, ..LoadFigures::default() };
        let served = ServedAtPoint {
            devices: vec!["vda".to_owned()],
            reads,
            read_bytes: served_bytes,
            ..ServedAtPoint::default()
        };
        let record = PointRecord {
            seconds: 10.0,
            small_io: Some(small_io),
            served: Some(served),
            ..PointRecord::default()
        };
        let found = divergences(&record, true);
        found.iter().map(|one| [one.to_string(), one.in_short()]).collect()
    }

    #[test]
    fn a_difference_is_told_with_its_kind() {
        assert!(read(1000, 100, 960, 100).is_empty());
        assert!(read(1000, 100, 940, 100)[0][0].contains("page cache"));
        assert!(read(1000, 100, 1100, 100)[0][0].contains("others use it"));
        assert!(read(1000, 100, 1000, 50)[0][0].contains("merged"));
        assert!(read(1000, 100, 1000, 200).is_empty());
        assert_eq!(read(1000, 100, 5000, 100)[0][1], "vda served 5.0x");
        assert_eq!(read(1000, 100, 50, 100)[0][1], "vda served 0.05x");
        assert_eq!(read(1000, 100, 1000, 50)[0][1], "vda got 0.5x the requests");
    }
}
