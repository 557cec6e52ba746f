//! Machines whose kernels see steal and machines whose kernels do not.

use super::*;
use crate::fixture::plant;

fn guest(hypervisor: &str, faces: &[(&str, u32)]) -> Facts {
    let face = |(signature, features): &(&str, u32)| Face {
        signature: (*signature).to_owned(),
        features: *features,
    };
    Facts {
        hypervisor: hypervisor.to_owned(),
        faces: faces.iter().map(face).collect(),
        clocks: "tsc kvm-clock".to_owned(),
        ..Facts::default()
    }
}

fn is_seen(facts: &Facts) -> bool {
    judge(facts).observable
}

#[test]
fn without_a_hypervisor_nothing_is_stolen() {
    assert!(is_seen(&Facts { hypervisor: "none".to_owned(), ..Facts::default() }));
}

#[test]
fn kvm_shows_it_where_it_offers_steal_time_and_the_kernel_is_made_for_it() {
    let kvm = guest("kvm", &[("KVMKVMKVM", 0x0100_7efb)]);
    assert!(is_seen(&kvm));
    assert!(is_seen(&guest("microsoft", &[("Microsoft Hv", 0), ("KVMKVMKVM", 0x0100_7efb)])));
    let bare = judge(&guest("kvm", &[("KVMKVMKVM", 0x0100_7edb)]));
    assert_eq!((bare.observable, bare.because.as_str()), (false, "KVM offers this guest no steal time"));
    assert!(!is_seen(&Facts { clocks: "tsc hpet acpi_pm".to_owned(), ..kvm.clone() }));
    let told_not_to = "root=/dev/vda no-kvmclock".to_owned();
    assert!(is_seen(&Facts { clocks: "tsc".to_owned(), command_line: told_not_to, ..kvm.clone() }));
    assert!(!is_seen(&Facts { command_line: "quiet nopv".to_owned(), ..kvm }));
}

#[test]
fn a_translator_and_hypervisors_without_such_a_clock_are_named() {
    for (hypervisor, signature, word) in [
        ("qemu (TCG)", "TCGTCGTCGTCG", "TCG"),
        ("microsoft", "Microsoft Hv", "Hyper-V"),
        ("vmware", "VMwareVMware", "stealclock.enable"),
        ("unknown hypervisor", "ACRNACRNACRN", "ACRNACRNACRN"),
        ("bhyve", "bhyve bhyve ", "bhyve"),
        // A processor that QEMU's translator copied from a real one.
        ("none", "TCGTCGTCGTCG", "TCG"),
    ] {
        let sight = judge(&guest(hypervisor, &[(signature, 0)]));
        assert!(!sight.observable && sight.because.contains(word), "{sight:?}");
    }
    let arm = judge(&Facts { hypervisor: "amazon".to_owned(), ..Facts::default() });
    assert!(!arm.observable && arm.because.starts_with("whether amazon tells"), "{arm:?}");
}

#[test]
fn a_counter_that_ever_moved_proves_a_clock() {
    for hypervisor in ["vmware", "unknown hypervisor", "amazon"] {
        assert!(is_seen(&Facts { hypervisor: hypervisor.to_owned(), counted: 1, ..Facts::default() }));
    }
}

const CPUINFO: &str =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: X\nflags\t\t: fpu hypervisor\n";

#[test]
fn xen_is_known_by_its_files_for_guests_and_for_the_first_domain() {
    for capabilities in ["", "control_d\n"] {
        let (_folder, root) = plant(&[
            ("proc/stat", "cpu  1 0 0 1 0 0 0 0\n"),
            ("proc/cpuinfo", CPUINFO),
            ("proc/xen/capabilities", capabilities),
            ("sys/hypervisor/type", "xen\n"),
        ]);
        assert_eq!(read_steal_sight(&root).because, "Xen tells how long each processor waited");
    }
}

#[test]
fn another_machine_s_files_are_judged_by_what_they_say() {
    let (_folder, root) = plant(&[("proc/stat", "cpu  1 0 0 1 0 0 0 0\n"), ("proc/cpuinfo", CPUINFO)]);
    assert!(!read_steal_sight(&root).observable);
    let (_folder, root) = plant(&[("proc/stat", "cpu  1 0 0 1 0 0 0 7\n"), ("proc/cpuinfo", CPUINFO)]);
    assert!(read_steal_sight(&root).observable);
    // Before Linux 2.6.11 there was no such figure.
    let (_folder, root) = plant(&[("proc/stat", "cpu  1 0 0 1\n"), ("proc/cpuinfo", CPUINFO)]);
    assert!(!read_steal_sight(&root).observable);
}

#[test]
fn a_container_that_is_shown_made_up_figures_sees_no_steal() {
    let (_folder, root) = plant(&[
        ("proc/stat", "cpu  1 0 0 1 0 0 0 0 0 0\n"),
        (
            "proc/self/mountinfo",
            "60 50 0:44 /proc/stat /proc/stat rw,nosuid,nodev,relatime - fuse.lxcfs lxcfs rw,user_id=0\n",
        ),
    ]);
    let sight = read_steal_sight(&root);
    assert!(!sight.observable && sight.because.contains("fuse.lxcfs"), "{sight:?}");
}

#[test]
fn this_machine_is_judged_with_a_reason() {
    assert!(!read_steal_sight(&Root::live()).because.is_empty());
}
