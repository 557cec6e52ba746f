//! Figures that a machine with other things to do spoils from one side only: nothing is granted faster than the law allows,
//! whatever else happens, and what the law allows is reached in any one of several attempts, unless the machine itself was
//! late in each of them.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub(crate) const ATTEMPTS: usize = 5;
const NAP: Duration = Duration::from_millis(2);
/// What timers are late by on an idle machine; only what is beyond it counts.
const USUAL: Duration = Duration::from_micros(500);

/// How late a plain sleeper woke up beside a measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lateness {
    /// Of all the time, 0 to 1.
    pub(crate) share: f64,
    pub(crate) longest_seconds: f64,
}

/// Measures, and how late the machine was meanwhile.
pub(crate) fn beside_a_sleeper<T>(measure: impl FnOnce() -> T) -> (T, Lateness) {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let (begun, mut late, mut longest) = (Instant::now(), Duration::ZERO, Duration::ZERO);
            while !over.load(Ordering::Relaxed) {
                let asleep = Instant::now();
                std::thread::sleep(NAP);
                let beyond = asleep.elapsed().saturating_sub(NAP + USUAL);
                late += beyond;
                longest = longest.max(beyond);
            }
            let share = late.as_secs_f64() / begun.elapsed().as_secs_f64();
            Lateness { share, longest_seconds: longest.as_secs_f64() }
        });
        // Ends the sleeper also where the measurement panics; the scope would wait for it for ever.
        let _ending = Ending(&over);
        let measured = measure();
        over.store(true, Ordering::Relaxed);
        (measured, sleeper.join().unwrap())
    })
}

struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What came of attempts, each of which ends all of them if it was good.
#[derive(Debug)]
pub(crate) enum Attempted<T> {
    Good(T),
    /// None was, and the machine was late in each.
    Excused,
}

/// Tries until an attempt is good, which `judge` tells by a figure or by what is wrong with it. Panics if none is and the
/// machine was not late by more than `excuse` of the time in each of them.
#[track_caller]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub(crate) fn attempt<T>(
    what: &str,
    excuse: f64,
    mut judge: impl FnMut() -> Result<T, String>,
) -> Attempted<T> {
    let mut failures = Vec::new();
    let mut was_late_each_time = true;
    for _ in 0..ATTEMPTS {
        match beside_a_sleeper(&mut judge) {
            (Ok(good), _) => return Attempted::Good(good),
            (Err(why), late) => {
                was_late_each_time &= late.share > excuse;
                failures.push(format!("{why} ({:.1} % late)", late.share * 100.0));
            }
        }
    }
    assert!(was_late_each_time, "{what}: {failures:?}");
    eprintln!("skipped: {what} may not be reached by a machine as late as this one: {failures:?}");
    Attempted::Excused
}

/// Holds a figure to a law: above `most` it never is, and `least` it reaches in one attempt.
#[track_caller]
pub(crate) fn reaches(what: &str, least: f64, most: f64, mut measure: impl FnMut() -> f64) {
    attempt(what, (1.0 - least / most).abs() / 2.0, || {
        let figure = measure();
        assert!(figure <= most, "{what}: {figure}, and {most} is the most");
        if figure >= least { Ok(()) } else { Err(format!("{figure:.3} instead of {least:.3}")) }
    });
}
