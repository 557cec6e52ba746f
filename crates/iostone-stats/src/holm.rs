//! Holm's step-down rule over comparisons, with tables that need not be nested in the level.

/// For each comparison the number still open when it was decided, or none where it stays open.
///
/// `strengths` holds, for each comparison, how many family sizes it withstands: it has crossed its boundary at
/// alpha / j for every j from 1 to that number. With r comparisons open, those that withstand r are decided and
/// leave the family; repeated until nothing changes (Holm 1979). "Every j" because boundaries at different levels
/// are not perfectly nested.
pub(crate) fn decide(strengths: &[u32]) -> Vec<Option<u32>> {
    let mut decided = vec![None; strengths.len()];
    loop {
        let open = count_open(&decided);
        let mut changed = false;
        for (comparison, strength) in decided.iter_mut().zip(strengths) {
            if comparison.is_none() && *strength >= open {
                *comparison = Some(open);
                changed = true;
            }
        }
        if !changed {
            return decided;
        }
    }
}

/// The comparisons still open.
pub(crate) fn count_open(decided: &[Option<u32>]) -> u32 {
    crate::count(decided.iter().filter(|comparison| comparison.is_none()).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn decisions_match_the_vectors() {
        for case in vectors::list("holm") {
            let crossed: Vec<Vec<bool>> = serde_json::from_value(case["crossed"].clone()).unwrap();
            let strengths: Vec<u32> = crossed
                .iter()
                .map(|at| crate::count(at.iter().take_while(|crossed| **crossed).count()))
                .collect();
            let decided: Vec<usize> = decide(&strengths)
                .iter()
                .enumerate()
                .filter_map(|(comparison, at)| at.map(|_| comparison))
                .collect();
            let expected: Vec<usize> = serde_json::from_value(case["rejected"].clone()).unwrap();
            assert_eq!(decided, expected);
        }
    }
}
