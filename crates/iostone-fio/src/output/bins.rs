//! fio's latency bins: 64 linear buckets per power of two, named by the latency in their middle.
//!
//! The scheme is that of fio's `stat.h` (`FIO_IO_U_PLAT_BITS` 6, `FIO_IO_U_PLAT_GROUP_NR` 29): latencies below 128 ns
//! have a bin each, those from 2^33 ns (8.6 s) up share the bins of that power, the last of them taking everything
//! beyond. The engine has 128 buckets per power of two, so that two of its buckets, or one, make a bin: nothing is
//! split and no count is estimated.

use std::collections::BTreeMap;

use iostone_engine::LatencyHistogram;

/// Linear bins per power of two, as a power of two.
const LINEAR_BITS: u32 = 6;
/// Linear bins per power of two.
const LINEAR: u64 = 1 << LINEAR_BITS;
/// The highest power of two that has bins.
const TOP_BITS: u32 = 33;

/// The latency that names the bin of a latency, both in nanoseconds: a key of `bins` in `json+`.
///
/// ```
/// use iostone_fio::output::bin_of;
///
/// assert_eq!((bin_of(127), bin_of(128), bin_of(129), bin_of(130)), (127, 129, 129, 131));
/// assert_eq!(bin_of(u64::MAX), 17_112_760_320);
/// ```
pub fn bin_of(ns: u64) -> u64 {
    if ns < 2 * LINEAR {
        return ns;
    }
    let octave = ns.ilog2().min(TOP_BITS);
    let width_bits = octave - LINEAR_BITS;
    let bin = (ns >> width_bits).min(2 * LINEAR - 1);
    (bin << width_bits) + (1 << width_bits) / 2
}

/// Occupied bins and their counts, ascending.
pub fn bin_latencies(latencies: &LatencyHistogram) -> BTreeMap<u64, u64> {
    let mut bins = BTreeMap::new();
    for (first_ns, _, count) in latencies.occupied() {
        let in_bin: &mut u64 = bins.entry(bin_of(first_ns)).or_default();
        *in_bin = in_bin.saturating_add(count);
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Every value that names a bin, by fio's rule from a bin's number.
    fn names() -> Vec<u64> {
        (0..29 * LINEAR)
            .map(|number| match number {
                number if number < 2 * LINEAR => number,
                number => {
                    let width = 1 << (number / LINEAR - 1);
                    (LINEAR + number % LINEAR) * width + width / 2
                }
            })
            .collect()
    }

    fn latency() -> impl Strategy<Value = u64> {
        (0u32..42, any::<u64>()).prop_map(|(bits, any)| any & ((1 << bits) - 1))
    }

    #[test]
    fn there_are_as_many_bins_as_in_fio_and_each_names_itself() {
        let names = names();
        assert_eq!(names.len(), 1856);
        assert_eq!(names.last(), Some(&17_112_760_320));
        for name in names {
            assert_eq!(bin_of(name), name);
        }
    }

    proptest! {
        #[test]
        fn bins_hold_every_latency_under_a_name_that_fio_knows(latencies in vec(latency(), 0..300)) {
            let mut histogram = LatencyHistogram::new();
            let mut expected = BTreeMap::new();
            for ns in &latencies {
                histogram.record(*ns);
                *expected.entry(bin_of(*ns)).or_insert(0u64) += 1;
            }
            let bins = bin_latencies(&histogram);
            let names = names();
            prop_assert!(bins.keys().all(|name| names.binary_search(name).is_ok()));
            prop_assert_eq!(bins.values().sum::<u64>(), latencies.len() as u64);
            prop_assert_eq!(bins, expected);
        }
    }
}
