//! Pages of NVMe statistics and answers to Identify, as any device or file could give them.
#![no_main]

use iostone_fuzz::assert_survives_json;
use iostone_model::sample::nvme_percentile;
use iostone_probe::nvme::{difference, encode_page, parse_identity, parse_page};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    parse_identity(bytes);
    // Half as a page at its full length, which made-up lengths seldom have.
    let mut page = bytes.to_owned();
    page.resize(if bytes.get(4) == Some(&1) { 8192 } else { 4096 }, 0);
    let read: Vec<_> = [bytes, &page].into_iter().filter_map(|bytes| parse_page(bytes).ok()).collect();
    for statistics in &read {
        assert_eq!(parse_page(&encode_page(statistics)).as_ref(), Ok(statistics));
        assert_survives_json(statistics);
        let grown = difference(statistics, statistics).expect("a page can be held against itself");
        assert_eq!((grown.reads, grown.writes, grown.instance_iops_exceeded_us), (0, 0, 0));
        for bins in [&statistics.counters.read_latency, &statistics.counters.write_latency] {
            let places: Vec<u64> =
                [0.0, 0.5, 0.99, 1.0].iter().filter_map(|share| nvme_percentile(bins, *share)).map(|bin| bin.lower_us).collect();
            assert!(places.is_sorted(), "{places:?}");
        }
    }
});
