//! Several volumes over one instance in one group, on real devices: the kernel takes the limits of each, and gives them back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use iostone_model::experiment::Limits;
use iostone_model::units::ByteRate;

use super::{Bounds, DeviceLimits, ThrottleController, ThrottleGroup};
use crate::device::BlockDevice;

const VOLUME_BYTES: u64 = 32 << 20;

/// A loop device of the test's own, detached when dropped.
struct TestLoop(PathBuf);

impl TestLoop {
    fn new(below: &Path, offset: u64) -> Self {
        let output = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .args([format!("--offset={offset}"), format!("--sizelimit={}", 2 * VOLUME_BYTES - offset)])
            .arg(below)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Self(PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()))
    }

    fn limited(&self, megabytes: u64) -> DeviceLimits {
        let device = BlockDevice::at(&self.0).unwrap().unwrap();
        let throughput = Some(ByteRate(megabytes * 1_000_000));
        DeviceLimits {
            name: device.name,
            number: device.number,
            limits: Limits { throughput, ..Limits::default() },
            burst: None,
        }
    }
}

impl Drop for TestLoop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.0).status();
    }
}

/// A group of the test's own, removed when dropped; whoever is in it has left by then.
struct TestGroup(PathBuf);

impl Drop for TestGroup {
    fn drop(&mut self) {
        // What other tests of this process started meanwhile is in the group too, until it ends.
        let is_gone = || fs::remove_dir(&self.0).is_ok() || !self.0.exists();
        let _ = (0..200).any(|_| {
            is_gone() || {
                std::thread::sleep(Duration::from_millis(50));
                false
            }
        });
    }
}

#[test]
fn limits_of_two_volumes_and_their_instance_read_back() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("limits_of_two_volumes_and_their_instance_read_back skipped: needs root");
        return;
    }
    let controller = match ThrottleController::find() {
        Ok(found) if !found.must_be_handed_down => found,
        other => {
            eprintln!("limits_of_two_volumes_and_their_instance_read_back skipped: {other:?}");
            return;
        }
    };
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    let image = directory.path().join("image");
    fs::write(&image, vec![0x5a; 64 << 20]).unwrap();
    fs::File::open(&image).unwrap().sync_all().unwrap();
    let instance = TestLoop::new(&image, 0);
    let volumes = [TestLoop::new(&instance.0, VOLUME_BYTES), TestLoop::new(&instance.0, 0)];
    let path = controller.parent.join(format!("iostone-unit-{}", std::process::id()));
    fs::create_dir(&path).unwrap();
    let made = TestGroup(path.clone());
    let group = ThrottleGroup {
        version: controller.version,
        path,
        home: controller.home,
        devices: vec![volumes[0].limited(15), volumes[1].limited(40), instance.limited(20)],
    };
    group.write_limits().unwrap();
    for device in &group.devices {
        assert_eq!(group.read_limits(device.number).unwrap().0, device.caps());
    }
    // This process can go in and out; what it is held to there is measured through the session.
    let confinement = Bounds::of(Some(&group), None, false).unwrap().unwrap().enter().unwrap();
    confinement.leave().unwrap();
    drop(made);
    assert!(!group.path.exists());
}
