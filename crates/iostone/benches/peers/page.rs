//! The page: every figure with its unit and spread, and all that a reader needs to judge them.

use std::fmt::Write;

use iostone_model::units::Bytes;
use jiff::Zoned;

use crate::arguments::Arguments;
use crate::child;
use crate::figures::{Rounds, Spread};
use crate::grounds::Grounds;
use crate::own::Own;
use crate::tools::{Found, Tool};

/// From this share of the processors on, work of others is worth a warning.
const SHARED: f64 = 0.05;
/// The rate of no-op requests that is wanted, per second, and the ratio to the peer.
const WANTED_NOPS: f64 = 10e6;
const WANTED_NOP_RATIO: f64 = 0.95;

/// What the machine is doing at a moment.
#[derive(Debug)]
pub(crate) struct Surroundings {
    load: String,
    /// Seconds since boot that processors worked, and that they could have, summed over all.
    busy_seconds: f64,
    all_seconds: f64,
    own_seconds: f64,
}

impl Surroundings {
    pub(crate) fn look() -> Self {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let (busy_seconds, all_seconds) = processor_seconds().unwrap_or_default();
        Self {
            load: load.split(' ').take(3).collect::<Vec<_>>().join(", "),
            busy_seconds,
            all_seconds,
            own_seconds: child::used_so_far(),
        }
    }

    /// The share of all processors that others used between two moments, steal included.
    fn share_of_others(&self, later: &Self) -> f64 {
        let busy = later.busy_seconds - self.busy_seconds - (later.own_seconds - self.own_seconds);
        (busy / (later.all_seconds - self.all_seconds).max(1e-9)).clamp(0.0, 1.0)
    }
}

/// The first line of `/proc/stat` (`proc_stat(5)`): busy and all time of all processors in seconds.
fn processor_seconds() -> Option<(f64, f64)> {
    // USER_HZ, which every architecture that Linux runs on here fixes at 100.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    let ticks: Vec<f64> = text
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|word| word.parse().ok())
        .collect();
    let &[user, nice, system, idle, wait, interrupts, softly, steal] = ticks.as_slice() else { return None };
    let busy = user + nice + system + interrupts + softly + steal;
    Some((busy / TICKS_PER_SECOND, (busy + idle + wait) / TICKS_PER_SECOND))
}

/// All that the page tells.
#[derive(Debug)]
pub(crate) struct Report<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) found: &'a Found,
    pub(crate) grounds: &'a Grounds,
    pub(crate) skipped: &'a [String],
    pub(crate) before: &'a Surroundings,
    pub(crate) after: &'a Surroundings,
    pub(crate) rounds: &'a [Rounds],
    pub(crate) own: &'a Own,
}

/// The page as Markdown.
pub(crate) fn write(report: &Report<'_>) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = introduce(&mut page, report)
        .and_then(|()| compare(&mut page, report))
        .and_then(|()| list_figures(&mut page, report))
        .and_then(|()| tell_own(&mut page, report))
        .and_then(|()| tell_machine(&mut page, report));
    page
}

fn introduce(page: &mut String, report: &Report<'_>) -> std::fmt::Result {
    writeln!(page, "# Benchmarks: the load engine beside its peers\n")?;
    writeln!(page, "This page is written by `make bench`; edit nothing here.\n")?;
    writeln!(
        page,
        "One thread each. Every round runs every case with every tool once, in an order drawn anew; compared are the \
         ratios within a round, of which the median of {} rounds is given with the least and the most. Every tool \
         runs {} s at a time and its rate is the one it reports. iostone puts every I/O's latency into its histogram, \
         with one reading of the clock for each batch of completions.",
        report.arguments.rounds(),
        report.arguments.seconds()
    )?;
    let others = report.before.share_of_others(report.after);
    if others >= SHARED {
        writeln!(
            page,
            "\n**This machine was shared:** other work, and the host's other guests, took {:.0} % of its processors \
             meanwhile, so the spread is wide and single ratios can be off.",
            others * 100.0
        )?;
    }
    if !report.arguments.is_whole() {
        writeln!(page, "\n**Not the whole comparison:** it was run in part, to see whether it works.")?;
    }
    Ok(())
}

fn compare(page: &mut String, report: &Report<'_>) -> std::fmt::Result {
    writeln!(page, "\n## Rate of iostone against its peers\n")?;
    writeln!(
        page,
        "The last column is the same ratio by processor time instead of by the clock, which work of others blurs less. On the \
         cached file fio at its best and `t/io_uring` draw blocks with repetition, which finds some in a nearer cache; \
         iostone does the same against them (`--norandommap`), and reads every block once per pass against the others.\n"
    )?;
    writeln!(page, "| case | against | ratio | least to most | wanted | reached | I/Os per CPU second |")?;
    writeln!(page, "|---|---|---:|---:|---:|---|---:|")?;
    for rounds in report.rounds {
        let peers = rounds.tools.iter().enumerate().filter(|(_, tool)| !tool.is_ours());
        for (number, peer) in peers {
            let Some(ratio) = rounds.ratios(number) else { continue };
            let wanted = rounds.case.wanted(*peer);
            writeln!(
                page,
                "| {} | {} | {:.2} | {:.2} to {:.2} | {} | {} | {} |",
                rounds.case.name,
                peer.name(),
                ratio.median,
                ratio.least,
                ratio.most,
                wanted.map_or_else(|| "-".to_owned(), |wanted| format!("{wanted:.2}")),
                wanted.map_or("-", |wanted| yes_or_no(ratio.median >= wanted)),
                rounds.cpu_ratios(number).map_or_else(|| "-".to_owned(), |cpu| format!("{:.2}", cpu.median)),
            )?;
        }
    }
    for note in report.skipped.iter().chain(&report.found.left_out) {
        writeln!(page, "\n{note}.")?;
    }
    Ok(())
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

fn list_figures(page: &mut String, report: &Report<'_>) -> std::fmt::Result {
    writeln!(page, "\n## Figures\n")?;
    writeln!(
        page,
        "CPU time is user and system time of the whole process, the kernel's `io_uring` workers included (which fio's \
         own `usr_cpu` and `sys_cpu` leave out), over all I/Os of the run; what a fio run of a single I/O takes is not \
         counted against fio.\n"
    )?;
    writeln!(page, "| case | tool | rate, median | least to most | CPU per I/O | instructions per I/O |")?;
    writeln!(page, "|---|---|---:|---:|---:|---:|")?;
    for rounds in report.rounds {
        for (number, tool) in rounds.tools.iter().enumerate() {
            let bytes = rounds.case.counts_bytes();
            let rate = rounds.spread(number, |trial| {
                Some(if bytes { trial.bytes_per_second / 1e9 } else { trial.iops / 1e3 })
            });
            let (Some(rate), Some(cpu)) =
                (rate, rounds.spread(number, |trial| Some(trial.cpu_seconds_per_io * 1e6)))
            else {
                continue;
            };
            let (unit, digits) = if bytes { ("GB/s", 2) } else { ("k/s", 0) };
            let instructions = rounds.spread(number, |trial| trial.instructions_per_io);
            writeln!(
                page,
                "| {} | {} | {:.digits$} {unit} | {:.digits$} to {:.digits$} | {:.3} µs | {} |",
                rounds.case.name,
                tool.name(),
                rate.median,
                rate.least,
                rate.most,
                cpu.median,
                instructions
                    .map_or_else(|| "no counter here".to_owned(), |count| format!("{:.0}", count.median)),
            )?;
        }
    }
    Ok(())
}

fn tell_own(page: &mut String, report: &Report<'_>) -> std::fmt::Result {
    writeln!(page, "\n## What recording costs, and the ring by itself\n")?;
    writeln!(
        page,
        "The share of the I/Os per second of processor time without any recording that is lost, on the cached file at \
         depth 128.\n"
    )?;
    writeln!(page, "| recorded | cost | least to most | at most | kept |")?;
    writeln!(page, "|---|---:|---:|---:|---|")?;
    for recording in &report.own.recordings {
        let Spread { median, least, most } = recording.cost;
        writeln!(
            page,
            "| {} | {:.1} % | {:.1} % to {:.1} % | {:.0} % | {} |",
            recording.name,
            median * 100.0,
            least * 100.0,
            most * 100.0,
            recording.most * 100.0,
            yes_or_no(median <= recording.most),
        )?;
    }
    let nop = &report.own.nop;
    writeln!(
        page,
        "\nRequests that do nothing, depth 128, every latency recorded: {:.1} million per second ({:.1} to {:.1}; \
         wanted {:.0}: {}).",
        nop.rate.median / 1e6,
        nop.rate.least / 1e6,
        nop.rate.most / 1e6,
        WANTED_NOPS / 1e6,
        yes_or_no(nop.rate.median >= WANTED_NOPS),
    )?;
    if let Some(ratio) = nop.ratio {
        writeln!(
            page,
            "Against `t/io_uring -N1 -t1`: {:.2} ({:.2} to {:.2}; wanted {WANTED_NOP_RATIO:.2}: {}).",
            ratio.median,
            ratio.least,
            ratio.most,
            yes_or_no(ratio.median >= WANTED_NOP_RATIO),
        )?;
    }
    Ok(())
}

fn tell_machine(page: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let machine = iostone_probe::snapshot(&[]);
    writeln!(page, "\n## Where and with what\n")?;
    writeln!(page, "| | |")?;
    writeln!(page, "|---|---|")?;
    writeln!(page, "| date | {} |", Zoned::now().strftime("%Y-%m-%d"))?;
    writeln!(page, "| rounds | {} of {} s |", report.arguments.rounds(), report.arguments.seconds())?;
    writeln!(page, "| processor | {}, {} logical |", machine.cpu.model, machine.cpu.logical)?;
    writeln!(page, "| memory | {} |", Bytes(machine.memory.total_bytes).approximate())?;
    writeln!(page, "| kernel | {} |", machine.kernel.release)?;
    writeln!(page, "| virtualisation | {} |", machine.virtualisation.hypervisor)?;
    writeln!(page, "| filesystem of the files | {} |", report.grounds.filesystem)?;
    writeln!(page, "| load average before | {} |", report.before.load)?;
    writeln!(page, "| load average after | {} |", report.after.load)?;
    writeln!(
        page,
        "| others' share of the processors | {:.0} % |",
        report.before.share_of_others(report.after) * 100.0
    )?;
    for (tool, version) in &report.found.versions {
        writeln!(page, "| {tool} | {version} |")?;
    }
    writeln!(page, "\n| tool | how it was run |")?;
    writeln!(page, "|---|---|")?;
    let used = |tool: &Tool| report.rounds.iter().any(|rounds| rounds.tools.contains(tool));
    for tool in Tool::ALL.into_iter().filter(used) {
        writeln!(page, "| {} | {} |", tool.name(), tool.described())?;
    }
    Ok(())
}
