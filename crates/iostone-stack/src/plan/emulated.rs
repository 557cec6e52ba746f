//! The steps of emulated volumes in words.

use std::path::Path;

use iostone_model::experiment::{EmulatedBy, EmulatedVolume, Limits, Link};

use super::Plan;
use crate::device::size_in_words;
use crate::site::own_directory_name;
use crate::throttle::{burst_in_words, limits_of_link};

/// Adds the steps that make the volumes; gives the device of the only one, or a word for all, and the steps that take
/// them away again.
pub(super) fn plan(
    plan: &mut Plan,
    volume: &EmulatedVolume,
    link: Option<Link>,
    directory: &Path,
) -> (String, Vec<String>) {
    let shown = directory.display().to_string();
    plan.add("volume", format!("mkdir {shown}"), Some(shown.clone()), 0);
    let mut undo = vec![format!("rm -r {shown}")];
    let nodes: Vec<String> = match volume.count {
        1 => vec!["/dev/loopN".to_owned()],
        count => (0..count).map(|index| format!("/dev/loopN{index}")).collect(),
    };
    match volume.effective_by(link) {
        EmulatedBy::Cgroup => by_cgroup(plan, volume, link, directory, &nodes, &mut undo),
        EmulatedBy::Server => by_server(plan, volume, link, directory, &nodes, &mut undo),
    }
    (nodes.join(" "), undo)
}

pub(super) fn make_image(plan: &mut Plan, path: &Path, bytes: u64, fill: bool) {
    let image = path.display().to_string();
    let (text, bytes) = if fill {
        let size = size_in_words(bytes);
        (format!("write {size} of random data to {image} with O_DIRECT, and sync it"), bytes)
    } else {
        (format!("truncate --size={bytes} {image}"), 0)
    };
    plan.add("volume", text, Some(image), bytes);
}

fn by_cgroup(
    plan: &mut Plan,
    volume: &EmulatedVolume,
    link: Option<Link>,
    directory: &Path,
    nodes: &[String],
    undo: &mut Vec<String>,
) {
    let image = directory.join("volume.img");
    make_image(plan, &image, volume.total_size().0, volume.fill);
    let mut below = image.display().to_string();
    if link.is_some() {
        let node = "/dev/loopM".to_owned();
        let text = format!("losetup --find --show --direct-io=on {below}");
        plan.add("volume", text, Some(node.clone()), 0);
        undo.insert(0, format!("losetup --detach {node}"));
        below = node;
    }
    let size = volume.size.0;
    let mut offset = 0_u64;
    for node in nodes {
        let part =
            if volume.count == 1 { String::new() } else { format!(" --offset={offset} --sizelimit={size}") };
        let text = format!("losetup --find --show --direct-io=on{part} {below}");
        plan.add("volume", text, Some(node.clone()), 0);
        undo.insert(0, format!("losetup --detach {node}"));
        offset = offset.saturating_add(size);
    }
    let limits = Limits { iops: volume.iops, throughput: volume.throughput, ..Limits::default() };
    if limits.is_empty() && link.is_none() {
        return;
    }
    let group = own_directory_name("TOKEN");
    plan.add("throttle", format!("create the cgroup {group}"), Some(group.clone()), 0);
    for node in nodes.iter().filter(|_| !limits.is_empty()) {
        let burst = volume.burst.as_ref().map(burst_in_words).unwrap_or_default();
        plan.add("throttle", format!("limit {node} in it: {limits}{burst}"), None, 0);
    }
    if link.is_some() {
        let limits = link.map_or_else(Limits::default, limits_of_link);
        let burst = link.and_then(|link| link.burst).as_ref().map(burst_in_words).unwrap_or_default();
        plan.add("throttle", format!("limit /dev/loopM in it: {limits}{burst}"), None, 0);
    }
    undo.insert(0, format!("remove the cgroup {group}"));
}

/// Adds the steps that make images and serve them, and what ends that to the front of `undo`.
pub(super) fn serve(
    plan: &mut Plan,
    volume: &EmulatedVolume,
    link: Option<Link>,
    directory: &Path,
    undo: &mut Vec<String>,
) {
    for index in 0..volume.count {
        let name = if volume.count == 1 { "volume.img".to_owned() } else { format!("volume-{index}.img") };
        make_image(plan, &directory.join(name), volume.size.0, volume.fill);
    }
    let together = link.map(|link| format!("; {} over all of them", link.in_words())).unwrap_or_default();
    plan.add(
        "volume",
        format!("serve {}{}{together}", volumes(volume.count), properties(volume)),
        Some("a process".to_owned()),
        0,
    );
    undo.insert(0, "stop the server".to_owned());
}

fn by_server(
    plan: &mut Plan,
    volume: &EmulatedVolume,
    link: Option<Link>,
    directory: &Path,
    nodes: &[String],
    undo: &mut Vec<String>,
) {
    serve(plan, volume, link, directory, undo);
    let trial = directory.join("trial-T");
    for (index, node) in nodes.iter().enumerate() {
        let socket = trial.join(format!("v{index}"));
        let file = trial.join(format!("volume-{index}"));
        let (socket, file) = (socket.display(), file.display());
        let text = format!("nbdfuse {file} --unix {socket}, or the kernel's NBD client where it has one");
        plan.add("volume", text, Some(file.to_string()), 0);
        let text = format!("losetup --find --show --direct-io=on {file}");
        plan.add("volume", text, Some(node.clone()), 0);
        undo.insert(0, format!("umount {file}"));
        undo.insert(0, format!("losetup --detach {node}"));
    }
}

fn volumes(count: u32) -> String {
    if count == 1 {
        "an emulated volume at a socket".to_owned()
    } else {
        format!("{count} emulated volumes at a socket each")
    }
}

/// What a server does to the I/O of a volume: ": 100 IOPS and 40MB/s, reads and writes together, latency 2ms".
fn properties(volume: &EmulatedVolume) -> String {
    let mut words = Vec::new();
    let rates =
        [volume.iops.map(|iops| format!("{iops} IOPS")), volume.throughput.map(|rate| rate.to_string())];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    if !rates.is_empty() {
        let burst = volume.burst.as_ref().map(burst_in_words).unwrap_or_default();
        words.push(format!("reads and writes together {}{burst}", rates.join(" and ")));
    }
    let adjacent = if volume.merge { ", adjacent ones merged" } else { "" };
    words.extend(volume.io_size.map(|size| format!("I/Os of up to {size}{adjacent}")));
    words.extend(volume.latency.map(|time| format!("latency {time}")));
    words.extend(volume.write_latency.map(|time| format!("write latency {time}")));
    words.extend(volume.flush_latency.map(|time| format!("flush latency {time}")));
    words.extend(volume.cache.as_ref().map(|cache| format!("a volatile cache of {}", cache.size)));
    words.extend(match volume.faults.len() {
        0 => None,
        1 => Some("a fault".to_owned()),
        count => Some(format!("{count} faults")),
    });
    if words.is_empty() { String::new() } else { format!(": {}", words.join("; ")) }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{Burst, Stack, Volume};
    use iostone_model::units::{Bytes, Span};

    use crate::plan_steps;

    use super::*;
    use iostone_model::units::ByteRate;

    fn steps(stack: &Stack) -> Vec<String> {
        plan_steps(stack, Path::new("/srv")).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn volumes_of_control_groups_lie_side_by_side_on_the_instance() {
        let burst =
            Burst { iops: Some(3000), credits: Some(500), throughput: None, credit_bytes: None, start: None };
        let volume = EmulatedVolume {
            count: 2,
            fill: false,
            by: Some(EmulatedBy::Cgroup),
            iops: Some(100),
            burst: Some(burst),
            ..EmulatedVolume::new(Bytes(64 << 20))
        };
        let stack =
            Stack { link: Some(Link::of(ByteRate(62_500_000))), ..Stack::of(Volume::Emulated(volume)) };
        assert_eq!(
            steps(&stack),
            [
                "mkdir /srv/iostone-TOKEN",
                "truncate --size=134217728 /srv/iostone-TOKEN/volume.img",
                "losetup --find --show --direct-io=on /srv/iostone-TOKEN/volume.img",
                "losetup --find --show --direct-io=on --offset=0 --sizelimit=67108864 /dev/loopM",
                "losetup --find --show --direct-io=on --offset=67108864 --sizelimit=67108864 /dev/loopM",
                "create the cgroup iostone-TOKEN",
                "limit /dev/loopN0 in it: reads and writes 100 IOPS each; up to 3000 IOPS out of 500 credits",
                "limit /dev/loopN1 in it: reads and writes 100 IOPS each; up to 3000 IOPS out of 500 credits",
                "limit /dev/loopM in it: reads and writes 62.5MB/s each",
                "remove the cgroup iostone-TOKEN",
                "losetup --detach /dev/loopN1",
                "losetup --detach /dev/loopN0",
                "losetup --detach /dev/loopM",
                "rm -r /srv/iostone-TOKEN",
            ]
        );
    }

    #[test]
    fn a_served_volume_ends_after_what_stands_on_it() {
        let latency = Some(Span(std::time::Duration::from_millis(2)));
        let volume = EmulatedVolume { latency, ..EmulatedVolume::new(Bytes(64 << 20)) };
        let texts = steps(&Stack::of(Volume::Emulated(volume)));
        let undo = &texts[texts.len() - 4..];
        assert!(undo[0].starts_with("losetup --detach") && undo[1].starts_with("umount"), "{undo:?}");
        assert_eq!(undo[2], "stop the server");
        assert!(
            texts.iter().any(|text| text == "serve an emulated volume at a socket: latency 2ms"),
            "{texts:?}"
        );
    }
}
