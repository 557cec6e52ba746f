//! Holds the verdicts to their promises: simulated tables whose truth is known, judged through the public door.
//!
//! `make truth` writes the tables of `docs/concepts/truth.md` and fails where a rate is above what is promised beyond its
//! binomial bound. `--quick` is a tenth of it and writes nothing.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a benchmark may end with a panic"
)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "its output is its result")]

mod broken;
mod covariates;
mod curves;
mod design;
mod models;
mod page;
mod peers;
mod rates;
mod sweeps;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use broken::BROKEN;
use design::{BEYOND, Family, Outcome, RATIOS, keeps_premise, same};
use iostone_stats::schedule::SplitMix64;
use models::{MODELS, Model, Noise};
use rates::Rate;

/// Many tables of one kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    /// Tables in which some comparison was called faster or slower.
    pub(crate) different: Rate,
    /// Tables in which some comparison was called equivalent.
    pub(crate) equivalent: Rate,
    /// Tables with an interval that misses the truth.
    pub(crate) missed: Rate,
    /// Comparisons without a verdict.
    pub(crate) open: Rate,
    /// Tables of which a verdict was withheld, and those with a verdict that is marked for carry-over.
    pub(crate) withheld: Rate,
    pub(crate) unchecked: Rate,
    /// Sums of the blocks of the first verdict and of the last.
    blocks: [f64; 2],
}

impl Cell {
    fn add(&mut self, outcome: &Outcome) {
        self.different.add(outcome.different);
        self.equivalent.add(outcome.equivalent);
        self.missed.add(!outcome.covers);
        let (decided, all) = outcome.decided;
        self.open = self.open.and(Rate { count: all - decided, of: all });
        let has = |name: &str| outcome.flags.iter().any(|flag| flag == name);
        self.withheld.add(has("withheld"));
        self.unchecked.add(
            (has("carry-over-unchecked") || has("carry-over-suspected"))
                && (outcome.different || outcome.equivalent),
        );
        self.blocks[0] += f64::from(outcome.blocks.0);
        self.blocks[1] += f64::from(outcome.blocks.1);
    }

    pub(crate) fn first_verdict(&self) -> f64 {
        self.blocks[0] / f64::from(self.different.of.max(1))
    }

    pub(crate) fn last_verdict(&self) -> f64 {
        self.blocks[1] / f64::from(self.different.of.max(1))
    }
}

/// What is simulated in a cell.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) model: &'static Model,
    pub(crate) ratio: f64,
    pub(crate) family: Family,
    tables: u32,
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let tables = |full: u32| if quick { full / 10 } else { full };
    let mut tasks = Vec::new();
    for model in MODELS.iter().chain(BROKEN) {
        for ratio in RATIOS {
            tasks.push(Task { model, ratio, family: Family::Levels(1), tables: tables(1000) });
        }
    }
    for model in MODELS {
        for ratio in RATIOS {
            for (family, full) in [
                (Family::Levels(2), 300),
                (Family::Levels(3), 200),
                (Family::Levels(7), 150),
                (Family::Superblock(1), 500),
                (Family::Superblock(3), 200),
                (Family::Grid(7, 4), 50),
                (Family::Strata(28), 100),
            ] {
                // What may be claimed wrongly is of interest.
                let full = if same(ratio, 1.0) || same(ratio, BEYOND) { full } else { full / 3 };
                tasks.push(Task { model, ratio, family, tables: tables(full) });
            }
        }
    }
    // Curves take a hundred times as long, so there are fewer of them.
    for model in MODELS.iter().step_by(3) {
        for ratio in RATIOS {
            for family in [Family::Points(28), Family::PointsApart(28)] {
                let full = if same(ratio, 1.0) || same(ratio, BEYOND) { 60 } else { 30 };
                tasks.push(Task { model, ratio, family, tables: tables(full) });
            }
        }
    }
    let cells = simulate(&tasks);
    let peers = ask_peers(tables(1000));
    let sweeps = sweep(u64::from(tables(100)));
    let adjusted = covariates::compare(tables(1000));
    let savings = curves::compare(&[1.05, 1.10, 1.5], tables(100));
    let mut failures = check(&tasks, &cells, quick);
    failures.extend(check_curves(&savings));
    failures.extend(check_sweeps(&sweeps));
    failures.extend(covariates::check(&adjusted));
    let page = page::write(&tasks, &cells, &savings, &adjusted, &peers, &sweeps);
    println!("{page}");
    if !quick {
        page::replace(&page);
    }
    for failure in &failures {
        eprintln!("{failure}");
    }
    if !failures.is_empty() {
        std::process::exit(1);
    }
}

/// Simulates all cells, on all processors. The tables of a cell are functions of its numbers alone.
fn simulate(tasks: &[Task]) -> Vec<Cell> {
    let cells = Mutex::new(vec![Cell::default(); tasks.len()]);
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some((index, task)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, tasks.get(i)?)))
        {
            let mut cell = Cell::default();
            // Other draws in each cell, so that cells can be added up.
            let first = 10_000 * (1 + index as u64);
            for table in 0..task.tables {
                let seed = first + u64::from(table);
                cell.add(&design::run(task.model, task.ratio, task.family, seed));
            }
            cells.lock().unwrap_or_else(PoisonError::into_inner)[index] = cell;
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    cells.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Sweeps over all curves, a row for each number of levels.
fn sweep(repetitions: u64) -> Vec<(usize, sweeps::Row)> {
    /// The standard deviation of one trial's log figure beside what its block has in common.
    const NOISE: [f64; 3] = [0.01, 0.03, 0.06];
    let of = |levels: usize| {
        let cells = sweeps::CURVES.into_iter().flat_map(|curve| NOISE.map(|noise| (curve, noise)));
        let sum = cells.fold(sweeps::Row::default(), |sum, (curve, noise)| {
            let cell = sweeps::cell(curve, levels, noise, repetitions)
                .unwrap_or_else(|error| panic!("{}: {error}", curve.name));
            sweeps::Row { sweep: sum.sweep.and(cell.sweep), race: sum.race.and(cell.race) }
        });
        (levels, sum)
    };
    [5, 10, 20].into_iter().map(of).collect()
}

/// A sweep is to take no more trials than racing all levels, and to err no more often than it says.
fn check_sweeps(rows: &[(usize, sweeps::Row)]) -> Vec<String> {
    let broken = |(_, row): &&(usize, sweeps::Row)| {
        row.sweep.trials > row.race.trials || 20 * row.sweep.wrong.max(row.race.wrong) > row.sweep.runs
    };
    rows.iter().filter(broken).map(|(levels, row)| format!("a sweep of {levels} levels: {row:?}")).collect()
}

/// How another way fares over all models that keep the premise.
pub(crate) struct Peer {
    pub(crate) name: &'static str,
    /// The worst rate of false differences, and under which noise.
    pub(crate) different: (Rate, &'static str),
    /// The same of false equivalences just beyond the margin; none where none is claimed.
    pub(crate) equivalent: (Rate, &'static str),
    /// The same of intervals that miss the truth, at all ratios; none where none is given.
    pub(crate) missed: (Rate, &'static str),
    /// Mean trials at each ratio.
    pub(crate) trials: Vec<f64>,
}

fn ask_peers(tables: u32) -> Vec<Peer> {
    let ask = |way: &peers::Way| {
        let nothing = (Rate::default(), "");
        let mut peer = Peer {
            name: way.name,
            different: nothing,
            equivalent: nothing,
            missed: nothing,
            trials: vec![0.0; RATIOS.len()],
        };
        let raise = |worst: &mut (Rate, &'static str), rate: Rate, name| {
            if worst.0.of == 0 || rate.share() > worst.0.share() {
                *worst = (rate, name);
            }
        };
        for model in MODELS {
            let mut missed = Rate::default();
            for (ratio, trials) in RATIOS.into_iter().zip(&mut peer.trials) {
                let [mut different, mut equivalent] = [Rate::default(); 2];
                let mut sum = 0.0;
                for table in 0..tables {
                    let seed = 1 + u64::from(table);
                    let mut noise = Noise(SplitMix64::new(seed ^ 0xA5A5_5A5A_0F0F_F0F0));
                    let answer = (way.ask)(model, &mut noise, ratio, seed);
                    different.add(answer.different);
                    if let Some(interval) = answer.interval {
                        equivalent.add(interval.equivalent);
                        missed.add(!interval.covers);
                    }
                    sum += f64::from(answer.trials);
                }
                *trials += sum / f64::from(tables.max(1)) / MODELS.len() as f64;
                if same(ratio, 1.0) {
                    raise(&mut peer.different, different, model.name);
                }
                if same(ratio, BEYOND) {
                    raise(&mut peer.equivalent, equivalent, model.name);
                }
            }
            raise(&mut peer.missed, missed, model.name);
        }
        peer
    };
    peers::WAYS.iter().map(ask).collect()
}

/// A shared coin is to spare that share of the blocks of a curve's clear effects, where its points have most in common.
fn check_curves(savings: &[curves::Saving]) -> Vec<String> {
    const SPARED: f64 = 0.4;
    let related = |saving: &&curves::Saving| saving.spread.common > saving.spread.own;
    let broken = |saving: &&curves::Saving| saving.shares().into_iter().any(|share| share < SPARED);
    savings.iter().filter(related).filter(broken).map(|saving| format!("curves: {saving:.3?}")).collect()
}

/// What is promised and was not kept.
fn check(tasks: &[Task], cells: &[Cell], quick: bool) -> Vec<String> {
    // So many rates are looked at that one in some hundred may be this surprising by chance.
    const SURPRISING: f64 = 1e-3;
    let mut failures = Vec::new();
    for (task, cell) in tasks.iter().zip(cells).filter(|(task, _)| keeps_premise(task.model, task.family)) {
        let mut promise = |what: &str, rate: Rate| {
            if rate.share() > 0.05 && rate.upper_p(0.05) < SURPRISING {
                failures.push(format!(
                    "{}, {:?}, ratio {}: {what} in {} of {}",
                    task.model.name, task.family, task.ratio, rate.count, rate.of
                ));
            }
        };
        promise("an interval that misses the truth", cell.missed);
        if same(task.ratio, 1.0) {
            promise("a false difference", cell.different);
        }
        if task.ratio >= BEYOND {
            promise("a false equivalence", cell.equivalent);
        }
    }
    let mean = |ratio: f64| page::mean_blocks(tasks, cells, Family::Levels(1), ratio);
    for (ratio, at_most) in [(1.0, 24.6), (BEYOND, 22.3), (1.05, 15.3), (1.10, 9.3)] {
        if !quick && mean(ratio) > at_most {
            failures
                .push(format!("ratio {ratio}: {:.1} blocks on average, more than {at_most}", mean(ratio)));
        }
    }
    failures
}
