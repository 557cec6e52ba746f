//! fio's own examples: each is read and planned, or refused at a line for a reason.
//!
//! They are not kept here (their licence is another). The test reads them from the directory that
//! `IOSTONE_FIO_EXAMPLES` names, or from where a package may have put them, and is skipped where there are none.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use iostone_fio::{Look, MachineFacts, OnDisk, Planning, Request, Targets, World, plan, read};

/// What becomes of an example.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Expected {
    /// It is planned to the end.
    Planned,
    /// It is refused first at this line, because of this word.
    Refused(u32, &'static str),
}

use Expected::{Planned, Refused};

const EXAMPLES: &[(&str, Expected)] = &[
    ("1mbs_clients.fio", Planned),
    ("aio-read.fio", Planned),
    ("atomic-verify.fio", Refused(34, "offset_increment")),
    ("backwards-read.fio", Planned),
    ("basic-verify.fio", Planned),
    ("butterfly.fio", Refused(11, "flow")),
    ("cmdprio-bssplit.fio", Refused(6, "log_prio")),
    ("cmdprio-percentage.fio", Refused(8, "log_prio")),
    ("cpp_null.fio", Refused(6, "ioengine")),
    ("cpuio.fio", Refused(2, "ioengine")),
    ("cross-stripe-verify.fio", Planned),
    ("dedupe-global.fio", Refused(47, "dedupe_mode")),
    ("dev-dax.fio", Refused(3, "ioengine")),
    ("dfs.fio", Refused(2, "ioengine")),
    ("dircreate-ioengine.fio", Refused(15, "ioengine")),
    ("dirdelete-ioengine.fio", Refused(8, "ioengine")),
    ("dirstat-ioengine.fio", Refused(7, "ioengine")),
    ("disk-zone-profile.fio", Refused(17, "log_offset")),
    ("e4defrag.fio", Refused(2, "ioengine")),
    ("e4defrag2.fio", Refused(6, "ioengine")),
    ("enospc-pressure.fio", Refused(17, "ignore_error")),
    ("example_latency_steadystate.fio", Refused(22, "steadystate")),
    ("exec.fio", Refused(6, "ioengine")),
    ("exitwhat.fio", Refused(15, "exitall")),
    ("falloc.fio", Refused(2, "ioengine")),
    ("filecreate-ioengine.fio", Refused(15, "ioengine")),
    ("filedelete-ioengine.fio", Refused(8, "ioengine")),
    ("filestat-ioengine.fio", Refused(7, "ioengine")),
    ("fio-rand-RW.fio", Planned),
    ("fio-rand-read.fio", Planned),
    ("fio-rand-write.fio", Planned),
    ("fio-seq-RW.fio", Planned),
    ("fio-seq-read.fio", Planned),
    ("fio-seq-write.fio", Planned),
    ("fixed-rate-submission.fio", Planned),
    ("flow.fio", Refused(14, "flow_sleep")),
    ("fsx.fio", Planned),
    ("ftruncate.fio", Refused(4, "ioengine")),
    ("gfapi.fio", Refused(4, "ioengine")),
    ("gpudirect-rdmaio-client.fio", Refused(3, "ioengine")),
    ("gpudirect-rdmaio-server.fio", Refused(3, "ioengine")),
    ("http-s3-crypto.fio", Refused(9, "ioengine")),
    ("http-s3-storage-class.fio", Refused(9, "ioengine")),
    ("http-s3.fio", Refused(24, "ioengine")),
    ("http-swift.fio", Refused(2, "ioengine")),
    ("http-webdav.fio", Refused(2, "ioengine")),
    ("ime.fio", Refused(26, "ioengine")),
    ("iometer-file-access-server.fio", Planned),
    ("jesd219.fio", Planned),
    ("latency-profile.fio", Refused(14, "latency_target")),
    ("libblkio-io_uring.fio", Refused(13, "ioengine")),
    ("libblkio-virtio-blk-vfio-pci.fio", Refused(14, "ioengine")),
    ("libcufile-cufile.fio", Refused(10, "ioengine")),
    ("libcufile-posix.fio", Refused(10, "ioengine")),
    ("libhdfs.fio", Refused(6, "ioengine")),
    ("libhipfile-hipfile.fio", Refused(10, "ioengine")),
    ("libhipfile-posix.fio", Refused(10, "ioengine")),
    ("libiscsi.fio", Refused(2, "ioengine")),
    ("libpmem.fio", Refused(4, "ioengine")),
    ("libzbc-rand-write.fio", Refused(9, "zonemode")),
    ("libzbc-seq-read.fio", Refused(11, "zonemode")),
    ("mtd.fio", Refused(4, "ioengine")),
    ("nbd.fio", Refused(21, "ioengine")),
    ("netio.fio", Refused(3, "ioengine")),
    ("netio_multicast.fio", Refused(3, "ioengine")),
    ("netio_vsock.fio", Refused(3, "ioengine")),
    ("netio_vsock_receiver.fio", Refused(3, "ioengine")),
    ("netio_vsock_sender.fio", Refused(3, "ioengine")),
    ("nfs.fio", Refused(5, "ioengine")),
    ("null.fio", Planned),
    ("numa.fio", Refused(14, "numa_cpu_nodes")),
    ("page_fault.fio", Refused(3, "ioengine")),
    ("poisson-rate-submission.fio", Planned),
    ("rados.fio", Refused(14, "ioengine")),
    ("rand-zones.fio", Planned),
    ("rbd.fio", Refused(14, "ioengine")),
    ("rdmaio-client.fio", Refused(3, "ioengine")),
    ("rdmaio-server.fio", Refused(3, "ioengine")),
    ("sequence-distribution.fio", Refused(22, "random_distribution")),
    ("sg_verify-fail.fio", Refused(24, "ioengine")),
    ("sg_verify.fio", Refused(27, "ioengine")),
    ("sg_write_same_ndob.fio", Refused(24, "ioengine")),
    ("sprandom.fio", Refused(38, "sprandom")),
    ("ssd-steadystate.fio", Refused(36, "write_bw_log")),
    ("ssd-test.fio", Planned),
    ("steadystate.fio", Planned),
    ("surface-scan.fio", Refused(15, "fill_device")),
    ("tiobench-example.fio", Planned),
    ("uring-cmd-bsg.fio", Refused(5, "ioengine")),
    ("uring-cmd-fdp.fio", Refused(10, "ioengine")),
    ("uring-cmd-ng.fio", Refused(5, "ioengine")),
    ("uring-cmd-pi-ext.fio", Refused(15, "ioengine")),
    ("uring-cmd-pi-sb.fio", Refused(15, "ioengine")),
    ("uring-cmd-trim-multi-range.fio", Refused(6, "ioengine")),
    ("uring-cmd-write-mode.fio", Refused(12, "ioengine")),
    ("uring-cmd-zoned-append.fio", Refused(10, "ioengine")),
    ("uring-cmd-zoned.fio", Refused(12, "ioengine")),
    ("waitfor.fio", Planned),
    ("xnvme-compare.fio", Refused(65, "default.0.0")),
    ("xnvme-fdp.fio", Refused(48, "fdp")),
    ("xnvme-pi.fio", Refused(41, "md_per_io_size")),
    ("xnvme-zoned.fio", Refused(59, "zonemode")),
    ("zbd-rand-write-trim-gc.fio", Refused(13, "zonemode")),
    ("zbd-rand-write-zone-reset-gc.fio", Refused(14, "zonemode")),
    ("zbd-rand-write.fio", Refused(9, "zonemode")),
    ("zbd-seq-read.fio", Refused(10, "zonemode")),
    ("zipf.fio", Planned),
];

fn find_examples() -> Option<PathBuf> {
    let named = std::env::var_os("IOSTONE_FIO_EXAMPLES").map(PathBuf::from);
    let places = ["/usr/share/doc/fio/examples", "/usr/share/fio/examples"].map(PathBuf::from);
    named.into_iter().chain(places).find(|place| place.is_dir())
}

/// A machine on which every device is there and no file is.
struct Devices;

impl Targets for Devices {
    fn look(&self, path: &str) -> Look {
        match path {
            "/dev/null" | "/dev/zero" => Look::Other,
            path if path.starts_with("/dev/") => Look::Device(1 << 46),
            _ => Look::Missing,
        }
    }
}

fn outcome(path: &Path) -> String {
    // What the examples ask of the environment.
    let variable = |name: &str| {
        let value = match name {
            "FIO_BS" => "4k",
            "FIO_DIR" => "/tmp",
            "FIO_RW" => "randread",
            "FIO_IODEPTH" => "4",
            _ => "x",
        };
        Some(OsString::from(value))
    };
    let machine = MachineFacts { page_bytes: 4096, memory_mib: 1000, cpus: 8 };
    let files = [path.to_string_lossy().into_owned()];
    let world = World { files: &OnDisk, variable: &variable, machine };
    let planning = Planning { targets: &Devices, lenient: false, entropy: 0 };
    let planned = read(&Request { files: &files, ..Request::default() }, &world)
        .and_then(|jobs| plan(&jobs, &planning));
    match planned {
        Ok(_) => "planned".into(),
        Err(problems) => {
            let first = &problems[0];
            let reason = first.reason.to_string();
            let quoted = reason.split('`').nth(1).and_then(|quoted| quoted.split('=').next());
            format!("refused {} {}", first.place.line().unwrap_or_default(), quoted.unwrap_or_default())
        }
    }
}

#[test]
fn every_example_of_fio_is_planned_or_refused_at_a_line() {
    let Some(place) = find_examples() else {
        eprintln!("skipped: needs fio's examples (set IOSTONE_FIO_EXAMPLES to the directory)");
        return;
    };
    let mut wrong = Vec::new();
    for (name, expected) in EXAMPLES {
        let path = place.join(name);
        if !path.exists() {
            eprintln!("not here: {name}");
            continue;
        }
        let expected = match expected {
            Planned => "planned".to_owned(),
            Refused(line, word) => format!("refused {line} {word}"),
        };
        let seen = outcome(&path);
        if seen != expected {
            wrong.push(format!("{name}: {seen}, and not {expected}"));
        }
    }
    // Examples that came later have no line above, and are only not to panic.
    for entry in std::fs::read_dir(&place).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fio") {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !EXAMPLES.iter().any(|(known, _)| *known == name) {
                eprintln!("unknown example: {name}: {}", outcome(&path));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
