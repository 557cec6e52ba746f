//! The engine that does nothing: every request completes at once and in full, so that what is left is the cost of
//! the loop around it; fio's `null`.

use std::io;
use std::thread;
use std::time::Duration;

use super::{Completion, Engine, SYNC_TAG, SyncKind, Transfer};
use crate::arena::Arena;

/// Room for completions that is there from the beginning; a deeper queue grows it once.
const USUAL_DEPTH: usize = 256;

/// Completes whatever is queued when [`Engine::enter`] is called, without a look at memory or targets. It takes any
/// depth.
///
/// Blocks read keep what was in their memory before: there is nothing in them to verify.
#[derive(Debug)]
pub(crate) struct NullEngine<'a> {
    arena: &'a mut Arena,
    /// What has been asked for, in that order.
    asked: Vec<Completion>,
    /// How many of them, from the front, have completed.
    completed: usize,
}

impl<'a> NullEngine<'a> {
    /// An engine over memory that it never touches.
    pub(crate) fn new(arena: &'a mut Arena) -> Self {
        Self { arena, asked: Vec::with_capacity(USUAL_DEPTH), completed: 0 }
    }
}

impl Engine for NullEngine<'_> {
    #[inline]
    fn room(&mut self) -> usize {
        usize::MAX
    }

    #[inline]
    fn arena(&mut self) -> &mut Arena {
        self.arena
    }

    #[inline]
    fn queue(&mut self, transfer: Transfer) {
        // No request is longer than 1 GiB.
        let result = i32::try_from(transfer.request.length_bytes).unwrap_or(i32::MAX);
        self.asked.push(Completion { tag: transfer.slot, result });
    }

    fn queue_sync(&mut self, _target: u32, _kind: SyncKind) {
        self.asked.push(Completion { tag: SYNC_TAG, result: 0 });
    }

    /// Completes what is queued; with nothing there at all, sleeps for `at_most`.
    #[inline]
    fn enter(&mut self, _want: usize, at_most: Option<Duration>) -> io::Result<()> {
        self.completed = self.asked.len();
        if let (0, Some(pause)) = (self.completed, at_most) {
            thread::sleep(pause);
        }
        Ok(())
    }

    /// Does nothing: no transfer is ever short.
    fn write_rest(&mut self, _transfer: Transfer, _done_bytes: usize) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn arrived(&mut self) -> usize {
        self.completed
    }

    #[inline]
    fn reap(&mut self, each: impl FnMut(Completion)) {
        self.asked.drain(..self.completed).for_each(each);
        self.completed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Request;
    use iostone_model::load::Direction;

    fn reap(engine: &mut NullEngine) -> Vec<(u32, i32)> {
        let mut reaped = Vec::new();
        engine.reap(|completion| reaped.push((completion.tag, completion.result)));
        reaped
    }

    #[test]
    fn every_request_completes_at_once_and_in_full() {
        let mut arena = Arena::map(4, 4096, false).unwrap();
        let mut engine = NullEngine::new(&mut arena);
        for (slot, direction) in (0..).zip(Direction::ALL) {
            let place = engine.arena().place(slot, 0);
            let request = Request { direction, target: 9, offset_bytes: 1 << 50, length_bytes: 512 << slot };
            engine.queue(Transfer { slot, place, request });
        }
        engine.queue_sync(0, SyncKind::All);
        assert_eq!(engine.arrived(), 0);
        engine.enter(1, None).unwrap();
        assert_eq!(engine.arrived(), 4);
        assert_eq!(reap(&mut engine), [(0, 512), (1, 1024), (2, 2048), (SYNC_TAG, 0)]);
        assert_eq!(engine.arrived(), 0);
    }

    #[test]
    fn what_is_queued_after_entering_waits_for_the_next_time() {
        let mut arena = Arena::map(2, 512, false).unwrap();
        let mut engine = NullEngine::new(&mut arena);
        engine.queue_sync(0, SyncKind::Data);
        engine.enter(0, None).unwrap();
        engine.queue_sync(0, SyncKind::Data);
        assert_eq!(reap(&mut engine).len(), 1);
        assert_eq!(engine.arrived(), 0);
        engine.enter(0, Some(Duration::ZERO)).unwrap();
        assert_eq!(engine.arrived(), 1);
    }

    #[test]
    fn nothing_to_do_is_no_error() {
        let mut arena = Arena::map(1, 512, false).unwrap();
        let mut engine = NullEngine::new(&mut arena);
        engine.enter(0, Some(Duration::from_millis(1))).unwrap();
        engine.enter(0, None).unwrap();
        assert!(engine.room() > 0 && engine.arrived() == 0);
    }
}
