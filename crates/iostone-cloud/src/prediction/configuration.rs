//! What a settled configuration of an experiment asks of its stack, and how long that takes.

#[cfg(test)]
mod tests;

use iostone_model::cloud::CatalogueDate;
use iostone_model::experiment::Basis;
use iostone_model::experiment::{
    Configuration, Demand, EmulatedBy, EmulatedVolume, Filesystem, Link, LoopVolume, MachineSpec, Stack,
    Volume, Workload,
};
use iostone_model::prediction::{Prediction, RentalPrice};
use iostone_model::units::{ByteRate, Fraction, Span};

use super::{CacheUse, Pattern, PredictError, Route, RouteCpu, Work};
use crate::catalogue::Catalogue;
use crate::ceiling::{FilesystemKind, Joined};
use crate::explain::USUAL_DIRTY_SHARE;
use crate::volume::{Quantity, QuantityBurst, VolumeLimits};

/// Why it cannot be told what a workload demands: one sentence without its point.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("what {workload} demands of its volume cannot be told beforehand: {reason}")]
pub struct UnknownDemand {
    /// The kind of workload.
    pub workload: String,
    /// Why.
    pub reason: String,
}

/// How long a settled configuration takes, from the figures that its plan keeps: those of the emulated volume and link as they are,
/// of a real machine the catalogue's of the instance that it stands for.
///
/// # Errors
/// [`PredictError`]: the demand cannot be told, or nothing known limits it.
pub fn predict_configuration(
    catalogue: &Catalogue,
    configuration: &Configuration,
) -> Result<Prediction, PredictError> {
    let work = work_of(&configuration.workload)?;
    let route = Route::of_configuration(catalogue, configuration);
    let prediction = route.predict(&work)?;
    // A load that has both an amount and a time ends with whichever is over first.
    match configuration.workload.profile().demand {
        Ok(Demand { time: Some(time), written, .. }) if prediction.seconds > time.0.as_secs_f64() => {
            route.predict(&Work { amount: Work::timed(time, written).amount, ..work })
        }
        _ => Ok(prediction),
    }
}

/// What a workload asks of its volume.
///
/// # Errors
/// [`UnknownDemand`] of workloads whose I/O is not told by their settings.
pub fn work_of(workload: &Workload) -> Result<Work, UnknownDemand> {
    let demand = workload.profile().demand.map_err(|reason| UnknownDemand {
        workload: workload.kind().to_owned(),
        reason: reason.to_owned(),
    })?;
    let work = match (demand.amount, demand.time) {
        (None, Some(time)) => Work::timed(time, demand.written),
        (amount, _) => {
            let [read, write] = amount.unwrap_or_default();
            Work::sequential(read, write)
        }
    };
    Ok(Work {
        io_size: demand.io_size,
        pattern: if demand.random { Pattern::Random } else { Pattern::Sequential },
        depth: demand.depth,
        source: demand.rate,
        cache: if demand.leaves_dirty {
            CacheUse::Buffered { dirty_ratio: Fraction(USUAL_DIRTY_SHARE) }
        } else {
            CacheUse::None
        },
        ..work
    })
}

impl Route {
    /// What the workload of a settled configuration passes through.
    pub fn of_configuration(catalogue: &Catalogue, configuration: &Configuration) -> Self {
        let Configuration { stack, machine, .. } = configuration;
        let mut route = Self::unknown(date_of(stack, machine));
        route.instance = machine.instance().map(str::to_owned);
        let known = machine.instance().and_then(|name| catalogue.instance(name).ok());
        let is_emulated = machine.emulated().is_some() || machine.governed().is_some();
        route.emulated = machine
            .emulated()
            .map(|emulated| emulated.speed)
            .filter(|speed| (speed - 1.0).abs() > f64::EPSILON);
        // What is emulated costs nothing, whatever it stands for.
        route.price = configuration.price.as_ref().filter(|_| !is_emulated).map(|price| RentalPrice {
            usd_per_hour: price.usd_per_hour,
            region: None,
            source: price.source.clone(),
            leaves_out: Vec::new(),
        });
        if let Some(link) = stack.link {
            route.link = Some(link);
            route.link_basis = Basis::Assumed;
            "as the plan has it".clone_into(&mut route.link_source);
            if let Some(instance) = known.filter(|_| machine.emulated().is_some_and(|own| own.link.is_none()))
            {
                route.link_source = format!("the plan has it of {}", instance.source);
                route.link_basis = if instance.said.is_some() { Basis::Assumed } else { Basis::Published };
            }
            route.is_network = machine.emulated().is_some_and(|emulated| emulated.link.is_none())
                && known.is_some_and(|instance| instance.ebs.is_none());
        } else if let (Some(instance), false) = (known, is_emulated) {
            route.pass_link(instance);
        }
        // What an emulation keeps in memory is this host's, which is not that of the instance.
        route.memory = stack.limit.memory.or(known.filter(|_| !is_emulated).and_then(|known| known.memory));
        if let Some(governor) = &stack.governor {
            route.cpu = Some(RouteCpu::Governed(governor.clone(), None));
        }
        if let Some(quota) = stack.limit.cpu.quota() {
            route.limit_processors(quota.share(), "the experiment's `limit.cpu`");
        }
        route.filesystem = match &stack.filesystem {
            Filesystem::None | Filesystem::Btrfs(_) => None,
            Filesystem::Ext4(_) | Filesystem::Xfs(_) if !stack.filesystem.mkfs().is_empty() => None,
            filesystem => filesystem.name().and_then(FilesystemKind::of),
        };
        route.take_volume(catalogue, stack);
        route.leave_out_of_price();
        // What goes through the same files again and again fills no disk.
        if configuration.workload.profile().demand.is_ok_and(|demand| demand.goes_around) {
            route.size = None;
        }
        route
    }

    fn take_volume(&mut self, catalogue: &Catalogue, stack: &Stack) {
        self.joined = Joined::of(&stack.array, u32::try_from(stack.volume.members()).unwrap_or(1).max(1));
        self.size = stack.volume.size();
        match &stack.volume {
            Volume::Emulated(volume) => {
                self.latency = volume
                    .latency
                    .map(|latency| (latency, volume.write_latency))
                    .or(volume.write_latency.map(|latency| (Span::default(), Some(latency))));
                self.volume_start = volume.burst.and_then(|burst| burst.start);
                let mut limits = limits_of_emulated(volume, stack.link);
                let law = volume
                    .stands_for
                    .as_ref()
                    .and_then(|spec| catalogue.volumes().limits(spec, self.date).ok());
                // Whoever gives an emulated volume other rates than its law has is the source of these.
                let has_rates = |law: &VolumeLimits| {
                    let near = |one: Option<Quantity>, other: Option<Quantity>| match (one, other) {
                        (Some(one), Some(other)) => (one.base - other.base).abs() <= 1.0,
                        (one, other) => one.is_none() && other.is_none(),
                    };
                    near(law.iops, limits.iops) && near(law.throughput, limits.throughput)
                };
                if let Some(law) = law.filter(has_rates) {
                    (limits.row, limits.basis) = (law.row, law.basis);
                    limits.source = format!("the plan has it of {}", law.source);
                }
                self.limits = Some(limits);
                if let Some(spec) = &volume.stands_for {
                    self.volumes = Some(spec.to_string());
                    self.volume_name =
                        iostone_model::cloud::VolumeSpec { count: 1, ..spec.clone() }.to_string();
                } else if volume.count > 1 {
                    "volumes".clone_into(&mut self.volume_name);
                }
            }
            Volume::Loop(volume) => {
                let (limits, is_of_instance) = limits_of_loop(volume);
                self.limits = limits;
                if is_of_instance {
                    "the instance".clone_into(&mut self.volume_name);
                }
            }
            Volume::Block(_) | Volume::Directory(_) => {}
        }
    }
}

/// The date of the limits: the volume's, else the machine's, else today.
fn date_of(stack: &Stack, machine: &MachineSpec) -> CatalogueDate {
    let of_volume = match &stack.volume {
        Volume::Emulated(volume) => volume.date,
        Volume::Loop(_) | Volume::Block(_) | Volume::Directory(_) => None,
    };
    of_volume
        .or_else(|| machine.emulated().and_then(|emulated| emulated.date))
        .unwrap_or_else(|| CatalogueDate::of_day(jiff::Zoned::now().date()))
}

/// The limits of an emulated volume as its plan has them. The server counts reads and writes together; control groups count
/// them apart.
fn limits_of_emulated(volume: &EmulatedVolume, link: Option<Link>) -> VolumeLimits {
    let burst = volume.burst;
    let of_ios = burst.and_then(|burst| Some((f64::from(burst.iops?), burst.credits? as f64)));
    let of_bytes = burst.and_then(|burst| Some((burst.throughput?.0 as f64, burst.credit_bytes?.0 as f64)));
    let quantity = |base: f64, burst: Option<(f64, f64)>| Quantity {
        base,
        burst: burst.map(|(rate, capacity)| QuantityBurst { rate, capacity }),
    };
    let iops = volume.iops.map(|iops| quantity(f64::from(iops), of_ios));
    let throughput = volume.throughput.map(|rate| quantity(rate.0 as f64, of_bytes));
    let apart = volume.effective_by(link) == EmulatedBy::Cgroup;
    VolumeLimits {
        iops,
        write_iops: iops.filter(|_| apart),
        throughput,
        write_throughput: throughput.filter(|_| apart),
        io_size: volume.io_size,
        merge: volume.merge,
        whole_ios: volume.merge && burst.is_some_and(|burst| burst.credit_bytes.is_some()),
        latency: volume.latency,
        ..plain_limits("emulated volume")
    }
}

/// The limits of a loop device and of the one below it that stands for the instance, which control groups keep for each
/// direction; and whether any of them is the instance's.
fn limits_of_loop(volume: &LoopVolume) -> (Option<VolumeLimits>, bool) {
    let (own, instance) = (volume.limits(), volume.instance.unwrap_or_default());
    let number = |count: Option<u32>| count.map(f64::from);
    let rate = |rate: Option<ByteRate>| rate.map(|rate| rate.0 as f64);
    let mut is_of_instance = false;
    // Both devices have a limit for each direction; the lower one is what a request meets.
    let mut lower = |[own, instance]: [Option<f64>; 2]| {
        is_of_instance |= instance.is_some_and(|instance| own.is_none_or(|own| instance < own));
        let base = own.into_iter().chain(instance).reduce(f64::min);
        base.map(|base| Quantity { base, burst: None })
    };
    let limits = VolumeLimits {
        iops: lower([own, instance].map(|one| number(one.read_iops.or(one.iops)))),
        write_iops: lower([own, instance].map(|one| number(one.write_iops.or(one.iops)))),
        throughput: lower([own, instance].map(|one| rate(one.read_throughput.or(one.throughput)))),
        write_throughput: lower([own, instance].map(|one| rate(one.write_throughput.or(one.throughput)))),
        ..plain_limits("loop device")
    };
    (volume.is_throttled().then_some(limits), is_of_instance)
}

/// Limits of the experiment file, none yet.
fn plain_limits(row: &str) -> VolumeLimits {
    VolumeLimits {
        row: row.to_owned(),
        iops: None,
        write_iops: None,
        throughput: None,
        write_throughput: None,
        io_size: None,
        merge: false,
        whole_ios: false,
        latency: None,
        off_nitro: None,
        delivered: None,
        basis: Basis::Assumed,
        source: "as the plan has it".to_owned(),
        notes: Vec::new(),
    }
}
