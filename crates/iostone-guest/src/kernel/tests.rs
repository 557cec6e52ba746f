//! How kernels are named, and what a file must be to be one.

use super::image::release_in;
use super::*;

fn image(version: &[u8]) -> Vec<u8> {
    let mut head = vec![0; 0x400];
    head[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    head[0x202..0x206].copy_from_slice(b"HdrS");
    head[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
    head[0x300..0x300 + version.len()].copy_from_slice(version);
    head
}

#[test]
fn the_release_is_the_first_word_of_the_header_s_version() {
    let head = image(b"6.1.0-50-cloud-amd64 (builder@host) #1 SMP\0");
    assert_eq!(release_in(&head).unwrap(), "6.1.0-50-cloud-amd64");
}

#[test]
fn what_is_no_kernel_is_refused_with_the_reason() {
    assert!(release_in(b"#!/bin/sh\n").unwrap_err().contains("0xAA55"));
    assert!(release_in(b"\x7fELF....").unwrap_err().contains("ELF"));
    let mut head = image(b"6.1\0");
    head[0x202] = b'X';
    assert!(release_in(&head).unwrap_err().contains("HdrS"));
    let mut head = image(b"6.1\0");
    head[0x20e..0x210].fill(0);
    assert!(release_in(&head).unwrap_err().contains("no version"));
    assert!(release_in(&image(b"\xff\xfe\0")).unwrap_err().contains("is not text"));
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("vmlinuz");
    std::fs::write(&file, "text").unwrap();
    let message = at_path(&file).unwrap_err().to_string();
    assert!(
        message.ends_with("is not a Linux kernel (it has no boot sector: 0xAA55 is not at 0x1FE)"),
        "{message}"
    );
    assert!(matches!(at_path(&directory.path().join("none")), Err(GuestError::Missing(_))));
}

#[test]
fn a_kernel_is_named_in_one_of_three_ways() {
    assert_eq!("host".parse::<KernelSpec>().unwrap(), KernelSpec::Host);
    let path = KernelSpec::Path(PathBuf::from("./bzImage"));
    assert_eq!("./bzImage".parse::<KernelSpec>().unwrap(), path);
    assert!(matches!("debian:6.1".parse::<KernelSpec>().unwrap(), KernelSpec::Debian(_)));
    let message = "6.1".parse::<KernelSpec>().unwrap_err().to_string();
    for form in ["a path", "`host`", "`debian:6.1`"] {
        assert!(message.contains(form), "{message}");
    }
}

#[test]
fn modules_that_the_user_names_are_taken() {
    let root = tempfile::tempdir().unwrap();
    let release = root.path().join("lib/modules/6.1");
    std::fs::create_dir_all(&release).unwrap();
    assert_eq!(modules_at(root.path(), "6.1").unwrap(), release);
    assert_eq!(modules_at(&release, "6.1").unwrap(), release);
    assert!(modules_at(&root.path().join("none"), "6.1").is_err());
}
