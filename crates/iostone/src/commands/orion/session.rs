//! A session of a test: from the LUNs to the files, or from where an earlier one was interrupted.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use iostone_model::experiment::quoted;
use iostone_model::orion::{ORION_SCHEMA, OrionHeader, OrionRecord, OrionTest};
use iostone_orion::files::{Format, announcement, paths};
use iostone_orion::limits::known_limits;
use iostone_orion::record::RecordFile;
use iostone_orion::schedule::schedule;
use iostone_orion::{Assignment, Lun, OrionError, conduct};
use iostone_report::clean;
use iostone_stack::Entry;
use rustix::fs::OFlags;

use super::arguments::{self, Invocation, OrionOptions};
use super::luns::{self, Wanted};
use super::place;
use super::plan::Own;
use super::prefix::Prefix;
use super::progress::TestProgress;
use super::results::Results;
use super::taken::{Taken, writer_of};
use crate::exit_code::{self, ExitCode, OrionEnded};
use crate::interrupt;
use crate::printer::Printer;

/// How a test of which nothing but the time was short ended, in the record.
const INTERRUPTED: &str = "interrupted";

/// What a session works with.
struct Session<'a> {
    prefix: Prefix,
    /// The record's name in its directory.
    entry: Entry,
    file: RecordFile,
    record: OrionRecord,
    luns: Vec<Lun>,
    taken: Taken,
    options: &'a OrionOptions,
}

/// Begins a test.
pub(super) fn begin(
    test: OrionTest,
    options: &OrionOptions,
    words: &[String],
    printer: &mut Printer,
) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let seed = options.seed.map_or_else(random_seed, Ok)?;
    // Before the LUNs are filled: an hour of that must not end with a directory that nothing can be written to.
    Results::check(&Prefix::new(&test.test_name), options.format.unwrap_or(Format::V12))?;
    let wanted = Wanted { test: &test, options, words, seed, so_far: None };
    let (luns, taken) = luns::take(&wanted, &stop, printer)?;
    let header = head(test, &luns, options, words, seed)?;
    let prefix = Prefix::new(&header.test.test_name);
    let (entry, file) = create_record(&prefix, &header)?;
    let record = OrionRecord { header, points: Vec::new(), end: None };
    Session { prefix, entry, file, record, luns, taken, options }.run(&stop, printer)
}

/// Makes the record in the directory that is found once; it goes again if it gets no first line.
fn create_record(prefix: &Prefix, header: &OrionHeader) -> Result<(Entry, RecordFile)> {
    let path = prefix.record();
    let entry = Entry::find(&path)?;
    let Some(file) = entry.create()? else {
        bail!("`{}` is there already; `--resume` goes on with it", path.display());
    };
    let made = file.try_clone()?;
    match RecordFile::create_in(file, &path, header) {
        Ok(record) => Ok((entry, record)),
        Err(error) => {
            let _ = entry.remove(&made);
            Err(error.into())
        }
    }
}

/// Goes on with a test.
pub(super) fn go_on(
    typed: &str,
    mut options: OrionOptions,
    words: &[String],
    printer: &mut Printer,
) -> Result<ExitCode> {
    let stop = interrupt::stop_flag();
    let prefix = Prefix::resumed(typed)?;
    let entry = Entry::find(&prefix.record())?;
    let Some(file) = entry.open_own(OFlags::RDWR | OFlags::APPEND)? else {
        bail!("`{}` went away just now", prefix.record().display());
    };
    let (file, record) = RecordFile::reopen(file, &prefix.record())?;
    let header = &record.header;
    let another_layout = options.format.is_some();
    // As it was begun: what was said of the layout and of never-written blocks holds on.
    if let Ok(Invocation::Test(_, before)) = arguments::sort(&header.arguments) {
        options.format = options.format.or(before.format);
        options.allow_unwritten |= before.allow_unwritten;
    }
    if record.is_finished() {
        return print_again(&prefix, &record, &options, another_layout, printer);
    }
    Results::check(&prefix, options.format.unwrap_or(Format::V12))?;
    let (test, seed) = (&header.test, header.seed);
    let wanted = Wanted { test, options: &options, words, seed, so_far: Some(&record) };
    let (luns, taken) =
        luns::take(&wanted, &stop, printer).map_err(|error| place::told_of(error, header, typed, words))?;
    Session { prefix, entry, file, record, luns, taken, options: &options }.run(&stop, printer)
}

/// A test of which every point was measured: what is missing of its files is written, all of them where a layout is asked
/// for, and its results are printed again.
fn print_again(
    prefix: &Prefix,
    record: &OrionRecord,
    options: &OrionOptions,
    another_layout: bool,
    printer: &mut Printer,
) -> Result<ExitCode> {
    let format = options.format.unwrap_or(Format::V12);
    let files = paths(prefix.as_path(), format);
    let complete = files.iter().chain([&prefix.report()]).all(|file| file.exists()) && !another_layout;
    if complete && !options.json {
        bail!(
            "`{}` is finished; its results are in `{}_*`: `--json` prints them again, `--format` writes them in another \
             layout",
            prefix.record().display(),
            prefix.as_str()
        );
    }
    let mut results = Results::of(record, format);
    let written = if complete {
        results.keep(prefix);
        Ok(())
    } else {
        printer.note("every point was measured already; only files are written");
        results.write(prefix)
    };
    results.print(prefix, options.json, printer)?;
    match written {
        Ok(()) => Ok(ExitCode::Success),
        Err(unwritten) => {
            let code = match exit_code::of_error(&unwritten) {
                ExitCode::Refused => ExitCode::Refused,
                _ => ExitCode::Partial,
            };
            Err(OrionEnded { reason: format!("{unwritten}"), code }.into())
        }
    }
}

impl Session<'_> {
    fn run(mut self, stop: &std::sync::atomic::AtomicBool, printer: &mut Printer) -> Result<ExitCode> {
        let announcement = self.announcement();
        let header = self.record.header.clone();
        let schedule = schedule(&header);
        if header.test.writes()
            && let Err(error) = self.taken.begin_writing(&writer_of(&header))
        {
            if self.record.points.is_empty() {
                let _ = self.entry.remove(self.file.file());
            }
            return Err(error);
        }
        let assignment = Assignment {
            header: &header,
            luns: &self.luns,
            schedule: schedule.as_ref(),
            done: std::mem::take(&mut self.record.points),
        };
        let mut progress =
            TestProgress::new(&header, &mut self.file, self.options.json, announcement, printer);
        let conducted = conduct(assignment, &mut progress, stop);
        drop(progress);
        let end = match conducted {
            Ok((points, end)) => {
                self.record.points = points;
                let appended = self.file.append_end(&end);
                self.record.end = Some(end);
                appended.err()
            }
            // The record holds what was measured, whatever it is that failed.
            Err(error) => {
                self.record = self.file.read_back()?;
                Some(error)
            }
        };
        // The files are iostone's as they are now, whatever comes.
        drop(std::mem::take(&mut self.taken));
        if self.record.points.is_empty() {
            return Err(self.nothing_measured(end));
        }
        self.finish(end, printer)
    }

    /// What ORION prints before it begins.
    fn announcement(&self) -> String {
        let header = &self.record.header;
        let mut text = format!(
            "iostone orion {}, in the manner of ORION 12.2\n{}\n",
            env!("CARGO_PKG_VERSION"),
            clean(self.prefix.as_str())
        );
        text.push_str(&announcement(header, self.record.points.len(), self.format()));
        for remark in Own::of_header(header).remarks(&header.test) {
            text.push_str(&remark);
            text.push('\n');
        }
        text.push('\n');
        text
    }

    /// Nothing to keep: the record goes again.
    fn nothing_measured(&self, error: Option<OrionError>) -> anyhow::Error {
        let _ = std::fs::remove_file(self.prefix.record());
        if let Some(error) = error {
            return error.into();
        }
        let reason = self.reason();
        let code = if reason == INTERRUPTED { ExitCode::Interrupted } else { ExitCode::Failure };
        OrionEnded { reason: format!("{reason} before the first point was measured"), code }.into()
    }

    fn format(&self) -> Format {
        self.options.format.unwrap_or(Format::V12)
    }

    fn reason(&self) -> &str {
        self.record.end.as_ref().and_then(|end| end.reason.as_deref()).unwrap_or(INTERRUPTED)
    }

    fn finish(&self, error: Option<OrionError>, printer: &mut Printer) -> Result<ExitCode> {
        let (reason, code) = match error {
            Some(OrionError::Interrupted) => (INTERRUPTED.to_owned(), ExitCode::Interrupted),
            Some(error) => (error.to_string(), ExitCode::Partial),
            None if self.record.is_finished() => (String::new(), ExitCode::Success),
            None if self.reason() == INTERRUPTED => (INTERRUPTED.to_owned(), ExitCode::Interrupted),
            None => (self.reason().to_owned(), ExitCode::Failure),
        };
        let mut results = Results::of(&self.record, self.format());
        let written = results.write(&self.prefix);
        // The figures are there, whether or not the files are.
        results.print(&self.prefix, self.options.json, printer)?;
        let (reason, code) = match written {
            Ok(()) if code == ExitCode::Success => return Ok(ExitCode::Success),
            Ok(()) => (reason, code),
            Err(unwritten) if code == ExitCode::Success => (format!("{unwritten}"), ExitCode::Partial),
            // What ended the test is worth more; its figures are in the record all the same.
            Err(unwritten) => {
                printer.warning(format!("{unwritten}"));
                (reason, code)
            }
        };
        let kept = match self.record.points.len() {
            1 => "1 point is kept".to_owned(),
            several => format!("{several} points are kept"),
        };
        let next = format!("iostone orion --resume {}", quoted(self.prefix.as_str()));
        Err(OrionEnded { reason: format!("{reason}; {kept}: go on with `{next}`"), code }.into())
    }
}

/// The first line of the record.
fn head(
    test: OrionTest,
    luns: &[Lun],
    options: &OrionOptions,
    words: &[String],
    seed: u64,
) -> Result<OrionHeader> {
    let num_disks = match test.num_disks {
        Some(disks) => disks,
        None => u32::try_from(luns.len())?,
    };
    test.check_loads(num_disks)?;
    test.check_point_count(num_disks)?;
    let mut header = OrionHeader {
        schema: ORION_SCHEMA.to_owned(),
        iostone_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at: jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        arguments: words.to_vec(),
        directory: place::here().map(|here| here.display().to_string()),
        num_disks,
        luns: luns.iter().map(Lun::to_record).collect(),
        seed,
        direct: !options.buffered,
        data: iostone_model::orion::FileData::Random,
        until: options.until.map(|share| share.0),
        knee: options.knee,
        adaptive: options.adaptive.map(|share| share.0),
        total_points: 0,
        limits: known_limits(luns),
        machine: describe_machine(),
        test,
    };
    let planned = || u32::try_from(header.test.point_count(num_disks)).ok();
    header.total_points = schedule(&header).total().or_else(planned).unwrap_or(u32::MAX);
    Ok(header)
}

/// What the machine is, in a few words each.
fn describe_machine() -> BTreeMap<String, String> {
    let environment = iostone_probe::snapshot(&[]);
    let described = iostone_probe::describe(&environment).into_iter();
    described.map(|(label, value)| (label.to_lowercase(), value)).collect()
}

/// One that also programs without 64-bit integers read back as it is.
fn random_seed() -> Result<u64> {
    let mut entropy = [0u8; 8];
    rustix::rand::getrandom(&mut entropy, rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(entropy) >> 11)
}
