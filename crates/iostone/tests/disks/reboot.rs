//! Levels that need another kernel of this host: the run stops for a reboot, and waits for it.

use crate::lab::{Lab, needs_root};

#[test]
fn a_level_that_needs_another_kernel_ends_the_session_with_4() {
    needs_root!();
    let lab = Lab::new();
    let running = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let text = format!(
        "name = \"k\"\n[stack]\nvolume = {{ kind = \"loop\", size = \"16MiB\" }}\n[[factor]]\nname = \"kernel\"\n\
         levels = {{ old = {{ machine.kernel = \"{}\" }}, new = {{ machine.kernel = \"99.9\" }} }}\n[workload]\nkind = \"io\"\n\
         rw = \"read\"\nbs = \"64KiB\"\ndirect = true\nruntime = \"200ms\"\n[trials]\nwarmups = 0\n[gates]\nsteal = \"off\"\nidle = \
         \"off\"\n[decide]\nmetric = \"throughput\"\nbaseline = \"old\"\n[machine]\nkind = \"local\"\n",
        running.trim()
    );
    let file = lab.write("kernel.toml", &text);
    let ended = lab.iostone(&["run", "--quick", &file]).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(4), "{said}");
    for part in ["`new` asks for kernel `99.9`", "iostone run --resume", "[Service]", "SuccessExitStatus=4"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // The trial of the running kernel is kept, and resuming without the reboot measures nothing.
    let run = lab.the_run();
    let trials = || std::fs::read_dir(run.join("trials")).unwrap().count();
    assert_eq!(trials(), 1);
    let again = lab.iostone(&["run", "--resume", &run.display().to_string()]).output().unwrap();
    assert_eq!((again.status.code(), trials()), (Some(4), 1));
}
