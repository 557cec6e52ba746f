//! Emulated volumes and arrays in words: limits, credits, latency, cache and faults.

use iostone_model::experiment::{
    Array, Burst, EmulatedBy, EmulatedVolume, Fault, FaultyOperation, LatencySpread, Link,
};

use super::join;

/// "4 emulated volumes of 1GiB · 40MB/s · 2ms a read or write · cache of 64MiB, lost with the power".
/// Those of a guest are always the server's.
pub(super) fn describe_emulated(volume: &EmulatedVolume, link: Option<Link>, in_guest: bool) -> String {
    // The size of one that stands for another is the real one divided by a speed, and seldom round.
    let many = match (volume.count, &volume.stands_for) {
        (0 | 1, None) => format!("emulated volume of {}", volume.size),
        (0 | 1, Some(spec)) => {
            format!("emulated volume of {} that stands for {spec}", volume.size.approximate())
        }
        (count, None) => format!("{count} emulated volumes of {}", volume.size),
        (count, Some(spec)) => {
            format!("{count} emulated volumes of {} that stand for {spec}", volume.size.approximate())
        }
    };
    let each = if volume.count > 1 { " each" } else { "" };
    let by = match volume.effective_by(link) {
        EmulatedBy::Cgroup if !in_guest => "by control groups",
        EmulatedBy::Cgroup | EmulatedBy::Server => "by a disk server",
    };
    let limits =
        [volume.throughput.map(|rate| rate.to_string()), volume.iops.map(|iops| format!("{iops} IOPS"))];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    join([
        Some(format!("{many}, {by}")),
        (!limits.is_empty()).then(|| format!("limited to {}{each}", limits.join(" and "))),
        volume.io_size.map(|size| {
            let merged = if volume.merge { ", small ones merged" } else { "" };
            format!("I/Os counted by {size}{merged}")
        }),
        volume.burst.as_ref().map(describe_burst),
        latency(volume),
        volume.cache.as_ref().map(|cache| format!("a cache of {} that the power loses", cache.size)),
        (!volume.faults.is_empty())
            .then(|| volume.faults.iter().map(describe_fault).collect::<Vec<_>>().join(" and ")),
    ])
}

fn describe_burst(burst: &Burst) -> String {
    let ios = match (burst.iops, burst.credits) {
        (Some(iops), Some(credits)) => Some(format!("{iops} IOPS for {credits} credits")),
        _ => None,
    };
    let bytes = match (burst.throughput, burst.credit_bytes) {
        (Some(rate), Some(credits)) => Some(format!("{rate} for {credits} of credits")),
        _ => None,
    };
    let parts: Vec<String> = ios.into_iter().chain(bytes).collect();
    let start = burst.start.map(|share| format!(", begun with {share} of them")).unwrap_or_default();
    format!("bursts to {}{start}", parts.join(" and "))
}

fn latency(volume: &EmulatedVolume) -> Option<String> {
    let parts = [
        volume.latency.map(|time| match volume.write_latency {
            Some(_) => format!("{time} a read"),
            None => format!("{time} a read or write"),
        }),
        volume.write_latency.map(|time| format!("{time} a write")),
        volume.flush_latency.map(|time| format!("{time} a flush")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let spread = match volume.latency_spread {
        None => "",
        Some(LatencySpread::Exponential) => ", exponential",
        Some(LatencySpread::Lognormal) => ", lognormal",
        Some(LatencySpread::Uniform) => ", uniform",
    };
    (!parts.is_empty()).then(|| format!("latency {}{spread}", parts.join(", ")))
}

fn describe_fault(fault: &Fault) -> String {
    match fault {
        Fault::Error(error) => {
            let what = match error.on {
                None => "reads and writes",
                Some(FaultyOperation::Read) => "reads",
                Some(FaultyOperation::Write) => "writes",
                Some(FaultyOperation::Flush) => "flushes",
            };
            let share = error.share.map(|share| format!("{share} of ")).unwrap_or_default();
            let place = match error.length {
                Some(length) => format!("{length} from {} on", error.offset),
                None if error.offset.0 > 0 => format!("all from {} on", error.offset),
                None => "the whole volume".to_owned(),
            };
            format!("{share}{what} fail on {place}")
        }
        Fault::Stall(stall) => format!("a stall of {} every {}", stall.lasts, stall.every),
    }
}

/// "md raid0, chunk 256KiB"; none where nothing is joined.
pub(super) fn describe_array(array: &Array) -> Option<String> {
    let comma = |parts: [Option<String>; 3]| parts.into_iter().flatten().collect::<Vec<String>>().join(", ");
    Some(match array {
        Array::None => return None,
        Array::Md(md) => comma([
            Some(format!("md {}", md.level.as_str())),
            md.chunk.map(|chunk| format!("chunk {chunk}")),
            md.metadata.map(|version| format!("metadata {}", version.as_str())),
        ]),
        Array::Btrfs(btrfs) => comma([
            Some(format!("btrfs {}", btrfs.level.as_str())),
            btrfs.metadata.map(|profile| format!("metadata {}", profile.as_str())),
            None,
        ]),
        Array::Lvm(lvm) => comma([
            Some(match lvm.stripes {
                Some(stripes) => format!("LVM, {stripes} stripes"),
                None => "LVM, striped over all".to_owned(),
            }),
            lvm.stripe_size.map(|size| format!("stripe size {size}")),
            None,
        ]),
    })
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{ErrorFault, StallFault, VolatileCache};
    use iostone_model::units::{ByteRate, Bytes, Fraction, Span};
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_property_of_an_emulated_volume_is_told() {
        let ms = |count| Span(Duration::from_millis(count));
        let mut volume = EmulatedVolume::new(Bytes(1 << 30));
        assert_eq!(describe_emulated(&volume, None, false), "emulated volume of 1GiB, by control groups");
        volume.count = 4;
        volume.throughput = Some(ByteRate(40_000_000));
        volume.iops = Some(100);
        volume.burst = Some(Burst {
            iops: Some(3000),
            credits: Some(27_000),
            throughput: None,
            credit_bytes: None,
            start: Some(Fraction(0.5)),
        });
        volume.latency = Some(ms(2));
        volume.flush_latency = Some(ms(5));
        volume.latency_spread = Some(LatencySpread::Lognormal);
        volume.cache = Some(VolatileCache { size: Bytes(64 << 20) });
        volume.faults = vec![
            Fault::Error(ErrorFault {
                offset: Bytes(1 << 20),
                length: Some(Bytes(4096)),
                on: Some(FaultyOperation::Read),
                share: None,
            }),
            Fault::Stall(StallFault { every: ms(5000), lasts: ms(500) }),
        ];
        assert_eq!(
            describe_emulated(&volume, None, false),
            "4 emulated volumes of 1GiB, by a disk server · limited to 40MB/s and 100 IOPS each · bursts to 3000 IOPS for \
             27000 credits, begun with 50% of them · latency 2ms a read or write, 5ms a flush, lognormal · a cache of \
             64MiB that the power loses · reads fail on 4KiB from 1MiB on and a stall of 500ms every 5s"
        );
    }
}
