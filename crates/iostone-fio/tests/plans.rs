//! Jobs of fio as jobs of the engine.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::support::read_text;
use iostone_engine::{Checksum, Content, Preparation, Rate};
use iostone_fio::{Look, Plan, PlannedJob, Planning, Targets, plan};
use iostone_model::load::BlockSizes;
use iostone_model::load::{IoEngine, RateProcess, RequestFlag};
use iostone_model::units::{Bytes, BytesPerSecond, Span};

/// Targets by path.
#[derive(Default)]
struct Known(HashMap<&'static str, Look>);

impl Targets for Known {
    fn look(&self, path: &str) -> Look {
        self.0.get(path).copied().unwrap_or(Look::Missing)
    }
}

const MIB: u64 = 1 << 20;

fn try_plan(text: &str, lenient: bool) -> Result<Plan, Vec<String>> {
    let known = Known(HashMap::from([
        ("/dev/disk", Look::Device(100 * MIB)),
        ("/dev/other", Look::Device(50 * MIB)),
        ("old", Look::File(10 * MIB)),
        ("/dev/null", Look::Other),
    ]));
    let told =
        |problems: Vec<iostone_fio::Problem>| problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    let jobs = read_text(text).map_err(told)?;
    plan(&jobs, &Planning { targets: &known, lenient, entropy: 7 }).map_err(told)
}

fn planned(text: &str) -> Vec<PlannedJob> {
    let plan = try_plan(text, false).unwrap_or_else(|problems| panic!("{problems:?}"));
    plan.phases.into_iter().flat_map(|phase| phase.jobs).collect()
}

fn job(options: &str) -> iostone_engine::Job {
    planned(&format!("[j]\n{options}\n")).remove(0).job
}

fn refusal(text: &str) -> String {
    try_plan(text, false).expect_err("it is refused").remove(0)
}

fn targets(job: &iostone_engine::Job) -> Vec<&str> {
    job.targets.iter().map(|target| target.to_str().expect("paths are text")).collect()
}

#[test]
fn clones_are_jobs_with_files_and_offsets_of_their_own() {
    let made = planned("[j]\nnumjobs=3\nsize=1m\nnrfiles=2\ndirectory=/a:/b\n");
    assert_eq!(targets(&made[0].job), ["/a/j.0.0", "/a/j.0.1"]);
    assert_eq!(targets(&made[1].job), ["/b/j.1.0", "/b/j.1.1"]);
    assert_eq!(targets(&made[2].job), ["/a/j.2.0", "/a/j.2.1"]);
    assert!(made.iter().all(|clone| clone.job.numjobs == 1 && clone.job.size == Some(Bytes(MIB / 2))));
    let seeds: Vec<u64> = made.iter().map(|clone| clone.job.seed).collect();
    assert!(seeds[0] != seeds[1] && seeds[1] != seeds[2]);
    assert_eq!(
        seeds,
        planned("[j]\nnumjobs=3\nsize=1m\n").iter().map(|clone| clone.job.seed).collect::<Vec<_>>()
    );
    let made = planned("[j]\nnumjobs=2\nfilename=/dev/disk\noffset=1m\noffset_increment=2m\nsize=2m\n");
    assert_eq!(made.iter().map(|clone| clone.job.offset.0).collect::<Vec<_>>(), [MIB, 3 * MIB]);
    assert!(made.iter().all(|clone| targets(&clone.job) == ["/dev/disk"]));
}

#[test]
fn a_job_called_after_a_device_means_the_device() {
    let made = planned("[/dev/disk]\nrw=read\n");
    assert_eq!((targets(&made[0].job), made[0].job.size), (vec!["/dev/disk"], Some(Bytes(100 * MIB))));
}

#[test]
fn sizes_follow_fio() {
    assert_eq!(job("filename=a:b:c\nsize=10m").size, Some(Bytes(10 * MIB / 3)));
    assert_eq!(job("filename=/dev/disk\nsize=50%").size, Some(Bytes(50 * MIB)));
    assert_eq!(job("filename=/dev/disk\noffset=10%\nbs=1m").offset, Bytes(10 * MIB));
    assert_eq!(job("filename=/dev/disk\noffset=10%\nbs=1m").size, Some(Bytes(90 * MIB)));
    assert_eq!(job("filename=old").size, Some(Bytes(10 * MIB)));
    assert_eq!(job("filename=old\nsize=1m\nbs=3k").size, Some(Bytes(MIB)));
    assert_eq!(job("filesize=2m\nnrfiles=4\nrw=write").size, Some(Bytes(2 * MIB)));
    assert_eq!(job("filename=/dev/disk:/dev/other").size, None);
    assert!(refusal("[j]\nrw=read\n").contains("`size` is required: `j.0.0` does not exist or has no size"));
    assert!(refusal("[j]\nfilename=/dev/null\n").contains("`size` is required"));
    assert_eq!(
        refusal("[j]\nfilename=old\noffset=20m\n"),
        "job.fio:3:1: `old` ends before the region begins"
    );
    assert!(refusal("[j]\nsize=1k\n").contains("less than one block of 4096 bytes"));
    assert!(refusal("[j]\nfilename=a:b\nfilesize=1m-2m\n").contains("would differ in size"));
    assert!(refusal("[j]\nsize=50%\nfilename=new\n").contains("`size` is required"));
}

#[test]
fn zones_without_their_mode_are_refused() {
    for options in ["zonesize=64k", "zonesize=64k\nzonemode=none"] {
        let why = refusal(&format!("[j]\nsize=1m\n{options}\nzoneskip=64k\n"));
        assert_eq!(why, "job.fio:3:1: `zonesize` needs `zonemode=strided`, and it is `none`");
    }
    let ignored = read_text("[j]\nsize=1m\nzoneskip=64k\n").unwrap().remarks;
    assert_eq!(ignored[0].text, "`zoneskip` means nothing without a `zonesize`");
}

#[test]
fn a_region_is_clipped_to_its_device_with_a_remark() {
    let plan = try_plan("[j]\nfilename=/dev/disk\noffset=90m\nsize=20m\n", false).unwrap();
    assert_eq!(plan.phases[0].jobs[0].job.size, Some(Bytes(10 * MIB)));
    let remark = &plan.remarks[0];
    assert_eq!(remark.place.to_string(), "job.fio:4:1");
    assert_eq!(remark.text, "`/dev/disk` has 10485760 bytes there, which is all that is used");
    assert_eq!(job("filename=/dev/disk:/dev/other\nsize=1g").size, None);
    assert_eq!(job("filename=/dev/disk\nfilesize=1g\nsize=1m").io_size, Some(Bytes(MIB)));
}

#[test]
fn clones_that_verify_keep_out_of_each_others_way() {
    let clones = "[j]\nfilename=f\nnumjobs=2\nverify=crc32c\nsize=1m\n";
    planned(&format!("{clones}rw=write\nfilesize=2m\noffset_increment=1m\n"));
    planned(&format!("{clones}rw=randwrite\noffset_increment=1m\n"));
    for meeting in ["rw=randwrite\nfilesize=2m\noffset_increment=1m", "rw=write\noffset_increment=512k"] {
        let why = refusal(&format!("{clones}{meeting}\n"));
        assert!(why.contains("find each other's there"), "{why}");
    }
}

#[test]
fn time_amount_and_loops_end_a_job_as_in_fio() {
    let span = |seconds| Some(Span(Duration::from_secs(seconds)));
    let ends = |options: &str| {
        let job = job(&format!("filename=old\nsize=1m\n{options}"));
        (job.runtime, job.io_size.map(|bytes| bytes.0), job.ios)
    };
    assert_eq!(ends(""), (None, None, None));
    assert_eq!(ends("runtime=5"), (span(5), Some(MIB), None));
    assert_eq!(ends("runtime=5\ntime_based"), (span(5), None, None));
    assert_eq!(ends("time_based"), (None, None, None));
    assert_eq!(ends("loops=3"), (None, Some(3 * MIB), None));
    assert_eq!(ends("io_size=3m"), (None, Some(3 * MIB), None));
    assert_eq!(ends("io_size=50%\nloops=2"), (None, Some(MIB), None));
    assert_eq!(ends("number_ios=10\nloops=2"), (None, Some(2 * MIB), Some(20)));
    assert_eq!(ends("rw=trimwrite\nio_size=64k"), (None, Some(128 << 10), None));
    // The file goes on behind the region, so that a pass ends with the region, as in fio.
    assert_eq!(ends("rw=read:4k\nloops=2"), (None, Some(MIB), None));
    assert_eq!(job("size=1m\nrw=read:4k\nloops=2").io_size, Some(Bytes(2 * MIB)));
}

#[test]
fn the_shape_is_handed_on() {
    let made = job(
        "size=64m\nrw=randrw:8\nrw_sequencer=identical\nrwmixwrite=30\nbs=4k,8k\npercentage_random=50,60\n\
         random_distribution=zipf:1.2:0.5\nnorandommap\nfile_service_type=sequential:4\niodepth=16\nioengine=libaio\n\
         iodepth_batch=4\niodepth_low=8\ndirect=1",
    );
    assert_eq!((made.rwmixread, made.walk.run_length, made.walk.repeat_place), (70, 8, true));
    assert_eq!(
        (&made.bs.read, &made.bs.write),
        (&BlockSizes::Fixed(Bytes(4096)), &BlockSizes::Fixed(Bytes(8192)))
    );
    assert_eq!((made.walk.percentage_random.read, made.walk.percentage_random.write), (50, 60));
    assert_eq!((made.iodepth, made.batch, made.iodepth_low, made.direct), (16, 4, Some(8), true));
    assert_eq!((made.engine, made.service.every, made.walk.revisits), (IoEngine::IoUring, 4, true));
    let split = job("size=1m\nbssplit=4k/10:64k/90").bs.read;
    assert_eq!(split, BlockSizes::Split("4KiB/10:64KiB/90".parse().unwrap()));
    let strided = job("size=64m\nzonemode=strided\nzonesize=1m\nzoneskip=3m").walk.strides.unwrap();
    assert_eq!((strided.range, strided.io, strided.skip), (Bytes(MIB), Bytes(MIB), Bytes(3 * MIB)));
    let aligned = job("size=64m\nrw=randread\nbs=4k\nblockalign=8k").walk;
    assert_eq!((aligned.align, aligned.revisits), (Some(Bytes(8192)), true));
    assert_eq!(
        job("size=1m\nbs=4k,8k\nbs_is_seq_rand=1\nrw=randread").bs.read,
        BlockSizes::Fixed(Bytes(8192))
    );
}

#[test]
fn pace_and_durability_are_handed_on() {
    let made = job(
        "size=64m\nrw=randrw\nrate=1m,\nrate_process=poisson\nrate_min=512k\nthinktime=2ms\nthinktime_blocks=8\n\
         max_latency=1s\nfsync=32\nsync=dsync\nend_fsync=1\nsync_file_range=write:8\nss=iops:2%\nss_dur=10",
    );
    assert_eq!(made.pace.rate.read, Some(Rate::Bytes(BytesPerSecond(1_048_576.0))));
    assert_eq!((made.pace.rate.write, made.pace.arrivals), (None, RateProcess::Poisson));
    assert_eq!(made.least_rate.unwrap().cycle, Span(Duration::from_secs(1)));
    assert_eq!(made.think.unwrap().every, 8);
    assert_eq!(
        (made.fsync, made.end_fsync, made.sync_file_range.map(|sync| sync.every)),
        (32, true, Some(8))
    );
    assert_eq!(made.steady.unwrap().over, Span(Duration::from_secs(10)));
    assert_eq!(job("size=1m\nrw=read\nfsync=4\nsync=1").fsync, 0);
    let flags = job("size=1m\nioengine=pvsync2\nhipri\nnowait=1\nuncached=1").flags;
    assert_eq!(flags, [RequestFlag::Hipri, RequestFlag::Nowait, RequestFlag::Dontcache]);
}

#[test]
fn files_are_prepared_as_fio_lays_them_out() {
    for (options, preparation) in [
        ("rw=read", Preparation::Fill),
        ("rw=randrw", Preparation::Fill),
        ("rw=write", Preparation::Allocate),
        ("rw=write\nfallocate=none", Preparation::Leave),
        ("rw=write\nfallocate=keep", Preparation::Reserve),
        ("rw=write\nfallocate=truncate", Preparation::Extend),
        ("rw=write\noverwrite=1", Preparation::Fill),
        ("rw=read\ncreate_on_open=1", Preparation::Leave),
    ] {
        assert_eq!(job(&format!("size=1m\n{options}")).preparation, preparation, "{options}");
    }
    assert!(refusal("[j]\nsize=1m\nallow_file_create=0\n").contains("may not be made"));
}

#[test]
fn what_is_written_and_checked_is_handed_on() {
    let made =
        job("size=1m\nrw=write\nverify=md5\nverify_fatal=1\nverify_backlog=64\nverify_interval=512\nbs=4k");
    let verify = made.verify.unwrap();
    assert_eq!(
        (verify.checksum, verify.fatal, verify.backlog, verify.unit),
        (Checksum::Sha256, true, 64, Some(Bytes(512)))
    );
    let pattern = job("size=1m\nrw=write\nverify_pattern=0xaa55").verify.unwrap();
    assert_eq!(pattern.checksum, Checksum::Pattern(vec![0xaa, 0x55]));
    let both = job("size=1m\nrw=write\nverify=meta\nverify_pattern=0xaa55");
    assert_eq!(both.data.content, Content::Pattern(vec![0xaa, 0x55]));
    assert_eq!(job("size=1m\nrw=write\nzero_buffers").data.content, Content::Zeros);
    assert_eq!(job("size=1m\nrw=write\nscramble_buffers=0").data.content, Content::Same);
    let ledger = job("size=1m\nrw=write\nverify=crc32c\nverify_state_save=1").verify.unwrap().ledger;
    assert_eq!(ledger, Some(PathBuf::from("local-j-0-verify.ledger")));
    assert!(refusal("[j]\nsize=1m\nrw=write\nverify=pattern\nverify_pattern=%o\n").contains("job.fio:5:1"));
    assert!(
        refusal("[j]\nfilename=x\nsize=1m\nrw=write\nverify=crc32c\nnumjobs=2\n").starts_with("job.fio:6:1")
    );
}

#[test]
fn stonewalls_and_waits_make_phases_and_groups() {
    let shape = |text: &str| {
        let plan = try_plan(text, false).unwrap();
        let name = |job: &PlannedJob| format!("{}{}", job.name, job.group);
        plan.phases
            .iter()
            .map(|phase| phase.jobs.iter().map(name).collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    let head = "[global]\nsize=1m\n";
    assert_eq!(shape(&format!("{head}[a]\n[b]\n[c]\nstonewall\n[d]\n")), ["a0 b0", "c1 d1"]);
    assert_eq!(shape(&format!("{head}stonewall\n[a]\n[b]\n[c]\nnew_group\n")), ["a0", "b1", "c2"]);
    assert_eq!(
        shape(&format!("{head}[a]\n[b]\nwait_for=a\n[c]\nwait_for=b\nnew_group\n")),
        ["a0", "b0", "c1"]
    );
    let mixed = format!("{head}[a]\n[b]\n[c]\nwait_for=a\n");
    assert!(
        try_plan(&mixed, false).unwrap_err()[0].contains("cannot wait for `a` alone while `b` may run on")
    );
    assert!(planned(&format!("{head}[a]\n[b]\nexitall\n")).iter().all(|job| job.job.exit_all));
}

#[test]
fn processors_are_shared_or_split() {
    let cpus = |options: &str| {
        let made = planned(&format!("[j]\nsize=1m\nnumjobs=3\ncpus_allowed=2,4\n{options}\n"));
        made.into_iter().map(|clone| clone.job.cpus).collect::<Vec<_>>()
    };
    assert_eq!(cpus(""), [vec![2, 4], vec![2, 4], vec![2, 4]]);
    assert_eq!(cpus("cpus_allowed_policy=split"), [vec![2], vec![4], vec![2]]);
}

#[test]
fn what_the_engine_cannot_do_is_refused_at_its_line_or_dropped() {
    for (text, place) in [
        ("[j]\nsize=1m\nopenfiles=1\nnrfiles=2\n", "job.fio:3:1"),
        ("[j]\nsize=1m\nrw=randrw\ncontinue_on_error=read\n", "job.fio:4:1"),
        ("[j]\nsize=1m\nwrite_bw_log=x\n", "job.fio:3:1"),
        ("[j]\nsize=1m\nwrite_bw_log=x\nlog_avg_msec=50\n", "job.fio:3:1"),
        ("[j]\nsize=1m\nrw=randrw\nmax_latency=1,2\n", "job.fio:4:1"),
        ("[j]\nfilename=-\nsize=1m\n", "job.fio:2:1"),
        ("[j]\nsize=1m\niodepth=100000\nioengine=libaio\n", "job.fio:3:1"),
        ("[j]\nsize=4g\nbs=2g\n", "job.fio:3:1"),
    ] {
        assert!(refusal(text).starts_with(place), "{}", refusal(text));
    }
    let plan = try_plan("[j]\nsize=1m\nwrite_bw_log=x\n", true).unwrap();
    assert_eq!((plan.dropped[0].option.name, plan.phases.len()), ("write_bw_log", 1));
}
