//! The models of a volume, through the server's sockets: power cuts, bursts, accounting, and changes while it runs.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iostone_disk::{
    Client, Command, Control, DiskPlan, OperationCounters, Server, Setting, Store, VolumePlan,
};
use iostone_model::experiment::{Burst, EmulatedVolume, VolatileCache};
use iostone_model::units::{Bytes, Fraction, Span};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tempfile::TempDir;

const TIMEOUT: Duration = Duration::from_secs(60);
const BLOCK: usize = 4096;

/// A server of one volume in memory, which ends with it.
struct Served {
    directory: TempDir,
    stop: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Served {
    fn new(model: EmulatedVolume) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let volume = VolumePlan { name: "v0".to_owned(), socket: at("v0.sock"), store: Store::Memory, model };
        let plan = DiskPlan { volumes: vec![volume], link: None, control: at("control.sock"), seed: 7 };
        let stop = Arc::new(AtomicBool::new(false));
        let server = Server::bind(&plan).unwrap();
        let flag = Arc::clone(&stop);
        let serving = std::thread::spawn(move || server.run(&flag).unwrap());
        Self { directory, stop, serving: Some(serving) }
    }

    fn socket(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn client(&self) -> Client {
        let client = Client::connect(&self.socket("v0.sock"), "v0").unwrap();
        client.set_timeout(Some(TIMEOUT)).unwrap();
        client
    }

    fn control(&self) -> Control {
        Control::connect(&self.socket("control.sock"), TIMEOUT).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        if let Some(serving) = self.serving.take() {
            let ended = serving.join();
            assert!(std::thread::panicking() || ended.is_ok(), "the server failed");
        }
    }
}

fn volume(size: u64) -> EmulatedVolume {
    EmulatedVolume::new(Bytes(size))
}

fn reads(control: &mut Control) -> OperationCounters {
    control.counters().unwrap().volumes.remove(0).counters.reads
}

/// Reads `count` blocks one after the other on the disk, up to `depth` at a time.
fn read_blocks(client: &mut Client, count: u64, depth: u64) {
    let mut buffer = [0; BLOCK];
    let (mut sent, mut received) = (0, 0);
    while received < count {
        while sent < count && sent - received < depth {
            client.submit(Command::Read, 0, sent * BLOCK as u64, 4096, &[]);
            sent += 1;
        }
        client.send().unwrap();
        assert_eq!(client.receive(&mut buffer).unwrap().error, 0);
        received += 1;
    }
}

#[test]
fn in_fifty_power_cuts_nothing_flushed_is_lost_and_nothing_is_torn() {
    const BLOCKS: usize = 64;
    let size = (BLOCKS * BLOCK) as u64;
    let cache = Some(VolatileCache { size: Bytes(16 * BLOCK as u64) });
    let served = Served::new(EmulatedVolume { cache, ..volume(size) });
    let (mut client, mut control) = (served.client(), served.control());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(11);
    // Of each block, the versions that it may have after a cut: what was last flushed, and everything since.
    let mut possible = vec![vec![0_u8]; BLOCKS];
    let mut lost = 0;
    for _ in 0..50 {
        for _ in 0..random.next_u64() % 60 {
            let place = usize::try_from(random.next_u64()).unwrap() % BLOCKS;
            let version = random.next_u64().to_le_bytes()[0];
            let is_durable = random.next_u64().is_multiple_of(16);
            client.write((place * BLOCK) as u64, &[version; BLOCK], is_durable).unwrap();
            if is_durable {
                possible[place].clear();
            }
            possible[place].push(version);
            if random.next_u64().is_multiple_of(16) {
                client.flush().unwrap();
                for versions in &mut possible {
                    versions.drain(..versions.len() - 1);
                }
            }
        }
        let cut = control.cut(None, Fraction(0.5)).unwrap();
        lost += cut[0].cache.unwrap().lost_blocks;
        assert!(client.read(0, &mut [0; BLOCK]).is_err(), "there is no power");
        assert!(client.flush().is_err());
        control.restore(None).unwrap();
        let mut found = vec![0; BLOCKS * BLOCK];
        client.read(0, &mut found).unwrap();
        for (block, versions) in found.chunks(BLOCK).zip(&mut possible) {
            assert!(block.iter().all(|byte| *byte == block[0]), "a block is torn");
            assert!(versions.contains(&block[0]), "{} is none of {versions:?}", block[0]);
            *versions = vec![block[0]];
        }
    }
    assert!(lost > 50, "the cache is volatile: {lost} blocks lost");
}

#[test]
fn a_burst_ends_when_its_credits_do() {
    let burst =
        Burst { iops: Some(2_000), credits: Some(900), throughput: None, credit_bytes: None, start: None };
    let served = Served::new(EmulatedVolume { iops: Some(200), burst: Some(burst), ..volume(8 << 20) });
    let (mut client, mut control) = (served.client(), served.control());
    let began = Instant::now();
    read_blocks(&mut client, 1_100, 16);
    // 900 credits, and 200 more at 200 a second: a second at the least, however slow this machine is.
    assert!(began.elapsed() >= Duration::from_secs(1), "{:?}", began.elapsed());
    let counters = reads(&mut control);
    assert_eq!((counters.requests, counters.ios, counters.bytes), (1_100, 1_100, 1_100 * 4096));
    assert!(counters.waited > 0, "none waited");
}

#[test]
fn sequential_reads_are_merged_and_large_ones_split() {
    let io_size = Some(Bytes(64 << 10));
    let served = Served::new(EmulatedVolume { io_size, merge: true, ..volume(8 << 20) });
    let (mut client, mut control) = (served.client(), served.control());
    read_blocks(&mut client, 256, 8);
    let counters = reads(&mut control);
    assert_eq!((counters.requests, counters.ios, counters.merged), (256, 16, 240));
    control.reset_counters().unwrap();
    client.read(4 << 20, &mut vec![0; 1 << 20]).unwrap();
    let counters = reads(&mut control);
    assert_eq!((counters.requests, counters.ios, counters.merged), (1, 16, 0));
}

#[test]
fn a_latency_set_while_it_runs_holds_from_then_on() {
    let served = Served::new(volume(1 << 20));
    let (mut client, mut control) = (served.client(), served.control());
    read_blocks(&mut client, 50, 1);
    control.set(Some("v0"), &[Setting::Latency(Some(Span(Duration::from_millis(2))))]).unwrap();
    control.reset_counters().unwrap();
    read_blocks(&mut client, 50, 4);
    let shortest_ns = reads(&mut control).service.min_ns().unwrap();
    assert!(shortest_ns >= 2_000_000, "{shortest_ns} ns");
}
