//! The same job file run by fio and by the engine: as many I/Os and bytes, and files of the same sizes.
//!
//! Skipped where fio is not installed.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use iostone_engine::{Transfers, prepare, run_together};
use iostone_fio::{MachineFacts, OnDisk, Planning, Request, World, plan, read};

/// What was done: I/Os and bytes of reads and writes, and the sizes of the files that are there.
#[derive(Debug, PartialEq, Eq)]
struct Work {
    reads: (u64, u64),
    writes: (u64, u64),
    files: Vec<(String, u64)>,
}

fn files_in(folder: &Path) -> Vec<(String, u64)> {
    let mut files: Vec<(String, u64)> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .flatten()
        .map(|entry| {
            (entry.file_name().to_string_lossy().into_owned(), entry.metadata().map_or(0, |data| data.len()))
        })
        .collect();
    files.sort();
    files
}

fn text_in(folder: &Path, options: &str) -> String {
    format!("[global]\ndirectory={}\nthread\n{options}\n", folder.display())
}

fn by_fio(options: &str) -> Option<Work> {
    let (folder, beside) = (tempfile::tempdir().ok()?, tempfile::tempdir().ok()?);
    let path = beside.path().join("job.fio");
    std::fs::write(&path, text_in(folder.path(), options)).ok()?;
    let output = Command::new("fio")
        .arg("--output-format=json")
        .arg(&path)
        .current_dir(beside.path())
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    let json = &text[text.find('{')?..];
    // A look at the figures alone: each block of a direction names its bytes, and its I/Os further on.
    let sum = |direction: &str, figure: &str| -> u64 {
        let block = format!("\"{direction}\" : {{");
        let blocks = json.split(&block).skip(1);
        let figure = format!("\"{figure}\" : ");
        let numbers = blocks.filter_map(|block| {
            let (_, rest) = block.split_once(&figure)?;
            rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse::<u64>().ok()
        });
        numbers.sum()
    };
    let both = |direction| (sum(direction, "total_ios"), sum(direction, "io_bytes"));
    Some(Work { reads: both("read"), writes: both("write"), files: files_in(folder.path()) })
}

fn by_engine(options: &str) -> Work {
    let (folder, beside) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let path = beside.path().join("job.fio");
    std::fs::write(&path, text_in(folder.path(), options)).expect("the folder is new");
    let machine = MachineFacts { page_bytes: 4096, memory_mib: 1024, cpus: 1 };
    let world = World { files: &OnDisk, variable: &|_| None, machine };
    let names = [path.to_string_lossy().into_owned()];
    let jobs = read(&Request { files: &names, ..Request::default() }, &world).expect("it is read");
    let planned =
        plan(&jobs, &Planning { targets: &OnDisk, lenient: false, entropy: 1 }).expect("it is planned");
    let (mut reads, mut writes) = ((0, 0), (0, 0));
    for phase in planned.phases {
        let prepared = phase.jobs.iter().map(|planned| prepare(&planned.job).expect("it can run")).collect();
        let outcomes = run_together(prepared, &AtomicBool::new(false), &mut |_| ()).expect("it runs");
        for outcome in outcomes {
            assert!(outcome.error.is_none(), "{:?}", outcome.error);
            let damage = outcome.verify.map_or(0, |verify| verify.mismatch_count);
            assert_eq!(damage, 0, "{options}");
            let add =
                |sum: &mut (u64, u64), done: &Transfers| *sum = (sum.0 + done.ios, sum.1 + done.bytes.0);
            add(&mut reads, &outcome.reads);
            add(&mut writes, &outcome.writes);
        }
    }
    Work { reads, writes, files: files_in(folder.path()) }
}

#[test]
fn jobs_bound_by_size_do_the_work_that_fio_does() {
    for options in [
        "[j]\nrw=write\nsize=1m\n",
        "[j]\nrw=read\nsize=1m\nbs=16k\n",
        "[j]\nrw=randread\nsize=2m\n",
        "[j]\nrw=randwrite\nsize=2m\nnorandommap\n",
        "[j]\nrw=write\nsize=1m\nnrfiles=4\n",
        "[j]\nrw=write\nsize=1m\nnrfiles=3\n",
        "[j]\nrw=read\nsize=1000000\n",
        "[j]\nrw=write\nsize=1m\nloops=3\n",
        "[j]\nrw=read\nsize=1m\nio_size=3m\n",
        "[j]\nrw=randwrite\nsize=4m\nio_size=1m\n",
        "[j]\nrw=write\nsize=1m\nnumber_ios=10\n",
        "[j]\nrw=write\nfilesize=256k\nnrfiles=3\n",
        "[j]\nrw=write\nsize=1m\nnumjobs=3\n",
        "[j]\nrw=write\nfilename=x\nsize=1m\nnumjobs=2\noffset_increment=1m\n",
        "[j]\nrw=write\nfilename=x:y\nsize=1m\noffset=64k\n",
        "[j]\nrw=read:4k\nsize=1m\n",
        "[j]\nrw=write\nsize=1m\nfallocate=none\nfsync=16\n",
        "[j]\nrw=write\nsize=1m\nfallocate=truncate\nend_fsync=1\n",
        "[j]\nrw=write\nsize=1m\noverwrite=1\nbs=64k\n",
        "[j]\nrw=randwrite\nsize=1m\nioengine=libaio\niodepth=8\n",
        "[a]\nrw=write\nfilename=x\nsize=1m\n[b]\nstonewall\nrw=randread\nfilename=x\nsize=1m\n",
        "[a]\nrw=write\nfilename=x\nsize=1m\n[b]\nwait_for=a\nrw=read\nfilename=x\n",
    ] {
        let Some(theirs) = by_fio(options) else {
            return eprintln!("skipped: needs fio");
        };
        assert_eq!(by_engine(options), theirs, "{options}");
    }
}

#[test]
fn files_larger_than_the_size_do_the_work_that_fio_does() {
    for options in [
        "[j]\nfilename=f\nsize=256k\nfilesize=4m\nrw=write\n",
        "[j]\nfilename=f\nsize=250k\nfilesize=4m\nrw=write\n",
        "[j]\nfilename=f\nsize=256k\nfilesize=4m\nrw=randread\n",
        "[j]\nfilename=f\nsize=256k\nfilesize=4m\nrw=randwrite\nloops=2\n",
        "[j]\nfilename=f\nsize=256k\nfilesize=4m\nrw=write\nio_size=1m\n",
        "[j]\nfilename=f\nsize=4m\nfilesize=256k\nrw=randread\n",
        "[j]\nnrfiles=3\nfilesize=64k\nsize=100k\nrw=randread\n",
        "[j]\nnrfiles=3\nfilesize=64k\nsize=1m\nrw=read\n",
        "[j]\nfilename=f\nsize=256k\nfilesize=4m\nnumjobs=4\noffset_increment=512k\nrw=write\n",
        "[j]\nfilename=f\noffset=64k\nsize=64k\nfilesize=256k\nrw=write\n",
        "[j]\nfilename=f\nsize=1m\nfilesize=2m\nrw=write\nverify=crc32c\nnumjobs=2\noffset_increment=1m\ndo_verify=0\n",
    ] {
        let Some(theirs) = by_fio(options) else {
            return eprintln!("skipped: needs fio");
        };
        assert_eq!(by_engine(options), theirs, "{options}");
    }
}

#[test]
fn clones_that_write_parts_of_one_file_find_no_damage() {
    let work = by_engine(
        "[j]\nfilename=f\nsize=1m\nfilesize=2m\nrw=write\nverify=crc32c\nnumjobs=2\noffset_increment=1m\n",
    );
    assert_eq!((work.writes, work.files), ((512, 2 << 20), vec![("f".to_owned(), 2 << 20)]));
}

#[test]
fn sequences_with_gaps_end_where_fio_ends_them() {
    for options in [
        "[j]\nsize=1m\nrw=write:4k\nloops=2\n",
        "[j]\nsize=1m\nrw=read:4k\nloops=3\n",
        "[j]\nsize=1m\nrw=read:8k\n",
        "[j]\nsize=1000k\nrw=read:8k\n",
        "[j]\nsize=100k\nrw=write:8k\n",
        "[j]\nsize=1m\nrw=read:8k\nloops=2\n",
        "[j]\nsize=1m\nrw=read:8k\nio_size=1m\n",
        "[j]\nsize=1m\nrw=read:12k\n",
        "[j]\nsize=1m\nrw=read:12k\nruntime=60\n",
        "[j]\nsize=1m\nrw=read:4k\nbs=16k\n",
        "[j]\nsize=1m\nrw=read:-8k\nloops=2\n",
        "[j]\nsize=300k\nrw=read:8k\nnrfiles=3\n",
        "[j]\nsize=1m\nrw=read:8k\nnrfiles=3\n",
        "[j]\nsize=1m\noffset=64k\nrw=read:8k\n",
        "[j]\nsize=1m\noffset=64k\nrw=read:4k\n",
        "[j]\nsize=256k\nfilesize=1m\nrw=read:8k\n",
        "[a]\nrw=write\nfilename=x\nsize=4m\n[b]\nstonewall\nrw=read:4k\nfilename=x\nsize=1m\n",
    ] {
        let Some(theirs) = by_fio(options) else {
            return eprintln!("skipped: needs fio");
        };
        assert_eq!(by_engine(options), theirs, "{options}");
    }
}

#[test]
fn mixed_jobs_move_as_much_in_all_as_in_fio() {
    for options in ["[j]\nrw=randrw\nsize=4m\n", "[j]\nrw=rw\nrwmixread=70\nsize=4m\nbs=8k\n"] {
        let Some(theirs) = by_fio(options) else {
            return eprintln!("skipped: needs fio");
        };
        let ours = by_engine(options);
        let all = |work: &Work| (work.reads.0 + work.writes.0, work.reads.1 + work.writes.1);
        assert_eq!((all(&ours), &ours.files), (all(&theirs), &theirs.files), "{options}");
    }
}

#[test]
fn a_direction_without_a_rate_goes_on_while_the_other_waits() {
    // One read a second: if the writes waited for their share of reads this took minutes.
    for rate in ["rate_iops=1,", "rate_iops=1,0", "rate=4k,"] {
        let work = by_engine(&format!("[j]\nrw=randrw\nsize=1m\n{rate}\n"));
        assert_eq!(work.reads.0 + work.writes.0, 256, "{rate}");
        assert!(work.reads.0 < 64, "{rate}: {}", work.reads.0);
    }
}
