//! Shrinks an experiment to a rehearsal: every step once, in seconds, and no figure of it worth anything.

use std::time::Duration;

use iostone_model::experiment::{
    BonnieWorkload, Configuration, DbenchWorkload, DdWorkload, Experiment, Filesystem, IoWorkload,
    IopingWorkload, OrionWorkload, Ramp, Stack, SysbenchWorkload, Volume, Workload,
};
use iostone_model::units::{Bytes, Span};

const VOLUME: Bytes = Bytes(96 << 20);
const FILE: Bytes = Bytes(16 << 20);
/// Long enough that a limit of tens of MB/s can be told.
const DIRECT_READ: Bytes = Bytes(64 << 20);
/// Of what a volume holds, a filesystem keeps some for itself.
const ROOM_OF_A_FILESYSTEM: u64 = 8;

/// A rehearsal of an experiment.
pub(super) fn shrink(experiment: &mut Experiment) {
    experiment.decide.blocks.min = 1;
    experiment.decide.blocks.max = 1;
    experiment.trials.warmups = 0;
    experiment.trials.settle = experiment.trials.settle.min(Span(Duration::from_millis(100)));
    for configuration in &mut experiment.configurations {
        shrink_workload(configuration);
        shrink_volume(configuration);
    }
}

/// Sizes and times are only ever made smaller; what cannot be told, a program's or a job file's, stays as it is.
fn shrink_workload(configuration: &mut Configuration) {
    let bare = configuration.stack.filesystem == Filesystem::None
        && matches!(configuration.stack.volume, Volume::Block(_));
    match &mut configuration.workload {
        Workload::Io(io) => shrink_io(io, bare),
        Workload::Command(_) | Workload::Fio(_) => {}
        Workload::Dbench(dbench) => shrink_dbench(dbench),
        Workload::Bonnie(bonnie) => shrink_bonnie(bonnie),
        Workload::Dd(dd) => shrink_dd(dd),
        Workload::Sysbench(sysbench) => shrink_sysbench(sysbench),
        Workload::Ioping(ioping) => shrink_ioping(ioping),
        Workload::Orion(orion) => shrink_orion(orion),
    }
}

/// A volume that is still large enough for what the workload keeps on it, where that is known.
fn shrink_volume(configuration: &mut Configuration) {
    let fewest = smallest_filesystem(&configuration.stack);
    let (size, several) = match &mut configuration.stack.volume {
        Volume::Loop(volume) => (&mut volume.size, 1),
        Volume::Emulated(volume) => (&mut volume.size, u64::from(volume.count.max(1))),
        Volume::Block(_) | Volume::Directory(_) => return,
    };
    let smallest = match configuration.workload.room() {
        // The files of a job or of another loadfile may need all of it.
        None if !matches!(configuration.workload, Workload::Command(_)) => return,
        room => {
            let room = room.unwrap_or_default().0;
            Bytes(room.saturating_add(room / ROOM_OF_A_FILESYSTEM).next_multiple_of(1 << 20))
        }
    };
    let smallest = smallest.max(fewest);
    // An array has room for the workload in all of its volumes together.
    let each = smallest.0.div_ceil(several).next_multiple_of(1 << 20);
    *size = (*size).min(Bytes(each).max(VOLUME));
}

/// What mkfs takes at least: mkfs.xfs 300 MiB, and over a stripe, where it wants a log of 64 MiB, more than 512 MiB
/// (xfsprogs 5.19 and later). A little is the array's own.
fn smallest_filesystem(stack: &Stack) -> Bytes {
    match &stack.filesystem {
        Filesystem::Xfs(_) if stack.array.is_none() => Bytes(304 << 20),
        Filesystem::Xfs(_) => Bytes(576 << 20),
        Filesystem::None | Filesystem::Ext4(_) | Filesystem::Btrfs(_) => VOLUME,
    }
}

fn shrink_io(io: &mut IoWorkload, bare: bool) {
    // A part of the file for each thread, in whole blocks, as the engine takes them.
    let block = io.block_sizes().largest().0.max(1);
    let held = block.saturating_mul(u64::from(io.iodepth.max(io.numjobs)));
    let least = Bytes(FILE.0.next_multiple_of(block).max(held));
    if !bare || io.size.is_some() {
        io.size = io.size.map(|size| size.min(least));
    }
    if !bare {
        io.offset = io.offset.min(FILE);
    }
    io.io_size = io.io_size.map(|size| size.min(least));
    io.runtime = io.runtime.map(|runtime| runtime.min(Span(Duration::from_secs(1))));
    if let Ramp::Fixed(ramp) = io.ramp_time {
        io.ramp_time = Ramp::Fixed(ramp.min(Span(Duration::from_millis(200))));
    }
}

/// dbench is never run for less than ten seconds: its figure is that of the last whole second.
fn shrink_dbench(dbench: &mut DbenchWorkload) {
    dbench.seconds = dbench.seconds.min(10);
    if dbench.warm_up.is_some() {
        // What dbench 4, which cannot be told, does by itself.
        dbench.warm_up = Some(dbench.warm_up_seconds().min(dbench.seconds / 5));
    }
}

/// The file is small and memory is said to be smaller, so that bonnie++ does not refuse it; the page cache then serves
/// its reads, and phases may be too fast to time.
fn shrink_bonnie(bonnie: &mut BonnieWorkload) {
    if bonnie.size != Some(Bytes(0)) {
        bonnie.size = Some(bonnie.size.unwrap_or(FILE).min(FILE));
        bonnie.memory = Some(Bytes(0));
    }
    bonnie.files = Some(bonnie.files.unwrap_or(1).min(1));
    bonnie.file_max = bonnie.file_max.map(|size| size.min(Bytes(4096)));
    bonnie.file_min = bonnie.file_min.map(|size| size.min(Bytes(4096)));
    bonnie.seeks = Some(bonnie.seeks.unwrap_or(512).min(512));
    bonnie.runs = 1;
    bonnie.direct_read = bonnie.direct_read.map(|size| size.min(DIRECT_READ));
}

fn shrink_dd(dd: &mut DdWorkload) {
    let least = Bytes(FILE.0.next_multiple_of(dd.bs.0.max(1)));
    dd.size = dd.size.min(least);
}

fn shrink_sysbench(sysbench: &mut SysbenchWorkload) {
    /// sysbench's own default of 128 would leave files of 128 KiB.
    const FILES: u32 = 8;
    sysbench.seconds = sysbench.seconds.min(1);
    sysbench.warm_up = sysbench.warm_up.map(|seconds| seconds.min(1));
    if sysbench.file_test_mode.is_some() {
        let files = sysbench.file_num.unwrap_or(FILES).min(FILES);
        let block = sysbench.file_block_size.unwrap_or(Bytes(16 << 10)).0.max(1);
        // Whole blocks in every file.
        let least = Bytes(FILE.0.next_multiple_of(block.saturating_mul(u64::from(files.max(1)))));
        sysbench.file_num = Some(files);
        sysbench.file_total_size = Some(sysbench.file_total_size.unwrap_or(least).min(least));
    }
}

fn shrink_ioping(ioping: &mut IopingWorkload) {
    ioping.count = ioping.count.map(|count| count.min(10));
    ioping.runtime = Some(ioping.runtime.unwrap_or_default())
        .filter(|runtime| !runtime.0.is_zero())
        .or(ioping.count.is_none().then_some(Span(Duration::from_secs(1))))
        .map(|runtime| runtime.min(Span(Duration::from_secs(1))));
    let interval = ioping.interval.unwrap_or(Span(Duration::from_secs(1)));
    ioping.interval = Some(interval.min(Span(Duration::from_millis(20))));
    ioping.working_set = ioping.working_set.map(|size| size.min(FILE.max(ioping.size.unwrap_or_default())));
}

/// Every point of the matrix, because each is a figure, in some ten seconds together; and files that still hold all I/Os
/// in flight.
fn shrink_orion(orion: &mut OrionWorkload) {
    const MATRIX: Duration = Duration::from_secs(10);
    const SHORTEST: Duration = Duration::from_millis(100);
    const LONGEST: Duration = Duration::from_secs(1);
    // A command line counts whole seconds.
    *orion = orion.with_keys();
    let Ok(test) = orion.test() else { return };
    let points = u32::try_from(orion.points().len().max(1)).unwrap_or(u32::MAX);
    // In whole tenths of a second, as rates are kept.
    let tenths = u64::try_from((MATRIX / points).as_millis() / 100).unwrap_or(0);
    let point = Span(Duration::from_millis(tenths * 100).clamp(SHORTEST, LONGEST));
    orion.duration = Some(test.duration.min(point));
    orion.until = None;
    // Two minutes before each sequential point when left out.
    orion.cache_size = Some(test.cache_size.unwrap_or(FILE).min(FILE));
    let flight = orion.in_flight(&test).0.div_ceil(u64::from(orion.files.max(1)));
    let whole = test.stripe.0.max(test.size_large.0).max(1);
    let least = Bytes(FILE.0.max(flight.saturating_mul(2)).next_multiple_of(whole).next_multiple_of(4096));
    orion.size = orion.size.map(|size| size.min(least));
}

#[cfg(test)]
mod tests {
    use iostone_model::experiment::{EmulatedVolume, read};

    use super::*;

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
            assert_eq!(bonnie.direct_read, Some(DIRECT_READ));
        }
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
        let text = "kind = \"orion\"\narguments = \"-run advanced -num_disks 4 -duration 60 -write 20\"\n\
                    files = 2\nsize = \"10GiB\"";
        let experiment = rehearsed(text, "curve");
        let Workload::Orion(orion) = &experiment.configurations[0].workload else { panic!("orion") };
        assert_eq!((orion.points().len(), orion.size), (29, Some(FILE)));
        assert!(orion.asked_time().unwrap() < Duration::from_secs(12));
        let experiment = rehearsed("kind = \"ioping\"", "latency_mean");
        let Workload::Ioping(ioping) = &experiment.configurations[0].workload else { panic!("ioping") };
        assert_eq!(ioping.asked_time(), Some(Duration::from_secs(1)));
        let experiment = rehearsed("kind = \"ioping\"\ncount = 100", "latency_mean");
        let Workload::Ioping(ioping) = &experiment.configurations[0].workload else { panic!("ioping") };
        assert_eq!(ioping.asked_time(), Some(Duration::from_millis(200)));
    }
}
