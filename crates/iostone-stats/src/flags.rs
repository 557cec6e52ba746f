//! Checks that raise a flag beside a verdict; each says its evidence in one sentence.

pub(crate) mod carry_over;
pub(crate) mod order;
pub(crate) mod shape;

use iostone_model::units::p_value;
use iostone_model::verdict::{ENVIRONMENT_UNFIT, Flag};

use crate::rank::kruskal_wallis;
use crate::special::{binomial_cdf, sign_test};

/// A flag where the discarded trials fall unevenly on the levels (`discard-imbalance`).
///
/// A rule for discarding that one level trips more often is part of that level's effect: discarding would hide it,
/// so the blocks must then be analysed with those trials kept. Two levels: two-sided sign test. More: each level's
/// share against an even one (exact binomial), the smallest p times the number of levels. Raised below p = 0.05.
pub fn discard_imbalance(discarded_by_level: &[(String, u32)]) -> Option<Flag> {
    let total: u64 = discarded_by_level.iter().map(|(_, count)| u64::from(*count)).sum();
    let levels = discarded_by_level.len();
    if levels < 2 || total == 0 {
        return None;
    }
    let p_of = |count: u64| {
        if levels == 2 {
            return sign_test(count, total);
        }
        let even = 1.0 / levels as f64;
        let below = binomial_cdf(count, total, even);
        let above = if count == 0 { 1.0 } else { 1.0 - binomial_cdf(count - 1, total, even) };
        (2.0 * below.min(above) * levels as f64).min(1.0)
    };
    let (level, count, p) = discarded_by_level
        .iter()
        .map(|(level, count)| (level, *count, p_of(u64::from(*count))))
        // The first of equals would do, but the level that trips the rule is the one to name.
        .min_by(|a, b| a.2.total_cmp(&b.2).then(b.1.cmp(&a.1)))?;
    (p < 0.05).then(|| {
        let message = format!(
            "{count} of {total} discarded trials ran `{level}`, {}: the rule acts on the level itself, so judge with \
             those blocks kept",
            p_value(p)
        );
        Flag::new("discard-imbalance", message)
    })
}

/// A flag where more than a fifth of all blocks were discarded (`environment-unfit`).
pub fn environment_unfit(complete: u32, discarded: u32) -> Option<Flag> {
    let all = u64::from(complete) + u64::from(discarded);
    (u64::from(discarded) * 5 > all).then(|| {
        let message = format!("{discarded} of {all} blocks were discarded, more than a fifth");
        Flag::new(ENVIRONMENT_UNFIT, message)
    })
}

/// A flag where the log ratios differ between hosts (`host-effect`).
///
/// `hosts` names the host of each block. Kruskal-Wallis test, raised below p = 0.01: one ratio then does not speak
/// for all hosts.
pub fn host_effect(log_ratios: &[f64], hosts: &[&str]) -> Option<Flag> {
    let mut names: Vec<&str> = Vec::new();
    let groups: Vec<usize> = hosts
        .iter()
        .map(|host| {
            names.iter().position(|name| name == host).unwrap_or_else(|| {
                names.push(host);
                names.len() - 1
            })
        })
        .collect();
    let shared = log_ratios.len().min(groups.len());
    let p = kruskal_wallis(log_ratios.get(..shared)?, groups.get(..shared)?)?;
    (p < 0.01).then(|| {
        let message = format!(
            "the ratio differs between the {} hosts (Kruskal-Wallis {}): it depends on the host",
            names.len(),
            p_value(p)
        );
        Flag::new("host-effect", message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn discarded(counts: &[(&str, u32)]) -> Option<Flag> {
        let owned: Vec<_> = counts.iter().map(|(level, count)| ((*level).to_owned(), *count)).collect();
        discard_imbalance(&owned)
    }

    #[test]
    fn lopsided_discards_are_flagged_and_even_ones_are_not() {
        assert_eq!(discarded(&[("on", 3), ("off", 4)]), None);
        assert_eq!(discarded(&[("on", 0), ("off", 5)]), None);
        let flag = discarded(&[("on", 0), ("off", 6)]).unwrap();
        assert!(flag.message.starts_with("6 of 6 discarded trials ran `off`, p = 0.031"), "{}", flag.message);
        assert_eq!(discarded(&[("a", 2), ("b", 3), ("c", 2)]), None);
        assert!(discarded(&[("a", 0), ("b", 9), ("c", 0)]).is_some());
        assert_eq!(discarded(&[("on", 9)]), None);
    }

    #[test]
    fn an_unfit_environment_discards_more_than_a_fifth() {
        assert_eq!(environment_unfit(8, 2), None);
        assert!(environment_unfit(7, 2).is_some());
        assert_eq!(environment_unfit(0, 0), None);
    }

    #[test]
    fn hosts_that_differ_are_flagged() {
        let ratios: Vec<f64> = (0..20).map(|i| f64::from(i % 2) * 0.1 + f64::from(i) * 1e-4).collect();
        let hosts: Vec<&str> = (0..20).map(|i| if i % 2 == 0 { "st02" } else { "st04" }).collect();
        assert_eq!(host_effect(&ratios, &hosts).unwrap().name, "host-effect");
        let same: Vec<&str> = (0..20).map(|i| if i < 10 { "st02" } else { "st04" }).collect();
        assert_eq!(host_effect(&ratios, &same), None);
    }
}
