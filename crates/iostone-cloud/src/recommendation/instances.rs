//! Instances that may be rented, without those that another is both cheaper and no slower than.

use std::collections::BTreeSet;

use iostone_model::experiment::{Burst, Link};
use iostone_model::recommendation::Unknown;

use super::{Goal, Wanted};
use crate::catalogue::{Catalogue, EbsSupport, Instance, Status};
use crate::prediction::Pattern;

/// An instance with what counts here.
#[derive(Debug, Clone)]
pub(super) struct Rented<'a> {
    pub(super) name: &'a str,
    pub(super) family: &'a str,
    /// US dollars an hour.
    pub(super) usd: f64,
    pub(super) link: Link,
    /// Whether volumes do all that they can on it: where it is not known, they are taken to.
    pub(super) is_nitro: bool,
    /// The most volumes that it takes beside its root, of those that are wanted.
    pub(super) most_volumes: u32,
}

/// What is left to look at, and what was left out.
pub(super) struct Pool<'a> {
    /// The cheapest first.
    pub(super) rented: Vec<Rented<'a>>,
    /// Types that fit what is asked of them.
    pub(super) fitting: usize,
    /// Of them, those with a price and a link.
    pub(super) known: usize,
    pub(super) unfit: usize,
    pub(super) unknown: Vec<Unknown>,
    pub(super) burstable_left_out: usize,
    /// Of those that are left, how many take a number of volumes that is not known.
    pub(super) attachments_unknown: usize,
}

/// The instances of a catalogue that may be rented.
pub(super) fn pool<'a>(catalogue: &'a Catalogue, wanted: &Wanted) -> Pool<'a> {
    let mut pool = Pool {
        rented: Vec::new(),
        fitting: 0,
        known: 0,
        unfit: 0,
        unknown: Vec::new(),
        burstable_left_out: 0,
        attachments_unknown: 0,
    };
    let mut all: Vec<Rented<'_>> = Vec::new();
    for instance in catalogue.instances() {
        if !fits(instance, wanted) {
            pool.unfit += 1;
            continue;
        }
        if !wanted.burstable && is_burstable(instance) {
            pool.burstable_left_out += 1;
            pool.unfit += 1;
            continue;
        }
        pool.fitting += 1;
        let mut leave_out = |reason: String| {
            pool.unknown.push(Unknown { name: instance.name.clone(), reason });
        };
        let Some(link) = long_run_link(instance) else {
            leave_out("its link to volumes is not known".to_owned());
            continue;
        };
        if instance.ebs_support == Some(EbsSupport::OnRequest) {
            leave_out("its link to volumes costs extra, and how much is not known".to_owned());
            continue;
        }
        if link.iops.is_none() && counts_ios(wanted) {
            leave_out("the I/Os a second of its link are not known".to_owned());
            continue;
        }
        let most_volumes = match instance.attachments {
            // One of them is its root.
            Some(most) if most < 2 => {
                leave_out("it takes no volume beside its root".to_owned());
                continue;
            }
            Some(most) => wanted.most_volumes.min(most - 1),
            None => wanted.most_volumes,
        };
        // Not `price`, which looks for the nearest name where there is none.
        match catalogue.prices(&instance.name).get(&wanted.region) {
            Some(usd) => all.push(Rented {
                name: &instance.name,
                family: instance.family(),
                usd: *usd,
                link,
                is_nitro: instance.is_nitro() != Some(false),
                most_volumes,
            }),
            None => leave_out(format!("no price in {}", wanted.region)),
        }
    }
    pool.known = all.len();
    pool.rented = undominated(all);
    let is_unknown = |rented: &&Rented<'_>| {
        catalogue.instance(rented.name).is_ok_and(|instance| instance.attachments.is_none())
    };
    pool.attachments_unknown = pool.rented.iter().filter(is_unknown).count();
    pool
}

/// Whether the work is one of I/Os, so that a link whose I/Os a second are not known tells nothing.
fn counts_ios(wanted: &Wanted) -> bool {
    let is_of_ios = matches!(wanted.goal, Goal::Rate { ios_per_second: Some(_), .. });
    is_of_ios || wanted.work.pattern == Pattern::Random
}

/// Whether it earns CPU credits, or had an allowance of that kind before those had their name.
fn is_burstable(instance: &Instance) -> bool {
    instance.family().starts_with('t') && (instance.name == "t1.micro" || instance.credits().is_some())
}

/// Its link to EBS. Of types that reach EBS over their network, and whose network is not the same all the time, it is not known what
/// is left for volumes in the long run.
fn long_run_link(instance: &Instance) -> Option<Link> {
    match (instance.ebs, instance.network) {
        (None, Some(network)) if network.peak > network.baseline => None,
        _ => instance.link(),
    }
}

fn fits(instance: &Instance, wanted: &Wanted) -> bool {
    let status = if wanted.statuses.is_empty() {
        instance.status != Status::Retired
    } else {
        wanted.statuses.contains(&instance.status)
    };
    status
        && (wanted.families.is_empty() || wanted.families.iter().any(|pattern| is_named(instance, pattern)))
        && wanted.architecture.is_none_or(|wanted| instance.architectures.contains(&wanted))
        && wanted.vcpus.is_none_or(|range| instance.vcpus.is_some_and(|vcpus| range.holds(&vcpus)))
        && wanted.memory.is_none_or(|range| instance.memory.is_some_and(|memory| range.holds(&memory)))
        && (wanted.local_disks || instance.has_local_disks() == Some(false))
}

/// Whether a pattern with `*` for anything names its family, or its whole name where the pattern has a point.
pub(super) fn is_named(instance: &Instance, pattern: &str) -> bool {
    let name = if pattern.contains('.') { instance.name.as_str() } else { instance.family() };
    matches(name, pattern)
}

/// The parts between stars are found one after the other, each as early as can be: what comes later never fares worse for that.
fn matches(name: &str, pattern: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return name == pattern };
    let (middle, tail) = rest.rsplit_once('*').unwrap_or(("", rest));
    let Some(inner) = name.strip_prefix(head).and_then(|name| name.strip_suffix(tail)) else { return false };
    let mut left = inner;
    middle.split('*').all(|part| {
        left.split_once(part).is_some_and(|(_, after)| {
            left = after;
            true
        })
    })
}

/// Leaves out whatever another is no dearer and no slower than. Two families are kept of each kind, so that there is a runner-up.
fn undominated(mut all: Vec<Rented<'_>>) -> Vec<Rented<'_>> {
    all.sort_by(|one, other| one.usd.total_cmp(&other.usd).then_with(|| one.name.cmp(other.name)));
    // Of instances alike in price and link the first by name is kept: the order above decides.
    let mut kept: Vec<Rented<'_>> = Vec::new();
    for rented in all {
        let mut families: BTreeSet<&str> = BTreeSet::new();
        for cheaper in kept.iter().filter(|cheaper| is_no_slower(cheaper, &rented)) {
            families.insert(cheaper.family);
        }
        if families.len() < 2 && !families.contains(rented.family) {
            kept.push(rented);
        }
    }
    kept
}

fn is_no_slower(one: &Rented<'_>, other: &Rented<'_>) -> bool {
    (one.is_nitro || !other.is_nitro)
        && one.most_volumes >= other.most_volumes
        // What is not known may be anything: it never beats what is, nor is it beaten.
        && figures(&one.link, 0.0)
            .iter()
            .zip(figures(&other.link, f64::INFINITY))
            .all(|(one, other)| *one >= other)
}

/// Rates and buckets of a link, with a figure for I/Os a second that are not known.
fn figures(link: &Link, unknown: f64) -> [f64; 6] {
    let bytes = |burst: &Burst| Some((burst.throughput?.0 as f64, burst.credit_bytes?.0 as f64));
    let ios = |burst: &Burst| Some((f64::from(burst.iops?), burst.credits? as f64));
    let base = link.throughput.0 as f64;
    let (rate, bucket) = link.burst.as_ref().and_then(bytes).unwrap_or((base, 0.0));
    let base_ios = link.iops.map_or(unknown, f64::from);
    let (rate_ios, bucket_ios) = link.burst.as_ref().and_then(ios).unwrap_or((base_ios, 0.0));
    [base, rate, bucket, base_ios, rate_ios, bucket_ios]
}
