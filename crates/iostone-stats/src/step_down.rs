//! Comparisons that are settled leave their share of the chance of error to those that are open.

use crate::sequential::Strengths;

/// For each comparison, how many were open when its share was handed on, or how many are open at the end.
///
/// Each comparison holds two hypotheses of which at most one is true: that its levels are equal, and that they are a margin
/// apart. To reject the false one, as every right verdict does, says nothing of the other; so a share is free for others
/// only when *both* are rejected, at a real difference that lies within the margin (Shaffer 1986: as many as can be true
/// together). With r comparisons open, those rejected at every family size up to r leave; repeated until nothing changes.
/// Where equivalence is never claimed (`both` is false) the rule is that of Holm (1979).
pub(crate) fn share(strengths: &[Strengths], both: bool) -> Vec<u32> {
    let settled = |own: &Strengths| if both { own.equality.min(own.distance) } else { own.equality };
    let mut left: Vec<Option<u32>> = vec![None; strengths.len()];
    loop {
        let open = crate::count(left.iter().filter(|at| at.is_none()).count());
        let mut changed = false;
        for (at, own) in left.iter_mut().zip(strengths) {
            if at.is_none() && settled(own) >= open {
                *at = Some(open);
                changed = true;
            }
        }
        if !changed {
            return left.into_iter().map(|at| at.unwrap_or(open)).collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors;

    #[test]
    fn without_a_margin_the_shares_are_those_of_holm() {
        for case in vectors::list("holm") {
            let crossed: Vec<Vec<bool>> = serde_json::from_value(case["crossed"].clone()).unwrap();
            let strengths: Vec<Strengths> = crossed
                .iter()
                .map(|at| at.iter().take_while(|crossed| **crossed).count())
                .map(|sizes| Strengths { equality: crate::count(sizes), distance: 0 })
                .collect();
            let open = share(&strengths, false);
            let decided: Vec<usize> =
                (0..open.len()).filter(|index| strengths[*index].equality >= open[*index]).collect();
            let expected: Vec<usize> = serde_json::from_value(case["rejected"].clone()).unwrap();
            assert_eq!(decided, expected);
        }
    }

    #[test]
    fn a_right_verdict_alone_hands_nothing_on() {
        let faster = Strengths { equality: 3, distance: 0 };
        let equivalent = Strengths { equality: 0, distance: 3 };
        let open = Strengths { equality: 1, distance: 1 };
        assert_eq!(share(&[faster, equivalent, open], true), [3, 3, 3]);
        let settled = Strengths { equality: 3, distance: 3 };
        let nearly = Strengths { equality: 2, distance: 2 };
        assert_eq!(share(&[settled, nearly, open], true), [3, 2, 1]);
        assert_eq!(share(&[settled, open, faster], true), [3, 2, 2]);
        assert_eq!(share(&[], true), [] as [u32; 0]);
    }
}
