//! Counts how often the audit warns of figures that were taken as they should be.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its own functions as well")]
#![expect(clippy::print_stderr, reason = "what raised an alarm is told beside the count")]

use std::collections::BTreeMap;

use iostone_audit::{Rule, audit};
use iostone_model::audit::{Finding, Severity};

use crate::chance::Chance;
use crate::clean::{Design, make};

/// Rules about what clean sets do not have: averages, calculations made beforehand, and the name of a rented machine.
const UNTRIED: &[&str] = &["no-spread", "prediction-beyond-ceiling", "above-every-ceiling"];

/// What many audits came to.
struct Count {
    /// How many datasets raised anything beyond a note.
    alarmed: usize,
    /// How often each rule did.
    by_rule: BTreeMap<String, usize>,
    /// On how many datasets each rule could look.
    looked: BTreeMap<String, usize>,
}

/// How many of so many datasets raise anything, and which rules how often; examples go to the test's output.
fn count(seed: u64, sets: usize, design: impl Fn(&mut Chance) -> (Design, bool)) -> Count {
    let mut chance = Chance::new(seed);
    let mut looked: BTreeMap<String, usize> = BTreeMap::new();
    let mut alarmed = 0;
    let mut by_rule: BTreeMap<String, usize> = BTreeMap::new();
    for set in 0..sets {
        let (design, effect) = design(&mut chance);
        let made = make(&mut chance, design, effect);
        let report = audit(&made.dataset);
        for rule in report.clear.iter().chain(report.findings.iter().map(|finding| &finding.rule)) {
            *looked.entry(rule.clone()).or_default() += 1;
        }
        let found: Vec<Finding> =
            report.findings.into_iter().filter(|finding| finding.severity > Severity::Note).collect();
        alarmed += usize::from(!found.is_empty());
        let mut rules: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
        rules.dedup();
        for rule in rules {
            let times = by_rule.entry(rule.to_owned()).or_default();
            *times += 1;
            if *times <= 2 {
                let message =
                    found.iter().find(|finding| finding.rule == rule).map(|finding| &finding.message);
                eprintln!("set {set} ({}): {rule}: {}", made.recipe, message.unwrap());
            }
        }
    }
    eprintln!("{alarmed} of {sets} sets raised an alarm: {by_rule:?}");
    Count { alarmed, by_rule, looked }
}

#[test]
fn clean_sets_raise_an_alarm_in_at_most_one_of_twenty() {
    let design = |chance: &mut Chance| {
        let design = match chance.below(10) {
            0 => Design::Shuffled,
            1 => Design::Alone,
            _ => Design::Blocks,
        };
        (design, chance.share() < 0.5)
    };
    let Count { alarmed, by_rule, looked } = count(20_261_122, 1000, design);
    assert!(alarmed <= 50, "{alarmed} of 1000: {by_rule:?}");
    // Silence of a rule that could not look would prove nothing. Averages are not among what is made here.
    for rule in iostone_audit::rules_for(None).map(Rule::name).filter(|name| !UNTRIED.contains(name)) {
        assert!(looked.get(rule).is_some_and(|times| *times >= 50), "`{rule}` hardly looked");
    }
}

#[test]
fn equal_conditions_run_one_after_another_are_told_as_that_and_nothing_else() {
    let Count { alarmed, by_rule, .. } = count(7, 200, |_| (Design::Sequential, false));
    assert_eq!(alarmed, 200);
    assert_eq!(by_rule.get("order-confounded"), Some(&200));
    // The trend test looks at single series too, and errs in one of a hundred.
    let others: usize =
        by_rule.iter().filter(|(rule, _)| *rule != "order-confounded").map(|(_, times)| times).sum();
    assert!(others <= 10, "{by_rule:?}");
}

#[test]
fn every_rule_has_a_name_of_its_own_and_says_what_it_looks_for() {
    let mut names = std::collections::BTreeSet::new();
    for rule in iostone_audit::rules() {
        assert!(names.insert(rule.name()), "`{}` twice", rule.name());
        assert!(
            rule.name().chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'),
            "{}",
            rule.name()
        );
        assert!(!rule.looks_for().is_empty() && !rule.looks_for().ends_with('.'), "{}", rule.looks_for());
    }
}
