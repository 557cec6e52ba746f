//! The table's part on reports, logs and errors.

use crate::options::Log;
use crate::raw::Raw;
use crate::table::Kind::{Bool, Flag, FloatList, Int, Optional, Str};
use crate::table::pace::milliseconds;
use crate::table::{Group, honoured, no_effect, put, refused};
use crate::values::{ContinueOn, LogWindow};

fn log(slot: &mut Option<Log>, value: Raw<'_>) -> Result<(), String> {
    let prefix = value.text.map(|_| value.text().map(str::to_owned)).transpose()?;
    // `write_bw_log` alone keeps the name that an earlier one gave.
    let prefix = prefix.or_else(|| slot.take().and_then(|log| log.prefix));
    put(slot, Log { prefix })
}

pub(super) const REPORTING: Group = Group {
    title: "Measurements and reporting",
    options: &[
        honoured("per_job_logs", Bool, |o, v| put(&mut o.per_job_logs, v.bool()?)),
        honoured("group_reporting", Flag, |o, v| put(&mut o.group_reporting, v.flag()?)),
        honoured("new_group", Flag, |o, v| put(&mut o.new_group, v.flag()?)),
        honoured("stats", Bool, |o, v| put(&mut o.stats, v.bool()?)),
        honoured("write_bw_log", Optional, |o, v| log(&mut o.write_bw_log, v)).within(AVERAGES),
        honoured("write_lat_log", Optional, |o, v| log(&mut o.write_lat_log, v)).within(AVERAGES),
        refused("write_hist_log", Optional, &[], "histograms are in the report, not in a log of their own"),
        honoured("write_iops_log", Optional, |o, v| log(&mut o.write_iops_log, v)).within(AVERAGES),
        no_effect("log_entries", Int, "logs grow as they need")
            .checked(|_, v| v.count(1024, 1024 * 1024).map(drop)),
        honoured("log_avg_msec", Int, |o, v| put(&mut o.log_avg_msec, milliseconds(v)?)),
        refused("log_hist_msec", Int, &["0"], "histograms are in the report, not in a log of their own"),
        refused(
            "log_hist_coarseness",
            Int,
            &["0"],
            "histograms are in the report, not in a log of their own",
        ),
        honoured("log_window_value", Str, |o, v| {
            let choices = [
                ("avg", LogWindow::Average),
                ("0", LogWindow::Average),
                ("max", LogWindow::Largest),
                ("1", LogWindow::Largest),
                ("both", LogWindow::Both),
            ];
            put(&mut o.log_window_value, v.choice(&choices)?)
        })
        .also(&["log_max_value"]),
        refused("log_offset", Bool, &["0"], "logs hold averages, which have no offset"),
        refused("log_prio", Bool, &["0"], "logs hold averages, which have no priority"),
        refused("log_issue_time", Bool, &["0"], "logs hold averages, which have no time of issue"),
        no_effect("log_compression", Int, "it trades processor time for memory while a log is kept")
            .checked(|_, v| v.size().map(drop)),
        no_effect("log_compression_cpus", Str, "no thread compresses logs")
            .checked(|_, v| crate::values::read_cpus(v.text()?).map(drop)),
        refused("log_store_compressed", Bool, &["0"], "logs are written as text"),
        honoured("log_alternate_epoch", Bool, |o, v| put(&mut o.log_alternate_epoch, v.bool()?))
            .also(&["log_unix_epoch"]),
        refused(
            "log_alternate_epoch_clock_id",
            Int,
            &["0"],
            "times of logs count from the start or from 1970",
        ),
        refused("block_error_percentiles", Bool, &["0"], "errors are not spread over the blocks of a device"),
        honoured("bwavgtime", Int, |o, v| put(&mut o.bwavgtime, milliseconds(v)?)),
        honoured("iopsavgtime", Int, |o, v| put(&mut o.iopsavgtime, milliseconds(v)?)),
        honoured("disk_util", Bool, |o, v| put(&mut o.disk_util, v.bool()?)),
        no_effect("disable_lat", Bool, KEPT).checked(|_, v| v.bool().map(drop)),
        no_effect("disable_clat", Bool, KEPT).checked(|_, v| v.bool().map(drop)),
        no_effect("disable_slat", Bool, KEPT).checked(|_, v| v.bool().map(drop)),
        no_effect("disable_bw_measurement", Bool, KEPT)
            .also(&["disable_bw"])
            .checked(|_, v| v.bool().map(drop)),
        honoured("slat_percentiles", Bool, |o, v| put(&mut o.slat_percentiles, v.bool()?))
            .within("no latency of submission is measured, so that there are none to tell"),
        honoured("clat_percentiles", Bool, |o, v| put(&mut o.clat_percentiles, v.bool()?)),
        honoured("lat_percentiles", Bool, |o, v| put(&mut o.lat_percentiles, v.bool()?)),
        honoured("percentile_list", FloatList, |o, v| {
            let mut list = v.reals(20, 0.0, 100.0)?;
            list.sort_by(f64::total_cmp);
            put(&mut o.percentile_list, list)
        }),
        no_effect("significant_figures", Int, "it rounds what fio prints for people")
            .checked(|_, v| v.count(1, 10).map(drop)),
    ],
};

const AVERAGES: &str = "needs a `log_avg_msec` that is a multiple of 100";
const KEPT: &str = "every figure is kept; that costs too little to be switched off";

pub(super) const ERRORS: Group = Group {
    title: "Error handling",
    options: &[
        refused("exitall_on_error", Flag, &["0"], "a job that fails ends alone"),
        honoured("continue_on_error", Str, |o, v| {
            put(&mut o.continue_on_error, v.choice(ContinueOn::CHOICES)?)
        }),
        refused("ignore_error", Str, &[], "errors are all counted; use `continue_on_error`"),
        no_effect("error_dump", Bool, "every error is reported").checked(|_, v| v.bool().map(drop)),
    ],
};
