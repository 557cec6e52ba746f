//! `run --dry-run`: every step is told and nothing is done.

use crate::support::{BARRIER, Bench, FLUSH_PRICE, assert_text, masked};

#[test]
fn the_barrier_experiment_is_told_step_by_step() {
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    let said = bench.iostone(&["run", "barrier.toml", "--dry-run", "--set", "trials.seed=1"]).ended_with(0);
    assert_text("dry_run_barrier", &masked(&said.stdout, &bench, "ext4-barrier"));
    let as_root = said.stderr.lines().all(|line| line.starts_with("as root: "));
    assert!(as_root, "nothing stands in the way but that this may not be root: {said:?}");
    assert_eq!(bench.names(), ["barrier.toml"], "something was touched");
}

#[test]
fn a_rehearsal_a_noise_run_and_a_program_are_told_too() {
    let bench = Bench::new();
    bench.write("flush-price.toml", FLUSH_PRICE);
    bench.write("program.toml", crate::runs::PROGRAM);
    let mut all = String::new();
    for arguments in [&["flush-price.toml", "--quick"][..], &["flush-price.toml", "--aa"], &["program.toml"]]
    {
        let said = bench.iostone(&[&["run", "--dry-run", "--set", "trials.seed=1"], arguments].concat());
        all += &format!("── {}\n{}\n", arguments.join(" "), said.ended_with(0).stdout);
    }
    let all = masked(&masked(&all, &bench, "flush-price"), &bench, "program");
    assert_text("dry_run_others", &all);
    assert_eq!(bench.names(), ["flush-price.toml", "program.toml"], "something was touched");
}

#[test]
fn programs_read_the_plan_the_steps_and_the_costs() {
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    let said = bench.iostone(&["run", "barrier.toml", "--dry-run", "--json"]).ended_with(0);
    let mut document = said.json();
    assert_eq!(document["schema"], "iostone/dry-run/1");
    assert_eq!(document["plan"]["experiment"]["configurations"].as_array().unwrap().len(), 2);
    // The plan is what `show --json` gives as well; its id, seed and time differ from run to run.
    document["plan"] = serde_json::Value::Null;
    let text = serde_json::to_string_pretty(&document).unwrap();
    assert_text("dry_run_json", &masked(&text, &bench, "ext4-barrier"));
    assert_eq!(bench.names(), ["barrier.toml"], "something was touched");
}

#[test]
fn what_would_refuse_the_run_is_said_and_the_steps_all_the_same() {
    let bench = Bench::new();
    let loop_volume = BARRIER.lines().find(|line| line.trim_start().starts_with("volume =")).unwrap();
    let block = "volume = { kind = \"block\", devices = [\"/dev/iostone-has-no-such-device\"] }";
    bench.write("barrier.toml", BARRIER.replace(loop_volume, block));
    let said = bench.iostone(&["run", "barrier.toml", "--dry-run"]).ended_with(0);
    assert!(said.stdout.contains("nothing was touched"), "{said:?}");
    let root =
        said.stderr.starts_with("the run would be refused: ") && said.stderr.contains("no-such-device");
    assert!(root || said.stderr.starts_with("as root: "), "{said:?}");
}

#[test]
fn mount_options_are_put_to_the_kernel_before_the_run() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    let asked = |option: &str| {
        let set = format!("stack.mount.options=[\"{option}\"]");
        bench.iostone(&["run", "barrier.toml", "--dry-run", "--set", &set])
    };
    asked("commi=5").ended_with(0).complains_of(
        "`stack.mount.options`: the ext4 of this kernel does not accept `commi=5`: ext4: Unknown parameter",
    );
    for (option, reason) in [
        ("errors=panic", "an error of the filesystem would stop the whole machine"),
        ("ro", "nothing could be written"),
        ("bind", "it affects another mount or device"),
    ] {
        asked(option).ended_with(0).complains_of(&format!("`{option}` is not allowed: {reason}"));
    }
}

/// An experiment on a loop device of 256 MiB.
fn small(filesystem: &str, levels: &str, workload: &str, metric: &str) -> String {
    format!(
        "name = \"small\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"256MiB\" }}\n{filesystem}\n[[factor]]\n\
         name = \"f\"\nlevels = {{ {levels} }}\n[workload]\n{workload}\n[decide]\nmetric = \"{metric}\"\n\
         baseline = \"a\"\nblocks = {{ min = 6, max = 6 }}\n"
    )
}

const EXT4: &str = "filesystem = { kind = \"ext4\" }";
const TIMES: &str = "a = { mount.options = [\"relatime\"] }, b = { mount.options = [\"noatime\"] }";
const QUEUES: &str = "a = { queue.scheduler = \"none\" }, b = { queue.scheduler = \"mq-deadline\" }";

#[test]
fn what_the_file_alone_tells_is_an_error_of_the_file() {
    let bench = Bench::new();
    let command = "kind = \"command\"\nargv = [\"true\"]";
    let io = "kind = \"io\"\nrw = \"randread\"\nbs = \"4KiB\"\nsize = \"512MiB\"\nruntime = \"1s\"";
    for (filesystem, levels, workload, metric, complaint) in [
        (
            "",
            QUEUES,
            command,
            "wall_time",
            "command works in a directory, but the stack ends in a bare device",
        ),
        ("", QUEUES, io, "iops", "512MiB of a device of 256MiB cannot be read or written"),
        (EXT4, TIMES, io, "iops", "a file of 512MiB does not fit on a volume of 256MiB"),
    ] {
        bench.write("small.toml", small(filesystem, levels, workload, metric));
        bench.iostone(&["run", "small.toml", "--dry-run"]).ended_with(2).complains_of(complaint);
    }
}

#[test]
fn what_files_beside_the_experiment_tell_is_said_before_the_run() {
    let bench = Bench::new();
    bench.write("plain.sh", "echo\n");
    bench.write("script.sh", "#!/nosuch/interpreter\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.path("script.sh"), mode).unwrap();
    let argv = |program: &str| format!("kind = \"command\"\nargv = [\"{program}\"]");
    for (program, complaint) in [
        (
            "./plain.sh",
            "is not executable: `chmod +x` it, or name its interpreter, as in `argv = [\"sh\", \"plain.sh\"]`",
        ),
        ("./script.sh", "its first line names the interpreter `/nosuch/interpreter`, which is not there"),
    ] {
        bench.write("small.toml", small(EXT4, TIMES, &argv(program), "wall_time"));
        let said = bench.iostone(&["run", "small.toml", "--dry-run"]).ended_with(0);
        assert!(said.stderr.starts_with("the run would be refused: "), "{said:?}");
        said.complains_of(complaint);
        // And so it is.
        bench.iostone(&["run", "small.toml", "--quick"]).ended_with(2).complains_of(complaint);
    }
}

#[test]
fn levels_that_differ_in_more_than_one_thing_are_warned_of() {
    let bench = Bench::new();
    let said = |file: &str| bench.iostone(&["run", file, "--dry-run", "--json"]).ended_with(0);
    bench.write("barrier.toml", BARRIER);
    assert!(!said("barrier.toml").stderr.contains("at once"));
    let one = "off = { mount.options = [\"barrier=0\"] }";
    let two = "off = { mount.options = [\"barrier=0\"], queue.readahead = 1024 }";
    assert!(BARRIER.contains(one));
    bench.write("two.toml", BARRIER.replace(one, two));
    let said = said("two.toml");
    let warning = "warning: factor `barrier` changes two things at once: `off` differs from `on` in `mount option barrier` and \
                   `queue.readahead`";
    assert!(said.stderr.contains(warning), "{said:?}");
}

#[test]
fn a_timeout_is_told_as_the_bound_that_it_is() {
    let bench = Bench::new();
    bench.write("program.toml", crate::runs::PROGRAM);
    let time = |settings: &[&str]| {
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let arguments: Vec<&str> = ["run", "program.toml", "--dry-run"].into_iter().chain(settings).collect();
        let said = bench.iostone(&arguments).ended_with(0).stdout;
        said.lines().find(|line| line.starts_with("time ")).unwrap().to_owned()
    };
    let timeout = "workload.timeout=2min";
    assert_eq!(time(&[timeout]), "time    depends on the workload; at most 2 min per trial (its timeout)");
    assert_eq!(
        time(&[timeout, "decide.time=10min"]),
        "time    depends on the workload; at most 2 min per trial (its timeout), 10 min in all"
    );
}

#[test]
fn an_engine_inside_a_guest_is_refused_before_any_step_is_told() {
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    for engine in ["docker", "podman"] {
        let container = format!("stack.container={{ kind = \"{engine}\" }}");
        let guest = "machine={ kind = \"guest\", kernel = \"host\" }";
        let said = bench.iostone(&["run", "barrier.toml", "--dry-run", "--set", &container, "--set", guest]);
        let said = said.ended_with(2);
        assert!(
            said.stdout.is_empty() && said.stderr.contains(&format!("{engine} is not available in a guest")),
            "{said:?}"
        );
    }
}

#[test]
fn the_time_that_a_containers_engine_takes_is_told() {
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    let seconds = |kind: &str| {
        let container = format!("stack.container={{ kind = \"{kind}\" }}");
        let said = bench.iostone(&["run", "barrier.toml", "--dry-run", "--json", "--set", &container]);
        said.ended_with(0).json()["seconds_at_most"].as_f64().unwrap()
    };
    let (overlay, docker, podman) = (seconds("overlay"), seconds("docker"), seconds("podman"));
    assert!(overlay < docker && docker < podman, "{overlay} {docker} {podman}");
}

#[test]
fn settings_are_told_in_the_order_in_which_they_are_made_and_put_back() {
    let bench = Bench::new();
    bench.write("barrier.toml", BARRIER);
    let steps = |machine: &[&str]| {
        let queue =
            "stack.queue={ nr_requests = 64, scheduler = \"bfq\", rotational = false, read_ahead_kb = 128 }";
        let sysctl = "stack.sysctl={ vm.dirty_bytes = \"64MiB\", vm.swappiness = 10 }";
        let arguments = ["run", "barrier.toml", "--dry-run", "--set", queue, "--set", sysctl];
        let said = bench.iostone(&[&arguments[..], machine].concat()).ended_with(0).stdout;
        let of_settings = |line: &&str| line.contains("queue/") || line.contains("vm.");
        let one_level = said.split("\n\n").nth(1).unwrap().lines().filter(of_settings);
        one_level.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let queue = "/sys/block/loopN/queue";
    assert_eq!(
        steps(&[]),
        [
            format!("queue      echo bfq > {queue}/scheduler"),
            format!("queue      echo 0 > {queue}/rotational"),
            format!("queue      echo 64 > {queue}/nr_requests"),
            format!("queue      echo 128 > {queue}/read_ahead_kb"),
            "sysctl     sysctl -w vm.dirty_bytes=67108864 (for the whole machine)".to_owned(),
            "sysctl     sysctl -w vm.swappiness=10 (for the whole machine)".to_owned(),
            "undo       restore vm.swappiness".to_owned(),
            "undo       restore vm.dirty_bytes and vm.dirty_ratio".to_owned(),
            format!("undo       restore {queue}/scheduler"),
            format!("undo       restore {queue}/rotational"),
            format!("undo       restore {queue}/nr_requests"),
            format!("undo       restore {queue}/read_ahead_kb"),
        ]
    );
    let inside = steps(&["--set", "machine={ kind = \"guest\", kernel = \"host\" }"]);
    assert!(
        inside.iter().any(|step| step == "sysctl     sysctl -w vm.swappiness=10 (in the guest)"),
        "{inside:?}"
    );
}
