//! The truth about stalls: a filesystem that is frozen for half a second every five seconds shows in the response times
//! of an open loop as it does in arithmetic, and in those of a closed loop it does not.

use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::attempts::attempt;
use crate::lab::{Lab, needs_root, words};
use crate::loop_disk::{Disk, jobs};

const WINDOW_SECONDS: f64 = 10.0;
/// A machine that is late for so much of a window adds stalls of its own.
const LATE_SHARE: f64 = 0.005;

/// Stalls of a filesystem; each thaws by itself, even if the test is gone by then.
struct Stalls<'a> {
    place: &'a Path,
}

impl Stalls<'_> {
    /// Freezes for half a second; for how many seconds the filesystem stood still at least, by stamps from within the freeze,
    /// and at most, by those around it.
    fn stall(&self) -> [f64; 2] {
        let script = "stamp() { date +%s%N; }; stamp; fsfreeze -f \"$0\" && stamp && sleep 0.5 && stamp; \
                      fsfreeze -u \"$0\"; stamp";
        let output = Command::new("sh").args(["-c", script]).arg(self.place).output().unwrap();
        assert!(output.status.success(), "{}", words(&output));
        let text = String::from_utf8(output.stdout).unwrap();
        let stamps: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        [(1, 2), (0, 3)].map(|(begin, end)| (stamps[end] - stamps[begin]) as f64 / 1e9)
    }
}

impl Drop for Stalls<'_> {
    fn drop(&mut self) {
        // It fails, and does no harm, if nothing is frozen.
        let _ = Command::new("fsfreeze").arg("-u").arg(self.place).output();
    }
}

#[test]
fn an_open_loop_reports_stalls_as_arithmetic_does_and_a_closed_loop_misses_them() {
    needs_root!();
    let lab = Lab::new();
    let mut disk = Disk::in_memory(&lab, 64 << 20);
    let place = disk.mount(&lab);
    let deep = if iostone_engine::uring_available().is_ok() { "ioengine=io_uring\niodepth=4\n" } else { "" };
    let file = lab.write(
        "stall.fio",
        &format!(
            "[global]\ndirectory={}\nrw=randwrite\nbs=4k\nsize=8m\ndirect=1\noverwrite=1\ntime_based\n\
             runtime={WINDOW_SECONDS}\n[open]\nrate_iops=1000\n[deep]\nrate_iops=500\n{deep}[closed]\n\
             thinktime=1ms\n",
            place.display()
        ),
    );
    attempt("what the arithmetic of stalls says", LATE_SHARE, || {
        let (done, stalls) = std::thread::scope(|scope| {
            let stalls = scope.spawn(|| {
                let stalls = Stalls { place: &place };
                // Well within the window, whatever laying out the files takes.
                let begun = Instant::now();
                let stall_at = |at| {
                    sleep(Duration::from_secs(at).saturating_sub(begun.elapsed()));
                    stalls.stall()
                };
                [3, 8].map(stall_at)
            });
            let done = jobs(&lab, &[&file], 0);
            (done, stalls.join().unwrap())
        });
        judge(&done, stalls)
    });
}

/// Holds what the open and the closed loops reported to two stalls of so many seconds: what may never be is an error, and
/// what another's load on the machine adds is told.
fn judge(done: &[Value], stalls: [[f64; 2]; 2]) -> Result<(), String> {
    // A request that is due t before the end of a stall waits t. Of all that are due in the window one in a hundred
    // waits longer than this, if both stalls are longer.
    let truth = |bound: usize| (stalls[0][bound] + stalls[1][bound] - WINDOW_SECONDS / 100.0) / 2.0;
    let (least, most) = (truth(0), truth(1));
    let p99 = |job: usize, kind: &str| done[job]["writes"][kind]["p99_ns"].as_f64().unwrap() / 1e9;
    // What was not served by the end is among the responses, with the time that it had waited.
    let due = done[0]["writes"]["response"]["count"].as_f64().unwrap();
    assert!((due / (WINDOW_SECONDS * 1000.0) - 1.0).abs() < 0.001, "{due} were due");
    for job in [0, 1] {
        let (name, reported) = (&done[job]["name"], p99(job, "response"));
        let told = format!("{name}: {reported} s, and {least} to {most} s is right of {stalls:?}");
        assert!(reported > least * 0.9, "stalls are hidden, {told}");
        if reported > most * 1.1 {
            return Err(told);
        }
        if p99(job, "latency") > 0.1 {
            return Err(format!("the service times of an open loop hide it as well, {name}"));
        }
        // Only what was due in the last moments, if the machine was held up then.
        let unserved = done[job]["unserved"].as_f64().unwrap();
        if unserved > WINDOW_SECONDS * 5.0 {
            return Err(format!("{name}: {unserved} were due and not served"));
        }
    }
    if p99(2, "latency") > 0.1 {
        return Err("a closed loop stands still with its target".to_owned());
    }
    Ok(())
}
