//! The order of requests: known sequences, passes, and what is true of every job. Where a test says "as fio does", its
//! sequence is what fio 3.33 wrote with `write_iolog` for the same options.

mod any_job;
mod orders;
mod passes;

use super::*;
use crate::job::{Service, Strides};
use iostone_model::load::{BlockRange, BlockSizes, Rw};
use iostone_model::units::Bytes;
use rand_xoshiro::rand_core::SeedableRng;

const KIB: u64 = 1024;

fn rng(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn job(rw: Rw, change: impl FnOnce(&mut Job)) -> Job {
    let mut job = Job::new("/nowhere", rw);
    change(&mut job);
    job
}

/// A source over parts of these lengths, all from the start of their targets.
fn source(job: &Job, lengths: &[u64]) -> Shaped {
    let parts = lengths.iter().map(|length| Part { offset_bytes: 0, length_bytes: *length });
    Shaped::new(job, parts.collect(), rng(1))
}

fn take(source: &mut Shaped, count: usize) -> Vec<Request> {
    (0..count).map_while(|_| source.next(None)).collect()
}

/// Offsets in KiB.
fn places(requests: &[Request]) -> Vec<u64> {
    requests.iter().map(|request| request.offset_bytes / KIB).collect()
}

fn range(min: u64, max: u64) -> BlockSizes {
    BlockSizes::Range(BlockRange { min: Bytes(min), max: Bytes(max) })
}
