//! Reads what timing a command prints: bash, POSIX, zsh, tcsh, ksh, the BSDs, busybox and GNU time with `-v`.

mod forms;

use iostone_model::dataset::{Ending, Figure, MetricNote, Observation, Order};
use iostone_model::metric::{Direction, Unit};

use crate::error::Malformed;
use crate::transcript;
use crate::{Format, Head, Input, Likeness, Line, ReadError, Reading};

use forms::{Amount, Part, Times};

/// The output of `time`.
pub(crate) struct Time;

impl Format for Time {
    fn name(&self) -> &'static str {
        "time"
    }

    fn title(&self) -> &'static str {
        "time: shells' and GNU's, with -v"
    }

    /// Times often stand below what the timed command printed itself: then they are only likely to be what is wanted.
    fn recognise(&self, head: &Head<'_>) -> Likeness {
        let lines = head.text.lines().filter(|line| !line.trim().is_empty());
        // Most keys of `-v` are not read, but are its own nevertheless.
        let verbose = head.text.contains(forms::COMMAND);
        let is_own = |line: &str| forms::is_own(line) || (verbose && line.starts_with('\t'));
        let (own, all) =
            lines.fold((0u32, 0u32), |(own, all), line| (own + u32::from(is_own(line)), all + 1));
        match own {
            0 => Likeness::No,
            _ if own * 2 >= all => Likeness::Certain,
            _ => Likeness::Likely,
        }
    }

    fn read(&self, input: &mut Input<'_>) -> Result<Reading, ReadError> {
        let mut log = Log::default();
        while let Some(line) = input.next_line()? {
            log.take(&line)?;
            if !input.line_has_end() {
                log.refuse_a_cut(&line)?;
            }
        }
        if let Some(begun) = log.verbose_since() {
            return Err(Malformed::at_end(input.line() + 1, end_of_verbose(begun)).into());
        }
        log.close();
        let observations = log.observations;
        if observations.is_empty() {
            return Err(Malformed::at_end(
                input.line(),
                "`real`, `user` and `sys` times, or those of GNU time",
            )
            .into());
        }
        let order = if observations.len() > 1 { Order::AsListed } else { Order::Unknown };
        let named = observations.iter().flat_map(|observation| observation.figures.keys());
        let metrics = named.filter_map(|name| {
            let (_, unit, title) = RESOURCES.iter().find(|(resource, ..)| resource == name)?;
            let better = Some(Direction::Lower);
            Some((name.clone(), MetricNote { unit: *unit, better, title: (*title).to_owned() }))
        });
        Ok(Reading { metrics: metrics.collect(), observations, factors: Vec::new(), order })
    }
}

/// What GNU time knows beside times, from getrusage(2).
const RESOURCES: &[(&str, Unit, &str)] = &[
    ("memory_max", Unit::Bytes, "largest resident memory"),
    ("major_faults", Unit::Plain, "page faults that needed I/O"),
    ("minor_faults", Unit::Plain, "page faults without I/O"),
    ("voluntary_switches", Unit::Plain, "times it waited of its own accord"),
    ("involuntary_switches", Unit::Plain, "times it was interrupted by others"),
    ("inputs", Unit::Bytes, "read from devices"),
    ("outputs", Unit::Bytes, "written to devices"),
];

/// The times of one command, while its lines are read.
#[derive(Debug, Default)]
struct Timing {
    line: u64,
    wall: Option<Figure>,
    user: Option<Figure>,
    system: Option<Figure>,
    resources: Vec<(&'static str, Figure)>,
    command: Option<String>,
    ending: Option<Ending>,
    /// GNU time's `-v`, whose lines go on until `Exit status`.
    verbose: bool,
}

#[derive(Default)]
struct Log {
    observations: Vec<Observation>,
    open: Option<Timing>,
    /// How the command ended, which GNU time tells before its times.
    ending: Option<Ending>,
    /// The command behind a `$ time ...`, for the times that follow.
    command: Option<String>,
}

/// The last line of `-v`, as messages call it.
fn end_of_verbose(begun: u64) -> String {
    format!("`Exit status: N`, the last line of what GNU time began on line {begun}")
}

impl Log {
    /// On which line what GNU time's `-v` prints began, while it goes on.
    fn verbose_since(&self) -> Option<u64> {
        self.open.as_ref().filter(|open| open.verbose).map(|open| open.line)
    }

    /// A file that ends within a line may end within a number: then the last time has fewer decimals than the others.
    fn refuse_a_cut(&self, line: &Line) -> Result<(), ReadError> {
        let Some(Times::Part(_, last)) = Times::find(line)? else { return Ok(()) };
        let triple = self.open.as_ref().map(|open| [open.wall, open.user, open.system]);
        let closed = self.observations.last().map(|closed| {
            ["wall_time", "user_time", "system_time"].map(|name| closed.figures.get(name).copied())
        });
        let finest =
            triple.or(closed).into_iter().flatten().flatten().map(|time| time.step).fold(1.0, f64::min);
        if !line.text.trim_end().ends_with('s') && (last.step > finest || last.step >= 1.0) {
            return Err(line
                .malformed("the end of the line: the file is cut off, perhaps within a number")
                .into());
        }
        Ok(())
    }

    fn take(&mut self, line: &Line) -> Result<(), ReadError> {
        let Some(times) = Times::find(line)? else {
            if let Some(command) = transcript::command(&line.text, "time") {
                let command =
                    command.trim_start_matches("time").trim_start().trim_start_matches("-p ").trim();
                if !command.is_empty() {
                    self.close();
                    self.command = Some(command.to_owned());
                }
            }
            return Ok(());
        };
        match times {
            Times::Whole { wall, user, system, command } => {
                self.close();
                self.open = Some(Timing {
                    line: line.number,
                    wall: Some(wall),
                    user: Some(user),
                    system: Some(system),
                    command,
                    ..Timing::default()
                });
                self.close_unless_more_follows(&line.text);
            }
            Times::Part(part, figure) => self.part(line.number, part, figure),
            Times::Resources(amounts) => {
                if let Some(open) = &mut self.open {
                    open.resources.extend(amounts.into_iter().map(|Amount(name, figure)| (name, figure)));
                }
            }
            Times::Command(command) => {
                if let Some(begun) = self.verbose_since() {
                    return Err(line.malformed(end_of_verbose(begun)).into());
                }
                self.close();
                self.open = Some(Timing {
                    line: line.number,
                    command: Some(command),
                    verbose: true,
                    ..Timing::default()
                });
            }
            Times::Status(status) => {
                if let Some(open) = self.open.as_mut().filter(|_| self.ending.is_none()) {
                    open.ending = Some(ending_of(status));
                }
                self.close();
            }
            Times::Failed(why) => {
                self.close();
                self.ending = Some(Ending::Failed(why));
            }
        }
        Ok(())
    }

    /// GNU time's default has a second line; the one-line forms have not.
    fn close_unless_more_follows(&mut self, line: &str) {
        if line.contains("elapsed") {
            if let (Some(Amount(name, figure)), Some(open)) = (forms::memory_max(line), &mut self.open) {
                open.resources.push((name, figure));
            }
        } else {
            self.close();
        }
    }

    /// `real`, `user` or `sys` on a line of its own: one that is there already begins the next triple.
    fn part(&mut self, line: u64, part: Part, figure: Figure) {
        let slot = |timing: &mut Timing| match part {
            Part::Wall => timing.wall.replace(figure).is_some(),
            Part::User => timing.user.replace(figure).is_some(),
            Part::System => timing.system.replace(figure).is_some(),
        };
        let taken = self.open.as_ref().is_some_and(|open| match part {
            Part::Wall => open.wall.is_some(),
            Part::User => open.user.is_some(),
            Part::System => open.system.is_some(),
        });
        if taken {
            self.close();
        }
        let open = self.open.get_or_insert_with(|| Timing { line, ..Timing::default() });
        slot(open);
        if open.wall.is_some() && open.user.is_some() && open.system.is_some() && !open.verbose {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(timing) = self.open.take() else { return };
        let Some(wall) = timing.wall else { return };
        let mut observation =
            Observation { tool: "time".to_owned(), line: Some(timing.line), ..Observation::default() };
        let figures = [("wall_time", Some(wall)), ("user_time", timing.user), ("system_time", timing.system)];
        for (name, figure) in figures {
            if let Some(figure) = figure {
                observation.figures.insert(name.to_owned(), figure);
            }
        }
        for (name, figure) in timing.resources {
            observation.figures.insert(name.to_owned(), figure);
        }
        let facts = &mut observation.facts;
        if let (Some(user), Some(system)) = (timing.user, timing.system) {
            facts.cpus_used = Some((user.value + system.value) / wall.value).filter(|cpus| cpus.is_finite());
        }
        facts.command = timing.command.or_else(|| self.command.take());
        facts.work.clone_from(&facts.command);
        facts.ending = self.ending.take().or(timing.ending);
        self.observations.push(observation);
    }
}

/// What an exit status says (wait(2)); shells and GNU time tell 128 and more for signals.
fn ending_of(status: i32) -> Ending {
    if status == 0 { Ending::Completed } else { Ending::Failed(format!("exit status {status}")) }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Observation> {
        Time.read(&mut Input::of_text("time.log", text)).unwrap().observations
    }

    #[test]
    fn several_times_stand_in_one_log() {
        let text = "$ time make\n\nreal\t1m2.500s\nuser\t1m40.000s\nsys\t0m5.000s\n$ time make\n\nreal\t1m0,000s\nuser\t1m30,000s\nsys\t0m4,000s\n";
        let observations = read(text);
        assert_eq!(observations.len(), 2);
        assert_eq!(observations[0].value("wall_time"), Some(62.5));
        assert_eq!(observations[1].value("user_time"), Some(90.0));
        assert_eq!(observations[0].facts.work.as_deref(), Some("make"));
        assert_eq!(observations[0].facts.cpus_used, Some(105.0 / 62.5));
        assert_eq!(observations[0].figures["wall_time"].step, 0.001);
    }

    #[test]
    fn a_file_that_is_cut_within_a_number_is_refused() {
        let refused = |text: &str| Time.read(&mut Input::of_text("x", text)).unwrap_err().to_string();
        let whole = "real\t0m1.200s\nuser\t0m0.300s\nsys\t0m0.003s";
        assert_eq!(read(whole)[0].value("system_time"), Some(0.003));
        for cut in ["sys\t0m0.003", "sys\t0m0.", "sys\t0m", "sys\t0"] {
            let text = whole.replace("sys\t0m0.003s", cut);
            assert!(refused(&text).starts_with("line 3: expected "), "{text}");
        }
        assert_eq!(read("real 0.20\nuser 0.00\nsys 0.00").len(), 1);
        assert!(refused("real 0.20\nuser 0.00\nsys 0.0").contains("cut off"));
    }

    #[test]
    fn what_gnu_time_tells_in_many_lines_has_an_end() {
        let whole = include_str!("../tests/fixtures/time/gnu-v.txt");
        assert_eq!(read(whole.trim_end()).len(), 1);
        let refused = |text: &str| Time.read(&mut Input::of_text("x", text)).unwrap_err().to_string();
        for end in ["0:00.", "0:00.03", "Page size (bytes): 4096\n", "Exit status: "] {
            let cut = &whole[..whole.find(end).unwrap() + end.len()];
            assert!(refused(cut).contains("expected"), "{cut}");
            assert!(refused(&format!("{cut}\n{whole}")).contains("expected"), "{cut}");
        }
    }

    #[test]
    fn a_time_of_zero_keeps_its_step() {
        let observations = read("real\t0m0.010s\nuser\t0m0.000s\nsys\t0m0.000s\n");
        assert_eq!(observations[0].figures["user_time"], Figure { value: 0.0, step: 0.001 });
    }

    #[test]
    fn times_in_front_of_other_text_are_only_likely() {
        let likeness = |text| Time.recognise(&Head { name: "x.log", text });
        assert_eq!(likeness("\nreal\t0m1.0s\nuser\t0m1.0s\nsys\t0m1.0s\n"), Likeness::Certain);
        let long = format!("{}\nreal\t0m1.0s\n", "compiling\n".repeat(9));
        assert_eq!(likeness(&long), Likeness::Likely);
        assert_eq!(likeness("real life\n"), Likeness::No);
    }
}
