//! Measures `iostone io` against fio and fio's own `t/io_uring`, in turn, and writes what came out as a page.
//!
//! `make bench` runs it and rewrites `docs/benchmarks.md`; `cargo bench -p iostone --bench peers -- --help` lists the
//! ways to run less of it. Every round runs every case with every tool once, in an order of its own; what is compared
//! are the ratios within a round, so that a machine that is slower for a while is slower for all.
//!
//! fio must be there. `t/io_uring` comes with fio's sources only: it is used where a program `io_uring` is on the
//! `PATH`, or where the variable `T_IO_URING` names it, and left out otherwise.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark's output is for its reader")]

#[path = "peers/arguments.rs"]
mod arguments;
#[path = "peers/cases.rs"]
mod cases;
#[path = "peers/child.rs"]
mod child;
#[path = "peers/counter.rs"]
mod counter;
#[path = "peers/figures.rs"]
mod figures;
#[path = "peers/grounds.rs"]
mod grounds;
#[path = "peers/interrupt.rs"]
mod interrupt;
#[path = "peers/own.rs"]
mod own;
#[path = "peers/page.rs"]
mod page;
#[path = "peers/parse.rs"]
mod parse;
#[path = "peers/tools.rs"]
mod tools;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;

use arguments::Arguments;
use cases::Case;
use child::Child;
use figures::{Rounds, Trial};
use grounds::Grounds;
use tools::{Found, Tool};

/// The page's place in the repository.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/benchmarks.md");

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let found = match tools::find() {
        Ok(found) => found,
        Err(missing) => {
            eprintln!("peers: {missing}");
            return ExitCode::from(2);
        }
    };
    match compare(&arguments, &found) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if interrupt::is_raised() => {
            eprintln!("peers: interrupted, and everything made for it is gone again ({error:#})");
            ExitCode::from(130)
        }
        Err(error) => {
            eprintln!("peers: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments, found: &Found) -> Result<()> {
    interrupt::listen();
    let before = page::Surroundings::look();
    let grounds = Grounds::lay_out(env!("CARGO_TARGET_TMPDIR"), arguments.quick)?;
    let (cases, skipped) = cases::choose(&grounds, arguments.only.as_deref());
    if cases.is_empty() {
        bail!("no case is called `{}`", arguments.only.as_deref().unwrap_or_default());
    }
    for note in skipped.iter().chain(&found.left_out) {
        eprintln!("peers: {note}");
    }
    let rounds = measure(arguments, found, &grounds, &cases)?;
    let own = own::measure(&grounds, found, arguments)?;
    let report = page::Report {
        arguments,
        found,
        grounds: &grounds,
        skipped: &skipped,
        before: &before,
        after: &page::Surroundings::look(),
        rounds: &rounds,
        own: &own,
    };
    let text = page::write(&report);
    println!("\n{text}");
    let place = match (&arguments.output, arguments.is_whole()) {
        (Some(path), _) => path.clone(),
        (None, true) => PAGE.into(),
        // What was measured in part must not stand where the whole does.
        (None, false) => return Ok(()),
    };
    std::fs::write(&place, text).with_context(|| format!("cannot write `{}`", place.display()))?;
    eprintln!("peers: written to `{}`", place.display());
    Ok(())
}

/// Runs all rounds.
fn measure(arguments: &Arguments, found: &Found, grounds: &Grounds, cases: &[Case]) -> Result<Vec<Rounds>> {
    let mut seed = [0u8; 8];
    rustix::rand::getrandom(&mut seed, rustix::rand::GetRandomFlags::empty())?;
    let seed = u64::from_ne_bytes(seed);
    let mut rounds: Vec<Rounds> =
        cases.iter().map(|case| Rounds::new(case.clone(), case.tools(found))).collect();
    for round in 0..arguments.rounds() {
        for number in iostone_stats::schedule::block_order(seed, round, rounds.len()) {
            let Some(rounds) = rounds.get_mut(number) else { continue };
            let order =
                iostone_stats::schedule::block_order(seed ^ (number as u64 + 1), round, rounds.tools.len());
            let mut trials: Vec<Option<Trial>> = vec![None; order.len()];
            for place in order {
                let tool = rounds.tools[place];
                trials[place] = Some(run(tool, &rounds.case, arguments, found, grounds)?);
            }
            rounds.push(trials.into_iter().flatten().collect());
        }
        eprintln!("peers: round {} of {}", round + 1, arguments.rounds());
        for rounds in &rounds {
            eprintln!("  {}", rounds.last_in_a_line());
        }
    }
    Ok(rounds)
}

fn run(tool: Tool, case: &Case, arguments: &Arguments, found: &Found, grounds: &Grounds) -> Result<Trial> {
    let seconds = arguments.seconds();
    let mut command = tool.command(case, seconds, found, grounds)?;
    let child = Child::run(&mut command)?;
    if interrupt::is_raised() {
        bail!("stopped in `{}` by {}", case.name, tool.name());
    }
    parse::trial(tool, case, seconds, found, &child)
        .with_context(|| format!("{} in `{}`: `{:?}`", tool.name(), case.name, command))
}
