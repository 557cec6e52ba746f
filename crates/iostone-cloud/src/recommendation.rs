//! What to rent: every instance with a price and a known link, with volumes that are cut to the target.
//!
//! Work flows at the lowest of its ceilings, and a ceiling with a bucket lets a concave amount through by any time. Of evenly
//! mixed work, what volumes and link let through together by some time is therefore the lower of what each does alone, and
//! volumes can be cut to the target without looking at instances. The pairs are worked out all the same.

mod instances;
mod judge;
#[cfg(test)]
mod tests;
mod volumes;
mod words;

use std::collections::BTreeSet;

use iostone_model::cloud::{CatalogueDate, CeilingKind, VolumeSpec};
use iostone_model::recommendation::{Choice, Considered, RECOMMENDATION_SCHEMA, Recommendation, Unknown};
use iostone_model::units::{Bytes, Fraction, Span};

use crate::catalogue::{Architecture, Catalogue, RangeOf, Status};
use crate::prediction::{PredictError, Question, Work, predict};
use crate::prices::{AS_OF, UnknownPrice};
use crate::volume::{
    HOURS_A_MONTH, UnknownVolumePrice, VOLUME_PRICES_AS_OF, VolumeError, volume_price_regions,
};
use instances::Rented;
use judge::{Judge, Performance};
use volumes::Offer;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// The work done in this time.
    Within(Span),
    /// So many bytes a second, in the long run or for a time, for which bursts count.
    Rate {
        /// Bytes a second.
        bytes_per_second: f64,
        /// Said as I/Os a second.
        ios_per_second: Option<f64>,
        /// For how long.
        span: Option<Span>,
    },
}

/// What may be rented; what is absent does not matter.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The target.
    pub goal: Goal,
    /// The work: its amount where the target is a time, its I/Os in any case.
    pub work: Work,
    /// What the volumes have to hold.
    pub capacity: Bytes,
    /// The date whose limits of volumes hold.
    pub date: CatalogueDate,
    /// The region whose prices are meant.
    pub region: String,
    /// An instruction set.
    pub architecture: Option<Architecture>,
    /// Virtual processors.
    pub vcpus: Option<RangeOf<u32>>,
    /// Memory.
    pub memory: Option<RangeOf<Bytes>>,
    /// Families or types of instances, `c*`, `m5`, `c4.large`; any if empty.
    pub families: Vec<String>,
    /// Whether a type can still be had; anything that is not retired if empty.
    pub statuses: Vec<Status>,
    /// Whether instances with disks of their own may be taken. Those disks are never used: how fast they are is not known.
    pub local_disks: bool,
    /// Whether instances that earn CPU credits may be taken.
    pub burstable: bool,
    /// Volume types; all of AWS with prices if empty.
    pub volume_types: Vec<String>,
    /// The most volumes that are striped.
    pub most_volumes: u32,
    /// What buckets hold at the start, of a target that bursts count for; full if absent.
    pub start: Option<Fraction>,
    /// The time that an I/O takes.
    pub latency: Option<Span>,
}

impl Wanted {
    /// A target, and nothing said of what may be rented.
    pub fn new(goal: Goal, work: Work, capacity: Bytes, date: CatalogueDate) -> Self {
        Self {
            goal,
            work,
            capacity,
            date,
            region: crate::prices::DEFAULT_REGION.to_owned(),
            architecture: None,
            vcpus: None,
            memory: None,
            families: Vec::new(),
            statuses: Vec::new(),
            local_disks: true,
            burstable: false,
            volume_types: Vec::new(),
            most_volumes: 8,
            start: None,
            latency: None,
        }
    }

    /// The question that `predict` is asked of a pair.
    pub fn question(&self, instance: &str, volumes: &VolumeSpec) -> Question {
        let judge = Judge::of(self);
        Question {
            instance: Some(instance.to_owned()),
            volumes: Some(volumes.clone()),
            start: judge.start,
            latency: self.latency,
            region: Some(self.region.clone()),
            ..Question::new(judge.work, self.date)
        }
    }
}

/// Why nothing can be recommended.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RecommendError {
    /// No prices of instances there.
    #[error(transparent)]
    Price(#[from] UnknownPrice),
    /// No prices of volumes there.
    #[error(transparent)]
    VolumePrice(#[from] UnknownVolumePrice),
    /// A volume type that is not known, or was not there then.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// Of what was found, something could not be predicted.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// No instance is left.
    #[error("no instance type fits: {0}")]
    NoInstance(String),
    /// No volume is left.
    #[error("no volume type fits: {0}")]
    NoVolume(String),
    /// A target that is none.
    #[error("{0}")]
    Impossible(String),
}

/// A pair, as it was found.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    rented: &'a Rented<'a>,
    offer: &'a Offer,
    usd: f64,
    performance: Performance,
}

/// Steps of the front that are told apart: a tenth.
const STEP: f64 = 1.1;
/// Rates that volumes are cut to lie an eighth apart, since whole MiB a second and GiB blur them.
const LEVEL: f64 = 1.125;
/// The most rates that volumes are cut to, beside the target itself; where there would be more they lie further apart.
const MOST_LEVELS: f64 = 24.0;
/// What is faster by less than this is as fast.
const VISIBLE: f64 = 1.005;
/// What costs less by less than this costs as much.
const SAVING: f64 = 0.005;
/// Rounding.
const TINY: f64 = 1e-9;

/// What to rent.
///
/// # Errors
/// [`RecommendError`].
pub fn recommend(catalogue: &Catalogue, wanted: &Wanted) -> Result<Recommendation, RecommendError> {
    check(catalogue, wanted)?;
    let judge = Judge::of(wanted);
    let pool = instances::pool(catalogue, wanted);
    if pool.rented.is_empty() {
        let reason = if pool.fitting == 0 {
            "loosen --family, --vcpus, --memory, --arch, --status, --burstable or --local-disk"
        } else {
            "of those that do, the price or the link is not known; --all names them"
        };
        return Err(RecommendError::NoInstance(reason.to_owned()));
    }
    let everywhere = pool.rented.iter().map(|rented| rented.most_volumes).min().unwrap_or(0);
    let offers = |levels: &[f64]| volumes::offers(catalogue, wanted, &judge, levels, everywhere);
    let mut shop = &offers(&levels(&judge, &pool.rented))?;
    if shop.offers.is_empty() {
        return Err(RecommendError::NoVolume(format!(
            "none holds {} with at most {} of them at {}",
            wanted.capacity, wanted.most_volumes, wanted.date
        )));
    }
    let meets = |pair: &&Pair<'_>| judge.meets(pair.performance);
    let mut pairs = pair_up(&judge, &pool.rented, &shop.offers);
    let to_the_fastest;
    if let (None, Some(best)) = (pairs.iter().find(meets), fastest(&pairs)) {
        // What is provisioned for the target is wasted where something else holds it below.
        to_the_fastest = offers(&[best.performance.rate])?;
        shop = &to_the_fastest;
        pairs = pair_up(&judge, &pool.rented, &shop.offers);
    }
    let considered = Considered {
        instances: pool.known as u64,
        unfit: pool.unfit as u64,
        volumes: shop.tried as u64,
        pairs: pairs.len() as u64,
    };
    let met = pairs.iter().find(meets);
    let Some(chosen) = met.or_else(|| fastest(&pairs)) else {
        return Err(RecommendError::NoVolume("nothing was left to work out".to_owned()));
    };
    let other = |pair: &&Pair<'_>| {
        pair.rented.family != chosen.rented.family
            || pair.offer.spec.volume_type != chosen.offer.spec.volume_type
    };
    let runner_up = met.and_then(|_| pairs.iter().filter(meets).find(other));
    let front = if met.is_some() { front(&pairs, chosen) } else { vec![chosen] };
    let misses = misses(&pairs, chosen, &judge, met.is_some());
    let cheapest_work = met.and_then(|_| cheapest_work(&pairs, chosen, &judge));
    let told = |pair: &Pair<'_>| choice(catalogue, wanted, &judge, pair);
    let told_all = |pairs: Vec<&Pair<'_>>| pairs.into_iter().map(told).collect::<Result<Vec<_>, _>>();
    let assumptions = words::assumptions(wanted, &pool);
    let unknown: Vec<Unknown> = pool.unknown.iter().chain(&shop.unknown).cloned().collect();
    Ok(Recommendation {
        schema: RECOMMENDATION_SCHEMA.to_owned(),
        target: words::target(wanted),
        work: judge.work.in_words(),
        capacity_bytes: wanted.capacity.0 as f64,
        region: wanted.region.clone(),
        date: wanted.date,
        is_met: met.is_some(),
        chosen: told(chosen)?,
        runner_up: runner_up.map(told).transpose()?,
        front: told_all(front)?,
        misses: told_all(misses)?,
        cheapest_work: cheapest_work.map(told).transpose()?,
        considered,
        unknown,
        assumptions,
        sources: vec![
            format!(
                "instances on demand in {} on {AS_OF}, Linux{}",
                wanted.region,
                catalogue.user_file().map(|file| format!(", with your rows in {file}")).unwrap_or_default()
            ),
            format!(
                "volumes on demand in {} on {VOLUME_PRICES_AS_OF}, a month of {HOURS_A_MONTH} h",
                wanted.region
            ),
        ],
    })
}

/// Every instance with all volumes that it takes, the cheapest first.
fn pair_up<'a>(judge: &Judge<'_>, rented: &'a [Rented<'a>], offers: &'a [Offer]) -> Vec<Pair<'a>> {
    let mut pairs = Vec::with_capacity(rented.len() * offers.len());
    for rented in rented {
        for offer in offers.iter().filter(|offer| offer.spec.count <= rented.most_volumes) {
            let performance = judge.pair(offer.limits(rented.is_nitro), offer.spec.count, &rented.link);
            pairs.push(Pair { rented, offer, usd: rented.usd + offer.usd, performance });
        }
    }
    pairs.sort_by(order);
    pairs
}

fn check(catalogue: &Catalogue, wanted: &Wanted) -> Result<(), RecommendError> {
    if wanted.families.iter().chain(&wanted.volume_types).any(String::is_empty) {
        let message = "a family and a volume type have names: leave the option out where any will do";
        return Err(RecommendError::Impossible(message.to_owned()));
    }
    if !catalogue.regions().contains(&wanted.region) {
        let (region, known) = (wanted.region.clone(), catalogue.regions().to_vec());
        return Err(UnknownPrice::Region { region, known }.into());
    }
    let known = volume_price_regions();
    if !known.contains(&wanted.region) {
        return Err(UnknownVolumePrice::Region { region: wanted.region.clone(), known }.into());
    }
    for name in &wanted.volume_types {
        catalogue.volumes().row_at(name, wanted.date)?;
    }
    let is_none = match wanted.goal {
        Goal::Within(span) => span.0.is_zero() || Judge::of(wanted).bytes() <= 0.0,
        Goal::Rate { bytes_per_second, span, .. } => {
            !(bytes_per_second.is_finite() && bytes_per_second > 0.0)
                || span.is_some_and(|span| span.0.is_zero())
        }
    };
    if is_none || wanted.capacity.0 == 0 || wanted.most_volumes == 0 {
        let message = "a target needs an amount or a rate, a size and a volume, none of them zero";
        return Err(RecommendError::Impossible(message.to_owned()));
    }
    Ok(())
}

/// US dollars in billionths: what differs by less costs the same.
fn price_key(usd: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let key = (usd * 1e9).round() as u64;
    key
}

/// The cheapest first; of equals the one with the fewest volumes, then the fastest, then by name.
fn order(one: &Pair<'_>, other: &Pair<'_>) -> std::cmp::Ordering {
    let key = |pair: &Pair<'_>| (price_key(pair.usd), pair.offer.spec.count);
    key(one)
        .cmp(&key(other))
        .then_with(|| other.performance.rate.total_cmp(&one.performance.rate))
        .then_with(|| one.rented.name.cmp(other.rented.name))
        .then_with(|| one.offer.spec.volume_type.cmp(&other.offer.spec.volume_type))
        .then_with(|| one.offer.spec.size.0.cmp(&other.offer.spec.size.0))
}

/// The fastest; of equals the cheapest, which comes first.
fn fastest<'a, 'b>(pairs: &'a [Pair<'b>]) -> Option<&'a Pair<'b>> {
    pairs.iter().reduce(|best, pair| {
        if pair.performance.rate > best.performance.rate * (1.0 + TINY) { pair } else { best }
    })
}

/// Rates that volumes are cut to: the target, and from there to the fastest link by equal steps. Where links lie within a step, that
/// of the cheapest instance stands for it.
fn levels(judge: &Judge<'_>, rented: &[Rented<'_>]) -> Vec<f64> {
    let target = judge.target_rate();
    let rates = rented.iter().map(|rented| judge.link(&rented.link).rate);
    let above: Vec<f64> = rates.filter(|rate| rate.is_finite() && *rate > target * (1.0 + TINY)).collect();
    let top = above.iter().copied().fold(target, f64::max);
    let step = LEVEL.max((top / target).powf(1.0 / MOST_LEVELS));
    let mut levels = vec![target];
    let mut floor = target;
    while floor < top {
        let next = if floor * step * (1.0 + TINY) < top { floor * step } else { top };
        levels.push(above.iter().copied().find(|rate| *rate > floor && *rate <= next).unwrap_or(next));
        floor = next;
    }
    if levels.last().is_some_and(|last| *last < top) {
        levels.push(top);
    }
    levels
}

/// That whose work costs the least, where the chosen one's costs more: what is dearer by the hour may be done sooner.
fn cheapest_work<'a, 'b>(
    pairs: &'a [Pair<'b>],
    chosen: &'a Pair<'b>,
    judge: &Judge<'_>,
) -> Option<&'a Pair<'b>> {
    let cost = |pair: &Pair<'_>| pair.usd * pair.performance.seconds;
    let least = pairs
        .iter()
        .filter(|pair| judge.meets(pair.performance))
        .min_by(|one, other| cost(one).total_cmp(&cost(other)))?;
    (judge.bytes() > 0.0 && cost(least) < cost(chosen) * (1.0 - SAVING)).then_some(least)
}

/// Everything that nothing cheaper is as fast as, from the chosen on, a tenth apart.
fn front<'a, 'b>(pairs: &'a [Pair<'b>], chosen: &'a Pair<'b>) -> Vec<&'a Pair<'b>> {
    let mut front = vec![chosen];
    let mut best = chosen.performance.rate;
    for pair in pairs.iter().filter(|pair| price_key(pair.usd) >= price_key(chosen.usd)) {
        if pair.performance.rate >= best * STEP * (1.0 - TINY) {
            best = pair.performance.rate;
            // Of several at one price only the fastest is worth its line.
            let same = |last: &&Pair<'_>| price_key(last.usd) == price_key(pair.usd);
            if front.len() > 1 && front.last().is_some_and(same) {
                front.pop();
            }
            front.push(pair);
        }
    }
    // The last is the fastest there is, also where less than a step is left.
    front.extend(fastest(pairs).filter(|pair| pair.performance.rate > best * VISIBLE));
    front
}

/// What is cheaper than the chosen and fails: of each kind of ceiling the nearest miss.
fn misses<'a, 'b>(
    pairs: &'a [Pair<'b>],
    chosen: &'a Pair<'b>,
    judge: &Judge<'_>,
    is_met: bool,
) -> Vec<&'a Pair<'b>> {
    if !is_met {
        return Vec::new();
    }
    let mut kinds: BTreeSet<CeilingKind> = BTreeSet::new();
    let mut cheaper: Vec<&Pair<'_>> = pairs
        .iter()
        .filter(|pair| price_key(pair.usd) < price_key(chosen.usd) && !judge.meets(pair.performance))
        .collect();
    // The sort is stable: of equals the cheapest stays first.
    cheaper.sort_by(|one, other| other.performance.rate.total_cmp(&one.performance.rate));
    cheaper.retain(|pair| {
        let kind = match pair.performance.binds {
            CeilingKind::Array => CeilingKind::Volume,
            kind => kind,
        };
        kinds.insert(kind)
    });
    cheaper
}

/// A pair as it is told, as `predict` has it.
fn choice(
    catalogue: &Catalogue,
    wanted: &Wanted,
    judge: &Judge<'_>,
    pair: &Pair<'_>,
) -> Result<Choice, RecommendError> {
    let question = wanted.question(pair.rented.name, &pair.offer.spec);
    let predicted = predict(catalogue, &question)?;
    let is_job = matches!(wanted.goal, Goal::Within(_));
    let seconds = is_job.then_some(pair.performance.seconds);
    let limits = pair.offer.limits(pair.rented.is_nitro);
    let empty = judge.run_from_empty(limits, pair.offer.spec.count, &pair.rented.link);
    let bursts = empty.rate < pair.performance.rate * (1.0 - 1e-3);
    let from_empty = is_job.then_some(empty.seconds).filter(|_| bursts);
    let rate = pair.performance.rate;
    Ok(Choice {
        instance: pair.rented.name.to_owned(),
        volumes: pair.offer.spec.to_string(),
        usd_per_hour: pair.usd,
        instance_usd_per_hour: pair.rented.usd,
        volumes_usd_per_month: pair.offer.usd * HOURS_A_MONTH,
        seconds,
        seconds_from_empty: from_empty,
        bursts,
        job_usd: seconds.map(|seconds| pair.usd * seconds / 3600.0),
        bytes_per_second: rate,
        ios_per_second: wanted.work.io_size.map(|size| rate / size.0.max(1) as f64),
        binds: predicted.binds,
        binding: predicted.binding,
        predict: words::predict_command(wanted, pair.rented.name, &pair.offer.spec),
    })
}
