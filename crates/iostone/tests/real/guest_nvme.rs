//! The commands of NVMe against a controller that QEMU emulates, in a guest: it is not Amazon's, and must be called that.
//! They need root, QEMU and a kernel in the cache, and are skipped by name without.

use std::fs::File;
use std::path::Path;
use std::process::Output;

use crate::guests::{BootableKernel, PROGRAM, Place, needs_kernel, words};
use iostone_probe::nvme::admin::{Answer, identify_controller, log_page};
use iostone_probe::nvme::{STATISTICS_PAGE, parse_identity};

/// Runs a program of this host in a guest with an NVMe drive.
fn in_guest(place: &Place, kernel: &BootableKernel, program: &[&str]) -> Output {
    let image = kernel.image.display().to_string();
    let modules = kernel.modules.display().to_string();
    let mut arguments =
        vec!["guest", "run", "--kernel", &image, "--modules", &modules, "--nvme-drive", "16MiB"];
    // A debug build is carried twice.
    arguments.extend(["--memory", "1GiB", "--"]);
    arguments.extend(program);
    place.iostone(&arguments).output().unwrap()
}

#[test]
fn a_controller_of_another_maker_is_not_an_ebs_volume() {
    let kernel = needs_kernel!();
    let place = Place::new();
    for device in ["nvme0n1", "/dev/nvme0"] {
        let output = in_guest(&place, kernel, &[PROGRAM, "disk", "statistics", device]);
        let said = words(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("is not an EBS volume"), "{said}");
        assert!(said.contains("it is a `QEMU NVMe Ctrl` of vendor 0x1b36"), "{said}");
    }
    place.assert_nothing_left();
}

#[test]
fn the_controller_answers_each_command_as_it_should() {
    let kernel = needs_kernel!();
    let place = Place::new();
    let this = std::env::current_exe().unwrap().display().to_string();
    let output = in_guest(
        &place,
        kernel,
        &[&this, "--ignored", "--exact", "guest_nvme::inside_the_guest", "--nocapture"],
    );
    let said = words(&output);
    assert!(output.status.success() && said.contains("asked a controller"), "{said}");
    place.assert_nothing_left();
}

/// Not a test of this machine's: the one before runs it in a guest.
#[test]
#[ignore = "runs in the guest of the_controller_answers_each_command_as_it_should"]
fn inside_the_guest() {
    if !Path::new("/dev/nvme0").exists() {
        eprintln!("skipped: there is no NVMe controller");
        return;
    }
    for path in ["/dev/nvme0", "/dev/nvme0n1"] {
        let device = File::open(path).unwrap();
        let mut bytes = vec![0; 4096];
        assert_eq!(identify_controller(&device, &mut bytes).unwrap(), Answer::Done, "{path}");
        let identity = parse_identity(&bytes).unwrap();
        assert_eq!((identity.vendor, identity.serial.as_str()), (0x1B36, "iostone-n0"));
        // Health, which every controller has: the percentage of spare blocks is not zero.
        let mut health = vec![0; 512];
        assert_eq!(log_page(&device, 0x02, 0, &mut health).unwrap(), Answer::Done, "{path}");
        assert!(health.iter().any(|&byte| byte != 0));
        let mut page = vec![0; 4096];
        let answer = log_page(&device, STATISTICS_PAGE, 0, &mut page).unwrap();
        let Answer::Refused { status } = answer else { panic!("{path} has a page 0xD0") };
        eprintln!("asked a controller at {path} for page 0xD0: status {status:#06x}");
        assert!(page.iter().all(|&byte| byte == 0));
    }
}
