//! What rules find doubtful in made-up records of runs.

mod cached_below;
mod confounded;
mod cpu;
mod dropped;
mod members;

use iostone_model::audit::Finding;
use iostone_model::trial::GuestFacts;

use super::{plan, trial};
use crate::conclude::*;

/// What a rule finds in trials.
fn found(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord], rule: &str) -> Vec<Finding> {
    let environment = Environment::default();
    let audit = iostone_audit::judge(&iostone_audit::evidence("", plan, trials, blocks, &environment));
    audit.findings.into_iter().filter(|finding| finding.rule == rule).collect()
}

fn messages(plan: &Plan, trials: &[TrialRecord], blocks: &[BlockRecord], rule: &str) -> Vec<String> {
    found(plan, trials, blocks, rule).into_iter().map(|finding| finding.message).collect()
}

fn one_block() -> [BlockRecord; 1] {
    [BlockRecord { number: 0, order: Vec::new(), counted: true, reason: None, loss: None }]
}

#[test]
fn a_guest_beside_the_host_is_told() {
    let plan = plan("", "");
    let mut trials = [trial(1, 0, 0, "on", 1.0, 0), trial(2, 0, 1, "off", 1.0, 0)];
    assert!(messages(&plan, &trials, &one_block(), "mixed-machines").is_empty());
    trials[1].guest = Some(Box::new(GuestFacts { accelerator: "kvm".to_owned(), ..GuestFacts::default() }));
    assert_eq!(
        messages(&plan, &trials, &one_block(), "mixed-machines"),
        [
            "host and guest compared: `on` on the host, `off` in guests by KVM; the ratios hold that difference too"
        ]
    );
}

#[test]
fn writes_beyond_the_claim_make_up_for_no_reads() {
    // Its device wrote 1 GiB and read nothing.
    let mut one = trial(1, 0, 0, "on", 1.0, 0);
    one.workload.claimed_read_bytes = 256 << 20;
    one.workload.claimed_written_bytes = 256 << 20;
    let told =
        |one: &TrialRecord| messages(&plan("", ""), std::slice::from_ref(one), &one_block(), "page-cache");
    assert_eq!(
        told(&one),
        ["under barrier=on 50.0 % of the 537 MB that the tool claims never passed the device: page cache"]
    );
    one.workload.claimed_read_bytes = 0;
    assert!(told(&one).is_empty());
}
