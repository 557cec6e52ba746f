//! What the probe costs: time of one sample, and share of a core at ten samples a second with eight devices.

#![expect(clippy::print_stdout, reason = "a benchmark's figures go to the terminal")]

use std::time::{Duration, Instant};

use iostone_probe::{DEFAULT_INTERVAL, Probe, Role, Root, ToolQuery, WatchedDevice, snapshot};

/// Long enough for a share of a core that is no accident.
const WATCHED: Duration = Duration::from_secs(10);
const MARKS: u32 = 5_000;
const DEVICES: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let devices: Vec<WatchedDevice> = Root::live()
        .entries("/sys/class/block")
        .into_iter()
        .rev()
        .cycle()
        .take(DEVICES)
        .map(|name| WatchedDevice { name, role: Role::Below })
        .collect();

    let probe = Probe::start(&devices, Duration::from_secs(3600))?;
    let started = Instant::now();
    for _ in 0..MARKS {
        probe.mark_end();
    }
    let elapsed = started.elapsed();
    let recording = probe.stop();
    println!(
        "one sample of {} devices: {:.1} µs ({} taken, {:.1} µs of CPU time each)",
        devices.len(),
        elapsed.as_secs_f64() * 1e6 / f64::from(MARKS),
        recording.samples.len(),
        recording.summary.probe_cpu_seconds * 1e6 / f64::from(MARKS),
    );

    let probe = Probe::start(&devices, DEFAULT_INTERVAL)?;
    std::thread::sleep(WATCHED);
    let stopping = Instant::now();
    let recording = probe.stop();
    println!("stop: {:.2} ms", stopping.elapsed().as_secs_f64() * 1e3);
    println!(
        "at {} ms for {:.1} s: {} samples, {} missed, {:.3} ms of CPU time, {:.4} % of a core",
        DEFAULT_INTERVAL.as_millis(),
        recording.summary.seconds,
        recording.samples.len(),
        recording.missed,
        recording.summary.probe_cpu_seconds * 1e3,
        recording.summary.probe_cpu_seconds / recording.summary.seconds * 100.0,
    );
    let moments: Vec<i64> =
        recording.samples.iter().filter_map(|sample| i64::try_from(sample.at_ns).ok()).collect();
    let interval = i64::try_from(DEFAULT_INTERVAL.as_nanos())?;
    let worst = moments
        .iter()
        .filter_map(|moment| moment.checked_sub(*moments.first()?))
        .map(|since| (since + interval / 2).rem_euclid(interval) - interval / 2)
        .take(moments.len().saturating_sub(1))
        .max();
    println!("latest sample: {:.2} ms after its moment", worst.unwrap_or_default() as f64 / 1e6);

    let started = Instant::now();
    let environment = snapshot(&[ToolQuery::simple("mount", "--version")]);
    println!(
        "environment snapshot: {:.1} ms ({} block devices, {} mounts)",
        started.elapsed().as_secs_f64() * 1e3,
        environment.block_devices.len(),
        environment.mounts.len()
    );
    Ok(())
}
