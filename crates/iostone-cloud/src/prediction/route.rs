//! What lies between work and its medium: volumes, link, processors and memory, each with its name and source.

use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::{AllowanceStart, Array, Basis, Governor, Law, Link};
use iostone_model::figures::counted;
use iostone_model::prediction::{DATE_UNKNOWN, LINK_UNKNOWN, RentalPrice};
use iostone_model::units::{ByteRate, Bytes, Fraction, Span};
use iostone_model::verdict::Flag;

use super::{PredictError, Question, Work};
use crate::allowance::allowance;
use crate::catalogue::{CATALOGUE_AS_OF, Catalogue, Instance};
use crate::ceiling::{Cpu, FilesystemKind, Joined, Parts, Path, path};
use crate::prices::{DEFAULT_REGION, UnknownPrice};
use crate::volume::VolumeLimits;

/// What work passes through. What is absent is not known, and holds nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Route {
    /// The instance type.
    pub instance: Option<String>,
    /// The volumes in their words: `4xgp3:500GiB`.
    pub volumes: Option<String>,
    /// One of them as it is named in a sentence: `gp3:500GiB`, `the volume`.
    pub volume_name: String,
    /// The date whose limits hold.
    pub date: CatalogueDate,
    /// What one volume may do.
    pub limits: Option<VolumeLimits>,
    /// How several are joined.
    pub joined: Joined,
    /// Bytes of one volume.
    pub size: Option<Bytes>,
    /// What all volumes share.
    pub link: Option<Link>,
    /// What the link's figures rest on.
    pub link_basis: Basis,
    /// Who says them.
    pub link_source: String,
    /// Whether the link is the instance's network.
    pub is_network: bool,
    /// The network's rate in the long run, where the link is that, and for how long its peak lasts is not known.
    pub network_baseline: Option<ByteRate>,
    /// Whether the instance is built on Nitro, where that is known: some volumes do less elsewhere.
    pub is_nitro: Option<bool>,
    /// The processors.
    pub cpu: Option<RouteCpu>,
    /// Memory that may hold what was written.
    pub memory: Option<Bytes>,
    /// The filesystem, just made.
    pub filesystem: Option<FilesystemKind>,
    /// Whether it writes its inode tables while the work goes on, as mke2fs leaves it to; iostone's own have been written before.
    pub writes_tables: bool,
    /// What buckets of volumes and link hold at the start; full if absent.
    pub start: Option<Fraction>,
    /// What CPU credits are at the start, as a share of the most; as the governor says if absent.
    pub cpu_start: Option<Fraction>,
    /// The same as `start` of volumes, where they say it themselves.
    pub volume_start: Option<Fraction>,
    /// The time of an I/O, and of a write where that is another.
    pub latency: Option<(Span, Option<Span>)>,
    /// Buckets of the path are divided by it; those that were settled for an emulation are divided already and have 1.
    pub speed: f64,
    /// Of an emulation, how many times faster it goes by, whoever divides its buckets.
    pub emulated: Option<f64>,
    /// What an hour costs; nothing for an emulation.
    pub price: Option<RentalPrice>,
    /// What is amiss with the answer.
    pub warnings: Vec<Flag>,
    /// Ceilings that are taken away, by their places in the path.
    pub lifted: Vec<usize>,
    /// What was taken for granted in finding all this.
    pub assumptions: Vec<String>,
}

/// Processors of a route.
#[derive(Debug, Clone, PartialEq)]
pub enum RouteCpu {
    /// So many, all the time, and who says so.
    Processors(f64, String),
    /// As an allowance gives them, at most so many.
    Governed(Box<Governor>, Option<f64>),
}

impl RouteCpu {
    fn part(&self) -> Cpu<'_> {
        match self {
            Self::Processors(count, _) => Cpu::Processors(*count),
            Self::Governed(governor, limit) => Cpu::Governed(governor, *limit),
        }
    }
}

impl Route {
    /// A route of which nothing is known.
    pub fn unknown(date: CatalogueDate) -> Self {
        Self {
            instance: None,
            volumes: None,
            volume_name: "the volume".to_owned(),
            date,
            limits: None,
            joined: Joined::single(),
            size: None,
            link: None,
            link_basis: Basis::Published,
            link_source: String::new(),
            is_network: false,
            network_baseline: None,
            is_nitro: None,
            cpu: None,
            memory: None,
            filesystem: None,
            writes_tables: false,
            start: None,
            cpu_start: None,
            volume_start: None,
            latency: None,
            speed: 1.0,
            emulated: None,
            price: None,
            warnings: Vec::new(),
            lifted: Vec::new(),
            assumptions: Vec::new(),
        }
    }

    /// What a question is about.
    ///
    /// # Errors
    /// [`PredictError`]: the instance, the volume or the region is not known, or a figure cannot be.
    pub fn of(catalogue: &Catalogue, question: &Question) -> Result<Self, PredictError> {
        check(question)?;
        let mut route = Self {
            filesystem: question.filesystem,
            writes_tables: (question.speed - 1.0).abs() < f64::EPSILON,
            start: question.start,
            latency: question.latency.map(|latency| (latency, None)),
            speed: question.speed,
            cpu_start: question.start,
            emulated: ((question.speed - 1.0).abs() > f64::EPSILON).then_some(question.speed),
            ..Self::unknown(question.date)
        };
        route.doubt_date();
        if let Some(name) = &question.instance {
            route.pass_instance(catalogue, catalogue.instance(name)?, question)?;
        }
        if let Some(link) = question.link {
            route.link = Some(link);
            (route.is_network, route.network_baseline) = (false, None);
            route.warnings.retain(|flag| flag.name != LINK_UNKNOWN);
            (route.link_basis, route.link_source) = (Basis::Assumed, "as the question says".to_owned());
        }
        if question.work.cpu_seconds_per_byte.is_some()
            && question.processors.is_none()
            && route.cpu.is_none()
        {
            let whose = question.instance.as_deref();
            let message = match whose {
                Some(name) => format!("how many processors {name} has is not known, and the work needs their time: say how many"),
                None => "the work needs processor time, and no processors are named: name an instance, or how many there are".to_owned(),
            };
            return Err(PredictError::Impossible(message));
        }
        if let Some(processors) = question.processors {
            route.limit_processors(processors, "as the question says");
        }
        route.memory = question.memory.or(route.memory);
        if let Some(spec) = &question.volumes {
            let instance = question.instance.as_deref().and_then(|name| catalogue.instance(name).ok());
            check_volumes(spec, instance)?;
            let mut limits = catalogue.volumes().limits(spec, question.date)?;
            if let Some(is_nitro) = route.is_nitro {
                limits = limits.on_instance(is_nitro);
            }
            route.joined = joined(&question.array, spec.count)?;
            route.size = Some(scaled(spec.size, question.speed));
            route.volumes = Some(spec.to_string());
            route.volume_name = VolumeSpec { count: 1, ..spec.clone() }.to_string();
            route.assumptions.extend(limits.notes.iter().cloned());
            route.limits = Some(limits);
        }
        route.leave_out_of_price();
        Ok(route)
    }

    fn pass_instance(
        &mut self,
        catalogue: &Catalogue,
        instance: &Instance,
        question: &Question,
    ) -> Result<(), PredictError> {
        self.instance = Some(instance.name.clone());
        self.memory = instance.memory;
        self.is_nitro = instance.is_nitro();
        self.pass_link(instance);
        if self.link.is_none() && question.link.is_none() {
            self.warnings.push(Flag::new(
                LINK_UNKNOWN,
                format!(
                    "the link of {} to its volumes is not known: this is the volumes alone",
                    instance.name
                ),
            ));
        }
        if let Some(known) = instance.date.filter(|known| question.date.last_day() < known.day()) {
            self.assumptions.push(format!(
                "link, processors and memory of {} are those of {known}, taken to have been the same in {}; when the type came is not known",
                instance.name, question.date
            ));
        }
        let governed = allowance(&instance.name, None).ok().map(|allowance| {
            let start = match question.start {
                None => AllowanceStart::Launch,
                Some(share) if share.0 > 0.0 => AllowanceStart::Full,
                Some(_) => AllowanceStart::Empty,
            };
            RouteCpu::Governed(Box::new(Governor { allowance, speed: question.speed, start }), None)
        });
        self.cpu = governed.or_else(|| {
            let vcpus = instance.vcpus?;
            Some(RouteCpu::Processors(f64::from(vcpus), instance.source.clone()))
        });
        let region = question.region.as_deref().unwrap_or(DEFAULT_REGION);
        self.price = match catalogue.price(&instance.name, region) {
            Ok(price) => Some(RentalPrice {
                usd_per_hour: price.usd_per_hour,
                region: Some(region.to_owned()),
                source: price.source,
                leaves_out: Vec::new(),
            })
            .filter(|_| self.emulated.is_none()),
            Err(error @ UnknownPrice::Region { .. }) => return Err(error.into()),
            Err(_) => None,
        };
        Ok(())
    }

    /// Takes the link of an instance of the catalogue.
    pub(super) fn pass_link(&mut self, instance: &Instance) {
        self.link = instance.link();
        self.is_network = instance.ebs.is_none();
        let network = instance.network.filter(|network| self.is_network && network.peak > network.baseline);
        self.network_baseline = network.map(|network| network.baseline);
        self.link_source.clone_from(&instance.source);
        let is_said = instance.said.as_ref().is_some_and(|said| {
            said.keys.iter().any(|key| key.starts_with(if self.is_network { "network" } else { "ebs" }))
        });
        self.link_basis = if is_said { Basis::Assumed } else { Basis::Published };
    }

    /// Warns of a date that nothing is known of: laws change, and those of more than a year after the catalogue are not in it.
    fn doubt_date(&mut self) {
        let known = CATALOGUE_AS_OF.parse().ok().map(CatalogueDate::day);
        let is_beyond = known.and_then(|known| known.checked_add(jiff::Span::new().years(1)).ok());
        if is_beyond.is_some_and(|most| self.date.day() > most) {
            self.warnings.push(Flag::new(
                DATE_UNKNOWN,
                format!("nothing is known of {}: the figures are the last that the catalogue has, of {CATALOGUE_AS_OF}", self.date),
            ));
        }
    }

    /// Says what is paid for beside the instance.
    pub(super) fn leave_out_of_price(&mut self) {
        let is_unlimited = self.is_unlimited();
        let Some(price) = &mut self.price else { return };
        if self.volumes.is_some() {
            price.leaves_out.push("the volumes".to_owned());
        }
        if is_unlimited {
            price.leaves_out.push("CPU credits beyond those that it earns, in its unlimited mode".to_owned());
        }
    }

    /// Whether processors are in the mode in which what they do beyond their credits is paid for.
    pub(super) fn is_unlimited(&self) -> bool {
        matches!(&self.cpu, Some(RouteCpu::Governed(governor, _))
            if matches!(governor.allowance.law, Law::Credits { unlimited: true, .. }))
    }

    pub(super) fn limit_processors(&mut self, processors: f64, source: &str) {
        self.cpu = Some(match self.cpu.take() {
            Some(RouteCpu::Governed(governor, _)) => RouteCpu::Governed(governor, Some(processors)),
            Some(RouteCpu::Processors(count, known)) if count <= processors => {
                RouteCpu::Processors(count, known)
            }
            _ => RouteCpu::Processors(processors, source.to_owned()),
        });
    }

    /// The ceilings of some work.
    pub fn path(&self, work: &Work) -> Path {
        let parts = Parts {
            volume: self.limits.as_ref(),
            joined: self.joined,
            link: self.link.as_ref(),
            cpu: self.cpu.as_ref().map(RouteCpu::part),
            volume_start: self.volume_start.or(self.start),
            link_start: self.start,
            cpu_start: self.cpu_start,
            latency: self.latency,
        };
        let path = path(&parts, work).without(&self.lifted);
        if (self.speed - 1.0).abs() > f64::EPSILON { path.faster(self.speed) } else { path }
    }
}

/// The array over so many volumes, which has to have enough of them.
fn joined(array: &Array, members: u32) -> Result<Joined, PredictError> {
    let fewest = match array {
        Array::None | Array::Lvm(_) => 1,
        Array::Md(md) => md.level.fewest_members(),
        Array::Btrfs(btrfs) => btrfs.level.fewest_members(),
    };
    if members < fewest {
        let level = match array {
            Array::Md(md) => md.level.as_str(),
            Array::Btrfs(btrfs) => btrfs.level.as_str(),
            Array::None | Array::Lvm(_) => "striping",
        };
        let message = format!(
            "{level} takes at least {fewest} volumes, and there is {}: say {fewest}x before the type",
            counted(members, "volume")
        );
        return Err(PredictError::Impossible(message));
    }
    Ok(Joined::of(array, members))
}

/// What cannot be joined to an instance: volumes of another provider, or more than it takes.
fn check_volumes(spec: &VolumeSpec, instance: Option<&Instance>) -> Result<(), PredictError> {
    /// The most members that mdadm(8) joins.
    const MOST_MEMBERS: u32 = 1920;
    const OTHER_PROVIDERS: [&str; 3] = ["azure", "gcp", "sakura"];
    if spec.count > MOST_MEMBERS {
        return Err(PredictError::Impossible(format!(
            "`{spec}` has {} volumes, and no array joins more than {MOST_MEMBERS}",
            spec.count
        )));
    }
    let Some(instance) = instance.filter(|instance| instance.said.is_none()) else { return Ok(()) };
    if OTHER_PROVIDERS.contains(&spec.provider.as_str()) {
        return Err(PredictError::Impossible(format!(
            "{} is an instance of EC2, and `{spec}` a volume of {}: leave one of them out",
            instance.name, spec.provider
        )));
    }
    if let Some(most) = instance.attachments.filter(|most| spec.count > *most) {
        return Err(PredictError::Impossible(format!(
            "{} takes {most} volumes at most, and `{spec}` has {}",
            instance.name, spec.count
        )));
    }
    Ok(())
}

fn check(question: &Question) -> Result<(), PredictError> {
    let impossible = |message: String| Err(PredictError::Impossible(message));
    if !(question.speed.is_finite() && question.speed > 0.0) {
        return impossible(format!("a speed of {} is none: it divides sizes and buckets", question.speed));
    }
    if question.start.is_some_and(|share| !(0.0..=1.0).contains(&share.0)) {
        return impossible("buckets hold 0 % to 100 % at the start".to_owned());
    }
    if question.processors.is_some_and(|count| !(count.is_finite() && count > 0.0)) {
        return impossible("work needs some share of a processor".to_owned());
    }
    let work = &question.work;
    if question.processors.is_some() && work.cpu_seconds_per_byte.is_none() {
        return impossible(
            "processors are limited, and how much of their time the work needs is not said: without that they hold nothing".to_owned(),
        );
    }
    if work.io_size == Some(Bytes(0)) || work.depth == Some(0) {
        return impossible("I/Os of no bytes, and none at once, move nothing".to_owned());
    }
    Ok(())
}

/// The size of an emulated volume.
fn scaled(size: Bytes, speed: f64) -> Bytes {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a size")]
    let bytes = (size.0 as f64 / speed) as u64;
    Bytes(bytes)
}
