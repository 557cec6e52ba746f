//! `disk`: a server in the foreground, its controls, the plan of another process, and what is refused.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};

use iostone_disk::{Client, DiskPlan, Store, VolumePlan};
use iostone_model::experiment::EmulatedVolume;
use iostone_model::units::Bytes;

use crate::support::Bench;

/// A server that is ended when the test is over, however it ends.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts `disk serve` and waits until it has said how to reach it.
fn serve(bench: &Bench, arguments: &[&str]) -> (Serving, String) {
    let mut command = bench.command(&[&["disk", "serve"], arguments].concat());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("Ctrl-C stops it") {
        assert_ne!(lines.read_line(&mut said).unwrap(), 0, "{said}");
    }
    (Serving(child), said)
}

#[test]
fn a_served_volume_is_steered_and_ended() {
    let bench = Bench::new();
    let (mut serving, said) =
        serve(&bench, &["--socket", "v", "--file", "image", "--size", "32MiB", "--latency", "1ms"]);
    assert!(said.contains("nbd+unix:///?socket=/"), "{said}");
    let mut client = Client::connect(&bench.path("v"), "").unwrap();
    client.write(0, &[7; 4096], false).unwrap();
    let counters = bench.iostone(&["disk", "control", "v.control", "counters"]);
    assert_eq!(counters.code, Some(0), "{counters:?}");
    assert!(counters.stdout.contains("writes: 1, 4096 bytes"), "{counters:?}");
    let json = bench.iostone(&["disk", "control", "v.control", "counters", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["counters"]["volumes"][0]["counters"]["writes"]["requests"], 1);
    let set = bench.iostone(&["disk", "control", "v.control", "set", "iops=500", "latency=none"]);
    assert_eq!(set.code, Some(0), "{set:?}");
    let wrong = bench.iostone(&["disk", "control", "v.control", "set", "colour=red"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    let second = bench.iostone(&["disk", "serve", "--socket", "v", "--memory", "--size", "32MiB"]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(second.stderr.contains("a server is already listening at"), "{second:?}");
    let cut = bench.iostone(&["disk", "control", "v.control", "cut", "--keep", "50%"]);
    assert!(cut.stdout.contains("power off"), "{cut:?}");
    assert!(client.write(0, &[8; 4096], false).is_err());
    assert_eq!(bench.iostone(&["disk", "control", "v.control", "restore"]).code, Some(0));
    let again = bench.iostone(&["disk", "control", "v.control", "restore"]);
    assert!(again.code != Some(0) && again.stderr.contains("is already on"), "{again:?}");
    client.write(0, &[9; 4096], false).unwrap();
    assert_eq!(bench.iostone(&["disk", "control", "v.control", "end"]).code, Some(0));
    assert!(serving.0.wait().unwrap().success());
    assert_eq!(bench.names(), ["image"]);
    assert_eq!(std::fs::read(bench.path("image")).unwrap()[..4096], [9; 4096]);
}

#[test]
fn a_link_that_bursts_shows_what_is_left_and_is_filled() {
    let bench = Bench::new();
    let link = ["--link", "10MB/s", "--link-iops", "1000", "--link-burst", "40MB/s:8MiB"];
    let more = ["--link-burst-iops", "5000:300", "--link-burst-start", "50%"];
    let volume = ["--socket", "v", "--memory", "--size", "32MiB"];
    let (mut serving, _) = serve(&bench, &[&volume[..], &link, &more].concat());
    let mut client = Client::connect(&bench.path("v"), "").unwrap();
    client.write(0, &vec![7; 1 << 20], false).unwrap();
    let control = |words: &[&str]| bench.iostone(&[&["disk", "control", "v.control"], words].concat());
    let counters = || {
        let json = control(&["counters", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        json["counters"].clone()
    };
    let left = |report: &serde_json::Value| {
        (report["link_credits"].as_f64().unwrap(), report["link_credit_bytes"].as_f64().unwrap())
    };
    let report = counters();
    assert_eq!((report["link_bytes"].as_u64(), report["link_ios"].as_u64()), (Some(1 << 20), Some(1)));
    assert_eq!(report["link_iops"], 1000);
    assert_eq!(control(&["fill", "--link", "--credits", "0"]).code, Some(0));
    assert_eq!(control(&["fill", "--link", "--credit-bytes", "1GiB"]).code, Some(0));
    assert!((left(&counters()).1 - 8_388_608.0).abs() < 1.0, "no more than the bucket holds");
    let text = control(&["counters"]).stdout;
    assert!(text.contains("link of 10MB/s and 1000 IOPS: 1MiB in 1 I/Os"), "{text}");
    assert!(text.contains("  burst: 8388608 bytes left"), "{text}");
    assert_eq!(control(&["set", "link_iops=1", "link=1B/s"]).code, Some(0));
    assert_eq!(control(&["begin"]).code, Some(0));
    let (ios, bytes) = left(&counters());
    assert!((150.0..200.0).contains(&ios) && (4_194_304.0..4_194_400.0).contains(&bytes), "{ios} {bytes}");
    assert_eq!(control(&["end"]).code, Some(0));
    assert!(serving.0.wait().unwrap().success());
}

#[test]
fn a_plan_is_served_until_standard_input_is_closed() {
    let bench = Bench::new();
    let volume = VolumePlan {
        name: "v0".to_owned(),
        socket: bench.path("v0"),
        store: Store::Memory,
        model: EmulatedVolume::new(Bytes(1 << 20)),
    };
    let plan = DiskPlan { volumes: vec![volume], link: None, control: bench.path("control"), seed: 1 };
    let mut command = bench.command(&["disk", "plan"]);
    let mut serving = Serving(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut input = serving.0.stdin.take().unwrap();
    writeln!(input, "{}", serde_json::to_string(&plan).unwrap()).unwrap();
    let mut ready = String::new();
    BufReader::new(serving.0.stdout.take().unwrap()).read_line(&mut ready).unwrap();
    assert_eq!(ready, "ready\n");
    let mut client = Client::connect(&bench.path("v0"), "v0").unwrap();
    client.write(0, &[1; 4096], true).unwrap();
    drop(input);
    assert!(serving.0.wait().unwrap().success());
    assert!(bench.names().is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_with_why() {
    let bench = Bench::new();
    bench.write("small", "too small");
    let cases: [(&[&str], &str); 18] = [
        (&["--memory"], "--size 1GiB"),
        (&["--memory", "--size", "32MiB", "--iops", "0"], "a volume of 0 IOPS never answers"),
        (&["--memory", "--size", "32MiB", "--merge"], "--io-size"),
        (&["--memory", "--size", "32MiB", "--iops", "5", "--burst-iops", "10"], "--burst-credits"),
        (&["--memory", "--size", "32MiB", "--error-offset", "1GiB"], "the errors are beyond the volume"),
        (&["--memory", "--size", "a lot"], "is not"),
        (&["--memory", "--size", "32MiB", "--link-iops", "5"], "--link <RATE>"),
        (&["--memory", "--size", "32MiB", "--link", "0B/s"], "would answer no request"),
        (&["--memory", "--size", "32MiB", "--link", "5MB/s", "--link-burst", "9MB/s"], "593MB/s:5GB"),
        (&["--memory", "--size", "32MiB", "--link", "5MB/s", "--link-burst", "5MB/s:1GB"], "must be above"),
        (&["--memory", "--size", "32MiB", "--link", "5MB/s", "--link-burst-start", "50%"], "needs a bucket"),
        (&["--memory", "--size", "32MiB", "--link", "5MB/s", "--link-burst", "9MB/s:0B"], "a bucket of 0"),
        (
            &[
                "--memory",
                "--size",
                "32MiB",
                "--link",
                "5MB/s",
                "--link-iops",
                "9",
                "--link-burst-iops",
                "99:0",
            ],
            "a bucket of 0",
        ),
        (&["--memory", "--size", "32MiB", "--link-burst-start", "150%"], "--link <RATE>"),
        (&["--size", "32MiB"], "or `--memory`"),
        (&["--memory", "--direct", "--size", "32MiB"], "--direct"),
        (&["--file", "huge", "--size", "9000000TiB"], "exceeds the largest file size"),
        (&["--file", "small", "--size", "32MiB"], "truncate --size"),
    ];
    for (arguments, why) in cases {
        let said = bench.iostone(&[&["disk", "serve", "--socket", "v"], arguments].concat());
        assert_eq!(said.code, Some(2), "{arguments:?}: {said:?}");
        assert!(said.stderr.contains(why), "{arguments:?}: {said:?}");
        assert!(!bench.path("v").exists() && !bench.path("huge").exists());
    }
    let nobody = bench.iostone(&["disk", "control", "nobody", "counters"]);
    assert_eq!(nobody.code, Some(2), "{nobody:?}");
    assert!(nobody.stderr.contains("no server listens at `nobody`"), "{nobody:?}");
}
