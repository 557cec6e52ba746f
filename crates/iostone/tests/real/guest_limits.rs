//! Limits on a workload under version 2 of control groups, in a guest through the binary. It needs root, QEMU and a
//! kernel in the cache, or an archive to fetch one from, and is skipped by name without.

use std::path::Path;

use crate::guests::{Place, needs_kernel, words};

#[test]
fn a_workload_in_a_guest_is_limited_by_version_2_and_each_limit_reads_back() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let text = format!(
        "name = \"limits\"\nquestion = \"Does it?\"\n\
         [stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
         limit = {{ memory = \"64MiB\", cpuset = \"0\", io = {{ iops = 500 }} }}\n\
         [[factor]]\nname = \"quota\"\n\
         levels = {{ third = {{ limit.cpu = \"30%\" }}, half = {{ limit.cpu = \"50%\" }} }}\n\
         [workload]\nkind = \"command\"\nargv = [\"cat\", \"/proc/self/cgroup\"]\n\
         [decide]\nmetric = \"wall_time\"\nbaseline = \"half\"\nmargin = \"5%\"\n\
         [gates]\nsteal = \"off\"\nidle = \"off\"\n\
         [machine]\nkind = \"guest\"\nkernel = \"{}\"\nmodules = \"{}\"\nmemory = \"384MiB\"\n\
         kernel_arguments = [\"cgroup_no_v1=all\", \"psi=1\"]\n",
        kernel.image.display(),
        kernel.modules.display()
    );
    let file = place.write("experiment.toml", &text);
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    let trials = place.trials();
    assert_eq!(trials.len(), 2);
    for (directory, trial) in &trials {
        let checks: Vec<(&str, &str)> = trial["checks"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|check| check["layer"] == "limit")
            .map(|check| {
                let from = check["from"].as_str().unwrap();
                (check["read_back"].as_str().unwrap(), from.rsplit('/').next().unwrap())
            })
            .collect();
        for expected in [
            (if trial["configuration"] == "third" { "CPU time 30%" } else { "CPU time 50%" }, "cpu.max"),
            ("memory 64MiB", "memory.max"),
            ("no swap beside it", "memory.swap.max"),
            ("processors 0", "cpuset.cpus.effective"),
            ("vda reads 500 IOPS", "io.max"),
        ] {
            assert!(checks.contains(&expected), "{expected:?} of {checks:?}");
        }
        let inside = raw_output(directory);
        assert!(inside.contains("/iostone-"), "{inside}");
    }
    place.assert_nothing_left();
}

/// All that the workload said.
fn raw_output(trial: &Path) -> String {
    let files = std::fs::read_dir(trial.join("raw")).unwrap().flatten();
    files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect()
}
