//! sar's tables as text: each row begins with a time, each table with a row of titles after an empty line.

use iostone_model::dataset::Observation;

use super::cpu;
use crate::error::Malformed;
use crate::samples::Samples;
use crate::sysstat::{Banner, DayClock, meaning, samples, time_of_day};
use crate::transcript;
use crate::{Input, Line, ReadError};

/// What the rows of a table are about.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Subject {
    Cpu,
    Device,
    Machine,
}

/// A table's titles, and what it is about.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Header {
    titles: Vec<String>,
    subject: Subject,
    /// With `-p --dev`, and since 12.1 with `-p`, the device stands last.
    name_last: bool,
}

/// The header of a table that is read; None for any other line.
pub(super) fn header(line: &str) -> Option<Header> {
    let (_, rest) = time_of_day(line)?;
    let mut titles: Vec<&str> = rest.split_whitespace().collect();
    let subject = if titles.contains(&"CPU") && titles.iter().any(|title| title.starts_with('%')) {
        Subject::Cpu
    } else if titles.contains(&"DEV") {
        Subject::Device
    } else if titles.contains(&"rtps") {
        Subject::Machine
    } else {
        return None;
    };
    let name_last = titles.last().is_some_and(|title| matches!(*title, "CPU" | "DEV"));
    titles.retain(|title| !matches!(*title, "CPU" | "DEV"));
    let known = titles.iter().any(|title| meaning(title).is_some());
    known.then(|| Header { titles: titles.into_iter().map(str::to_owned).collect(), subject, name_last })
}

#[derive(Default)]
struct Text {
    banner: Banner,
    first_line: Option<u64>,
    command: Option<String>,
    header: Option<Header>,
    after_empty_line: bool,
    clock: DayClock,
    samples: Samples,
}

pub(super) fn read(input: &mut Input<'_>) -> Result<Vec<Observation>, ReadError> {
    let mut text = Text { after_empty_line: true, ..Text::default() };
    while let Some(line) = input.next_line()? {
        text.take(&line)?;
    }
    let Some(first_line) = text.first_line.filter(|_| !text.samples.is_empty()) else {
        return Err(
            Malformed::at_end(input.line(), "a table of sar's with `CPU`, `DEV` or `tps` and rows").into()
        );
    };
    let mut template = text.banner.observation("sar", first_line);
    template.facts.command = text.command;
    Ok(text.samples.into_observations(&template))
}

impl Text {
    fn take(&mut self, line: &Line) -> Result<(), ReadError> {
        if line.text.trim().is_empty() {
            self.header = None;
            self.after_empty_line = true;
            return Ok(());
        }
        if let Some(banner) = Banner::find(&line.text) {
            self.banner = banner;
            return Ok(());
        }
        if let Some(command) = transcript::command(&line.text, "sar") {
            self.command = Some(command.to_owned());
            return Ok(());
        }
        let Some((time, rest)) = time_of_day(&line.text) else {
            // The averages at the end, under the word of the locale, are no samples.
            return Ok(());
        };
        if rest.contains("LINUX RESTART") {
            return Ok(());
        }
        if std::mem::take(&mut self.after_empty_line) {
            self.header = header(&line.text);
            if self.header.is_some() {
                self.first_line.get_or_insert(line.number);
                // The time of the first header is when sampling began.
                self.clock.seconds(time);
            }
            return Ok(());
        }
        let Some(header) = &self.header else { return Ok(()) };
        let mut fields: Vec<&str> = rest.split_whitespace().collect();
        let name = match header.subject {
            Subject::Machine => "",
            _ if fields.is_empty() => "",
            _ if header.name_last => fields.pop().unwrap_or_default(),
            _ => fields.remove(0),
        };
        if fields.len() != header.titles.len() {
            return Err(line.malformed(format!("{} figures, as in the header", header.titles.len())).into());
        }
        let pairs: Vec<(&str, &str)> = header.titles.iter().map(String::as_str).zip(fields).collect();
        let row = samples(&pairs).map_err(|text| line.malformed(format!("a number instead of `{text}`")))?;
        let thing = match header.subject {
            Subject::Cpu => cpu(name),
            Subject::Device => Some(("device", name)),
            Subject::Machine => None,
        };
        self.samples.add(thing, self.clock.seconds(time), row);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<Vec<Observation>, ReadError> {
        read(&mut Input::of_text("sar.log", text))
    }

    #[test]
    fn averages_are_no_samples_and_midnight_is_passed() {
        let text = "Linux 6.1.0 (db1) \t11/22/26 \t_x86_64_\t(2 CPU)\n\n\
            11:59:50 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
            11:59:55 PM     all      1.00      0.00      1.00      0.00      2.00     96.00\n\
            12:00:00 AM     all      3.00      0.00      1.00      0.00      4.00     92.00\n\
            Average:        all      2.00      0.00      1.00      0.00      3.00     94.00\n";
        let observations = read_text(text).unwrap();
        let [observation] = observations.as_slice() else { panic!("one observation") };
        assert_eq!(observation.series["steal"].at_seconds, [5.0, 10.0]);
        assert!((observation.facts.steal.unwrap() - 0.03).abs() < 1e-12);
        assert_eq!(observation.facts.cpus, Some(2.0));
    }

    #[test]
    fn a_row_that_does_not_fit_its_header_is_malformed() {
        let text = "04:34:48          DEV       tps     rkB/s\n04:34:49        loop0      0.00\n";
        assert_eq!(
            read_text(text).unwrap_err().to_string(),
            "line 2: expected 2 figures, as in the header, found `04:34:49        loop0      0.00`"
        );
    }
}
