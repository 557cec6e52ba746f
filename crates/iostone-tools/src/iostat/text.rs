//! iostat's reports as text: tables of CPU and devices, each under its header, in any order and any locale.

use iostone_model::dataset::Observation;

use super::{Reports, reading};
use crate::error::Malformed;
use crate::sysstat::{Banner, DayClock, meaning, samples, time_within};
use crate::transcript;
use crate::{Input, Line, ReadError, Reading};

/// Whether a line is the header of one of iostat's tables.
pub(super) fn is_header(line: &str) -> bool {
    line.starts_with("avg-cpu:") || device_titles(line).is_some()
}

/// The titles of a table of devices: `Device  r/s ...`, `Device:  tps ...`, and `... Device` with `-h`.
fn device_titles(line: &str) -> Option<Vec<&str>> {
    let mut titles: Vec<&str> = line.split_whitespace().map(|title| title.trim_end_matches(':')).collect();
    let at_end = titles.last() == Some(&"Device");
    if titles.first() != Some(&"Device") && !at_end {
        return None;
    }
    titles.retain(|title| *title != "Device");
    let known = titles.iter().any(|title| meaning(title).is_some());
    (known && titles.len() > 1).then_some(titles)
}

/// Which table is being read.
#[derive(Default, PartialEq)]
enum Table {
    #[default]
    None,
    Cpu(Vec<String>),
    Devices {
        titles: Vec<String>,
        name_last: bool,
    },
}

#[derive(Default)]
struct Text {
    banner: Banner,
    first_line: Option<u64>,
    command: Option<String>,
    table: Table,
    reports: Reports,
    clock: DayClock,
    at_seconds: f64,
    stamped: bool,
    /// The headers of the report that is being read: one that comes again begins the next report.
    headers: Vec<String>,
    /// A device whose name was too long stands on a line of its own (sysstat before 11.5).
    long_name: Option<String>,
}

pub(super) fn read(input: &mut Input<'_>) -> Result<Reading, ReadError> {
    let mut text = Text::default();
    let mut observations = Vec::new();
    while let Some(line) = input.next_line()? {
        let command = transcript::command(&line.text, "iostat");
        let banner = Banner::find(&line.text);
        if (command.is_some() || banner.is_some()) && text.reports.count > 0 {
            observations.extend(std::mem::take(&mut text).finish(line.number)?);
        }
        if let Some(banner) = banner {
            text.banner = banner;
            text.first_line.get_or_insert(line.number);
        } else if let Some(command) = command {
            text.command = Some(command.to_owned());
            text.reports.first_is_a_sample = leaves_out_the_first(command);
        } else {
            text.take(&line)?;
        }
    }
    if observations.is_empty() || text.reports.count > 0 {
        observations.extend(text.finish(input.line())?);
    }
    Ok(reading(observations))
}

/// `-y` leaves the report since boot out.
fn leaves_out_the_first(command: &str) -> bool {
    let words = transcript::words(command);
    words.iter().skip(1).any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('y'))
}

impl Text {
    fn take(&mut self, line: &Line) -> Result<(), ReadError> {
        let text = line.text.trim_end();
        if text.is_empty() {
            self.table = Table::None;
            return Ok(());
        }
        if let Some(titles) = text.strip_prefix("avg-cpu:") {
            self.header(line);
            self.table = Table::Cpu(titles.split_whitespace().map(str::to_owned).collect());
            return Ok(());
        }
        if let Some(titles) = device_titles(text) {
            let titles = titles.into_iter().map(str::to_owned).collect();
            self.header(line);
            self.table = Table::Devices { titles, name_last: text.ends_with("Device") };
            return Ok(());
        }
        match &self.table {
            Table::None => {
                self.date(text);
                Ok(())
            }
            Table::Cpu(titles) => {
                let fields: Vec<&str> = text.split_whitespace().collect();
                let row = row(line, titles, &fields)?;
                self.reports.add(self.at_seconds, None, row);
                Ok(())
            }
            Table::Devices { titles, name_last } => {
                let mut fields: Vec<&str> = text.split_whitespace().collect();
                let name = match self.long_name.take() {
                    Some(name) => name,
                    None if fields.is_empty() => String::new(),
                    None if *name_last => fields.pop().unwrap_or_default().to_owned(),
                    None => fields.remove(0).to_owned(),
                };
                if fields.is_empty() {
                    self.long_name = Some(name);
                    return Ok(());
                }
                let row = row(line, titles, &fields)?;
                self.reports.add(self.at_seconds, Some(&name), row);
                Ok(())
            }
        }
    }

    /// A header that was in this report already begins the next one.
    fn header(&mut self, line: &Line) {
        self.first_line.get_or_insert(line.number);
        let header = line.text.trim().to_owned();
        if self.reports.count == 0 || self.headers.contains(&header) {
            self.headers.clear();
            self.reports.begin();
            if !self.stamped && self.reports.count > 1 {
                self.at_seconds += self.interval().unwrap_or(1.0);
            }
        }
        self.headers.push(header);
    }

    /// The line that `-t` prints before each report; anything else between tables is none of ours.
    fn date(&mut self, text: &str) {
        if let Some(seconds) = time_within(text) {
            self.stamped = true;
            self.at_seconds = self.clock.seconds(seconds);
        }
    }

    fn interval(&self) -> Option<f64> {
        self.command.as_deref().and_then(transcript::interval_seconds)
    }

    fn finish(self, last_line: u64) -> Result<Vec<Observation>, ReadError> {
        let Some(first_line) = self.first_line.filter(|_| self.reports.count > 0) else {
            return Err(
                Malformed::at_end(last_line, "a table of iostat's, under `avg-cpu:` or `Device`").into()
            );
        };
        let timed = self.stamped || self.interval().is_some();
        let mut template = self.banner.observation("iostat", first_line);
        template.facts.command.clone_from(&self.command);
        Ok(self.reports.finish(template, timed))
    }
}

fn row(line: &Line, titles: &[String], fields: &[&str]) -> Result<Vec<crate::samples::Sample>, ReadError> {
    if titles.len() != fields.len() {
        return Err(line.malformed(format!("{} figures, as in the header", titles.len())).into());
    }
    let pairs: Vec<(&str, &str)> = titles.iter().map(String::as_str).zip(fields.iter().copied()).collect();
    Ok(samples(&pairs).map_err(|text| line.malformed(format!("a number instead of `{text}`")))?)
}
