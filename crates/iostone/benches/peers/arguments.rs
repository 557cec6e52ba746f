//! How much of the comparison is run.

use std::path::PathBuf;

use clap::Parser;

/// Fewer than these rounds make no median worth a page.
const LEAST_ROUNDS: u64 = 7;

/// Compares `iostone io` with fio and `t/io_uring` and writes `docs/benchmarks.md`
#[derive(Debug, Parser)]
pub(crate) struct Arguments {
    /// Rounds; each runs everything once
    #[arg(long, env = "PEERS_ROUNDS", default_value_t = LEAST_ROUNDS, value_parser = clap::value_parser!(u64).range(LEAST_ROUNDS..))]
    rounds: u64,
    /// Whole seconds that each tool runs
    #[arg(long, env = "PEERS_SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(2..=60))]
    seconds: u64,
    /// Two rounds and small targets: whether it works, not what comes out; writes no page
    #[arg(long)]
    pub(crate) quick: bool,
    /// Only the cases whose name contains this; writes no page
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Option<String>,
    /// Write the page here, however little was run
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What cargo passes to every benchmark
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    pub(crate) fn rounds(&self) -> u64 {
        if self.quick { 2 } else { self.rounds }
    }

    pub(crate) fn seconds(&self) -> u64 {
        self.seconds
    }

    /// Whether everything is run, so that the page may be replaced.
    pub(crate) fn is_whole(&self) -> bool {
        !self.quick && self.only.is_none()
    }
}
