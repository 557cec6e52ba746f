//! The server as its clients see it: volumes served in a thread of the test, spoken to over their sockets.

#![allow(dead_code, reason = "each test program uses a part of it")]
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

pub(crate) use std::path::PathBuf;
pub(crate) use std::sync::atomic::{AtomicBool, Ordering};
pub(crate) use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
pub(crate) use std::thread::JoinHandle;
pub(crate) use std::time::Duration;

pub(crate) use iostone_disk::{
    Answer, Client, Command, Control, DiskError, DiskPlan, OperationCounters, Server, Store, VolumePlan,
};
pub(crate) use iostone_model::experiment::EmulatedVolume;
pub(crate) use iostone_model::units::{ByteRate, Bytes};

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server in a thread, ended and waited for when it is dropped. There is one at a time, whatever else the harness runs:
/// figures are measured alone.
pub(crate) struct Served {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) thread: Option<JoinHandle<Result<(), DiskError>>>,
    pub(crate) plan: DiskPlan,
    _alone: MutexGuard<'static, ()>,
}

impl Served {
    /// Serves volumes in memory.
    pub(crate) fn new(models: &[EmulatedVolume], link: Option<ByteRate>) -> Self {
        Self::with(models, link, |_| Store::Memory)
    }

    pub(crate) fn with(
        models: &[EmulatedVolume],
        link: Option<ByteRate>,
        store: impl Fn(&std::path::Path) -> Store,
    ) -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let directory = tempfile::tempdir().unwrap();
        let volumes = models.iter().enumerate().map(|(number, model)| VolumePlan {
            name: format!("v{number}"),
            socket: directory.path().join(format!("v{number}.sock")),
            store: store(directory.path()),
            model: model.clone(),
        });
        let volumes = volumes.collect();
        let link = link.map(iostone_model::experiment::Link::of);
        let plan = DiskPlan { volumes, link, control: directory.path().join("control.sock"), seed: 7 };
        let stop = Arc::new(AtomicBool::new(false));
        let server = Server::bind(&plan).unwrap();
        let flag = Arc::clone(&stop);
        let thread = Some(std::thread::spawn(move || server.run(&flag)));
        Self { directory, stop, thread, plan, _alone: alone }
    }

    pub(crate) fn socket(&self, volume: usize) -> PathBuf {
        self.plan.volumes[volume].socket.clone()
    }

    pub(crate) fn client(&self, volume: usize) -> Client {
        let client = Client::connect(&self.socket(volume), "").unwrap();
        client.set_timeout(Some(PATIENCE)).unwrap();
        client
    }

    pub(crate) fn control(&self) -> Control {
        Control::connect(&self.plan.control, PATIENCE).unwrap()
    }

    /// Ends it, and gives what it ended with.
    pub(crate) fn end(&mut self) -> Result<(), DiskError> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

pub(crate) fn volume(bytes: u64) -> EmulatedVolume {
    EmulatedVolume::new(Bytes(bytes))
}

/// Sends requests, so many of them at a time in flight, and gives the answers.
pub(crate) fn keep_in_flight(
    client: &mut Client,
    depth: usize,
    requests: impl Iterator<Item = (Command, u64, u32)>,
) -> Vec<Answer> {
    let payload = vec![0x5a; 4 << 20];
    let mut data = vec![0; 4 << 20];
    let mut answers = Vec::new();
    let mut requests = requests.peekable();
    while requests.peek().is_some() || client.in_flight() > 0 {
        while client.in_flight() < depth
            && let Some((command, offset, length)) = requests.next()
        {
            let written = if command == Command::Write { &payload[..length as usize] } else { &[] };
            client.submit(command, 0, offset, length, written);
        }
        client.send().unwrap();
        answers.push(client.receive(&mut data).unwrap());
        while client.has_answer() {
            answers.push(client.receive(&mut data).unwrap());
        }
    }
    answers
}

/// The mean time of service by the server's own stamps, in nanoseconds.
pub(crate) fn mean_ns(counters: &OperationCounters) -> f64 {
    counters.service.mean_ns().unwrap()
}

/// Offsets all over a volume, in an order that is the same each time.
pub(crate) fn scattered(count: u64, length: u64, volume_bytes: u64) -> impl Iterator<Item = u64> {
    let places = volume_bytes / length;
    (0..count).map(move |number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % places * length)
}
