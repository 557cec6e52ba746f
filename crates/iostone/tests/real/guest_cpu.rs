//! Where the CPU time of a trial in a guest went, through the binary: a guest whose kernel cannot see steal says so, and
//! what the host sees stands in for it. They need root, QEMU and a kernel in the cache, and are skipped by name without.

use crate::guests::{BootableKernel, Place, needs_kernel, words};

fn experiment(place: &Place, kernel: &BootableKernel) -> String {
    let text = format!(
        "name = \"guest-cpu\"\n\
         [stack]\nvolume = {{ kind = \"loop\", size = \"64MiB\" }}\nfilesystem = {{ kind = \"ext4\" }}\n\
         [[factor]]\nname = \"barrier\"\n\
         levels = {{ on = {{ mount.options = [\"barrier=1\"] }}, off = {{ mount.options = [\"barrier=0\"] }} }}\n\
         [workload]\nkind = \"command\"\n\
         argv = [\"/bin/sh\", \"-c\", \"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done\"]\n\
         [decide]\nmetric = \"wall_time\"\nbaseline = \"on\"\nmargin = \"5%\"\n\
         [gates]\nsteal = \"off\"\nidle = \"off\"\n\
         [machine]\nkind = \"guest\"\nkernel = \"{}\"\nmodules = \"{}\"\nmemory = \"384MiB\"\n",
        kernel.image.display(),
        kernel.modules.display()
    );
    place.write("experiment.toml", &text)
}

#[test]
fn steal_that_a_guest_cannot_see_is_not_zero_but_seen_from_the_host() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let file = experiment(&place, kernel);
    let output = place.iostone(&["run", "--quick", &file]).output().unwrap();
    assert!(output.status.success(), "{}", words(&output));
    for (_, trial) in place.trials() {
        let account = &trial["signals"]["cpu"];
        assert_eq!(account["processors"], 1, "{account}");
        assert!(account["user_seconds"].as_f64().unwrap() > 0.0, "{account}");
        assert_eq!(account["throttled_seconds"], serde_json::Value::Null);
        // Translation has no clock for it; KVM may have one.
        if trial["guest"]["accelerator"] == "tcg" {
            assert_eq!(account["machine_steal_seconds"], serde_json::Value::Null, "{account}");
            let notes = trial["notes"].to_string();
            assert!(notes.contains("steal: not observable in the guest; seen from the host"), "{notes}");
        }
        assert!(trial["signals"]["steal"].as_f64().is_some(), "{}", trial["signals"]);
    }
    place.assert_nothing_left();
}
