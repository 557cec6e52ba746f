//! What was measured, in fio's formats and logs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Result;
use iostone_fio::output::{
    Detail, DiskWatch, FIO_VERSION, LogFile, LogRequest, LogValue, Percentiles, Reported, Session, log_paths,
    logs_of, write_json, write_terse,
};
use iostone_fio::values::LogWindow;
use iostone_fio::{FioOptions, Given, Log, PlannedJob, Section};
use iostone_model::load::IoEngine;
use iostone_stack::{OutputFile, Permit, Placing};

use super::Ran;
use super::load::Load;
use crate::cli::IoFormat;

/// What is looked at before the load, to be compared with what is there afterwards.
pub(super) struct Started {
    at: Instant,
    disks: DiskWatch,
}

impl Started {
    /// Watches the devices below the targets.
    pub(super) fn now(load: &Load) -> Self {
        let jobs = load.plan.phases.iter().flat_map(|phase| &phase.jobs);
        let watched = jobs.filter(|planned| {
            planned.job.engine != IoEngine::Null && option_of(load, planned).disk_util != Some(false)
        });
        Self { at: Instant::now(), disks: DiskWatch::start(watched.flat_map(|planned| &planned.job.targets)) }
    }
}

fn section_of<'a>(load: &'a Load, planned: &PlannedJob) -> Option<&'a Section> {
    load.jobs.sections.get(planned.section)
}

fn option_of(load: &Load, planned: &PlannedJob) -> FioOptions {
    section_of(load, planned).map(|section| section.options.clone()).unwrap_or_default()
}

/// The document in the format that was asked for.
pub(super) fn write(load: &Load, ran: &[Ran], started: Started) -> String {
    let jobs = ran.iter().filter(|ran| option_of(load, &ran.planned).stats != Some(false));
    let session = Session {
        version: FIO_VERSION,
        finished: jiff::Zoned::now(),
        elapsed: started.at.elapsed(),
        global_options: pairs(&load.jobs.global),
        jobs: jobs.map(|ran| report(load, ran)).collect(),
        disk_util: started.disks.finish(),
    };
    match load.options.output_format {
        IoFormat::Terse => write_terse(&session),
        IoFormat::JsonPlus => write_json(&session, Detail::JsonPlus),
        IoFormat::Json | IoFormat::Normal => write_json(&session, Detail::Json),
    }
}

fn report<'a>(load: &'a Load, ran: &'a Ran) -> Reported<'a> {
    let planned = &ran.planned;
    let mut reported = Reported::new(&planned.name, &planned.job, &ran.outcome);
    reported.group = planned.group;
    let Some(section) = section_of(load, planned) else { return reported };
    let options = &section.options;
    reported.is_grouped = options.group_reporting == Some(true);
    reported.options = pairs(&section.given);
    reported.description = options.description.as_deref();
    let default = Percentiles::default();
    reported.percentiles = Percentiles {
        submission: options.slat_percentiles.unwrap_or(default.submission),
        completion: options.clat_percentiles.unwrap_or(default.completion),
        total: options.lat_percentiles.unwrap_or(default.total),
        list: options.percentile_list.clone().unwrap_or(default.list),
    };
    let window = |span: Option<iostone_model::units::Span>| span.map(|span| span.0);
    // As in fio, samples are those of the log where there is one.
    let logged = |log: &Option<Log>| log.as_ref().and(window(options.log_avg_msec));
    reported.bandwidth_window =
        logged(&options.write_bw_log).or(window(options.bwavgtime)).unwrap_or(reported.bandwidth_window);
    reported.iops_window =
        logged(&options.write_iops_log).or(window(options.iopsavgtime)).unwrap_or(reported.iops_window);
    reported
}

/// Names and values; fio leaves out options without a value.
fn pairs(given: &[Given]) -> Vec<(String, String)> {
    given
        .iter()
        .filter_map(|given| given.value.as_ref().map(|value| (given.name.to_owned(), value.clone())))
        .collect()
}

/// The logs that a job asked for; times of entries begin at `epoch`.
fn log_request(load: &Load, planned: &PlannedJob, epoch: Option<Duration>) -> LogRequest {
    let options = option_of(load, planned);
    let window = options.log_avg_msec.map_or(Duration::ZERO, |span| span.0);
    let shorter = |other: Option<iostone_model::units::Span>| {
        other.map(|other| other.0).filter(|other| *other < window).unwrap_or(window)
    };
    let file = |log: &Option<Log>, window: Duration| {
        log.as_ref()
            .map(|log| LogFile { prefix: log.prefix.clone().unwrap_or_else(|| planned.name.clone()), window })
    };
    LogRequest {
        bandwidth: file(&options.write_bw_log, shorter(options.bwavgtime)),
        iops: file(&options.write_iops_log, shorter(options.iopsavgtime)),
        latency: file(&options.write_lat_log, window),
        number: planned.number,
        is_shared: options.per_job_logs == Some(false),
        value: match options.log_window_value.unwrap_or_default() {
            LogWindow::Average => LogValue::Average,
            LogWindow::Largest => LogValue::Largest,
            LogWindow::Both => LogValue::Both,
        },
        epoch: epoch.filter(|_| options.log_alternate_epoch == Some(true)),
    }
}

/// Logs that jobs share are appended to, as in fio.
fn placing_of(request: &LogRequest) -> Placing {
    if request.is_shared { Placing::Append } else { Placing::Replace }
}

/// The files that the logs of all jobs go to, in the working directory as in fio.
pub(super) fn all_log_paths(load: &Load) -> Vec<(PathBuf, Placing)> {
    let jobs = load.plan.phases.iter().flat_map(|phase| &phase.jobs);
    let requests = jobs.map(|planned| log_request(load, planned, None));
    requests
        .flat_map(|request| log_paths(&request).into_iter().map(move |path| (path, placing_of(&request))))
        .collect()
}

/// Writes the logs that jobs asked for.
pub(super) fn write_all_logs(load: &Load, ran: &[Ran], permit: &Permit) -> Result<()> {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    for ran in ran {
        let epoch = since_epoch.saturating_sub(ran.outcome.elapsed.0);
        let request = log_request(load, &ran.planned, Some(epoch));
        for log in logs_of(&request, &ran.outcome)? {
            OutputFile::open(&log.path, placing_of(&request), permit)?.write(&log.lines)?;
        }
    }
    Ok(())
}
