//! Volumes that may be rented: of each type and count the smallest and least provisioned that reaches a rate.

use std::collections::BTreeSet;

use iostone_model::cloud::VolumeSpec;
use iostone_model::recommendation::Unknown;
use iostone_model::units::{ByteRate, Bytes};

use super::judge::Judge;
use super::{RecommendError, TINY, Wanted};
use crate::catalogue::Catalogue;
use crate::volume::{
    HOURS_A_MONTH, IopsLaw, Quantity, ThroughputLaw, VolumeError, VolumeLimits, VolumeRow, volume_price,
};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Sizes of a type that says none: EBS's largest.
const LARGEST_GIB: u64 = 65_536;

/// Volumes with what counts here.
#[derive(Debug, Clone)]
pub(super) struct Offer {
    pub(super) spec: VolumeSpec,
    /// US dollars an hour, all of them together.
    pub(super) usd: f64,
    limits: VolumeLimits,
    /// Where they do less on instances that are not built on Nitro.
    elsewhere: Option<VolumeLimits>,
}

impl Offer {
    pub(super) fn limits(&self, is_nitro: bool) -> &VolumeLimits {
        match &self.elsewhere {
            Some(limits) if !is_nitro => limits,
            _ => &self.limits,
        }
    }
}

/// What is left to look at, and what was left out.
pub(super) struct Shop {
    pub(super) offers: Vec<Offer>,
    pub(super) tried: usize,
    pub(super) unknown: Vec<Unknown>,
}

/// Volumes cut to each of the rates, and as small as they can be. Every instance takes `everywhere` of them at least.
pub(super) fn offers(
    catalogue: &Catalogue,
    wanted: &Wanted,
    judge: &Judge<'_>,
    levels: &[f64],
    everywhere: u32,
) -> Result<Shop, RecommendError> {
    let types = catalogue.volumes();
    let names: Vec<&str> = if wanted.volume_types.is_empty() {
        // Volumes of other providers cannot be joined to an instance of EC2.
        types.names().filter(|name| !name.contains('/')).collect()
    } else {
        wanted.volume_types.iter().map(String::as_str).collect()
    };
    let (mut all, mut unknown) = (Vec::new(), Vec::new());
    for name in names {
        let row = match types.row_at(name, wanted.date) {
            Ok((row, _)) => row,
            Err(VolumeError::NotThen { .. }) if wanted.volume_types.is_empty() => continue,
            Err(error) => return Err(error.into()),
        };
        match of_type(row, wanted, judge, levels) {
            Ok(offers) => all.extend(offers),
            Err(reason) => unknown.push(Unknown { name: row.name.clone(), reason }),
        }
    }
    if let (true, [first, ..]) = (all.is_empty(), unknown.as_slice()) {
        return Err(RecommendError::NoVolume(format!("of `{}`, {}", first.name, first.reason)));
    }
    let tried = all.len();
    Ok(Shop { offers: undominated(all, everywhere), tried, unknown })
}

/// The offers of a type, or what is not known of it.
fn of_type(
    row: &VolumeRow,
    wanted: &Wanted,
    judge: &Judge<'_>,
    levels: &[f64],
) -> Result<Vec<Offer>, String> {
    let mut offers = Vec::new();
    for count in 1..=wanted.most_volumes {
        let Some(cutter) = Cutter::of(row, wanted, judge, count) else { continue };
        let mut specs: Vec<VolumeSpec> = vec![cutter.plain()];
        for level in levels {
            let (spec, reached) = cutter.cut(*level);
            if specs.last() != Some(&spec) {
                specs.push(spec);
            }
            if !reached {
                break;
            }
        }
        for spec in specs {
            // A size and what is provisioned that the type cannot have is none to offer.
            let Ok(limits) = row.apply(&spec) else { continue };
            let price = volume_price(&spec, &wanted.region)
                .map_err(|_| format!("no price in {} is known", wanted.region))?;
            if let Some(by_use) = price.by_use {
                return Err(format!("the price depends on use: {by_use}"));
            }
            let usd = price.usd / HOURS_A_MONTH;
            let elsewhere = limits.off_nitro.is_some().then(|| limits.clone().on_instance(false));
            offers.push(Offer { spec, usd, limits, elsewhere });
        }
    }
    Ok(offers)
}

/// Cuts volumes of a type and count to a rate.
struct Cutter<'a> {
    row: &'a VolumeRow,
    judge: &'a Judge<'a>,
    count: u32,
    provider: String,
    volume_type: String,
    /// GiB of each, at least and at most.
    least_gib: u64,
    most_gib: u64,
}

impl<'a> Cutter<'a> {
    /// None where the capacity does not fit into as many volumes.
    fn of(row: &'a VolumeRow, wanted: &Wanted, judge: &'a Judge<'a>, count: u32) -> Option<Self> {
        let [smallest, largest] = row.size.unwrap_or([Bytes(GIB), Bytes(LARGEST_GIB * GIB)]);
        let least_gib = wanted.capacity.0.div_ceil(u64::from(count)).max(smallest.0).div_ceil(GIB);
        let most_gib = largest.0 / GIB;
        let (provider, volume_type) = row.name.split_once('/').unwrap_or(("aws", &row.name));
        (least_gib <= most_gib).then(|| Self {
            row,
            judge,
            count,
            provider: provider.to_owned(),
            volume_type: volume_type.to_owned(),
            least_gib,
            most_gib,
        })
    }

    fn spec(&self, gib: u64, iops: Option<u32>, mib_per_second: Option<u64>) -> VolumeSpec {
        VolumeSpec {
            count: self.count,
            provider: self.provider.clone(),
            volume_type: self.volume_type.clone(),
            size: Bytes(gib * GIB),
            iops,
            throughput: mib_per_second.map(|mib| ByteRate(mib * MIB)),
        }
    }

    fn rate(&self, spec: &VolumeSpec) -> f64 {
        self.row.apply(spec).map_or(0.0, |limits| self.judge.volumes(&limits, self.count).rate)
    }

    /// The smallest, with nothing provisioned that need not be.
    fn plain(&self) -> VolumeSpec {
        let iops = match self.row.iops {
            Some(IopsLaw::Provisioned { included: None, min, .. }) => Some(min),
            _ => None,
        };
        let throughput = match self.row.throughput {
            Some(ThroughputLaw::Provisioned { included: None, min, .. }) => Some(whole_mib(min.0.ceil())),
            _ => None,
        };
        self.spec(self.least_gib, iops, throughput)
    }

    /// The least that reaches a rate, and whether it does; the least that does the most where the type does not.
    fn cut(&self, rate: f64) -> (VolumeSpec, bool) {
        if let Some(IopsLaw::Provisioned { included, min, max, per_gib }) = self.row.iops {
            let low = included.map_or(min, |included| included.max(min));
            return self.cut_provisioned(rate, &Provisions { included, low, min, max, per_gib });
        }
        let spec = |gib: u64| self.spec(gib, None, None);
        let (gib, reached) = self.least(self.least_gib, self.most_gib, rate, spec);
        (spec(gib), reached)
    }

    fn cut_provisioned(&self, rate: f64, iops_law: &Provisions) -> (VolumeSpec, bool) {
        let Provisions { included, low, min, max, per_gib } = *iops_law;
        let by_size = per_gib.map_or(f64::from(max), |per_gib| (per_gib * self.most_gib as f64).floor());
        let high = whole(by_size.min(f64::from(max)).max(f64::from(low)));
        // With as much throughput as the I/Os allow, so that only they count.
        let of_iops = |iops: u64| {
            let by_ratio = per_gib
                .filter(|_| iops > u64::from(min))
                .map_or(0, |per_gib| whole((iops as f64 / per_gib).ceil()));
            let gib = self.least_gib.max(by_ratio).min(self.most_gib);
            let iops = u32::try_from(iops).unwrap_or(u32::MAX);
            (gib, iops, self.most_throughput(iops))
        };
        let spec_of_iops = |iops: u64| {
            let (gib, iops, most) = of_iops(iops);
            self.spec(gib, Some(iops), most)
        };
        let (iops, reached) = self.least(u64::from(low), high, rate, spec_of_iops);
        let (gib, iops, most) = of_iops(iops);
        let said = Some(iops).filter(|iops| included != Some(*iops));
        let Some(most) = most else { return (self.spec(gib, said, None), reached) };
        let rate = if reached { rate } else { self.rate(&self.spec(gib, Some(iops), Some(most))) };
        let (least, included) = self.throughput_bounds();
        let spec_of_rate = |mib: u64| self.spec(gib, Some(iops), Some(mib));
        let (mib, _) = self.least(least.min(most), most, rate, spec_of_rate);
        (self.spec(gib, said, Some(mib).filter(|mib| included != Some(*mib))), reached)
    }

    /// MiB a second that can be provisioned at most beside so many I/Os; none of a type that has no such thing.
    fn most_throughput(&self, iops: u32) -> Option<u64> {
        let Some(ThroughputLaw::Provisioned { included, min, max, per_iops }) = &self.row.throughput else {
            return None;
        };
        let floor = included.map_or(min.0, |included| included.0);
        Some(whole_mib((f64::from(iops) * per_iops.0).min(max.0).max(floor)))
    }

    /// MiB a second that are the least to pay for, and those that are included.
    fn throughput_bounds(&self) -> (u64, Option<u64>) {
        match &self.row.throughput {
            Some(ThroughputLaw::Provisioned { included, min, .. }) => {
                let included = included.map(|included| whole_mib(included.0));
                let least = whole(min.0 / MIB as f64 - TINY).max(1);
                (included.map_or(least, |included| included.max(least)), included)
            }
            _ => (0, None),
        }
    }

    /// The least of `low..=high` that reaches a rate, and whether it does; the least that does as much as `high` where none does. More is
    /// never slower.
    fn least(&self, low: u64, high: u64, rate: f64, spec: impl Fn(u64) -> VolumeSpec) -> (u64, bool) {
        let at = |value: u64| self.rate(&spec(value));
        let is_enough = |own: f64, rate: f64| own >= rate * (1.0 - TINY / 2.0);
        let lowest = at(low);
        if is_enough(lowest, rate) {
            return (low, true);
        }
        let highest = at(high);
        let reached = is_enough(highest, rate);
        let rate = if reached { rate } else { highest };
        if is_enough(lowest, rate) {
            return (low, reached);
        }
        let (mut below, mut enough) = (low, high);
        // Most laws are proportional: what is missing tells where to look, and one less shows that it is the least.
        let guess = whole((low as f64 * rate / lowest - TINY).ceil()).clamp(low + 1, high);
        for probe in [guess, guess.saturating_sub(1)] {
            if probe > below && probe < enough {
                if is_enough(at(probe), rate) {
                    enough = probe;
                } else {
                    below = probe;
                }
            }
        }
        while enough - below > 1 {
            let middle = below.midpoint(enough);
            if is_enough(at(middle), rate) {
                enough = middle;
            } else {
                below = middle;
            }
        }
        (enough, reached)
    }
}

/// How I/Os a second are provisioned: those that are included, the least worth asking for and the least there can be, the most, and the
/// most for each GiB.
struct Provisions {
    included: Option<u32>,
    low: u32,
    min: u32,
    max: u32,
    per_gib: Option<f64>,
}

fn whole(value: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casting saturates")]
    let whole = value as u64;
    whole
}

fn whole_mib(bytes_per_second: f64) -> u64 {
    whole(bytes_per_second / MIB as f64 + TINY)
}

/// Leaves out what others do no less than for no more, and with no more volumes where the price is the same. Two types are kept of
/// each kind, so that there is a runner-up.
fn undominated(mut all: Vec<Offer>, everywhere: u32) -> Vec<Offer> {
    let price = |offer: &Offer| super::price_key(offer.usd);
    all.sort_by(|one, other| {
        (price(one), one.spec.count)
            .cmp(&(price(other), other.spec.count))
            .then_with(|| one.spec.volume_type.cmp(&other.spec.volume_type))
            .then_with(|| one.spec.size.0.cmp(&other.spec.size.0))
    });
    let mut kept: Vec<(Offer, [f64; FIGURES])> = Vec::new();
    for offer in all {
        let own = figures(&offer);
        let mut types: BTreeSet<&str> = BTreeSet::new();
        for (cheaper, figures) in &kept {
            let is_comparable = counts_alike(&cheaper.limits, &offer.limits)
                && (cheaper.spec.count <= offer.spec.count
                    || price(cheaper) < price(&offer) && cheaper.spec.count <= everywhere);
            if is_comparable && figures.iter().zip(&own).all(|(cheaper, own)| *cheaper >= own * (1.0 - TINY))
            {
                types.insert(&cheaper.spec.volume_type);
            }
        }
        if types.len() < 2 && !types.contains(offer.spec.volume_type.as_str()) {
            kept.push((offer, own));
        }
    }
    kept.into_iter().map(|(offer, _)| offer).collect()
}

/// Whether an I/O costs the same on both.
fn counts_alike(one: &VolumeLimits, other: &VolumeLimits) -> bool {
    one.io_size == other.io_size
        && one.merge == other.merge
        && one.whole_ios == other.whole_ios
        && one.latency == other.latency
}

const FIGURES: usize = 24;

/// Rates and buckets of all volumes together, on Nitro and elsewhere; what has no limit is infinite.
fn figures(offer: &Offer) -> [f64; FIGURES] {
    let count = f64::from(offer.spec.count);
    let mut figures = [0.0; FIGURES];
    let of = |limits: &VolumeLimits| {
        let writes = |own: Option<Quantity>, both: Option<Quantity>| own.or(both);
        [
            limits.iops,
            writes(limits.write_iops, limits.iops),
            limits.throughput,
            writes(limits.write_throughput, limits.throughput),
        ]
    };
    let quantities = of(offer.limits(true)).into_iter().chain(of(offer.limits(false)));
    for (slots, quantity) in figures.chunks_exact_mut(3).zip(quantities) {
        let own = match quantity {
            Some(quantity) => {
                [quantity.base, quantity.peak(), quantity.burst.map_or(0.0, |burst| burst.capacity)]
            }
            None => [f64::INFINITY; 3],
        };
        for (slot, own) in slots.iter_mut().zip(own) {
            *slot = own * count;
        }
    }
    figures
}
