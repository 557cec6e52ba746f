//! Reads the columns of vmstat, told by their header.

mod screen;

use iostone_model::dataset::{Observation, Order};
use jiff::civil::DateTime;
use screen::{Again, Alike, Screen};

use crate::samples::{Sample, Samples, notes};
use crate::transcript;
use crate::units::figure;
use crate::{Format, Head, Input, Likeness, Line, ReadError, Reading};

/// The output of vmstat (procps 2 to 4): its default table, with `-t`, `-w`, `-n`, `-a`, `-S`.
pub(crate) struct Vmstat;

impl Format for Vmstat {
    fn name(&self) -> &'static str {
        "vmstat"
    }

    fn title(&self) -> &'static str {
        "vmstat, by its header"
    }

    fn recognise(&self, head: &Head<'_>) -> Likeness {
        if head.text.lines().any(|line| titles(line).is_some() || is_disk_table(line)) {
            Likeness::Certain
        } else {
            Likeness::No
        }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut table = Table::default();
        let mut observations = Vec::new();
        while let Some(line) = input.next_line()? {
            if let Some(command) = transcript::command(&line.text, "vmstat") {
                if table.rows > 0 {
                    observations.extend(std::mem::take(&mut table).finish(line.number)?);
                }
                table = Table { command: Some(command.to_owned()), ..Table::default() };
            } else if let Some(begun) = table.take(&line)? {
                observations.extend(std::mem::replace(&mut table, begun).finish(line.number)?);
            }
        }
        if observations.is_empty() || table.rows > 0 {
            observations.extend(table.finish(input.line())?);
        }
        let order = if observations.len() > 1 { Order::AsListed } else { Order::Unknown };
        Ok(Reading { metrics: notes(&observations), observations, factors: Vec::new(), order })
    }
}

/// The titles of a header line, if it is one: ` r  b   swpd   free ... us sy id wa st`.
fn titles(line: &str) -> Option<Vec<&str>> {
    let titles: Vec<&str> = line.split_whitespace().collect();
    let all = ["r", "b", "bi", "bo", "us", "sy", "id"].iter().all(|title| titles.contains(title));
    (all && titles.first() == Some(&"r")).then_some(titles)
}

/// The header of `vmstat -d`, whose figures are totals since boot.
fn is_disk_table(line: &str) -> bool {
    line.starts_with("disk-") && line.contains("reads") && line.contains("writes")
}

/// What a column is (vmstat(8)): blocks are of 1024 bytes whatever `-S` says; shares are in percent.
fn meaning(title: &str) -> Option<(&'static str, f64)> {
    Some(match title {
        "r" => ("running", 1.0),
        "b" => ("blocked", 1.0),
        "si" => ("swap_in", 1024.0),
        "so" => ("swap_out", 1024.0),
        "bi" => ("block_in", 1024.0),
        "bo" => ("block_out", 1024.0),
        "in" => ("interrupts", 1.0),
        "cs" => ("context_switches", 1.0),
        "us" => ("cpu_user", 0.01),
        "sy" => ("cpu_system", 0.01),
        "id" => ("cpu_idle", 0.01),
        "wa" => ("io_wait", 0.01),
        "st" => ("steal", 0.01),
        "gu" => ("cpu_guest", 0.01),
        _ => return None,
    })
}

#[derive(Default)]
struct Table {
    titles: Vec<String>,
    first_line: Option<u64>,
    /// The first row of a run of vmstat is the mean since boot; kept for a file that holds nothing else.
    since_boot: Option<(f64, Vec<Sample>)>,
    rows: u64,
    command: Option<String>,
    start: Option<DateTime>,
    /// A clock that was set back does not make time run backwards.
    last_at: f64,
    samples: Samples,
    swapping: bool,
    screen: Screen,
}

impl Table {
    /// Takes one line more. A row that is the first of another run of vmstat, under a header of its own, is the first of the
    /// table that is returned.
    fn take(&mut self, line: &Line) -> Result<Option<Self>, ReadError> {
        if let Some(titles) = titles(&line.text) {
            let titles: Vec<String> = titles.into_iter().map(str::to_owned).collect();
            self.screen.header(line.number, self.titles != titles && self.rows > 0);
            self.titles = titles;
            self.first_line.get_or_insert(line.number);
            return Ok(None);
        }
        if is_disk_table(&line.text) {
            return Err(line
                .malformed("vmstat's table of processes and CPU (`-d` prints totals since boot; give iostat's output)")
                .into());
        }
        let starts_with_digit = line.text.trim_start().starts_with(|sign: char| sign.is_ascii_digit());
        if self.titles.is_empty() || !starts_with_digit {
            return Ok(None);
        }
        let again = self.screen.row();
        let (at_seconds, row) = if again == Again::Run {
            return self.begin_another(line).map(Some);
        } else {
            self.row(line)?
        };
        let like_since_boot =
            || self.since_boot.as_ref().map_or(Alike::No, |(_, boot)| Alike::of(boot, &row));
        match (again, like_since_boot()) {
            (Again::Same, Alike::Yes) | (Again::Unknown, Alike::Yes | Alike::Nearly) => {
                return self.begin_another(line).map(Some);
            }
            (Again::Unknown, Alike::No) => self.screen.doubtful = true,
            _ => {}
        }
        if self.rows == 0 && !self.since_boot_is_left_out() {
            self.since_boot = Some((at_seconds, row));
        } else {
            self.samples.add(None, at_seconds, row);
        }
        self.rows += 1;
        Ok(None)
    }

    /// The table of a further run, of which only its header and first row were read.
    fn begin_another(&self, line: &Line) -> Result<Self, ReadError> {
        let mut another = Self {
            titles: self.titles.clone(),
            first_line: Some(self.screen.header_line),
            command: self.command.clone(),
            ..Self::default()
        };
        another.take(line)?;
        Ok(another)
    }

    /// `-y` leaves the first report, since boot, out (procps 4).
    fn since_boot_is_left_out(&self) -> bool {
        self.command.as_deref().is_some_and(|command| {
            let words = transcript::words(command);
            words.iter().skip(1).any(|word| {
                word == "--no-first"
                    || (word.starts_with('-') && !word.starts_with("--") && word.contains('y'))
            })
        })
    }

    fn row(&mut self, line: &Line) -> Result<(f64, Vec<Sample>), ReadError> {
        let fields: Vec<&str> = line.text.split_whitespace().collect();
        // With `-t` the last title is a time zone, over a date and a time.
        let stamped = self.titles.last().is_some_and(|title| !is_title(title));
        let columns = self.titles.len() - usize::from(stamped);
        let expected = columns + 2 * usize::from(stamped);
        if fields.len() != expected {
            return Err(line.malformed(format!("{expected} columns, as in the header")).into());
        }
        let mut row = Vec::new();
        for (title, text) in self.titles.iter().take(columns).zip(&fields) {
            let Some((name, factor)) = meaning(title) else { continue };
            let figure =
                figure(text, factor).ok_or_else(|| line.malformed(format!("a number under `{title}`")))?;
            self.swapping |= name.starts_with("swap") && figure.value > 0.0;
            row.push(Sample { name, figure, weight: 1.0 });
        }
        let at_seconds = match (fields.get(columns), fields.get(columns + 1)) {
            (Some(date), Some(time)) => {
                let now: DateTime = format!("{date}T{time}")
                    .parse()
                    .map_err(|_| line.malformed("a date and a time, `2026-01-31 12:00:00`, at the end"))?;
                let start = *self.start.get_or_insert(now);
                now.duration_since(start).as_secs_f64().max(self.last_at)
            }
            _ => self.rows as f64 * self.interval().unwrap_or(1.0),
        };
        self.last_at = at_seconds;
        Ok((at_seconds, row))
    }

    fn interval(&self) -> Option<f64> {
        self.command.as_deref().and_then(transcript::interval_seconds)
    }

    fn finish(mut self, last_line: u64) -> Result<Vec<Observation>, ReadError> {
        let Some(first_line) = self.first_line else {
            return Err(crate::Malformed::at_end(last_line, "vmstat's header, ` r  b   swpd ...`").into());
        };
        let mut template =
            Observation { tool: "vmstat".to_owned(), line: Some(first_line), ..Observation::default() };
        template.facts.command.clone_from(&self.command);
        if self.samples.is_empty() {
            let Some((at_seconds, row)) = self.since_boot.take() else {
                return Err(crate::Malformed::at_end(last_line, "a row of figures under the header").into());
            };
            self.samples.add(None, at_seconds, row);
            template.facts.remarks.push("the only row is vmstat's mean since boot".to_owned());
        } else if self.start.is_none() && self.interval().is_none() {
            let remark = "vmstat does not print its interval; one second between rows is assumed";
            template.facts.remarks.push(remark.to_owned());
        }
        if self.screen.doubtful {
            let remark = "its header comes again after few rows; if these are several runs, the mean since boot of each but \
                          the first is averaged in: import them apart";
            template.facts.remarks.push(remark.to_owned());
        }
        if self.swapping {
            let remark =
                "swapping is read as KiB/s; with `-S` other than `K` vmstat scales it, and does not print so";
            template.facts.remarks.push(remark.to_owned());
        }
        Ok(self.samples.into_observations(&template))
    }
}

/// Whether vmstat has a column of that title; a time zone is none.
fn is_title(title: &str) -> bool {
    meaning(title).is_some() || matches!(title, "swpd" | "free" | "buff" | "cache" | "inact" | "active" | "w")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Reading, ReadError> {
        Vmstat.read(&mut Input::of_text("vmstat.log", text))
    }

    const HEADER: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n \
                          r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n";

    #[test]
    fn the_mean_since_boot_is_dropped() {
        let rows = " 9  0 0 22846800 10988 1649304 0 0 56090 17836 1047 4585 41 16 41  3  0\n \
                    1  0 0 22846800 10988 1649304 0 0 44 37672 2488 6320  1  7 87  5  20\n \
                    2  1 0 22846800 10988 1649304 0 0  8 39980 2576 6577  0 12 82  6  10\n";
        let reading = read(&format!("$ vmstat 5\n{HEADER}{rows}")).unwrap();
        let observation = &reading.observations[0];
        assert_eq!(observation.value("block_in"), Some(26.0 * 1024.0));
        assert!((observation.facts.steal.unwrap() - 0.15).abs() < 1e-12);
        assert_eq!(observation.series["steal"].at_seconds, [5.0, 10.0]);
        assert!(observation.facts.remarks.is_empty());
    }

    const BOOT: &str = " 9  0 0 22846800 10988 1649304 0 0 56090 17836 1047 4585 41 16 41  3  0\n";
    const ROW: &str = " 1  0 0 22846800 10988 1649304 0 0 44 37672 2488 6320  1  7 87  5  20\n";

    #[test]
    fn a_further_run_in_the_same_file_is_an_observation_of_its_own() {
        for rows in [2, 12, 20] {
            let run = format!("{HEADER}{BOOT}{}", ROW.repeat(rows));
            let reading = read(&run.repeat(2)).unwrap();
            let means: Vec<_> = reading.observations.iter().map(|one| one.value("block_in")).collect();
            assert_eq!(means, [Some(44.0 * 1024.0); 2], "{rows}");
            assert_eq!(reading.observations[1].line, Some(rows as u64 + 5), "{rows}");
        }
        // The second screen is not full when the second run begins.
        let run = format!("{HEADER}{BOOT}{}{HEADER}{}", ROW.repeat(20), ROW.repeat(8));
        assert_eq!(read(&run.repeat(2)).unwrap().observations.len(), 2);
        // Some time later.
        let later = BOOT.replace("56090 17836 1047", "55011 17930 1050");
        let text = format!("{HEADER}{BOOT}{}{HEADER}{later}{ROW}", ROW.repeat(9));
        assert_eq!(read(&text).unwrap().observations.len(), 2);
    }

    #[test]
    fn a_header_on_every_screen_begins_no_run() {
        let text = format!("{HEADER}{BOOT}{}{HEADER}{}{HEADER}{ROW}", ROW.repeat(20), ROW.repeat(21));
        let observations = read(&text).unwrap().observations;
        assert_eq!(observations.len(), 1);
        assert_eq!(observations[0].series["steal"].values.len(), 42);
        assert_eq!(observations[0].facts.remarks.len(), 1);
        let low = format!("{HEADER}{BOOT}{}{HEADER}{}", ROW.repeat(9), ROW.repeat(4));
        let observations = read(&low).unwrap().observations;
        assert_eq!(observations.len(), 1);
        assert!(observations[0].facts.remarks.iter().any(|remark| remark.contains("header comes again")));
    }

    #[test]
    fn a_short_row_is_malformed() {
        let message = read(&format!("{HEADER} 9 0 0 228468\n")).unwrap_err().to_string();
        assert_eq!(message, "line 3: expected 17 columns, as in the header, found `9 0 0 228468`");
    }

    #[test]
    fn totals_since_boot_are_refused() {
        let text = "disk- ------------reads------------ ------------writes----------- -----IO------\n";
        assert!(read(text).unwrap_err().to_string().contains("give iostat's output"));
    }
}
