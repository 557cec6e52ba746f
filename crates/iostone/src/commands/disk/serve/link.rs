//! From the options to the link of an instance, which is refused where it could not hold.

use anyhow::{Result, bail};
use iostone_model::experiment::{Burst, Link};

use super::arguments::LinkArguments;

/// The link that the options describe; none without a rate.
///
/// # Errors
/// For what would let nothing through, and for a burst that is none.
pub(super) fn of(arguments: &LinkArguments) -> Result<Option<Link>> {
    let Some(throughput) = arguments.rate else { return Ok(None) };
    let (bytes, ios) = (arguments.burst, arguments.burst_iops);
    if throughput.0 == 0 || arguments.iops == Some(0) {
        bail!("a link of 0 would answer no request; omit `--link` or `--link-iops` for no limit");
    }
    if let Some(burst) = bytes.filter(|burst| burst.rate <= throughput) {
        bail!("`--link-burst` of {} must be above `--link`: a burst is faster than the baseline", burst.rate);
    }
    if let Some((burst, iops)) = ios.zip(arguments.iops).filter(|(burst, iops)| burst.iops <= *iops) {
        bail!(
            "`--link-burst-iops` of {} must be above `--link-iops` of {iops}: a burst is faster than the baseline",
            burst.iops
        );
    }
    if bytes.is_some_and(|burst| burst.credits.0 == 0) || ios.is_some_and(|burst| burst.credits == 0) {
        bail!(
            "a bucket of 0 allows no burst; give `--link-burst` or `--link-burst-iops` credits, or omit it"
        );
    }
    let start = arguments.burst_start;
    if start.is_some() && bytes.is_none() && ios.is_none() {
        bail!("`--link-burst-start` needs a bucket; add `--link-burst` or `--link-burst-iops`");
    }
    if let Some(share) = start.filter(|share| !(0.0..=1.0).contains(&share.0)) {
        bail!("`--link-burst-start` of {share} must be 0% to 100%");
    }
    let burst = (bytes.is_some() || ios.is_some()).then(|| Burst {
        iops: ios.map(|burst| burst.iops),
        credits: ios.map(|burst| burst.credits),
        throughput: bytes.map(|burst| burst.rate),
        credit_bytes: bytes.map(|burst| burst.credits),
        start,
    });
    Ok(Some(Link { throughput, iops: arguments.iops, burst }))
}
