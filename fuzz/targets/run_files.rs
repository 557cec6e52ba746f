//! The files of a run directory: records that are read must survive being written again.
#![no_main]

use iostone_fuzz::read_json;
use iostone_lab::conclude::rules;
use iostone_lab::{Entry, estimate};
use iostone_model::environment::Environment;
use iostone_model::run::Plan;
use iostone_model::sample::Sample;
use iostone_model::trial::TrialRecord;
use iostone_model::verdict::Verdicts;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(plan) = read_json::<Plan>(bytes) {
        plan.comparisons();
        rules(&plan, &[]);
        estimate(&plan);
    }
    read_json::<TrialRecord>(bytes);
    read_json::<Verdicts>(bytes);
    read_json::<Sample>(bytes);
    if let Some(environment) = read_json::<Environment>(bytes) {
        iostone_probe::describe(&environment);
    }
    for line in bytes.split(|byte| *byte == b'\n') {
        read_json::<Entry>(line);
    }
});
