//! What is measured, and which ratios are wanted.

use crate::grounds::{Ground, Grounds};
use crate::tools::{Found, Tool};

/// One load, given to each tool in turn.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) ground: Ground,
    pub(crate) random: bool,
    pub(crate) direct: bool,
    pub(crate) block_bytes: u64,
    pub(crate) iodepth: u32,
    /// The peers, and the ratio to each that is wanted, where one is.
    pub(crate) peers: &'static [(Tool, Option<f64>)],
}

impl Case {
    /// Ours first, then the peers that are there.
    pub(crate) fn tools(&self, found: &Found) -> Vec<Tool> {
        let ours = if self.distinguishes_walks() {
            &[Tool::Iostone, Tool::IostoneAnywhere][..]
        } else {
            &[Tool::Iostone]
        };
        let peers = self.peers.iter().map(|(tool, _)| tool);
        ours.iter()
            .chain(peers)
            .copied()
            .filter(|tool| found.t_io_uring.is_some() || !tool.is_t_io_uring())
            .collect()
    }

    /// The ratio to `peer` that is wanted.
    pub(crate) fn wanted(&self, peer: Tool) -> Option<f64> {
        self.peers.iter().find(|(tool, _)| *tool == peer).and_then(|(_, wanted)| *wanted)
    }

    /// Whether it matters in what order blocks are read: only where the cost of memory shows, and most at depth.
    fn distinguishes_walks(&self) -> bool {
        self.random && self.ground == Ground::Cached && self.iodepth > 1
    }

    /// Which of ours is held against `peer`: the one that walks as it does.
    pub(crate) fn ours(&self, peer: Tool) -> Tool {
        let anywhere = matches!(peer, Tool::FioBest | Tool::TIoUring);
        if anywhere && self.distinguishes_walks() { Tool::IostoneAnywhere } else { Tool::Iostone }
    }

    /// Whether bytes are the natural figure, rather than I/Os.
    pub(crate) fn counts_bytes(&self) -> bool {
        self.block_bytes >= 1 << 20
    }
}

const AT_DEPTH: &[(Tool, Option<f64>)] =
    &[(Tool::FioDefault, Some(3.0)), (Tool::FioBest, Some(1.5)), (Tool::TIoUring, Some(0.95))];
const AT_DEPTH_ONE: &[(Tool, Option<f64>)] = &[
    (Tool::FioDefault, Some(2.0)),
    (Tool::FioPsync, None),
    (Tool::FioBest, Some(1.5)),
    (Tool::TIoUring, Some(0.95)),
];
const ON_DEV_ZERO: &[(Tool, Option<f64>)] = &[(Tool::FioDefault, Some(4.0)), (Tool::FioBest, Some(1.6))];
const ON_ZRAM: &[(Tool, Option<f64>)] =
    &[(Tool::FioDefault, Some(1.2)), (Tool::FioBest, Some(1.0)), (Tool::TIoUring, Some(0.97))];
const SEQUENTIAL: &[(Tool, Option<f64>)] =
    &[(Tool::FioDefault, Some(2.0)), (Tool::FioBest, Some(1.3)), (Tool::TIoUring, Some(1.1))];

fn random(name: &'static str, ground: Ground, iodepth: u32, peers: &'static [(Tool, Option<f64>)]) -> Case {
    let direct = ground == Ground::Zram;
    Case { name, ground, random: true, direct, block_bytes: 4096, iodepth, peers }
}

fn sequential(name: &'static str, ground: Ground) -> Case {
    Case { name, ground, random: false, direct: true, block_bytes: 1 << 20, iodepth: 8, peers: SEQUENTIAL }
}

/// The cases that can be run here, and why the others cannot.
pub(crate) fn choose(grounds: &Grounds, only: Option<&str>) -> (Vec<Case>, Vec<String>) {
    let all = [
        random("cached file, 4 KiB random reads, depth 1", Ground::Cached, 1, AT_DEPTH_ONE),
        random("cached file, 4 KiB random reads, depth 32", Ground::Cached, 32, AT_DEPTH),
        random("cached file, 4 KiB random reads, depth 128", Ground::Cached, 128, AT_DEPTH),
        random("/dev/zero, 4 KiB reads, depth 128", Ground::DevZero, 128, ON_DEV_ZERO),
        random("zram, 4 KiB random reads, depth 32", Ground::Zram, 32, ON_ZRAM),
        random("zram, 4 KiB random reads, depth 128", Ground::Zram, 128, ON_ZRAM),
        sequential("zram, 1 MiB sequential reads, depth 8", Ground::Zram),
        sequential("disk, 1 MiB sequential reads, depth 8", Ground::Disk),
    ];
    let wanted = all.into_iter().filter(|case| only.is_none_or(|part| case.name.contains(part)));
    let (there, missing): (Vec<Case>, Vec<Case>) =
        wanted.partition(|case| grounds.why_missing(case.ground).is_none());
    let skipped = missing.iter().map(|case| {
        format!("skipped: {}: {}", case.name, grounds.why_missing(case.ground).unwrap_or_default())
    });
    (there, skipped.collect())
}
