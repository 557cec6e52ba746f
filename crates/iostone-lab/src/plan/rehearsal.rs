//! Shrinks an experiment to a rehearsal: every step once, in seconds, and no figure of it worth anything.

mod levels;
mod sweep;

use std::time::Duration;

use iostone_cloud::{Amount, work_of};
use iostone_model::experiment::{
    Burst, Configuration, Experiment, Filesystem, Rehearsal, Stack, Volume, Workload,
};
use iostone_model::run::Shrunk;
use iostone_model::units::{Bytes, Span};

use super::carried;

const VOLUME: Bytes = Bytes(96 << 20);
/// Of what a volume holds, a filesystem keeps some for itself.
const ROOM_OF_A_FILESYSTEM: u64 = 8;

/// A rehearsal of an experiment, and what it is less by.
pub(super) fn shrink(experiment: &mut Experiment) -> Shrunk {
    let of_configurations = u32::try_from(experiment.configurations.len()).unwrap_or(u32::MAX);
    experiment.decide.blocks.min = 1;
    experiment.decide.blocks.max = 1;
    experiment.trials.warmups = 0;
    experiment.trials.settle = experiment.trials.settle.min(Span(Duration::from_millis(100)));
    levels::thin(experiment);
    sweep::keep_three(experiment);
    let mut sizes = false;
    for configuration in &mut experiment.configurations {
        let before = configuration.clone();
        shrink_workload(configuration, of_configurations);
        shrink_volume(configuration);
        shrink_buckets(configuration, &before);
        sizes |= *configuration != before;
    }
    Shrunk { sizes, of_configurations }
}

/// Sizes and times are only ever made smaller; what cannot be told, a program's or a job file's, stays as it is.
fn shrink_workload(configuration: &mut Configuration, configurations: u32) {
    let bare = configuration.stack.filesystem == Filesystem::None
        && matches!(configuration.stack.volume, Volume::Block(_));
    configuration.workload.rehearse(Rehearsal { bare, configurations });
}

/// Buckets are as much smaller as the work is, where that is known: else none is ever emptied.
fn shrink_buckets(configuration: &mut Configuration, before: &Configuration) {
    let Some((less, whole)) = amount_of(&configuration.workload).zip(amount_of(&before.workload)) else {
        return;
    };
    if !(less > 0.0 && less < whole) {
        return;
    }
    let share = less / whole;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a smaller whole number")]
    let part = |units: u64| ((units as f64 * share) as u64).max(1);
    let shrink = |burst: &mut Burst| {
        burst.credits = burst.credits.map(part);
        burst.credit_bytes = burst.credit_bytes.map(|bytes| Bytes(part(bytes.0)));
    };
    if let Volume::Emulated(volume) = &mut configuration.stack.volume {
        volume.burst.iter_mut().for_each(shrink);
    }
    configuration.stack.link.iter_mut().filter_map(|link| link.burst.as_mut()).for_each(shrink);
}

/// How much work there is, in bytes or seconds; none where only the workload knows.
fn amount_of(workload: &Workload) -> Option<f64> {
    Some(match work_of(workload).ok()?.amount {
        Amount::Bytes { read, write } => read.0.saturating_add(write.0) as f64,
        Amount::Time { span, .. } => span.0.as_secs_f64(),
    })
}

/// A volume that is still large enough for what the workload keeps on it, where that is known.
fn shrink_volume(configuration: &mut Configuration) {
    let stack = &mut configuration.stack;
    let (least, room_in) = (Smallest::of(stack), data_members(stack));
    let profile = configuration.workload.profile();
    let lower = profile.lower_files;
    let in_layers = room_of_layers(stack, lower.map_or(0, |lower| lower.large.0));
    let size = match &mut stack.volume {
        Volume::Loop(volume) => &mut volume.size,
        Volume::Emulated(volume) => &mut volume.size,
        Volume::Block(_) | Volume::Directory(_) => return,
    };
    // The files of a job or of another loadfile may need all of it.
    let Some(Bytes(room)) = profile.room else { return };
    let together = room.saturating_add(room / ROOM_OF_A_FILESYSTEM).saturating_add(least.kept.0);
    let together = together.saturating_add(in_layers);
    let together = together.max(least.together.0);
    // An array has room for the workload in all of its volumes together, but for copies and parity.
    let each = together.div_ceil(room_in).next_multiple_of(1 << 20);
    *size = (*size).min(Bytes(each).max(least.each));
}

/// What the layers of a container hold beside the workload's own files, `lower` bytes of which lie in the image. An engine
/// unpacks the image beside the stream that it comes in, and may keep that as well until it is done.
fn room_of_layers(stack: &Stack, lower: u64) -> u64 {
    /// Logs, databases and directories of an engine.
    const ENGINE: u64 = 32 << 20;
    let copies = stack.container.copies_of_image();
    if copies == 0 {
        return 0;
    }
    let image = carried::room_of_image(stack).0 / copies;
    image.saturating_add(lower).saturating_mul(copies + 1).saturating_add(ENGINE)
}

/// So many volumes' worth of bytes a stack has room for.
fn data_members(stack: &Stack) -> u64 {
    let size = stack.volume.size().unwrap_or_default().0;
    let capacity = stack.capacity().unwrap_or_default().0;
    capacity.checked_div(size).unwrap_or(1).max(1)
}

/// What mkfs takes at least.
#[derive(Debug, Clone, Copy)]
struct Smallest {
    /// Of each volume.
    each: Bytes,
    /// Of all that the array has room for; a little of it is the array's own.
    together: Bytes,
    /// What the filesystem keeps for itself beside a share, however large it is.
    kept: Bytes,
}

impl Smallest {
    /// mkfs.xfs takes 300 MiB, and over stripes, where it wants a log of 64 MiB, more than 512 MiB (xfsprogs 5.19 and
    /// later); mkfs.btrfs 109 MiB of one device and 125 MiB of each of several, and up to 229 MiB where other profiles
    /// are asked for (btrfs-progs 6.2). mkfs.f2fs takes 52 MiB and leaves 8 MiB of them for files, 36 MiB of 96 MiB and
    /// 170 MiB of 256 MiB (f2fs-tools 1.15). ext2 and ext4 take anything. btrfs writes elsewhere whatever is written again,
    /// and gives back the old only once nothing of its extent is used and the transaction is over: 32 MiB of files were not
    /// to be written at random on 128 MiB.
    fn of(stack: &Stack) -> Self {
        let kept = Bytes(0);
        let of_volume = |each: u64| {
            let each = Bytes(each << 20);
            Self { each, together: each, kept: Bytes(256 << 20) }
        };
        match &stack.filesystem {
            Filesystem::None | Filesystem::Ext4(_) | Filesystem::Ext2(_) => {
                Self { each: VOLUME, together: VOLUME, kept }
            }
            Filesystem::F2fs(_) => Self { each: VOLUME, together: VOLUME, kept: Bytes(128 << 20) },
            Filesystem::Xfs(xfs) if data_members(stack) == 1 && xfs.mkfs.is_empty() => {
                let together = if stack.array.is_none() { 304 } else { 320 };
                Self { each: VOLUME, together: Bytes(together << 20), kept }
            }
            Filesystem::Xfs(_) => Self { each: VOLUME, together: Bytes(576 << 20), kept },
            Filesystem::Btrfs(btrfs) if btrfs.mkfs.is_empty() => of_volume(128),
            Filesystem::Btrfs(_) => of_volume(240),
        }
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{
        Array, Btrfs, BtrfsArray, BtrfsProfile, EmulatedVolume, Ext2, Ext4, F2fs, LvmArray, MdArray, MdLevel,
        Xfs, read,
    };

    use super::*;

    const FILE: Bytes = Bytes(16 << 20);

    fn rehearsed(workload: &str, metric: &str) -> Experiment {
        let text = format!(
            "name = \"r\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"64GiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
             [[factor]]\nname = \"b\"\nlevels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = \
             [\"barrier=0\"] }} }}\n[workload]\n{workload}\n[decide]\nmetric = \"{metric}\"\nbaseline = \"on\"\n"
        );
        let mut experiment = read(&text, &[]).unwrap();
        shrink(&mut experiment);
        // What comes out must still be an experiment: the checks of the file hold for it too.
        for configuration in &experiment.configurations {
            let room = configuration.workload.room().unwrap_or_default();
            let Volume::Loop(volume) = &configuration.stack.volume else { panic!("a loop volume") };
            assert!(room <= volume.size, "{room} on {}", volume.size);
        }
        experiment
    }

    fn volume_of(experiment: &Experiment) -> Bytes {
        match &experiment.configurations[0].stack.volume {
            Volume::Loop(volume) => volume.size,
            _ => panic!("a loop volume"),
        }
    }

    #[test]
    fn dbench_keeps_its_ten_seconds_and_a_volume_for_its_clients() {
        let experiment = rehearsed("kind = \"dbench\"\nclients = 5\nwarm_up = 30", "throughput");
        let Workload::Dbench(dbench) = &experiment.configurations[0].workload else { panic!("dbench") };
        assert_eq!((dbench.seconds, dbench.warm_up), (10, Some(2)));
        assert_eq!(volume_of(&experiment), Bytes(141 << 20));
    }

    #[test]
    fn a_loadfile_of_another_size_keeps_its_volume() {
        let experiment = rehearsed("kind = \"dbench\"\nloadfile = \"/l\"", "throughput");
        assert_eq!(volume_of(&experiment), Bytes(64 << 30));
        let experiment = rehearsed("kind = \"fio\"\njob_file = \"/l\"", "throughput");
        assert_eq!(volume_of(&experiment), Bytes(64 << 30));
        let experiment = rehearsed("kind = \"command\"\nargv = [\"true\"]", "wall_time");
        assert_eq!(volume_of(&experiment), VOLUME);
    }

    #[test]
    fn a_default_of_twice_the_memory_becomes_a_small_file() {
        let experiment = rehearsed("kind = \"bonnie\"", "block_write");
        let Workload::Bonnie(bonnie) = &experiment.configurations[0].workload else { panic!("bonnie") };
        assert_eq!((bonnie.size, bonnie.memory, bonnie.files), (Some(FILE), Some(Bytes(0)), Some(1)));
        assert_eq!(volume_of(&experiment), VOLUME);
    }

    #[test]
    fn emulated_volumes_shrink_together_and_keep_their_limits() {
        let text = include_str!("../../../../experiments/raid0.toml");
        let mut experiment = read(text, &[]).unwrap();
        let whole = experiment.clone();
        shrink(&mut experiment);
        for (small, configuration) in experiment.configurations.iter().zip(&whole.configurations) {
            let (Volume::Emulated(small_volume), Volume::Emulated(volume)) =
                (&small.stack.volume, &configuration.stack.volume)
            else {
                panic!("emulated volumes")
            };
            assert!(small_volume.size < volume.size);
            let room = small.workload.room().unwrap_or_default();
            assert!(small_volume.total_size().0 > room.0, "{room} on {}", small_volume.total_size());
            let limits = |volume: &EmulatedVolume| (volume.throughput, volume.iops, volume.count);
            assert_eq!(limits(small_volume), limits(volume));
            assert_eq!(small.stack.link, configuration.stack.link);
            let Workload::Bonnie(bonnie) = &small.workload else { panic!("bonnie") };
            assert_eq!(bonnie.direct_read, Some(Bytes(128 << 20)));
        }
    }

    fn volumes(array: usize, filesystem: usize, count: u32) -> Option<Stack> {
        let md = |level| Array::Md(MdArray { level, chunk: None, metadata: None });
        let btrfs = |level| Array::Btrfs(BtrfsArray { level, metadata: None });
        let (array, fewest) = [
            (Array::None, 1),
            (md(MdLevel::Raid0), 1),
            (md(MdLevel::Raid1), 2),
            (md(MdLevel::Raid10), 2),
            (md(MdLevel::Raid5), 3),
            (Array::Lvm(LvmArray { stripes: None, stripe_size: None }), 1),
            (btrfs(BtrfsProfile::Raid0), 1),
            (btrfs(BtrfsProfile::Raid1), 2),
            (btrfs(BtrfsProfile::Raid10), 2),
        ][array]
            .clone();
        let volume = EmulatedVolume { count, ..EmulatedVolume::new(Bytes(64 << 30)) };
        let filesystem = match filesystem {
            _ if matches!(array, Array::Btrfs(_)) => Filesystem::Btrfs(Btrfs::default()),
            0 => Filesystem::Ext4(Ext4::default()),
            1 => Filesystem::Xfs(Xfs::default()),
            2 => Filesystem::Ext2(Ext2::default()),
            3 => Filesystem::F2fs(F2fs::default()),
            _ => Filesystem::Btrfs(Btrfs::default()),
        };
        let fits = if array.is_none() { count == 1 } else { count >= fewest };
        fits.then(|| Stack { array, filesystem, ..Stack::of(Volume::Emulated(volume)) })
    }

    #[test]
    fn no_filesystem_gets_volumes_that_mkfs_does_not_take() {
        let barrier = read(include_str!("../../../../experiments/barrier.toml"), &[]).unwrap();
        let cases = (0..9).flat_map(|array| (0..5).map(move |filesystem| (array, filesystem)));
        let cases =
            cases.flat_map(|(array, filesystem)| (1..=64).map(move |count| (array, filesystem, count)));
        for stack in cases.filter_map(|(array, filesystem, count)| volumes(array, filesystem, count)) {
            for file in [1, 16, 100, 512] {
                let mut configuration = barrier.configurations[0].clone();
                configuration.stack = stack.clone();
                let Workload::Io(io) = &mut configuration.workload else { panic!("io") };
                io.size = Some(Bytes(file << 20));
                shrink_volume(&mut configuration);
                assert_is_large_enough(&configuration);
            }
        }
    }

    fn assert_is_large_enough(configuration: &Configuration) {
        let stack = &configuration.stack;
        let (each, capacity) = (stack.volume.size().unwrap().0, stack.capacity().unwrap().0);
        // The superblock of an array, or of its volume group, and what is left of an extent.
        let array = if stack.array.is_none() { 0 } else { data_members(stack) * (5 << 20) };
        let usable = capacity - array;
        assert!(usable >= configuration.workload.room().unwrap().0, "{stack:?}");
        let enough = match (&stack.filesystem, &stack.array) {
            (Filesystem::Xfs(_), _) if data_members(stack) == 1 => usable >= 300 << 20,
            (Filesystem::Xfs(_), _) => usable > 512 << 20,
            (Filesystem::Btrfs(_), Array::Btrfs(_)) => each >= 131_072_000,
            (Filesystem::Btrfs(_), _) => usable >= 114_294_784,
            // An eighth and 64 MiB are more than F2FS was seen to keep of any size from 96 MiB on.
            (Filesystem::F2fs(_), _) => {
                usable - usable / 8 - (64 << 20) >= configuration.workload.room().unwrap().0
            }
            _ => each >= VOLUME.0,
        };
        assert!(enough && each < 64 << 30, "{stack:?}");
    }

    #[test]
    fn the_others_are_over_in_seconds() {
        let experiment = rehearsed("kind = \"dd\"\nsize = \"30MiB\"\nbs = \"3MiB\"", "throughput");
        let Workload::Dd(dd) = &experiment.configurations[0].workload else { panic!("dd") };
        assert_eq!(dd.size, Bytes(18 << 20));
        let text = "kind = \"sysbench\"\ntest = \"fileio\"\nfile_test_mode = \"rndrw\"\nseconds = 60";
        let experiment = rehearsed(text, "events");
        let Workload::Sysbench(sysbench) = &experiment.configurations[0].workload else { panic!("sysbench") };
        assert_eq!((sysbench.seconds, sysbench.file_total_size), (1, Some(FILE)));
        let experiment = rehearsed("kind = \"copy-up\"\nfiles = 1000\nwrite = \"17MiB\"", "copy_up_time");
        let Workload::CopyUp(touches) = &experiment.configurations[0].workload else { panic!("copy-up") };
        assert_eq!((touches.size, touches.files, touches.write), (FILE, 20, FILE));
        let text = "kind = \"orion\"\narguments = \"-run advanced -num_disks 4 -duration 60 -write 20\"\n\
                    files = 2\nsize = \"10GiB\"";
        let experiment = rehearsed(text, "curve");
        let Workload::Orion(orion) = &experiment.configurations[0].workload else { panic!("orion") };
        assert_eq!((orion.points().len(), orion.size), (29, Some(FILE)));
        assert!(experiment.configurations[0].workload.profile().takes.unwrap()[1] < Duration::from_secs(12));
        let experiment = rehearsed("kind = \"ioping\"", "latency_mean");
        let Workload::Ioping(ioping) = &experiment.configurations[0].workload else { panic!("ioping") };
        assert_eq!(ioping.asked_time(), Some(Duration::from_secs(1)));
        let experiment = rehearsed("kind = \"ioping\"\ncount = 100", "latency_mean");
        let Workload::Ioping(ioping) = &experiment.configurations[0].workload else { panic!("ioping") };
        assert_eq!(ioping.asked_time(), Some(Duration::from_millis(200)));
    }
}
