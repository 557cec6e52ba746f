//! `iostone disk control`: asks a running server for its counters, and changes what it does.

mod text;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use iostone_disk::{Control, ControlReply, ControlRequest, Setting};
use iostone_model::units::{Bytes, Fraction, Span};

use crate::exit_code::ExitCode;
use crate::printer::Printer;

/// Longer than any server needs that is not stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// The server and the request.
#[derive(Debug, Args)]
pub(super) struct ControlArguments {
    /// The control socket that `iostone disk serve` printed
    socket: PathBuf,
    /// Only this volume, by name: v0, v1 and so on
    #[arg(long, global = true)]
    volume: Option<String>,
    /// Print the server's answer as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the volumes' counters
    Counters,
    /// Reset the counters
    Reset,
    /// Change limits and latencies: iops=3000 throughput=40MB/s latency=2ms link=none
    Set {
        /// iops, throughput, latency, write-latency, flush-latency, latency-spread, link or link-iops; `none` removes a limit
        #[arg(value_name = "KEY=VALUE", required = true)]
        settings: Vec<Setting>,
    },
    /// Cut the power: unflushed writes are lost but for a share, and requests fail until power-on
    Cut {
        /// Share of the unflushed blocks that still reaches the medium
        #[arg(long, value_name = "SHARE", default_value = "50%")]
        keep: Fraction,
    },
    /// Restore the power
    Restore,
    /// Stall: answer no request for a while
    Stall {
        /// Duration, as in 500ms
        #[arg(value_name = "TIME")]
        lasts: Span,
    },
    /// Set the credits in the burst buckets
    Fill {
        /// I/O credits
        #[arg(long, value_name = "COUNT", required_unless_present = "credit_bytes")]
        credits: Option<u64>,
        /// Byte credits
        #[arg(long, value_name = "SIZE")]
        credit_bytes: Option<Bytes>,
        /// Set those of the link instead of the volumes
        #[arg(long, conflicts_with = "volume")]
        link: bool,
    },
    /// Reset every burst bucket to its initial fill, as a workload begins
    Begin,
    /// Stop the server
    End,
}

pub(super) fn control(arguments: &ControlArguments, printer: &mut Printer) -> Result<ExitCode> {
    let mut server = Control::connect(&arguments.socket, PATIENCE)?;
    let reply = server.request(&request_of(arguments))?;
    if arguments.json {
        printer.data(&format!("{}\n", serde_json::to_string_pretty(&reply)?));
        return Ok(ExitCode::Success);
    }
    match &reply {
        ControlReply::Done => printer.note("done"),
        ControlReply::Counters(report) => printer.data(&text::counters(report)),
        ControlReply::Cut(reports) => printer.data(&text::cuts(reports)),
        ControlReply::Refused(reason) => anyhow::bail!("the server refused: {reason}"),
    }
    Ok(ExitCode::Success)
}

fn request_of(arguments: &ControlArguments) -> ControlRequest {
    let volume = arguments.volume.clone();
    match &arguments.action {
        Action::Counters => ControlRequest::Counters { volume },
        Action::Reset => ControlRequest::ResetCounters { volume },
        Action::Set { settings } => ControlRequest::Set { volume, settings: settings.clone() },
        Action::Cut { keep } => ControlRequest::Cut { volume, keep: *keep },
        Action::Restore => ControlRequest::Restore { volume },
        Action::Stall { lasts } => ControlRequest::Stall { volume, lasts: *lasts },
        Action::Fill { credits, credit_bytes, link } => {
            let (credits, credit_bytes) = (*credits, credit_bytes.map(|bytes| bytes.0));
            if *link {
                ControlRequest::FillLink { credits, credit_bytes }
            } else {
                ControlRequest::Fill { volume, credits, credit_bytes }
            }
        }
        Action::Begin => ControlRequest::Begin,
        Action::End => ControlRequest::End,
    }
}
