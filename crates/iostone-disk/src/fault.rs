//! What goes wrong on purpose: errors on a range, and pauses in which nothing begins and nothing is answered.

use iostone_model::experiment::{ErrorFault, Fault, FaultyOperation};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::latency::{nanoseconds, unit_interval};
use crate::model::Operation;

/// A pause that comes again and again, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Stall {
    every_ns: u64,
    lasts_ns: u64,
}

/// The faults of one volume.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    errors: Vec<ErrorFault>,
    stalls: Vec<Stall>,
    /// The volume's first request, from which stalls count.
    first_ns: Option<u64>,
    /// A pause asked for by control: from, and until when.
    asked: Option<(u64, u64)>,
}

impl Faults {
    /// Those that a volume asks for.
    pub(crate) fn new(faults: &[Fault]) -> Self {
        let mut made = Self { errors: Vec::new(), stalls: Vec::new(), first_ns: None, asked: None };
        for fault in faults {
            match fault {
                Fault::Error(error) => made.errors.push(error.clone()),
                Fault::Stall(stall) => {
                    let (every_ns, lasts_ns) = (nanoseconds(stall.every), nanoseconds(stall.lasts));
                    // A stall that never ends would be a hung server, not a slow volume.
                    if lasts_ns < every_ns {
                        made.stalls.push(Stall { every_ns, lasts_ns });
                    }
                }
            }
        }
        made
    }

    /// Tells when the volume is used, of which the first time counts.
    pub(crate) fn note_request(&mut self, now_ns: u64) {
        self.first_ns.get_or_insert(now_ns);
    }

    /// Whether a request fails. Chance is asked only where a share, not all, of its range fails.
    pub(crate) fn strikes(
        &self,
        operation: Operation,
        offset: u64,
        length: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> bool {
        let end = offset.saturating_add(u64::from(length));
        self.errors.iter().any(|error| {
            concerns(error.on, operation)
                && (operation == Operation::Flush || overlaps(error, offset, end))
                && error.share.is_none_or(|share| share.0 >= 1.0 || unit_interval(random) < share.0)
        })
    }

    /// Nothing happens for so long from now on.
    pub(crate) fn stall(&mut self, now_ns: u64, lasts_ns: u64) {
        self.asked = Some((now_ns, now_ns.saturating_add(lasts_ns)));
    }

    /// The earliest time from `at_ns` on that lies in no pause.
    pub(crate) fn clear_of_stalls(&self, at_ns: u64) -> u64 {
        let mut clear_ns = at_ns;
        // Each round ends one pause; with several, the end of one may lie in the next.
        for _ in 0..=self.stalls.len() {
            let before_ns = clear_ns;
            if let Some((from_ns, until_ns)) = self.asked
                && (from_ns..until_ns).contains(&clear_ns)
            {
                clear_ns = until_ns;
            }
            if let Some(first_ns) = self.first_ns {
                for stall in &self.stalls {
                    clear_ns = stall.end_after(clear_ns, first_ns);
                }
            }
            if clear_ns == before_ns {
                break;
            }
        }
        clear_ns
    }
}

impl Stall {
    /// `at_ns`, or the end of the pause in which it lies. The first pause begins `every` after the first request.
    fn end_after(self, at_ns: u64, first_ns: u64) -> u64 {
        let used_ns = at_ns.saturating_sub(first_ns);
        let phase_ns = used_ns % self.every_ns.max(1);
        if used_ns >= self.every_ns && phase_ns < self.lasts_ns {
            return at_ns.saturating_add(self.lasts_ns - phase_ns);
        }
        at_ns
    }
}

fn concerns(on: Option<FaultyOperation>, operation: Operation) -> bool {
    match operation {
        Operation::Read => matches!(on, None | Some(FaultyOperation::Read)),
        Operation::Write | Operation::Discard => matches!(on, None | Some(FaultyOperation::Write)),
        Operation::Flush => on == Some(FaultyOperation::Flush),
    }
}

fn overlaps(error: &ErrorFault, offset: u64, end: u64) -> bool {
    let last = error.length.map_or(u64::MAX, |length| error.offset.0.saturating_add(length.0));
    offset < last && error.offset.0 < end
}

#[cfg(test)]
mod tests;
