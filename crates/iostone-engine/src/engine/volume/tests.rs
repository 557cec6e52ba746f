//! Requests to a volume against an engine beneath that is played by the test.

use std::collections::HashMap;

use super::*;
use crate::job::Volume;
use iostone_model::units::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;

const CHUNK: u32 = 512;

/// What the engine beneath was asked for: member, offset, length, and from where in memory.
type Asked = (u32, u64, u32, usize);

/// Takes `room` requests before it is entered, and completes them then, the latest first.
struct Beneath {
    arena: Arena,
    room: usize,
    queued: Vec<(u32, u32)>,
    completed: Vec<Completion>,
    asked: Vec<Asked>,
    syncs: Vec<u32>,
    /// Results of the nth request, where they are not success.
    results: HashMap<usize, i32>,
    /// What writing the rest of a short write gives.
    rest: Option<i32>,
    rests: Vec<(Asked, usize)>,
    entered: u32,
    /// Completes this many each time it is entered.
    per_enter: usize,
}

impl Beneath {
    fn new(room: usize, iodepth: u32, block_bytes: u32) -> Self {
        Self {
            arena: Arena::map(iodepth, block_bytes, false).unwrap(),
            room,
            queued: Vec::new(),
            completed: Vec::new(),
            asked: Vec::new(),
            syncs: Vec::new(),
            results: HashMap::new(),
            rest: None,
            rests: Vec::new(),
            entered: 0,
            per_enter: usize::MAX,
        }
    }

    fn describe(&self, transfer: Transfer) -> Asked {
        let Request { target, offset_bytes, length_bytes, .. } = transfer.request;
        let start =
            self.arena.address(transfer.place).addr() - self.arena.address(self.arena.place(0, 0)).addr();
        (target, offset_bytes, length_bytes, start)
    }

    fn queue_result(&mut self, tag: u32, success: u32) {
        assert!(self.queued.len() < self.room, "there is no room");
        self.queued.push((tag, success));
    }
}

impl Engine for Beneath {
    fn room(&mut self) -> usize {
        self.room - self.queued.len()
    }

    fn arena(&mut self) -> &mut Arena {
        &mut self.arena
    }

    fn queue(&mut self, transfer: Transfer) {
        self.asked.push(self.describe(transfer));
        self.queue_result(transfer.slot, transfer.request.length_bytes);
    }

    fn queue_sync(&mut self, target: u32, _kind: SyncKind) {
        self.syncs.push(target);
        self.queue_result(SYNC_TAG, 0);
    }

    fn enter(&mut self, want: usize, _at_most: Option<Duration>) -> io::Result<()> {
        assert!(want <= self.queued.len(), "waits for {want} of {} in flight", self.queued.len());
        self.entered += 1;
        for _ in 0..self.per_enter.max(want) {
            let Some((tag, success)) = self.queued.pop() else { break };
            let number = self.asked.len() + self.syncs.len() - self.queued.len() - 1;
            let result = self.results.get(&number).copied().unwrap_or(success.cast_signed());
            self.completed.push(Completion { tag, result });
        }
        Ok(())
    }

    fn write_rest(&mut self, transfer: Transfer, done_bytes: usize) -> io::Result<()> {
        let asked = self.describe(transfer);
        self.rests.push((asked, done_bytes));
        self.rest.map_or(Ok(()), |errno| Err(io::Error::from_raw_os_error(errno)))
    }

    fn arrived(&mut self) -> usize {
        self.completed.len()
    }

    fn reap(&mut self, each: impl FnMut(Completion)) {
        self.completed.drain(..).for_each(each);
    }
}

/// Three members of 8 chunks each.
fn map() -> VolumeMap {
    VolumeMap::new(Volume::Raid0 { chunk: Bytes(CHUNK.into()) }, &[8 * u64::from(CHUNK); 3])
}

fn transfer(
    engine: &mut impl Engine,
    slot: u32,
    direction: Direction,
    offset_bytes: u64,
    length_bytes: u32,
) -> Transfer {
    let place = engine.arena().place(slot, 0);
    Transfer { slot, place, request: Request { direction, target: 0, offset_bytes, length_bytes } }
}

fn reaped(engine: &mut impl Engine) -> Vec<(u32, i32)> {
    let mut all = Vec::new();
    if engine.arrived() > 0 {
        engine.reap(|completion| all.push((completion.tag, completion.result)));
    }
    all.sort_unstable();
    all
}

/// One request of three chunks and a half, whose pieces give `results`; what it gives, and what is to blame.
fn one(direction: Direction, results: &[(usize, i32)], rest: Option<i32>) -> (i32, (Request, u32), Beneath) {
    let map = map();
    let mut beneath = Beneath::new(1, 1, 4096);
    beneath.results = results.iter().copied().collect();
    beneath.rest = rest;
    let mut engine = VolumeEngine::new(&mut beneath, &map, 1, 5, false);
    let transfer = transfer(&mut engine, 0, direction, 256, 1792);
    engine.queue(transfer);
    let mut result = Vec::new();
    while result.is_empty() {
        engine.enter(1, None).unwrap();
        result = reaped(&mut engine);
    }
    assert_eq!(result.len(), 1);
    let blamed = engine.blame(transfer, result[0].1.max(0).unsigned_abs());
    (result[0].1, blamed, beneath)
}

#[test]
fn pieces_go_to_their_members_from_their_part_of_the_memory() {
    let (result, _, beneath) = one(Direction::Read, &[], None);
    assert_eq!(result, 1792);
    assert_eq!(beneath.asked, [(0, 256, 256, 0), (1, 0, 512, 256), (2, 0, 512, 768), (0, 512, 512, 1280)]);
    assert_eq!(beneath.entered, 4);
}

#[test]
fn the_first_error_wins_and_the_others_are_waited_for() {
    let (result, (request, _), beneath) = one(Direction::Read, &[(1, -libc::EIO), (2, -libc::ENODATA)], None);
    assert_eq!((result, beneath.asked.len()), (-libc::EIO, 4));
    assert_eq!((request.target, request.offset_bytes, request.length_bytes), (1, 0, 512));
}

#[test]
fn an_error_weighs_more_than_a_short_read() {
    let (result, (request, _), _) = one(Direction::Read, &[(0, 100), (2, -libc::EIO)], None);
    assert_eq!((result, request.target, request.offset_bytes), (-libc::EIO, 2, 0));
}

#[test]
fn a_short_read_gives_what_was_read_and_says_where() {
    let (result, (request, done_bytes), _) = one(Direction::Read, &[(1, 100)], None);
    assert_eq!(result, 1792 - 412);
    assert_eq!((request.target, request.length_bytes, done_bytes), (1, 512, 100));
}

#[test]
fn a_short_write_is_completed_on_its_member() {
    let (result, _, beneath) = one(Direction::Write, &[(1, 100), (3, 0)], None);
    assert_eq!(result, 1792);
    assert_eq!(beneath.rests, [((1, 0, 512, 256), 100), ((0, 512, 512, 1280), 0)]);
}

#[test]
fn a_short_write_that_cannot_be_completed_fails_with_what_is_in_the_way() {
    let (result, (request, _), _) = one(Direction::Write, &[(1, 100)], Some(libc::ENOSPC));
    assert_eq!((result, request.target), (-libc::ENOSPC, 1));
    // Refused for its alignment only: what cut it short is not known.
    let (result, (request, done_bytes), _) = one(Direction::Write, &[(1, 100)], Some(libc::EINVAL));
    assert_eq!((result, request.target, done_bytes), (1792 - 412, 1, 100));
}

#[test]
fn a_piece_that_was_interrupted_is_tried_again_and_the_driver_hears_of_it() {
    let (result, _, beneath) =
        one(Direction::Write, &[(1, -libc::EINTR), (2, -libc::EAGAIN), (4, -libc::EAGAIN)], None);
    assert_eq!((result, beneath.asked.len()), (1792, 7));
    let map = map();
    let mut beneath = Beneath::new(8, 1, 4096);
    beneath.results = HashMap::from([(0, -libc::EAGAIN)]);
    let mut engine = VolumeEngine::new(&mut beneath, &map, 1, 5, true);
    let refused = transfer(&mut engine, 0, Direction::Read, 0, 512);
    engine.queue(refused);
    engine.enter(1, None).unwrap();
    assert_eq!(reaped(&mut engine), [(0, -libc::EAGAIN)]);
}

#[test]
fn a_sync_is_one_of_every_member() {
    for (room, failing) in [(1, None), (2, Some(1)), (64, None)] {
        let map = map();
        let mut beneath = Beneath::new(room, 1, 4096);
        beneath.results.extend(failing.map(|number| (number, -libc::EIO)));
        let mut engine = VolumeEngine::new(&mut beneath, &map, 1, 5, false);
        engine.queue_sync(0, SyncKind::Data);
        engine.enter(1, None).unwrap();
        let result = if failing.is_some() { -libc::EIO } else { 0 };
        assert_eq!(reaped(&mut engine), [(SYNC_TAG, result)]);
        assert_eq!(beneath.syncs, [0, 1, 2]);
    }
}

#[test]
fn with_nothing_in_flight_it_does_not_wait() {
    let map = map();
    let mut beneath = Beneath::new(4, 1, 4096);
    let mut engine = VolumeEngine::new(&mut beneath, &map, 1, 5, false);
    engine.enter(0, Some(Duration::from_millis(1))).unwrap();
    assert_eq!((engine.arrived(), beneath.entered), (0, 1));
}

proptest! {
    /// Whatever completes beneath in whatever order, each request completes once, with all its bytes.
    #[test]
    fn each_request_completes_once(
        requests in vec((0u64..11_000, 1u32..4096), 1..60),
        room in 1usize..20,
        per_enter in 1usize..9,
        want in 1usize..5,
    ) {
        let map = map();
        let mut beneath = Beneath::new(room, 4, 4096);
        beneath.per_enter = per_enter;
        let mut engine = VolumeEngine::new(&mut beneath, &map, 4, 9, false);
        let mut free = vec![0, 1, 2, 3];
        let mut lengths = [0; 4];
        let mut left = requests.iter();
        let mut done = 0;
        while done < requests.len() {
            while let Some(slot) = free.pop() {
                let Some((offset, length)) = left.next() else { break };
                let length = u64::from(*length).min(map.length_bytes() - offset);
                lengths[slot as usize] = i32::try_from(length).unwrap();
                let transfer = transfer(&mut engine, slot, Direction::Read, *offset, u32::try_from(length).unwrap());
                engine.queue(transfer);
            }
            let in_flight = requests.len() - done - left.len();
            engine.enter(want.min(in_flight), None).unwrap();
            let reaped = reaped(&mut engine);
            prop_assert!(reaped.len() >= want.min(in_flight));
            for (slot, result) in reaped {
                prop_assert_eq!(result, lengths[slot as usize]);
                prop_assert!(!free.contains(&slot));
                free.push(slot);
                done += 1;
            }
        }
        prop_assert_eq!(engine.fewest_left(), 1);
        prop_assert!(engine.is_idle() && left.next().is_none());
        let asked: u64 = beneath.asked.iter().map(|(_, _, length, _)| u64::from(*length)).sum();
        let wanted: u64 = requests.iter().map(|(at, length)| u64::from(*length).min(map.length_bytes() - at)).sum();
        prop_assert_eq!(asked, wanted);
    }
}
