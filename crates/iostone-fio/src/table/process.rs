//! The table's part on replay, threads, processors, and the order of jobs.

use crate::table::Kind::{Bool, Flag, FloatList, Int, Str};
use crate::table::{Group, honoured, no_effect, put, refused};
use crate::values::{CpuPolicy, ExitWhat, read_cpu_mask, read_cpus};

const REPLAYED: &str = "recorded I/O is not replayed";

pub(super) const REPLAY: Group = Group {
    title: "I/O replay",
    options: &[
        refused("write_iolog", Str, &[], "the I/O of a job is not recorded for replay"),
        refused("read_iolog", Str, &[], REPLAYED),
        refused("read_iolog_chunked", Bool, &["0"], REPLAYED),
        refused("merge_blktrace_file", Str, &[], REPLAYED),
        refused("merge_blktrace_scalars", FloatList, &[], REPLAYED),
        refused("merge_blktrace_iters", FloatList, &[], REPLAYED),
        refused("replay_no_stall", Bool, &["0"], REPLAYED),
        refused("replay_time_scale", Int, &["100"], REPLAYED),
        refused("replay_redirect", Str, &[], REPLAYED),
        refused("replay_align", Int, &["0"], REPLAYED),
        refused("replay_scale", Int, &["1"], REPLAYED),
        refused("replay_skip", Str, &[], REPLAYED),
    ],
};

const CGROUP: &str = "jobs are not moved between cgroups; limit the volume or the run instead";
const NUMA: &str =
    "memory and processors are not bound by NUMA node; use `cpus_allowed`, or run under numactl(8)";
const PRIORITY: &str = "jobs have no I/O priority of their own; run under ionice(1)";
const FLOW: &str = "jobs do not wait for each other's share of the work; give each a `rate`";

pub(super) const JOBS: Group = Group {
    title: "Threads, processes and job synchronization",
    options: &[
        no_effect("thread", Flag, "a job is always made of threads").checked(|_, v| v.flag().map(drop)),
        honoured("wait_for", Str, |o, v| put(&mut o.wait_for, v.text()?.to_owned())),
        no_effect("comm", Str, "threads are called after their job").checked(|_, v| v.text().map(drop)),
        honoured("nice", Int, |o, v| put(&mut o.nice, v.signed(-20, 19)?)),
        refused("prio", Int, &[], PRIORITY),
        refused("prioclass", Int, &["0"], PRIORITY),
        refused("priohint", Int, &["0"], PRIORITY),
        honoured("cpus_allowed", Str, |o, v| put(&mut o.cpus_allowed, read_cpus(v.text()?)?)),
        honoured("cpus_allowed_policy", Str, |o, v| {
            put(
                &mut o.cpus_allowed_policy,
                v.choice(&[("shared", CpuPolicy::Shared), ("split", CpuPolicy::Split)])?,
            )
        })
        .priority(1),
        honoured("cpumask", Int, |o, v| put(&mut o.cpus_allowed, read_cpu_mask(v.text()?, v.kb_base)?)),
        refused("numa_cpu_nodes", Str, &[], NUMA),
        refused("numa_mem_policy", Str, &["default", "local"], NUMA),
        refused("cgroup", Str, &[], CGROUP),
        refused("cgroup_weight", Int, &[], CGROUP),
        refused("cgroup_nodelete", Bool, &["0"], CGROUP),
        refused("flow_id", Int, &["0"], FLOW),
        refused("flow", Int, &["0"], FLOW),
        refused("flow_sleep", Int, &["0"], FLOW),
        no_effect("flow_watermark", Int, "fio itself has retired it and ignores it"),
        honoured("stonewall", Flag, |o, v| put(&mut o.stonewall, v.flag()?)).also(&["wait_for_previous"]),
        honoured("exitall", Flag, |o, v| put(&mut o.exitall, v.flag()?)),
        honoured("exit_what", Str, |o, v| {
            let choices =
                [("group", ExitWhat::Group), ("stonewall", ExitWhat::Stonewall), ("all", ExitWhat::All)];
            put(&mut o.exit_what, v.choice(&choices)?)
        }),
        refused(
            "exec_prerun",
            Str,
            &[],
            "text of a job file never reaches a shell; run the command yourself before",
        ),
        refused(
            "exec_postrun",
            Str,
            &[],
            "text of a job file never reaches a shell; run the command yourself after",
        ),
        refused("uid", Int, &[], "jobs run as who started them"),
        refused("gid", Int, &[], "jobs run as who started them"),
    ],
};
