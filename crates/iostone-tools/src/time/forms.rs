//! The forms in which shells and programs print times, one line at a time.

use std::sync::LazyLock;

use iostone_model::dataset::Figure;
use regex::Regex;

use crate::units::figure;
use crate::{Line, ReadError};

/// One of the three times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Wall,
    User,
    System,
}

/// A figure of getrusage(2), with its name.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Amount(pub(super) &'static str, pub(super) Figure);

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Times {
    /// All three on one line: zsh, tcsh, ksh, BSD, GNU.
    Whole {
        wall: Figure,
        user: Figure,
        system: Figure,
        /// zsh repeats the command.
        command: Option<String>,
    },
    /// One of three lines: bash, POSIX, busybox; or one of GNU's `-v`.
    Part(Part, Figure),
    Resources(Vec<Amount>),
    /// `Command being timed: "..."`.
    Command(String),
    /// `Exit status: 0`.
    Status(i32),
    /// `Command exited with non-zero status 3`, `Command terminated by signal 9`.
    Failed(String),
}

fn pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

/// bash and ksh93 (`real\t0m0.205s`), busybox (`real\t0m 0.20s`) and POSIX (`real 0.20`).
static PART: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(real|user|sys)[\t ]+((?:\d+h ?)?(?:\d+m ?)?\d+(?:[.,]\d+)?s?)\s*$"));
/// One of bash's that was cut off: what has minutes has the sign of seconds.
static CUT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(?:real|user|sys)[\t ]+(?:\d+h ?)?\d+m ?(?:\d+(?:[.,]\d*)?)?$"));
/// `make -j4  12.00s user 1.50s system 198% cpu 6.812 total`.
static ZSH: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(.*?)\s*([\d.,]+)s user ([\d.,]+)s system \d+% cpu ([\d:.,]+) total\s*$"));
/// `0.001u 0.000s 0:00.20 0.0% 0+0k 0+0io 0pf+0w`.
static TCSH: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^([\d.,]+)u ([\d.,]+)s ([\d:.,]+) [\d.,]+%\s+\d+\+\d+k "));
/// `        0.20 real         0.00 user         0.00 sys` (BSD), `0m00.20s real     0m00.00s user ...` (ksh, mksh).
static BSD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^\s*((?:\d+m)?[\d.,]+)s?\s+real\s+((?:\d+m)?[\d.,]+)s?\s+user\s+((?:\d+m)?[\d.,]+)s?\s+sys")
});
/// `0.00user 0.00system 0:00.20elapsed 0%CPU (0avgtext+0avgdata 1632maxresident)k`.
static GNU: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^([\d.,]+)user ([\d.,]+)system ([\d:.,]+)elapsed [\d?]+%CPU"));
static MEMORY_MAX: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"(\d+)maxresident\)k"));
/// `0inputs+0outputs (0major+99minor)pagefaults 0swaps`.
static GNU_SECOND: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^(\d+)inputs\+(\d+)outputs \((\d+)major\+(\d+)minor\)pagefaults"));
static FAILED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"^Command (exited with non-zero status \d+|terminated by signal \d+|stopped by signal \d+)")
});

/// The keys of `-v` (GNU time(1)); block I/O is counted in 512 bytes, memory in 1024.
const KEYS: &[(&str, &str, f64)] = &[
    ("Maximum resident set size (kbytes)", "memory_max", 1024.0),
    ("Major (requiring I/O) page faults", "major_faults", 1.0),
    ("Minor (reclaiming a frame) page faults", "minor_faults", 1.0),
    ("Voluntary context switches", "voluntary_switches", 1.0),
    ("Involuntary context switches", "involuntary_switches", 1.0),
    ("File system inputs", "inputs", 512.0),
    ("File system outputs", "outputs", 512.0),
];

/// How the first line of `-v` begins.
pub(super) const COMMAND: &str = "Command being timed: ";

/// Whether a line is one of those read here, without reading it.
pub(super) fn is_own(line: &str) -> bool {
    let matches =
        |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|found| found.is_match(line));
    line.trim_start().starts_with(COMMAND)
        || [&PART, &ZSH, &TCSH, &BSD, &GNU, &GNU_SECOND, &FAILED].into_iter().any(matches)
}

impl Times {
    /// What a line says; None for other lines.
    pub(super) fn find(line: &Line) -> Result<Option<Self>, ReadError> {
        let text = line.text.as_str();
        let found = |pattern: &'static LazyLock<Option<Regex>>| {
            pattern.as_ref().and_then(|found| found.captures(text))
        };
        let duration =
            |text: &str| duration(text).ok_or_else(|| line.malformed(format!("a time instead of `{text}`")));
        if found(&CUT).is_some() {
            return Err(line.malformed("a time that ends with `s`").into());
        }
        if let Some(parts) = found(&PART) {
            let part = match &parts[1] {
                "real" => Part::Wall,
                "user" => Part::User,
                _ => Part::System,
            };
            return Ok(Some(Self::Part(part, duration(&parts[2])?)));
        }
        if let Some(parts) = found(&ZSH) {
            let command = Some(parts[1].to_owned()).filter(|command| !command.is_empty());
            let (user, system, wall) = (duration(&parts[2])?, duration(&parts[3])?, duration(&parts[4])?);
            return Ok(Some(Self::Whole { wall, user, system, command }));
        }
        if let Some(parts) = found(&TCSH).or_else(|| found(&GNU)) {
            let (user, system, wall) = (duration(&parts[1])?, duration(&parts[2])?, duration(&parts[3])?);
            return Ok(Some(Self::Whole { wall, user, system, command: None }));
        }
        if let Some(parts) = found(&BSD) {
            let (wall, user, system) = (duration(&parts[1])?, duration(&parts[2])?, duration(&parts[3])?);
            return Ok(Some(Self::Whole { wall, user, system, command: None }));
        }
        if let Some(parts) = found(&GNU_SECOND) {
            let names = [("inputs", 512.0), ("outputs", 512.0), ("major_faults", 1.0), ("minor_faults", 1.0)];
            let amounts = names.iter().enumerate().filter_map(|(at, (name, factor))| {
                Some(Amount(name, figure(parts.get(at + 1)?.as_str(), *factor)?))
            });
            return Ok(Some(Self::Resources(amounts.collect())));
        }
        if let Some(parts) = found(&FAILED) {
            return Ok(Some(Self::Failed(parts[1].to_owned())));
        }
        verbose(line)
    }
}

/// A line of `-v`: the key itself may hold colons, so it is told from the value by the last one.
fn verbose(line: &Line) -> Result<Option<Times>, ReadError> {
    let text = line.text.trim();
    if let Some(command) = text.strip_prefix(COMMAND) {
        return Ok(Some(Times::Command(command.trim_matches('"').to_owned())));
    }
    let Some((key, value)) = text.rsplit_once(": ") else { return Ok(None) };
    let malformed = || line.malformed(format!("a number after `{key}`"));
    let part = match key {
        "User time (seconds)" => Some(Part::User),
        "System time (seconds)" => Some(Part::System),
        "Elapsed (wall clock) time (h:mm:ss or m:ss)" => Some(Part::Wall),
        _ => None,
    };
    if let Some(part) = part {
        return Ok(Some(Times::Part(part, duration(value).ok_or_else(malformed)?)));
    }
    if key == "Exit status" && line.text.starts_with(char::is_whitespace) {
        return Ok(Some(Times::Status(value.trim().parse().map_err(|_| malformed())?)));
    }
    let Some((_, name, factor)) = KEYS.iter().find(|(known, ..)| *known == key) else { return Ok(None) };
    Ok(Some(Times::Resources(vec![Amount(name, figure(value, *factor).ok_or_else(malformed)?)])))
}

/// The largest resident memory on GNU time's default line, which it counts in KiB.
pub(super) fn memory_max(line: &str) -> Option<Amount> {
    let captures = MEMORY_MAX.as_ref()?.captures(line)?;
    Some(Amount("memory_max", figure(captures.get(1)?.as_str(), 1024.0)?))
}

/// `0m0.205s`, `0m 0.20s`, `1h 2m 3s`, `1:02:03`, `0:00.20` or `0.20`, with a point or a comma, in seconds.
fn duration(text: &str) -> Option<Figure> {
    let text = text.trim().trim_end_matches('s').replace(',', ".");
    let mut seconds = 0.0;
    let mut last = text.as_str();
    while let Some(at) = last.find(['h', 'm', ':']) {
        let part = last[..at].trim().parse::<u32>().ok()?;
        // `1h 2m`: the unit tells; `1:02:03`: the position does.
        seconds = match last.as_bytes().get(at) {
            Some(b'h') => f64::from(part) * 3600.0,
            Some(b'm') => seconds + f64::from(part) * 60.0,
            _ => (seconds + f64::from(part)) * 60.0,
        };
        last = &last[at + 1..];
    }
    // `0:00.` was cut off.
    let last = figure(last, 1.0).filter(|_| !last.ends_with('.'))?;
    Some(Figure { value: seconds + last.value, step: last.step })
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the same arithmetic gives the same digits")]
mod tests {
    use super::*;

    #[test]
    fn durations_of_every_form_are_read() {
        let cases = [
            ("0m0.205s", 0.205),
            ("62m0,500s", 3720.5),
            ("0m 0.20s", 0.2),
            ("1h 2m 3s", 3723.0),
            ("1:02:03", 3723.0),
            ("2:03.45", 123.45),
            ("0.20", 0.2),
        ];
        for (text, seconds) in cases {
            assert!((duration(text).unwrap().value - seconds).abs() < 1e-9, "{text}");
        }
        assert_eq!(duration("1:x"), None);
        assert_eq!(duration("1:02:03").unwrap().step, 1.0);
    }

    #[test]
    fn one_line_forms_are_read() {
        let whole = |text: &str| {
            let line = Line { number: 1, text: text.to_owned() };
            match Times::find(&line).unwrap() {
                Some(Times::Whole { wall, user, system, command }) => {
                    (wall.value, user.value, system.value, command)
                }
                other => panic!("{text}: {other:?}"),
            }
        };
        let zsh = "make -j4  12.00s user 1.50s system 198% cpu 1:06.812 total";
        assert_eq!(whole(zsh), (66.812, 12.0, 1.5, Some("make -j4".to_owned())));
        assert_eq!(whole("0.001u 0.002s 0:00.20 0.0%\t0+0k 0+0io 0pf+0w"), (0.2, 0.001, 0.002, None));
        assert_eq!(whole("        0.20 real         0.01 user         0.02 sys"), (0.2, 0.01, 0.02, None));
        assert_eq!(whole("    0m00.20s real     0m00.01s user     0m00.02s system"), (0.2, 0.01, 0.02, None));
        let gnu = "0.01user 0.02system 0:00.20elapsed 0%CPU (0avgtext+0avgdata 1632maxresident)k";
        assert_eq!(whole(gnu), (0.2, 0.01, 0.02, None));
    }
}
