//! The table of allowances against what its sources say.

use iostone_model::experiment::{Basis, Law};

use super::*;

#[test]
fn every_row_of_every_file_is_read() {
    let lines = |text: &str| text.lines().filter(|line| !line.starts_with('#')).count() - 1;
    let expected = 2 * lines(include_str!("../../data/credits.csv"))
        + lines(include_str!("../../data/t1-micro.csv"))
        + lines(include_str!("../../data/builds.csv"));
    let read: usize = governed_types().map(|name| allowances(name).unwrap().len()).sum();
    assert_eq!(read, expected);
    assert_eq!(governed_types().count(), 28 + 1 + 6);
}

#[test]
fn credits_are_earned_at_the_baseline_and_kept_for_a_day() {
    for instance in governed_types() {
        for allowance in allowances(instance).unwrap() {
            let Law::Credits { baseline, earned_per_hour, maximum, launch, unlimited } = allowance.law else {
                continue;
            };
            let vcpus = f64::from(allowance.vcpus);
            assert!((earned_per_hour - vcpus * baseline.0 * 60.0).abs() < 1e-9, "{instance}");
            assert!((maximum - 24.0 * earned_per_hour).abs() < 1e-9, "{instance}");
            let expected = if instance.starts_with("t2.") && !unlimited { 30.0 * vcpus } else { 0.0 };
            assert!((launch - expected).abs() < 1e-9, "{instance}");
            assert_eq!(allowance.basis, Basis::Published);
        }
    }
}

#[test]
fn each_type_has_its_default_first_and_its_laws_by_name() {
    let names =
        |instance: &str| allowances(instance).unwrap().into_iter().map(|a| a.name).collect::<Vec<_>>();
    assert_eq!(names("t1.micro"), ["penalty", "costly-bucket", "bucket", "window"]);
    assert_eq!(names("t2.micro"), ["credits", "unlimited"]);
    assert_eq!(names("t3.micro"), ["credits", "standard"]);
    assert_eq!(names("m3.medium"), ["share", "steal"]);
    let unlimited = |instance: &str| {
        matches!(allowance(instance, None).unwrap().law, Law::Credits { unlimited: true, .. })
    };
    assert!(!unlimited("t2.large"));
    assert!(unlimited("t3a.large") && unlimited("t4g.nano"));
}

#[test]
fn shares_are_those_of_the_builds() {
    let share = |instance: &str, law: &str| match allowance(instance, Some(law)).unwrap().law {
        Law::Share { share } => share.0,
        other => panic!("{other:?}"),
    };
    assert!((share("c3.large", "share") - 559.948 / 777.345).abs() < 1e-12);
    assert!((share("m1.small", "share") - 0.2286).abs() < 1e-4);
    // Half an m1.medium, as its compute units say: 1 against 2.
    assert!((share("m1.medium", "share") / share("m1.small", "share") - 2.01).abs() < 0.01);
    // Two ways to the same figure, a tenth apart.
    assert!((share("m3.medium", "steal") / share("m3.medium", "share") - 1.0).abs() < 0.1);
    assert!(allowances("m3.medium").unwrap().iter().all(|allowance| allowance.basis == Basis::Assumed));
}

#[test]
fn a_mistyped_type_or_law_is_told_what_there_is() {
    assert_eq!(
        allowance("t2.mirco", None).unwrap_err().to_string(),
        "no CPU allowance of `t2.mirco` is known, did you mean `t2.micro`? `iostone credits --list` shows those that are"
    );
    assert_eq!(
        allowance("t1.micro", Some("credits")).unwrap_err().to_string(),
        "`t1.micro` has no law `credits`, only penalty, costly-bucket, bucket, window"
    );
    assert!(matches!(allowances("banana"), Err(UnknownAllowance::Instance { nearest: None, .. })));
}
