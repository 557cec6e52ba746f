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

/// Which server, and what it is to do.
#[derive(Debug, Args)]
pub(super) struct ControlArguments {
    /// The control socket, which `iostone disk serve` names
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
    /// What the volumes have done so far
    Counters,
    /// Count anew, from zero
    Reset,
    /// Change limits and latencies, from now on: iops=3000 throughput=40MB/s latency=2ms link=none
    Set {
        /// iops, throughput, latency, write-latency, flush-latency, latency-spread, link or link-iops; none lifts it
        #[arg(value_name = "KEY=VALUE", required = true)]
        settings: Vec<Setting>,
    },
    /// Cut the power: what was not flushed is lost but for a share, and everything fails from then on
    Cut {
        /// The share of the unflushed blocks that still reaches the medium
        #[arg(long, value_name = "SHARE", default_value = "50%")]
        keep: Fraction,
    },
    /// Switch the power on again
    Restore,
    /// Answer nothing for a while, from now on
    Stall {
        /// For how long, as 500ms
        #[arg(value_name = "TIME")]
        lasts: Span,
    },
    /// Set what is in the burst buckets
    Fill {
        /// I/Os in the bucket of I/Os
        #[arg(long, value_name = "COUNT", required_unless_present = "credit_bytes")]
        credits: Option<u64>,
        /// Bytes in the bucket of bytes
        #[arg(long, value_name = "SIZE")]
        credit_bytes: Option<Bytes>,
        /// Of the link, and not of the volumes
        #[arg(long, conflicts_with = "volume")]
        link: bool,
    },
    /// A workload begins: fill every burst bucket to what it is to hold then
    Begin,
    /// End the server
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
