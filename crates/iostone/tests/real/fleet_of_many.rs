//! As many SSH servers as are asked for, some of them bad: `make test-fleet HOSTS=200`. Not part of any other set of tests.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::lab::{Lab, UNGATED, needs_root, needs_tool, words};
use crate::ssh_hosts::SshHosts;

/// Two levels that differ by nothing but their names: a fleet's machinery is tested, not a disk.
const EXPERIMENT: &str = r#"
name = "many"
[stack]
volume = { kind = "directory" }
[[factor]]
name = "which"
levels = { a = { workload.env = { WHICH = "a" } }, b = { workload.env = { WHICH = "b" } } }
[workload]
kind = "command"
argv = ["sleep", "0.2"]
[decide]
metric = "wall_time"
baseline = "a"
blocks = { min = 6, max = 6 }
"#;

/// CPU time of this process's children that were waited for, in seconds.
fn children_cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: f64 = [13, 14].iter().map(|index| fields[*index].parse::<f64>().unwrap()).sum();
    ticks / 100.0
}

/// Makes the bad hosts known by the key of all, so that their keys are no reason why they fail.
fn know_bad_hosts(hosts: &SshHosts) {
    let key = std::fs::read_to_string(hosts.host("keys").join("host.pub")).unwrap();
    let key: Vec<&str> = key.split_whitespace().take(2).collect();
    let known = hosts.host("known_hosts");
    let mut text = std::fs::read_to_string(&known).unwrap();
    for number in 1..=5 {
        writeln!(text, "127.1.9.{number} {}", key.join(" ")).unwrap();
    }
    std::fs::write(&known, text).unwrap();
}

/// What is wrong with each of the bad hosts.
const BAD: [(&str, &str); 8] = [
    ("host1", "refuses"),
    ("host2", "refuses"),
    ("host3", "refuses"),
    ("host4", "hangs at login"),
    ("host5", "hangs at login"),
    ("host6", "no space"),
    ("host7", "killed"),
    ("host8", "another version"),
];

#[test]
#[ignore = "minutes of two processors: make test-fleet"]
fn bad_hosts_are_named_and_all_others_are_there() {
    needs_root!();
    needs_tool!("ansible-playbook");
    needs_tool!("sshd");
    let number: usize = std::env::var("HOSTS").ok().and_then(|hosts| hosts.parse().ok()).unwrap_or(200);
    assert!(number >= 10, "8 of the hosts are bad ones");
    let lab = Lab::new();
    // One is full: what is mounted before the hosts are there is there for them too.
    let full = lab.path().join("h/host6/fleet");
    std::fs::create_dir_all(&full).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&full).status();
    assert!(mounted.unwrap().success());
    let hosts = SshHosts::start(&lab, number, false);
    // Three refuse: nothing listens there. Two hang at login: something listens that never answers.
    let silent = lab.write("silent.py", "import socket,time\ns=[]\nfor a in ('127.1.9.4','127.1.9.5'):\n c=socket.socket(); c.bind((a,22)); c.listen(64); s.append(c)\ntime.sleep(100000)\n");
    let address = hosts
        .controller(&lab, "sh", &["-c", "for i in 1 2 3 4 5; do ip address add 127.1.9.$i/32 dev lo; done"])
        .status();
    assert!(address.unwrap().success());
    let mut hanging = hosts.controller(&lab, "python3", &[&silent]).spawn().unwrap();
    // One has another version.
    let old = hosts.host("host8").join("iostone");
    std::fs::write(&old, "#!/bin/sh\necho iostone 0.0.9\n").unwrap();
    std::fs::set_permissions(&old, std::fs::Permissions::from_mode(0o755)).unwrap();
    let old = format!("iostone_program: {}", old.display());
    let mut extra = vec![
        ("host1", "ansible_host: 127.1.9.1"),
        ("host2", "ansible_host: 127.1.9.2"),
        ("host3", "ansible_host: 127.1.9.3"),
        ("host4", "ansible_host: 127.1.9.4"),
        ("host5", "ansible_host: 127.1.9.5"),
        ("host8", old.as_str()),
    ];
    // The program that all push; on one machine the push of a debug build to each would only fill its disk.
    let program = format!("iostone_program: {}", env!("CARGO_BIN_EXE_iostone"));
    let push = std::env::var_os("PUSH").is_some();
    let names = hosts.names.clone();
    if !push {
        extra.extend(names.iter().skip(8).map(|name| (name.as_str(), program.as_str())));
    }
    know_bad_hosts(&hosts);
    let inventory = hosts.inventory(&extra).display().to_string();
    let file = lab.write("experiment.toml", &format!("{EXPERIMENT}{UNGATED}"));
    let binary = std::env::var("PUSH").unwrap_or_else(|_| env!("CARGO_BIN_EXE_iostone").to_owned());
    let binary = format!("{}={binary}", std::env::consts::ARCH);
    let before = (Instant::now(), children_cpu());
    let mut run = hosts.controller(
        &lab,
        env!("CARGO_BIN_EXE_iostone"),
        &["fleet", "run", &file, "--inventory", &inventory],
    );
    run.args(["--poll", "20s", "--lease", "30min", "--connect-timeout", "10s", "--binary", &binary]);
    let child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One is killed in mid-run.
    let deadline = Instant::now() + Duration::from_secs(900);
    while hosts.status("host7").is_none_or(|status| status["trials"].as_u64() < Some(1)) {
        assert!(Instant::now() < deadline, "host7 did not begin");
        sleep(Duration::from_millis(20));
    }
    let pid = hosts.status("host7").unwrap()["pid"].to_string();
    assert!(Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let (wall, cpu) = (before.0.elapsed(), children_cpu() - before.1);
    eprintln!(
        "{number} hosts: {:.0} s, {cpu:.1} CPU-s of the controller, {:.2} a host",
        wall.as_secs_f64(),
        cpu / number as f64
    );
    hanging.kill().unwrap();
    hanging.wait().unwrap();
    assert_eq!(ended.status.code(), Some(4), "{}", words(&ended));
    let fleet = std::fs::read_dir(lab.runs()).unwrap().next().unwrap().unwrap().path();
    let kept: Value = serde_json::from_slice(&std::fs::read(fleet.join("fleet.json")).unwrap()).unwrap();
    let kept = kept["hosts"].as_array().unwrap();
    let missing: Vec<(&str, &str)> = kept
        .iter()
        .filter(|host| host["state"] != "done")
        .map(|host| (host["name"].as_str().unwrap(), host["reason"].as_str().unwrap_or_default()))
        .collect();
    eprintln!("{missing:#?}");
    assert_eq!(missing.len(), 8, "{}", words(&ended));
    for (name, word) in BAD {
        assert!(
            missing.iter().any(|(host, reason)| *host == name && reason.contains(word)),
            "{name}: {missing:?}"
        );
    }
    // Mended, they complete the fleet. The full one is full in its own namespace until it is started anew: it gets another place.
    let elsewhere = format!("iostone_base: {}", hosts.host("host6").join("larger").display());
    extra.retain(|(name, _)| names.iter().skip(8).any(|other| other == name));
    extra.push(("host6", &elsewhere));
    assert_eq!(hosts.inventory(&extra).display().to_string(), inventory);
    let path = fleet.display().to_string();
    let mut again =
        hosts.controller(&lab, env!("CARGO_BIN_EXE_iostone"), &["fleet", "run", "--resume", &path]);
    let again = again.args(["--poll", "10s", "--lease", "30min", "--binary", &binary]).output().unwrap();
    drop(hosts);
    assert!(Command::new("umount").arg(&full).status().unwrap().success());
    assert!(again.status.success(), "{}", words(&again));
}
