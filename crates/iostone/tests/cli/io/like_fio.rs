//! The same job files run by fio and by this binary: as many I/Os and bytes job by job, and files of the same names,
//! lengths and allocated sectors, with data at the same offsets.
//!
//! Skipped where fio is not installed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use serde_json::Value;

use super::filled;
use crate::support::Bench;

/// A job's name, its I/Os (read, written), its bytes (read, written).
type Work = (String, [u64; 2], [u64; 2]);

/// A file: name, length, allocated sectors, and where there is data, in units of 512 bytes.
type Laid = (String, u64, u64, Vec<(usize, usize)>);

/// What is in the directory beside the job file.
fn laid(bench: &Bench) -> Vec<Laid> {
    let names = bench.names().into_iter().filter(|name| name != "job.fio");
    let look = |name: String| {
        // What is allocated late is allocated by now.
        fs::File::open(bench.path(&name)).unwrap().sync_all().unwrap();
        let metadata = bench.path(&name).metadata().unwrap();
        let runs = filled(&fs::read(bench.path(&name)).unwrap());
        (name, metadata.len(), metadata.blocks(), runs)
    };
    names.map(look).collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn by_fio(text: &str) -> Option<(Vec<Work>, Vec<Laid>)> {
    let bench = Bench::new();
    bench.write("job.fio", text);
    let mut command = Command::new("fio");
    command.args(["--output-format=json", "--thread", "job.fio"]).current_dir(bench.path(""));
    let output = command.output().ok()?;
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    // Warnings may come before the document.
    let document: Value = serde_json::from_str(&said[said.find('{').unwrap()..]).unwrap();
    let work = document["jobs"].as_array().unwrap().iter().map(|job| {
        let [read, write] = ["read", "write"].map(|direction| &job[direction]);
        (
            job["jobname"].as_str().unwrap().to_owned(),
            [read, write].map(|side| number(&side["total_ios"])),
            [read, write].map(|side| number(&side["io_bytes"])),
        )
    });
    Some((work.collect(), laid(&bench)))
}

fn by_us(text: &str) -> (Vec<Work>, Vec<Laid>) {
    let bench = Bench::new();
    bench.write("job.fio", text);
    let work = super::jobs(&bench, &["job.fio"]).into_iter().map(|job| {
        let [reads, writes, _] = super::ios(&job);
        let [read_bytes, written_bytes, _] = super::bytes(&job);
        (job["name"].as_str().unwrap().to_owned(), [reads, writes], [read_bytes, written_bytes])
    });
    let work = work.collect();
    (work, laid(&bench))
}

/// Jobs whose blocks do not depend on chance: sequences, parts, and random passes that reach everything.
const SAME: &[(&str, &str)] = &[
    (
        "sequences with gaps, backwards and in zones",
        "[global]\nrw=write\nsize=256k\nfallocate=truncate\n[gaps]\nrw=write:4k\n[back]\nrw=write:-8k\nnumber_ios=20\n\
         [zones]\nzonemode=strided\nzonesize=16k\nzonerange=32k\nzoneskip=32k\n",
    ),
    (
        "parts of a file that clones share",
        "[global]\nrw=write\nsize=128k\n[parts]\nfilename=shared\noffset=64k\nnumjobs=3\noffset_increment=256k\n",
    ),
    (
        "several files, in turn and one after the other",
        "[global]\nrw=write\nnrfiles=3\nsize=500k\n[turns]\nio_size=96k\n[eights]\nio_size=96k\n\
         file_service_type=roundrobin:8\n[whole]\nfile_service_type=sequential\nnumber_ios=50\n",
    ),
    (
        "sizes that are no multiple of the block",
        "[global]\nrw=write\n[a]\nsize=1m\nbs=3k\n[b]\nfilesize=100000\nnrfiles=2\nbs=4k\n[c]\nrw=randwrite\n\
         size=999k\nbs=8k\n",
    ),
    (
        "ends by number, by bytes and by loops",
        "[global]\nrw=write\nsize=128k\n[number]\nnumber_ios=10\nfallocate=none\n[more]\nio_size=200k\n[loops]\nloops=3\n\
         [less]\nio_size=40k\nfallocate=keep\n",
    ),
    (
        "random passes without and with other engines",
        "[global]\nsize=512k\n[once]\nrw=randwrite\n[deep]\nrw=randwrite\nioengine=libaio\niodepth=8\ndirect=1\n\
         [mapped]\nrw=randwrite\nioengine=mmap\n[read]\nrw=randread\nbs=16k\n[over]\nrw=write\noverwrite=1\nnumber_ios=3\n",
    ),
    (
        "names by a format and in a directory",
        "[global]\nrw=write\nsize=64k\n[plain]\n[formed]\nfilename_format=$jobname-$jobnum.$filenum.dat\nnrfiles=2\n\
         numjobs=2\n[gone]\nunlink=1\n[two]\nfilename=left:right\n",
    ),
    (
        "one job that reads what another wrote",
        "[global]\nfilename=data\nsize=256k\n[fill]\nrw=write\nend_fsync=1\n[look]\nstonewall\nrw=read\nbs=16k\n\
         [part]\nstonewall\nrw=randwrite\nio_size=64k\n[rest]\nstonewall\nrw=read\noffset=50%\nsize=25%\n",
    ),
    (
        "syncs and sizes by direction",
        "[global]\nsize=256k\n[sync]\nrw=write\nfsync=8\n[sizes]\nrw=write\nbs=4k,16k\n[reads]\nrw=read\nbs=4k,16k\n\
         [every]\nrw=randwrite\nbs=8k\nfdatasync=1\nsync=dsync\n",
    ),
];

#[test]
fn the_same_job_file_does_the_same_work_and_leaves_the_same_files() {
    for (what, text) in SAME {
        let Some((work, files)) = by_fio(text) else {
            return eprintln!("skipped: needs fio");
        };
        let ours = by_us(text);
        assert_eq!(ours.0, work, "{what}");
        assert_eq!(ours.1, files, "{what}");
    }
}

/// Jobs that draw: as much is moved, and the files are the same but for where the data is.
const ALIKE: &[&str] = &[
    "[global]\nsize=1m\n[mix]\nrw=randrw\nrwmixread=70\n[seq]\nrw=rw\nrwmixread=30\nbs=8k\n",
    "[global]\nsize=1m\nrw=randwrite\nfallocate=truncate\n[zipf]\nrandom_distribution=zipf:1.1\nnorandommap\n\
     [some]\nnumber_ios=64\n[half]\nio_size=512k\nnorandommap\n[run]\nrw=randwrite:8\n",
    "[global]\nsize=1m\nrw=randwrite\n[range]\nbsrange=1k-8k\n[split]\nbssplit=4k/50:16k/50\n",
];

#[test]
fn loads_by_chance_move_as_much_and_leave_files_of_the_same_form() {
    for text in ALIKE {
        let Some((work, files)) = by_fio(text) else {
            return eprintln!("skipped: needs fio");
        };
        let (our_work, our_files) = by_us(text);
        let moved = |work: &[Work]| -> Vec<(String, u64)> {
            work.iter().map(|(name, _, bytes)| (name.clone(), bytes.iter().sum())).collect()
        };
        assert_eq!(moved(&our_work), moved(&work), "{text}");
        let form = |files: &[Laid]| -> Vec<(String, u64)> {
            files.iter().map(|(name, length, ..)| (name.clone(), *length)).collect()
        };
        assert_eq!(form(&our_files), form(&files), "{text}");
    }
}
