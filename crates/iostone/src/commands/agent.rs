//! `iostone agent`: the far end of the agent protocol, on standard input and output.

use anyhow::Result;
use iostone_machine::serve;

use crate::exit_code::ExitCode;
use crate::interrupt;

pub(crate) fn agent() -> Result<ExitCode> {
    serve(std::io::stdin(), &mut std::io::stdout().lock(), &interrupt::stop_flag())?;
    Ok(ExitCode::Success)
}
