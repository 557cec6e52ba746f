//! What types cannot say of volumes, arrays and kernel settings: counts that do not fit, limits without a rate, faults past
//! the end, values that no kernel takes.

use super::{Findings, SMALLEST_LOOP};
use crate::experiment::{
    Array, BlockVolume, BtrfsProfile, Burst, Configuration, EmulatedBy, EmulatedVolume, Fault, Filesystem,
    MachineSpec, Stack, Volume,
};
use crate::units::{ByteRate, Bytes};

/// So many volumes of one kind are enough for any array here.
const MOST_VOLUMES: u32 = 64;

pub(super) fn check_block(volume: &BlockVolume, findings: &mut Findings<'_>) {
    if volume.devices.is_empty() {
        findings.value("stack.volume.devices", "no device is named", "expected [\"/dev/disk/by-id/...\"]");
    }
    for (index, device) in volume.devices.iter().enumerate() {
        let path = format!("stack.volume.devices[{index}]");
        let text = device.to_string_lossy();
        let named = ["serial:", "vol-"].iter().any(|prefix| {
            text.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty() && !rest.contains('/'))
        });
        if !device.is_absolute() && !named {
            let message = format!("`{text}` is neither an absolute path nor a stable id");
            findings.value(&path, message, "a device starts with `/dev/`, `serial:` or `vol-`");
        }
        if volume.devices.iter().take(index).any(|earlier| earlier == device) {
            findings.value(&path, format!("`{text}` is named twice"), "the second of them");
        }
    }
}

pub(super) fn check_emulated(volume: &EmulatedVolume, findings: &mut Findings<'_>) {
    let key = |name: &str| format!("stack.volume.{name}");
    if volume.size < SMALLEST_LOOP {
        let message = format!("an emulated volume of {} is too small", volume.size);
        findings.value(&key("size"), message, &format!("at least {SMALLEST_LOOP}"));
    } else if !volume.size.0.is_multiple_of(4096) {
        let message = format!("{} is not a multiple of 4KiB", volume.size);
        findings.value(&key("size"), message, "a volume has whole blocks");
    }
    if volume.count == 0 || volume.count > MOST_VOLUMES {
        let message = format!("{} volumes is out of range", volume.count);
        findings.value(&key("count"), message, &format!("1 to {MOST_VOLUMES}"));
    }
    if volume.directory.as_ref().is_some_and(|directory| !directory.is_absolute()) {
        findings.value(&key("directory"), "the directory is not an absolute path", "start it with /");
    }
    if volume.iops == Some(0) {
        findings.value(&key("iops"), "a volume of 0 IOPS never answers", "1 or more");
    }
    if volume.throughput.is_some_and(|rate| rate.0 == 0) {
        findings.value(&key("throughput"), "a volume of 0B/s never answers", "more than that");
    }
    if volume.merge && volume.io_size.is_none() && volume.volume_type.is_none() {
        let message = "`merge` needs `io_size`, the size up to which adjacent I/Os count as one";
        findings.key(&key("merge"), message, "add `io_size = \"256KiB\"`");
    }
    if volume.io_size.is_some_and(|size| size.0 == 0) {
        findings.value(&key("io_size"), "the I/O size is 0", "as 256KiB");
    }
    if volume.by == Some(EmulatedBy::Cgroup)
        && let Some(first) = volume.server_keys().first()
    {
        let message = format!("cgroups cannot emulate `{first}`");
        findings.key(&key(first), message, "leave `by = \"cgroup\"` out, or this");
    }
    check_type(volume, findings);
    check_burst(volume, findings);
    check_latency(volume, findings);
    check_faults(volume, findings);
}

/// What a type says by itself, and what is only of a type.
fn check_type(volume: &EmulatedVolume, findings: &mut Findings<'_>) {
    let key = |name: &str| format!("stack.volume.{name}");
    // Whoever settles a type trusts it to be there only where the figures are the type's already.
    if volume.stands_for.is_some() {
        let message = "`stands_for` is written by plans and is not a key of experiment files";
        findings.key(&key("stands_for"), message, "write `type = \"gp2\"` and the `size`");
    }
    let Some(name) = &volume.volume_type else {
        if volume.date.is_some() {
            let message = "`date` needs a `type` whose limits it selects";
            findings.key(&key("date"), message, "add `type = \"gp2\"`, or leave it out");
        }
        return;
    };
    let is_word = |word: &str| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let (provider, volume_type) = name.split_once('/').unwrap_or(("aws", name));
    if !is_word(provider) || !is_word(volume_type) {
        let message = format!("`{}` is not the name of a volume type", name.escape_debug());
        findings.value(&key("type"), message, "as in gp2 or azure/premium-ssd");
    }
    let own =
        [("io_size", volume.io_size.is_some()), ("merge", volume.merge), ("burst", volume.burst.is_some())];
    for (own, _) in own.iter().filter(|(_, set)| *set) {
        let message = format!("`{own}` is set by the type `{name}`");
        findings.key(&key(own), message, "leave it out, or describe the volume without `type`");
    }
}

fn check_burst(volume: &EmulatedVolume, findings: &mut Findings<'_>) {
    // A type has its own, and what stands beside it are not its rates of the long run.
    let Some(burst) = volume.burst.as_ref().filter(|_| volume.volume_type.is_none()) else { return };
    check_burst_of(burst, (volume.iops, volume.throughput), "stack.volume", findings);
}

/// Whether a burst of what has those rates in the long run, at that path, is one.
pub(super) fn check_burst_of(
    burst: &Burst,
    (base_iops, base_throughput): (Option<u32>, Option<ByteRate>),
    holder: &str,
    findings: &mut Findings<'_>,
) {
    let path = &format!("{holder}.burst");
    let own = holder.rsplit('.').next().unwrap_or(holder);
    if burst.iops.is_some() != burst.credits.is_some() {
        findings.key(path, "`iops` and `credits` of a burst go together", "give both");
    }
    if burst.throughput.is_some() != burst.credit_bytes.is_some() {
        findings.key(path, "`throughput` and `credit_bytes` of a burst go together", "give both");
    }
    if burst.iops.is_none() && burst.throughput.is_none() {
        findings.key(
            path,
            "a burst without limits",
            "add `iops` and `credits`, or `throughput` and `credit_bytes`",
        );
    }
    match (burst.iops, base_iops) {
        (Some(_), None) => {
            findings.key(path, "a burst needs a baseline rate", &format!("add `{own}.iops`"));
        }
        (Some(high), Some(low)) if high <= low => {
            let message = format!("a burst of {high} IOPS is not above the {own}'s baseline of {low}");
            findings.value(&format!("{path}.iops"), message, &format!("more than `{own}.iops`"));
        }
        _ => {}
    }
    match (burst.throughput, base_throughput) {
        (Some(_), None) => {
            findings.key(path, "a burst needs a baseline rate", &format!("add `{own}.throughput`"));
        }
        (Some(high), Some(low)) if high <= low => {
            let message = format!("a burst of {high} is not above the {own}'s baseline of {low}");
            findings.value(&format!("{path}.throughput"), message, &format!("more than `{own}.throughput`"));
        }
        _ => {}
    }
    if burst.start.is_some_and(|start| !(0.0..=1.0).contains(&start.0)) {
        findings.value(&format!("{path}.start"), "from 0% to 100%", "0% to 100%");
    }
}

fn check_latency(volume: &EmulatedVolume, findings: &mut Findings<'_>) {
    if volume.latency_spread.is_some()
        && volume.latency.is_none()
        && volume.write_latency.is_none()
        && volume.flush_latency.is_none()
    {
        findings.key("stack.volume.latency_spread", "there is no latency to spread", "add `latency`");
    }
}

fn check_faults(volume: &EmulatedVolume, findings: &mut Findings<'_>) {
    for (index, fault) in volume.faults.iter().enumerate() {
        let path = format!("stack.volume.faults[{index}]");
        match fault {
            Fault::Error(error) => {
                let end =
                    error.length.map_or(Some(volume.size.0), |length| error.offset.0.checked_add(length.0));
                if error.offset >= volume.size || end.is_none_or(|end| end > volume.size.0) {
                    let message = format!("the errors are beyond the volume of {}", volume.size);
                    findings.value(&path, message, "`offset` and `length` within the size");
                }
                if error.share.is_some_and(|share| !(share.0 > 0.0 && share.0 <= 1.0)) {
                    findings.value(
                        &format!("{path}.share"),
                        "not a share of requests",
                        "above 0%, up to 100%",
                    );
                }
            }
            Fault::Stall(stall) if stall.lasts.0.is_zero() || stall.lasts >= stall.every => {
                let message = "a stall must end before the next begins";
                findings.value(&path, message, "`lasts` above zero and below `every`");
            }
            Fault::Stall(_) => {}
        }
    }
}

/// What joins several volumes, and what several volumes need.
pub(super) fn check_array(configuration: &Configuration, findings: &mut Findings<'_>) {
    let stack = &configuration.stack;
    let members = stack.volume.members();
    let path = "stack.array";
    if stack.array.is_none() {
        if members > 1 {
            let message = format!("{members} volumes without an array");
            let label = "add `array = { kind = \"md\", level = \"raid0\" }`, or name one volume";
            findings.key("stack.volume", message, label);
        }
        return;
    }
    if let Volume::Directory(_) = stack.volume {
        findings.key(path, "a directory cannot be a member of an array", "use `block` or `emulated` volumes");
        return;
    }
    let fewest = match &stack.array {
        Array::Md(md) => md.level.fewest_members(),
        Array::Btrfs(btrfs) => {
            btrfs.level.fewest_members().max(btrfs.metadata.map_or(1, BtrfsProfile::fewest_members))
        }
        Array::Lvm(lvm) => lvm.stripes.unwrap_or(1),
        Array::None => 0,
    };
    if members < usize::try_from(fewest).unwrap_or(usize::MAX) {
        let message = format!("the array needs at least {fewest} volumes, not {members}");
        findings.key(path, message, "more `devices`, or a larger `count`");
    }
    match &stack.array {
        Array::Md(md) => {
            if md.chunk.is_some_and(|chunk| chunk.0 < 4096 || !chunk.0.is_multiple_of(4096)) {
                findings.value(&format!("{path}.chunk"), "a chunk is a multiple of 4KiB", "as 256KiB");
            }
            if md.chunk.is_some() && md.level == crate::experiment::MdLevel::Raid1 {
                findings.value(&format!("{path}.chunk"), "mirrors have no chunk", "leave this out");
            }
        }
        Array::Lvm(lvm) => {
            let wrong = |size: Bytes| size.0 < 4096 || !size.0.is_power_of_two();
            if lvm.stripe_size.is_some_and(wrong) {
                let message = "a stripe size is a power of two from 4KiB";
                findings.value(&format!("{path}.stripe_size"), message, "as 256KiB");
            }
            if lvm.stripes == Some(0) {
                findings.value(&format!("{path}.stripes"), "a stripe needs at least one volume", "1 or more");
            }
        }
        Array::Btrfs(_) if !matches!(stack.filesystem, Filesystem::Btrfs(_)) => {
            let message = "an array of kind `btrfs` needs the btrfs filesystem";
            findings.key(path, message, "add `filesystem = { kind = \"btrfs\" }`");
        }
        Array::Btrfs(_) | Array::None => {}
    }
}

/// Settings of the queue and the kernel that no kernel takes, or that the device on top does not have.
pub(super) fn check_settings(stack: &Stack, findings: &mut Findings<'_>) {
    for (layer, problems) in [("queue", stack.queue.problems()), ("sysctl", stack.sysctl.problems())] {
        for problem in problems {
            findings.value(&format!("stack.{layer}.{}", problem.key), problem.message, &problem.expected);
        }
    }
    let kind = match stack.array {
        Array::Md(_) => "md",
        Array::Lvm(_) => "lvm",
        Array::Btrfs(_) | Array::None => return,
    };
    for key in stack.queue.of_requests() {
        let message =
            format!("an array of kind `{kind}` has no `{key}`: it passes each I/O on to its members");
        findings.key(&format!("stack.queue.{key}"), message, "leave this out");
    }
}

/// A cap on all emulated volumes needs some.
pub(super) fn check_link(stack: &Stack, machine: &MachineSpec, findings: &mut Findings<'_>) {
    if machine.link().is_some() && !matches!(stack.volume, Volume::Emulated(_)) {
        let message = "`machine.link` limits emulated volumes, and there are none";
        findings.key("machine.link", message, "add `volume = { kind = \"emulated\", ... }`");
    }
}
