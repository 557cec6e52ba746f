//! `iostone agent`: the far end of the agent protocol, on standard input and output.

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use iostone_machine::serve;

use crate::exit_code::ExitCode;
use crate::interrupt;

/// Heartbeat interval of a guest's agent.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// The far end of the agent protocol.
#[derive(Debug, Args)]
pub(crate) struct AgentArguments {
    /// Send a heartbeat every two seconds, as in a guest, which can hang without closing its connection
    #[arg(long)]
    guest: bool,
}

pub(crate) fn agent(arguments: &AgentArguments) -> Result<ExitCode> {
    let heartbeat = arguments.guest.then_some(HEARTBEAT);
    serve(std::io::stdin(), std::io::stdout(), &interrupt::stop_flag(), heartbeat)?;
    Ok(ExitCode::Success)
}
