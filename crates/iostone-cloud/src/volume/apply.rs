//! A row applied to a volume: its law with the size and with what was provisioned put in.

use iostone_model::cloud::VolumeSpec;
use iostone_model::units::{Bytes, BytesPerSecond};

use super::row::{IopsLaw, ThroughputLaw, Tier, VolumeRow};
use super::words::{grouped, rate, sizes};
use super::{Quantity, QuantityBurst, VolumeError, VolumeLimits};

const GIB: f64 = (1u64 << 30) as f64;
const TIB: f64 = (1u64 << 40) as f64;

impl VolumeRow {
    /// What one of these volumes may do by this row, whatever the date.
    ///
    /// # Errors
    /// [`VolumeError::Impossible`]: a size or something provisioned that the type cannot have.
    pub fn apply(&self, spec: &VolumeSpec) -> Result<VolumeLimits, VolumeError> {
        let size = spec.size;
        if let Some([least, most]) = self.size
            && !(least..=most).contains(&size)
        {
            return Err(impossible(spec, format!("its size can be {}", sizes([least, most]))));
        }
        let mut limits = VolumeLimits::of_row(self);
        if self.tiers.is_empty() {
            self.apply_laws(spec, &mut limits)?;
        } else {
            self.apply_tier(spec, &mut limits)?;
        }
        if self.whole_gib && !size.0.is_multiple_of(1 << 30) {
            let gib = size.0 as f64 / GIB;
            limits.notes.push(format!(
                "a real one has a whole number of GiB: this one has {gib:.2}, {}GiB can be had",
                gib.ceil()
            ));
        }
        limits.notes.extend(self.note.clone());
        Ok(limits)
    }

    fn apply_laws(&self, spec: &VolumeSpec, limits: &mut VolumeLimits) -> Result<(), VolumeError> {
        let has_provisioned = |law: Option<IopsLaw>| matches!(law, Some(IopsLaw::Provisioned { .. }));
        if spec.iops.is_some() && !has_provisioned(self.iops) {
            let reason = "no IOPS can be provisioned of this type: leave them out, its size decides";
            return Err(impossible(spec, reason.to_owned()));
        }
        if spec.throughput.is_some() && !matches!(self.throughput, Some(ThroughputLaw::Provisioned { .. })) {
            let what = if has_provisioned(self.iops) { "its IOPS decide" } else { "its size decides" };
            let reason = format!("no throughput can be provisioned of this type: leave it out, {what}");
            return Err(impossible(spec, reason));
        }
        // Where all volumes of a machine have the limits together, each has its part of those of their total size.
        let members = if self.together { f64::from(spec.count.max(1)) } else { 1.0 };
        let bytes = spec.size.0 as f64 * members;
        let part = |quantity: Quantity| quantity.scaled(1.0 / members);
        let evaluate = |law: Option<IopsLaw>| law.map(|law| law.apply(spec, bytes)).transpose();
        let iops = evaluate(self.iops)?;
        limits.iops = iops.map(part);
        limits.write_iops = evaluate(self.write_iops)?.map(part);
        let rates = |law: &Option<ThroughputLaw>| -> Result<_, VolumeError> {
            law.as_ref().map(|law| law.apply(spec, bytes, iops)).transpose()
        };
        limits.throughput = rates(&self.throughput)?.map(part);
        limits.write_throughput = rates(&self.write_throughput)?.map(part);
        if self.together && spec.count > 1 {
            let note = "all of them on one machine have these limits together; each is given its part";
            limits.notes.push(note.to_owned());
        }
        Ok(())
    }

    fn apply_tier(&self, spec: &VolumeSpec, limits: &mut VolumeLimits) -> Result<(), VolumeError> {
        if spec.iops.is_some() || spec.throughput.is_some() {
            let reason = "nothing can be provisioned of this type: leave it out, its size decides";
            return Err(impossible(spec, reason.to_owned()));
        }
        let holding = self.tiers.iter().position(|tier| spec.size <= tier.size);
        let named = self.tiers.iter().position(|tier| tier.is_named(&spec.volume_type));
        let tier = match (holding, named) {
            (Some(holding), None) => &self.tiers[holding],
            (Some(holding), Some(named)) if holding == named => &self.tiers[holding],
            (Some(holding), Some(named)) => {
                let name = |index: usize| self.tiers[index].name.clone().unwrap_or_default();
                let least = named.checked_sub(1).map(|below| self.tiers[below].size);
                let above = least.map(|size| format!("more than {size}, and ")).unwrap_or_default();
                return Err(impossible(
                    spec,
                    format!(
                        "{} is for {above}at most {}; {} is a {}",
                        name(named),
                        self.tiers[named].size,
                        spec.size,
                        name(holding)
                    ),
                ));
            }
            (None, _) => {
                let most = self.tiers.last().map_or(Bytes(0), |tier| tier.size);
                return Err(impossible(spec, format!("its size can be {most} at most")));
            }
        };
        tier.apply(self.burst_time.map(|span| span.0.as_secs_f64()), limits);
        if let Some(name) = &tier.name {
            limits.row = format!("{name}, {}", limits.row);
        }
        if tier.size != spec.size {
            limits.notes.push(format!(
                "{} has the limits, and the price, of {}, the next size that there is",
                spec.size, tier.size
            ));
        }
        Ok(())
    }
}

impl Tier {
    /// Whether a volume was asked for by the tier's name.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(name))
    }

    fn apply(&self, burst_seconds: Option<f64>, limits: &mut VolumeLimits) {
        // At its burst rate a full bucket lasts for the time, while it fills at the base.
        let quantity = |base: Option<f64>, burst: Option<f64>| {
            let base = base?;
            let burst = burst.zip(burst_seconds).filter(|(rate, _)| *rate > base);
            let burst =
                burst.map(|(rate, seconds)| QuantityBurst { rate, capacity: (rate - base) * seconds });
            Some(Quantity { base, burst })
        };
        let plain = |rate: Option<BytesPerSecond>| rate.map(|rate| rate.0);
        limits.iops = quantity(self.iops, self.burst_iops);
        limits.write_iops = quantity(self.write_iops, None);
        limits.throughput = quantity(plain(self.throughput), plain(self.burst_throughput));
        limits.write_throughput = quantity(plain(self.write_throughput), None);
    }
}

impl IopsLaw {
    fn apply(self, spec: &VolumeSpec, bytes: f64) -> Result<Quantity, VolumeError> {
        let gib = bytes / GIB;
        match self {
            Self::Constant { iops } => Ok(Quantity::of(iops)),
            Self::Size { per_gib, base, floor, cap, burst, credits } => {
                let base = (base + per_gib * gib).max(floor).min(cap.unwrap_or(f64::INFINITY));
                let burst = burst.zip(credits).filter(|(rate, _)| *rate > base);
                let burst = burst.map(|(rate, capacity)| QuantityBurst { rate, capacity });
                Ok(Quantity { base, burst })
            }
            Self::Provisioned { included, min, max, per_gib } => {
                let by_size = per_gib.map_or(f64::from(max), |per_gib| (per_gib * gib).floor());
                let most = by_size.min(f64::from(max)).max(f64::from(min));
                let range = || {
                    let ratio =
                        per_gib.map(|per_gib| format!(", not more than {} per GiB", grouped(per_gib)));
                    let type_of = type_and_size(spec);
                    let (min, most) = (grouped(f64::from(min)), grouped(most));
                    let range = if min == most { min } else { format!("{min} to {most}") };
                    format!("{type_of} can have {range} IOPS{}", ratio.unwrap_or_default())
                };
                let Some(iops) = spec.iops.or(included) else {
                    let example = format!("{}:{most}iops", type_and_size(spec));
                    return Err(impossible(
                        spec,
                        format!("its IOPS are missing, as in {example}; {}", range()),
                    ));
                };
                if iops < min || f64::from(iops) > most {
                    return Err(impossible(spec, range()));
                }
                Ok(Quantity::of(f64::from(iops)))
            }
        }
    }
}

impl ThroughputLaw {
    fn apply(&self, spec: &VolumeSpec, bytes: f64, iops: Option<Quantity>) -> Result<Quantity, VolumeError> {
        // A law by I/Os goes by those of the long run.
        let iops = iops.map(|quantity| quantity.base);
        match self {
            Self::Constant { rate } => Ok(Quantity::of(rate.0)),
            Self::Steps { steps } => {
                let step = steps.iter().find(|step| step.up_to.is_none_or(|most| spec.size <= most));
                let Some(step) = step.or(steps.last()) else {
                    return Err(impossible(spec, "its law has no step".to_owned()));
                };
                Ok(Quantity::of(step.rate.0))
            }
            Self::Size { per_tib, base, cap, burst } => {
                let tib = bytes / TIB;
                let base = (base.0 + per_tib.0 * tib).min(cap.map_or(f64::INFINITY, |cap| cap.0));
                let burst = burst.and_then(|burst| {
                    let rate = (burst.per_tib.0 * tib).min(burst.cap.0);
                    let capacity = burst.credit_per_tib.0 as f64 * tib;
                    (rate > base).then_some(QuantityBurst { rate, capacity })
                });
                Ok(Quantity { base, burst })
            }
            Self::PerIo { per_io, cap, above } => {
                let Some(iops) = iops else { return Ok(Quantity::of(cap.0)) };
                let plain = (iops * per_io.0 as f64).min(cap.0);
                let many = above
                    .filter(|above| iops > f64::from(above.iops))
                    .map(|above| (iops * above.per_io.0 as f64).min(above.cap.0));
                Ok(Quantity::of(many.map_or(plain, |many| many.max(plain))))
            }
            Self::Provisioned { included, min, max, per_iops } => {
                let by_iops = iops.map_or(max.0, |iops| iops * per_iops.0);
                let most = by_iops.min(max.0).max(included.map_or(min.0, |included| included.0));
                let range = || {
                    let per_iops = || {
                        let each = rate(per_iops.0);
                        format!(", {each} for each of its {} IOPS", grouped(iops.unwrap_or_default()))
                    };
                    let ratio = (by_iops < max.0).then(per_iops).unwrap_or_default();
                    format!("its throughput can be {} to {}{ratio}", rate(min.0), rate(most))
                };
                let asked = spec.throughput.map(|rate| rate.0 as f64).or(included.map(|rate| rate.0));
                let Some(asked) = asked else {
                    return Err(impossible(spec, format!("its throughput is missing; {}", range())));
                };
                if asked < min.0 || asked > most {
                    return Err(impossible(spec, range()));
                }
                Ok(Quantity::of(asked))
            }
        }
    }
}

/// One such volume with nothing provisioned: `azure/ultra:100GiB`.
fn type_and_size(spec: &VolumeSpec) -> String {
    VolumeSpec { count: 1, iops: None, throughput: None, ..spec.clone() }.to_string()
}

fn impossible(spec: &VolumeSpec, reason: String) -> VolumeError {
    VolumeError::Impossible { volume: spec.to_string(), reason }
}
