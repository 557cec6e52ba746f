//! Whom root believes: undo registries and directories of runs that another user could have changed are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::support::{BARRIER, Bench, FLUSH_PRICE, Said};

const NOBODY: u32 = 65534;

#[expect(clippy::print_stderr, reason = "skipped tests say so")]
fn needs_root(test: &str) -> bool {
    let skipped = !rustix::process::geteuid().is_root();
    if skipped {
        eprintln!("{test} skipped: needs root");
    }
    skipped
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A registry with a journal that would have a directory removed.
fn plant(bench: &Bench) -> (PathBuf, PathBuf) {
    let state = bench.path("state");
    bench.iostone(&["cleanup"]).ended_with(0);
    let victim = bench.path("iostone-forged-0123456789abcdef");
    fs::create_dir(&victim).unwrap();
    fs::write(victim.join("precious"), "x").unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let host = fs::read_to_string("/etc/machine-id")
        .ok()
        .filter(|text| !text.trim().is_empty())
        .unwrap_or_else(|| fs::read_to_string("/proc/sys/kernel/hostname").unwrap());
    let owner = serde_json::json!({
        "event": "owner", "pid": 1, "start_time": 1, "boot_id": boot.trim(), "host": host.trim(),
        "run_directory": bench.path("run"), "token": "forged-0123456789abcdef", "version": "0.1.0",
    });
    let step = serde_json::json!({
        "event": "do", "number": 0, "scope": "session",
        "step": {"kind": "directory", "path": victim, "content_is_ours": true},
    });
    let journal = state.join("journals/forged-0123456789abcdef.jsonl");
    fs::write(&journal, format!("{owner}\n{step}\n")).unwrap();
    (journal, victim.join("precious"))
}

/// Every command that would act on the registry refuses it, and the doctor tells.
#[track_caller]
fn assert_refused(bench: &Bench, set: &dyn Fn(&mut std::process::Command), words: &[&str]) {
    bench.write("flush-price.toml", FLUSH_PRICE);
    let run = |arguments: &[&str]| {
        let mut command = bench.command(arguments);
        set(&mut command);
        Said::from(command.output().unwrap())
    };
    for arguments in [&["cleanup"][..], &["cleanup", "--json"], &["run", "flush-price.toml"]] {
        let said = run(arguments).ended_with(3);
        assert_eq!(said.stdout, "", "{arguments:?}");
        for word in words {
            said.complains_of(word);
        }
        said.complains_of("(undo registry) is refused: ").complains_of("IOSTONE_STATE_DIR");
    }
    assert!(!bench.runs().exists(), "a run was made");
    let said = run(&["doctor"]).ended_with(0);
    let line = said.stdout.lines().find(|line| line.contains("undo registry")).unwrap();
    assert!(line.starts_with('!') && words[..1].iter().all(|word| line.contains(word)), "{line}");
    let document = run(&["doctor", "--json"]).ended_with(0).json();
    let findings = document["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["name"] == "undo registry").unwrap();
    assert_eq!(finding["state"], "missing");
    assert!(finding["help"].as_str().unwrap().contains("IOSTONE_STATE_DIR"), "{finding}");
}

#[test]
fn the_doctor_says_where_the_registry_is() {
    let bench = Bench::new();
    let document = bench.iostone(&["doctor", "--json"]).ended_with(0).json();
    let findings = document["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["name"] == "undo registry").unwrap();
    assert_eq!(
        (&finding["state"], finding["found"].as_str()),
        (&"ready".into(), bench.path("state").to_str())
    );
}

#[test]
fn a_journal_without_a_seal_is_named_and_nothing_of_it_is_done() {
    let bench = Bench::new();
    let (journal, precious) = plant(&bench);
    let before = fs::read(&journal).unwrap();
    let said = bench.iostone(&["cleanup"]).ended_with(1);
    for word in ["forged-0123456789abcdef.jsonl", "its seal does not match", "none of it was undone; next: "]
    {
        assert!(said.stdout.contains(word), "{said:?}");
    }
    assert_eq!(fs::read(&journal).unwrap(), before);
    assert!(precious.exists());
}

#[test]
fn a_registry_of_another_user_is_refused_and_nothing_is_touched() {
    if needs_root("a_registry_of_another_user_is_refused_and_nothing_is_touched") {
        return;
    }
    for inner in [false, true] {
        let bench = Bench::new();
        let (journal, precious) = plant(&bench);
        let before = fs::read(&journal).unwrap();
        let directory = if inner { bench.path("state/journals") } else { bench.path("state") };
        chown(&directory, Some(NOBODY), None).unwrap();
        assert_refused(&bench, &|_| {}, &["user nobody", "`chown 0 "]);
        // Who called sudo is trusted elsewhere, but the registry has to be root's own.
        let sudo = |command: &mut std::process::Command| {
            command.env("SUDO_UID", NOBODY.to_string());
        };
        assert_refused(&bench, &sudo, &["user nobody", "`chown 0 "]);
        assert_eq!(fs::read(&journal).unwrap(), before);
        assert!(precious.exists());
    }
}

#[test]
fn a_registry_that_others_can_write_is_refused() {
    for mode in [0o770, 0o707, 0o1777] {
        let bench = Bench::new();
        let (journal, precious) = plant(&bench);
        set_mode(&bench.path("state"), mode);
        assert_refused(&bench, &|_| {}, &["can write it", "`chmod go-w "]);
        assert!(journal.exists() && precious.exists());
    }
}

#[test]
fn a_registry_behind_a_link_or_in_a_place_that_others_can_rename_is_refused() {
    let bench = Bench::new();
    let (journal, precious) = plant(&bench);
    fs::rename(bench.path("state"), bench.path("elsewhere")).unwrap();
    symlink("elsewhere", bench.path("state")).unwrap();
    assert_refused(&bench, &|_| {}, &["symbolic link"]);
    fs::remove_file(bench.path("state")).unwrap();
    fs::create_dir(bench.path("open")).unwrap();
    fs::rename(bench.path("elsewhere"), bench.path("open/state")).unwrap();
    set_mode(&bench.path("open"), 0o777);
    let there = bench.path("open/state");
    let elsewhere = |command: &mut std::process::Command| {
        command.env("IOSTONE_STATE_DIR", &there);
    };
    assert_refused(&bench, &elsewhere, &["every user can rename"]);
    assert!(
        !journal.exists() && there.join("journals").read_dir().unwrap().count() == 1 && precious.exists()
    );
}

/// A directory that another user owns, with one of root's within.
fn directory_of_nobody(bench: &Bench) -> PathBuf {
    let theirs = bench.path("theirs");
    fs::create_dir_all(theirs.join("data")).unwrap();
    chown(&theirs, Some(NOBODY), None).unwrap();
    theirs
}

#[test]
fn runs_in_a_directory_of_another_user_are_refused_to_root() {
    if needs_root("runs_in_a_directory_of_another_user_are_refused_to_root") {
        return;
    }
    let bench = Bench::new();
    let theirs = directory_of_nobody(&bench);
    bench.write("flush-price.toml", FLUSH_PRICE);
    bench.write("barrier.toml", BARRIER);
    for runs in [theirs.join("runs"), theirs.join("data/runs"), theirs.clone()] {
        let runs = runs.to_str().unwrap();
        let arguments: [&[&str]; 3] = [
            &["run", "flush-price.toml", "--runs", runs],
            &["run", "barrier.toml", "--runs", runs],
            &["demo", "--runs", runs],
        ];
        for arguments in arguments {
            let said = bench.iostone(arguments).ended_with(3);
            said.complains_of("user nobody can rename files in `")
                .complains_of(theirs.to_str().unwrap())
                .complains_of("`--runs /var/lib/iostone/runs`");
        }
        let said = bench.iostone(&["run", "flush-price.toml", "--dry-run", "--runs", runs]).ended_with(0);
        said.complains_of("the run would be refused: ").complains_of("user nobody");
    }
    let logs = crate::import::logs(&bench);
    let runs = theirs.join("data");
    let import =
        ["import", "--by", "{barrier}-{run}.log", "--runs", runs.to_str().unwrap(), &logs[0], &logs[5]];
    bench.iostone(&import).ended_with(3).complains_of("user nobody");
    let directory =
        ["emulate", "m5.large", "--no-cpu", "--volume", "gp2:1GiB", "--directory", runs.to_str().unwrap()];
    bench.iostone(&[&directory[..], &["--", "true"]].concat()).ended_with(3).complains_of("`--directory`");
    assert_eq!(fs::read_dir(&theirs).unwrap().count(), 1, "something was made");
    assert_eq!(fs::read_dir(theirs.join("data")).unwrap().count(), 0, "something was made");
    fs::create_dir(runs.join("a-run")).unwrap();
    fs::write(runs.join("a-run/plan.json"), "{}").unwrap();
    let resume = ["run", "--resume", "a-run", "--runs", runs.to_str().unwrap()];
    bench.iostone(&resume).ended_with(3).complains_of("user nobody");
    let mut command = bench.command(&["guest", "run", "--kernel", "debian:6.1", "--", "true"]);
    let said = Said::from(command.env("TMPDIR", &theirs).output().unwrap());
    said.ended_with(3).complains_of("TMPDIR");
}

#[test]
fn volumes_in_a_directory_of_another_user_are_refused_to_root() {
    if needs_root("volumes_in_a_directory_of_another_user_are_refused_to_root") {
        return;
    }
    let bench = Bench::new();
    let theirs = directory_of_nobody(&bench).join("data");
    let volume = |kind: &str, key: &str| {
        let line = BARRIER.lines().find(|line| line.trim_start().starts_with("volume =")).unwrap();
        BARRIER.replace(line, &format!("volume = {{ kind = \"{kind}\", {key} = \"{}\" }}", theirs.display()))
    };
    bench.write("loop.toml", volume("loop", "size = \"1GiB\", directory"));
    let line = FLUSH_PRICE.lines().find(|line| line.trim_start().starts_with("volume =")).unwrap();
    let path = format!("volume = {{ kind = \"directory\", path = \"{}\" }}", theirs.display());
    bench.write("directory.toml", FLUSH_PRICE.replace(line, &path));
    for (file, key) in [("loop.toml", "volume.directory"), ("directory.toml", "volume.path")] {
        let said = bench.iostone(&["run", file]).ended_with(3);
        said.complains_of(key).complains_of("user nobody can rename");
        let said = bench.iostone(&["run", file, "--dry-run"]).ended_with(0);
        said.complains_of("the run would be refused: ").complains_of(key);
    }
    let mut command = bench.command(&["run", "directory.toml", "--dry-run"]);
    let said = Said::from(command.env("SUDO_UID", NOBODY.to_string()).output().unwrap()).ended_with(0);
    assert!(!said.stderr.contains("refused"), "who called sudo counts as root's own: {said:?}");
    assert!(!bench.runs().exists() && fs::read_dir(&theirs).unwrap().count() == 0);
}

#[test]
fn what_is_written_under_sudo_belongs_to_its_caller() {
    if needs_root("what_is_written_under_sudo_belongs_to_its_caller") {
        return;
    }
    let bench = Bench::new();
    let mut command = bench.command(&["new", "cpu-limit"]);
    command.env("SUDO_UID", NOBODY.to_string()).env("SUDO_GID", NOBODY.to_string());
    Said::from(command.output().unwrap()).ended_with(0);
    for path in ["cpu-limit.toml", "build", "build/lua-5.4.4.tar.gz"] {
        assert_eq!(fs::metadata(bench.path(path)).unwrap().uid(), NOBODY, "{path}");
    }
}
