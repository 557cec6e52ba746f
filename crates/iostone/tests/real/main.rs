//! Whole runs through the binary on real loop devices and filesystems. They need root, and are skipped by name
//! without it. What they leave behind is counted, not assumed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop, and say where")]

#[path = "../common/attempts.rs"]
mod attempts;
mod barrier;
mod bonnie;
mod bursts;
mod contained;
mod container_experiments;
mod cpu_limits;
mod crash;
mod dbench;
mod dd;
mod emulate;
mod emulated;
mod emulated_disk;
mod emulation_below;
mod engine_failures;
mod experiments;
mod filesystems;
mod fio_tool;
mod governor;
mod guard;
mod io;
mod ioping;
mod lab;
mod limit;
mod orion;
mod picked;
mod prepared;
mod reboot;
mod remote;
mod swaps;
mod sysbench;
mod throttle;
mod tools;
mod volume;
