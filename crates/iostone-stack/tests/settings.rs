//! Settings of the kernel that exclude each other: whichever of a pair was in force is so again.
#![expect(clippy::unwrap_used, reason = "this is test code")]

use std::fs::{self, File};

use iostone_model::experiment::{DirectoryVolume, Stack, Sysctl, VmSettings, Volume};
use iostone_model::units::Bytes;
use rustix::fs::FlockOperation;

use crate::common::machine::{Machine, needs_root};

const RATIO: &str = "/proc/sys/vm/dirty_ratio";
const BYTES: &str = "/proc/sys/vm/dirty_bytes";

fn now() -> (String, String) {
    let read = |path: &str| fs::read_to_string(path).unwrap().trim().to_owned();
    (read(RATIO), read(BYTES))
}

/// Brings a pair about, whatever was before: only a change of one makes the other 0, and 0 is no size.
fn bring_about((ratio, bytes): &(String, String)) {
    fs::write(RATIO, "3").unwrap();
    fs::write(RATIO, "4").unwrap();
    let (path, value) = if bytes == "0" { (RATIO, ratio) } else { (BYTES, bytes) };
    fs::write(path, value).unwrap();
    assert_eq!(now(), (ratio.clone(), bytes.clone()));
}

struct Kept((String, String));

impl Drop for Kept {
    fn drop(&mut self) {
        bring_about(&self.0);
    }
}

#[test]
fn of_a_share_and_a_size_the_one_that_was_in_force_is_put_back() {
    if needs_root("of_a_share_and_a_size_the_one_that_was_in_force_is_put_back") {
        return;
    }
    // The settings are the machine's: one test, of whichever program, has them at a time.
    let alone = File::open("/proc/sys").unwrap();
    rustix::fs::flock(&alone, FlockOperation::LockExclusive).unwrap();
    let _kept = Kept(now());
    let machine = Machine::new();
    let mut session = machine.session();
    let share = |percent| VmSettings { dirty_ratio: Some(percent), ..VmSettings::default() };
    let size = VmSettings { dirty_bytes: Some(Bytes(32 << 20)), ..VmSettings::default() };
    let mut trial = 0;
    for (ratio, bytes) in [("20", "0"), ("0", "50331648"), ("0", "0")] {
        let before = (ratio.to_owned(), bytes.to_owned());
        bring_about(&before);
        for (vm, expected) in
            [(share(7), ("7", "0")), (share(0), ("0", "0")), (size.clone(), ("0", "33554432"))]
        {
            let stack = Stack {
                sysctl: Sysctl { vm },
                ..Stack::of(Volume::Directory(DirectoryVolume { path: None }))
            };
            trial += 1;
            let applied = session.apply(&stack, trial, 7).unwrap();
            assert_eq!(now(), (expected.0.to_owned(), expected.1.to_owned()), "from {before:?}");
            let checks: Vec<_> = applied.checks.iter().filter(|check| check.layer == "sysctl").collect();
            assert_eq!(checks.len(), 1, "{checks:?}");
            // Somebody changes it during the trial: that is an error, not a footnote.
            fs::write(RATIO, "11").unwrap();
            assert!(session.verify().unwrap_err().to_string().starts_with("sysctl: asked for"));
            session.undo().unwrap();
            assert_eq!(now(), before, "after {expected:?}");
        }
    }
    session.finish().unwrap();
    machine.assert_clean();
}
