//! One element of `jobs` in fio's results: a job, or the jobs of a group that are reported as one.

use std::collections::BTreeMap;
use std::time::Duration;

use iostone_engine::Outcome;

use iostone_model::load::Direction;

use super::figures::{Flow, whole};
use super::merge::merge_outcomes;
use super::session::{Reported, Session, Unified};

/// A job, or several as one.
#[derive(Debug)]
pub(super) struct Entry<'a> {
    /// The name and all that is the group's come from its first job, as in fio.
    pub(super) first: &'a Reported<'a>,
    /// Options and percentiles come from its last job, as in fio.
    pub(super) last: &'a Reported<'a>,
    /// How many jobs it is of.
    pub(super) members: usize,
    /// Reads, writes, discards.
    pub(super) flows: [Flow; 3],
    /// What all did together.
    pub(super) outcome: Outcome,
    /// Time in the measured window, of all threads together.
    pub(super) thread_time: Duration,
    /// The first error of any of the jobs, 0 if there was none.
    pub(super) errno: u32,
}

impl<'a> Entry<'a> {
    fn of(members: &[&'a Reported<'a>]) -> Option<Self> {
        let (first, last) = (*members.first()?, *members.last()?);
        let flows = Direction::ALL.map(|direction| {
            let mut sum = Flow::of(first, direction);
            for member in members.iter().skip(1) {
                sum.add(&Flow::of(member, direction));
            }
            sum
        });
        let outcomes: Vec<&Outcome> = members.iter().map(|member| member.outcome).collect();
        Some(Self {
            first,
            last,
            members: members.len(),
            flows,
            outcome: merge_outcomes(&outcomes)?,
            thread_time: members.iter().map(|member| member.outcome.elapsed.0 * member.outcome.threads).sum(),
            errno: members
                .iter()
                .map(|member| errno_of(member.outcome))
                .find(|errno| *errno != 0)
                .unwrap_or(0),
        })
    }

    /// Reads, writes and discards as one; what fio calls mixed.
    pub(super) fn mixed(&self) -> Flow {
        let mut sum = Flow::default();
        for flow in &self.flows {
            sum.add(flow);
        }
        sum
    }

    /// What stands in the place of reads, writes and discards.
    pub(super) fn shown_flows(&self) -> Vec<Flow> {
        match self.first.unified {
            Unified::Mixed => vec![self.mixed(), Flow::default(), Flow::default()],
            Unified::Separate | Unified::Both => self.flows.to_vec(),
        }
    }

    /// A share of the threads' time, in percent.
    pub(super) fn percent_of_time(&self, time: Duration) -> f64 {
        if self.thread_time.is_zero() {
            0.0
        } else {
            100.0 * time.as_secs_f64() / self.thread_time.as_secs_f64()
        }
    }
}

/// The errno that fio would end with: of the first failure, or EILSEQ where verifying found something else than it
/// should; 0 when all went well.
fn errno_of(outcome: &Outcome) -> u32 {
    match &outcome.error {
        // The kernel gave no reason for a short transfer.
        Some(fault) if fault.errno == 0 => EIO,
        Some(fault) => fault.errno.unsigned_abs(),
        None if outcome.succeeded() => 0,
        None => EILSEQ,
    }
}

/// errno(3).
const EIO: u32 = 5;
/// errno(3): what fio reports for a block that does not verify.
const EILSEQ: u32 = 84;

/// The elements of `jobs`: grouped jobs that follow each other within a group are one.
pub(super) fn entries<'a>(session: &'a Session<'a>) -> Vec<Entry<'a>> {
    let mut sets: Vec<Vec<&Reported<'_>>> = Vec::new();
    for job in &session.jobs {
        let joins = |set: &&mut Vec<&Reported<'_>>| {
            set.last().is_some_and(|last| last.is_grouped && job.is_grouped && last.group == job.group)
        };
        match sets.last_mut().filter(joins) {
            Some(set) => set.push(job),
            None => sets.push(vec![job]),
        }
    }
    sets.iter().filter_map(|set| Entry::of(set)).collect()
}

/// Bytes per second of each group and direction: all that its jobs moved, over the longest of their times. What
/// `bw_agg` is a share of.
pub(super) fn group_rates(entries: &[Entry<'_>]) -> BTreeMap<u32, [f64; 3]> {
    let mut sums: BTreeMap<u32, [(u64, u64); 3]> = BTreeMap::new();
    for entry in entries {
        let sum = sums.entry(entry.first.group).or_default();
        for ((bytes, longest_ms), flow) in sum.iter_mut().zip(entry.shown_flows()) {
            *bytes += flow.bytes;
            *longest_ms = (*longest_ms).max(flow.runtime_ms());
        }
    }
    let rate = |(bytes, longest_ms): (u64, u64)| match longest_ms {
        0 => 0.0,
        longest_ms => (bytes as f64 * 1000.0 / longest_ms as f64).floor(),
    };
    sums.into_iter().map(|(group, sum)| (group, sum.map(rate))).collect()
}

/// fio's `bw_agg`: the mean of the samples in percent of the group's rate, 100 at most.
pub(super) fn percent_of_group(flow: &Flow, group_bytes_per_second: f64) -> f64 {
    if flow.bandwidth.count == 0 {
        return 0.0;
    }
    if group_bytes_per_second <= 1024.0 {
        return 100.0;
    }
    (whole(flow.bandwidth.mean) as f64 * 100.0 / (group_bytes_per_second / 1024.0)).min(100.0)
}
