//! What is to be said of a point where it was not quite what was asked for.

use iostone_model::orion::{LargeIo, LoadFigures, OrionHeader, OrionTest, PointRecord};

/// A load is kept if this share of its outstanding I/Os was in flight on average.
const KEPT: f64 = 0.95;
/// Writes may be this far from the share that was asked for.
const SHARE_TOLERANCE: f64 = 0.05;

/// So begins the note on a point that did not become as precise as was asked.
const KNOWN_WITHIN: &str = "the rate is known within";

/// Whether a note on a point is that.
pub(crate) fn tells_precision(note: &str) -> bool {
    note.starts_with(KNOWN_WITHIN)
}

/// The notes on a measured point; `precise` if it was ended because its rate was known well enough.
pub(super) fn tell(record: &PointRecord, header: &OrionHeader, precise: bool) -> Vec<String> {
    let mut notes = Vec::new();
    notes.extend(tell_load(record, &header.test));
    notes.extend(tell_writing_streams(record, &header.test));
    if let (Some(wanted), false) = (header.until, precise) {
        notes.extend(tell_precision(record.precision, wanted));
    }
    notes
}

/// Below so many I/Os for each that is to be in flight, nothing is said of the load that was kept.
const FEWEST_PER_SLOT: u64 = 10;

/// That less was in flight than the loads are. What is in flight is throughput times latency (Little, *Operations Research* 9
/// (1961)).
fn tell_load(record: &PointRecord, test: &OrionTest) -> Vec<String> {
    let per_large = if test.large_io == LargeIo::Seq { test.num_stream_io.max(1) } else { 1 };
    let loads = [
        ("small ", record.small, record.small_io.as_ref()),
        ("large ", record.large.saturating_mul(per_large), record.large_io.as_ref()),
    ];
    let both = record.small_io.is_some() && record.large_io.is_some();
    let told = |(word, load, io): (&str, u32, Option<&LoadFigures>)| {
        let io = io?;
        let latency = io.latency.as_ref()?;
        let in_flight = io.ios() as f64 / record.seconds * latency.mean;
        // A latency counts whole where its I/O ends, and not at all where that is after the window: so much is chance.
        let chance = latency.max / record.seconds;
        let kept = in_flight / f64::from(load) + chance >= KEPT;
        // Of a few I/Os those cut by the window's edges are too large a part to say anything.
        let enough = io.ios() >= FEWEST_PER_SLOT * u64::from(load);
        (!kept && enough && record.seconds > 0.0).then(|| {
            let word = if both { word } else { "" };
            let (ios, were) = if load == 1 { ("I/O", "was") } else { ("I/Os", "were") };
            let cause = if record.cpu_seconds.iter().sum::<f64>() >= record.seconds / 2.0 {
                "the processor was too slow to keep the load"
            } else {
                "some of the time went by between an I/O and the next"
            };
            format!("only {in_flight:.2} of {load} {word}{ios} {were} in flight on average: {cause}")
        })
    };
    loads.into_iter().filter_map(told).collect()
}

/// That the share of writes of sequential streams is not what was asked for.
fn tell_writing_streams(record: &PointRecord, test: &OrionTest) -> Option<String> {
    let io = record.large_io.as_ref().filter(|_| test.large_io == LargeIo::Seq && record.large > 0)?;
    let (streams, asked) = (record.large, test.write_percent);
    let writing = test.writing_streams(streams);
    let off = |share: f64| (share - f64::from(asked) / 100.0).abs() > SHARE_TOLERANCE + 1e-9;
    let one_way = asked > 0 && writing == 0 || asked < 100 && writing == streams;
    if one_way || off(f64::from(writing) / f64::from(streams)) {
        let (word, write) = if streams == 1 { ("stream", "writes") } else { ("streams", "write") };
        return Some(format!(
            "{writing} of {streams} {word} {write}, {asked} % are asked: a share of whole streams"
        ));
    }
    let share = io.writes.ios as f64 / io.ios() as f64;
    off(share).then(|| {
        format!(
            "{:.0} % of the large I/Os wrote, {asked} % are asked: a share of streams, which are not equally fast",
            share * 100.0
        )
    })
}

/// That the rate is not known as precisely as was asked for.
fn tell_precision(reached: Option<f64>, wanted: f64) -> Option<String> {
    let asked = format!("where {:.1} % were asked for: `-duration` ended it", wanted * 100.0);
    match reached {
        Some(reached) if reached <= wanted => None,
        Some(reached) => Some(format!("{KNOWN_WITHIN} {:.1} % {asked}", reached * 100.0)),
        None => Some(format!("how precisely the rate is known cannot be told, {asked}")),
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::{LatencyFigures, RunLevel, TransferFigures};

    use super::*;
    use crate::point::tests::header;

    fn io(reads: u64, writes: u64, latency: f64) -> LoadFigures {
        let transfer = |ios| TransferFigures { ios, bytes: ios << 20, latency: None };
        let latency = Some(LatencyFigures { mean: latency, max: 2.0 * latency, ..LatencyFigures::default() });
        LoadFigures { reads: transfer(reads), writes: transfer(writes), latency, ..LoadFigures::default() }
    }

    fn streams(streams: u32, write_percent: u32, io: LoadFigures) -> Vec<String> {
        let mut test = OrionTest::new(RunLevel::Advanced);
        (test.large_io, test.write_percent) = (LargeIo::Seq, write_percent);
        let large_io = Some(io);
        let record = PointRecord { large: streams, seconds: 10.0, large_io, ..PointRecord::default() };
        tell(&record, &header(test), false)
    }

    #[test]
    fn a_share_of_writes_that_whole_streams_do_not_give_is_told() {
        assert_eq!(
            streams(2, 20, io(1000, 0, 0.08)),
            ["0 of 2 streams write, 20 % are asked: a share of whole streams"]
        );
        assert_eq!(
            streams(1, 50, io(0, 1000, 0.04)),
            ["1 of 1 stream writes, 50 % are asked: a share of whole streams"]
        );
        assert_eq!(
            streams(5, 50, io(410, 590, 0.2)),
            ["3 of 5 streams write, 50 % are asked: a share of whole streams"]
        );
        assert_eq!(
            streams(4, 25, io(650, 350, 0.16)),
            ["35 % of the large I/Os wrote, 25 % are asked: a share of streams, which are not equally fast"]
        );
        assert_eq!(streams(5, 20, io(800, 200, 0.2)), Vec::<String>::new());
        assert_eq!(streams(5, 0, io(1000, 0, 0.2)), Vec::<String>::new());
        assert_eq!(streams(5, 100, io(0, 1000, 0.2)), Vec::<String>::new());
    }

    #[test]
    fn a_load_that_was_not_kept_is_told() {
        let told = |small, latency: f64| {
            let small_io = Some(io(10_000, 0, latency));
            let cpu_seconds = [6.0, 2.0];
            let record =
                PointRecord { small, seconds: 10.0, small_io, cpu_seconds, ..PointRecord::default() };
            tell(&record, &header(OrionTest::new(RunLevel::Simple)), false)
        };
        let why = "in flight on average: the processor was too slow to keep the load";
        assert_eq!(told(1, 0.000_89), [format!("only 0.89 of 1 I/O was {why}")]);
        assert_eq!(told(4, 0.003), [format!("only 3.00 of 4 I/Os were {why}")]);
        assert_eq!(told(4, 0.003_9), Vec::<String>::new());
        // Hardly any processor time was used there.
        let why = "in flight on average: some of the time went by between an I/O and the next";
        assert_eq!(streams(2, 0, io(1000, 0, 0.06)), [format!("only 6.00 of 8 I/Os were {why}")]);
        // With four I/Os of 3 s in 10 s, one that ended just too late is a quarter of what was in flight.
        assert_eq!(streams(1, 0, io(10, 0, 3.0)), Vec::<String>::new());
    }
}
