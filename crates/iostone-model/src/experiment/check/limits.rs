//! Whether a volume's limits can hold, and whether the workload is one that they hold for.

use std::time::Duration;

use super::Findings;
use crate::experiment::{BackingIo, Configuration, IoWorkload, Limits, LoopVolume, Volume, Workload};
use crate::units::{ByteRate, Span};

/// The kernel takes this for no limit (`UINT_MAX` in block/blk-throttle.c).
const NO_LIMIT_IOPS: u32 = u32::MAX;

/// Checks the limits of a volume and of the instance below it.
pub(super) fn check_volume(volume: &LoopVolume, findings: &mut Findings<'_>) {
    check_limits(&volume.limits(), "stack.volume", findings);
    let Some(instance) = &volume.instance else { return };
    if instance.is_empty() {
        let message = "an instance without limits would change nothing";
        findings.key(
            "stack.volume.instance",
            message,
            "give it `throughput = \"62.5MB/s\"`, or leave it out",
        );
    }
    check_limits(instance, "stack.volume.instance", findings);
    if volume.backing_io == Some(BackingIo::Buffered) {
        let message = "an instance's limits do not apply to page-cache I/O";
        let error = crate::diagnostic::Diagnostic::new("io0006", message);
        let error = findings.places.at_value(error, "stack.volume.backing_io", "leave it out, or `direct`");
        findings.found.push(findings.places.at_key(error, "stack.volume.instance", "this instance"));
    }
}

fn check_limits(limits: &Limits, path: &str, findings: &mut Findings<'_>) {
    for (key, iops) in
        [("iops", limits.iops), ("read_iops", limits.read_iops), ("write_iops", limits.write_iops)]
    {
        if iops.is_some_and(|iops| iops == 0 || iops == NO_LIMIT_IOPS) {
            let message = format!("the kernel does not accept a limit of {}", iops.unwrap_or_default());
            findings.value(&format!("{path}.{key}"), message, "1 to 4294967294; leave it out for no limit");
        }
    }
    for (key, rate) in [
        ("throughput", limits.throughput),
        ("read_throughput", limits.read_throughput),
        ("write_throughput", limits.write_throughput),
    ] {
        if rate.is_some_and(|rate| rate.0 == 0 || rate.0 == u64::MAX) {
            let message = format!("the kernel does not accept a limit of {}", rate.unwrap_or_default());
            findings.value(&format!("{path}.{key}"), message, "at least 1B/s; leave it out for no limit");
        }
    }
}

/// A request may take so long under a limit, however short the run: a longer one would be a mistake in the unit.
const LONGEST_REQUEST: Duration = Duration::from_secs(10);

/// Refuses limits under which not one request of the workload would be through before its time is over.
fn check_request_time(configuration: &Configuration, io: &IoWorkload, findings: &mut Findings<'_>) {
    let stack = &configuration.stack;
    let limits = match &stack.volume {
        Volume::Loop(volume) => [volume.limits(), volume.instance.unwrap_or_default()],
        Volume::Emulated(volume) => {
            let own = Limits { throughput: volume.throughput, ..Limits::default() };
            [own, Limits { throughput: stack.link.map(|link| link.throughput), ..Limits::default() }]
        }
        _ => return,
    };
    let rates = limits.iter().flat_map(|limits| {
        let reads = limits.reads().throughput.filter(|_| io.rw.reads());
        [reads, limits.writes().throughput.filter(|_| io.rw.writes())]
    });
    // One of no bytes a second is told of already.
    let Some(rate) = rates.flatten().map(|rate| rate.0).filter(|&rate| rate > 0).min() else { return };
    let block = io.block_sizes().largest();
    let seconds = block.0 / rate;
    let allowed = io.asked_runtime().map_or(LONGEST_REQUEST, |runtime| runtime.0.max(LONGEST_REQUEST));
    if seconds > allowed.as_secs() {
        let (rate, time) = (ByteRate(rate), Span(Duration::from_secs(seconds)));
        let message = format!("at {rate}, one request of {block} takes {time}");
        findings.key("workload", message, "raise the limit of the volume, its instance or the link");
    }
}

/// Writes that end in the page cache are not what the limits are put on: version 1 charges what the kernel writes
/// back later to the root group, and under version 2 it is written after the workload was told that it is done.
pub(super) fn check_workload(configuration: &Configuration, findings: &mut Findings<'_>) {
    if let Workload::Io(io) = &configuration.workload {
        check_request_time(configuration, io, findings);
    }
    let (Volume::Loop(volume), Workload::Io(io)) = (&configuration.stack.volume, &configuration.workload)
    else {
        return;
    };
    if !volume.is_throttled() || !io.rw.writes() || io.direct || configuration.workload.syncs() {
        return;
    }
    let message = "writes to the page cache are not limited by the volume";
    findings.key("workload", message, "add `direct = true`, or `fdatasync = 1`");
}

#[cfg(test)]
mod tests {
    use crate::experiment::{BackingIo, Experiment, Volume, read};
    use crate::units::ByteRate;

    const THROTTLED: &str = include_str!("../../../../../experiments/throttled-volume.toml");

    fn volume_of(experiment: &Experiment, index: usize) -> &crate::experiment::LoopVolume {
        match &experiment.configurations[index].stack.volume {
            Volume::Loop(volume) => volume,
            other => panic!("{other:?}"),
        }
    }

    /// The messages of what is wrong once a part of the shipped experiment is replaced.
    fn wrong(old: &str, new: &str) -> Vec<String> {
        assert!(THROTTLED.contains(old), "{old}");
        let errors = read(&THROTTLED.replace(old, new), &[]).unwrap_err();
        errors.into_iter().map(|error| error.message).collect()
    }

    #[test]
    fn levels_vary_limits_and_a_throttled_volume_is_read_past_the_cache() {
        let experiment = read(THROTTLED, &[]).unwrap();
        let limits = [0, 1].map(|index| volume_of(&experiment, index).limits().reads().throughput);
        assert_eq!(limits, [Some(ByteRate(40_000_000)), Some(ByteRate(125_000_000))]);
        let instance = volume_of(&experiment, 0).instance.unwrap();
        assert_eq!(instance.writes().throughput, Some(ByteRate(62_500_000)));
        assert_eq!(volume_of(&experiment, 0).effective_backing_io(), BackingIo::Direct);
        let factor = "path = \"volume.iops\"\nvalues = [100, 200]";
        let levels = THROTTLED.lines().find(|line| line.starts_with("levels")).unwrap();
        let text = THROTTLED.replace(levels, factor).replace("baseline = \"slow\"", "baseline = \"100\"");
        assert_eq!(volume_of(&read(&text, &[]).unwrap(), 1).iops, Some(200));
    }

    #[test]
    fn a_volume_without_limits_is_read_through_the_cache_as_before() {
        let text = include_str!("../../../../../experiments/barrier.toml")
            .replace(", backing_io = \"buffered\"", "");
        let experiment = read(&text, &[]).unwrap();
        assert!(!volume_of(&experiment, 0).is_throttled());
        assert_eq!(volume_of(&experiment, 0).effective_backing_io(), BackingIo::Buffered);
    }

    #[test]
    fn limits_that_cannot_hold_are_refused() {
        let instance = "instance = { throughput = \"500Mbps\" }";
        assert_eq!(wrong(instance, "instance = {}"), ["an instance without limits would change nothing"]);
        assert_eq!(wrong(instance, "iops = 0"), ["the kernel does not accept a limit of 0"]);
        assert_eq!(
            wrong(instance, "instance = { write_iops = 4294967295 }"),
            ["the kernel does not accept a limit of 4294967295"]
        );
        assert_eq!(
            wrong(instance, "read_throughput = \"0MB/s\""),
            ["the kernel does not accept a limit of 0B/s"]
        );
        assert_eq!(
            wrong(instance, &format!("backing_io = \"buffered\", {instance}")),
            ["an instance's limits do not apply to page-cache I/O"]
        );
    }

    #[test]
    fn writes_that_end_in_the_page_cache_are_refused_on_a_throttled_volume() {
        let message = "writes to the page cache are not limited by the volume";
        let buffered = "randwrite\"\nsize = \"64MiB\"\n# ";
        let direct = "randread\"\nbs = \"64KiB\"\niodepth = 8\ndirect = true";
        assert_eq!(wrong(direct, buffered), [message]);
        for held in ["randwrite\"\nfdatasync = 1", "randwrite\"\ndirect = true", "randread\""] {
            read(&THROTTLED.replace(direct, held), &[]).unwrap();
        }
    }

    #[test]
    fn a_limit_that_no_request_gets_through_in_time_is_refused() {
        let instance = "instance = { throughput = \"500Mbps\" }";
        let with = |rate: &str| format!("instance = {{ throughput = \"{rate}\" }}");
        let messages = wrong(instance, &with("1B/s"));
        assert!(
            messages.iter().all(|text| text.starts_with("at 1B/s, one request of 64KiB takes ")),
            "{messages:?}"
        );
        assert!(!messages.is_empty());
        read(&THROTTLED.replace(instance, &with("6600B/s")), &[]).unwrap();
    }

    #[test]
    fn a_limit_on_a_volume_that_cannot_carry_one_is_named_as_such() {
        let loop_volume = "kind = \"loop\", size = \"256MiB\",";
        let message = |kind: &str, key: &str| format!("a `{kind}` volume carries no limits: `{key}`");
        for (new, kind) in
            [("kind = \"directory\",", "directory"), ("kind = \"block\", devices = [\"/dev/x\"],", "block")]
        {
            let messages = wrong(loop_volume, new);
            assert!(messages.contains(&message(kind, "instance")), "{messages:?}");
            assert!(messages.contains(&message(kind, "throughput")), "{messages:?}");
        }
    }
}
