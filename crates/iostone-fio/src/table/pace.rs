//! The table's part on time, depth, rate, latency and steady state.

use iostone_model::load::RateProcess;
use iostone_model::units::Span;

use crate::number::Unit;
use crate::table::Kind::{Bool, Flag, Float, Int, IntList, Range, Str, Time};
use crate::table::{Group, honoured, no_effect, put, put_all, refused};
use crate::values::read_steady_state;

pub(super) const TIME: Group = Group {
    title: "Time related parameters",
    options: &[
        honoured("runtime", Time, |o, v| put(&mut o.runtime, v.span(Unit::Seconds)?)).also(&["timeout"]),
        honoured("time_based", Flag, |o, v| put(&mut o.time_based, v.flag()?)),
        honoured("startdelay", Range, |o, v| put(&mut o.startdelay, v.span_range()?)),
        honoured("ramp_time", Time, |o, v| put(&mut o.ramp_time, v.span(Unit::Seconds)?)),
        refused("ramp_size", Int, &[], "the time before the measurement is set by `ramp_time`"),
        no_effect("clocksource", Str, "the fastest clock that is reliable is always used")
            .checked(|_, v| v.choice(&[("gettimeofday", ()), ("clock_gettime", ()), ("cpu", ())])),
        no_effect("gtod_reduce", Bool, "every latency is kept; that costs too little to be switched off")
            .checked(|_, v| v.bool().map(drop)),
        no_effect("gtod_cpu", Int, "no thread is set aside to read the clock")
            .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        refused("job_start_clock_id", Int, &["0"], "the start of a job is always told by the time of day"),
    ],
};

pub(super) const DEPTH: Group = Group {
    title: "I/O depth",
    options: &[
        honoured("iodepth", Int, |o, v| put(&mut o.iodepth, v.count(1, u32::MAX)?)),
        honoured("iodepth_batch", Int, |o, v| put(&mut o.iodepth_batch, v.count(0, u32::MAX)?))
            .also(&["iodepth_batch_submit"]),
        no_effect(
            "iodepth_batch_complete_min",
            Int,
            "completions are always taken as they come, as many as there are",
        )
        .also(&["iodepth_batch_complete"])
        .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        no_effect(
            "iodepth_batch_complete_max",
            Int,
            "completions are always taken as they come, as many as there are",
        )
        .checked(|_, v| v.count(0, u32::MAX).map(drop)),
        honoured("iodepth_low", Int, |o, v| put(&mut o.iodepth_low, v.count(0, u32::MAX)?)),
        refused(
            "serialize_overlap",
            Bool,
            &["0"],
            "I/Os in flight that overlap are not kept apart; use `iodepth=1`",
        ),
        no_effect("io_submit_mode", Str, "under a rate, arrivals keep their times whatever the device does")
            .checked(|_, v| v.choice(&[("inline", ()), ("offload", ())])),
    ],
};

pub(super) const RATE: Group = Group {
    title: "I/O rate",
    options: &[
        refused("thinkcycles", Int, &["0"], "a pause is given in time; use `thinktime_spin`"),
        honoured("thinktime", Time, |o, v| put(&mut o.thinktime, v.span(Unit::Microseconds)?)),
        honoured("thinktime_spin", Time, |o, v| put(&mut o.thinktime_spin, v.span(Unit::Microseconds)?)),
        honoured("thinktime_blocks", Int, |o, v| put(&mut o.thinktime_blocks, v.count(1, u32::MAX)?)),
        no_effect("thinktime_blocks_type", Str, "a pause begins when everything before it has completed")
            .checked(|_, v| v.choice(&[("complete", ()), ("issue", ())])),
        honoured("thinktime_iotime", Time, |o, v| put(&mut o.thinktime_iotime, v.span(Unit::Seconds)?)),
        honoured("rate", IntList, |o, v| put_all(&mut o.rate, v.sizes()?)),
        honoured("rate_min", IntList, |o, v| put_all(&mut o.rate_min, v.sizes()?)).also(&["ratemin"]),
        honoured("rate_iops", IntList, |o, v| put_all(&mut o.rate_iops, v.counts(0, u32::MAX)?)),
        honoured("rate_iops_min", IntList, |o, v| put_all(&mut o.rate_iops_min, v.counts(0, u32::MAX)?)),
        honoured("rate_process", Str, |o, v| {
            put(
                &mut o.rate_process,
                v.choice(&[("linear", RateProcess::Linear), ("poisson", RateProcess::Poisson)])?,
            )
        }),
        refused("rate_ignore_thinktime", Bool, &["0"], "what a pause held back is caught up on"),
        honoured("rate_cycle", Int, |o, v| put(&mut o.rate_cycle, milliseconds(v)?)).also(&["ratecycle"]),
    ],
};

/// Plain numbers of milliseconds, which take the suffixes of sizes and not of times.
pub(super) fn milliseconds(value: crate::raw::Raw<'_>) -> Result<Span, String> {
    let number = value.count(0, u32::MAX)?;
    Ok(Span(std::time::Duration::from_millis(number.into())))
}

const SEARCH: &str = "the depth that meets a latency is not searched for; run the depths you have in mind";

pub(super) const LATENCY: Group = Group {
    title: "I/O latency",
    options: &[
        refused("latency_target", Time, &["0"], SEARCH),
        refused("latency_window", Time, &["0"], SEARCH),
        refused("latency_percentile", Float, &["100", "100.0"], SEARCH),
        refused("latency_run", Bool, &["0"], SEARCH),
        honoured("max_latency", Time, |o, v| put_all(&mut o.max_latency, v.spans(Unit::Microseconds)?)),
    ],
};

pub(super) const STEADY_STATE: Group = Group {
    title: "Steady state",
    options: &[
        honoured("steadystate", Str, |o, v| {
            put(&mut o.steadystate, read_steady_state(v.text()?, v.kb_base)?)
        })
        .also(&["ss"]),
        honoured("steadystate_duration", Time, |o, v| {
            put(&mut o.steadystate_duration, v.span(Unit::Seconds)?)
        })
        .also(&["ss_dur"]),
        honoured("steadystate_ramp_time", Time, |o, v| {
            put(&mut o.steadystate_ramp_time, v.span(Unit::Seconds)?)
        })
        .also(&["ss_ramp"]),
        honoured("steadystate_check_interval", Time, |o, v| {
            put(&mut o.steadystate_check_interval, v.span(Unit::Seconds)?)
        })
        .also(&["ss_interval"]),
    ],
};
