//! Modules: names, order, what lacks, and packed ones.

use super::information::Information;
use super::*;

/// A module as small as can be: an ELF header, a table of sections, and `.modinfo`.
fn module(information: &[u8]) -> Vec<u8> {
    const NAMES: &[u8] = b"\0.modinfo\0.shstrtab\0";
    let information_at = 64;
    let names_at = information_at + information.len();
    let table_at = (names_at + NAMES.len()).next_multiple_of(8);
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    // e_type relocatable, e_machine x86-64, e_version; no entry, no segments.
    file.extend([1, 0, 62, 0, 1, 0, 0, 0]);
    file.extend([0; 16]);
    file.extend((table_at as u64).to_le_bytes());
    // e_flags, e_ehsize, e_phentsize, e_phnum, e_shentsize, e_shnum, e_shstrndx.
    file.extend([0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 64, 0, 3, 0, 2, 0]);
    file.extend(information);
    file.extend(NAMES);
    file.resize(table_at + 64, 0);
    for (name, kind, at, length) in
        [(1u32, 1u32, information_at, information.len()), (10, 3, names_at, NAMES.len())]
    {
        file.extend(name.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend([0; 16]);
        file.extend((at as u64).to_le_bytes());
        file.extend((length as u64).to_le_bytes());
        file.extend([0; 8]);
        file.extend(1u64.to_le_bytes());
        file.extend([0; 8]);
    }
    file
}

/// A directory of modules: `(file, what it says of itself)`.
fn directory(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, information) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, module(information)).unwrap();
    }
    let built_in = "kernel/drivers/virtio/virtio.ko\nkernel/drivers/block/virtio-blk.ko\n";
    std::fs::write(directory.path().join("modules.builtin"), built_in).unwrap();
    directory
}

fn names(directory: &Path, wanted: &[&str]) -> Result<Vec<String>, GuestError> {
    let needs: Vec<ModuleNeed> = wanted.iter().map(|name| ModuleNeed::new(name, "the array")).collect();
    let order = Modules::open(directory, "6.1.0-1-cloud-amd64")?.load_order(&needs)?;
    Ok(order.into_iter().map(|module| module.name).collect())
}

const TREE: &[(&str, &[u8])] = &[
    ("kernel/fs/ext4/ext4.ko", b"softdep=pre: crc32c post: never\0depends=mbcache,jbd2\0"),
    ("kernel/fs/jbd2/jbd2.ko", b"depends=\0"),
    ("kernel/fs/mbcache.ko", b"license=GPL\0"),
    ("kernel/crypto/crc32c_generic.ko", b"depends=\0"),
    ("kernel/drivers/md/raid0.ko", b"depends=md-mod\0"),
    ("kernel/drivers/md/md-mod.ko", b"depends=\0"),
    ("kernel/drivers/md/one.ko", b"depends=two\0"),
    ("kernel/drivers/md/two.ko", b"depends=one\0"),
];

#[test]
fn a_module_comes_after_those_that_it_needs() {
    let tree = directory(TREE);
    assert_eq!(names(tree.path(), &["raid0", "md_mod"]).unwrap(), ["md_mod", "raid0"]);
    assert_eq!(names(tree.path(), &["ext4"]).unwrap(), ["mbcache", "jbd2", "crc32c_generic", "ext4"]);
}

#[test]
fn what_is_built_in_needs_no_loading() {
    let tree = directory(TREE);
    assert_eq!(names(tree.path(), &["virtio-blk", "virtio"]).unwrap(), [""; 0]);
}

#[test]
fn a_module_that_the_kernel_lacks_is_named_with_who_needs_it() {
    let tree = directory(TREE);
    let message = names(tree.path(), &["raid10"]).unwrap_err().to_string();
    let expected = "`raid10`, needed by the array, is not among the modules of 6.1.0-1-cloud-amd64";
    assert!(message.starts_with(expected), "{message}");
}

#[test]
fn modules_that_need_each_other_come_to_an_end() {
    let tree = directory(TREE);
    assert_eq!(names(tree.path(), &["one"]).unwrap(), ["two", "one"]);
}

#[test]
fn an_empty_directory_is_no_directory_of_modules() {
    let empty = tempfile::tempdir().unwrap();
    let message = names(empty.path(), &["loop"]).unwrap_err().to_string();
    assert!(message.starts_with("there are no modules in"), "{message}");
    assert!(message.contains("the array needs `loop`"), "{message}");
}

#[test]
fn a_module_of_another_kernel_is_refused_with_both_releases() {
    let tree = directory(&[
        ("own.ko", b"vermagic=6.1.0-1-cloud-amd64 SMP preempt mod_unload \0"),
        ("other.ko", b"vermagic=6.12.9-amd64 SMP preempt mod_unload \0"),
    ]);
    assert_eq!(names(tree.path(), &["own"]).unwrap(), ["own"]);
    let message = names(tree.path(), &["other"]).unwrap_err().to_string();
    assert!(message.contains("6.12.9-amd64") && message.contains("6.1.0-1-cloud-amd64"), "{message}");
}

#[test]
fn packed_modules_are_unpacked() {
    let directory = directory(TREE);
    let whole = module(b"depends=jbd2\0");
    let mut xz = Vec::new();
    lzma_rs::xz_compress(&mut whole.as_slice(), &mut xz).unwrap();
    let zstd =
        ruzstd::encoding::compress_to_vec(whole.as_slice(), ruzstd::encoding::CompressionLevel::Uncompressed);
    for (name, packed) in [("packed-x.ko.xz", xz), ("packed-z.ko.zst", zstd)] {
        std::fs::write(directory.path().join(name), packed).unwrap();
    }
    assert_eq!(names(directory.path(), &["packed_x", "packed_z"]).unwrap(), ["jbd2", "packed_x", "packed_z"]);
    std::fs::write(directory.path().join("packed-g.ko.gz"), "").unwrap();
    assert!(names(directory.path(), &["packed_g"]).unwrap_err().to_string().contains("gunzip"));
    std::fs::write(directory.path().join("packed-b.ko.xz"), "damaged").unwrap();
    assert!(
        names(directory.path(), &["packed_b"]).unwrap_err().to_string().contains("cannot be decompressed")
    );
}

#[test]
fn names_are_those_of_the_kernel() {
    assert_eq!(name_of(Path::new("a/virtio-blk.ko.zst")).as_deref(), Some("virtio_blk"));
    assert_eq!(name_of(Path::new("a/virtio.ko")).as_deref(), Some("virtio"));
    assert_eq!(name_of(Path::new("a/modules.order")), None);
    assert_eq!(name_of(Path::new("a/some.ko.debug")), None);
}

#[test]
fn only_what_is_to_come_before_is_a_condition() {
    let information =
        Information::parse(b"softdep=pre: crc32c libcrc32c post: dm-x\0depends=a-b,,c\0alias=x\0");
    assert_eq!(information.soft_depends, ["crc32c", "libcrc32c"]);
    assert_eq!(information.depends, ["a_b", "c"]);
}
