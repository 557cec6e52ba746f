//! Latency histograms: stored forms from anywhere, and what any latencies are stored as.
#![no_main]

use iostone_engine::{LatencyHistogram, SparseHistogram};
use iostone_fuzz::{assert_survives_json, read_json};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(sparse) = read_json::<SparseHistogram>(bytes)
        && let Ok(histogram) = LatencyHistogram::try_from(sparse.clone())
    {
        assert_eq!(SparseHistogram::from(histogram.clone()), sparse, "what is read is not what is written");
        check(&histogram);
    }
    let mut recorded = LatencyHistogram::new();
    for chunk in bytes.chunks_exact(8) {
        recorded.record(u64::from_le_bytes(chunk.try_into().expect("chunks of eight")));
    }
    check(&recorded);
});

fn check(histogram: &LatencyHistogram) {
    assert_survives_json(histogram);
    let shares = [0.0, 1e-9, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0];
    let latencies: Vec<u64> = shares.iter().filter_map(|share| histogram.percentile_ns(*share)).collect();
    assert!(latencies.is_sorted(), "{latencies:?}");
    assert_eq!(latencies.is_empty(), histogram.is_empty());
    if let (Some(first), Some(last)) = (latencies.first(), latencies.last()) {
        assert_eq!((Some(*first), Some(*last)), (histogram.min_ns(), histogram.max_ns()));
    }
    let mut twice = histogram.clone();
    twice.merge(histogram);
    assert_eq!((twice.min_ns(), twice.max_ns()), (histogram.min_ns(), histogram.max_ns()));
    assert!(shares.iter().filter_map(|share| twice.percentile_ns(*share)).is_sorted());
    assert_eq!(histogram.occupied().map(|(.., count)| count).sum::<u64>(), histogram.count());
}
