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
        bail!(
            "over a link of 0 nothing would ever be answered; leave `--link` or `--link-iops` out for no limit"
        );
    }
    if let Some(burst) = bytes.filter(|burst| burst.rate <= throughput) {
        bail!(
            "`--link-burst` of {} is no more than `--link`; a burst is faster than the long run",
            burst.rate
        );
    }
    if let Some((burst, iops)) = ios.zip(arguments.iops).filter(|(burst, iops)| burst.iops <= *iops) {
        bail!(
            "`--link-burst-iops` of {} is no more than `--link-iops` of {iops}; a burst is faster than the long run",
            burst.iops
        );
    }
    if bytes.is_some_and(|burst| burst.credits.0 == 0) || ios.is_some_and(|burst| burst.credits == 0) {
        bail!(
            "a bucket of 0 holds no burst; give `--link-burst` or `--link-burst-iops` credits, or leave it out"
        );
    }
    let start = arguments.burst_start;
    if start.is_some() && bytes.is_none() && ios.is_none() {
        bail!("`--link-burst-start` fills no bucket; add `--link-burst` or `--link-burst-iops`");
    }
    if let Some(share) = start.filter(|share| !(0.0..=1.0).contains(&share.0)) {
        bail!("`--link-burst-start` of {share} is no share of a bucket; it is 0% to 100%");
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
