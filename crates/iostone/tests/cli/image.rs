//! `iostone image`: images through all formats and back, what is refused, and that nothing half made is left.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::support::{Bench, Said};

/// Whether a program is there, at its usual places.
fn has(program: &str) -> bool {
    ["/usr/bin", "/usr/sbin", "/sbin", "/usr/local/bin"]
        .iter()
        .any(|at| fs::exists(format!("{at}/{program}")).unwrap())
}

macro_rules! needs {
    ($($program:literal),+) => {
        $(if !has($program) {
            eprintln!("skipped: needs {}", $program);
            return;
        })+
    };
}

// Behind the macro that it uses.
mod doubtful;

/// A small ext4 filesystem in a file.
fn filesystem(bench: &Bench, name: &str) {
    let file = fs::File::create(bench.path(name)).unwrap();
    file.set_len(8 << 20).unwrap();
    let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(bench.path(name)).output().unwrap();
    assert!(made.status.success(), "{made:?}");
}

fn qemu_img(bench: &Bench, arguments: &[&str]) {
    let output = Command::new("qemu-img").args(arguments).current_dir(bench.path(".")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn assert_ran(said: &Said) {
    assert_eq!(said.code, Some(0), "{said:?}");
}

fn assert_refused(said: &Said, code: i32, words: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(said.stderr.contains(words), "{words}: {said:?}");
}

/// Nothing of a conversion but what it was to make.
fn assert_no_leftovers(bench: &Bench) {
    let names = fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = names.filter(|name| name.to_string_lossy().starts_with(".iostone")).collect();
    assert!(left.is_empty(), "{left:?}");
    bench.assert_undone();
}

#[test]
fn an_image_comes_back_from_all_formats_as_it_was() {
    needs!("qemu-img", "mkfs.ext4");
    let bench = Bench::new();
    filesystem(&bench, "disk.img");
    let steps: [&[&str]; 6] = [
        &["disk.img", "a.qcow2"],
        &["a.qcow2", "b.vmdk"],
        &["b.vmdk", "c.vmdk", "--subformat", "streamOptimized"],
        &["c.vmdk", "d.vhd", "--subformat", "fixed"],
        &["d.vhd", "e.vhd"],
        &["e.vhd", "f.vhdx"],
    ];
    for step in steps {
        let said = bench.iostone(&[&["image", "convert"], step].concat());
        assert_ran(&said);
        assert!(said.stdout.contains("ext4 filesystem"), "{said:?}");
        assert!(said.stdout.contains("8388608 identical bytes"), "{said:?}");
    }
    let said = bench.iostone(&["image", "convert", "f.vhdx", "back.raw", "--json"]);
    assert_ran(&said);
    assert_eq!(fs::read(bench.path("back.raw")).unwrap(), fs::read(bench.path("disk.img")).unwrap());
    let json: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    let digest = Sha256::digest(fs::read(bench.path("back.raw")).unwrap());
    let digest: Vec<String> = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(json["sha256"], digest.concat());
    assert_eq!(json["source"]["format"], "vhdx");
    assert_eq!(json["target"]["virtual_bytes"], 8 << 20);
    assert_no_leftovers(&bench);
}

#[test]
fn a_damaged_image_is_told_and_nothing_is_made_of_it() {
    needs!("qemu-img", "mkfs.ext4");
    let bench = Bench::new();
    filesystem(&bench, "disk.img");
    assert_ran(&bench.iostone(&["image", "convert", "disk.img", "a.qcow2"]));
    let whole = fs::metadata(bench.path("a.qcow2")).unwrap().len();
    fs::File::options().write(true).open(bench.path("a.qcow2")).unwrap().set_len(whole / 2).unwrap();
    assert_refused(&bench.iostone(&["image", "check", "a.qcow2"]), 1, "a.qcow2");
    assert_refused(&bench.iostone(&["image", "convert", "a.qcow2", "b.vmdk"]), 1, "a.qcow2");
    assert!(!bench.path("b.vmdk").exists());
    bench.write("short.qcow2", b"QFI\xfb\0\0\0\x03");
    assert_refused(&bench.iostone(&["image", "convert", "short.qcow2", "b.vmdk"]), 1, "short.qcow2");
    bench.write("odd.raw", [7; 1000]);
    assert_refused(
        &bench.iostone(&["image", "convert", "odd.raw", "b.vmdk"]),
        2,
        "multiple of the sector size",
    );
    assert_refused(&bench.iostone(&["image", "check", "odd.raw"]), 2, "multiple of the sector size");
    let said = bench.iostone(&["image", "info", "odd.raw"]);
    assert_ran(&said);
    assert!(said.stdout.contains("not a multiple of the sector size: 1000 bytes"), "{said:?}");
    bench.write("empty.raw", "");
    assert_refused(&bench.iostone(&["image", "convert", "empty.raw", "b.vmdk"]), 2, "is empty");
    assert_no_leftovers(&bench);
}

#[test]
fn what_an_image_names_outside_of_itself_is_not_read_unasked() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("secret", vec![b's'; 65536]);
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "-b", "secret", "-F", "raw", "trap.qcow2"]);
    let said = bench.iostone(&["image", "convert", "trap.qcow2", "out.raw"]);
    assert_refused(&said, 3, "names the backing file `secret`");
    assert!(!bench.path("out.raw").exists());
    assert_refused(&bench.iostone(&["image", "check", "trap.qcow2"]), 3, "--with-backing");
    // What it is can be told without any other file.
    let said = bench.iostone(&["image", "info", "trap.qcow2"]);
    assert_ran(&said);
    assert!(said.stdout.contains("the backing file `secret`"), "{said:?}");
    assert_ran(&bench.iostone(&["image", "convert", "trap.qcow2", "out.raw", "--with-backing"]));
    assert_eq!(fs::read(bench.path("out.raw")).unwrap(), vec![b's'; 65536]);

    bench.write("cover.vmdk", "# Disk DescriptorFile\nversion=1\nCID=1\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n\nRW 128 FLAT \"secret\" 0\n");
    assert_refused(&bench.iostone(&["image", "convert", "cover.vmdk", "x.raw"]), 3, "the extent `secret`");
    qemu_img(
        &bench,
        &["create", "-q", "-f", "qcow2", "-o", "data_file=data,data_file_raw=on", "split.qcow2", "1M"],
    );
    assert_refused(&bench.iostone(&["image", "convert", "split.qcow2", "x.raw"]), 3, "the data file `data`");
    assert_no_leftovers(&bench);
}

#[test]
fn a_raw_disk_that_begins_like_another_format_is_not_guessed_at() {
    needs!("qemu-img");
    let bench = Bench::new();
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "guest.img", "1M"]);
    let said = bench.iostone(&["image", "convert", "guest.img", "x.vhd"]);
    assert_refused(&said, 2, "`--from raw` or `--from qcow2`");
    let length = fs::metadata(bench.path("guest.img")).unwrap().len().next_multiple_of(512);
    fs::File::options().write(true).open(bench.path("guest.img")).unwrap().set_len(length).unwrap();
    assert_ran(&bench.iostone(&["image", "convert", "guest.img", "x.raw", "--from", "raw"]));
    assert_eq!(fs::metadata(bench.path("x.raw")).unwrap().len(), length);
    assert_ran(&bench.iostone(&["image", "convert", "guest.img", "y.raw", "--from", "qcow2"]));
    assert_eq!(fs::metadata(bench.path("y.raw")).unwrap().len(), 1 << 20);
    assert_refused(
        &bench.iostone(&["image", "convert", "y.raw", "z.raw", "--from", "vhdx"]),
        2,
        "is not vhdx",
    );
}

#[test]
fn no_name_is_an_option_or_a_protocol() {
    needs!("qemu-img");
    let bench = Bench::new();
    let names =
        ["-O.raw", "nbd:localhost:10809.raw", "a b, file.driver=x.raw", "quote\"'.raw", "json:{}.raw"];
    for name in names {
        bench.write(name, [5; 4096]);
        let target = format!("{name}.qcow2");
        assert_ran(&bench.iostone(&["image", "convert", "--", name, &target]));
        let back = format!("{target}.img");
        assert_ran(&bench.iostone(&["image", "convert", "--", &target, &back]));
        assert_eq!(fs::read(bench.path(&back)).unwrap(), [5; 4096], "{name}");
    }
    assert_refused(
        &bench.iostone(&["image", "convert", "--", "-O.raw", "a\nparentFileNameHint=x.vmdk"]),
        2,
        "control characters",
    );
}

#[test]
fn a_target_is_replaced_only_when_asked_and_never_the_source() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("a.raw", [1; 4096]);
    bench.write("b.raw", "old");
    assert_refused(&bench.iostone(&["image", "convert", "a.raw", "b.raw"]), 3, "`--force` to replace");
    assert_eq!(fs::read(bench.path("b.raw")).unwrap(), b"old");
    assert_ran(&bench.iostone(&["image", "convert", "a.raw", "b.raw", "--force"]));
    assert_eq!(fs::read(bench.path("b.raw")).unwrap(), [1; 4096]);
    let same = bench.iostone(&["image", "convert", "a.raw", "./a.raw", "--force"]);
    assert_refused(&same, 3, "the source itself");
    fs::hard_link(bench.path("a.raw"), bench.path("link.raw")).unwrap();
    let same = bench.iostone(&["image", "convert", "a.raw", "link.raw", "--force"]);
    assert_refused(&same, 3, "the source itself");
    std::os::unix::fs::symlink("nowhere", bench.path("symbolic.raw")).unwrap();
    let link = bench.iostone(&["image", "convert", "a.raw", "symbolic.raw", "--force"]);
    assert_refused(&link, 3, "not a regular file");
    assert_refused(
        &bench.iostone(&["image", "convert", "a.raw", "no/where.raw"]),
        2,
        "there is no directory",
    );
    assert_refused(&bench.iostone(&["image", "convert", "a.raw", "x.vdi"]), 2, "`--to`");
    let strange: std::ffi::OsString = std::os::unix::ffi::OsStringExt::from_vec(b"x\xff.raw".to_vec());
    let mut command = bench.command(&["image", "convert", "a.raw"]);
    let output = command.arg(&strange).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    fs::write(bench.path(".").join(&strange), [1; 512]).unwrap();
    let output = bench.command(&["image", "info", "--json"]).arg(&strange).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("next: rename it"), "{output:?}");
    let flat = bench.iostone(&["image", "convert", "a.raw", "x.vmdk", "--subformat", "monolithicFlat"]);
    assert_refused(&flat, 2, "streamOptimized");
    assert_refused(&bench.iostone(&["image", "convert", "gone.raw", "x.vmdk"]), 2, "gone.raw");
    assert_no_leftovers(&bench);
}

#[test]
fn azure_is_told_of_what_it_does_not_take() {
    needs!("qemu-img");
    let bench = Bench::new();
    bench.write("a.raw", [1; 4096]);
    let said = bench.iostone(&["image", "convert", "a.raw", "a.vhd"]);
    assert_ran(&said);
    assert!(said.stdout.contains("truncate --size 1048576"), "{said:?}");
    assert!(said.stdout.contains("--subformat fixed"), "{said:?}");
}

/// A conversion that a signal finds at work; none if it was through before.
fn interrupted(bench: &Bench, signal: libc::c_int) -> Option<std::process::ExitStatus> {
    let mut command =
        bench.command(&["image", "convert", "a.raw", "a.vmdk", "--subformat", "streamOptimized"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let is_at_work = || {
        let names = fs::read_dir(bench.path(".")).unwrap().map(|entry| entry.unwrap().path());
        names
            .filter(|path| path.to_string_lossy().contains(".iostone-image-"))
            .any(|path| path.join("a.vmdk").exists())
    };
    while child.try_wait().unwrap().is_none() && !is_at_work() {
        std::thread::sleep(Duration::from_millis(2));
    }
    if child.try_wait().unwrap().is_none() {
        // SAFETY: plain kill(2) of a child of this test that was not waited for.
        #[expect(unsafe_code, reason = "signalling a child")]
        unsafe {
            libc::kill(i32::try_from(child.id()).unwrap(), signal);
        }
    }
    let status = child.wait().unwrap();
    if status.success() {
        fs::remove_file(bench.path("a.vmdk")).unwrap();
        return None;
    }
    Some(status)
}

#[test]
fn an_interrupt_leaves_nothing_and_a_kill_is_told_and_undone() {
    needs!("qemu-img");
    let bench = Bench::new();
    let content: Vec<u8> = (0..48_u32 << 18).flat_map(u32::to_le_bytes).collect();
    bench.write("a.raw", content);
    let interrupted =
        |signal| (0..5).find_map(|_| interrupted(&bench, signal)).expect("no conversion was met at work");
    assert_eq!(interrupted(libc::SIGINT).code(), Some(130));
    assert!(!bench.path("a.vmdk").exists());
    assert_no_leftovers(&bench);

    assert_eq!(interrupted(libc::SIGKILL).signal(), Some(libc::SIGKILL));
    let said = bench.iostone(&["image", "check", "a.raw"]);
    assert_ran(&said);
    assert!(
        said.stderr.contains("a killed conversion left") && said.stderr.contains("`iostone cleanup`"),
        "{said:?}"
    );
    assert!(!bench.path("a.vmdk").exists());
    let said = bench.iostone(&["cleanup"]);
    assert_ran(&said);
    assert!(said.stdout.contains(".iostone-image-"), "{said:?}");
    assert_no_leftovers(&bench);
    assert!(bench.path("a.raw").exists());
}

#[test]
fn what_an_image_needs_is_never_its_target() {
    needs!("qemu-img");
    let bench = Bench::new();
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "base.qcow2", "1M"]);
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "-b", "base.qcow2", "-F", "qcow2", "middle.qcow2"]);
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "-b", "middle.qcow2", "-F", "qcow2", "top.qcow2"]);
    let before = fs::read(bench.path("base.qcow2")).unwrap();
    let convert = |source, target| {
        bench.iostone(&["image", "convert", source, target, "--with-backing", "--force", "--to", "qcow2"])
    };
    assert_refused(&convert("top.qcow2", "base.qcow2"), 3, "which the source needs");
    assert_refused(&convert("top.qcow2", "middle.qcow2"), 3, "which the source needs");
    assert_eq!(fs::read(bench.path("base.qcow2")).unwrap(), before);
    let said = convert("top.qcow2", "flat.qcow2");
    assert_ran(&said);
    assert!(said.stdout.contains("any of the 3 files"), "{said:?}");

    let data =
        ["create", "-q", "-f", "qcow2", "-o", "data_file=data.img,data_file_raw=on", "split.qcow2", "1M"];
    qemu_img(&bench, &data);
    assert_refused(&convert("split.qcow2", "data.img"), 3, "which the source needs");
    fs::write(bench.path("data.img"), vec![9; 1 << 20]).unwrap();
    assert_ran(&bench.iostone(&["image", "convert", "split.qcow2", "joined.raw", "--with-backing"]));
    assert!(fs::read(bench.path("joined.raw")).unwrap() == vec![9; 1 << 20]);
    bench.write("flat.bin", vec![4; 65536]);
    bench.write("cover.vmdk", "# Disk DescriptorFile\nversion=1\nCID=1\nparentCID=ffffffff\ncreateType=\"monolithicFlat\"\n# Extents\nRW 128 FLAT \"flat.bin\" 0\n");
    assert_refused(&convert("cover.vmdk", "flat.bin"), 3, "which the source needs");
    assert_ran(&bench.iostone(&["image", "convert", "cover.vmdk", "flat.raw", "--with-backing"]));
    assert!(fs::read(bench.path("flat.raw")).unwrap() == vec![4; 65536]);
    assert_no_leftovers(&bench);
}

#[test]
fn images_that_lie_below_themselves_are_told() {
    needs!("qemu-img");
    let bench = Bench::new();
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "b.qcow2", "1M"]);
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "-b", "b.qcow2", "-F", "qcow2", "a.qcow2"]);
    qemu_img(&bench, &["rebase", "-u", "-b", "a.qcow2", "-F", "qcow2", "b.qcow2"]);
    for command in [&["check", "a.qcow2"][..], &["convert", "a.qcow2", "c.raw"][..]] {
        let said = bench.iostone(&[&["image"], command, &["--with-backing"]].concat());
        assert_refused(&said, 2, "form a cycle");
    }
    qemu_img(&bench, &["rebase", "-u", "-b", "nbd:localhost:10809", "-F", "raw", "b.qcow2"]);
    let said = bench.iostone(&["image", "check", "a.qcow2", "--with-backing"]);
    assert_refused(&said, 2, "protocols are not followed");
}

/// A QEMU that holds an image open, ended whatever happens.
struct Machine(Child);

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn an_image_that_a_virtual_machine_holds_is_not_replaced() {
    needs!("qemu-img", "qemu-system-x86_64");
    let bench = Bench::new();
    bench.write("a.raw", [1; 4096]);
    qemu_img(&bench, &["create", "-q", "-f", "qcow2", "held.qcow2", "1M"]);
    let before = fs::read(bench.path("held.qcow2")).unwrap();
    let mut machine = Command::new("qemu-system-x86_64");
    machine.args(["-S", "-machine", "none", "-nodefaults", "-display", "none", "-blockdev"]);
    machine.arg("driver=qcow2,node-name=d,file.driver=file,file.filename=held.qcow2");
    machine.current_dir(bench.path(".")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut machine = Machine(machine.spawn().unwrap());
    let number = format!(":{} ", fs::metadata(bench.path("held.qcow2")).unwrap().ino());
    let is_held = || fs::read_to_string("/proc/locks").unwrap_or_default().contains(&number);
    for _ in 0..1000 {
        if is_held() {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    if !is_held() {
        eprintln!("skipped: qemu-system-x86_64 does not lock the image here");
        return;
    }
    assert!(machine.0.try_wait().unwrap().is_none());
    let said = bench.iostone(&["image", "convert", "a.raw", "held.qcow2", "--force"]);
    assert_refused(&said, 3, "in use by a virtual machine");
    assert_eq!(fs::read(bench.path("held.qcow2")).unwrap(), before);
    drop(machine);
    assert_ran(&bench.iostone(&["image", "convert", "a.raw", "held.qcow2", "--force"]));
}

/// A fixed VHD as `VirtualBox` writes it: the footer's size is right, its cylinders, heads and sectors come to less.
fn fixed_vhd(content: &[u8]) -> Vec<u8> {
    let mut footer = vec![0_u8; 512];
    footer[..8].copy_from_slice(b"conectix");
    footer[8..12].copy_from_slice(&2_u32.to_be_bytes());
    footer[12..16].copy_from_slice(&0x1_0000_u32.to_be_bytes());
    footer[16..24].copy_from_slice(&u64::MAX.to_be_bytes());
    footer[28..32].copy_from_slice(b"vbox");
    footer[32..36].copy_from_slice(&0x4_0000_u32.to_be_bytes());
    footer[36..40].copy_from_slice(b"Wi2k");
    footer[40..48].copy_from_slice(&(content.len() as u64).to_be_bytes());
    footer[48..56].copy_from_slice(&(content.len() as u64).to_be_bytes());
    footer[56..60].copy_from_slice(&[1, 45, 4, 17]);
    footer[60..64].copy_from_slice(&2_u32.to_be_bytes());
    let sum = !footer.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    footer[64..68].copy_from_slice(&sum.to_be_bytes());
    [content, &footer].concat()
}

#[test]
fn a_vhd_keeps_its_end_whoever_made_it() {
    needs!("qemu-img");
    let bench = Bench::new();
    let content = vec![7; 10 << 20];
    let vhd = fixed_vhd(&content);
    bench.write("box.vhd", &vhd);
    let said = bench.iostone(&["image", "convert", "box.vhd", "disk.raw"]);
    assert_ran(&said);
    assert!(said.stdout.contains("10485760 identical bytes"), "{said:?}");
    assert!(!said.stdout.contains("if it is not a raw disk"), "{said:?}");
    assert!(fs::read(bench.path("disk.raw")).unwrap() == content);
    bench.write("cut.vhd", [&vhd[..5 << 20], &vhd[10 << 20..]].concat());
    assert_refused(&bench.iostone(&["image", "convert", "cut.vhd", "cut.raw"]), 2, "but contains 5242880");
}

#[test]
fn a_private_image_stays_private() {
    needs!("qemu-img");
    let bench = Bench::new();
    let mode = |name: &str| fs::metadata(bench.path(name)).unwrap().mode() & 0o777;
    let set =
        |name: &str, mode| fs::set_permissions(bench.path(name), fs::Permissions::from_mode(mode)).unwrap();
    bench.write("a.raw", [1; 4096]);
    set("a.raw", 0o600);
    assert_ran(&bench.iostone(&["image", "convert", "a.raw", "b.qcow2"]));
    assert_eq!(mode("b.qcow2"), 0o600);
    set("a.raw", 0o644);
    assert_ran(&bench.iostone(&["image", "convert", "a.raw", "b.qcow2", "--force"]));
    assert_eq!(mode("b.qcow2"), 0o600);
    assert_ran(&bench.iostone(&["image", "convert", "a.raw", "c.qcow2"]));
    assert_eq!(mode("c.qcow2") & !0o644, 0);
}

/// A mount that is taken away whatever happens.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_target_without_room_is_refused_before_anything_is_written() {
    needs!("qemu-img");
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let bench = Bench::new();
    bench.write("a.raw", vec![1; 4 << 20]);
    let small = bench.path("small");
    fs::create_dir(&small).unwrap();
    let mount =
        Command::new("mount").args(["-t", "tmpfs", "-o", "size=1m", "none"]).arg(&small).status().unwrap();
    if !mount.success() {
        eprintln!("skipped: no tmpfs can be mounted here");
        return;
    }
    let mounted = Mounted(small);
    assert_refused(&bench.iostone(&["image", "convert", "a.raw", "small/a.qcow2"]), 2, "free space there");
    assert_eq!(fs::read_dir(&mounted.0).unwrap().count(), 0);
    // Zeros take no room, and looking at a disk takes none beside the target.
    fs::File::create(bench.path("zeros.raw")).unwrap().set_len(64 << 20).unwrap();
    assert_ran(&bench.iostone(&["image", "convert", "zeros.raw", "small/zeros.qcow2"]));
    let mount = Command::new("mount").args(["-o", "remount,ro"]).arg(&mounted.0).status().unwrap();
    assert!(mount.success());
    assert_refused(
        &bench.iostone(&["image", "convert", "zeros.raw", "small/b.qcow2"]),
        2,
        "next: choose another target",
    );
}

#[test]
fn a_missing_qemu_img_comes_with_the_command_that_brings_it() {
    if has("qemu-img") {
        eprintln!("skipped: qemu-img is found in the system's directories whatever PATH says");
        return;
    }
    let bench = Bench::new();
    bench.write("a.raw", [1; 4096]);
    assert_refused(&bench.iostone(&["image", "info", "a.raw"]), 2, "apt-get install qemu-utils");
}
