//! `compare` and `new`: experiments in one line and from recipes.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::support::{Bench, Said, assert_text, masked};

#[test]
fn two_commands_have_their_verdict_in_one_line() {
    let bench = Bench::new();
    bench.write("old.sh", "sleep 0.02\n");
    bench.write("new.sh", "sleep 0.2\n");
    let said = bench.iostone(&["compare", "sh old.sh", "sh new.sh", "--json"]).ended_with(0);
    let comparison = &said.json()["comparisons"][0];
    assert_eq!(comparison["level"], "sh new.sh", "{said:?}");
    assert_eq!(comparison["verdict"], "slower", "{said:?}");
    let experiment = fs::read_to_string(bench.only_run().join("experiment.toml")).unwrap();
    assert!(experiment.starts_with("# iostone compare 'sh old.sh' 'sh new.sh' --json\n"), "{experiment}");
    bench.assert_undone();
}

#[test]
fn commands_start_here_and_each_has_its_own_preparation() {
    let bench = Bench::new();
    let said = bench.iostone(&[
        "compare",
        "test $(cat mode) = a",
        "sh -c 'test \"$(cat mode)\" = b'",
        "--prepare",
        "echo a > mode",
        "--prepare",
        "echo b > mode",
        "--name",
        "first",
        "--quick",
    ]);
    let said = said.ended_with(0);
    assert!(said.stderr.contains("block 1   first"), "{said:?}");
    assert!(["a\n", "b\n"].contains(&fs::read_to_string(bench.path("mode")).unwrap().as_str()));
    let failed = bench.iostone(&["compare", "sh -c 'exit 3'", "true", "--quick"]);
    assert!(failed.ended_with(1).stderr.contains("ended with status 3"));
}

#[test]
fn what_a_line_asks_for_can_be_saved_and_runs_the_same_steps() {
    let bench = Bench::new();
    let line = [
        "--fs",
        "ext4",
        "xfs",
        "--mount",
        "relatime",
        "noatime,discard",
        "--load",
        "randread-4k",
        "--time",
        "5min",
    ];
    let asked = |further: &[&str]| bench.iostone(&[&["compare"], &line[..], further].concat()).ended_with(0);
    assert!(asked(&["--save", "saved.toml"]).stderr.contains("run it with `iostone run saved.toml`"));
    let saved = fs::read_to_string(bench.path("saved.toml")).unwrap();
    assert_text("compare_saved", &saved);
    let steps = |said: &Said| masked(&said.stdout, &bench, "compare-mount-filesystem");
    let seed = ["--dry-run", "--set", "trials.seed=1"];
    let from_file = bench.iostone(&[&["run", "saved.toml"], &seed[..]].concat()).ended_with(0);
    assert_eq!(steps(&asked(&seed)), steps(&from_file));
    // The first line is the command that asked.
    let printed = asked(&["--save", "-"]).stdout;
    assert_eq!(printed.lines().skip(1).collect::<Vec<_>>(), saved.lines().skip(1).collect::<Vec<_>>());
    assert_eq!(bench.names(), ["saved.toml"], "something else was touched");
}

#[test]
fn what_cannot_be_compared_is_an_error_that_says_what_can() {
    let bench = Bench::new();
    let lines: &[&[&str]] = &[
        &[],
        &["true"],
        &["true", "true"],
        &["true 'x", "false"],
        &["no-such-program-here", "true"],
        &["./missing.sh", "true"],
        &["true", "false", "--load", "mail"],
        &["true", "false", "--prepare", "true", "--prepare", "true", "--prepare", "true"],
        &["--fs", "ext4"],
        &["--fs", "ext4", "zfs"],
        &["--fs", "ext4", "xfs", "--load", "randred-4k"],
        &["--fs", "ext4", "xfs", "--load", "rw=randread qd=4"],
        &["--fs", "ext4", "xfs", "--volume", "nowhere"],
        &["--fs", "ext4", "xfs", "--metric", "speed"],
        &["--fs", "ext4", "xfs", "--baseline", "btrfs"],
        &["--set-factor", "workload.direct"],
        &["--set-factor", "workload.dirct=true,false"],
        &["--mount", "relatime", "noatime", "--margin", "3"],
    ];
    let mut all = String::new();
    for line in lines {
        let said = bench.iostone(&[&["compare"], *line].concat());
        assert_eq!(said.code, Some(2), "{line:?}: {said:?}");
        all += &format!("── compare {}\n{}", line.join(" "), said.stderr);
    }
    assert_text("compare_errors", &masked(&all, &bench, "compare"));
    assert!(bench.names().iter().all(|name| name == "state"), "{:?}", bench.names());
}

#[test]
fn odd_commands_and_names_are_only_odd() {
    let bench = Bench::new();
    let long = format!("true {}", "a".repeat(70_000));
    for (one, other) in [
        (long.as_str(), "true"),
        ("printf '\u{1b}[31mred'", "true"),
        ("sh -c 'echo \"a\nb\"'", "echo '<script>'"),
        ("echo a,b=c", "echo ü"),
    ] {
        let said = bench.iostone(&["compare", one, other, "--quick"]);
        assert_eq!(said.code, Some(0), "{one:.40}: {:.2000}", said.stderr);
    }
    let many: Vec<String> = (0..200).map(|number| format!("true {number}")).collect();
    let line: Vec<&str> = std::iter::once("compare").chain(many.iter().map(String::as_str)).collect();
    bench.iostone(&line).ended_with(2).complains_of("at most 100");
    bench
        .iostone(&["compare", "true", "false", "-n", "", "--quick"])
        .ended_with(2)
        .complains_of("has no name");
    bench.assert_undone();
}

#[test]
fn a_time_bounds_a_command_that_hangs_and_is_said_where_it_is_too_short() {
    let bench = Bench::new();
    let said = bench.iostone(&["compare", "sleep 1000", "true", "--time", "1s"]).ended_with(1);
    said.complains_of("timeout of 1s");
    let said = bench.iostone(&["compare", "--fs", "ext4", "xfs", "--time", "20s", "--dry-run"]).ended_with(0);
    said.complains_of("is probably too short for a verdict: the first 14 trials take about");
    let said = bench.iostone(&["run", "flush-price", "--time", "10s", "--dry-run"]).ended_with(0);
    said.complains_of("10s is probably too short");
}

#[test]
fn loads_follow_what_is_varied() {
    let bench = Bench::new();
    let asked =
        |line: &[&str]| bench.iostone(&[&["compare"], line, &["--save", "-"]].concat()).ended_with(0).stdout;
    assert!(asked(&["--mount", "relatime", "noatime"]).contains("2 000 small files"));
    assert!(asked(&["--mount", "barrier=1", "barrier=0"]).contains("rw = \"randrw\""));
    let readahead = asked(&["--readahead", "128KiB", "1MiB"]);
    assert!(readahead.contains("1MiB = { queue.read_ahead_kb = 1024 }"), "{readahead}");
    assert!(readahead.contains("io_size = \"128MiB\"") && !readahead.contains("runtime"), "{readahead}");
    assert!(asked(&["--mount", "noatime,,lazytime", "defaults"]).contains("\"noatime+lazytime\" ="));
}

#[test]
fn a_program_beside_the_experiment_is_found_and_a_missing_one_said_in_a_dry_run() {
    let bench = Bench::new();
    fs::create_dir(bench.path("here")).unwrap();
    bench.write("here/old.sh", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(bench.path("here/old.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let text = "name = \"t\"\n[stack]\nvolume = { kind = \"directory\" }\n[[factor]]\nname = \"p\"\nlevels = { old = { \
                workload.argv = [\"./old.sh\"] }, new = { workload.argv = [\"./new.sh\"] } }\n[workload]\nkind = \
                \"command\"\n[decide]\nmetric = \"wall_time\"\nbaseline = \"old\"\n";
    bench.write("here/t.toml", text);
    let missing = bench.iostone(&["run", "here/t.toml", "--dry-run"]).ended_with(0);
    missing.complains_of(
        "the run would be refused: `./new.sh` cannot be found: no such file beside the experiment",
    );
    bench
        .iostone(&["compare", "/", "true", "-N"])
        .ended_with(2)
        .complains_of("`/` is a directory, not a program");
    bench.iostone(&["run", "here/t.toml"]).ended_with(2).complains_of("`./new.sh` cannot be found");
    assert!(bench.run_directories().is_empty());
    fs::copy(bench.path("here/old.sh"), bench.path("here/new.sh")).unwrap();
    bench.iostone(&["run", "here/t.toml", "--quick"]).ended_with(0);
}

#[test]
fn recipes_are_listed_written_and_run_by_their_names() {
    let bench = Bench::new();
    let listed = bench.iostone(&["new"]).ended_with(0).stdout;
    assert!(listed.contains("  noatime               Does noatime make reading"), "{listed}");
    let all = bench.iostone(&["new", "--json"]).ended_with(0).json();
    assert!(all.as_array().unwrap().iter().all(|one| listed.contains(one["name"].as_str().unwrap())));

    bench.iostone(&["new", "two-programs"]).ended_with(0).complains_of("`iostone run two-programs.toml`");
    let file = fs::read_to_string(bench.path("two-programs.toml")).unwrap();
    fs::write(bench.path("two-programs.toml"), file.clone() + "# mine\n").unwrap();
    bench.iostone(&["new", "two-programs"]).ended_with(3);
    assert_eq!(bench.iostone(&["new", "two-programs", "-o", "-"]).ended_with(0).stdout, file);

    bench.iostone(&["new", "cpu-limit"]).ended_with(0);
    assert!(bench.path("build/lua-5.4.4.tar.gz").exists());
    bench.iostone(&["new", "noatme"]).ended_with(2).complains_of("did you mean the recipe `noatime`?");

    let named = bench.iostone(&["run", "flush-price", "--dry-run"]).ended_with(0);
    assert!(
        named.stdout.contains("What does making every write durable cost in this directory?"),
        "{named:?}"
    );
    bench
        .iostone(&["run", "flush-prize", "--dry-run"])
        .ended_with(2)
        .complains_of("the recipe `flush-price`?");
    bench
        .iostone(&["run", "cpu-limit-sweep"])
        .ended_with(2)
        .complains_of("`iostone new cpu-limit-sweep` writes both");
}

#[test]
fn an_experiment_is_read_from_standard_input() {
    let bench = Bench::new();
    let text = bench.iostone(&["new", "flush-price", "-o", "-"]).ended_with(0).stdout;
    let fed = |text: &str| {
        let mut command = bench.command(&["run", "-", "--dry-run"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        Said::from(child.wait_with_output().unwrap())
    };
    assert!(fed(&text).ended_with(0).stdout.contains("nothing was touched"));
    fed("nam = 1").ended_with(2).complains_of("--> standard input:1:1");
}

#[test]
fn a_run_whose_records_are_removed_ends_and_says_so() {
    let bench = Bench::new();
    let remove = format!("rm -rf {}/*", bench.runs().display());
    let said = bench.iostone(&["compare", &remove, "true", "-n", "remove", "-n", "true"]).ended_with(2);
    said.complains_of("was removed while the run was writing to it");
}
