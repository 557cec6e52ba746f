//! Whole runs through the binary on real loop devices and filesystems: built, killed, resumed, undone. They need root, and
//! are skipped by name without it. What they leave behind is counted, not assumed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop, and say where")]

mod barrier;
mod crash;
mod dbench;
mod dd;
mod fio_tool;
mod guard;
mod io;
mod ioping;
#[path = "../common/lab.rs"]
mod lab;
#[path = "../common/loop_disk.rs"]
mod loop_disk;
mod picked;
mod prepared;
mod reboot;
mod remote;
mod settings;
mod sysbench;
#[path = "../common/tools.rs"]
mod tools;
mod volume;
