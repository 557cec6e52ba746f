//! fio's output formats (placeholder wiring).

use anyhow::{Result, bail};

use super::Ran;
use super::load::Load;

/// When the load began.
pub(super) struct Started;

impl Started {
    pub(super) fn now(_load: &Load) -> Self {
        Self
    }
}

pub(super) fn write(_load: &Load, _ran: &[Ran], _session: &Started) -> Result<String> {
    bail!("not yet")
}
