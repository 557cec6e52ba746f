//! One job of fio's text: its lines, and the observation that comes of them.

use iostone_model::dataset::{Figure, Observation};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::super::flow::{Flow, Latency, Way, ending, observe, put_sync};
use super::super::numbers::{Kilo, bytes, count};
use crate::units::figure;
use crate::{Line, Malformed};

/// What was read of a job so far.
#[derive(Debug)]
pub(super) struct Job {
    line: u64,
    pub(super) name: String,
    members: u32,
    pub(super) pid: String,
    /// When it was printed, in seconds since 1970 by the clock of that machine.
    printed: Option<f64>,
    /// How long its longest direction took.
    pub(super) milliseconds: u64,
    error: i64,
    said: Option<String>,
    sides: Vec<Side>,
    sync: Latency,
    /// User and system time, in percent of the time of a clone.
    busy: Option<f64>,
    remarks: Vec<String>,
}

/// A direction, with its completion and its whole latency, of which one becomes its figures.
#[derive(Debug)]
struct Side {
    flow: Flow,
    completion: Latency,
    whole: Latency,
}

/// What a list of percentiles is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Completion,
    Whole,
    Sync,
}

impl Job {
    /// `mix: (groupid=1, jobs=1): err= 0: pid=7667: Sun Nov 22 05:16:39 2026`
    ///
    /// # Errors
    /// It has no error number.
    pub(super) fn begin(line: &Line) -> Result<Self, Malformed> {
        let text = line.text.trim();
        let (name, rest) = text.split_once(": (groupid=").unwrap_or((text, ""));
        let members = after(rest, "jobs=").and_then(|jobs| digits(jobs).parse().ok()).unwrap_or(1);
        let expected = || line.malformed("a job's error number, as in `err= 0`");
        let error = after(rest, "err=").ok_or_else(expected)?.trim_start();
        let error = digits(error).parse().map_err(|_| expected())?;
        let said = after(rest, ", error=").and_then(|said| said.split("): ").next()).map(str::to_owned);
        let pid = after(rest, "pid=").map(|pid| digits(pid.trim_start()).to_owned()).unwrap_or_default();
        let printed =
            after(rest, "pid=").and_then(|pid| pid.split_once(": ")).and_then(|(_, date)| moment(date));
        Ok(Self {
            line: line.number,
            name: name.to_owned(),
            members,
            pid,
            printed,
            milliseconds: 0,
            error,
            said,
            sides: Vec::new(),
            sync: Latency::default(),
            busy: None,
            remarks: Vec::new(),
        })
    }

    /// Reads one more line of it. If a list of percentiles follows, says what of, and their unit in seconds.
    ///
    /// # Errors
    /// A line of a known form with something else in it.
    pub(super) fn take(&mut self, line: &Line, text: &str) -> Result<Option<(Place, f64)>, Malformed> {
        let (key, rest) = text.split_once(':').unwrap_or((text, ""));
        let key = key.trim();
        let way = match key {
            "read" => Some(Way::Read),
            "write" => Some(Way::Write),
            "trim" => Some(Way::Trim),
            "mixed" => Some(Way::Mixed),
            _ => None,
        };
        if let Some(way) = way {
            let flow = flow(line, rest, way)?;
            let took = after(rest, "runt=").or_else(|| rest.rsplit_once('/').map(|(_, took)| took));
            let took = took.and_then(|took| digits(took.trim_start()).parse().ok()).unwrap_or(0);
            self.milliseconds = self.milliseconds.max(took);
            let (completion, whole) = (Latency::default(), Latency::default());
            self.sides.push(Side { flow, completion, whole });
        } else if let Some((what, unit)) = latency_of(key) {
            if let Some(what) = what.strip_suffix(" percentiles") {
                return Ok(place(what).map(|place| (place, unit)));
            }
            if rest.contains("min=")
                && let Some(place) = place(what)
            {
                self.take_latency(line, rest, place, unit)?;
            }
        } else if key == "cpu" {
            let share = |name| {
                after(rest, name).and_then(|share| share.split('%').next()?.trim().parse::<f64>().ok())
            };
            let busy = share("usr=").zip(share("sys=")).map(|(user, system)| user + system);
            // Nothing at all is less than a tick of the clock, not idleness.
            self.busy = busy.filter(|percent| *percent > 0.0);
        } else if key == "errors" {
            self.remarks.push(format!("fio went on after errors: {}", rest.trim()));
        }
        Ok(None)
    }

    /// ` min=16, max=32180, avg=382.70, stdev=1328.78`
    fn take_latency(&mut self, line: &Line, rest: &str, place: Place, unit: f64) -> Result<(), Malformed> {
        let expected = || line.malformed("a latency, as in `min=16, max=32180, avg=382.70, stdev=1328.78`");
        let max = item(rest, "max=").and_then(count).ok_or_else(expected)?;
        let mean = item(rest, "avg=").and_then(|mean| figure(mean, unit)).ok_or_else(expected)?;
        if let Some(latency) = self.latency(place) {
            latency.max = Some(Figure { value: max.value * unit, step: max.step * unit });
            latency.mean = Some(mean);
        }
        Ok(())
    }

    /// Where latencies of that kind go now.
    pub(super) fn latency(&mut self, place: Place) -> Option<&mut Latency> {
        match place {
            Place::Sync => Some(&mut self.sync),
            Place::Completion => self.sides.last_mut().map(|side| &mut side.completion),
            Place::Whole => self.sides.last_mut().map(|side| &mut side.whole),
        }
    }

    pub(super) fn observe(&self) -> Observation {
        let flows: Vec<Flow> = self.sides.iter().map(Side::flow).collect();
        let mut observation = observe(&self.name, &flows);
        put_sync(&mut observation, &self.sync);
        observation.line = Some(self.line);
        observation.order = self.printed;
        if self.members > 1 {
            observation.labels.insert("numjobs".to_owned(), self.members.to_string());
        }
        observation.facts.ending = Some(ending(self.error, self.said.as_deref()));
        observation.facts.cpus_used = self
            .busy
            .map(|percent| percent / 100.0 * f64::from(self.members))
            .filter(|cpus| cpus.is_finite());
        observation.facts.remarks.clone_from(&self.remarks);
        observation
    }
}

/// `Sun Nov 22 05:16:39 2026`, as ctime(3) writes it, with two blanks before a day of one digit.
fn moment(text: &str) -> Option<f64> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let time = DateTime::strptime("%a %b %d %H:%M:%S %Y", text).ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(time.timestamp().as_duration().as_secs_f64())
}

impl Side {
    /// As in the JSON: the completion latency, unless only the whole one has percentiles.
    fn flow(&self) -> Flow {
        let only_whole = self.whole.has_percentiles() && !self.completion.has_percentiles();
        let latency =
            if self.completion.mean.is_some() && !only_whole { self.completion } else { self.whole };
        Flow { latency, ..self.flow }
    }
}

/// ` IOPS=10.1k, BW=39.3MiB/s (41.3MB/s)(39.4MiB/1002msec)`, or ` io=437.0MB, bw=223232KB/s, iops=55808, runt= 2001msec`.
fn flow(line: &Line, rest: &str, way: Way) -> Result<Flow, Malformed> {
    let expected =
        || line.malformed("rates, as in `read: IOPS=10.1k, BW=39.3MiB/s (41.3MB/s)(39.4MiB/1002msec)`");
    let both = item(rest, "IOPS=").zip(item(rest, "BW="));
    let (iops, rate, amount, kilo) = if let Some((iops, bandwidth)) = both {
        let (rate, amount) = bandwidth.split_once('(').ok_or_else(expected)?;
        let amount =
            amount.rsplit('(').next().and_then(|amount| amount.split_once('/')).ok_or_else(expected)?;
        (iops, rate, amount.0, Kilo::Decimal)
    } else {
        let old = |key| item(rest, key).ok_or_else(expected);
        (old("iops=")?, old("bw=")?, old("io=")?, Kilo::Binary)
    };
    let amount = bytes(amount, kilo).ok_or_else(expected)?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive")]
    let amount = amount.value.round() as u64;
    Ok(Flow {
        way,
        throughput: Some(bytes(rate, kilo).ok_or_else(expected)?),
        iops: Some(count(iops).ok_or_else(expected)?),
        latency: Latency::default(),
        bytes: Some(amount),
    })
}

/// `clat (usec)` as `clat` and a microsecond, `clat percentiles (nsec)` as that and a nanosecond.
fn latency_of(key: &str) -> Option<(&str, f64)> {
    let (what, unit) = key.strip_suffix("sec)")?.rsplit_once('(')?;
    let unit = match unit {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        _ => return None,
    };
    Some((what.trim(), unit))
}

fn place(what: &str) -> Option<Place> {
    match what {
        "clat" => Some(Place::Completion),
        "lat" => Some(Place::Whole),
        "sync" => Some(Place::Sync),
        // Submission latency, and that by priority.
        _ => None,
    }
}

/// `(R) 4096B-4096B`, or `4K-4K/4K-4K/4K-4K` before 2.17: the block size, where reads have only one.
pub(super) fn block_size(text: &str) -> Option<String> {
    let range = text.split('/').next()?;
    let (least, most) = range.split_once('-')?;
    (least == most).then(|| least.to_owned())
}

/// What follows a key.
fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.split_once(key).map(|(_, rest)| rest)
}

/// What follows a key up to the next comma. The key is not the end of another one: `iops=` is not `min_iops=`.
fn item<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut items = text.split(", ").map(str::trim_start);
    items.find_map(|item| item.strip_prefix(key)).map(|item| item.trim().trim_end_matches(','))
}

/// The digits that a text begins with.
fn digits(text: &str) -> &str {
    text.get(..text.bytes().take_while(u8::is_ascii_digit).count()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(lines: &[&str]) -> Observation {
        let line = |text: &str| Line { number: 1, text: text.to_owned() };
        let mut job = Job::begin(&line("a job: (groupid=0, jobs=4): err= 0: pid=1: now")).unwrap();
        for text in lines {
            job.take(&line(text), text.trim()).unwrap();
        }
        job.observe()
    }

    #[test]
    fn a_date_as_fio_prints_it_is_read() {
        assert_eq!(moment("Thu Jan  1 00:01:00 1970"), Some(60.0));
        assert_eq!(moment("Sun Nov 22 05:16:39 2026"), Some(1_795_324_599.0));
        assert_eq!(moment("err= 0"), None);
    }

    #[test]
    fn both_forms_of_a_direction_are_read() {
        let new = job(&["  read: IOPS=10.1k, BW=39.3MiB/s (41.3MB/s)(39.4MiB/1002msec)"]);
        let old = job(&["  read : io=437.0MB, bw=223232KB/s, iops=55808, runt=  2001msec"]);
        assert!((new.value("throughput").unwrap() - 39.3 * 1_048_576.0).abs() < 1.0);
        assert_eq!(new.figures["iops"], Figure { value: 10_100.0, step: 100.0 });
        assert!((old.value("read.throughput").unwrap() - 223_232.0 * 1024.0).abs() < 1.0);
        assert_eq!(old.facts.claimed_read_bytes, Some(437 << 20));
        assert_eq!(old.labels["numjobs"], "4");
    }

    #[test]
    fn latencies_are_of_completion_and_carry_their_unit() {
        let observation = job(&[
            "  write: IOPS=5, BW=1MiB/s (1MB/s)(1MiB/1msec); 0 zone resets",
            "    slat (nsec): min=3736, max=90214, avg=8516.99, stdev=5781.65",
            "    clat (msec): min=1, max=1021.3k, avg= 3.50, stdev= 0.10",
            "     lat (msec): min=2, max=9, avg= 9.50, stdev= 0.10",
            "  lat (usec)   : 20=0.01%, 250=92.33%",
        ]);
        assert_eq!(observation.value("latency_mean"), Some(3.5 * 1e-3));
        assert!((observation.value("write.latency_max").unwrap() - 1021.3).abs() < 1e-9);
    }

    #[test]
    fn a_line_without_rates_is_refused() {
        let line = Line { number: 3, text: "  read: IOPS=fast".to_owned() };
        let error = flow(&line, " IOPS=fast", Way::Read).unwrap_err();
        assert!(error.to_string().starts_with("line 3: expected rates, as in"), "{error}");
    }
}
