//! The truth about stalls: a filesystem that is frozen for half a second every five seconds shows in the response times
//! of an open loop as it does in arithmetic, and in those of a closed loop it does not.

use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Disk, jobs};
use crate::lab::{Lab, needs_root};

const WINDOW_SECONDS: f64 = 10.0;

/// Stalls of a filesystem; each thaws by itself, even if the test is gone by then.
struct Stalls<'a> {
    place: &'a Path,
}

impl Stalls<'_> {
    /// Freezes for half a second; for how long the filesystem stood still.
    fn stall(&self) -> Duration {
        let begun = Instant::now();
        let script = r#"fsfreeze -f "$0" && sleep 0.5; fsfreeze -u "$0""#;
        let mut child: Child = Command::new("sh").args(["-c", script]).arg(self.place).spawn().unwrap();
        assert!(child.wait().unwrap().success());
        begun.elapsed()
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
    let (done, stalls) = std::thread::scope(|scope| {
        let stalls = scope.spawn(|| {
            let stalls = Stalls { place: &place };
            let mut stood_still = Vec::new();
            // Well within the window, whatever laying out the files takes.
            let begun = Instant::now();
            for at in [3, 8] {
                sleep(Duration::from_secs(at).saturating_sub(begun.elapsed()));
                stood_still.push(stalls.stall().as_secs_f64());
            }
            stood_still
        });
        let done = jobs(&lab, &[&file], 0);
        (done, stalls.join().unwrap())
    });
    // A request that is due t before the end of a stall waits t. Of all that are due in the window one in a hundred
    // waits longer than this, if both stalls are longer.
    let truth = (stalls.iter().sum::<f64>() - WINDOW_SECONDS / 100.0) / 2.0;
    let p99 = |job: usize, kind: &str| done[job]["writes"][kind]["p99_ns"].as_f64().unwrap() / 1e9;
    for job in [0, 1] {
        let reported = p99(job, "response");
        let error = (reported / truth - 1.0).abs();
        assert!(error < 0.10, "{}: {reported} s, and {truth} s is right of {stalls:?}", done[job]["name"]);
        assert!(p99(job, "latency") < 0.1, "the service times of an open loop hide it as well");
        // Only what was due in the last moments, if the machine was held up then.
        let unserved = done[job]["unserved"].as_f64().unwrap();
        assert!(unserved < WINDOW_SECONDS * 5.0, "{unserved} were due and not served");
    }
    assert!(p99(2, "latency") < 0.1, "a closed loop stands still with its target");
    let due = [&done[0]["writes"]["response"]["count"], &done[0]["unserved"]]
        .into_iter()
        .filter_map(serde_json::Value::as_f64)
        .sum::<f64>();
    assert!((due / (WINDOW_SECONDS * 1000.0) - 1.0).abs() < 0.001, "{due} were due");
}
