//! What the live screen shows, and how it is laid out.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::progress::in_words;
use iostone_model::metric::Unit;
use iostone_model::run::Plan;
use iostone_model::units::round_count;
use iostone_model::verdict::{Comparison, Verdict, Verdicts};
use iostone_probe::glance::Meanwhile;
use iostone_report::{clean, ratio_words};

/// So many points of the rate, and lines of what happened, are kept.
const KEPT: usize = 400;
const SAID: usize = 50;
/// So many devices have room.
const DEVICES: usize = 6;
/// Columns of the drawing of an interval.
const BAR: usize = 19;
/// Eighths of a line's height.
const LEVELS: [char; 9] =
    [' ', '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}', '\u{2588}'];

/// Everything on the screen.
pub(super) struct Scene {
    title: String,
    question: String,
    margin: f64,
    doing: String,
    since: Instant,
    blocks: u32,
    budget: u32,
    left: Option<Duration>,
    meanwhile: Option<Meanwhile>,
    /// Bytes a second of all devices together, the busiest at each look.
    rates: VecDeque<f64>,
    said: VecDeque<String>,
    comparisons: Vec<Held>,
}

/// A comparison with the width that its interval had at first.
struct Held {
    comparison: Comparison,
    first_width: Option<f64>,
}

impl Scene {
    pub(super) fn of(plan: &Plan) -> Self {
        let experiment = &plan.experiment;
        Self {
            title: clean(&experiment.name),
            question: experiment.question.as_deref().map(clean).unwrap_or_default(),
            margin: experiment.decide.margin.0,
            doing: "checking the stack".to_owned(),
            since: Instant::now(),
            blocks: 0,
            budget: experiment.decide.blocks.max,
            left: None,
            meanwhile: None,
            rates: VecDeque::new(),
            said: VecDeque::new(),
            comparisons: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, doing: String) {
        self.doing = doing;
        self.since = Instant::now();
    }

    pub(super) fn say(&mut self, line: String) {
        self.said.push_back(line);
        if self.said.len() > SAID {
            self.said.pop_front();
        }
    }

    pub(super) fn counted(&mut self, blocks: u32, budget: u32, left: Option<Duration>) {
        (self.blocks, self.budget, self.left) = (blocks, budget, left);
    }

    pub(super) fn looked(&mut self, verdicts: &Verdicts) {
        self.blocks = verdicts.blocks.complete;
        let before = std::mem::take(&mut self.comparisons);
        let whole = verdicts.comparisons.iter().filter(|one| one.point.is_empty());
        self.comparisons = whole
            .map(|comparison| {
                let same = |held: &&Held| {
                    (&held.comparison.level, &held.comparison.stratum)
                        == (&comparison.level, &comparison.stratum)
                };
                let first = before.iter().find(same).and_then(|held| held.first_width);
                Held { comparison: comparison.clone(), first_width: first.or_else(|| width(comparison)) }
            })
            .collect();
    }

    pub(super) fn saw(&mut self, meanwhile: Meanwhile) {
        // A loop device's bytes are those of the disk below as well.
        let busiest = meanwhile.devices.values().map(|served| served.read_bytes + served.written_bytes).max();
        self.rates.push_back(busiest.unwrap_or_default() as f64 / meanwhile.seconds.max(1e-9));
        if self.rates.len() > KEPT {
            self.rates.pop_front();
        }
        self.meanwhile = Some(meanwhile);
    }

    /// The lines of a screen of that size: what changes most at the top, and as much of what happened as there is room for.
    pub(super) fn lines(&self, width: usize, height: usize) -> Vec<String> {
        let mut lines = vec![
            format!("{}  {}", self.title, self.question),
            format!("{} ({})", self.doing, in_words(self.since.elapsed())),
            self.progress(width),
        ];
        self.push_devices(&mut lines, width);
        self.push_rates(&mut lines, width);
        lines.push(heading(
            &format!("against the baseline, right is better; margin {:.1} %", self.margin * 100.0),
            width,
        ));
        if self.comparisons.is_empty() {
            lines.push("no look yet: the first comes with the fewest blocks that can decide".to_owned());
        }
        lines.extend(self.comparisons.iter().map(Self::in_words));
        lines.push(heading("trials", width));
        let room = height.saturating_sub(lines.len());
        lines.extend(self.said.iter().skip(self.said.len().saturating_sub(room)).cloned());
        lines.truncate(height);
        lines.iter().map(|line| cut(line, width)).collect()
    }

    fn progress(&self, width: usize) -> String {
        let left = self.left.map(|left| format!(", at most {} left", in_words(left))).unwrap_or_default();
        let share = (f64::from(self.blocks) / f64::from(self.budget.max(1))).clamp(0.0, 1.0);
        let columns = (width / 3).min(40);
        let full = nearest(share * columns as f64);
        let gauge = "\u{2588}".repeat(full) + &"\u{2591}".repeat(columns.saturating_sub(full));
        format!("{gauge} {} of at most {} blocks{left}", self.blocks, self.budget)
    }

    fn push_devices(&self, lines: &mut Vec<String>, width: usize) {
        let Some(meanwhile) = &self.meanwhile else { return };
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let machine =
            format!("this host: CPU {}, steal {}", percent(meanwhile.busy), percent(meanwhile.steal));
        lines.push(heading(&machine, width));
        let row = |cells: [&str; 7]| {
            let [name, read, written, operations, latency, queue, busy] = cells;
            format!("{name:<14}{read:>13}{written:>13}{operations:>12}{latency:>11}{queue:>7}{busy:>9}")
        };
        lines.push(row(["device", "read", "written", "I/O", "latency", "queue", "busy"]));
        let seconds = meanwhile.seconds.max(1e-9);
        let mut devices: Vec<_> = meanwhile.devices.iter().collect();
        devices.sort_by_key(|(_, served)| std::cmp::Reverse(served.read_bytes + served.written_bytes));
        for (name, served) in devices.iter().take(DEVICES) {
            let operations = served.reads + served.writes;
            let waited = (served.read_ms + served.write_ms) as f64 / 1e3;
            let latency = if operations > 0 {
                Unit::Seconds.format(waited / operations as f64)
            } else {
                "-".to_owned()
            };
            lines.push(row([
                &clean(name),
                &Unit::BytesPerSecond.format(served.read_bytes as f64 / seconds),
                &Unit::BytesPerSecond.format(served.written_bytes as f64 / seconds),
                &Unit::PerSecond.format(operations as f64 / seconds),
                &latency,
                &served.in_flight.to_string(),
                &percent((served.busy_ms as f64 / 1e3 / seconds).min(1.0)),
            ]));
        }
        // As many lines whatever is active, so that what is below stays where it is.
        lines.extend(std::iter::repeat_n(String::new(), DEVICES.saturating_sub(devices.len())));
    }

    fn push_rates(&self, lines: &mut Vec<String>, width: usize) {
        let now = self.rates.back().copied().unwrap_or_default();
        let title = format!("rate of the busiest device: {}", Unit::BytesPerSecond.format(now));
        lines.push(heading(&title, width));
        let shown = self.rates.iter().skip(self.rates.len().saturating_sub(width));
        let most = shown.clone().copied().fold(1.0, f64::max);
        let level = |rate: &f64| {
            let step = nearest(rate / most * (LEVELS.len() - 1) as f64);
            LEVELS.get(step).copied().unwrap_or(' ')
        };
        lines.push(shown.map(level).collect());
    }

    /// `off  [   ├──●──┤     ]  ×2.11 ×[1.90, 2.30]  width 12 %, was 40 %`.
    fn in_words(held: &Held) -> String {
        let one = &held.comparison;
        let level = if one.stratum.is_empty() {
            one.level.clone()
        } else {
            format!("{} ({})", one.level, one.stratum)
        };
        let verdict = one.verdict.map_or("", Verdict::word);
        let percent = |width: f64| format!("{:.1} %", width * 100.0);
        let narrowed = match (width(one), held.first_width) {
            (Some(now), Some(first)) => format!("  width {}, at first {}", percent(now), percent(first)),
            _ => String::new(),
        };
        let ratio = ratio_words(one.ratio, one.ratio_interval);
        format!("{:<14} {}  {ratio}  {verdict}{narrowed}", clean(&level), bar(one.ratio, one.ratio_interval))
    }
}

/// A line that parts the screen, with what stands below it.
fn heading(title: &str, width: usize) -> String {
    let rest = width.saturating_sub(title.chars().count() + 4);
    format!("\u{2500}\u{2500} {title} {}", "\u{2500}".repeat(rest))
}

/// The nearest whole number of columns or steps.
fn nearest(number: f64) -> usize {
    usize::try_from(round_count(number)).unwrap_or_default()
}

/// As much of a line as there are columns.
fn cut(line: &str, width: usize) -> String {
    line.chars().take(width).collect()
}

/// How far the ends of an interval lie apart, as a share; none where an end is open.
fn width(comparison: &Comparison) -> Option<f64> {
    let [low, high] = comparison.ratio_interval;
    Some(high? / low.filter(|low| *low > 0.0)? - 1.0)
}

/// An interval on an axis of ratios from a quarter to four times the baseline, which stands in the middle.
fn bar(ratio: Option<f64>, [low, high]: [Option<f64>; 2]) -> String {
    let last = BAR - 1;
    let place = |ratio: f64| {
        let share = (ratio.max(1e-9).log2() / 4.0 + 0.5).clamp(0.0, 1.0);
        nearest(share * last as f64)
    };
    let (from, to) = (low.map_or(0, place), high.map_or(last, place));
    let mut cells = vec!['\u{b7}'; BAR];
    for (at, cell) in cells.iter_mut().enumerate() {
        if ratio.is_some() && (from..=to).contains(&at) {
            *cell = '\u{2500}';
        }
        if at == last / 2 {
            *cell = '\u{2502}';
        }
        if ratio.map(place) == Some(at) {
            *cell = '\u{25cf}';
        }
    }
    cells.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use iostone_model::sample::DiskCounters;

    use super::*;

    #[test]
    fn an_interval_is_drawn_about_the_baseline() {
        assert_eq!(
            bar(Some(1.0), [Some(0.25), Some(4.0)]).chars().filter(|c| *c == '\u{2500}').count(),
            BAR - 1
        );
        let better = bar(Some(2.0), [Some(1.9), Some(2.1)]);
        assert!(better.find('\u{25cf}') > better.find('\u{2502}'), "{better}");
        assert_eq!(bar(None, [None, None]).chars().filter(|c| *c == '\u{2500}').count(), 0);
    }

    #[test]
    fn a_screen_shows_devices_rates_blocks_and_intervals() {
        let text = crate::recipe::Recipe::named("noatime", "").unwrap().text;
        let experiment = iostone_model::experiment::read(text, &[]).unwrap();
        let plan = iostone_lab::make_plan(experiment, iostone_lab::PlanOptions::default()).unwrap();
        let mut scene = Scene::of(&plan);
        let served = DiskCounters {
            writes: 500,
            written_bytes: 2_048_000,
            write_ms: 250,
            in_flight: 7,
            busy_ms: 400,
            ..DiskCounters::default()
        };
        scene.saw(Meanwhile {
            seconds: 0.5,
            busy: 0.25,
            steal: 0.031,
            devices: BTreeMap::from([("loop9".to_owned(), served)]),
        });
        scene.begin("block 3: noatime".to_owned());
        scene.say("noatime  4 000 /s".to_owned());
        scene.counted(2, 40, Some(Duration::from_secs(90)));
        let interval = |low, high| Held {
            comparison: Comparison {
                level: "noatime".to_owned(),
                verdict: Some(Verdict::Undecided),
                ratio: Some(1.02),
                ratio_interval: [Some(low), Some(high)],
                ..Comparison::default()
            },
            first_width: Some(0.5),
        };
        scene.comparisons = vec![interval(1.0, 1.1)];
        let screen = scene.lines(100, 30).join("\n");
        for words in [
            "steal 3.1 %",
            "loop9",
            "4.10 MB/s",
            "1 000 /s",
            "500 µs",
            "2 of at most 40 blocks, at most 1 min 30 s left",
            "block 3: noatime",
            "width 10.0 %, at first 50.0 %",
            "undecided",
        ] {
            assert!(
                screen.replace(['\u{202f}', '\u{a0}'], " ").contains(words),
                "`{words}` is not in:\n{screen}"
            );
        }
        assert!(scene.lines(100, 30).iter().all(|line| line.chars().count() <= 100));
        // A small terminal shows less.
        let small = scene.lines(20, 5);
        assert!(small.len() == 5 && small.iter().all(|line| line.chars().count() <= 20), "{small:?}");
    }
}
