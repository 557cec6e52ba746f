//! The table's part on units, names, and the files and devices that jobs use.

use iostone_engine::{Advice, Preparation};

use crate::table::Kind::{Bool, Flag, Float, Int, Str};
use crate::table::{Group, honoured, no_effect, put, refused};
use crate::values::{FileName, FilenameFormat, KbBase, ZoneMode, read_file_service, split_names};

pub(super) const UNITS: Group = Group {
    title: "Units",
    options: &[
        honoured("kb_base", Int, |o, v| {
            put(&mut o.kb_base, v.choice(&[("1024", KbBase::Binary), ("1000", KbBase::Decimal)])?)
        })
        .priority(1),
        no_effect("unit_base", Int, "reports name the unit of every figure")
            .priority(1)
            .checked(|_, v| v.choice(&[("0", ()), ("8", ()), ("1", ())])),
    ],
};

pub(super) const DESCRIPTION: Group = Group {
    title: "Job description",
    options: &[
        honoured("name", Str, |o, v| put(&mut o.name, v.text()?.to_owned())),
        honoured("description", Str, |o, v| put(&mut o.description, v.text()?.to_owned())),
        honoured("loops", Int, |o, v| put(&mut o.loops, v.count(1, u32::MAX)?)),
        honoured("numjobs", Int, |o, v| put(&mut o.numjobs, v.count(1, 4096)?)),
    ],
};

const ZBD: &str = "zoned block devices are not driven";

pub(super) const TARGET: Group = Group {
    title: "Target file/device",
    options: &[
        honoured("directory", Str, |o, v| {
            let directories = split_names(v.text()?);
            if directories.is_empty() {
                Err("it names no directory".into())
            } else {
                put(&mut o.directory, directories)
            }
        }),
        honoured("filename", Str, |o, v| {
            let names = split_names(v.text()?);
            if names.is_empty() {
                return Err("it names no file".into());
            }
            let directory = o.directory.as_ref().and_then(|directories| directories.first()).cloned();
            o.filename.extend(names.into_iter().map(|name| FileName { directory: directory.clone(), name }));
            Ok(())
        })
        .priority(-1),
        honoured("filename_format", Str, |o, v| {
            put(&mut o.filename_format, FilenameFormat(v.text()?.to_owned()))
        }),
        no_effect(
            "unique_filename",
            Bool,
            "it keeps the files of networked clients apart, and there are none",
        )
        .checked(|_, v| v.bool().map(drop)),
        no_effect("filetype", Str, "what a file is is always looked up")
            .checked(|_, v| v.choice(&[("none", ()), ("file", ()), ("block", ()), ("char", ())])),
        refused("opendir", Str, &[], "files are not gathered from a directory; name them with `filename`"),
        refused("lockfile", Str, &["none"], "files are not locked for each I/O").priority(1),
        honoured("nrfiles", Int, |o, v| put(&mut o.nrfiles, v.count(1, u32::MAX)?)).also(&["nr_files"]),
        honoured("openfiles", Int, |o, v| put(&mut o.openfiles, v.count(0, u32::MAX)?))
            .within("all files of a job are open at the same time, and fewer are refused"),
        honoured("file_service_type", Str, |o, v| {
            put(&mut o.file_service_type, read_file_service(v.text()?, v.kb_base)?)
        }),
        refused("ioscheduler", Str, &[], "it changes the machine; choose the scheduler before the run"),
        no_effect("create_serialize", Bool, "files are laid out before any job starts, whatever the order")
            .checked(|_, v| v.bool().map(drop)),
        refused("create_fsync", Bool, &["1"], "a file that was laid out is always synced"),
        honoured("create_on_open", Bool, |o, v| put(&mut o.create_on_open, v.bool()?)),
        refused("create_only", Bool, &["0"], "a job is not ended after its files are laid out"),
        honoured("allow_file_create", Bool, |o, v| put(&mut o.allow_file_create, v.bool()?)),
        refused(
            "allow_mounted_write",
            Bool,
            &["0"],
            "a mounted device is never written to because a file says so; answer the guard on the command line",
        ),
        honoured("pre_read", Bool, |o, v| put(&mut o.pre_read, v.bool()?)),
        honoured("unlink", Bool, |o, v| put(&mut o.unlink, v.bool()?)),
        refused("unlink_each_loop", Bool, &["0"], "files stay for all loops; use `unlink`"),
        honoured("zonemode", Str, |o, v| {
            if v.text()? == "zbd" {
                return Err(format!("{ZBD}; none and strided are honoured"));
            }
            put(&mut o.zonemode, v.choice(&[("none", ZoneMode::None), ("strided", ZoneMode::Strided)])?)
        }),
        honoured("zonesize", Int, |o, v| put(&mut o.zonesize, v.size()?))
            .within("with `zonemode=strided` only"),
        honoured("zonerange", Int, |o, v| put(&mut o.zonerange, v.size()?)),
        honoured("zoneskip", Int, |o, v| put(&mut o.zoneskip, v.size()?)),
        refused("zonecapacity", Int, &["0"], ZBD),
        refused("read_beyond_wp", Bool, &["0"], ZBD),
        refused("max_open_zones", Int, &["0"], ZBD),
        refused("job_max_open_zones", Int, &["0"], ZBD),
        refused("ignore_zone_limits", Bool, &["0"], ZBD),
        refused("zone_reset_threshold", Float, &[], ZBD),
        refused("zone_reset_frequency", Float, &[], ZBD),
        refused("recover_zbd_write_error", Bool, &["0"], ZBD),
        refused("write_zone_remainder", Bool, &["0"], ZBD).also(&["write_zone_remainders"]),
        honoured("fallocate", Str, |o, v| {
            put(
                &mut o.fallocate,
                v.choice(&[
                    ("none", Preparation::Leave),
                    ("0", Preparation::Leave),
                    ("native", Preparation::Allocate),
                    ("posix", Preparation::Allocate),
                    ("1", Preparation::Allocate),
                    ("keep", Preparation::Reserve),
                    ("truncate", Preparation::Extend),
                ])?,
            )
        }),
        honoured("fadvise_hint", Str, |o, v| {
            put(
                &mut o.fadvise_hint,
                v.choice(&[
                    ("none", Advice::None),
                    ("0", Advice::None),
                    ("1", Advice::ByOrder),
                    ("random", Advice::Random),
                    ("sequential", Advice::Sequential),
                    ("noreuse", Advice::Noreuse),
                ])?,
            )
        }),
        refused("write_hint", Str, &["none"], "the kernel is told nothing about the lifetime of writes"),
        refused("use_os_rand", Flag, &["0"], "fio itself has retired it"),
    ],
};
