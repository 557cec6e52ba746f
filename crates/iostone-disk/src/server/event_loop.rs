//! The one loop for all volumes and clients: it takes requests in, begins each when its time comes, and answers.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::Volume;
use super::buffers::Buffers;
use super::connection::Connection;
use super::destager::Destager;
use super::input::Arrival;
use super::socket::Socket;
use super::steering::{Steered, Steerers};
use super::task::{Agenda, ClientId, Stage, Task};
use super::timer::{Clock, Timer};
use super::workers::Workers;
use crate::error::DiskError;
use crate::model::{LinkState, Operation};
use crate::plan::DiskPlan;
use crate::protocol::{Command, EIO, REPLY_BYTES, Request, encode_reply, error_number};

/// What epoll reports: one of these in the upper half, a place in a list in the lower.
mod source {
    pub(super) const TIMER: u64 = 0;
    pub(super) const BELL: u64 = 1;
    pub(super) const VOLUME: u64 = 2;
    pub(super) const CLIENT: u64 = 3;
    pub(super) const CONTROL: u64 = 4;
    pub(super) const STEERER: u64 = 5;
}

/// The stop flag is looked at as often.
const IDLE: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// What is due so soon is waited for without sleeping, as waking takes as long; so the timer rings that much earlier.
const SPIN_NS: u64 = 15_000;
/// So many clients at once; more are hung up on.
const MOST_CLIENTS: usize = 256;
const MOST_EVENTS: usize = 128;
/// As much is gathered before it is sent while requests are still being taken in.
const SEND_BYTES: usize = 512 << 10;
/// A request without bytes is charged as much to its client.
const LEAST_HELD_BYTES: usize = 512;

/// Everything that is served.
#[derive(Debug)]
pub(crate) struct EventLoop {
    epoll: OwnedFd,
    clock: Clock,
    timer: Timer,
    agenda: Agenda,
    buffers: Buffers,
    link: LinkState,
    clients: Vec<Option<Box<Connection>>>,
    serial: u64,
    /// Clients that were answered since they were last seen to.
    touched: Vec<usize>,
    steerers: Steerers,
    volumes: Vec<Volume>,
    destager: Destager,
    workers: Workers,
}

impl EventLoop {
    pub(crate) fn new(
        volumes: Vec<Volume>,
        control: Socket,
        plan: &DiskPlan,
        workers: usize,
    ) -> Result<Self, DiskError> {
        let begin = |errno: Errno| DiskError::event_loop("begin")(errno);
        let clock = Clock::start();
        let devices = volumes.iter().map(|volume: &Volume| Arc::clone(&volume.device));
        let event_loop = Self {
            epoll: epoll::create(CreateFlags::CLOEXEC).map_err(begin)?,
            clock,
            timer: Timer::new().map_err(begin)?,
            agenda: Agenda::default(),
            buffers: Buffers::new(),
            link: LinkState::new(plan.link),
            clients: Vec::new(),
            serial: 0,
            touched: Vec::new(),
            steerers: Steerers::new(control),
            destager: Destager::start(devices, clock).map_err(DiskError::event_loop("start threads"))?,
            volumes,
            workers: Workers::start(workers).map_err(DiskError::event_loop("start threads"))?,
        };
        let edge = EventFlags::IN | EventFlags::ET;
        event_loop.watch(event_loop.timer.descriptor(), source::TIMER, 0, edge)?;
        event_loop.watch(event_loop.workers.bell(), source::BELL, 0, EventFlags::IN)?;
        event_loop.watch(&event_loop.steerers.socket.listener, source::CONTROL, 0, EventFlags::IN)?;
        for (place, volume) in event_loop.volumes.iter().enumerate() {
            event_loop.watch(&volume.socket.listener, source::VOLUME, place, EventFlags::IN)?;
        }
        Ok(event_loop)
    }

    fn watch(&self, what: impl AsFd, kind: u64, place: usize, flags: EventFlags) -> Result<(), DiskError> {
        epoll::add(&self.epoll, what, token(kind, place), flags)
            .map_err(DiskError::event_loop("watch a socket"))
    }

    /// Serves until the flag is raised or control ends it.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Result<(), DiskError> {
        let mut events = Vec::with_capacity(MOST_EVENTS);
        while !stop.load(Ordering::Relaxed) && !self.steerers.is_ended() {
            let now_ns = self.clock.now_ns();
            let timeout = match self.agenda.next_ns() {
                Some(at_ns) if at_ns <= now_ns.saturating_add(SPIN_NS) => AT_ONCE,
                Some(at_ns) => {
                    self.timer
                        .arm(at_ns - SPIN_NS, now_ns)
                        .map_err(DiskError::event_loop("set its timer"))?;
                    IDLE
                }
                None => IDLE,
            };
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(DiskError::event_loop("wait")(errno)),
            }
            self.do_what_is_due();
            for event in &events {
                let (kind, place) = of_token(event.data);
                match kind {
                    source::BELL => self.take_done(),
                    source::VOLUME => self.accept(place),
                    source::CLIENT => self.serve_client(place, event.flags),
                    source::CONTROL => self.accept_steerer(),
                    source::STEERER => self.steer(place),
                    _ => {}
                }
            }
            self.do_what_is_due();
            self.settle_touched();
        }
        self.end()
    }

    fn end(mut self) -> Result<(), DiskError> {
        self.clients.clear();
        let Self { volumes, destager, workers, .. } = self;
        // What threads are at is finished before the media are synced.
        drop((destager, workers));
        let mut ended = Ok(());
        for volume in &volumes {
            let name = std::path::Path::new(&volume.export.name);
            let closed = volume.device.close(volume.state.is_powered());
            ended = ended.and(closed.map_err(DiskError::store("sync", name)));
        }
        ended
    }

    fn accept(&mut self, volume: usize) {
        loop {
            let Some(socket) = self.volumes.get(volume).map(|volume| &volume.socket) else { return };
            // Whatever keeps one client from coming in does not concern the others.
            let Ok((stream, _)) = socket.listener.accept() else { return };
            if self.clients.iter().flatten().count() >= MOST_CLIENTS || stream.set_nonblocking(true).is_err()
            {
                continue;
            }
            self.serial += 1;
            let place = self.clients.iter().position(Option::is_none).unwrap_or(self.clients.len());
            let id = ClientId { place, serial: self.serial };
            if self.watch(&stream, source::CLIENT, place, EventFlags::IN).is_err() {
                continue;
            }
            let connection = Box::new(Connection::new(id, volume, stream));
            match self.clients.get_mut(place) {
                Some(room) => *room = Some(connection),
                None => self.clients.push(Some(connection)),
            }
            self.settle(place);
        }
    }

    fn serve_client(&mut self, place: usize, flags: EventFlags) {
        let Some(client) = self.clients.get_mut(place).and_then(Option::as_deref_mut) else { return };
        let is_there = !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR)
            || client.read().unwrap_or(false);
        // A client that only waits to be closed says with HUP that it did not wait.
        let is_lost = flags.contains(EventFlags::HUP) && !client.interest().contains(EventFlags::IN);
        if is_there && !is_lost {
            self.settle(place);
        } else {
            self.close(place);
        }
    }

    /// Takes in what a client sent as far as there is room, sends what there is, and watches it for what is missing.
    fn settle(&mut self, place: usize) {
        let Some(mut client) = self.clients.get_mut(place).and_then(Option::take) else { return };
        client.is_touched = false;
        let is_there = self.take_in(&mut client);
        let flags = client.interest();
        let mut is_watched = true;
        if is_there && flags != client.watched {
            let token = token(source::CLIENT, place);
            is_watched = epoll::modify(&self.epoll, &client.stream, token, flags).is_ok();
            client.watched = flags;
        }
        if is_there
            && is_watched
            && !client.is_over()
            && let Some(room) = self.clients.get_mut(place)
        {
            *room = Some(client);
        } else {
            self.part_with(&client);
        }
    }

    /// False once the client is gone, or has to go.
    fn take_in(&mut self, client: &mut Connection) -> bool {
        let now_ns = self.clock.now_ns();
        loop {
            let Some(volume) = self.volumes.get(client.volume) else { return false };
            match client.next(&volume.export, &mut self.buffers) {
                Arrival::Request(request, payload) => self.admit(client, request, payload, now_ns),
                Arrival::Refused(request, error) => {
                    client.output.push_head(&encode_reply(error, request.cookie), &mut self.buffers);
                }
                Arrival::Lost => return false,
                Arrival::Nothing => {
                    if client.output.send(&client.stream, &mut self.buffers).is_err() {
                        return false;
                    }
                    // Sending may have made room for what is there already.
                    if !client.has_room() || !client.has_more() {
                        return true;
                    }
                }
            }
            if client.output.queued_bytes() >= SEND_BYTES
                && client.output.send(&client.stream, &mut self.buffers).is_err()
            {
                return false;
            }
        }
    }

    fn admit(&mut self, client: &mut Connection, request: Request, payload: Vec<u8>, now_ns: u64) {
        let operation = match request.command {
            Command::Read => Operation::Read,
            Command::Write | Command::WriteZeroes => Operation::Write,
            Command::Flush => Operation::Flush,
            Command::Trim => Operation::Discard,
            Command::Disconnect | Command::Unknown(_) => return client.leave(),
        };
        let Some(volume) = self.volumes.get_mut(client.volume) else { return };
        let length = if operation == Operation::Flush { 0 } else { request.length };
        let admission = volume.state.admit(&mut self.link, operation, request.offset, length, now_ns);
        let transferred = match request.command {
            Command::Read | Command::Write => usize::try_from(request.length).unwrap_or(usize::MAX),
            _ => 0,
        };
        let held_bytes = transferred.max(LEAST_HELD_BYTES);
        client.hold(held_bytes);
        let task = Task {
            client: client.id,
            volume: client.volume,
            request,
            operation,
            bytes: payload,
            arrived_ns: now_ns,
            start_ns: admission.start_ns,
            not_before_ns: admission.not_before_ns,
            error: admission.error.map(error_number),
            held_bytes,
            stage: if admission.error.is_some() { Stage::Done } else { Stage::Waiting },
            cuts: volume.state.cuts(),
        };
        if task.stage == Stage::Waiting && task.start_ns > now_ns {
            return self.agenda.enter(task.start_ns, task);
        }
        if let Some(task) = self.advance(task) {
            self.answer(client, task);
        }
    }

    /// Carries a task out whose time has come. It is given back if it is to be answered now; otherwise somebody else has
    /// it.
    fn advance(&mut self, mut task: Task) -> Option<Task> {
        let volume = self.volumes.get(task.volume)?;
        if task.stage == Stage::Waiting {
            if volume.has_had_power_for(&task) {
                if task.request.command == Command::Read {
                    let length = usize::try_from(task.request.length).unwrap_or_default();
                    task.bytes = self.buffers.take(REPLY_BYTES + length);
                }
                if !volume.device.try_carry_out(&mut task) {
                    self.workers.give(&volume.device, task);
                    return None;
                }
            } else {
                task.error = Some(EIO);
            }
            task.stage = Stage::Done;
        }
        self.hold_back(task)
    }

    /// Gives a task back that may be answered now, and keeps the others.
    fn hold_back(&mut self, task: Task) -> Option<Task> {
        let volume = self.volumes.get(task.volume)?;
        let now_ns = self.clock.now_ns();
        let at_ns = if volume.has_had_power_for(&task) {
            volume.state.may_answer_ns(task.not_before_ns.max(now_ns))
        } else {
            now_ns
        };
        if at_ns <= now_ns {
            return Some(task);
        }
        self.agenda.enter(at_ns, task);
        None
    }

    fn answer(&mut self, client: &mut Connection, task: Task) {
        client.release(task.held_bytes);
        let Some(volume) = self.volumes.get_mut(task.volume) else { return };
        // Without power nothing is answered well, whatever had become of it.
        let error = if volume.has_had_power_for(&task) { task.error } else { Some(EIO) };
        let length = if task.operation == Operation::Flush { 0 } else { task.request.length };
        let answered_ns = self.clock.now_ns();
        volume.state.completed(task.operation, length, task.arrived_ns, answered_ns, error.is_some());
        let head = encode_reply(error.unwrap_or(0), task.request.cookie);
        let mut bytes = task.bytes;
        if task.request.command == Command::Read
            && error.is_none()
            && let Some(room) = bytes.first_chunk_mut()
        {
            *room = head;
            client.output.push(bytes);
        } else {
            client.output.push_head(&head, &mut self.buffers);
            self.buffers.give(bytes);
        }
    }

    fn do_what_is_due(&mut self) {
        // Asked anew for each: tasks take their time, and the next one's may come meanwhile.
        while let Some(task) = self.agenda.take_due(self.clock.now_ns()) {
            if let Some(task) = self.advance(task) {
                self.answer_later(task);
            }
        }
    }

    fn take_done(&mut self) {
        for mut task in self.workers.collect() {
            task.stage = Stage::Done;
            if let Some(task) = self.hold_back(task) {
                self.answer_later(task);
            }
        }
    }

    /// Answers the client that a task came from, which may be gone.
    fn answer_later(&mut self, task: Task) {
        let place = task.client.place;
        let Some(room) = self.clients.get_mut(place) else { return };
        let Some(mut client) = room.take_if(|client| client.id == task.client) else {
            return self.buffers.give(task.bytes);
        };
        self.answer(&mut client, task);
        if !client.is_touched {
            client.is_touched = true;
            self.touched.push(place);
        }
        if let Some(room) = self.clients.get_mut(place) {
            *room = Some(client);
        }
    }

    fn settle_touched(&mut self) {
        for place in std::mem::take(&mut self.touched) {
            self.settle(place);
        }
    }

    fn close(&mut self, place: usize) {
        // The kernel forgets a descriptor that is closed; nothing else refers to it.
        if let Some(client) = self.clients.get_mut(place).and_then(Option::take) {
            self.part_with(&client);
        }
    }

    /// The last client of a volume takes the queue along: what it left there is carried out now, so that none of it comes
    /// over the next client's data, and nobody queues behind it. Nobody waits for what it read.
    fn part_with(&mut self, gone: &Connection) {
        if self.clients.iter().flatten().any(|client| client.volume == gone.volume) {
            return;
        }
        let now_ns = self.clock.now_ns();
        let Some(volume) = self.volumes.get_mut(gone.volume) else { return };
        volume.state.abandon_backlog(now_ns);
        for task in self.agenda.take_all_of(gone.volume) {
            let is_wanted = task.stage == Stage::Waiting && task.request.command != Command::Read;
            let task = if is_wanted { self.advance(task) } else { Some(task) };
            if let Some(task) = task {
                self.buffers.give(task.bytes);
            }
        }
    }

    fn accept_steerer(&mut self) {
        while let Some((place, stream)) = self.steerers.accept() {
            let edge = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
            if self.watch(&stream, source::STEERER, place, edge).is_ok() {
                self.steerers.enter(place, stream);
            }
        }
    }

    fn steer(&mut self, place: usize) {
        let now_ns = self.clock.now_ns();
        let steered = Steered { volumes: &mut self.volumes, link: &mut self.link, now_ns };
        self.steerers.serve(place, steered);
        for place in 0..self.volumes.len() {
            self.fail_what_lost_power(place);
        }
    }

    /// What waits in a volume without power has nothing to wait for.
    fn fail_what_lost_power(&mut self, volume: usize) {
        if self.volumes.get(volume).is_some_and(|volume| volume.state.is_powered()) {
            return;
        }
        for task in self.agenda.take_all_of(volume) {
            self.answer_later(task);
        }
    }
}

fn token(kind: u64, place: usize) -> EventData {
    EventData::new_u64(kind << 32 | place as u64)
}

fn of_token(data: EventData) -> (u64, usize) {
    let token = data.u64();
    (token >> 32, usize::try_from(token & u64::from(u32::MAX)).unwrap_or(usize::MAX))
}
