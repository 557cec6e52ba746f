//! `fleet` without hosts: runs from anywhere merged, what is hostile refused, signatures, jobs for schedulers.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::runs::PROGRAM;
use crate::support::{Bench, Said};

/// A bench with sealed archives of hosts, as a fleet fetches them: `archives/NAME.tar`.
fn fetched(names: &[&str]) -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("archives")).unwrap();
    for name in names {
        let place = bench.path(&format!("on-{name}"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join("experiment.toml"), PROGRAM).unwrap();
        let place = place.display().to_string();
        bench.iostone(&["fleet", "host", &place, "--fleet", "abcd1234", "--host", name]).ended_with(0);
        let polled = bench.iostone(&["fleet", "host", &place, "--poll"]).ended_with(0).json();
        assert_eq!((&polled["state"], &polled["blocks"]), (&"done".into(), &6.into()), "{polled}");
        fs::copy(format!("{place}/result.tar"), bench.path(&format!("archives/{name}.tar"))).unwrap();
    }
    bench
}

fn collected(bench: &Bench, given: &[&str], code: i32) -> (Value, Said) {
    let arguments: Vec<&str> = ["fleet", "collect", "--json"].iter().chain(given).copied().collect();
    let said = bench.iostone(&arguments).ended_with(code);
    (said.json(), said)
}

fn names(report: &Value) -> Vec<&str> {
    report["hosts"].as_array().unwrap().iter().filter_map(|host| host["name"].as_str()).collect()
}

fn the_fleet(bench: &Bench) -> PathBuf {
    let fleets: Vec<PathBuf> =
        bench.run_directories().into_iter().filter(|run| run.join("fleet.json").is_file()).collect();
    assert_eq!(fleets.len(), 1, "{fleets:?}");
    fleets[0].clone()
}

#[test]
fn a_program_that_is_a_device_and_no_host_at_once_are_refused() {
    let bench = Bench::new();
    bench.write("e.toml", PROGRAM);
    bench.write("hosts", "h1\n");
    let run =
        |option: &str, value: &str| bench.iostone(&["fleet", "run", "e.toml", "-i", "hosts", option, value]);
    run("--binary", "x86_64=/dev/zero").ended_with(2).complains_of("names no regular file");
    run("--forks", "0").ended_with(2).complains_of("0 is not in 1..=1000");
}

#[test]
fn runs_from_anywhere_are_one_report() {
    let bench = fetched(&["db1", "db2"]);
    fs::copy(bench.path("archives/db1.tar"), bench.path("archives/again.tar")).unwrap();
    let (report, said) = collected(&bench, &["archives"], 0);
    assert_eq!(names(&report), ["db1", "db2"]);
    assert!(said.stderr.contains("is the run of db1 once more"), "{}", said.stderr);
    assert!(
        report["comparisons"][0]["like_these"]["reason"].as_str().unwrap().contains("2 hosts are too few")
    );
    assert_eq!(report["comparisons"][0]["these"]["count"], 12);
    let fleet = the_fleet(&bench).display().to_string();
    let text = bench.iostone(&["report", &fleet]).ended_with(0).stdout;
    assert!(text.contains("hosts like these") && text.contains("Host, worst first"), "{text}");
    let page = bench.iostone(&["report", &fleet, "--format", "html"]).ended_with(0).stdout;
    assert!(page.contains("Is &lt;a&gt; different") || page.contains("Is &#60;a&#62; different"), "{page}");
    assert!(page.contains("db1 ") || page.contains("db1<"));
    bench.iostone(&["report", &fleet, "--baseline", "b"]).ended_with(2).complains_of("is a fleet");
}

#[test]
fn what_does_not_belong_is_named_and_the_rest_goes_on() {
    let bench = fetched(&["db1", "db2"]);
    let unpacked = |name: &str| -> PathBuf {
        let place = bench.path(&format!("given/{name}"));
        fs::create_dir_all(&place).unwrap();
        let archive = bench.path("archives/db2.tar");
        assert!(Command::new("tar").arg("xf").arg(archive).arg("-C").arg(&place).status().unwrap().success());
        place
    };
    fs::create_dir_all(bench.path("given")).unwrap();
    fs::copy(bench.path("archives/db1.tar"), bench.path("given/a.tar")).unwrap();
    let changed = unpacked("changed").join("trials/000001/trial.json");
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, text.replacen("\"valid\": true", "\"valid\": false", 1)).unwrap();
    let linked = unpacked("linked");
    fs::remove_file(linked.join("verdicts.json")).unwrap();
    symlink("/etc/passwd", linked.join("verdicts.json")).unwrap();
    let renamed = unpacked("renamed").join("manifest.json");
    let text = fs::read_to_string(&renamed).unwrap();
    fs::write(&renamed, text.replace("\"host\": \"db2\"", "\"host\": \"db1\"")).unwrap();
    let outside = unpacked("outside").join("manifest.json");
    fs::write(&outside, text.replace("\"host\": \"db2\"", "\"host\": \"../../etc\"")).unwrap();
    fs::write(bench.path("given/noise.tar"), vec![7; 4096]).unwrap();
    let (report, said) = collected(&bench, &["given"], 4);
    assert_eq!(names(&report), ["db1"]);
    for (place, word) in [
        ("changed", "was changed after the run"),
        ("linked", "is a link"),
        ("renamed", "another run says that it is of db1 too"),
        ("outside", "cannot be a file's name"),
        ("noise.tar", "the archive"),
    ] {
        let line = said.stderr.lines().find(|line| line.contains(&format!("given/{place}`")));
        assert!(line.is_some_and(|line| line.contains(word)), "{place}: {}", said.stderr);
    }
    assert_eq!(fs::read_dir(the_fleet(&bench).join("hosts")).unwrap().count(), 1);
    bench
        .iostone(&["fleet", "collect", "given/noise.tar"])
        .ended_with(2)
        .complains_of("no run could be taken");
}

#[test]
fn another_hosts_run_under_a_new_name_is_refused() {
    let bench = fetched(&["db1"]);
    let place = bench.path("twin");
    fs::create_dir(&place).unwrap();
    assert!(
        Command::new("tar")
            .arg("xf")
            .arg(bench.path("archives/db1.tar"))
            .arg("-C")
            .arg(&place)
            .status()
            .unwrap()
            .success()
    );
    let manifest = place.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"host\": \"db1\"", "\"host\": \"db9\"")).unwrap();
    let (report, said) = collected(&bench, &["archives", "twin"], 4);
    assert_eq!(names(&report), ["db1"]);
    assert!(said.stderr.contains("it says that it is of db9, and is the run of db1"), "{}", said.stderr);
}

#[test]
fn a_run_is_signed_and_verified() {
    if !Path::new("/usr/bin/ssh-keygen").is_file() {
        eprintln!("skipped: needs ssh-keygen");
        return;
    }
    let bench = crate::runs::finished(PROGRAM);
    let run = bench.only_run().display().to_string();
    for name in ["key", "other"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(bench.path(name))
            .status();
        assert!(made.unwrap().success());
    }
    let signers = |name: &str| {
        let key = fs::read_to_string(bench.path(&format!("{name}.pub"))).unwrap();
        fs::write(bench.path("signers"), format!("me@example.org {key}")).unwrap();
    };
    signers("key");
    let verify = ["fleet", "verify", &run, "--signers", "signers"];
    bench.iostone(&verify).ended_with(1).complains_of("it has no `manifest.json`");
    bench.iostone(&["fleet", "sign", &run, "--key", "key"]).ended_with(0);
    assert!(bench.iostone(&verify).ended_with(0).stdout.contains("signed by me@example.org"));
    // The report can still be read and written; the signature is of the records.
    signers("other");
    bench.iostone(&verify).ended_with(1).complains_of("nobody in `signers` signed it");
    signers("key");
    let added = Path::new(&run).join("extra");
    fs::write(&added, "y").unwrap();
    bench.iostone(&verify).ended_with(1).complains_of("`extra` is no file of a run: no signature covers it");
    fs::remove_file(added).unwrap();
    let here = bench.path("").display().to_string();
    bench
        .iostone(&["fleet", "sign", &here, "--key", "key"])
        .ended_with(2)
        .complains_of("is no run directory");
    for (option, file, complaint) in
        [("--key", "/dev/zero", "is no regular file"), ("--key", "nope", "cannot be read: No such file")]
    {
        bench.iostone(&["fleet", "sign", &run, option, file]).ended_with(2).complains_of(complaint);
    }
    bench
        .iostone(&["fleet", "verify", &run, "--signers", "nope"])
        .ended_with(2)
        .complains_of("cannot be read");
    let plan = Path::new(&run).join("plan.json");
    fs::write(&plan, fs::read_to_string(&plan).unwrap().replace("program", "programme")).unwrap();
    bench.iostone(&verify).ended_with(1).complains_of("`plan.json` was changed");
}

#[test]
fn a_lease_that_is_over_ends_a_run_that_can_be_resumed() {
    let bench = Bench::new();
    let place = bench.path("host");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("experiment.toml"), PROGRAM.replace("echo $WHICH", "sleep 1; echo $WHICH")).unwrap();
    let place = place.display().to_string();
    bench.iostone(&["fleet", "host", &place, "--lease", "2s"]).ended_with(130);
    let status = bench.iostone(&["fleet", "host", &place, "--poll"]).ended_with(0).json();
    assert_eq!(status["state"], "expired", "{status}");
    bench.assert_undone();
    bench.iostone(&["fleet", "host", &place]).ended_with(0);
    let status = bench.iostone(&["fleet", "host", &place, "--poll"]).ended_with(0).json();
    assert_eq!((&status["state"], &status["blocks"]), (&"done".into(), &6.into()), "{status}");
}

#[test]
fn jobs_for_schedulers_carry_the_experiment() {
    let bench = Bench::new();
    bench.write("experiment.toml", format!("{PROGRAM}# END_OF_EXPERIMENT\n"));
    let slurm =
        ["fleet", "template", "slurm", "experiment.toml", "--hosts", "3", "--set", "trials.settle=2ms"];
    let script = bench.iostone(&slurm).ended_with(0).stdout;
    for words in
        ["#SBATCH --array=0-2", "--set trials.settle=2ms", "\nEND_OF_EXPERIMENT_\n", "name = \"program\""]
    {
        assert!(script.contains(words), "{words}\n{script}");
    }
    bench.write("job.sh", &script);
    assert!(Command::new("sh").arg("-n").arg(bench.path("job.sh")).status().unwrap().success());
    let yaml = bench.iostone(&["fleet", "template", "kubernetes", "experiment.toml"]).ended_with(0).stdout;
    for words in [
        "completionMode: Indexed",
        "kubectl apply -f FILE",
        "/INDEX/unfinished",
        "trap 'kill -TERM",
        "kind: PersistentVolumeClaim",
        "    name = \"program\"\n",
        "privileged: true",
    ] {
        assert!(yaml.contains(words), "{words}\n{yaml}");
    }
}

/// A job of Slurm's that is ended early leaves an unfinished run, from which everything goes on.
#[test]
fn a_job_that_is_stopped_keeps_what_it_measured() {
    let bench = Bench::new();
    let slow = PROGRAM.replace("echo $WHICH", "sleep 0.5; echo $WHICH");
    bench.write("experiment.toml", &slow);
    let template =
        ["fleet", "template", "slurm", "experiment.toml", "--time", "4min", "--output", "my job.sh"];
    bench.iostone(&template).ended_with(0);
    let script = fs::read_to_string(bench.path("my job.sh")).unwrap();
    for words in ["sbatch 'my job.sh'", "--signal=B:TERM@120", "SIGTERM 120 s before", "iostone in PATH"] {
        assert!(script.contains(words), "{words}\n{script}");
    }
    let scratch = bench.path("scratch");
    fs::create_dir(&scratch).unwrap();
    let job = |log: &str| {
        Command::new("sh")
            .arg(bench.path("my job.sh"))
            .env("IOSTONE", env!("CARGO_BIN_EXE_iostone"))
            .env("RESULTS", bench.path("shared"))
            .env("TMPDIR", &scratch)
            .env("SLURM_SUBMIT_DIR", bench.path("."))
            .envs([("SLURM_ARRAY_JOB_ID", "7"), ("SLURM_ARRAY_TASK_ID", "0")])
            .stdout(std::process::Stdio::null())
            .stderr(fs::File::create(bench.path(log)).unwrap())
            .spawn()
            .unwrap()
    };
    let mut stopped = job("log");
    let recorded = || {
        let found = Command::new("find").arg(&scratch).args(["-name", "trial.json"]).output().unwrap();
        String::from_utf8_lossy(&found.stdout).lines().count() >= 5
    };
    let begun = std::time::Instant::now();
    while !recorded() {
        assert!(begun.elapsed().as_secs() < 60, "{}", fs::read_to_string(bench.path("log")).unwrap());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let signalled = Command::new("kill").args(["-TERM", &stopped.id().to_string()]).status();
    assert!(signalled.unwrap().success());
    assert_eq!(stopped.wait().unwrap().code(), Some(130));
    let log = fs::read_to_string(bench.path("log")).unwrap();
    let kept = log.lines().find_map(|line| line.split_once("iostone run --resume ")).map(|(_, path)| path);
    let kept = kept.unwrap_or_else(|| panic!("{log}"));
    assert!(kept.contains("shared/7/0/unfinished/") && log.matches("--resume").count() == 1, "{log}");
    assert!(!log.contains("report.html"), "{log}");
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0, "{log}");
    bench
        .iostone(&["fleet", "collect", "shared/7"])
        .ended_with(0)
        .complains_of("is unfinished; `iostone run --resume shared/7/0/unfinished/");
    bench.iostone(&["run", "--resume", kept]).ended_with(0);
    bench.write("experiment.toml", PROGRAM);
    bench
        .iostone(&[
            "fleet",
            "template",
            "slurm",
            "experiment.toml",
            "--overwrite",
            "my job.sh",
            "--output",
            "my job.sh",
        ])
        .ended_with(0);
    assert!(job("again").wait().unwrap().success());
    let place = bench.path("shared/7/0");
    assert!(place.join("result.tar").is_file() && !place.join("unfinished").exists());
    assert_eq!(fs::read_dir(&scratch).unwrap().count(), 0);
}

/// The plan of a fleet is the inventory's word alone: nothing is connected to, nothing is made.
#[test]
fn a_dry_run_names_the_hosts_and_what_is_pushed() {
    if Command::new("ansible-inventory").arg("--version").output().is_err() {
        eprintln!("skipped: needs ansible-inventory");
        return;
    }
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    bench.write(
        "hosts",
        "[db]\ndb1 ansible_host=192.0.2.1\n[web]\nweb1\n[web:vars]\niostone_program=/opt/iostone\n",
    );
    let plan = ["fleet", "run", "experiment.toml", "--inventory", "hosts", "--dry-run"];
    let said = bench.iostone(&plan).ended_with(0);
    for words in [
        "program on 2 hosts of ",
        "time on each host, all at once: ",
        "\n  db1: the program for",
        "\n  web1: runs its own iostone",
    ] {
        assert!(said.stdout.contains(words), "{words}\n{}", said.stdout);
    }
    let own = [&plan[..], &["--limit", "web"]].concat();
    let said = bench.iostone(&own).ended_with(0);
    assert!(!said.stdout.contains("db1") && !said.stdout.contains("libraries"), "{}", said.stdout);
    assert!(!bench.runs().exists() || bench.run_directories().is_empty());
}

#[test]
fn a_fleet_has_a_name_of_its_own() {
    let bench = fetched(&["db1"]);
    let said = bench.iostone(&["fleet", "collect", "archives"]).ended_with(0);
    assert!(
        said.stdout.contains("On this host ") && said.stdout.contains("1 host is too few"),
        "{}",
        said.stdout
    );
    assert!(said.stdout.contains("wall_time of all levels"), "{}", said.stdout);
    assert!(
        said.stdout.contains("Refused: operations of all hosts (a, b): the host recorded no rate"),
        "{}",
        said.stdout
    );
    assert!(!said.stdout.contains("1 hosts") && !said.stderr.contains("1 hosts"), "{}", said.stderr);
    let fleet = the_fleet(&bench);
    let name = fleet.file_name().unwrap().to_str().unwrap();
    let id = name.rsplit('-').next().unwrap();
    let plan: Value = serde_json::from_slice(&fs::read(fleet.join("hosts/db1/plan.json")).unwrap()).unwrap();
    assert_ne!(plan["run_id"], id);
    for named in [name, id, "program-fleet"] {
        let report = bench.iostone(&["report", named, "--full"]).ended_with(0).stdout;
        assert!(report.contains("Host, worst first"), "{named}: {report}");
    }
    bench
        .iostone(&["list"])
        .ended_with(0)
        .complains_of(&format!("1 fleet; `iostone report {}` shows it", bench.runs().join(name).display()));
    // A dozen hosts of one run: ten on the screen, all with `--full`.
    let file = fleet.join("fleet.json");
    let mut kept: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let host = kept["hosts"][0].clone();
    kept["hosts"] = (10..22)
        .map(|number| {
            let mut host = host.clone();
            host["name"] = format!("db{number}").into();
            host
        })
        .collect();
    fs::write(&file, kept.to_string()).unwrap();
    let screen = bench.iostone(&["report", id]).ended_with(0).stdout;
    assert!(screen.contains("and 2 hosts more, with `--full`") && !screen.contains("db21"), "{screen}");
    let full = bench.iostone(&["report", id, "--full"]).ended_with(0).stdout;
    assert!(full.contains("db21") && !full.contains("with `--full`"), "{full}");
    // The word of an experiment means its run where a run is wanted; to report, both fit.
    bench.write("experiment.toml", PROGRAM);
    bench.iostone(&["run", "experiment.toml"]).ended_with(0);
    bench.iostone(&["show", "program"]).ended_with(0);
    bench.iostone(&["report", "program"]).ended_with(2).complains_of("matches several runs and fleets");
    bench.iostone(&["explain", id]).ended_with(2).complains_of("is a fleet, where one run is wanted");
}

#[test]
fn a_fleet_needs_an_inventory_and_a_sound_experiment() {
    let bench = Bench::new();
    bench.write("experiment.toml", PROGRAM);
    bench
        .iostone(&["fleet", "run", "experiment.toml"])
        .ended_with(2)
        .complains_of("iostone fleet run [OPTIONS] --resume <FLEETDIR>");
    bench.write("wrong.toml", PROGRAM.replace("[decide]", "[decied]"));
    bench
        .iostone(&["fleet", "run", "wrong.toml", "--inventory", "hosts"])
        .ended_with(2)
        .complains_of("decied");
    let leases =
        ["fleet", "run", "experiment.toml", "--inventory", "hosts", "--poll", "1min", "--lease", "1min"];
    bench.iostone(&leases).ended_with(2);
    bench.iostone(&["fleet", "cleanup", "nowhere"]).ended_with(2).complains_of("is no fleet directory");
    assert!(!bench.runs().exists() || bench.run_directories().is_empty());
}
