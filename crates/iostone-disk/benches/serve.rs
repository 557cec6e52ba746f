//! What the server carries: I/Os and bytes a second at its own socket, with one core for the server and one for the client.

#![expect(clippy::print_stdout, reason = "a benchmark's figures go to the terminal")]

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iostone_disk::{Client, Command, DiskPlan, Server, Store, VolumePlan};
use iostone_model::experiment::EmulatedVolume;
use iostone_model::units::Bytes;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Long enough for the CPU time of the server to be told from its rounding.
const MEASURED: Duration = Duration::from_secs(3);
const VOLUME_BYTES: u64 = 256 << 20;
const LARGEST_BYTES: usize = 1 << 20;

type Failure = Box<dyn std::error::Error + Send + Sync>;

struct Case {
    command: Command,
    length: u32,
    depth: usize,
}

fn main() -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("volume");
    std::fs::File::create(&file)?.set_len(VOLUME_BYTES)?;
    println!(
        "{:<8}{:>10}{:>9}{:>7}{:>12}{:>10}{:>14}{:>24}",
        "store", "command", "bytes", "depth", "IOPS", "GB/s", "server CPU", "of a core"
    );
    for (name, store) in [("memory", Store::Memory), ("file", Store::File { path: file, direct: false })] {
        let plan = plan(directory.path(), store);
        let server = Server::bind(&plan)?;
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            pin(1);
            server.run(&flag)
        });
        pin(0);
        let measured = measure_all(name, &plan);
        stop.store(true, Ordering::Relaxed);
        thread.join().map_err(|_| "the server panicked")??;
        measured?;
    }
    Ok(())
}

fn plan(directory: &Path, store: Store) -> DiskPlan {
    let volume = VolumePlan {
        name: "v0".to_owned(),
        socket: directory.join("v0.sock"),
        store,
        model: EmulatedVolume::new(Bytes(VOLUME_BYTES)),
    };
    DiskPlan { volumes: vec![volume], link: None, control: directory.join("control.sock"), seed: 1 }
}

fn measure_all(name: &str, plan: &DiskPlan) -> Result<(), Failure> {
    let socket = plan.volumes.first().map(|volume| volume.socket.clone()).ok_or("no volume")?;
    let mut client = Client::connect(&socket, "")?;
    // Written in full first: what is read is there.
    for offset in (0..VOLUME_BYTES).step_by(LARGEST_BYTES) {
        client.write(offset, &vec![0xa5; LARGEST_BYTES], false)?;
    }
    for command in [Command::Read, Command::Write] {
        for (length, depth) in [(4096, 1), (4096, 16), (4096, 32), (256 << 10, 16), (1 << 20, 8)] {
            measure(name, &mut client, &Case { command, length, depth })?;
        }
    }
    Ok(())
}

fn measure(name: &str, client: &mut Client, case: &Case) -> Result<(), Failure> {
    let payload = vec![0x5a; LARGEST_BYTES];
    let mut data = vec![0; LARGEST_BYTES];
    let places = VOLUME_BYTES / u64::from(case.length);
    let (mut number, mut answered) = (0_u64, 0_u64);
    let (before, started) = (other_cpu(), Instant::now());
    loop {
        let is_over = started.elapsed() >= MEASURED;
        while !is_over && client.in_flight() < case.depth {
            let offset = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % places * u64::from(case.length);
            let written =
                if case.command == Command::Write { payload.get(..case.length as usize) } else { None };
            client.submit(case.command, 0, offset, case.length, written.unwrap_or_default());
            number += 1;
        }
        if client.in_flight() == 0 {
            break;
        }
        client.send()?;
        loop {
            if client.receive(&mut data)?.error != 0 {
                return Err("the server answered with an error".into());
            }
            answered += 1;
            if !client.has_answer() {
                break;
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let cpu = (other_cpu() - before) / seconds;
    let iops = answered as f64 / seconds;
    println!(
        "{name:<8}{:>10}{:>9}{:>7}{iops:>12.0}{:>10.2}{:>12.0} %{:>11.0} IOPS {:>4.1} GB/s",
        format!("{:?}", case.command).to_lowercase(),
        case.length,
        case.depth,
        iops * f64::from(case.length) / 1e9,
        cpu * 100.0,
        iops / cpu,
        iops * f64::from(case.length) / 1e9 / cpu,
    );
    Ok(())
}

/// Seconds of CPU time of all threads but this one: the server's.
fn other_cpu() -> f64 {
    let of = |clock| {
        let time = rustix::time::clock_gettime(clock);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    of(rustix::time::ClockId::ProcessCPUTime) - of(rustix::time::ClockId::ThreadCPUTime)
}

/// Keeps this thread on one core, where there are two.
fn pin(core: usize) {
    let mut cores = CpuSet::new();
    cores.set(core);
    // On a machine with one core both share it, and the figures say so by themselves.
    let _ = sched_setaffinity(None, &cores);
}
