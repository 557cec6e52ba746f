//! Thins a line of many counts to what a drawing can show, so that no stall is smoothed away.

/// About `most` points, with their places: the smallest and the largest count of each stretch.
pub(super) fn thinned(counts: &[u64], most: usize) -> Vec<(usize, u64)> {
    let stretch = (counts.len() * 2).div_ceil(most.max(1)).max(1);
    if stretch <= 2 {
        return counts.iter().copied().enumerate().collect();
    }
    let mut kept = Vec::with_capacity(most + 2);
    for (group, chunk) in counts.chunks(stretch).enumerate() {
        let at = |(place, count): (usize, &u64)| (group * stretch + place, *count);
        let lowest = chunk.iter().enumerate().min_by_key(|(_, count)| **count).map(at);
        let highest = chunk.iter().enumerate().max_by_key(|(_, count)| **count).map(at);
        let mut pair: Vec<(usize, u64)> = lowest.into_iter().chain(highest).collect();
        pair.sort_unstable();
        pair.dedup();
        kept.extend(pair);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_stall_is_kept() {
        for (length, stall) in [(600, 314), (60_000, 31_415)] {
            let mut counts = vec![100; length];
            counts[stall] = 0;
            let kept = thinned(&counts, 100);
            assert!(kept.len() <= 102, "{}", kept.len());
            assert!(kept.contains(&(stall, 0)));
        }
    }
}
