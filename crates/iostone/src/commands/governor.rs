//! `iostone governor`: moves the CPU quota of a trial's group for another process, which says by which law.

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::exit_code::ExitCode;
use crate::interrupt;

pub(crate) fn governor() -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    // Should whoever started this die without closing its end of standard input, a child of its holding it for one.
    rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
        .context("cannot set the parent-death signal")?;
    // Locked to the end: the answers are read by a program, one line at a time.
    iostone_stack::serve_governor(&mut Standard, &mut std::io::stdout().lock(), &stop)?;
    Ok(ExitCode::Success)
}

/// Standard input without a buffer, which would keep lines from whoever waits for the descriptor to have some.
struct Standard;

impl std::io::Read for Standard {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        Ok(rustix::io::read(rustix::stdio::stdin(), buffer)?)
    }
}

impl std::os::fd::AsFd for Standard {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        rustix::stdio::stdin()
    }
}
