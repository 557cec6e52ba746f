//! The shaped source: every option of a job that says what is done where.

use iostone_model::load::{Direction, RandomDistribution};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::branch;
use super::mix::Mix;
use super::rules::{Coverage, Rules};
use super::turns::Turns;
use super::walk::Walk;
use super::{Part, Request, Source};
use crate::job::{Job, ServiceOrder};

/// The source of any job: chooses a direction, a target, a place and a length, in this order.
///
/// Nothing is allocated per request, but for jobs whose last stride is cut short and whose blocks have several
/// sizes or lie in zones.
#[derive(Debug)]
pub(crate) struct Shaped {
    rules: Rules,
    mix: Mix,
    turns: Turns,
    /// One per target.
    walks: Vec<Walk>,
    run_length: u32,
    /// I/Os left before the next one goes to a fresh place.
    run_left: u32,
    rng: Xoshiro256PlusPlus,
}

impl Shaped {
    /// A source over `parts`, one per target in the order of the job: this thread's part of it. The job must have
    /// been checked. A job that the plain source can do gets the same requests from this one, given the same `rng`.
    pub(crate) fn new(job: &Job, parts: Vec<Part>, mut rng: Xoshiro256PlusPlus) -> Self {
        let rules = Rules::new(job);
        let is_endless = goes_on_by_itself(job, &rules, parts.len());
        // The first walk has the generator as it is, as a plain source would.
        let mut next = rng.clone();
        let mut own = branch(&mut rng);
        let walks = parts.into_iter().map(|part| {
            let rng = std::mem::replace(&mut next, branch(&mut own));
            Walk::new(&rules, part, is_endless, rng)
        });
        let walks: Vec<Walk> = walks.collect();
        let targets = u32::try_from(walks.len()).unwrap_or(u32::MAX);
        Self {
            mix: Mix::new(job),
            turns: Turns::new(&job.service, targets, &mut own),
            walks,
            run_length: job.walk.run_length.max(1),
            run_left: 0,
            rng: own,
            rules,
        }
    }

    /// Whether the next I/O goes to a fresh place. Runs are counted over all targets and directions, as in fio.
    #[inline]
    fn begin_run(&mut self) -> bool {
        let fresh = self.run_left == 0;
        self.run_left = if fresh { self.run_length } else { self.run_left } - 1;
        fresh
    }
}

impl Source for Shaped {
    /// Where blocks are discarded and then written, `wanted` changes nothing: the pair has an order (as in fio).
    #[inline]
    fn next(&mut self, wanted: Option<Direction>) -> Option<Request> {
        let direction = match self.mix {
            Mix::Pairs => None,
            _ => wanted.or_else(|| self.mix.draw(&mut self.rng)),
        };
        let fresh = self.begin_run();
        // Every target may be at the end of its pass, and then have nothing to give in the next one either.
        for _ in 0..=2 * self.walks.len() {
            let target = self.turns.take(&mut self.rng)?;
            let walk = &mut self.walks[target as usize];
            let block = match direction {
                Some(direction) => walk.advance(direction, fresh, &self.rules),
                None => walk.advance_pair(fresh, &self.rules),
            };
            if let Some(block) = block {
                return Some(Request {
                    direction: block.direction,
                    target,
                    offset_bytes: block.offset_bytes,
                    length_bytes: block.length_bytes,
                });
            }
            walk.restart(&self.rules);
            self.turns.finish();
        }
        None
    }
}

/// Whether walks begin again by themselves; else a target that is finished sits out until all are. As in fio, one
/// target is walked over again and again, and nobody waits for the others where targets are drawn by a skewed
/// distribution, or where a random job has no end but time or does not remember its visits.
fn goes_on_by_itself(job: &Job, rules: &Rules, targets: usize) -> bool {
    let only_time = job.runtime.is_some() && job.io_size.is_none() && job.ios.is_none();
    match &job.service.order {
        _ if targets == 1 => true,
        ServiceOrder::Sequential => false,
        ServiceOrder::Random(distribution) if *distribution != RandomDistribution::Random => true,
        _ => rules.is_random && (only_time || rules.coverage == Coverage::None),
    }
}

#[cfg(test)]
mod tests;
