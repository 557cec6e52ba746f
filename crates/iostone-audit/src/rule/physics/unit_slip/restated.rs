//! Limits that were written down twice and contradict themselves.

use iostone_model::dataset::{Ceiling, Dataset};

use super::super::case::times;
use super::super::slip::{nearest, rounding};
use super::{AGREES, NEAR, Slipped, named};

/// So near to a mix-up's factor, rounding is no explanation.
const EXACTLY: f64 = 0.001;

/// Looks at every limit that was restated; none if there is none.
pub(super) fn look(dataset: &Dataset) -> Option<Vec<Slipped>> {
    let restated = || dataset.ceilings.iter().filter(|ceiling| ceiling.restated.is_some());
    let mut found: Vec<Slipped> = Vec::new();
    for slipped in restated().filter_map(judge) {
        // The same limit may stand in several rows.
        if !found.iter().any(|other| other.message == slipped.message) {
            found.push(slipped);
        }
    }
    restated().next().is_some().then_some(found)
}

fn judge(ceiling: &Ceiling) -> Option<Slipped> {
    let (limit, restated) = (&ceiling.limit, ceiling.restated.as_ref()?);
    let ratio = restated.value / limit.value;
    let same_kind = limit.unit == restated.unit;
    let off = (ratio - 1.0).abs();
    // A limit is exact however few its digits; what was calculated from it may be rounded, but not to a mix-up's factor.
    let rounded = off <= rounding(&restated.text) && nearest(ratio, EXACTLY).is_none();
    if !ratio.is_finite() || ratio <= 0.0 || (same_kind && (off <= AGREES || rounded)) {
        return None;
    }
    let (severity, mix_up) = named(nearest(ratio, NEAR).filter(|_| same_kind));
    let message = format!(
        "the limit of `{}` is {} in one place and {} in another, {} it, {mix_up}",
        ceiling.name,
        limit.text,
        restated.text,
        times(ratio)
    );
    let mut evidence = vec![format!(
        "{} is {}; {} is {}",
        limit.text,
        limit.unit.format(limit.value),
        restated.text,
        restated.unit.format(restated.value)
    )];
    if !ceiling.source.is_empty() {
        evidence.push(format!("the limit is known from: {}", ceiling.source));
    }
    Some(Slipped { severity, message, evidence, observations: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::super::super::made_up::{ceiling, dataset, observation};
    use super::*;
    use iostone_model::audit::Severity;

    fn found(limit: &str, restated: &str) -> Vec<Slipped> {
        let mut set = dataset(vec![observation(&[], &[("throughput", 1e6)])]);
        set.ceilings = vec![ceiling("instance link", limit)];
        set.ceilings[0].restated = Some(restated.parse().unwrap());
        look(&set).unwrap()
    }

    #[test]
    fn a_link_in_bits_restated_in_the_wrong_bytes_is_found() {
        let found = found("500Mbps", "62.5MiB/s");
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(
            found[0].message,
            "the limit of `instance link` is 500Mbps in one place and 62.5MiB/s in another, 4.9 % above it, as with MB \
             taken for MiB"
        );
        assert_eq!(found[0].evidence[0], "500Mbps is 62.5 MB/s; 62.5MiB/s is 65.5 MB/s");
    }

    #[test]
    fn a_limit_of_few_digits_is_exact_all_the_same() {
        for (limit, restated) in
            [("2Gbps", "250MiB/s"), ("1Gbps", "125MiB/s"), ("10Gbps", "1250MiB/s"), ("125MiB/s", "1Gbps")]
        {
            let found = found(limit, restated);
            assert!(found[0].message.ends_with("as with MB taken for MiB"), "{}", found[0].message);
        }
        assert!(found("1Gbps", "0.12GiB/s").is_empty());
    }

    #[test]
    fn bits_taken_for_bytes_are_serious() {
        assert_eq!(found("500Mbps", "500MB/s")[0].severity, Severity::Serious);
    }

    #[test]
    fn a_limit_rightly_restated_or_rounded_is_clear() {
        assert!(found("500Mbps", "62.5MB/s").is_empty());
        assert!(found("500Mbps", "60MiB/s").is_empty());
        assert!(look(&dataset(Vec::new())).is_none());
    }
}
