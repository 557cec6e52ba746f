//! Each signature of the table and each living use of a device is refused, and not a byte is changed by looking.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::signatures::{Window, find, offsets};
use super::table::SIGNATURES;
use super::*;

const MIB: u64 = 1 << 20;
/// Not a multiple of 256 KiB or 64 KiB, so that rounding towards the end is tried too.
const SIZE_BYTES: u64 = 16 * MIB + 3 * 4096;

/// A loop device of the test's own.
struct Disk {
    directory: tempfile::TempDir,
    path: PathBuf,
}

impl Disk {
    /// None, with a word about it, without root.
    fn new(test: &str, size_bytes: u64) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("{test} skipped: needs root");
            return None;
        }
        let directory =
            tempfile::Builder::new().prefix("iostone-guard-test-").tempdir_in("/var/tmp").unwrap();
        let image = directory.path().join("disk.img");
        File::create(&image).unwrap().set_len(size_bytes).unwrap();
        let path = run("losetup", &["--find", "--show", "--partscan", image.to_str().unwrap()]);
        Some(Self { directory, path: PathBuf::from(path.trim()) })
    }

    fn node(&self) -> &str {
        self.path.to_str().unwrap()
    }

    fn write(&self, offset: u64, bytes: &[u8]) {
        let file = File::options().write(true).open(&self.path).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file.sync_all().unwrap();
    }

    fn image(&self) -> Vec<u8> {
        run("sync", &[]);
        fs::read(self.directory.path().join("disk.img")).unwrap()
    }

    fn refusal(&self) -> Refusal {
        let before = self.image();
        let refusal = refused(&self.path, &[]);
        assert!(self.image() == before, "looking changed a byte");
        refusal
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.path).status();
    }
}

fn refused(path: &Path, destroy: &[String]) -> Refusal {
    match inspect(path, &Allowance::early(destroy, &Leftovers::default())) {
        Err(StackError::Refused(refusal)) => *refusal,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("not refused"),
    }
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_signature_is_found_at_every_place() {
    let mut bytes = vec![0; usize::try_from(SIZE_BYTES).unwrap()];
    assert_eq!(find(&Window::of(&bytes)), None);
    for signature in SIGNATURES {
        for offset in offsets(signature, SIZE_BYTES) {
            for magic in signature.magics {
                let start = usize::try_from(offset).unwrap();
                let place = start..start + magic.len();
                bytes[place.clone()].copy_from_slice(magic);
                let found = find(&Window::of(&bytes));
                assert!(found.is_some(), "{} at {offset}", signature.name);
                bytes[place].fill(0);
            }
        }
    }
}

#[test]
fn a_device_smaller_than_the_window_is_looked_at_as_a_whole() {
    let mut bytes = vec![0; 64 * 1024];
    assert_eq!(find(&Window::of(&bytes)), None);
    bytes[510..512].copy_from_slice(b"\x55\xaa");
    assert!(find(&Window::of(&bytes)).unwrap().is_partition_table);
}

#[test]
fn every_signature_is_refused_on_a_real_device_without_changing_a_byte() {
    let Some(disk) = Disk::new("every_signature_is_refused_on_a_real_device", SIZE_BYTES) else { return };
    assert!(
        inspect(&disk.path, &Allowance::early(&[], &Leftovers::default())).is_ok(),
        "an empty disk passes"
    );
    for signature in SIGNATURES {
        let all = offsets(signature, SIZE_BYTES);
        // Every offset is tried in memory above; here the first and the last.
        for offset in [all[0], all[all.len() - 1]] {
            let magic = signature.magics[0];
            disk.write(offset, magic);
            let refusal = disk.refusal();
            assert!(
                matches!(refusal.reason, RefusalReason::Signature | RefusalReason::Partitioned),
                "{}: {refusal}",
                signature.name
            );
            assert!(refusal.destroy.is_some() && !refusal.loses.is_empty() && !refusal.next.is_empty());
            disk.write(offset, &vec![0; magic.len()]);
        }
    }
    assert!(inspect(&disk.path, &Allowance::early(&[], &Leftovers::default())).is_ok());
}

#[test]
fn a_filesystem_is_refused_with_its_names_and_given_up_by_identity() {
    let Some(disk) = Disk::new("a_filesystem_is_refused_with_its_names", 16 * MIB) else { return };
    let uuid = "01234567-89ab-4def-8123-456789abcdef";
    run("mkfs.ext4", &["-F", "-q", "-L", "precious", "-U", uuid, disk.node()]);
    let refusal = disk.refusal();
    assert_eq!(refusal.reason, RefusalReason::Signature);
    assert!(refusal.loses[0].contains("label `precious`") && refusal.loses[0].contains(uuid), "{refusal}");
    assert!(refusal.identity.contains("disk.img, 16 MiB"), "{refusal}");
    assert!(refusal.next.iter().any(|next| next.contains("wipefs --all /dev/loop")), "{refusal}");
    let word = refusal.destroy.clone().unwrap();
    for wrong in ["", "yes", disk.node(), &word[..word.len() - 1]] {
        assert_eq!(refused(&disk.path, &[wrong.to_owned()]).reason, RefusalReason::Signature);
    }
    let guarded =
        inspect(&disk.path, &Allowance::early(std::slice::from_ref(&word), &Leftovers::default())).unwrap();
    assert!(guarded.notes.iter().any(|note| note.contains("precious")), "{:?}", guarded.notes);
    // Named or not: what is alive is never given up.
    let target = disk.directory.path().join("mount");
    fs::create_dir(&target).unwrap();
    run("mount", &[disk.node(), target.to_str().unwrap()]);
    let mounted = refused(&disk.path, &[word]);
    run("umount", &[target.to_str().unwrap()]);
    assert_eq!((mounted.reason, &mounted.destroy), (RefusalReason::Mounted, &None), "{mounted}");
    assert!(mounted.next[0].contains(&format!("umount {}", target.display())), "{mounted}");
}

#[test]
fn a_disk_with_partitions_is_refused_and_so_is_a_mounted_partition_of_it() {
    let Some(disk) = Disk::new("a_disk_with_partitions_is_refused", 32 * MIB) else { return };
    // One partition from sector 2048, 16 MiB long, in a boot sector of our own.
    let mut sector = [0u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&32768u32.to_le_bytes());
    sector[510..].copy_from_slice(b"\x55\xaa");
    disk.write(0, &sector);
    assert_eq!(disk.refusal().reason, RefusalReason::Partitioned);
    // The kernel may have been built without DOS partition tables, so it is told by hand.
    let partition = PathBuf::from(format!("{}p1", disk.node()));
    if !partition.exists() {
        run("addpart", &[disk.node(), "1", "2048", "32768"]);
    }
    let refusal = disk.refusal();
    assert_eq!(refusal.reason, RefusalReason::Partitioned);
    assert!(refusal.loses[0].contains("p1 (16 MiB)"), "{refusal}");
    run("mkfs.ext4", &["-F", "-q", partition.to_str().unwrap()]);
    let target = disk.directory.path().join("mount");
    fs::create_dir(&target).unwrap();
    run("mount", &[partition.to_str().unwrap(), target.to_str().unwrap()]);
    let (whole, part) = (disk.refusal(), refused(&partition, &[]));
    run("umount", &[target.to_str().unwrap()]);
    assert_eq!((whole.reason, part.reason), (RefusalReason::Mounted, RefusalReason::Mounted));
    assert!(whole.because.contains("p1 on loop"), "{whole}");
    assert_eq!(refused(&partition, &[]).reason, RefusalReason::Signature);
    run("delpart", &[disk.node(), "1"]);
}

#[test]
fn swap_is_refused() {
    let Some(disk) = Disk::new("swap_is_refused", 16 * MIB) else { return };
    run("mkswap", &[disk.node()]);
    assert_eq!(disk.refusal().reason, RefusalReason::Signature);
    if !Command::new("swapon").arg(&disk.path).status().is_ok_and(|status| status.success()) {
        eprintln!("swap_is_refused skipped in part: this kernel takes no swap here");
        return;
    }
    let refusal = refused(&disk.path, &[]);
    run("swapoff", &[disk.node()]);
    assert_eq!(refusal.reason, RefusalReason::Swap);
    assert_eq!(refusal.next[0], format!("`swapoff {}`", disk.node()));
}

#[test]
fn every_member_of_a_mounted_btrfs_is_refused() {
    let test = "every_member_of_a_mounted_btrfs_is_refused";
    let (Some(one), Some(two)) = (Disk::new(test, 128 * MIB), Disk::new(test, 128 * MIB)) else { return };
    if iostone_probe::programs::find_program("mkfs.btrfs").is_none() {
        eprintln!("{test} skipped: needs `mkfs.btrfs`");
        return;
    }
    run("mkfs.btrfs", &["--force", "--quiet", "--data", "raid0", one.node(), two.node()]);
    let target = one.directory.path().join("mount");
    fs::create_dir(&target).unwrap();
    run("mount", &[one.node(), target.to_str().unwrap()]);
    let refusals = [refused(&one.path, &[]), refused(&two.path, &[])];
    run("umount", &[target.to_str().unwrap()]);
    for refusal in refusals {
        assert_eq!(refusal.reason, RefusalReason::Mounted, "{refusal}");
    }
    assert_eq!(two.refusal().reason, RefusalReason::Signature);
    // btrfs remembers the members until it is told to forget.
    let _ = Command::new("btrfs").args(["device", "scan", "--forget", one.node(), two.node()]).status();
}

#[test]
fn a_loop_device_on_a_device_holds_it() {
    let Some(disk) = Disk::new("a_loop_device_on_a_device_holds_it", 16 * MIB) else { return };
    let upper = run("losetup", &["--find", "--show", disk.node()]);
    let refusal = refused(&disk.path, &[]);
    run("losetup", &["--detach", upper.trim()]);
    assert_eq!(refusal.reason, RefusalReason::Held);
    assert_eq!(refusal.next[0], format!("`losetup --detach {}`", upper.trim()));
}

#[test]
fn a_device_in_somebodys_hands_is_refused() {
    let Some(disk) = Disk::new("a_device_in_somebodys_hands_is_refused", 16 * MIB) else { return };
    {
        use std::os::unix::fs::OpenOptionsExt;
        let _exclusive = File::options().read(true).custom_flags(libc::O_EXCL).open(&disk.path).unwrap();
        assert_eq!(refused(&disk.path, &[]).reason, RefusalReason::Open);
    }
    let redirect = format!("exec sleep 1000 3<>{}", disk.node());
    let mut writer = Command::new("sh").args(["-c", &redirect]).spawn().unwrap();
    while !crate::occupants::openers_of_device(BlockDevice::at(&disk.path).unwrap().unwrap().number)
        .iter()
        .any(|opener| opener.command == "sleep")
    {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let refusal = refused(&disk.path, &[]);
    writer.kill().unwrap();
    writer.wait().unwrap();
    assert_eq!(refusal.reason, RefusalReason::Open);
    assert!(refusal.because.contains(&writer.id().to_string()), "{refusal}");
}

#[test]
fn a_claimed_device_is_refused_to_others() {
    let Some(disk) = Disk::new("a_claimed_device_is_refused_to_others", 16 * MIB) else { return };
    let guarded = inspect(&disk.path, &Allowance::early(&[], &Leftovers::default())).unwrap();
    let claimed = claim(&guarded).unwrap();
    assert_eq!(refused(&disk.path, &[]).reason, RefusalReason::Claimed);
    assert!(matches!(claim(&guarded), Err(StackError::Refused(_))));
    let claims = BTreeMap::from([(guarded.device().number, claimed)]);
    assert!(
        inspect(
            &disk.path,
            &Allowance { destroy: &[], claims: &claims, leftovers: &Leftovers::default(), early: false }
        )
        .is_ok()
    );
    drop(claims);
    assert!(inspect(&disk.path, &Allowance::early(&[], &Leftovers::default())).is_ok());
}

#[test]
fn a_read_only_a_tiny_and_no_device_are_refused() {
    let Some(disk) = Disk::new("a_read_only_a_tiny_and_no_device_are_refused", 16 * MIB) else { return };
    run("blockdev", &["--setro", disk.node()]);
    let refusal = refused(&disk.path, &[]);
    // The kernel keeps this with the number, for whoever attaches something there next.
    run("blockdev", &["--setrw", disk.node()]);
    assert_eq!(refusal.reason, RefusalReason::ReadOnly);
    let tiny = Disk::new("a_read_only_a_tiny_and_no_device_are_refused", MIB).unwrap();
    assert_eq!(tiny.refusal().reason, RefusalReason::TooSmall);
    assert_eq!(refused(Path::new("/dev/null"), &[]).reason, RefusalReason::NotABlockDevice);
    assert!(matches!(
        inspect(Path::new("/dev/no-such-disk"), &Allowance::early(&[], &Leftovers::default())),
        Err(StackError::Usage { .. })
    ));
}

#[test]
fn the_disk_of_the_root_filesystem_is_refused() {
    let disks = crate::below::disks_under_path(Path::new("/")).unwrap();
    let Some(disk) = disks.first() else {
        eprintln!("the_disk_of_the_root_filesystem_is_refused skipped: no disk is known under `/`");
        return;
    };
    let refusal = refused(&Path::new("/dev").join(&disk.name), &[]);
    assert_eq!((refusal.reason, refusal.destroy), (RefusalReason::Root, None));
}
