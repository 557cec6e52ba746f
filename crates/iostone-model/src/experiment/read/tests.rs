//! The reader on whole files: the shipped experiments, merging, overrides; wrong files are tested through the binary.

use super::*;
use crate::experiment::{Gate, LoopVolume, Volume};
use crate::units::Bytes;
use proptest::prelude::*;

const BARRIER: &str = include_str!("../../../../../experiments/barrier.toml");
const FLUSH_PRICE: &str = include_str!("../../../../../experiments/flush-price.toml");

fn over(path: &str, value: &str) -> Override {
    Override { path: path.to_owned(), value: value.to_owned() }
}

#[test]
fn the_barrier_experiment_has_two_configurations_that_differ_in_one_option() {
    let experiment = read(BARRIER, &[]).unwrap();
    let names: Vec<_> = experiment.configurations.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["on", "off"]);
    let options: Vec<_> = experiment.configurations.iter().map(|c| c.stack.mount.options.join(",")).collect();
    assert_eq!(options, ["noatime,barrier=1", "noatime,barrier=0"]);
    assert_eq!((experiment.baseline_factor.as_str(), experiment.baseline_level.as_str()), ("barrier", "on"));
    assert!(experiment.flushes_matter());
    assert!(matches!(experiment.gates.steal, Gate::Limit(limit) if (limit.0 - 0.05).abs() < 1e-12));
}

#[test]
fn the_flush_price_experiment_varies_the_workload() {
    let experiment = read(FLUSH_PRICE, &[]).unwrap();
    let syncs: Vec<_> = experiment.configurations.iter().map(|c| c.workload.syncs()).collect();
    assert_eq!(syncs, [true, false]);
}

#[test]
fn overrides_take_quantities_numbers_and_lists() {
    let overrides = [
        over("stack.volume.size", "64MiB"),
        over("workload.size", "16MiB"),
        over("decide.blocks.max", "10"),
        over("stack.mount.options", "[\"relatime\"]"),
    ];
    let experiment = read(BARRIER, &overrides).unwrap();
    let stack = &experiment.configurations[0].stack;
    assert!(matches!(&stack.volume, Volume::Loop(LoopVolume { size: Bytes(67_108_864), .. })));
    assert_eq!(stack.mount.options, ["relatime", "barrier=1"]);
    assert_eq!(experiment.decide.blocks.max, 10);
}

#[test]
fn a_setting_that_every_level_replaces_is_an_error() {
    let refused = |path: &str, value: &str| {
        let errors = read(BARRIER, &[over(path, value)]).err().unwrap_or_default();
        errors.into_iter().map(|error| error.message).collect::<Vec<_>>()
    };
    let found = refused("stack.mount.options", "[\"barrier=0\"]");
    assert_eq!(
        found,
        ["`--set stack.mount.options=[\"barrier=0\"]` has no effect: every level sets `stack.mount.options`"]
    );
    assert!(refused("stack.mount.options", "[\"barrier=0\", \"noatime\"]").is_empty(), "one of them stays");
    let twice = [over("workload.bs", "4KiB"), over("workload.bs", "8KiB")];
    assert!(read(BARRIER, &twice).is_ok(), "the last one counts");
    let sizes = BARRIER.replace(
        "[workload]",
        "[[factor]]\nname = \"bs\"\npath = \"workload.bs\"\nvalues = [\"4KiB\", \"64KiB\"]\n\n[workload]",
    );
    let errors = read(&sizes, &[over("workload.bs", "8KiB")]).unwrap_err();
    assert!(errors[0].message.contains("every level sets `workload.bs`"), "{errors:?}");
}

#[test]
fn more_configurations_than_a_block_can_hold_are_refused_before_they_are_made() {
    let levels: Vec<String> =
        (0..10).map(|level| format!("l{level} = {{ workload.iodepth = {} }}", level + 1)).collect();
    let factor =
        |name: usize| format!("[[factor]]\nname = \"f{name}\"\nlevels = {{ {} }}\n\n", levels.join(", "));
    let text = |factors: usize| {
        let all: String = (0..factors).map(factor).collect();
        FLUSH_PRICE.replace("[workload]", &format!("{all}[workload]"))
    };
    let messages = |factors: usize| {
        let errors = read(&text(factors), &[]).unwrap_err();
        errors.into_iter().map(|error| error.message).collect::<Vec<_>>()
    };
    assert!(messages(12)[0].contains(" configurations (2 x 10 x 10 x"), "{:?}", messages(12));
    assert!(messages(30)[0].contains("make more than 2^64 configurations"), "{:?}", messages(30));
}

#[test]
fn several_factors_are_combined_in_full_and_compared_within_strata() {
    let text = BARRIER.replace(
        "[workload]",
        "[[factor]]\nname = \"bs\"\npath = \"workload.bs\"\nvalues = [\"4KiB\", \"64KiB\"]\n\n[workload]",
    );
    let experiment = read(&text, &[]).unwrap();
    let names: Vec<_> = experiment.configurations.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["on, 4KiB", "on, 64KiB", "off, 4KiB", "off, 64KiB"]);
    assert_eq!(experiment.stratum(&experiment.configurations[1]), "bs=64KiB");
    assert_eq!(experiment.compared_level(&experiment.configurations[3]), "off");
}

#[test]
fn an_error_in_a_level_points_into_the_level() {
    let text = BARRIER.replace("off = { mount.options", "off = { mount.optoins");
    let errors = read(&text, &[]).unwrap_err();
    let label = &errors[0].labels[0];
    assert_eq!(&text[label.span.clone()], "optoins");
    assert_eq!(errors[0].fix.as_deref(), Some("options"));
    assert_eq!(errors.len(), 1);
}

#[test]
fn an_error_in_an_override_names_it() {
    let errors = read(BARRIER, &[over("workload.bs", "4KiBs")]).unwrap_err();
    assert!(errors[0].notes.iter().any(|note| note.contains("--set workload.bs=4KiBs")), "{errors:?}");
}

#[test]
fn the_schema_describes_the_shipped_keys() {
    let schema = serde_json::to_value(schemars::schema_for!(crate::experiment::ExperimentFile)).unwrap();
    for key in ["name", "question", "stack", "factor", "workload", "decide", "trials", "gates", "machine"] {
        assert!(schema["properties"].get(key).is_some(), "{key}");
    }
    assert_eq!(SECTIONS.len(), schema["properties"].as_object().unwrap().len());
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        let _ = read(&text, &[]);
    }

    #[test]
    fn no_damage_to_a_good_file_panics(at in 0usize..1400, replacement in "[\\PC\n]{0,4}") {
        let mut text: Vec<char> = BARRIER.chars().collect();
        let at = at.min(text.len());
        let end = (at + replacement.chars().count()).min(text.len());
        text.splice(at..end, replacement.chars());
        let _ = read(&text.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn no_override_panics(path in "[a-z\\.\\[\\]0-9]{0,30}", value in "\\PC{0,20}") {
        let _ = read(BARRIER, &[over(&path, &value)]);
    }
}

#[test]
fn a_level_of_another_kind_takes_the_place_of_the_bases_layer() {
    let text = BARRIER
        .replace("filesystem = { kind = \"ext4\" }\nmount = { options = [\"noatime\"] }\n", "")
        .replace("queue = { write_cache = \"write back\" }\n", "");
    let start = text.find("levels = ").unwrap();
    let end = text[start..].find('\n').unwrap() + start;
    let levels = "levels = { on = {}, off = { volume = { kind = \"directory\", path = \"/var/tmp\" } } }";
    let text = format!("{}{levels}{}", &text[..start], &text[end..]);
    let experiment = read(&text, &[]).unwrap();
    assert!(matches!(experiment.configurations[0].stack.volume, Volume::Loop(_)));
    assert!(matches!(experiment.configurations[1].stack.volume, Volume::Directory(_)));
}

#[test]
fn a_machine_without_a_kind_is_this_host() {
    let of_level = FLUSH_PRICE.replace("[decide]", "[[factor]]\nname = \"words\"\nlevels = { a = { \
        machine.kernel_arguments = [\"quiet\"] }, b = { machine.kernel_arguments = [\"debug\"] } }\n\n[decide]");
    let of_file = format!("{FLUSH_PRICE}\n[machine]\nusd_per_hour = 0.4\n");
    for text in [of_level, of_file] {
        let experiment = read(&text, &[]).unwrap();
        let is_local = |machine: &MachineSpec| matches!(machine, MachineSpec::Local(_));
        assert!(is_local(&experiment.machine));
        assert!(experiment.configurations.iter().all(|one| is_local(&one.machine)));
        assert_ne!(experiment.configurations[0].machine, MachineSpec::default());
    }
    let schema = serde_json::to_value(crate::experiment::json_schema()).unwrap();
    let required = |kind: usize| &schema["$defs"]["MachineSpec"]["oneOf"][kind]["required"];
    assert!(required(0).as_array().is_none_or(Vec::is_empty), "{}", required(0));
    assert!(required(1).to_string().contains("kind"));
}

const SWEEP: &str = r#"
name = "limit"
[stack]
volume = { kind = "directory", path = "/tmp" }
[[factor]]
name = "quota"
path = "limit.cpu"
sweep = "10%..100%"
[workload]
kind = "command"
argv = ["true"]
[decide]
metric = "wall_time"
"#;

#[test]
fn a_sweep_is_a_level_for_each_step_with_its_place_and_without_a_baseline() {
    let experiment = read(SWEEP, &[]).unwrap();
    let (factor, positions) = experiment.sweep().unwrap();
    assert_eq!((factor.name.as_str(), factor.levels.len(), positions.len()), ("quota", 10, 10));
    assert_eq!((experiment.baseline_factor.as_str(), experiment.baseline_level.as_str()), ("quota", ""));
    let shares: Vec<f64> =
        experiment.configurations.iter().map(|c| c.stack.limit.cpu.quota().unwrap().share()).collect();
    assert!(shares.iter().zip(positions).all(|(share, at)| (share - at).abs() < 1e-12), "{shares:?}");
    let other_form = SWEEP.replace("sweep = \"10%..100%\"", "levels = { sweep = \"10%..100%\" }");
    assert_eq!(read(&other_form, &[]).unwrap(), experiment);
    let text = toml::to_string(&experiment.decide).unwrap();
    assert!(!text.contains("baseline"), "{text}");
}

#[test]
fn what_does_not_go_with_a_sweep_is_refused_at_its_place() {
    let wrong = |from: &str, to: &str, part: &str, at: &str| {
        let text = SWEEP.replace(from, to);
        let errors = read(&text, &[]).unwrap_err();
        let error = errors.iter().find(|error| error.message.contains(part));
        let error = error.unwrap_or_else(|| panic!("{errors:?}"));
        let span = error.labels.first().unwrap().span.clone();
        assert_eq!(text.get(span), Some(at), "{error:?}");
    };
    let range = "sweep = \"10%..100%\"";
    wrong("10%..100%", "100%..10%", "does not increase", "\"100%..10%\"");
    wrong("10%..100%", "10..100", "of the wrong kind", "\"10..100\"");
    wrong(range, &format!("{range}\nvalues = [\"1%\"]"), "a sweep has no `values`", "[\"1%\"]");
    wrong("path = \"limit.cpu\"\n", "", "which setting", "\"10%..100%\"");
    wrong("wall_time\"", "wall_time\"\nbaseline = \"30%\"", "no baseline", "\"30%\"");
    let second = "[[factor]]\nname = \"b\"\nlevels = { a = {}, b = { limit.memory = \"1GiB\" } }\n[workload]";
    wrong("[workload]", second, "the only factor", "\"quota\"");
    wrong(
        "[workload]",
        "[combine]\nexclude = [{ quota = \"30%\" }]\n[workload]",
        "cannot be left out",
        "exclude",
    );
    wrong("limit.cpu", "mount.options", "of the wrong kind", "\"10%..100%\"");
}

#[test]
fn only_a_sweep_may_leave_its_baseline_out() {
    let text = SWEEP.replace("sweep = \"10%..100%\"", "values = [\"10%\", \"20%\"]");
    let errors = read(&text, &[]).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        (errors[0].code.as_str(), errors[0].message.as_str()),
        ("io0003", "`decide` has no `baseline`")
    );
}

/// The experiment of a sweep in a line, and what is said of it.
fn said_of_sweep(path: &str, range: &str) -> Vec<Diagnostic> {
    let text = format!(
        "name = \"t\"\n[stack]\nvolume = {{ kind = \"directory\" }}\n[[factor]]\nname = \"q\"\npath = \"{path}\"\nsweep = \
         \"{range}\"\n[workload]\nkind = \"command\"\nargv = [\"true\"]\n[decide]\nmetric = \"wall_time\"\n"
    );
    let errors = read(&text, &[]).err().unwrap_or_default();
    for error in &errors {
        let label = error.labels.first().unwrap();
        assert_eq!(&text[label.span.clone()], format!("\"{range}\""), "{error:?}");
    }
    errors
}

#[test]
fn a_wrong_range_is_one_error_and_none_about_a_baseline() {
    for range in ["100%..10%", "..", "10%...100%", "1%..100% step 1%"] {
        assert_eq!(said_of_sweep("limit.cpu", range).len(), 1, "{range}");
    }
}

#[test]
fn a_level_of_a_sweep_that_is_out_of_range_is_named_below_the_range() {
    let errors = said_of_sweep("limit.cpu", "0%..90%");
    assert!(errors[0].notes.iter().any(|note| note == "this is the level `0%`"), "{errors:?}");
}

#[test]
fn numbers_are_text_where_a_variable_of_the_environment_is_swept() {
    assert_eq!(said_of_sweep("workload.env.JOBS", "1..8 doubling"), []);
}
