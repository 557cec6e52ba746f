//! The table's part on directions, orders, block sizes and amounts.

use crate::table::Kind::{Bool, Flag, Float, Int, IntList, Range, Str};
use crate::table::{Group, honoured, no_effect, put, put_all, refused};
use crate::values::{
    Portion, RwSequencer, read_block_shares, read_distribution, read_shape, read_sync_file_range,
};

pub(super) const IO_TYPE: Group = Group {
    title: "I/O type",
    options: &[
        honoured("direct", Bool, |o, v| put(&mut o.direct, v.bool()?)),
        honoured("buffered", Bool, |o, v| put(&mut o.direct, !v.bool()?)),
        honoured("rw", Str, |o, v| put(&mut o.rw, read_shape(v.text()?, v.kb_base)?)).also(&["readwrite"]),
        honoured("rw_sequencer", Str, |o, v| {
            let choices = [("sequential", RwSequencer::Sequential), ("identical", RwSequencer::Identical)];
            put(&mut o.rw_sequencer, v.choice(&choices)?)
        }),
        refused(
            "unified_rw_reporting",
            Str,
            &["none", "0"],
            "reads, writes and trims are always reported apart",
        ),
        honoured("randrepeat", Bool, |o, v| put(&mut o.randrepeat, v.bool()?)).also(&["allrandrepeat"]),
        honoured("randseed", Int, |o, v| put(&mut o.randseed, v.number()?)),
        honoured("offset", Int, |o, v| put(&mut o.offset, Portion::read(v.exact()?, v.kb_base)?))
            .also(&["fileoffset"]),
        honoured("offset_align", Int, |o, v| put(&mut o.offset_align, v.number()?)),
        honoured("offset_increment", Int, |o, v| {
            put(&mut o.offset_increment, Portion::read(v.exact()?, v.kb_base)?)
        }),
        honoured("number_ios", Int, |o, v| put(&mut o.number_ios, v.number()?)),
        honoured("fsync", Int, |o, v| put(&mut o.fsync, v.count(0, u32::MAX)?)),
        honoured("fdatasync", Int, |o, v| put(&mut o.fdatasync, v.count(0, u32::MAX)?)),
        no_effect("write_barrier", Int, "no engine of fio acts on it on Linux")
            .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        honoured("sync_file_range", Str, |o, v| {
            put(&mut o.sync_file_range, read_sync_file_range(v.text()?, v.kb_base)?)
        }),
        honoured("overwrite", Bool, |o, v| put(&mut o.overwrite, v.bool()?)),
        honoured("end_fsync", Bool, |o, v| put(&mut o.end_fsync, v.bool()?)),
        refused("end_syncfs", Bool, &["0"], "the rest of the filesystem is left alone; use `end_fsync`"),
        honoured("fsync_on_close", Bool, |o, v| put(&mut o.fsync_on_close, v.bool()?)),
        honoured("rwmixread", Int, |o, v| put(&mut o.rwmixread, v.percent()?)),
        honoured("rwmixwrite", Int, |o, v| put(&mut o.rwmixread, 100 - v.percent()?)),
        refused("rwmixcycle", Int, &[], "fio itself has retired it and refuses it"),
        honoured("random_distribution", Str, |o, v| {
            put(&mut o.random_distribution, read_distribution(v.text()?, v.kb_base)?)
        }),
        refused(
            "random_sequence_stride",
            Bool,
            &["0"],
            "it belongs to `random_distribution=sequence`, which is not offered",
        ),
        honoured("percentage_random", IntList, |o, v| put_all(&mut o.percentage_random, v.counts(0, 100)?)),
        refused("percentage_sequential", Int, &[], "fio itself has retired it; use `percentage_random`"),
        honoured("norandommap", Flag, |o, v| put(&mut o.norandommap, v.flag()?)),
        no_effect("softrandommap", Bool, "visiting each block once takes no memory that could be missing")
            .checked(|_, v| v.bool().map(drop)),
        no_effect(
            "random_generator",
            Str,
            "one generator draws all offsets, each block once unless `norandommap`",
        )
        .checked(|_, v| v.choice(&[("tausworthe", ()), ("lfsr", ()), ("tausworthe64", ())])),
        refused(
            "sprandom",
            Bool,
            &["0"],
            "this way of preconditioning is not offered; fill the device, then warm it up",
        ),
        refused("spr_num_regions", Int, &[], "it belongs to `sprandom`, which is not offered"),
        refused("spr_op", Float, &[], "it belongs to `sprandom`, which is not offered"),
        refused("spr_cs", Int, &[], "it belongs to `sprandom`, which is not offered"),
    ],
};

pub(super) const BLOCK_SIZE: Group = Group {
    title: "Block size",
    options: &[
        honoured("bs", IntList, |o, v| put_all(&mut o.bs, v.some_sizes()?)).also(&["blocksize"]),
        honoured("bsrange", Range, |o, v| put_all(&mut o.bsrange, v.ranges()?)).also(&["blocksize_range"]),
        honoured("bssplit", Str, |o, v| put_all(&mut o.bssplit, read_block_shares(v.text()?, v.kb_base)?)),
        refused("bs_unaligned", Flag, &["0"], "sizes of a range are multiples of its smallest")
            .also(&["blocksize_unaligned"]),
        honoured("bs_is_seq_rand", Bool, |o, v| put(&mut o.bs_is_seq_rand, v.bool()?)),
        honoured("blockalign", IntList, |o, v| put_all(&mut o.blockalign, v.some_sizes()?)).also(&["ba"]),
    ],
};

pub(super) const IO_SIZE: Group = Group {
    title: "I/O size",
    options: &[
        honoured("size", Int, |o, v| put(&mut o.size, Portion::read(v.exact()?, v.kb_base)?)),
        honoured("io_size", Int, |o, v| put(&mut o.io_size, Portion::read(v.exact()?, v.kb_base)?))
            .also(&["io_limit"]),
        honoured("filesize", Range, |o, v| put(&mut o.filesize, v.size_range()?))
            .within("a range of sizes for jobs with one file only"),
        refused("file_append", Bool, &["0"], "a file is not grown beyond its end; use `offset`"),
        refused("fill_device", Bool, &["0"], "a job does not go on until the disk is full; give a `size`")
            .also(&["fill_fs"]),
        refused("num_range", Int, &["1"], "a trim covers one range"),
    ],
};
