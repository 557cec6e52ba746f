//! The table's part on what is written and how it is verified.

use iostone_model::load::SyncMode;

use crate::table::Kind::{Bool, Flag, Int, Str};
use crate::table::{Group, honoured, no_effect, put, refused};
use crate::values::{VERIFY_CHOICES, Verify, read_pattern};

pub(super) const BUFFERS: Group = Group {
    title: "Buffers and memory",
    options: &[
        honoured("zero_buffers", Flag, |o, v| put(&mut o.zero_buffers, v.flag()?)),
        honoured("refill_buffers", Flag, |o, v| put(&mut o.refill_buffers, v.flag()?)),
        honoured("scramble_buffers", Bool, |o, v| put(&mut o.scramble_buffers, v.bool()?)),
        honoured("buffer_compress_percentage", Int, |o, v| {
            put(&mut o.buffer_compress_percentage, v.percent()?)
        }),
        honoured("buffer_compress_chunk", Int, |o, v| put(&mut o.buffer_compress_chunk, v.number()?)),
        honoured("buffer_pattern", Str, |o, v| put(&mut o.buffer_pattern, read_pattern(v.text()?, false)?)),
        honoured("dedupe_percentage", Int, |o, v| put(&mut o.dedupe_percentage, v.percent()?)),
        refused("dedupe_mode", Str, &["repeat"], "duplicates repeat an earlier block, not one of a set"),
        no_effect(
            "dedupe_working_set_percentage",
            Int,
            "it belongs to `dedupe_mode=working_set`, which is not offered",
        )
        .checked(|_, v| v.percent().map(drop)),
        refused("dedupe_global", Bool, &["0"], "each job draws its duplicates from its own blocks"),
        honoured("invalidate", Bool, |o, v| put(&mut o.invalidate, v.bool()?)),
        honoured("sync", Str, |o, v| {
            let choices = [
                ("none", SyncMode::None),
                ("0", SyncMode::None),
                ("sync", SyncMode::Sync),
                ("1", SyncMode::Sync),
                ("dsync", SyncMode::Dsync),
            ];
            put(&mut o.sync, v.choice(&choices)?)
        }),
        no_effect("iomem", Str, "buffers are always anonymous memory on the largest pages there are")
            .also(&["mem"])
            .checked(|_, v| {
                let text = v.text()?;
                if text.contains(':') {
                    return Err("buffers are not mapped from a file".into());
                }
                let words = ["malloc", "shm", "shmhuge", "mmap", "mmapshared", "mmaphuge"];
                if words.contains(&text) {
                    Ok(())
                } else {
                    Err(format!("it must be one of {}", words.join(", ")))
                }
            }),
        no_effect("iomem_align", Int, "buffers are always aligned to pages")
            .also(&["mem_align"])
            .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        no_effect("hugepage-size", Int, "the kernel is asked for the size of its huge pages")
            .checked(|_, v| v.size().map(drop)),
        refused("lockmem", Int, &["0"], "memory is not withheld from the machine; use a cgroup limit"),
        refused("gpu_dev_id", Int, &["0"], "buffers are not in the memory of a graphics processor"),
    ],
};

pub(super) const VERIFICATION: Group = Group {
    title: "Verification",
    options: &[
        honoured("verify_only", Flag, |o, v| put(&mut o.verify_only, v.flag()?)),
        honoured("do_verify", Bool, |o, v| put(&mut o.do_verify, v.bool()?)),
        honoured("verify", Str, |o, v| put(&mut o.verify, v.choice(VERIFY_CHOICES)?))
            .within("what is read back stands under `iostone.verify` in JSON, not among the reads"),
        refused("verify_offset", Int, &["0"], "the header is at the start of its interval"),
        honoured("verify_interval", Int, |o, v| put(&mut o.verify_interval, v.count(1, u32::MAX)?)),
        honoured("verify_pattern", Str, |o, v| {
            put(&mut o.verify_pattern, read_pattern(v.text()?, true)?)?;
            if o.verify.is_none() {
                o.verify = Some(Verify::Pattern);
            }
            Ok(())
        })
        // fio fills `verify` in only where no option gives it, wherever in the section that stands.
        .priority(-1),
        refused("verify_pattern_interval", Int, &["0"], "a pattern runs through the whole block"),
        refused("verify_policy", Str, &["completed"], "every write that completed is verified"),
        honoured("verify_fatal", Bool, |o, v| put(&mut o.verify_fatal, v.bool()?)),
        no_effect(
            "verify_dump",
            Bool,
            "what was expected and found is in the report of each block that does not verify",
        )
        .checked(|_, v| v.bool().map(drop)),
        no_effect("verify_async", Int, "a block is verified by the thread that read it")
            .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        no_effect("verify_async_cpus", Str, "a block is verified by the thread that read it")
            .checked(|_, v| crate::values::read_cpus(v.text()?).map(drop)),
        honoured("verify_backlog", Int, |o, v| put(&mut o.verify_backlog, v.number()?)),
        refused("verify_backlog_batch", Int, &["0"], "all of the `verify_backlog` is verified at once"),
        honoured("verify_state_save", Bool, |o, v| put(&mut o.verify_state_save, v.bool()?)),
        honoured("verify_state_load", Bool, |o, v| put(&mut o.verify_state_load, v.bool()?)),
        no_effect("experimental_verify", Bool, "what was written is told by the blocks themselves")
            .checked(|_, v| v.bool().map(drop)),
        no_effect("verify_write_sequence", Bool, "the generation of a block is always checked")
            .checked(|_, v| v.bool().map(drop)),
        no_effect("verify_header_seed", Bool, "headers hold no seed").checked(|_, v| v.bool().map(drop)),
        refused("trim_percentage", Int, &["0"], "blocks are not trimmed between their verification"),
        no_effect("trim_verify_zero", Bool, "it belongs to `trim_percentage`, which is not offered")
            .checked(|_, v| v.bool().map(drop)),
        refused("trim_backlog", Int, &["0"], "blocks are not trimmed between their verification"),
        refused("trim_backlog_batch", Int, &["0"], "blocks are not trimmed between their verification"),
        no_effect("verifysort", Bool, "fio itself has retired it and ignores it"),
        no_effect("verifysort_nr", Int, "fio itself has retired it and ignores it"),
    ],
};
