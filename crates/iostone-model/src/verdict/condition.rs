//! Conditions on verdicts, as `--fail-if` takes them: `new slower than old`, `xfs not equivalent to ext4`, `undecided`.
//!
//! ```text
//! undecided
//! LEVEL [not] faster than LEVEL
//! LEVEL [not] slower than LEVEL
//! LEVEL [not] equivalent to LEVEL
//! ```

use std::fmt;
use std::str::FromStr;

use super::{SweepOutcome, Verdict, Verdicts};

/// A verdict that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Some comparison has no verdict of its own: `undecided`, `unstable`, or none at all.
    Undecided,
    /// A level stands so to another.
    Stands(Standing),
}

/// How a level should stand, or not stand, to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The level that is spoken of.
    pub level: String,
    /// Whether any other verdict is asked for, no verdict included.
    pub not: bool,
    /// The verdict: faster, slower or equivalent.
    pub verdict: Verdict,
    /// The other side of the comparison.
    pub than: String,
}

/// The forms of [`Standing`]: the verdict's words between the two levels.
const FORMS: [(&str, Verdict); 3] = [
    (" faster than ", Verdict::Faster),
    (" slower than ", Verdict::Slower),
    (" equivalent to ", Verdict::Equivalent),
];

const NOT: &str = " not";

/// A text that is no condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "write `undecided`, or a verdict between two levels: `new slower than old`, `new not faster than old`, `new not equivalent \
     to old`"
)]
pub struct NoCondition;

impl FromStr for Condition {
    type Err = NoCondition;

    fn from_str(text: &str) -> Result<Self, NoCondition> {
        if text.trim().eq_ignore_ascii_case("undecided") {
            return Ok(Self::Undecided);
        }
        // Names of levels may hold several spaces in a row; the words between them need not.
        read_standing(text)
            .or_else(|_| read_standing(&text.split_whitespace().collect::<Vec<_>>().join(" ")))
            .map(Self::Stands)
    }
}

/// Names of levels may hold spaces, so that the words between them are looked for, in any case; the first decide.
fn read_standing(text: &str) -> Result<Standing, NoCondition> {
    let small = text.to_ascii_lowercase();
    let found = FORMS.iter().filter_map(|(words, verdict)| Some((small.find(words)?, words.len(), *verdict)));
    let (at, length, verdict) = found.min_by_key(|(at, ..)| *at).ok_or(NoCondition)?;
    let level = text.get(..at).unwrap_or_default().trim();
    let than = text.get(at + length..).unwrap_or_default().trim();
    let before_not = level.len().saturating_sub(NOT.len());
    let not = level.get(before_not..).is_some_and(|end| end.eq_ignore_ascii_case(NOT));
    let level = if not { level.get(..before_not).unwrap_or_default().trim_end() } else { level };
    if level.is_empty() || than.is_empty() {
        return Err(NoCondition);
    }
    Ok(Standing { level: level.to_owned(), not, verdict, than: than.to_owned() })
}

impl fmt::Display for Condition {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Stands(Standing { level, not, verdict, than }) = self else {
            return formatter.write_str("undecided");
        };
        let words = FORMS.iter().find(|(_, form)| form == verdict).map_or(" ", |(words, _)| words);
        write!(formatter, "{level}{}{words}{than}", if *not { NOT } else { "" })
    }
}

/// Why a condition cannot be answered by the comparisons that there are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unanswerable {
    /// A level that does not occur.
    #[error("`{0}` is no level that is compared; the levels are {list}", list = quoted(.1))]
    NoLevel(String, Vec<String>),
    /// Two levels that are not compared with each other.
    #[error("`{0}` is not compared with `{1}`; levels are compared with {list}", list = quoted(.2))]
    NotCompared(String, String, Vec<String>),
    /// A sweep.
    #[error("a sweep finds the best level and compares no two; only `undecided` can be asked of it")]
    Sweep,
}

fn quoted(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// The two sides of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sides<'a> {
    /// The level.
    pub level: &'a str,
    /// What it is compared with.
    pub baseline: &'a str,
}

impl Condition {
    /// Whether it can be answered where those are compared; without any, only `undecided` can.
    pub fn check(&self, compared: &[Sides<'_>]) -> Result<(), Unanswerable> {
        let Self::Stands(asked) = self else { return Ok(()) };
        if compared.is_empty() {
            return Err(Unanswerable::Sweep);
        }
        if compared.iter().any(|sides| asked.is_of(*sides).is_some()) {
            return Ok(());
        }
        let mut names: Vec<String> = Vec::new();
        let mut baselines: Vec<String> = Vec::new();
        for sides in compared {
            for name in [sides.baseline, sides.level].map(str::to_owned) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            if !baselines.iter().any(|name| name == sides.baseline) {
                baselines.push(sides.baseline.to_owned());
            }
        }
        match [&asked.level, &asked.than].into_iter().find(|name| !names.contains(name)) {
            Some(unknown) => Err(Unanswerable::NoLevel(unknown.clone(), names)),
            None => Err(Unanswerable::NotCompared(asked.level.clone(), asked.than.clone(), baselines)),
        }
    }

    /// The comparison for which it holds first, in words: "new is slower than old (filesystem=ext4)".
    pub fn holds(&self, verdicts: &Verdicts) -> Option<String> {
        if let (Self::Undecided, Some(sweep)) = (self, &verdicts.sweep) {
            let is_open = matches!(sweep.outcome, SweepOutcome::Open | SweepOutcome::Unstable);
            return is_open.then(|| format!("no level of {} was shown to be the best", sweep.factor));
        }
        judged(verdicts).into_iter().find_map(|found| {
            let Judged { sides, stratum, verdict } = found;
            let place = if stratum.is_empty() { String::new() } else { format!(" ({stratum})") };
            match self {
                Self::Undecided => {
                    let word = match verdict {
                        Some(Verdict::Faster | Verdict::Slower | Verdict::Equivalent) => return None,
                        Some(verdict) => verdict.word(),
                        None => "without a verdict",
                    };
                    Some(format!("{} against {} is {word}{place}", sides.level, sides.baseline))
                }
                Self::Stands(asked) => {
                    let is_reversed = asked.is_of(sides)?;
                    let own = if is_reversed { verdict.map(reversed) } else { verdict };
                    if (own == Some(asked.verdict)) == asked.not {
                        return None;
                    }
                    let (level, than) = (&asked.level, &asked.than);
                    Some(match own {
                        Some(Verdict::Faster) => format!("{level} is faster than {than}{place}"),
                        Some(Verdict::Slower) => format!("{level} is slower than {than}{place}"),
                        Some(Verdict::Equivalent) => format!("{level} is equivalent to {than}{place}"),
                        Some(verdict) => format!("{level} against {than} is {}{place}", verdict.word()),
                        None => format!("{level} against {than} is without a verdict{place}"),
                    })
                }
            }
        })
    }
}

impl Standing {
    /// Whether it speaks of these two, and then whether the other way round.
    fn is_of(&self, sides: Sides<'_>) -> Option<bool> {
        if (sides.level, sides.baseline) == (self.level.as_str(), self.than.as_str()) {
            return Some(false);
        }
        ((sides.baseline, sides.level) == (self.level.as_str(), self.than.as_str())).then_some(true)
    }
}

struct Judged<'a> {
    sides: Sides<'a>,
    stratum: &'a str,
    verdict: Option<Verdict>,
}

/// Whole curves where curves were judged, else every comparison.
fn judged(verdicts: &Verdicts) -> Vec<Judged<'_>> {
    if !verdicts.curves.is_empty() {
        let curves = verdicts.curves.iter().map(|curve| Judged {
            sides: Sides { level: &curve.level, baseline: &curve.baseline },
            stratum: &curve.stratum,
            verdict: Some(curve.verdict),
        });
        return curves.collect();
    }
    let comparisons = verdicts.comparisons.iter().map(|comparison| Judged {
        sides: Sides { level: &comparison.level, baseline: &comparison.baseline },
        stratum: &comparison.stratum,
        verdict: comparison.verdict,
    });
    comparisons.collect()
}

fn reversed(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Faster => Verdict::Slower,
        Verdict::Slower => Verdict::Faster,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stands(text: &str) -> (String, bool, Verdict, String) {
        match text.parse().unwrap() {
            Condition::Stands(Standing { level, not, verdict, than }) => (level, not, verdict, than),
            Condition::Undecided => panic!("{text}"),
        }
    }

    #[test]
    fn a_verdict_stands_between_two_levels_whose_names_may_hold_spaces() {
        let of = |level: &str, not, verdict, than: &str| (level.to_owned(), not, verdict, than.to_owned());
        assert_eq!(stands("new slower than old"), of("new", false, Verdict::Slower, "old"));
        assert_eq!(
            stands(" sh new.sh  faster than sh old.sh"),
            of("sh new.sh", false, Verdict::Faster, "sh old.sh")
        );
        assert_eq!(stands("a not faster than b"), of("a", true, Verdict::Faster, "b"));
        assert_eq!(stands("a not equivalent to b not c"), of("a", true, Verdict::Equivalent, "b not c"));
        assert_eq!("undecided".parse(), Ok(Condition::Undecided));
        assert_eq!(stands("new  NOT slower   Than old"), ("new".into(), true, Verdict::Slower, "old".into()));
        for wrong in ["", "slower", "new slower", " slower than old", "new slower than ", "new is old"] {
            assert_eq!(wrong.parse::<Condition>(), Err(NoCondition), "{wrong}");
        }
        for text in ["undecided", "a b not slower than c", "a equivalent to b"] {
            assert_eq!(text.parse::<Condition>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn only_levels_that_are_compared_can_be_asked_of() {
        let compared = [Sides { level: "new", baseline: "old" }, Sides { level: "newer", baseline: "old" }];
        let check = |text: &str| text.parse::<Condition>().unwrap().check(&compared);
        assert_eq!(check("new slower than old"), Ok(()));
        assert_eq!(check("old faster than newer"), Ok(()));
        assert_eq!(check("undecided"), Ok(()));
        assert_eq!(
            check("nwe slower than old").unwrap_err().to_string(),
            "`nwe` is no level that is compared; the levels are `old`, `new`, `newer`"
        );
        assert_eq!(
            check("new slower than newer").unwrap_err().to_string(),
            "`new` is not compared with `newer`; levels are compared with `old`"
        );
        assert_eq!("a slower than b".parse::<Condition>().unwrap().check(&[]), Err(Unanswerable::Sweep));
    }
}
