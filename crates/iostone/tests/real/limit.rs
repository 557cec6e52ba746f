//! `iostone limit` through the binary: quotas are kept, the command ends as it would alone, and nothing is left, also after
//! a kill.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use iostone_stack::LimitControllers;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::attempts::{ATTEMPTS, beside_a_sleeper};
use crate::lab::{Lab, needs_root, words};

/// Two processes that do nothing but count until they are ended.
const BUSY: &str = "while :; do :; done & while :; do :; done";
/// Tells its groups in the file that it is given, then goes on for ever.
const TELL_AND_STAY: &str = "cat /proc/self/cgroup > groups.tmp; mv groups.tmp groups; sleep 1000 & \
                             while :; do :; done";

/// True, with a word about it, where CPU time cannot be limited.
#[expect(clippy::print_stderr, reason = "skipped tests say so")]
pub(crate) fn cannot_limit_cpu() -> bool {
    match LimitControllers::find() {
        Ok(_) => false,
        Err(why) => {
            eprintln!("skipped: needs the cpu controller: {why}");
            true
        }
    }
}

fn limited(lab: &Lab, options: &[&str], script: &str) -> Output {
    let mut arguments = vec!["limit"];
    arguments.extend(options);
    arguments.extend(["--", "sh", "-c", script]);
    lab.iostone(&arguments).output().unwrap()
}

/// A command that says which groups it is in and stays, and what their names hold.
fn stays(lab: &Lab) -> (Child, String) {
    let mut command = lab.iostone(&["limit", "20%", "--", "sh", "-c", TELL_AND_STAY]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let file = lab.path().join("groups");
    while !file.exists() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before its command had begun");
        sleep(Duration::from_millis(5));
    }
    let text = fs::read_to_string(file).unwrap();
    let token = text.split("/iostone-").nth(1).and_then(|rest| rest.split(['/', '\n']).next());
    (child, token.unwrap_or_else(|| panic!("it is in no group of ours:\n{text}")).to_owned())
}

/// Groups, in any hierarchy, whose path holds a word.
pub(crate) fn groups_named(word: &str) -> Vec<PathBuf> {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = table.lines().filter(|line| line.contains(" - cgroup"));
    let mut left: Vec<PathBuf> =
        mounts.filter_map(|line| line.split(' ').nth(4)).map(PathBuf::from).collect();
    let mut found = Vec::new();
    while let Some(directory) = left.pop() {
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        left.extend(
            entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|one| one.path()),
        );
        if directory.display().to_string().contains(word) {
            found.push(directory);
        }
    }
    found
}

/// Processes that carry the marker of a session.
pub(crate) fn processes_of(token: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let carries = |path: &PathBuf| {
        let marker = format!("IOSTONE_RUN={token}");
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == marker.as_bytes())
    };
    let marked = entries.map(|entry| entry.path()).filter(carries);
    marked.map(|path| fs::read_to_string(path.join("comm")).unwrap_or_default()).collect()
}

/// Ticks of all processors since the machine began: with work, stolen by the hypervisor, all (`proc_stat(5)`).
fn ticks() -> [f64; 3] {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let fields: Vec<f64> =
        text.lines().next().unwrap().split_whitespace().skip(1).map(|field| field.parse().unwrap()).collect();
    // user, nice, system, irq, softirq, steal
    let busy = [0, 1, 2, 5, 6, 7].iter().map(|&index| fields[index]).sum();
    // Guests are in the first two already.
    [busy, fields[7], fields[..8].iter().sum()]
}

/// A quota that was not reached.
struct Short {
    why: String,
    /// The machine had not that much to give.
    is_excused: bool,
}

/// Has a busy command held to a share for a second and a half. More than the share is never used.
fn use_up(lab: &Lab, percent: f64, processors: f64) -> Result<(), Short> {
    let seconds = 1.5;
    let before = ticks();
    // What a period's quota is more at the end of a short time is within the margin with a period this short.
    let options = [&format!("{percent}%"), "--period", "20ms", "--json"];
    let (output, late) =
        beside_a_sleeper(|| limited(lab, &options, &format!("timeout {seconds} sh -c '{BUSY}'")));
    let after = ticks();
    let [busy, stolen, all] = std::array::from_fn(|index| after[index] - before[index]);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(&output)));
    assert_eq!(told["exit_code"], 124, "what timeout(1) ends with: {told}");
    let figure = |key: &str| told[key].as_f64().unwrap();
    let (asked, used, wall) = (figure("share_asked"), figure("share_used"), figure("wall_seconds"));
    // One period more than there are in that time; and a processor that the hypervisor has stopped looks used.
    let most = asked * (1.005 + 0.02 / wall) + 0.002 + late.longest_seconds * processors / wall;
    assert!(used < most, "{percent} % was exceeded: {told}, {late:?}");
    if used > asked * 0.985 - 0.002 {
        return Ok(());
    }
    // A tick is a hundredth of a second in /proc/stat.
    let others = busy / 100.0 - figure("group_cpu_seconds");
    let room = processors * wall - asked * seconds;
    let why = format!("used {used:.4} of {asked}: others {others:.2} s, {stolen} of {all} ticks stolen");
    Err(Short { why, is_excused: others > 0.2 * room.max(0.1) || stolen > 0.01 * all })
}

#[test]
fn a_quota_is_never_exceeded_and_reached_on_a_free_machine() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let processors = std::thread::available_parallelism().unwrap().get() as f64;
    for percent in [5.0, 50.0, 150.0, 190.0] {
        if percent / 100.0 > processors - 0.05 {
            eprintln!("skipped: {percent} % needs more than {processors} processors");
            continue;
        }
        let mut short = Vec::new();
        while short.len() < ATTEMPTS
            && let Err(one) = use_up(&lab, percent, processors)
        {
            short.push(one);
        }
        if short.len() < ATTEMPTS {
            continue;
        }
        let seen: Vec<&str> = short.iter().map(|one| one.why.as_str()).collect();
        assert!(short.iter().all(|one| one.is_excused), "{percent} % was not reached: {seen:?}");
        eprintln!("skipped: {percent} % may not be reached: {seen:?}");
    }
    lab.assert_nothing_left();
}

#[test]
fn the_command_ends_as_it_would_alone() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    for (script, code) in [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 143), ("kill -9 $$", 137)] {
        let output = limited(&lab, &["50%"], script);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", words(&output));
        let said = String::from_utf8(output.stderr).unwrap();
        for row in ["wall ", "user ", "system ", "used ", "throttled ", "steal ", "peak memory "] {
            assert!(said.contains(&format!("\n  {row}")), "{script}: no `{row}` in\n{said}");
        }
    }
    for (program, code) in [("no-such-program-here", 127), ("/etc/passwd", 126)] {
        let output = lab.iostone(&["limit", "50%", "--", program]).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", words(&output));
        assert!(words(&output).contains(&format!("`{program}` could not be started")), "{}", words(&output));
    }
    lab.assert_nothing_left();
}

#[test]
fn its_streams_are_its_own_and_json_has_standard_output_to_itself() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let script = "echo out; echo err >&2";
    let plain = limited(&lab, &["50%"], script);
    assert_eq!(plain.stdout, b"out\n");
    assert!(String::from_utf8_lossy(&plain.stderr).starts_with("err\n"), "{}", words(&plain));

    let json = limited(&lab, &["50%", "--memory", "64MiB", "--cpuset", "0", "--json"], script);
    let told: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(String::from_utf8_lossy(&json.stderr), "out\nerr\n");
    for key in ["wall_seconds", "user_seconds", "system_seconds", "throttled_seconds"] {
        assert!(told[key].is_number(), "{key}: {told}");
    }
    assert!(told.as_object().unwrap().contains_key("steal_seconds") && told["exit_code"] == 0);
    assert!(told["peak_memory_bytes"].as_u64().is_none_or(|peak| peak <= 64 << 20), "{told}");

    let file = lab.path().join("told.json").display().to_string();
    let filed = limited(&lab, &["none", "--json", "--output", &file], script);
    assert_eq!(filed.stdout, b"out\n");
    let told: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert!(told["share_asked"].is_null() && told["group_cpu_seconds"].is_null(), "not limited: {told}");
    lab.assert_nothing_left();
}

#[test]
fn what_cannot_be_had_is_said_before_anything_starts() {
    let lab = Lab::new();
    let wrong: [(&[&str], &str); 10] = [
        (&["30%", "--memory", "1KiB"], "`--memory 1KiB`"),
        (&["30%", "--cpuset", "8191"], "`--cpuset`"),
        (&["30%", "--memory", "9999999TiB"], "the kernel does not accept a limit of 9999999TiB"),
        (&["50%", "--period", "1ms"], "`--period 10ms`"),
        (&["0.5%"], "`--period 200ms`"),
        (&["20%", "--burst", "21ms"], "above the quota of 20ms"),
        (&["20%", "--period", "2s"], "1ms to 1s"),
        (&["none", "--burst", "1ms"], "give one"),
        (&["lots"], "such as `30%`"),
        (&["20%", "--governed", "t9.huge"], "t9.huge"),
    ];
    for (options, said) in wrong {
        let output = limited(&lab, options, "touch begun");
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", words(&output));
        assert!(words(&output).contains(said), "{options:?}: {}", words(&output));
    }
    assert!(!lab.path().join("begun").exists());
    lab.assert_nothing_left();
}

#[test]
fn without_root_or_a_group_of_ones_own_it_says_sudo() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    // A place that anybody can go into: the directory of the build often is not.
    let open = tempfile::tempdir_in("/var/tmp").unwrap();
    let program = open.path().join("iostone");
    fs::copy(env!("CARGO_BIN_EXE_iostone"), &program).unwrap();
    fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let mut command = std::process::Command::new(&program);
    command.args(["limit", "30%", "--", "true"]).env("IOSTONE_STATE_DIR", open.path().join("state"));
    // nobody, by the number that it has everywhere.
    let output = command.current_dir(open.path()).uid(65534).gid(65534).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    assert!(words(&output).contains("sudo"), "{}", words(&output));
    let free = std::process::Command::new(&program)
        .args(["limit", "none", "--", "true"])
        // Not a place where a journal could be written.
        .env("IOSTONE_STATE_DIR", "/proc/iostone")
        .current_dir(open.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    assert!(free.status.success(), "measuring alone needs no root: {}", words(&free));
    let nobody = std::process::Command::new(&program)
        .args(["limit", "30%", "--", "true"])
        .env("IOSTONE_STATE_DIR", "/proc/iostone")
        .current_dir(open.path())
        .uid(65534)
        .gid(65534)
        .output()
        .unwrap();
    assert!(words(&nobody).contains("sudo"), "the groups come before the journal: {}", words(&nobody));
    lab.assert_nothing_left();
}

/// A group of version 1 with a quota, removed also on failure.
struct Batch(PathBuf);

impl Drop for Batch {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn what_the_group_above_holds_back_is_told() {
    needs_root!();
    let own = match LimitControllers::find() {
        Ok(found) if found.version == iostone_stack::CgroupVersion::One => found.cpu,
        _ => {
            eprintln!("skipped: needs the cpu controller of cgroup v1");
            return;
        }
    };
    let lab = Lab::new();
    let batch = Batch(own.join(format!("batch-{}", std::process::id())));
    fs::create_dir(&batch.0).unwrap();
    fs::write(batch.0.join("cpu.cfs_quota_us"), "20000").unwrap();
    let told = |outside: &str, script: &str| -> Value {
        let wrapped = format!("{outside}\nexec \"$0\" limit 20% --json -- sh -c '{script}'");
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &wrapped, env!("CARGO_BIN_EXE_iostone")]);
        let output = command.env("IOSTONE_STATE_DIR", lab.path().join("state")).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(&output)))
    };
    // A process beside it in the group above uses up what both have.
    let enter =
        format!("echo $$ > {0}/cgroup.procs; timeout 2 sh -c \"while :; do :; done\" &", batch.0.display());
    let held = told(&enter, "timeout 1 sh -c \"while :; do :; done\"");
    assert!(held["throttled_above_seconds"].as_f64().unwrap() > 0.0, "{held}");
    let alone = told("true", "true");
    assert!(alone["throttled_above_seconds"].is_null(), "{alone}");
    // What went on in the group has to be over before it can be removed.
    while !fs::read_to_string(batch.0.join("cgroup.procs")).unwrap().is_empty() {
        sleep(Duration::from_millis(20));
    }
    lab.assert_nothing_left();
}

#[test]
fn a_limit_alone_weighs_as_much_as_no_limit() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let weights = |options: &[&str]| -> String {
        let output = limited(&lab, &[options, &["--json"]].concat(), "true");
        let told: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", words(&output)));
        told["checks"].to_string()
    };
    let is_raised = |checks: &str| checks.contains("cpu.shares") || checks.contains("cpu.weight");
    assert!(!is_raised(&weights(&["150%"])));
    assert!(is_raised(&weights(&["150%", "--governed", "t1.micro"])));
    lab.assert_nothing_left();
}

#[test]
fn a_signal_goes_on_to_the_command_and_everything_is_undone() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let (mut child, token) = stays(&lab);
    let pid = Pid::from_raw(child.id().cast_signed()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(groups_named(&token), Vec::<PathBuf>::new());
    assert_eq!(processes_of(&token), Vec::<String>::new());
    lab.assert_nothing_left();
}

#[test]
fn after_a_kill_cleanup_leaves_no_group_and_no_process() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let (mut child, token) = stays(&lab);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!groups_named(&token).is_empty(), "the groups outlive a kill");
    let output = lab.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(groups_named(&token), Vec::<PathBuf>::new());
    let deadline = Instant::now() + Duration::from_secs(30);
    while !processes_of(&token).is_empty() && Instant::now() < deadline {
        sleep(Duration::from_millis(5));
    }
    assert_eq!(processes_of(&token), Vec::<String>::new());
    lab.assert_nothing_left();
}

/// The engine is of iostone's own process: its threads are held to the limit, the probe beside them is not.
const OWN_ENGINE: &str = r#"
name = "own-engine"
[stack]
volume = { kind = "loop", size = "48MiB" }
[[factor]]
name = "limit"
levels = { none = { limit.cpu = "none" }, tight = { limit.cpu = "10%" } }
[workload]
kind = "io"
rw = "randread"
bs = "4KiB"
runtime = "1s"
[decide]
metric = "iops"
baseline = "none"
"#;

#[test]
fn an_engine_of_our_own_is_held_to_the_limit_too() {
    needs_root!();
    if cannot_limit_cpu() {
        return;
    }
    let lab = Lab::new();
    let file = lab.write("experiment.toml", OWN_ENGINE);
    let output = lab.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    for trial in lab.record()["trials"].as_array().unwrap() {
        let account = &trial["signals"]["cpu"];
        let seconds = |key: &str| account[key].as_f64();
        let used = seconds("user_seconds").unwrap() + seconds("system_seconds").unwrap();
        if trial["configuration"] == "tight" {
            assert!(seconds("throttled_seconds").unwrap() > 0.0, "{account}");
            // A period's quota more at either end, and what a stopped processor seems to use.
            assert!(used < seconds("wall_seconds").unwrap() * 0.1 + 0.1, "{account}");
        } else {
            assert_eq!(seconds("throttled_seconds"), None, "{account}");
        }
    }
    lab.assert_nothing_left();
}
