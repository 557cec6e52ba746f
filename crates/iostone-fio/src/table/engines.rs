//! The table's part on engines and the options of those whose work iostone does.

use crate::table::Kind::{Bool, Flag, Int, IntList, Str};
use crate::table::{Group, honoured, no_effect, put, refused};
use crate::values::find_engine;

const COMMANDS: &str = "single commands carry no priority of their own";

const RING: &[&str] = &["io_uring", "io_uring_cmd"];
const RING_OR_AIO: &[&str] = &["io_uring", "io_uring_cmd", "libaio"];

pub(super) const ENGINE: Group = Group {
    title: "I/O engine",
    options: &[
        honoured("ioengine", Str, |o, v| put(&mut o.ioengine, find_engine(v.text()?)?)),
        honoured("atomic", Bool, |o, v| put(&mut o.atomic, v.bool()?)),
        refused("cmdprio_percentage", IntList, &["0"], COMMANDS).of(RING_OR_AIO),
        refused("cmdprio_class", IntList, &[], COMMANDS).of(RING_OR_AIO),
        refused("cmdprio_hint", IntList, &["0"], COMMANDS).of(RING_OR_AIO),
        refused("cmdprio", IntList, &["0"], COMMANDS).of(RING_OR_AIO),
        refused("cmdprio_bssplit", Str, &[], COMMANDS).of(RING_OR_AIO),
        no_effect("fixedbufs", Flag, "buffers are always registered where the kernel lets them")
            .of(RING)
            .checked(|_, v| v.flag().map(drop)),
        no_effect("registerfiles", Flag, "files are always registered where the kernel lets them")
            .of(RING)
            .checked(|_, v| v.flag().map(drop)),
        no_effect("nonvectored", Int, "a request is one piece of memory either way")
            .of(RING)
            .checked(|_, v| v.signed(-1, 1).map(drop)),
        refused("force_async", Int, &["0"], "requests are left to the kernel to place").of(RING),
        refused("sqthread_poll", Flag, &["0"], "no thread of the kernel is set aside to submit").of(&[
            "io_uring",
            "io_uring_cmd",
            "xnvme",
        ]),
        refused("sqthread_poll_cpu", Int, &[], "no thread of the kernel is set aside to submit").of(RING),
        honoured("hipri", Flag, |o, v| put(&mut o.hipri, v.flag()?)).of(&[
            "io_uring",
            "io_uring_cmd",
            "pvsync2",
            "xnvme",
            "libblkio",
            "sg",
        ]),
        refused("hipri_percentage", Int, &["100"], "all I/Os of a job are polled for, or none")
            .of(&["pvsync2"]),
        honoured("nowait", Bool, |o, v| put(&mut o.nowait, v.bool()?)).of(&[
            "io_uring",
            "io_uring_cmd",
            "libaio",
            "pvsync2",
        ]),
        honoured("uncached", Int, |o, v| put(&mut o.uncached, v.count(0, 1)? == 1))
            .of(&["io_uring", "pvsync2"]),
        no_effect("userspace_reap", Flag, "completions are always taken from the ring without a call")
            .of(&["libaio"])
            .checked(|_, v| v.flag().map(drop)),
        no_effect("libaio_vectored", Bool, "a request is one piece of memory either way")
            .of(&["libaio"])
            .checked(|_, v| v.bool().map(drop)),
        refused("thp", Int, &["0"], "mapped files take the pages that the kernel gives").of(&["mmap"]),
    ],
};
