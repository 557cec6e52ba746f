//! Bursts of emulated volumes and of their link, through the kernel: buckets are spent and the long run holds, as the
//! arithmetic says, by the clock of the disk server and by that of the wall.
//!
//! `IOSTONE_BURST_SCALE=4` makes each bucket, and with it each case, four times as long: for figures worth quoting.

use std::fs::OpenOptions;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use iostone_disk::{Control, ServerReport};
use iostone_model::experiment::{Burst, EmulatedBy, EmulatedVolume, Link, Stack, Volume};
use iostone_model::units::{ByteRate, Bytes};
use iostone_stack::{Registry, Session, SessionOptions};

use crate::attempts::{Attempted, attempt};
use crate::lab::{Lab, needs_root, needs_tool};

const MIB: u64 = 1 << 20;
const KIB: u64 = 1 << 10;
/// Of the server's own grants: what is on its way when the counters are read, and the pace of 10 ms.
const BY_THE_SERVER: f64 = 0.015;
/// Of the wall's clock, on a machine that does other things.
const BY_THE_WALL: f64 = 0.03;

/// What is asked of a device, by so many threads one request at a time each.
#[derive(Debug, Clone, Copy)]
struct Load {
    threads: u64,
    bytes: u64,
    write: bool,
    /// How many requests.
    count: u64,
}

/// One bucket as arithmetic sees it: units a second in the long run, those while credits last, credits, units of a request.
#[derive(Debug, Clone, Copy)]
struct Arithmetic {
    base: f64,
    high: f64,
    credits: f64,
    units: f64,
}

/// The time in which `count` requests are granted that wait for nothing but these buckets: stretch by stretch, from one
/// moment at which a bucket is empty to the next.
fn seconds_for(count: u64, buckets: &[Arithmetic]) -> f64 {
    let mut buckets = buckets.to_vec();
    let (mut left, mut seconds) = (count as f64, 0.0);
    loop {
        let rate_of = |one: &Arithmetic| if one.credits > 1e-6 { one.high } else { one.base } / one.units;
        let rate = buckets.iter().map(rate_of).fold(f64::INFINITY, f64::min);
        let drained = |one: &Arithmetic| {
            let drain = rate * one.units - one.base;
            if one.credits > 1e-6 && drain > 1e-6 { one.credits / drain } else { f64::INFINITY }
        };
        let lasts = buckets.iter().map(drained).fold(f64::INFINITY, f64::min);
        if lasts * rate >= left {
            return seconds + left / rate;
        }
        seconds += lasts;
        left -= lasts * rate;
        for one in &mut buckets {
            one.credits = (one.credits - (rate * one.units - one.base) * lasts).max(0.0);
        }
    }
}

fn scale() -> u64 {
    std::env::var("IOSTONE_BURST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

fn session(lab: &Lab) -> Session {
    let registry = Registry::at(&lab.path().join("state")).unwrap();
    let options = SessionOptions {
        run_token: "bursts".to_owned(),
        run_directory: lab.path().join("run"),
        work_directory: lab.path().join("run/work"),
        server_program: Some(env!("CARGO_BIN_EXE_iostone").into()),
        ..SessionOptions::default()
    };
    Session::begin(&registry, options).unwrap()
}

/// Sends requests past the page cache; gives how long all of them took.
fn send(device: &Path, load: Load) -> Duration {
    let direct = rustix::fs::OFlags::DIRECT.bits().cast_signed();
    let next = AtomicU64::new(0);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..load.threads {
            scope.spawn(|| {
                let file = OpenOptions::new()
                    .read(true)
                    .write(load.write)
                    .custom_flags(direct)
                    .open(device)
                    .unwrap();
                let length = usize::try_from(load.bytes).unwrap();
                let mut storage = vec![0x5a_u8; length + 4096];
                let skip = storage.as_ptr().align_offset(4096);
                let buffer = &mut storage[skip..skip + length];
                // Every other place, so that none is merged with another.
                let places = 32 * MIB / load.bytes;
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= load.count {
                        break;
                    }
                    let place = number * 7919 % places * 2 * load.bytes;
                    if load.write {
                        file.write_all_at(buffer, place).unwrap();
                    } else {
                        file.read_exact_at(buffer, place).unwrap();
                    }
                }
            });
        }
    });
    start.elapsed()
}

#[expect(clippy::print_stderr, reason = "the figures are what a measurement with a larger scale is for")]
fn tell(name: &str, law: f64, granted: f64, wall: f64) {
    let off = |seconds: f64| (seconds / law - 1.0) * 100.0;
    eprintln!(
        "{name}: {law:.3} s by the arithmetic, {granted:.3} s by the server ({:+.2} %), {wall:.3} s by the wall ({:+.2} %)",
        off(granted),
        off(wall)
    );
}

/// Runs a load on volumes that the preparation has used before, and holds its time to the arithmetic: never shorter, and in
/// one attempt no longer. Gives what the server counted then; nothing if the machine was late each time.
fn hold(
    name: &str,
    volume: &EmulatedVolume,
    link: Option<Link>,
    load: Load,
    buckets: &[Arithmetic],
) -> Option<ServerReport> {
    let judge = || hold_once(name, volume, link, load, buckets);
    match attempt(name, BY_THE_SERVER / 2.0, judge) {
        Attempted::Good(report) => Some(report),
        Attempted::Excused => None,
    }
}

/// One attempt.
fn hold_once(
    name: &str,
    volume: &EmulatedVolume,
    link: Option<Link>,
    load: Load,
    buckets: &[Arithmetic],
) -> Result<ServerReport, String> {
    let lab = Lab::new();
    let mut session = session(&lab);
    let volume = EmulatedVolume { by: Some(EmulatedBy::Server), fill: false, ..volume.clone() };
    let stack = Stack { link, ..Stack::of(Volume::Emulated(volume)) };
    let device = session.apply(&stack, 1, 7).unwrap().target.device.unwrap();
    // What a filesystem would be made with: it takes of the buckets, and the workload must not find them so.
    send(&device, Load { count: load.count / 10, ..load });
    let mut control = Control::connect(&session.disk_control().unwrap(), Duration::from_secs(10)).unwrap();
    control.reset_counters().unwrap();
    session.begin_workload().unwrap();
    let before = control.counters().unwrap();
    let wall = send(&device, load);
    let after = control.counters().unwrap();
    session.finish().unwrap();
    lab.assert_nothing_left();
    let law = seconds_for(load.count, buckets);
    let granted = (after.at_ns - before.at_ns) as f64 / 1e9;
    let wall = wall.as_secs_f64();
    tell(name, law, granted, wall);
    let by_the_server = BY_THE_SERVER.max(0.05 / law);
    assert!(granted > law * (1.0 - by_the_server), "{name}: {granted} s for {law} s");
    assert!(wall > law * (1.0 - BY_THE_WALL), "{name}: {wall} s for {law} s");
    if granted < law * (1.0 + by_the_server) && wall < law * (1.0 + BY_THE_WALL) {
        Ok(after)
    } else {
        Err(format!("{granted:.3} s by the server and {wall:.3} s by the wall for {law:.3} s"))
    }
}

fn of_ios(iops: u32, credits: u64) -> Burst {
    Burst { iops: Some(iops), credits: Some(credits), throughput: None, credit_bytes: None, start: None }
}

fn of_bytes(rate: u64, credits: u64) -> Burst {
    let (throughput, credit_bytes) = (Some(ByteRate(rate)), Some(Bytes(credits)));
    Burst { iops: None, credits: None, throughput, credit_bytes, start: None }
}

fn gp2(credits: u64) -> EmulatedVolume {
    EmulatedVolume {
        iops: Some(100),
        io_size: Some(Bytes(256 * KIB)),
        merge: true,
        burst: Some(of_ios(800, credits)),
        ..EmulatedVolume::new(Bytes(64 * MIB))
    }
}

#[test]
fn a_bucket_of_ios_is_spent_and_the_long_run_holds() {
    needs_root!();
    needs_tool!("nbdfuse");
    let credits = 1_400 * scale();
    let load = Load { threads: 4, bytes: 4 * KIB, write: false, count: 1_800 * scale() };
    let bucket = Arithmetic { base: 100.0, high: 800.0, credits: credits as f64, units: 1.0 };
    hold("gp2, random reads", &gp2(credits), None, load, &[bucket]);
}

#[test]
fn a_link_bursts_and_falls_back() {
    needs_root!();
    needs_tool!("nbdfuse");
    let credits = 60_000_000 * scale();
    let link = Link { burst: Some(of_bytes(40_000_000, credits)), ..Link::of(ByteRate(10_000_000)) };
    let count = 100_000_000 * scale() / (64 * KIB);
    let load = Load { threads: 4, bytes: 64 * KIB, write: true, count };
    let bucket = Arithmetic { base: 1e7, high: 4e7, credits: credits as f64, units: 65_536.0 };
    let volume = EmulatedVolume::new(Bytes(64 * MIB));
    let Some(report) = hold("link, random writes", &volume, Some(link), load, &[bucket]) else { return };
    assert_eq!(report.link_bytes, count * 64 * KIB);
    assert!(report.link_credit_bytes.unwrap() < 1e6, "{report:?}");
}

#[test]
fn a_link_counts_ios_and_bursts_in_them() {
    needs_root!();
    needs_tool!("nbdfuse");
    let credits = 1_200 * scale();
    let link = Link { iops: Some(150), burst: Some(of_ios(750, credits)), ..Link::of(ByteRate(100_000_000)) };
    let load = Load { threads: 4, bytes: 4 * KIB, write: true, count: 1_800 * scale() };
    let bucket = Arithmetic { base: 150.0, high: 750.0, credits: credits as f64, units: 1.0 };
    let volume = EmulatedVolume::new(Bytes(64 * MIB));
    let Some(report) = hold("link IOPS, random writes", &volume, Some(link), load, &[bucket]) else { return };
    assert_eq!(report.link_ios, load.count);
}

#[test]
fn a_bucket_of_the_volume_and_one_of_the_link_are_spent_together() {
    needs_root!();
    needs_tool!("nbdfuse");
    // The link is at its long run after 2.4 s, the volume at its own after 5.3 s.
    let (ios, bytes) = (1_600 * scale(), 60_000_000 * scale());
    let link = Link { burst: Some(of_bytes(40_000_000, bytes)), ..Link::of(ByteRate(15_000_000)) };
    let count = 2_300 * scale();
    let load = Load { threads: 4, bytes: 64 * KIB, write: true, count };
    let buckets = [
        Arithmetic { base: 100.0, high: 800.0, credits: ios as f64, units: 1.0 },
        Arithmetic { base: 1.5e7, high: 4e7, credits: bytes as f64, units: 65_536.0 },
    ];
    hold("gp2 behind a link, random writes", &gp2(ios), Some(link), load, &buckets);
}

#[test]
fn a_hard_disk_is_charged_whole_ios() {
    needs_root!();
    needs_tool!("nbdfuse");
    let credits = 100 * MIB * scale();
    let volume = EmulatedVolume {
        throughput: Some(ByteRate(10 * MIB)),
        io_size: Some(Bytes(MIB)),
        merge: true,
        burst: Some(of_bytes(50 * MIB, credits)),
        ..EmulatedVolume::new(Bytes(64 * MIB))
    };
    // 4 KiB here and there cost 1 MiB each.
    let load = Load { threads: 4, bytes: 4 * KIB, write: false, count: 160 * scale() };
    let mib = MIB as f64;
    let bucket = Arithmetic { base: 10.0 * mib, high: 50.0 * mib, credits: credits as f64, units: mib };
    hold("st1, random reads", &volume, None, load, &[bucket]);
}
