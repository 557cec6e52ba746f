//! The clients of the control socket: each line that they send is a request, and is answered with a line.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;

use super::Volume;
use super::socket::Socket;
use crate::cache::PowerSwitch;
use crate::control::{LONGEST_REQUEST_BYTES, SteeredVolume, Steering, handle};
use crate::model::LinkState;

/// So many at once; more are hung up on.
const MOST_STEERERS: usize = 32;
/// Whoever does not fetch so many bytes of replies is hung up on.
const MOST_UNSENT_BYTES: usize = 8 << 20;

/// The control socket and who is connected to it.
#[derive(Debug)]
pub(crate) struct Steerers {
    pub(crate) socket: Socket,
    connected: Vec<Option<Steerer>>,
    is_ended: bool,
}

#[derive(Debug)]
struct Steerer {
    stream: UnixStream,
    received: Vec<u8>,
    unsent: Vec<u8>,
}

/// What requests are about.
pub(crate) struct Steered<'a> {
    pub(crate) volumes: &'a mut [Volume],
    pub(crate) link: &'a mut LinkState,
    pub(crate) now_ns: u64,
}

impl Steerers {
    pub(crate) fn new(socket: Socket) -> Self {
        Self { socket, connected: Vec::new(), is_ended: false }
    }

    /// Whether one of them ended the server.
    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Who connects next, and the place kept for it.
    pub(crate) fn accept(&self) -> Option<(usize, UnixStream)> {
        loop {
            let (stream, _) = self.socket.listener.accept().ok()?;
            let place = self.connected.iter().position(Option::is_none).unwrap_or(self.connected.len());
            if place < MOST_STEERERS && stream.set_nonblocking(true).is_ok() {
                return Some((place, stream));
            }
        }
    }

    /// Lets a client in.
    pub(crate) fn enter(&mut self, place: usize, stream: UnixStream) {
        let steerer = Steerer { stream, received: Vec::new(), unsent: Vec::new() };
        match self.connected.get_mut(place) {
            Some(room) => *room = Some(steerer),
            None => self.connected.push(Some(steerer)),
        }
    }

    /// Answers what a client asks. It is watched edge-triggered, so everything that can be done is done.
    pub(crate) fn serve(&mut self, place: usize, steered: Steered<'_>) {
        let Some(room) = self.connected.get_mut(place) else { return };
        let is_there = room.as_mut().is_some_and(|steerer| steerer.serve(steered, &mut self.is_ended));
        if !is_there {
            *room = None;
        }
    }
}

impl Steerer {
    /// False once it is gone or has to go.
    fn serve(&mut self, mut steered: Steered<'_>, end: &mut bool) -> bool {
        let mut is_open = true;
        let mut bytes = [0; 4096];
        while is_open {
            match self.stream.read(&mut bytes) {
                Ok(0) => is_open = false,
                Ok(read) => self.received.extend_from_slice(bytes.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
            while let Some(length) = self.received.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.received.drain(..=length).collect();
                let reply = steered.handle(&String::from_utf8_lossy(&line), end);
                self.unsent.extend_from_slice(reply.as_bytes());
                self.unsent.push(b'\n');
            }
            if self.received.len() > LONGEST_REQUEST_BYTES || self.unsent.len() > MOST_UNSENT_BYTES {
                return false;
            }
        }
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(written) => drop(self.unsent.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        is_open
    }
}

impl Steered<'_> {
    fn handle(&mut self, line: &str, end: &mut bool) -> String {
        // Locked for the time of the request, as a worker may be at a cache.
        let mut caches: Vec<_> = self.volumes.iter().map(|volume| volume.device.clone()).collect();
        let mut powers: Vec<_> = caches.iter_mut().map(|device| device.lock_power()).collect();
        let volumes = self.volumes.iter_mut().zip(&mut powers);
        let volumes = volumes.map(|(volume, power)| SteeredVolume {
            name: &volume.export.name,
            state: &mut volume.state,
            store_failures: volume.device.failures(),
            cache: power.as_mut().map(|power| -> &mut dyn PowerSwitch { &mut **power }),
        });
        let volumes = volumes.collect();
        handle(line, &mut Steering { now_ns: self.now_ns, volumes, link: self.link, end })
    }
}
