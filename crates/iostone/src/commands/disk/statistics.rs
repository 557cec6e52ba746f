//! `iostone disk statistics`: what an NVMe device of Amazon EC2 has counted by itself, log page 0xD0.

mod text;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use iostone_model::sample::{NvmeActivity, NvmeStatistics};
use iostone_model::units::Span;
use iostone_probe::nvme::{Identity, Reading, difference, read_statistics};
use serde::Serialize;

use crate::exit_code::ExitCode;
use crate::interrupt;
use crate::printer::Printer;

/// The version of the JSON.
const SCHEMA: &str = "iostone/nvme-statistics/1";
/// Ctrl-C is looked for this often.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The device and the interval.
#[derive(Debug, Args)]
pub(super) struct StatisticsArguments {
    /// An NVMe device, as in `/dev/nvme1n1` or `nvme1n1`, or a file or pipe with its log page from `nvme get-log --raw-binary`
    device: PathBuf,
    /// Measure over this time instead of since the volume was attached
    #[arg(long, value_name = "TIME")]
    interval: Option<Span>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What is printed as JSON: `statistics` as they stand, or `activity` over an interval.
#[derive(Debug, Serialize)]
struct Told<'a> {
    schema: &'static str,
    device: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    serial: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attached_as: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<&'a NvmeStatistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity: Option<&'a NvmeActivity>,
}

pub(super) fn statistics(arguments: &StatisticsArguments, printer: &mut Printer) -> Result<ExitCode> {
    let path = device_path(&arguments.device);
    let before = read_statistics(&path)?;
    let started = Instant::now();
    let Some(interval) = arguments.interval else {
        tell(arguments, &path, &before, None, printer)?;
        return Ok(ExitCode::Success);
    };
    if before.identity.is_none() {
        bail!("`{}` is a saved log page, whose counters do not change; omit `--interval`", path.display());
    }
    // Not before the first reading: a pipe is left by the signal itself.
    let stop = interrupt::stop_flag();
    while started.elapsed() < interval.0 {
        if stop.load(Ordering::Relaxed) {
            return Ok(ExitCode::Interrupted);
        }
        thread::sleep(LOOK_EVERY.min(interval.0.saturating_sub(started.elapsed())));
    }
    let after = read_statistics(&path)?;
    let seconds = started.elapsed().as_secs_f64();
    let grown = difference(&before.statistics, &after.statistics)
        .with_context(|| format!("comparing two readings of `{}`", path.display()))?;
    let activity = NvmeActivity {
        device: path.display().to_string(),
        kind: after.statistics.kind,
        seconds,
        grown,
        queue_length_before: before.statistics.queue_length,
        queue_length_after: after.statistics.queue_length,
    };
    tell(arguments, &path, &after, Some(&activity), printer)?;
    Ok(ExitCode::Success)
}

/// A bare name is that of a device, unless a file of that name is here.
fn device_path(named: &Path) -> PathBuf {
    let is_bare = named.components().count() == 1 && !named.exists();
    if is_bare { Path::new("/dev").join(named) } else { named.to_owned() }
}

fn tell(
    arguments: &StatisticsArguments,
    path: &Path,
    reading: &Reading,
    activity: Option<&NvmeActivity>,
    printer: &mut Printer,
) -> Result<()> {
    if !arguments.json {
        printer.data(&text::in_words(path, reading, activity));
        return Ok(());
    }
    let identity = reading.identity.as_ref();
    let of_identity = |field: fn(&Identity) -> &String| identity.map(|identity| field(identity).as_str());
    let told = Told {
        schema: SCHEMA,
        device: path.display().to_string(),
        model: of_identity(|identity| &identity.model),
        serial: of_identity(|identity| &identity.serial),
        attached_as: identity.and_then(|identity| identity.attached_as.as_deref()),
        statistics: activity.is_none().then_some(&reading.statistics),
        activity,
    };
    printer.data(&format!("{}\n", serde_json::to_string_pretty(&told)?));
    Ok(())
}
