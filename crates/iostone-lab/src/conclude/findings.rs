//! Findings come into force: what they withhold of verdicts, and the flags that tell of them.

use iostone_model::audit::{Effect, Finding, Severity, Subject};
use iostone_model::verdict::{Comparison, CurveVerdict, Flag, GateState, Verdict, Verdicts};

/// Flags of version 0.1.0 for what rules find today.
const FLAGS_OF_RULES: &[&str] = &[
    "cached-below",
    "compressed",
    "confounded-circumstances",
    "confounded-levels",
    "cpu-time-differs",
    "discard-imbalance",
    "host-steal",
    "idle-member",
    "in-memory",
    "kernel-changed",
    "mixed-machines",
    "no-flush",
    "not-interleaved",
    "not-steady",
    "page-cache",
    "slow-member",
    "source-limited",
    "sync-dropped",
];

/// Takes back the verdicts that a finding forbids, and flags the comparisons that findings are about. What is about none of
/// them is the run's: those flags are given back.
pub(super) fn put_in_force(findings: &[Finding], comparisons: &mut [Comparison]) -> Vec<Flag> {
    let mut of_run = Vec::new();
    for finding in findings {
        let flag = Flag { severity: Some(finding.severity), ..Flag::new(&finding.rule, &*finding.message) };
        let mut is_told = false;
        for comparison in comparisons.iter_mut() {
            let is_own = match &finding.subject {
                Subject::Comparison { level, stratum } => {
                    *level == comparison.level
                        && stratum.as_ref().is_none_or(|stratum| *stratum == comparison.stratum)
                }
                Subject::Run | Subject::Configuration { .. } => false,
            };
            if is_own || finding.subject == Subject::Run {
                withhold(comparison, finding);
            }
            if is_own {
                comparison.flags.push(flag.clone());
                is_told = true;
            }
        }
        if !is_told {
            of_run.push(flag);
        }
    }
    of_run
}

/// Takes a verdict back that the figures alone would give.
fn withhold(comparison: &mut Comparison, finding: &Finding) {
    // A gate answers both ways by the figures alone.
    let is_answered = comparison.gate.is_some_and(|gate| gate != GateState::Unsettled);
    let (is_forbidden, short) = match (finding.effect, comparison.verdict) {
        (Effect::WithholdDifference, Some(Verdict::Faster | Verdict::Slower)) => {
            (true, "the figures differ, but not by this setting")
        }
        (Effect::WithholdDifference, _) if comparison.gate == Some(GateState::Worse) => {
            (true, "the figures differ, but not by this setting")
        }
        (Effect::Withhold, _) if is_answered => (true, "trials were discarded unevenly"),
        (Effect::Withhold, Some(Verdict::Faster | Verdict::Slower | Verdict::Equivalent)) => {
            (true, "trials were discarded unevenly")
        }
        _ => (false, ""),
    };
    if is_forbidden {
        comparison.verdict = Some(Verdict::Undecided);
        comparison.gate = comparison.gate.map(|_| GateState::Unsettled);
        comparison.flags.push(Flag::new("withheld", format!("{short}: {}", finding.message)));
    }
}

/// Marks the flags of version 0.1.0 that tell of findings, which had no severity then: it is that of the finding of today.
pub(crate) fn mark_flags_of_rules(verdicts: &mut Verdicts, findings: &[Finding]) {
    let of_comparisons = verdicts.comparisons.iter_mut().flat_map(|one: &mut Comparison| &mut one.flags);
    let of_curves = verdicts.curves.iter_mut().flat_map(|one: &mut CurveVerdict| &mut one.flags);
    for flag in verdicts.flags.iter_mut().chain(of_comparisons).chain(of_curves) {
        if FLAGS_OF_RULES.contains(&flag.name.as_str()) {
            let own = findings.iter().find(|finding| finding.rule == flag.name);
            flag.severity.get_or_insert(own.map_or(Severity::Warning, |finding| finding.severity));
        }
    }
}
