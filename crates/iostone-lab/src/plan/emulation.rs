//! Settles what stands for a cloud's: volumes of a type, and a host that stands for an instance, become plain figures.

use iostone_cloud::{Instance, VolumeError, allowance, catalogue};
use iostone_model::cloud::{CatalogueDate, VolumeSpec};
use iostone_model::experiment::{
    AllowanceStart, Burst, Configuration, CpuLimit, CpuQuota, DEFAULT_PERIOD, EmulatedBy, EmulatedInstance,
    EmulatedVolume, Experiment, FASTEST_SPEED, Governor, Link, MachineSpec, Stack, Volume,
};
use iostone_model::units::{Bytes, Fraction};

use crate::error::LabError;

/// Less is no volume on which mkfs makes what it makes on a large one, and no experiment file may ask for it either.
const SMALLEST_VOLUME: Bytes = Bytes(16 << 20);

/// What an emulated instance comes to on this host, as plain figures of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledInstance {
    /// What all volumes together may move, buckets divided by the speed; none where nothing is known of it.
    pub link: Option<Link>,
    /// Its CPU allowance, where its type has one.
    pub governor: Option<Governor>,
    /// A limit to its processors, where this host has more.
    pub cpu: Option<CpuLimit>,
    /// What of it is not emulated, or only assumed.
    pub notes: Vec<InstanceNote>,
}

/// A sentence on what of an instance is not emulated, or only assumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstanceNote {
    /// What it is on.
    pub part: InstancePart,
    /// The sentence.
    pub text: String,
}

/// What of an instance is emulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstancePart {
    /// What stands between it and its volumes.
    Link,
    /// Their number, and the allowance to use them.
    Processors,
}

/// What an instance of the catalogue comes to on a host with so many processors, at the speed and from the start that are
/// asked for. Its figures are final: a later catalogue does not change them.
///
/// # Errors
/// [`LabError::Plan`] for a type that the catalogue does not know, and for an allowance that cannot be that fast.
pub fn settle_instance(asked: &EmulatedInstance, processors: u32) -> Result<SettledInstance, LabError> {
    let name = &asked.emulate;
    let instance = catalogue()
        .instance(name)
        .map_err(|unknown| LabError::Plan(format!("`machine.emulate`: {unknown}")))?;
    let link = settle_link(asked);
    let mut notes: Vec<InstanceNote> = link_note(instance, asked, link).into_iter().collect();
    let mut say = |text: String| notes.push(InstanceNote { part: InstancePart::Processors, text });
    let governor = match allowance(name, None) {
        Ok(_) if asked.speed > FASTEST_SPEED => {
            return Err(LabError::Plan(format!(
                "`machine.speed`: {name} has a CPU allowance, which is emulated at most {FASTEST_SPEED} times faster, not \
                 {} times",
                asked.speed
            )));
        }
        Ok(allowance) => Some(Governor { allowance, speed: asked.speed, start: asked.start }),
        Err(_) => None,
    };
    let mut cpu = None;
    match instance.vcpus {
        Some(vcpus) if vcpus < processors && governor.is_none() => {
            cpu = Some(CpuLimit::Quota(CpuQuota::over(Fraction(f64::from(vcpus)), DEFAULT_PERIOD)));
        }
        Some(vcpus) if vcpus > processors => say(format!(
            "{name} has {vcpus} processors, this host {processors}: what the CPU binds is not emulated"
        )),
        Some(_) => {}
        None => say(format!("nobody says how many processors {name} has, so none are taken away")),
    }
    Ok(SettledInstance { link, governor, cpu, notes })
}

/// What a link of an instance rests on, where that is less than the provider's word for exactly this.
fn link_note(instance: &Instance, asked: &EmulatedInstance, link: Option<Link>) -> Option<InstanceNote> {
    let name = &asked.emulate;
    let text = match link {
        None => {
            format!(
                "nothing is known of the link of {name} to its volumes, so none is emulated; say it as `machine.link`"
            )
        }
        Some(link) if asked.link.is_none() && instance.ebs.is_none() => format!(
            "{name} has no link of its own to its volumes, so its network stands for it, as if nothing else used that: {}; for how \
             long a network keeps up its peak is assumed",
            link.in_words()
        ),
        Some(_) => return None,
    };
    Some(InstanceNote { part: InstancePart::Link, text })
}

/// What an instance's link comes to, buckets divided by the speed: the one that is asked for, else the catalogue's; none where
/// nothing is known of it.
pub fn settle_link(asked: &EmulatedInstance) -> Option<Link> {
    let known = || catalogue().instance(&asked.emulate).ok().and_then(Instance::link);
    asked.link.or_else(known).map(|link| faster_link(link, asked.speed, asked.start))
}

/// The limits of a cloud volume as they are emulated. On an instance, size and buckets are divided by its speed, rates stay,
/// and the caps off Nitro apply. `asked` has type, size, count and what is provisioned; its other settings are kept.
///
/// # Errors
/// [`LabError::Plan`] for what the catalogue does not know or the provider does not have, and for a volume that would be
/// too small at that speed.
pub fn settle_volume(
    asked: &EmulatedVolume,
    date: CatalogueDate,
    instance: Option<&EmulatedInstance>,
) -> Result<EmulatedVolume, LabError> {
    let Some(spec) = spec_of(asked) else { return Ok(asked.clone()) };
    let (speed, start) = instance.map_or((1.0, AllowanceStart::Launch), |one| (one.speed, one.start));
    let mut limits = catalogue().volumes().limits(&spec, date).map_err(|error| of_volume(&error))?;
    if let Some(is_nitro) = instance.and_then(|one| catalogue().instance(&one.emulate).ok()?.is_nitro()) {
        limits = limits.on_instance(is_nitro);
    }
    let mut volume = limits.emulated(&spec, speed).map_err(|error| of_volume(&error))?;
    if volume.size < SMALLEST_VOLUME {
        return Err(LabError::Plan(format!(
            "`machine.speed`: {spec} is a volume of {} at 1/{speed} of its size, too small for a filesystem; at most {} \
             times faster",
            volume.size,
            spec.size.0 / SMALLEST_VOLUME.0
        )));
    }
    if asked.by == Some(EmulatedBy::Cgroup)
        && let Some(key) = volume.server_keys().first()
    {
        return Err(LabError::Plan(format!(
            "`volume.by`: control groups cannot emulate `{key}`, which `{}` has; leave `by = \"cgroup\"` out",
            spec.volume_type
        )));
    }
    volume.volume_type.clone_from(&asked.volume_type);
    volume.date = Some(date);
    volume.by = asked.by;
    volume.directory.clone_from(&asked.directory);
    volume.fill = asked.fill;
    volume.latency = asked.latency.or(volume.latency);
    volume.write_latency = asked.write_latency;
    volume.flush_latency = asked.flush_latency;
    volume.latency_spread = asked.latency_spread;
    volume.cache.clone_from(&asked.cache);
    volume.faults.clone_from(&asked.faults);
    volume.burst = volume.burst.map(|burst| begun(burst, start));
    Ok(volume)
}

/// The volume that the file names; none where it names no type, or is settled already.
fn spec_of(asked: &EmulatedVolume) -> Option<VolumeSpec> {
    let name = asked.volume_type.as_ref().filter(|_| asked.stands_for.is_none())?;
    let (provider, volume_type) = name.split_once('/').unwrap_or(("aws", name));
    Some(VolumeSpec {
        count: asked.count,
        provider: provider.to_owned(),
        volume_type: volume_type.to_owned(),
        size: asked.size,
        iops: asked.iops,
        throughput: asked.throughput,
    })
}

fn of_volume(error: &VolumeError) -> LabError {
    let key = match error {
        VolumeError::Unknown { .. } => "volume.type",
        VolumeError::NotThen { .. } => "volume.date",
        _ => "volume",
    };
    LabError::Plan(format!("`{key}`: {error}"))
}

/// A link whose buckets hold as much less as time goes by faster.
fn faster_link(link: Link, speed: f64, start: AllowanceStart) -> Link {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a smaller whole number")]
    let divide = |units: u64| ((units as f64 / speed) as u64).max(1);
    let faster = |burst: Burst| Burst {
        credits: burst.credits.map(divide),
        credit_bytes: burst.credit_bytes.map(|bytes| Bytes(divide(bytes.0))),
        ..burst
    };
    Link { burst: link.burst.map(|burst| begun(faster(burst), start)), ..link }
}

/// A bucket as it is when the workload begins. One that was just made is full, a volume's as a link's.
fn begun(burst: Burst, start: AllowanceStart) -> Burst {
    match start {
        AllowanceStart::Empty => Burst { start: Some(Fraction(0.0)), ..burst },
        AllowanceStart::Launch | AllowanceStart::Full => burst,
    }
}

/// Writes down what every configuration's instance and volumes come to, so that the plan tells what was emulated even where
/// a later catalogue knows better.
pub(super) fn settle(experiment: &mut Experiment) -> Result<(), LabError> {
    let today = CatalogueDate::of_day(jiff::Zoned::now().date());
    for configuration in &mut experiment.configurations {
        settle_configuration(configuration, today).map_err(|error| match error {
            LabError::Plan(reason) => LabError::Plan(format!("{reason} (level `{}`)", configuration.name)),
            other => other,
        })?;
    }
    Ok(())
}

fn settle_configuration(configuration: &mut Configuration, today: CatalogueDate) -> Result<(), LabError> {
    let emulated = configuration.machine.emulated().cloned();
    let stack = &mut configuration.stack;
    if let Volume::Emulated(volume) = &mut stack.volume
        && volume.volume_type.is_some()
    {
        let date = volume.date.or(emulated.as_ref().and_then(|asked| asked.date)).unwrap_or(today);
        *volume = settle_volume(volume, date, emulated.as_ref())?;
        require_room(configuration.workload.room(), stack, emulated.as_ref().map_or(1.0, |one| one.speed))?;
    }
    let stack = &mut configuration.stack;
    if let Some(asked) = &emulated {
        let settled = settle_instance(asked, processors_here())?;
        stack.link = settled.link;
        stack.governor = settled.governor.map(Box::new);
        // Whoever says what the workload may use knows better than a count of processors.
        if stack.limit.cpu.is_none() && stack.limit.cpuset.is_none() {
            stack.limit.cpu = settled.cpu.unwrap_or(CpuLimit::None);
        }
    }
    if let MachineSpec::Emulate(asked) = &mut configuration.machine {
        asked.date = asked.date.or(Some(today));
    }
    Ok(())
}

/// The workload is not scaled: what it writes has to fit the volume as it is emulated.
fn require_room(room: Option<Bytes>, stack: &Stack, speed: f64) -> Result<(), LabError> {
    let Some((room, capacity)) = room.zip(stack.capacity()).filter(|(room, capacity)| room > capacity) else {
        return Ok(());
    };
    Err(LabError::Plan(format!(
        "`workload.size`: the workload takes {room}, and the volumes hold {capacity} at 1/{speed} of their size; the workload \
         is not scaled, so give it a size that fits"
    )))
}

/// Processors of this host.
pub(super) fn processors_here() -> u32 {
    let all = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(all).unwrap_or(u32::MAX)
}

/// What of the emulated instances is not emulated on this host, each once.
pub(super) fn notes(experiment: &Experiment) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for configuration in &experiment.configurations {
        let Some(asked) = configuration.machine.emulated() else { continue };
        let settled =
            settle_instance(asked, processors_here()).map(|settled| settled.notes).unwrap_or_default();
        let mut own: Vec<String> = settled.into_iter().map(|note| note.text).collect();
        if let Volume::Emulated(volume) = &configuration.stack.volume
            && volume.stands_for.is_none()
            && asked.speed > 1.0
        {
            own.push(
                "`volume` has no `type`, so that its size and credits stay as the file has them: `machine.speed` is of \
                 the instance alone"
                    .to_owned(),
            );
        }
        notes.extend(own.into_iter().filter(|note| !notes.contains(note)).collect::<Vec<String>>());
    }
    notes
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::read;
    use iostone_model::units::ByteRate;

    use super::*;

    const EXPERIMENT: &str = include_str!("../../../../experiments/instance-bandwidth.toml");

    fn settled(text: &str) -> Result<Experiment, String> {
        let mut experiment = read(text, &[]).map_err(|errors| format!("{errors:?}"))?;
        settle(&mut experiment).map_err(|error| error.to_string())?;
        Ok(experiment)
    }

    fn volume_of(experiment: &Experiment, index: usize) -> &EmulatedVolume {
        match &experiment.configurations[index].stack.volume {
            Volume::Emulated(volume) => volume,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn sizes_and_buckets_are_divided_and_rates_stay() {
        let text = EXPERIMENT.replace("speed = 240", "speed = 60");
        let experiment = settled(&text).unwrap();
        let volume = volume_of(&experiment, 0);
        assert_eq!(volume.size.0, (220u64 << 30) / 60 / 4096 * 4096);
        assert_eq!((volume.iops, volume.throughput), (Some(660), Some(ByteRate(160 << 20))));
        let burst = volume.burst.unwrap();
        assert_eq!((burst.iops, burst.credits, burst.start), (Some(3000), Some(90_000), None));
        assert_eq!(volume.stands_for.as_ref().unwrap().to_string(), "gp2:220GiB");
        let links: Vec<_> =
            experiment.configurations.iter().map(|c| c.stack.link.unwrap().throughput.0).collect();
        assert_eq!(links, [62_500_000, 250_000_000]);
    }

    #[test]
    fn a_volume_does_less_on_an_instance_that_is_not_built_on_nitro() {
        let text = EXPERIMENT
            .replace("type = \"gp2\"", "type = \"io2\", iops = 64000")
            .replace("220GiB", "2TiB")
            .replace("2017-07", "2021-01")
            .replace("c4.4xlarge", "m5.large");
        let experiment = settled(&text).unwrap();
        let rates = |index| (volume_of(&experiment, index).iops, volume_of(&experiment, index).throughput);
        assert_eq!(rates(0), (Some(32_000), Some(ByteRate(500 << 20))), "c4.large");
        assert_eq!(rates(1).0, Some(64_000), "m5.large");
    }

    #[test]
    fn what_was_settled_is_not_settled_anew() {
        let once = settled(EXPERIMENT).unwrap();
        let mut twice = once.clone();
        settle(&mut twice).unwrap();
        let volumes = [&once, &twice].map(|experiment| volume_of(experiment, 0).clone());
        assert_eq!(volumes[0], volumes[1]);
    }

    #[test]
    fn an_empty_start_empties_the_buckets_of_the_volume_and_of_the_link() {
        let text = EXPERIMENT
            .replace("speed = 240", "speed = 240\nstart = \"empty\"")
            .replace("c4.4xlarge", "m5.large");
        let experiment = settled(&text).unwrap();
        assert_eq!(volume_of(&experiment, 0).burst.unwrap().start, Some(Fraction(0.0)));
        let link = experiment.configurations.iter().find_map(|c| c.stack.link.unwrap().burst).unwrap();
        assert_eq!(link.start, Some(Fraction(0.0)));
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_told_with_its_key() {
        let refused = |old: &str, new: &str| {
            assert!(EXPERIMENT.contains(old), "{old}");
            settled(&EXPERIMENT.replace(old, new)).unwrap_err()
        };
        let instance = refused("emulate = \"c4.large\"", "emulate = \"c4.lage\"");
        assert!(instance.starts_with("`machine.emulate`: ") && instance.contains("c4.large"), "{instance}");
        let volume = refused("type = \"gp2\"", "type = \"gp9\"");
        assert!(volume.starts_with("`volume.type`: "), "{volume}");
        let small = refused("speed = 240", "speed = 9000");
        assert!(small.contains("or its size") || small.contains("1/9000"), "{small}");
        let allowance = refused("emulate = \"c4.large\"", "emulate = \"t2.micro\"");
        assert!(allowance.contains("at most 100 times faster"), "{allowance}");
    }

    #[test]
    fn a_rehearsal_has_buckets_as_much_smaller_as_its_work_is() {
        let mut experiment = settled(&EXPERIMENT.replace("c4.4xlarge", "m5.large")).unwrap();
        let buckets = |experiment: &Experiment| {
            let link = experiment.configurations.iter().find_map(|c| c.stack.link.unwrap().burst).unwrap();
            (volume_of(experiment, 0).burst.unwrap().credits.unwrap(), link.credit_bytes.unwrap().0)
        };
        let before = buckets(&experiment);
        super::super::rehearsal::shrink(&mut experiment);
        let after = buckets(&experiment);
        // 16 MiB of 880 MiB.
        assert_eq!(after, (before.0 * 16 / 880, before.1 * 16 / 880));
    }

    #[test]
    fn fewer_processors_are_a_limit_and_more_a_note() {
        let asked = |name: &str| EmulatedInstance {
            emulate: name.to_owned(),
            speed: 1.0,
            date: None,
            start: AllowanceStart::Launch,
            link: None,
            usd_per_hour: None,
        };
        let small = settle_instance(&asked("c4.large"), 8).unwrap();
        assert_eq!(small.cpu.and_then(|cpu| cpu.quota().map(|quota| quota.share())), Some(2.0));
        let large = settle_instance(&asked("c4.4xlarge"), 2).unwrap();
        assert!(
            large.cpu.is_none() && large.notes[0].text.contains("16 processors, this host 2"),
            "{large:?}"
        );
        let governed = settle_instance(&asked("t2.micro"), 8).unwrap();
        assert!(governed.cpu.is_none() && governed.governor.is_some());
        let [network] = &governed.notes[..] else { panic!("{governed:?}") };
        assert_eq!(network.part, InstancePart::Link);
        assert!(network.text.contains("its network stands for it"), "{network:?}");
        assert!(small.notes.is_empty(), "its link is its own: {small:?}");
    }
}
