//! Guests through the binary: a kernel boots, a trial runs inside, a panic is told, and nothing is ever left. They need
//! root, QEMU and a kernel in the cache, or an archive to fetch one from, and are skipped by name without.

use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use crate::guests::{BootableKernel, Place, needs_kernel, processes_with, words};

/// An experiment with one configuration more than needed to be one.
fn experiment(place: &Place, kernel: &BootableKernel, workload: &str, metric: &str) -> String {
    let text = format!(
        "name = \"guest\"\nquestion = \"Does it?\"\n\
             [stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
             [[factor]]\nname = \"barrier\"\n\
             levels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\
             [workload]\n{workload}\n\
             [decide]\nmetric = \"{metric}\"\nbaseline = \"on\"\nmargin = \"5%\"\n\
             [gates]\nsteal = \"off\"\nidle = \"off\"\n\
             [machine]\nkind = \"guest\"\nkernel = \"{}\"\nmodules = \"{}\"\nmemory = \"384MiB\"\n",
        kernel.image.display(),
        kernel.modules.display()
    );
    place.write("experiment.toml", &text)
}

const IO: &str = "kind = \"io\"\nrw = \"randwrite\"\nbs = \"4KiB\"\nsize = \"8MiB\"\nruntime = \"1s\"";

#[test]
fn a_program_runs_under_the_kernel_that_was_asked_for() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let image = kernel.image.display().to_string();
    let modules = kernel.modules.display().to_string();
    let booted = ["guest", "run", "--kernel", &image, "--modules", &modules, "--drive", "32MiB"];
    let mut arguments = booted.to_vec();
    arguments.extend(["--", "uname", "-r"]);
    let output = place.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), kernel.release);

    // A status other than 0 comes through, and so does what stands in the drives' serial numbers.
    let mut arguments = booted.to_vec();
    arguments.extend(["--", "grep", "-c", "iostone-v0", "/sys/block/vda/serial", "/nowhere"]);
    let output = place.iostone(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("/sys/block/vda/serial:1"),
        "{}",
        words(&output)
    );
    place.assert_nothing_left();
}

#[test]
fn a_trial_in_a_guest_records_the_guest() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let file = experiment(&place, kernel, IO, "iops");
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let trials = place.trials();
    assert_eq!(trials.len(), 2);
    for (path, trial) in &trials {
        let guest = &trial["guest"];
        assert_eq!(guest["kernel_release"], kernel.release.as_str());
        assert!(guest["uname"].as_str().unwrap().starts_with(&format!("Linux {} ", kernel.release)));
        assert!(guest["command_line"].as_str().unwrap().contains("-- agent --guest"));
        assert_eq!(guest["cpus"], 1);
        assert!(guest["boot_seconds"].as_f64().unwrap() > 0.0);
        assert!(["kvm", "tcg"].contains(&guest["accelerator"].as_str().unwrap()));
        assert!(trial["metrics"]["iops"].as_f64().unwrap() > 0.0);
        assert!(path.join("trial.json").exists());
    }
    place.assert_nothing_left();
}

#[test]
fn a_panic_inside_is_told_with_the_last_lines_of_the_console() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let workload = "kind = \"command\"\nargv = [\"/bin/sh\", \"-c\", \"echo c > /proc/sysrq-trigger\"]";
    let file = experiment(&place, kernel, workload, "wall_time");
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(!output.status.success());
    let told = words(&output)
        + &place.trials().iter().map(|(_, trial)| trial.to_string()).collect::<Vec<_>>().join("\n");
    assert!(told.contains("Kernel panic - not syncing: sysrq triggered crash"), "{told}");
    place.assert_nothing_left();
}

#[test]
fn nothing_is_left_of_a_guest_whose_iostone_was_killed() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let workload = "kind = \"command\"\nargv = [\"/bin/sleep\", \"600\"]";
    let file = experiment(&place, kernel, workload, "wall_time");
    let mut child =
        place.iostone(&["run", &file]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mark = place.directory.path().display().to_string();
    let guest_runs = || {
        processes_with(&mark).iter().any(|line| line.contains("-accel") && line.contains("virtserialport"))
    };
    while !guest_runs() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before a guest ran");
        sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let output = place.iostone(&["cleanup"]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    place.assert_nothing_left();
}

#[test]
fn cgroup_v2_keeps_the_quotas_of_commands() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let iostone = env!("CARGO_BIN_EXE_iostone");
    let script = format!(
        "#!/bin/sh\nfor share in 10 30 50; do\n\
         {iostone} limit $share% --period 20ms --json -- timeout 2 sh -c 'while :; do :; done'\ndone\n\
         exec ls /sys/fs/cgroup\n"
    );
    let script = place.write("busy.sh", &script);
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let (image, modules) = (kernel.image.display().to_string(), kernel.modules.display().to_string());
    let mut arguments = vec!["guest", "run", "--kernel", &image, "--modules", &modules];
    // A debug build is carried twice.
    arguments.extend(["--memory", "1GiB", "--kernel-argument", "cgroup_no_v1=all", "--timeout", "120s"]);
    for carried in [iostone, "/usr/bin/timeout", "/bin/ls"] {
        arguments.extend(["--carry", carried]);
    }
    arguments.extend(["--", &script]);
    let output = place.iostone(&arguments).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let mut told = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<serde_json::Value>();
    for share in [0.1, 0.3, 0.5] {
        let told = told.next().unwrap().unwrap();
        assert_eq!(told["share_asked"], share, "{told}");
        let used = told["share_used"].as_f64().unwrap();
        // A guest whose processor is stopped for a while takes that for use.
        assert!(used < share * 1.05 + 0.05, "{told}");
        let from = told["checks"][0]["from"].as_str().unwrap();
        assert!(from.ends_with("/cpu.max"), "{from}");
        let throttled = told["throttled_seconds"].as_f64().unwrap();
        assert!(throttled > 0.0, "{told}");
        // The host may not have given the guest a whole processor; then the quota was not what held the command.
        if used < share * 0.95 {
            eprintln!(
                "skipped: the guest's processor had too little of the host's to use {share}: {used:.3}"
            );
        }
    }
    let left = String::from_utf8_lossy(&output.stdout[told.byte_offset()..]).into_owned();
    assert!(left.contains("cgroup.procs") && !left.contains("iostone-"), "{left}");
    place.assert_nothing_left();
}
