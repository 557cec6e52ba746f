//! Whole machines as trees of files: what the snapshot makes of them, and what is said of them in words.

use iostone_model::environment::{BlockDevice, Environment};
use proptest::prelude::*;

use super::describe::describe;
use super::*;
use crate::fixture::{add, link, plant};

fn x86(model: &str, is_guest: bool) -> String {
    let flag = if is_guest { " hypervisor" } else { "" };
    format!(
        "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: {model}\nflags\t\t: fpu sse2{flag} lahf_lm\n\n"
    )
}

fn say(environment: &Environment, label: &str) -> Option<String> {
    describe(environment).into_iter().find(|(one, _)| *one == label).map(|(_, value)| value)
}

const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";

#[test]
fn a_xen_micro_instance_of_2010_is_described() {
    // Linux 2.6.34, paravirtualised: no DMI, no PSI, no clock of KVM, no MemAvailable, control groups not mounted.
    let (_folder, root) = plant(&[
        ("proc/cpuinfo", &x86("Intel(R) Xeon(R) CPU           E5430  @ 2.66GHz", false)),
        (
            "proc/meminfo",
            "MemTotal:  629448 kB\nMemFree:  500000 kB\nBuffers: 20 kB\nCached: 80 kB\nSwapTotal: 0 kB\n",
        ),
        ("proc/sys/kernel/osrelease", "2.6.34.7-56.40.amzn1.x86_64\n"),
        ("proc/sys/kernel/hostname", "ip-10-112-1-2\n"),
        ("sys/hypervisor/type", "xen\n"),
        ("etc/system-release", "Amazon Linux AMI release 2010.11.1 (beta)\n"),
        ("sys/class/block/sda1/stat", "1 2 3 4 5 6 7 8 9 10 11\n"),
        ("sys/class/block/sda1/size", "20971520\n"),
        ("sys/class/block/sda1/dev", "8:1\n"),
        ("sys/class/block/sda1/queue/scheduler", "[noop] anticipatory deadline cfq\n"),
    ]);
    let environment = snapshot_in(&root, &[]);
    assert_eq!(environment.virtualisation.hypervisor, "xen");
    assert_eq!(environment.virtualisation.container, None);
    assert_eq!(environment.cpu.model, "Intel(R) Xeon(R) CPU E5430 @ 2.66GHz");
    assert_eq!(environment.cpu.logical, 1);
    assert_eq!((environment.cpu.cores, environment.cpu.numa_nodes), (None, None));
    assert_eq!(environment.memory.available_bytes, 500_100 * 1024);
    assert_eq!(environment.memory.dirty_ratio_percent, None);
    assert_eq!(environment.cgroup.mode, "none");
    assert!(!environment.pressure_stall_information && environment.dmi.is_empty());
    assert_eq!(environment.block_devices[0].scheduler.as_deref(), Some("noop"));
    assert_eq!(say(&environment, "Machine").as_deref(), Some("host ip-10-112-1-2"));
    assert_eq!(say(&environment, "OS").as_deref(), Some("Amazon Linux AMI release 2010.11.1 (beta)"));
    assert_eq!(say(&environment, "Cgroup").as_deref(), Some("none"));
}

#[test]
fn a_nitro_instance_is_described() {
    let (folder, root) = plant(&[
        ("proc/cpuinfo", &x86("Intel(R) Xeon(R) Platinum 8124M CPU @ 3.00GHz", true).repeat(2)),
        ("proc/meminfo", "MemTotal:  3900000 kB\nMemAvailable:  3000000 kB\nSwapTotal: 1048576 kB\n"),
        ("proc/sys/kernel/osrelease", "6.1.0-26-cloud-amd64\n"),
        ("proc/sys/kernel/io_uring_disabled", "2\n"),
        ("proc/sys/vm/dirty_ratio", "0\n"),
        ("proc/sys/vm/dirty_bytes", "268435456\n"),
        ("proc/sys/vm/dirty_background_ratio", "10\n"),
        ("proc/sys/vm/dirty_background_bytes", "0\n"),
        ("proc/cmdline", "BOOT_IMAGE=/vmlinuz mitigations=auto mitigations=off quiet\n"),
        ("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"),
        ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
        ("sys/class/dmi/id/product_name", "c5.large\n"),
        ("sys/class/dmi/id/product_serial", "ec2c2f5a\n"),
        (CLOCKS, "kvm-clock tsc hpet acpi_pm \n"),
        ("sys/devices/system/cpu/online", "0-1\n"),
        ("sys/devices/system/node/online", "0\n"),
        ("sys/devices/system/cpu/cpu0/topology/core_cpus_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu1/topology/core_cpus_list", "0-1\n"),
        ("sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/size", "16777216\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/dev", "259:0\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/device/model", "Amazon Elastic Block Store              \n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/device/serial", "vol0123456789abcdef0\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/device/firmware_rev", "1.0     \n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/queue/scheduler", "[none] mq-deadline kyber bfq\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/queue/write_cache", "write through\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/queue/rotational", "0\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/queue/read_ahead_kb", "128\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/queue/fua", "1\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/nvme0n1p1/partition", "1\n"),
        ("sys/devices/pci/nvme/nvme0/nvme0n1/nvme0n1p1/size", "16000000\n"),
        ("sys/devices/pci/net/ens5/speed", "-1\n"),
        ("sys/class/net/bonding_masters", "\n"),
        ("sys/bus/pci/drivers/ena/bind", ""),
        ("etc/os-release", "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
    ]);
    link(
        &folder,
        &[
            ("sys/class/block/nvme0n1", "../../devices/pci/nvme/nvme0/nvme0n1"),
            ("sys/class/block/nvme0n1p1", "../../devices/pci/nvme/nvme0/nvme0n1/nvme0n1p1"),
            ("sys/class/net/ens5", "../../devices/pci/net/ens5"),
            ("sys/devices/pci/net/ens5/device/driver", "../../../../../bus/pci/drivers/ena"),
        ],
    );
    let environment = snapshot_in(&root, &[]);
    assert_eq!(environment.virtualisation.hypervisor, "amazon");
    assert!(!environment.dmi.contains_key("product_serial"), "a serial number names one machine");
    let cpu = &environment.cpu;
    assert_eq!((cpu.logical, cpu.cores, cpu.sockets, cpu.numa_nodes), (2, Some(1), Some(1), Some(1)));
    assert_eq!(cpu.mitigations.as_deref(), Some("off"), "the last one counts");
    let memory = &environment.memory;
    assert_eq!((memory.dirty_ratio_percent, memory.dirty_limit_bytes), (None, Some(268_435_456)));
    assert_eq!(
        (memory.dirty_background_ratio_percent, memory.dirty_background_limit_bytes),
        (Some(10), None)
    );
    assert_eq!(memory.transparent_hugepages.as_deref(), Some("madvise"));
    assert_eq!(environment.kernel.io_uring_disabled, Some(2));
    assert_eq!(environment.network.len(), 1);
    assert_eq!(environment.network[0].driver.as_deref(), Some("ena"));
    assert_eq!(environment.network[0].speed_mbit, None);
    let expected = BlockDevice {
        name: "nvme0n1".to_owned(),
        number: "259:0".to_owned(),
        size_bytes: 8 << 30,
        model: Some("Amazon Elastic Block Store".to_owned()),
        serial: Some("vol0123456789abcdef0".to_owned()),
        firmware: Some("1.0".to_owned()),
        scheduler: Some("none".to_owned()),
        write_cache: Some("write through".to_owned()),
        rotational: Some(false),
        read_ahead_kib: Some(128),
        fua: Some(true),
        ..BlockDevice::default()
    };
    assert_eq!(environment.block_devices[0], expected);
    assert_eq!(environment.block_devices[1].parent.as_deref(), Some("nvme0n1"));
    assert!(environment.pressure_stall_information);
    assert!(say(&environment, "Machine").unwrap().starts_with("Amazon EC2 c5.large"));
    let disks = say(&environment, "Disks").unwrap();
    assert!(disks.contains("nvme0n1 8") && disks.contains("Amazon Elastic Block Store"), "{disks}");
    assert!(!disks.contains("nvme0n1p1"), "{disks}");
}

#[test]
fn a_laptop_is_bare_metal_whoever_made_it() {
    let (_folder, root) = plant(&[
        ("proc/cpuinfo", &x86("11th Gen Intel(R) Core(TM) i7", false)),
        ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
        ("sys/class/dmi/id/product_name", "Surface Laptop 4\n"),
        (CLOCKS, "tsc hpet acpi_pm\n"),
        ("sys/class/block/zram0/size", "2048\n"),
        ("sys/class/block/dm-0/size", "2048\n"),
        ("sys/class/block/dm-0/slaves/nvme0n1p3/x", ""),
        ("sys/class/block/loop4/size", "2048\n"),
        ("sys/class/block/loop4/loop/backing_file", "/var/lib/snapd/a b \n\n"),
    ]);
    let environment = snapshot_in(&root, &[]);
    assert_eq!(environment.virtualisation.hypervisor, "none");
    assert_eq!(say(&environment, "Virtualisation").as_deref(), Some("none (bare metal)"));
    assert_eq!(environment.block_devices[0].slaves, ["nvme0n1p3"]);
    assert_eq!(environment.block_devices[1].backing_file.as_deref(), Some("/var/lib/snapd/a b \n"));
    assert_eq!(say(&environment, "Disks"), None);
}

#[test]
fn hypervisors_are_told_apart() {
    let dmi = |vendor: &'static str, product: &'static str| {
        vec![("sys/class/dmi/id/sys_vendor", vendor), ("sys/class/dmi/id/product_name", product)]
    };
    for (model, is_guest, files, expected) in [
        ("AMD EPYC", true, vec![(CLOCKS, "tsc kvm-clock\n")], "kvm"),
        ("QEMU TCG CPU version 2.5+", true, dmi("QEMU", "Standard PC (Q35 + ICH9, 2009)"), "qemu (TCG)"),
        ("QEMU Virtual CPU version 2.5+", true, dmi("QEMU", "Standard PC"), "qemu (TCG)"),
        ("Intel Core Processor (Haswell)", true, dmi("QEMU", "Standard PC"), "qemu"),
        ("Intel(R) Xeon(R)", true, dmi("VMware, Inc.", "VMware Virtual Platform"), "vmware"),
        ("Intel(R) Xeon(R)", true, dmi("Microsoft Corporation", "Virtual Machine"), "microsoft"),
        ("Intel(R) Xeon(R)", true, dmi("Google", "Google Compute Engine"), "google"),
        ("Intel(R) Xeon(R)", true, dmi("innotek GmbH", "VirtualBox"), "virtualbox"),
        ("Intel(R) Xeon(R)", true, vec![], "unknown hypervisor"),
        ("Intel(R) Xeon(R)", false, dmi("Amazon EC2", "c5.metal"), "none"),
        (
            "Intel(R) Xeon(R)",
            false,
            vec![("sys/hypervisor/type", "xen\n"), ("proc/xen/capabilities", "control_d\n")],
            "none",
        ),
    ] {
        let (folder, root) = plant(&[("proc/cpuinfo", &x86(model, is_guest))]);
        add(&folder, &files);
        assert_eq!(snapshot_in(&root, &[]).virtualisation.hypervisor, expected, "{model} {files:?}");
    }
    let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
    for (product, expected) in [("m6g.large", "amazon"), ("m6g.metal", "none")] {
        let (folder, root) = plant(&[("proc/cpuinfo", arm)]);
        add(
            &folder,
            &[("sys/class/dmi/id/sys_vendor", "Amazon EC2"), ("sys/class/dmi/id/product_name", product)],
        );
        let environment = snapshot_in(&root, &[]);
        assert_eq!(environment.virtualisation.hypervisor, expected);
        assert_eq!(environment.cpu.model, "ARM Neoverse-N1");
    }
}

#[test]
fn containers_are_told_apart() {
    for (files, expected) in [
        (vec![], None),
        (vec![("proc/self/cgroup", "0::/user.slice\n"), ("proc/1/environ", "HOME=/\0TERM=linux\0")], None),
        (vec![(".dockerenv", "")], Some("docker")),
        (vec![("proc/self/cgroup", "4:memory:/docker/0123abc\n")], Some("docker")),
        (
            vec![("run/.containerenv", "engine=podman\n"), ("proc/1/environ", "container=oci\0")],
            Some("podman"),
        ),
        (vec![("proc/1/environ", "TERM=x\0container=lxc\0")], Some("lxc")),
        (vec![("proc/1/environ", "container=\0notcontainer=x\0")], None),
        (vec![("run/systemd/container", "systemd-nspawn\n")], Some("systemd-nspawn")),
        (vec![(".dockerenv", ""), ("proc/1/cgroup", "0::/kubepods.slice/pod1\n")], Some("kubernetes")),
        (vec![("proc/1/environ", "KUBERNETES_SERVICE_HOST=10.0.0.1\0")], Some("kubernetes")),
        (vec![("proc/vz/version", "")], Some("openvz")),
    ] {
        let (_folder, root) = plant(&files);
        let environment = snapshot_in(&root, &[]);
        assert_eq!(environment.virtualisation.container.as_deref(), expected, "{files:?}");
    }
}

#[test]
fn a_virtual_machine_made_of_a_container_image_is_no_container() {
    let (folder, root) = plant(&[(".dockerenv", "")]);
    let first = [
        ("proc/self/ns/ipc", "ipc:[4026531839]"),
        ("proc/self/ns/uts", "uts:[4026531838]"),
        ("proc/self/ns/pid", "pid:[4026531836]"),
    ];
    link(&folder, &first[..2]);
    assert!(snapshot_in(&root, &[]).virtualisation.container.is_some());
    link(&folder, &first[2..]);
    assert_eq!(snapshot_in(&root, &[]).virtualisation.container, None);
}

#[test]
fn limits_of_the_group_and_its_ancestors_are_listed() {
    let (_folder, root) = plant(&[
        ("proc/self/cgroup", "0::/pod/box\n"),
        ("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ("sys/devices/system/cpu/online", "0-3\n"),
        ("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/pod/box/memory.max", "1073741824\n"),
        ("sys/fs/cgroup/pod/box/io.max", "259:0 rbps=max wbps=1048576 riops=max wiops=max\n"),
        ("sys/fs/cgroup/pod/box/cpuset.cpus.effective", "0-1\n"),
        ("sys/fs/cgroup/pod/cpu.max", "50000 100000\n"),
        ("sys/fs/cgroup/pod/memory.max", "max\n"),
        ("sys/fs/cgroup/pod/cpuset.cpus.effective", "0-3\n"),
    ]);
    let cgroup = snapshot_in(&root, &[]).cgroup;
    assert_eq!(cgroup.mode, "v2");
    assert_eq!(cgroup.paths.get("").map(String::as_str), Some("/pod/box"));
    let limits: Vec<(&str, &str)> = cgroup.limits.iter().map(|(file, limit)| (&**file, &**limit)).collect();
    assert_eq!(
        limits,
        [
            ("../cpu.max", "50000 100000"),
            ("cpuset.cpus.effective", "0-1"),
            ("io.max", "259:0 rbps=max wbps=1048576 riops=max wiops=max"),
            ("memory.max", "1073741824"),
        ]
    );
}

#[test]
fn a_hybrid_system_has_paths_by_controller() {
    let (_folder, root) = plant(&[
        ("proc/self/cgroup", "4:memory:/m\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/u\n"),
        (
            "proc/self/mountinfo",
            "1 0 0:1 / /cg/memory rw - cgroup cgroup rw,memory\n2 0 0:2 / /cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
             3 0 0:3 / /cg/unified rw - cgroup2 cgroup2 rw\n",
        ),
        ("cg/memory/m/memory.limit_in_bytes", "9223372036854771712\n"),
        ("cg/memory/memory.limit_in_bytes", "1048576\n"),
        ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
        ("cg/cpu/cpu.cfs_period_us", "100000\n"),
    ]);
    let cgroup = snapshot_in(&root, &[]).cgroup;
    assert_eq!(cgroup.mode, "hybrid");
    assert_eq!(cgroup.paths["cpuacct"], "/");
    assert_eq!(cgroup.paths["name=systemd"], "/");
    assert_eq!(cgroup.limits.len(), 1, "{:?}", cgroup.limits);
    assert_eq!(cgroup.limits["../memory.limit_in_bytes"], "1048576");
}

#[test]
fn the_mount_table_is_decoded() {
    let (_folder, root) = plant(&[(
        "proc/self/mountinfo",
        "40 35 7:1 / /mnt/my\\040disk rw,noatime shared:1 - ext4 /dev/loop1 rw,barrier=0\n",
    )]);
    let mounts = snapshot_in(&root, &[]).mounts;
    assert_eq!(mounts[0].target, "/mnt/my disk");
    assert_eq!(mounts[0].options, "rw,noatime,barrier=0");
}

#[test]
fn an_empty_tree_is_a_snapshot_all_the_same() {
    let (_folder, root) = plant(&[]);
    let environment = snapshot_in(&root, &[ToolQuery::simple("no-such-tool-anywhere", "--version")]);
    assert_eq!(environment.schema, ENVIRONMENT_SCHEMA);
    assert_eq!(environment.tools["no-such-tool-anywhere"], None);
    assert_eq!(environment.cpu.model, "unknown");
    assert_eq!(environment.virtualisation.hypervisor, "none");
    assert!(!describe(&environment).is_empty());
}

#[test]
fn this_machine_is_described() {
    let environment = snapshot(&[ToolQuery::simple("sh", "--version")]);
    assert!(environment.cpu.logical > 0 && environment.memory.total_bytes > 0);
    assert!(!environment.kernel.release.is_empty() && !environment.mounts.is_empty());
    assert!(environment.tools["sh"].is_some());
    for (label, value) in describe(&environment) {
        assert!(!value.is_empty() && !value.contains('\n'), "{label}");
        eprintln!("{label:<15} {value}");
    }
}

#[test]
fn the_chosen_of_a_choice_is_picked() {
    for (choice, chosen) in [
        ("none [mq-deadline] kyber", Some("mq-deadline")),
        ("none\n", Some("none")),
        ("", None),
        ("a b", None),
    ] {
        assert_eq!(pick_chosen(choice).as_deref(), chosen);
    }
}

#[test]
fn lists_of_numbers_are_counted() {
    for (list, count) in
        [("0-3,8\n", Some(5)), ("0", Some(1)), ("", None), ("3-1", None), ("0-4294967295", None), ("a", None)]
    {
        assert_eq!(count_list(list), count, "{list}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_machine_makes_the_snapshot_panic(text in "(\\PC|\\n|:|,|-|=|\\[|\\]| |/|[0-9]){0,200}", bytes: Vec<u8>) {
        let (folder, root) = plant(&[]);
        for file in [
            "proc/cpuinfo", "proc/meminfo", "proc/cmdline", "proc/self/cgroup", "proc/self/mountinfo", "proc/1/environ",
            "proc/sys/kernel/osrelease", "proc/sys/vm/dirty_ratio", "etc/os-release", "sys/hypervisor/type", CLOCKS,
            "sys/class/dmi/id/product_name", "sys/devices/system/cpu/online", "sys/class/net/eth0/speed",
            "sys/class/block/sda/size", "sys/class/block/sda/queue/scheduler", "sys/class/block/sda/loop/backing_file",
            "sys/class/block/sda/device/vpd_pg80",
        ] {
            add(&folder, &[(file, &text)]);
        }
        let lines = describe(&snapshot_in(&root, &[]));
        prop_assert!(lines.iter().all(|(_, value)| !value.contains(char::is_control)));
        std::fs::write(folder.path().join("proc/self/mountinfo"), &bytes).unwrap();
        std::fs::write(folder.path().join("proc/cpuinfo"), &bytes).unwrap();
        describe(&snapshot_in(&root, &[]));
    }
}
