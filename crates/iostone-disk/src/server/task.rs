//! A request on its way from arrival to answer, and the agenda of what is due when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::Operation;
use crate::protocol::Request;

/// Who is to be answered: a place in the list of connections, and a number that is never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClientId {
    pub(crate) place: usize,
    pub(crate) serial: u64,
}

/// A request that was admitted.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) client: ClientId,
    pub(crate) volume: usize,
    pub(crate) request: Request,
    pub(crate) operation: Operation,
    /// The payload of a write; the answer of a read, behind room for its head.
    pub(crate) bytes: Vec<u8>,
    /// Counted from the server's beginning, as the next two.
    pub(crate) arrived_ns: u64,
    /// When the volume begins with it.
    pub(crate) start_ns: u64,
    /// The earliest moment of the answer.
    pub(crate) not_before_ns: u64,
    /// The protocol's number, if it failed.
    pub(crate) error: Option<u32>,
    /// What its client is charged for it while it is on its way.
    pub(crate) held_bytes: usize,
    pub(crate) stage: Stage,
    /// How often the power of the volume had been cut when it arrived.
    pub(crate) cuts: u64,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Its turn has not come.
    Waiting,
    /// It is carried out, and not to be answered before its time.
    Done,
}

/// Tasks by the moment at which something is to be done about them; of the same moment the first that came is first.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    due: BinaryHeap<Reverse<(u64, u64, usize)>>,
    tasks: Vec<Option<Task>>,
    free: Vec<usize>,
    entered: u64,
}

impl Agenda {
    /// Keeps a task until that moment.
    pub(crate) fn enter(&mut self, at_ns: u64, task: Task) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(None);
            self.tasks.len() - 1
        });
        if let Some(room) = self.tasks.get_mut(place) {
            *room = Some(task);
        }
        self.due.push(Reverse((at_ns, self.entered, place)));
        self.entered += 1;
    }

    /// The moment at which the next task is due.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at_ns, ..))| *at_ns)
    }

    /// Takes everything of one volume, in the order in which it would have been due.
    pub(crate) fn take_all_of(&mut self, volume: usize) -> Vec<Task> {
        let mut taken = Vec::new();
        let mut due = std::mem::take(&mut self.due).into_vec();
        due.sort_unstable_by_key(|Reverse(key)| *key);
        for entry in due {
            let Reverse((_, _, place)) = entry;
            let room = self.tasks.get_mut(place);
            match room.and_then(|room| room.take_if(|task| task.volume == volume)) {
                Some(task) => {
                    self.free.push(place);
                    taken.push(task);
                }
                None => self.due.push(entry),
            }
        }
        taken
    }

    /// The next task if it is due.
    pub(crate) fn take_due(&mut self, now_ns: u64) -> Option<Task> {
        loop {
            if self.next_ns()? > now_ns {
                return None;
            }
            let Reverse((_, _, place)) = self.due.pop()?;
            self.free.push(place);
            if let Some(task) = self.tasks.get_mut(place).and_then(Option::take) {
                return Some(task);
            }
        }
    }
}
