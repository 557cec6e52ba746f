//! In which mount options two levels differ, however they are spelt and whatever goes without saying.

use std::collections::{BTreeMap, BTreeSet};

use crate::experiment::stack::{default_of_all, is_shared, mount_default, mount_setting};

/// What one setting brings with it, by (name, value) and (name, value): mount(8) of `noatime`, btrfs(5) of `nodatacow`.
const IMPLIED: [[(&str, &str); 2]; 2] =
    [[("atime", "noatime"), ("nodiratime", "on")], [("datacow", "off"), ("datasum", "off")]];
/// The level of zlib's and zstd's compression where btrfs is told none (btrfs(5), "COMPRESSION").
const COMPRESSION_LEVEL: &str = ":3";

/// Settings, by (filesystem, name), that newer kernels or some devices have on without a word: btrfs(5), "discard"; the
/// `default_options` of `fs/f2fs/super.c`.
const OF_THE_KERNEL: [(&str, &str); 5] = [
    ("btrfs", "discard"),
    ("f2fs", "discard"),
    ("f2fs", "flush_merge"),
    ("f2fs", "checkpoint_merge"),
    ("f2fs", "gc_merge"),
];

/// Settings, by (filesystem, name, value), that a filesystem has no word for and never does otherwise.
const ALWAYS: [(&str, &str, &str); 1] = [("xfs", "barrier", "on")];

/// The settings in which two mounts differ, each side given as the kind of its filesystem and the options asked for. Between
/// filesystems of two kinds those that only one of them has belong to the filesystem, and so do their defaults.
pub(super) fn changed_options(sides: &[(String, Vec<String>); 2]) -> BTreeSet<String> {
    let [one, other] = sides.each_ref().map(|(filesystem, words)| asked(filesystem, words));
    let [(left, _), (right, _)] = sides;
    let is_other_kind = left != right;
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut changed: BTreeSet<String> = names
        .into_iter()
        .filter(|name| !is_other_kind || is_shared(name, left, right))
        .filter(|name| {
            let value = |own: &BTreeMap<String, String>, filesystem: &str| {
                own.get(*name).cloned().or_else(|| default(filesystem, name).map(str::to_owned))
            };
            value(&one, left) != value(&other, right)
        })
        .cloned()
        .collect();
    for [(name, value), (with, _)] in IMPLIED {
        let is_said = |own: &BTreeMap<String, String>| own.get(name).is_some_and(|own| own == value);
        if changed.contains(name) && (is_said(&one) || is_said(&other)) {
            changed.remove(with);
        }
    }
    changed.into_iter().map(|name| in_words(&name).to_owned()).collect()
}

/// What is asked for beside the defaults, and what that brings with it, each by its setting.
fn asked(filesystem: &str, words: &[String]) -> BTreeMap<String, String> {
    let mut asked: BTreeMap<String, String> = words.iter().map(|word| setting(word)).collect();
    for [(name, value), (with, has)] in IMPLIED {
        if asked.get(name).is_some_and(|own| own == value) {
            asked.insert(with.to_owned(), has.to_owned());
        }
    }
    asked.retain(|name, value| default(filesystem, name) != Some(value.as_str()));
    asked
}

/// What goes without saying; nothing where kernels differ in it, though none words it.
fn default(filesystem: &str, name: &str) -> Option<&'static str> {
    if OF_THE_KERNEL.contains(&(filesystem, name)) {
        return None;
    }
    let always = ALWAYS.iter().find(|(own, setting, _)| (*own, *setting) == (filesystem, name));
    let always = always.map(|(.., value)| *value);
    always.or_else(|| default_of_all(name)).or_else(|| mount_default(filesystem, name))
}

/// Compression is one setting, forced or not; its level is told even where it is the default.
fn setting(word: &str) -> (String, String) {
    let (name, value) = mount_setting(word);
    let level = |method: &str| match method {
        "zlib" | "zstd" => format!("{method}{COMPRESSION_LEVEL}"),
        other => other.to_owned(),
    };
    match name.as_str() {
        "compress" => (name, level(&value)),
        "compress-force" => ("compress".to_owned(), format!("forced {}", level(&value))),
        _ => (name, value),
    }
}

/// A setting as its option is called, without the `no` that some have in their own name.
fn in_words(name: &str) -> &str {
    match name {
        "nodiratime" | "nosuid" | "nodev" | "noexec" => name.get(2..).unwrap_or(name),
        other => other,
    }
}
