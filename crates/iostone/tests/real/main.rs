//! What needs guests, container engines, rates or minutes, through the binary: `make test-real`. They need root, and are
//! skipped by name without it, or without the program that they use.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop, and say where")]

#[path = "../common/attempts.rs"]
mod attempts;
mod barrier;
mod bonnie;
mod bursts;
mod contained;
mod container_experiments;
mod cpu_limits;
mod emulate;
mod emulated;
mod emulated_disk;
mod emulation_below;
mod engine_failures;
mod experiments;
mod exports;
mod filesystems;
mod fleet;
mod fleet_of_many;
mod governor;
mod guest;
mod guest_arrays;
mod guest_cpu;
mod guest_limits;
mod guest_nvme;
#[path = "../common/guests.rs"]
mod guests;
mod io;
#[path = "../common/lab.rs"]
mod lab;
mod limit;
mod live;
#[path = "../common/loop_disk.rs"]
mod loop_disk;
mod orion;
mod recipes;
mod serve;
#[path = "../common/ssh_hosts.rs"]
mod ssh_hosts;
mod swaps;
mod throttle;
#[path = "../common/tools.rs"]
mod tools;
