//! Tests of steering: the handling of requests, the spelling of settings, and the client over real sockets.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

use iostone_model::experiment::{Burst, EmulatedVolume, Link};
use iostone_model::units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::cache::{Medium, VolatileCache};
use crate::model::Operation;

const TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct Nowhere;

impl Medium for Nowhere {
    fn read_at(&self, buffer: &mut [u8], _: u64) -> io::Result<()> {
        buffer.fill(0);
        Ok(())
    }

    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two volumes, `fast` with a cache and `gp2` with a burst bucket.
struct Server {
    fast: VolumeState,
    cache: VolatileCache<Nowhere>,
    gp2: VolumeState,
    below: StoreFailures,
    link: LinkState,
    end: bool,
}

impl Server {
    fn new() -> Self {
        let size = Bytes(1 << 20);
        let mut gp2 = EmulatedVolume::new(size);
        gp2.iops = Some(100);
        gp2.burst = Some(Burst {
            iops: Some(3_000),
            credits: Some(27_000),
            throughput: None,
            credit_bytes: None,
            start: None,
        });
        Self {
            fast: VolumeState::new(&EmulatedVolume::new(size), 1),
            cache: VolatileCache::new(Nowhere, size.0, Bytes(64 << 10), 1),
            gp2: VolumeState::new(&gp2, 2),
            below: StoreFailures::default(),
            link: LinkState::new(None),
            end: false,
        }
    }

    fn handle(&mut self, line: &str) -> ControlReply {
        let fast = SteeredVolume {
            name: "fast",
            state: &mut self.fast,
            store_failures: self.below,
            cache: Some(&mut self.cache),
        };
        let gp2 = SteeredVolume {
            name: "gp2",
            state: &mut self.gp2,
            store_failures: StoreFailures::default(),
            cache: None,
        };
        let mut steering =
            Steering { now_ns: 1_000, volumes: vec![fast, gp2], link: &mut self.link, end: &mut self.end };
        let reply = handle(line, &mut steering);
        assert!(!reply.contains('\n'));
        serde_json::from_str(&reply).unwrap()
    }

    fn ask(&mut self, request: &ControlRequest) -> ControlReply {
        self.handle(&serde_json::to_string(request).unwrap())
    }

    fn refusal(&mut self, line: &str) -> String {
        match self.handle(line) {
            ControlReply::Refused(reason) => reason,
            other => panic!("{other:?}"),
        }
    }

    fn report(&mut self) -> ServerReport {
        match self.handle(r#"{"do":"counters"}"#) {
            ControlReply::Counters(report) => report,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_failed_below_is_told_apart_from_faults() {
    let mut server = Server::new();
    let ask = |server: &mut Server| match server.ask(&ControlRequest::Counters { volume: None }) {
        ControlReply::Counters(report) => report,
        other => panic!("{other:?}"),
    };
    assert_eq!(ask(&mut server).trouble_below(), None);
    server.below = StoreFailures { requests: 3, first_errno: Some(libc::ENOSPC) };
    let said = ask(&mut server).trouble_below().unwrap();
    assert!(
        said.starts_with("the storage below `fast` failed 3 requests, the first with \"No space left"),
        "{said}"
    );
}

#[test]
fn counters_come_for_all_volumes_or_one() {
    let mut server = Server::new();
    server.fast.admit(&mut server.link, Operation::Read, 0, 4096, 10);
    server.fast.completed(Operation::Read, 4096, 10, 510, false);
    let report = server.report();
    let names: Vec<&str> = report.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(names, ["fast", "gp2"]);
    assert_eq!(report.volumes[0].counters.reads.service.sum_ns(), 500);
    assert_eq!(report.volumes[1].counters.credits, Some(27_000.0));
    assert_eq!(report.link_bytes, 4096);
    assert_eq!(report.volumes[0].cache.map(|cache| cache.capacity_blocks), Some(16));
    assert_eq!(server.handle(r#"{"do":"reset_counters"}"#), ControlReply::Done);
    let report = server.report();
    assert_eq!((report.volumes[0].counters.reads.requests, report.link_bytes), (0, 0));
}

#[test]
fn a_cut_takes_the_cache_and_the_power() {
    let mut server = Server::new();
    server.cache.write_at(&vec![1; 32 << 10], 0, false).unwrap();
    let reply = server.handle(r#"{"do":"cut","keep":"50%"}"#);
    let cache = Some(PowerCut { kept_blocks: 4, lost_blocks: 4 });
    let reports =
        vec![CutReport { name: "fast".to_owned(), cache }, CutReport { name: "gp2".to_owned(), cache: None }];
    assert_eq!(reply, ControlReply::Cut(reports));
    assert!(!server.fast.is_powered() && !server.gp2.is_powered());
    let reason = server.refusal(r#"{"do":"cut","volume":"gp2","keep":"50%"}"#);
    assert!(reason.contains("the power of `gp2` is already off"), "{reason}");
    assert_eq!(server.handle(r#"{"do":"restore","volume":"fast"}"#), ControlReply::Done);
    assert!(server.fast.is_powered() && !server.gp2.is_powered());
    server.cache.read_at(&mut [0; 512], 0).unwrap();
}

#[test]
fn settings_hold_all_together_or_not_at_all() {
    let mut server = Server::new();
    let settings = vec![Setting::Link(Some(ByteRate(62_500_000))), Setting::Iops(Some(0))];
    let reply = server.ask(&ControlRequest::Set { volume: None, settings });
    assert_eq!(
        reply,
        ControlReply::Refused(
            "`iops` cannot be `0`: no request would be answered; `none` removes the limit".to_owned()
        )
    );
    assert_eq!(server.link.link(), None);
    let settings = vec![
        Setting::Link(Some(ByteRate(62_500_000))),
        Setting::Latency(Some(Span(Duration::from_millis(2)))),
    ];
    assert_eq!(
        server.ask(&ControlRequest::Set { volume: Some("fast".to_owned()), settings }),
        ControlReply::Done
    );
    assert_eq!(server.link.link(), Some(Link::of(ByteRate(62_500_000))));
    let admission = server.fast.admit(&mut server.link, Operation::Read, 0, 4096, 1_000_000_000);
    assert_eq!(admission.not_before_ns, 1_002_000_000);
    let other = server.gp2.admit(&mut server.link, Operation::Read, 0, 4096, 1_000_000_000);
    assert_eq!(other.not_before_ns, 1_000_000_000);
}

#[test]
fn a_burst_bucket_is_filled_where_there_is_one() {
    let mut server = Server::new();
    assert_eq!(server.handle(r#"{"do":"fill","volume":"gp2","credits":500}"#), ControlReply::Done);
    assert_eq!(server.report().volumes[1].counters.credits, Some(500.0));
    let reason = server.refusal(r#"{"do":"fill","volume":"gp2","credit_bytes":500}"#);
    assert_eq!(reason, "`gp2` has no burst bucket of bytes");
    let reason = server.refusal(r#"{"do":"fill","credits":900}"#);
    assert_eq!(reason, "`fast` has no burst bucket of I/Os");
    assert_eq!(server.report().volumes[1].counters.credits, Some(500.0), "none was filled");
}

#[test]
fn the_buckets_of_a_link_are_seen_and_filled_and_a_workload_begins_with_their_start() {
    let mut server = Server::new();
    let reason = server.refusal(r#"{"do":"fill_link","credits":5}"#);
    assert_eq!(reason, "the link has no burst bucket of I/Os");
    let reason = server.refusal(r#"{"do":"set","settings":[{"link_iops":5}]}"#);
    assert!(reason.contains("set `link=RATE` first"), "{reason}");
    let burst = Burst {
        iops: Some(200),
        credits: Some(1_000),
        throughput: Some(ByteRate(2_000_000)),
        credit_bytes: Some(Bytes(10_000_000)),
        start: Some(Fraction(0.5)),
    };
    let link = Link { throughput: ByteRate(1_000_000), iops: Some(100), burst: Some(burst) };
    server.link = LinkState::new(Some(link));
    server.fast.admit(&mut server.link, Operation::Read, 0, 4096, 10);
    let report = server.report();
    assert_eq!((report.link, report.link_iops), (Some(ByteRate(1_000_000)), Some(100)));
    assert_eq!((report.link_bytes, report.link_ios), (4096, 1));
    let (ios, bytes) = (report.link_credits.unwrap(), report.link_credit_bytes.unwrap());
    assert!((ios - 499.0).abs() < 1e-3 && (bytes - 4_995_904.0).abs() < 2.0, "{report:?}");
    let fill = r#"{"do":"fill_link","credits":7,"credit_bytes":90000000}"#;
    assert_eq!(server.handle(fill), ControlReply::Done);
    let report = server.report();
    assert_eq!((report.link_credits, report.link_credit_bytes), (Some(7.0), Some(10_000_000.0)));
    server.handle(r#"{"do":"fill","volume":"gp2","credits":1}"#);
    assert_eq!(server.handle(r#"{"do":"begin"}"#), ControlReply::Done);
    let report = server.report();
    assert_eq!((report.link_credits, report.link_credit_bytes), (Some(500.0), Some(5_000_000.0)));
    assert_eq!(report.volumes[1].counters.credits, Some(27_000.0));
    let settings = vec![Setting::Link(Some(ByteRate(3_000_000))), Setting::LinkIops(None)];
    assert_eq!(server.ask(&ControlRequest::Set { volume: None, settings }), ControlReply::Done);
    let report = server.report();
    assert_eq!((report.link, report.link_iops), (Some(ByteRate(3_000_000)), None));
    assert_eq!((report.link_credits, report.link_credit_bytes), (None, Some(5_000_000.0)));
}

#[test]
fn a_stall_and_the_end_are_carried_out() {
    let mut server = Server::new();
    assert_eq!(server.handle(r#"{"do":"stall","volume":"fast","lasts":"500ms"}"#), ControlReply::Done);
    assert_eq!(server.fast.may_answer_ns(1_000), 500_001_000);
    assert_eq!(server.gp2.may_answer_ns(1_000), 1_000);
    assert_eq!(server.handle(r#"{"do":"end"}"#), ControlReply::Done);
    assert!(server.end);
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let mut server = Server::new();
    for (line, expected) in [
        ("", "not a request"),
        ("counters", "not a request"),
        (r#"{"do":"explode"}"#, "unknown variant `explode`"),
        (r#"{"do":"cut"}"#, "missing field `keep`"),
        (r#"{"do":"cut","keep":"150%"}"#, "must be 0% to 100%"),
        (r#"{"do":"counters","volume":"v9"}"#, "there is no volume `v9`; the volumes are `fast`, `gp2`"),
        (r#"{"do":"set","settings":[{"size":"1GiB"}]}"#, "unknown variant `size`"),
    ] {
        let reason = server.refusal(line);
        assert!(reason.contains(expected), "{line}: {reason}");
    }
    assert!(server.fast.is_powered());
}

#[test]
fn settings_are_read_from_a_command_line() {
    let read = |text: &str| text.parse::<Setting>().map_err(|error| error.to_string());
    assert_eq!(read("iops=3000"), Ok(Setting::Iops(Some(3_000))));
    assert_eq!(read("throughput=40MB/s"), Ok(Setting::Throughput(Some(ByteRate(40_000_000)))));
    assert_eq!(read("write-latency=2ms"), Ok(Setting::WriteLatency(Some(Span(Duration::from_millis(2))))));
    assert_eq!(read("link=none"), Ok(Setting::Link(None)));
    assert_eq!(read("link_iops=4000"), Ok(Setting::LinkIops(Some(4_000))));
    assert!(read("link-iops=0").unwrap_err().contains("no request would be answered"));
    assert!(read("iops").unwrap_err().contains("`KEY=VALUE`"));
    assert!(read("size=1GiB").unwrap_err().contains("cannot be changed while a server runs"));
    assert!(read("throughput=40").unwrap_err().contains("needs a unit"));
    assert!(read("latency_spread=wide").unwrap_err().contains("exponential"));
    assert!(read("link=0B/s").unwrap_err().contains("no request would be answered"));
}

/// A directory with a socket, at which one connection is served by `serve`; then the client's outcome.
fn with_server<T>(
    serve: impl FnOnce(UnixStream) + Send + 'static,
    ask: impl FnOnce(&mut Control) -> T,
    timeout: Duration,
) -> T {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("control");
    let listener = UnixListener::bind(&path).unwrap();
    let serving = std::thread::spawn(move || serve(listener.accept().unwrap().0));
    let outcome = ask(&mut Control::connect(&path, timeout).unwrap());
    serving.join().unwrap();
    outcome
}

/// Answers every line as a server does.
fn serve_properly(mut stream: UnixStream) {
    let mut server = Server::new();
    let reader = BufReader::new(stream.try_clone().unwrap());
    for line in reader.lines() {
        let reply = serde_json::to_string(&server.handle(&line.unwrap())).unwrap();
        writeln!(stream, "{reply}").unwrap();
    }
}

#[test]
fn a_client_steers_a_server() {
    let ask = |control: &mut Control| {
        assert_eq!(control.counters().unwrap().volumes.len(), 2);
        control.reset_counters().unwrap();
        control.set(Some("fast"), &[Setting::Iops(Some(5))]).unwrap();
        control.stall(None, Span(Duration::from_millis(1))).unwrap();
        let cut = control.cut(None, Fraction(0.5)).unwrap();
        assert_eq!(cut.len(), 2);
        control.restore(None).unwrap();
        let refused = control.restore(Some("v9")).unwrap_err().to_string();
        assert!(refused.starts_with("the server refused: there is no volume `v9`"), "{refused}");
        control.end().unwrap();
    };
    with_server(serve_properly, ask, TIMEOUT);
}

#[test]
fn nobody_listening_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let error = Control::connect(&directory.path().join("none"), TIMEOUT).unwrap_err();
    assert!(error.to_string().starts_with("no server listens at `"), "{error}");
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    let (sender, receiver) = std::sync::mpsc::channel::<()>();
    let hold = move |stream: UnixStream| {
        // An error is all that ever comes: the other end is dropped.
        assert!(receiver.recv().is_err());
        drop(stream);
    };
    let ask = |control: &mut Control| {
        let error = control.counters().unwrap_err();
        drop(sender);
        error
    };
    let error = with_server(hold, ask, Duration::from_millis(50));
    assert!(error.to_string().ends_with("it took too long"), "{error}");
}

#[test]
fn what_answers_nonsense_or_hangs_up_is_said() {
    let nonsense = |mut stream: UnixStream| {
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
        stream.write_all(b"NBDMAGIC\n").unwrap();
    };
    let error = with_server(nonsense, |control| control.counters().unwrap_err(), TIMEOUT);
    assert!(error.to_string().contains("is not an emulated disk"), "{error}");
    let hang_up = |stream: UnixStream| {
        BufReader::new(stream).read_line(&mut String::new()).unwrap();
    };
    let error = with_server(hang_up, |control| control.counters().unwrap_err(), TIMEOUT);
    assert!(error.to_string().ends_with("it closed the connection"), "{error}");
}

proptest! {
    #[test]
    fn no_line_crashes_a_server(line in r#"[ -~]{0,40}|\{"do":"[a-z_]{1,9}"(,"[a-z]{1,9}":("[0-9a-z%]{0,5}"|-?[0-9]{1,20}|null)){0,3}\}"#) {
        let mut server = Server::new();
        server.handle(&line);
        server.report();
    }

    #[test]
    fn settings_survive_json(iops: Option<u32>, rate: Option<u64>) {
        let settings = [Setting::Iops(iops), Setting::Link(rate.map(|rate| ByteRate(rate >> 11)))];
        let text = serde_json::to_string(&settings).unwrap();
        prop_assert_eq!(serde_json::from_str::<Vec<Setting>>(&text).unwrap(), settings);
    }
}
