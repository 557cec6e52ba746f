//! Words and pieces of predictions that the terminal and the page share.

use iostone_model::answer::{Answer, Answers, Expected, Given, Lift, MeasuredAgreement, MeasuredTime};
use iostone_model::cloud::CeilingKind;
use iostone_model::experiment::Basis;
use iostone_model::metric::Unit;
use iostone_model::prediction::{CeilingRow, Phase, Prediction};
use iostone_model::units::{ratio_digits, three_digits};

use crate::figures::{NO_FIGURE, count, declared_percent, duration, factor_digits, figure, percent};
use crate::svg::forest::capitalised;

/// From here on a time is told in hours.
const HOURS_FROM_SECONDS: f64 = 7_200.0;
/// From here on in days.
const DAYS_FROM_SECONDS: f64 = 4.0 * SECONDS_A_DAY;
const SECONDS_A_DAY: f64 = 86_400.0;
/// Rates this near are the same.
const SAME_RATE: f64 = 0.005;
/// Below it a time needs no other unit than seconds.
const SECONDS_BELOW: f64 = 120.0;
/// Differences below it are none.
const NO_DIFFERENCE_SECONDS: f64 = 0.05;
const NO_DIFFERENCE_SHARE: f64 = 1e-4;

/// A time in words: "62 min (3717 s)", "45.2 s".
pub(crate) fn time_words(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < SECONDS_BELOW {
        return figure(Unit::Seconds, seconds);
    }
    format!("{} ({})", span_words(seconds), figure(Unit::Seconds, seconds.round()))
}

/// The same rounded, without its seconds: "62 min", "2 h 11 min", "45.2 s".
pub(crate) fn span_words(seconds: f64) -> String {
    match seconds {
        _ if !seconds.is_finite() => NO_FIGURE.to_owned(),
        _ if seconds < SECONDS_BELOW => figure(Unit::Seconds, seconds),
        _ if seconds < HOURS_FROM_SECONDS => format!("{:.0}\u{a0}min", seconds / 60.0),
        _ if seconds >= DAYS_FROM_SECONDS => {
            format!("{}\u{a0}days", count(whole_number(seconds / SECONDS_A_DAY)))
        }
        _ => duration(seconds),
    }
}

/// A place in time: "1:01:57", or seconds where the whole lasts less than two minutes.
pub(crate) fn clock(seconds: f64, whole: f64) -> String {
    if whole < SECONDS_BELOW || !seconds.is_finite() {
        return figure(Unit::Seconds, seconds);
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
    let whole_seconds = seconds.max(0.0).round() as u64;
    format!("{}:{:02}:{:02}", whole_seconds / 3600, whole_seconds / 60 % 60, whole_seconds % 60)
}

/// A rate in decimal and in binary units: "62.5 MB/s = 59.6 MiB/s".
pub(crate) fn both_units(rate: f64) -> String {
    let binary = [("GiB/s", 30), ("MiB/s", 20), ("KiB/s", 10)];
    let unit = binary.iter().find(|(_, power)| rate >= f64::from(1_u32 << power));
    let decimal = figure(Unit::BytesPerSecond, rate);
    match unit {
        Some((unit, power)) => {
            format!("{decimal} = {}\u{a0}{unit}", three_digits(rate / f64::from(1_u32 << power)))
        }
        None => decimal,
    }
}

/// The nearest whole number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and a cast saturates")]
fn whole_number(value: f64) -> u64 {
    value.round() as u64
}

/// The phase in which what holds work up does so for longest.
fn longest_phase(prediction: &Prediction) -> Option<Phase> {
    let length = |phase: &Phase| phase.to_seconds - phase.from_seconds;
    let phases = prediction.told_phases().into_iter().filter(|phase| phase.binds == prediction.binds);
    phases.max_by(|a, b| length(a).total_cmp(&length(b)))
}

/// What holds work up, at the rate of the longest phase in which it does: "the link of 500 Mbps = 62.5 MB/s = 59.6 MiB/s".
pub(crate) fn held_by(prediction: &Prediction) -> String {
    let longest = longest_phase(prediction);
    let rate = longest.as_ref().map_or(prediction.bytes_per_second, |phase| phase.bytes_per_second);
    let binding = longest.as_ref().map_or(prediction.binding.as_str(), |phase| phase.binding.as_str());
    if prediction.binds == CeilingKind::Link && !binding.contains("IO") {
        let megabits = rate * 8.0 / 1e6;
        let bits = if (megabits - megabits.round()).abs() < 1e-6 {
            format!("{}", megabits.round())
        } else {
            three_digits(megabits)
        };
        let (bits, unit) =
            if megabits < 0.1 { (three_digits(rate * 8.0 / 1e3), "kbps") } else { (bits, "Mbps") };
        return format!(
            "the link of {bits}\u{a0}{unit} = {}{}",
            both_units(rate),
            once_spent(prediction, rate)
        );
    }
    format!("{binding}, {}{}", both_units(rate), once_spent(prediction, rate))
}

/// Said of a rate that is that of the long run where the average is more.
fn once_spent(prediction: &Prediction, rate: f64) -> &'static str {
    let is_long_run = prediction.long_run_bytes_per_second.is_some_and(|long| is_same(long, rate));
    if is_long_run && prediction.bytes_per_second > rate * (1.0 + SAME_RATE) {
        " once credits are gone"
    } else {
        ""
    }
}

fn is_same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() <= SAME_RATE
}

/// "105 of 236 GB", where not all that was asked is moved.
pub(crate) fn moved_words(answer: &Answer) -> Option<String> {
    let asked = answer.asked_bytes?;
    Some(format!("{} of {}", figure(Unit::Bytes, answer.prediction.bytes), figure(Unit::Bytes, asked)))
}

/// The answer in one line.
pub(crate) fn headline(answer: &Answer) -> String {
    let prediction = &answer.prediction;
    let moved = match answer.given {
        Given::Bytes => moved_words(answer).map(|moved| format!("{moved} in ")).unwrap_or_default(),
        Given::Time => format!("{} in ", figure(Unit::Bytes, prediction.bytes)),
    };
    let average = prediction.bytes_per_second;
    let differs = longest_phase(prediction).is_some_and(|phase| !is_same(phase.bytes_per_second, average));
    let average = if differs {
        format!(", on average {}", figure(Unit::BytesPerSecond, average))
    } else {
        String::new()
    };
    format!("{moved}{}{average}, held by {}", time_words(prediction.seconds), held_by(prediction))
}

/// Which of several ends first.
pub(crate) fn race(answers: &Answers) -> Option<String> {
    let unranked: Vec<String> = answers.predictions.iter().filter_map(why_unranked).collect();
    let Some(first) = answers.first.and_then(|first| answers.predictions.get(first)) else {
        return (answers.predictions.len() > 1)
            .then(|| format!("None of them can be ranked: {}", joined(&unranked)));
    };
    let others =
        || answers.predictions.iter().filter(|other| other.is_whole() && !std::ptr::eq(*other, first));
    if others().next().is_none() && !unranked.is_empty() {
        return Some(format!(
            "{} takes {}; {}: no comparison",
            first.label,
            time_words(first.prediction.seconds),
            joined(&unranked)
        ));
    }
    if first.given == Given::Time {
        let second = others().max_by(|a, b| a.prediction.bytes.total_cmp(&b.prediction.bytes))?;
        let bytes = |answer: &Answer| figure(Unit::Bytes, answer.prediction.bytes);
        return Some(format!(
            "{} moves most: {} in {}, against {} on {}",
            first.label,
            bytes(first),
            time_words(first.prediction.seconds),
            bytes(second),
            second.label
        ));
    }
    let same = others().any(|other| difference(other, first) < NO_DIFFERENCE_SECONDS);
    let second = others().min_by(|a, b| a.prediction.seconds.total_cmp(&b.prediction.seconds))?;
    let time = time_words(first.prediction.seconds);
    Some(if same {
        format!("{} and {} take the same: {time}", first.label, second.label)
    } else {
        let before = span_words(difference(second, first));
        format!("{} ends first: {time}, {before} before {}", first.label, second.label)
    })
}

/// Why a prediction has no place among the others; nothing where it has.
fn why_unranked(answer: &Answer) -> Option<String> {
    if answer.is_whole() {
        return None;
    }
    Some(match moved_words(answer) {
        Some(moved) => format!("{} moves {moved}", answer.label),
        None => format!("of {} not every ceiling is known", answer.label),
    })
}

fn difference(later: &Answer, earlier: &Answer) -> f64 {
    later.prediction.seconds - earlier.prediction.seconds
}

/// What is predicted, of what, as of when, and how surely.
pub(crate) fn subject(answer: &Answer) -> String {
    let prediction = &answer.prediction;
    let [low, high] = prediction.seconds_interval;
    let least = prediction.bytes * NO_DIFFERENCE_SHARE;
    let interval =
        if let Some([low, high]) = prediction.bytes_interval.filter(|[low, high]| high - low > least) {
            format!("; expected between {} and {}", figure(Unit::Bytes, low), figure(Unit::Bytes, high))
        } else if high - low < NO_DIFFERENCE_SECONDS {
            String::new()
        } else {
            format!("; expected between {} and {}", span_words(low), time_words(high))
        };
    format!("{}: {}, by the limits of {}{interval}", answer.label, prediction.work, prediction.date)
}

/// "0:00:00 to 1:01:57".
pub(crate) fn phase_span(phase: &Phase, whole: f64) -> String {
    format!("{} to {}", clock(phase.from_seconds, whole), clock(phase.to_seconds, whole))
}

/// Rows of a ceiling: the share that is used of what it lets through at the time, its burst while its bucket holds anything.
pub(crate) fn used_share(row: &CeilingRow, prediction: &Prediction) -> String {
    let of_kind =
        prediction.ceilings.iter().filter(|other| other.kind == row.kind && other.binds_seconds > 0.0);
    let binds_alone = row.binds_seconds > 0.0 && of_kind.count() == 1;
    let allowed: f64 = prediction
        .timeline
        .iter()
        .map(|phase| {
            let level = phase.buckets.iter().find(|level| row.bucket.as_ref() == Some(&level.name));
            let holds = level.is_some_and(|level| level.from.max(level.to) > 0.0);
            let rate = match row.burst.filter(|_| holds) {
                _ if binds_alone && phase.binds == row.kind => phase.bytes_per_second,
                Some(burst) => burst,
                None => row.sustained,
            };
            rate * (phase.to_seconds - phase.from_seconds)
        })
        .sum();
    let moved = prediction.bytes_per_second * prediction.seconds;
    if allowed > 0.0 { percent((moved / allowed).min(1.0)) } else { String::new() }
}

/// What "used" is of.
pub(crate) const USED_NOTE: &str =
    "Used: of what the ceiling lets through at the time, its burst while its bucket holds anything.";

/// What the time costs, of what, and what is not in it.
pub(crate) fn price_sentence(prediction: &Prediction) -> Option<String> {
    let usd = prediction.usd?;
    let Some(price) = &prediction.price else { return Some(format!("The time costs {}.", dollars(usd))) };
    let hour = dollars(price.usd_per_hour);
    let left_out = if price.leaves_out.is_empty() {
        String::new()
    } else {
        format!(" Not in it: {}.", joined(&price.leaves_out))
    };
    Some(format!("The time costs {}: {hour} an hour, {}.{left_out}", dollars(usd), price.source))
}

/// For how long a ceiling binds; nothing where it never does.
pub(crate) fn binds_words(row: &CeilingRow) -> String {
    if row.binds_seconds > 0.0 { span_words(row.binds_seconds) } else { String::new() }
}

/// What would come without the ceiling that binds, and without the next: a sentence each.
pub(crate) fn lift_sentences(answer: &Answer) -> Vec<(String, String)> {
    let mut before = answer.prediction.seconds;
    answer
        .lifts
        .iter()
        .enumerate()
        .map(|(place, lift)| {
            let sentence = lift_sentence(lift, before);
            before = lift.seconds.unwrap_or(before);
            let name = if place == 0 { lift.name.clone() } else { format!("and {}", lift.name) };
            (name, sentence)
        })
        .collect()
}

/// `before` is what was to be lifted, in seconds.
fn lift_sentence(lift: &Lift, before: f64) -> String {
    let Some((seconds, binding)) = lift.seconds.zip(lift.binding.as_deref()) else {
        return "nothing that is known would limit it then".to_owned();
    };
    let sooner = before - seconds;
    if sooner < NO_DIFFERENCE_SECONDS {
        return format!("no sooner: {binding} binds then");
    }
    format!("{}, {} sooner; {binding} binds then", time_words(seconds), span_words(sooner))
}

/// Where an expectation may have come from: a line each.
pub(crate) fn expected_lines(expected: &Expected) -> Vec<String> {
    if expected.agrees {
        return vec!["it is what is predicted".to_owned()];
    }
    if expected.slips.is_empty() {
        return vec!["no formula that people use gives it".to_owned()];
    }
    let line = |slip: &iostone_model::answer::Slip| {
        let seconds = figure(Unit::Seconds, slip.seconds.round());
        format!("{} gives {seconds}: {}", slip.formula, joined(&slip.mistakes))
    };
    expected.slips.iter().map(line).collect()
}

/// "a, b, and c".
fn joined(clauses: &[String]) -> String {
    match clauses {
        [] => String::new(),
        [one] => one.clone(),
        [rest @ .., last] => format!("{}, and {last}", rest.join(", ")),
    }
}

/// How far a measurement is off, and what explains it.
pub(crate) fn measured_sentence(measured: &MeasuredTime, prediction: &Prediction) -> String {
    let difference = measured.seconds - prediction.seconds;
    let direction = if difference < 0.0 { "less" } else { "more" };
    let off = if difference.abs() < NO_DIFFERENCE_SECONDS {
        "as predicted".to_owned()
    } else {
        let share = percent((measured.ratio - 1.0).abs());
        let seconds = figure(Unit::Seconds, rounded(difference.abs()));
        format!("{seconds} {direction} than predicted ({share})")
    };
    let excess = || figure(Unit::Bytes, measured.excess_bytes);
    match (&measured.explanation, measured.agreement) {
        (Some(explanation), _) => format!("{off}: {explanation}"),
        (None, MeasuredAgreement::Agrees) => format!("{off}: it agrees"),
        (None, MeasuredAgreement::Slower) => format!("{off}; nothing that is known explains it"),
        (None, MeasuredAgreement::Faster) => {
            format!("{off}: {} above the ceilings, and nothing that is known explains it", excess())
        }
    }
}

/// Whole seconds from ten on.
pub(crate) fn rounded(seconds: f64) -> f64 {
    if seconds < 10.0 { seconds } else { seconds.round() }
}

/// "$0.103".
pub(crate) fn dollars(usd: f64) -> String {
    if usd >= 100.0 {
        format!("${usd:.0}")
    } else if usd >= 1.0 {
        format!("${usd:.2}")
    } else {
        format!("${}", ratio_digits(usd))
    }
}

/// What a figure rests on.
pub(crate) fn basis_word(basis: Basis) -> &'static str {
    match basis {
        Basis::Published => "published",
        Basis::Measured => "measured by others",
        Basis::Assumed => "assumed",
    }
}

/// What else is worth knowing of a prediction, a sentence each.
pub(crate) fn notes(prediction: &Prediction) -> Vec<String> {
    let speed = prediction.speed.map(|speed| {
        format!("An emulation {} times as fast: times and sizes are its own.", factor_digits(speed))
    });
    speed.into_iter().chain(prediction.notes.iter().map(|note| sentence(note))).collect()
}

/// A clause as a sentence.
fn sentence(clause: &str) -> String {
    format!("{}.", capitalised(clause.trim_end_matches('.')))
}

/// Who says so, of each ceiling.
pub(crate) fn sources(answers: &[Answer]) -> Vec<(String, String)> {
    let mut sources: Vec<(String, String)> = Vec::new();
    for row in answers.iter().flat_map(|answer| &answer.prediction.ceilings) {
        let entry = (row.name.clone(), format!("{} ({})", row.source, basis_word(row.basis)));
        if !row.source.is_empty() && !sources.contains(&entry) {
            sources.push(entry);
        }
    }
    sources
}

/// What was taken for granted, of all of them, each sentence once.
pub(crate) fn assumptions(answers: &[Answer]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for assumption in answers.iter().flat_map(|answer| &answer.prediction.assumptions) {
        if !all.contains(&assumption.as_str()) {
            all.push(assumption);
        }
    }
    all
}

/// What a bucket holds over the whole time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BucketCurve<'a> {
    /// Whose it is.
    pub(crate) name: &'a str,
    /// What it is counted in.
    pub(crate) unit: Unit,
    /// The most that it holds.
    pub(crate) capacity: f64,
    /// Places in time with what it holds there.
    pub(crate) points: Vec<(f64, f64)>,
}

impl BucketCurve<'_> {
    /// What it holds at a time, between two points.
    pub(crate) fn at(&self, seconds: f64) -> f64 {
        let after = self.points.iter().position(|(at, _)| *at >= seconds);
        let last = self.points.last().map_or(0.0, |(_, level)| *level);
        match after {
            None => last,
            Some(0) => self.points.first().map_or(last, |(_, level)| *level),
            Some(index) => match (self.points.get(index - 1), self.points.get(index)) {
                (Some((from, low)), Some((to, high))) if to > from => {
                    low + (high - low) * (seconds - from) / (to - from)
                }
                _ => last,
            },
        }
    }

    /// "5 400 000 at the start, 12 000 at the end".
    pub(crate) fn words(&self) -> String {
        let level = |point: Option<&(f64, f64)>| point.map_or(0.0, |(_, level)| *level);
        let written = |value: f64| level_words(self.unit, value);
        let (first, last) = (level(self.points.first()), level(self.points.last()));
        format!(
            "{} at the start, {} at the end, of {}",
            written(first),
            written(last),
            written(self.capacity)
        )
    }
}

/// A level of a bucket: bytes with their unit, credits as a whole number.
pub(crate) fn level_words(unit: Unit, value: f64) -> String {
    match unit {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a level is not negative"
        )]
        Unit::Plain => count(value.round() as u64),
        _ => figure(unit, value),
    }
}

/// A bucket that stays this full was not needed.
const FULL: f64 = 0.999;

/// The curve of every bucket that is not full all the time.
pub(crate) fn bucket_curves(prediction: &Prediction) -> Vec<BucketCurve<'_>> {
    let mut curves: Vec<BucketCurve<'_>> = Vec::new();
    for phase in &prediction.timeline {
        for level in &phase.buckets {
            let known = curves.iter().position(|curve| curve.name == level.name);
            let points = [(phase.from_seconds, level.from), (phase.to_seconds, level.to)];
            match known.and_then(|index| curves.get_mut(index)) {
                Some(curve) => {
                    let from = usize::from(curve.points.last() == points.first());
                    curve.points.extend(points.iter().skip(from));
                }
                None => curves.push(BucketCurve {
                    name: &level.name,
                    unit: level.unit,
                    capacity: level.capacity,
                    points: points.to_vec(),
                }),
            }
        }
    }
    curves.retain(|curve| curve.points.iter().any(|(_, level)| *level < curve.capacity * FULL));
    curves
}

/// How large a share of the time each binding ceiling takes: "link 100 %".
pub(crate) fn shares(prediction: &Prediction) -> Vec<(CeilingKind, f64)> {
    let mut shares: Vec<(CeilingKind, f64)> = Vec::new();
    for phase in &prediction.timeline {
        let share = (phase.to_seconds - phase.from_seconds) / prediction.seconds;
        match shares.iter_mut().find(|(kind, _)| *kind == phase.binds) {
            Some((_, sum)) => *sum += share,
            None => shares.push((phase.binds, share)),
        }
    }
    shares
}

/// "link 62.5 %, volume 37.5 %"; the word alone where it is all.
pub(crate) fn shares_words(prediction: &Prediction) -> String {
    let shares = shares(prediction);
    if let [(kind, _)] = shares.as_slice() {
        return kind.word().to_owned();
    }
    let words = shares.iter().map(|(kind, share)| {
        format!("{} {}", kind.word(), declared_percent((share * 100.0).round() / 100.0))
    });
    words.collect::<Vec<_>>().join(", ")
}
