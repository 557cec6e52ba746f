//! Recommendations: the published job, targets that are looser and tighter, and answers held against predictions.

use std::time::Duration;

use iostone_model::cloud::CeilingKind;
use iostone_model::recommendation::{Choice, Recommendation};
use iostone_model::units::Bytes;
use proptest::prelude::*;

use super::*;
use crate::catalogue;

const GIB: u64 = 1 << 30;

fn minutes(minutes: u64) -> Span {
    Span(Duration::from_secs(60 * minutes))
}

fn date(text: &str) -> CatalogueDate {
    text.parse().unwrap()
}

/// 220 GiB written, by the limits of a date.
fn published(within: u64, when: &str) -> Wanted {
    let work = Work::sequential(Bytes(0), Bytes(220 * GIB));
    Wanted::new(Goal::Within(minutes(within)), work, Bytes(220 * GIB), date(when))
}

fn rate(bytes_per_second: f64, span: Option<Span>, when: &str) -> Wanted {
    let goal = Goal::Rate { bytes_per_second, ios_per_second: None, span };
    Wanted::new(goal, Work::sequential(Bytes(0), Bytes(0)), Bytes(100 * GIB), date(when))
}

/// I/Os a second of 16 KiB anywhere.
fn ios(iops: u32, when: &str) -> Wanted {
    let bytes_per_second = f64::from(iops) * 16384.0;
    let goal = Goal::Rate { bytes_per_second, ios_per_second: Some(iops.into()), span: None };
    let work = Work::sequential(Bytes(0), Bytes(0)).at_random(Bytes(16384), None);
    Wanted::new(goal, work, Bytes(100 * GIB), date(when))
}

fn asked(wanted: &Wanted) -> Recommendation {
    recommend(catalogue(), wanted).unwrap()
}

/// What `predict` says of a choice.
fn predicted(wanted: &Wanted, choice: &Choice) -> iostone_model::prediction::Prediction {
    predict(catalogue(), &wanted.question(&choice.instance, &choice.volumes.parse().unwrap())).unwrap()
}

fn holds(wanted: &Wanted, choice: &Choice) -> bool {
    let said = predicted(wanted, choice);
    match wanted.goal {
        Goal::Within(span) => said.seconds <= span.0.as_secs_f64() * (1.0 + 1e-6),
        Goal::Rate { bytes_per_second, .. } => said.bytes_per_second >= bytes_per_second * (1.0 - 1e-6),
    }
}

#[test]
fn the_published_job_has_cheaper_ways() {
    let wanted = published(25, "2017-07");
    let found = asked(&wanted);
    assert!(found.is_met);
    let of_then = wanted.question("c4.4xlarge", &"gp2:220GiB".parse().unwrap());
    let of_then = predict(catalogue(), &of_then).unwrap();
    assert!((of_then.seconds / 1384.6 - 1.0).abs() < 0.01 || of_then.seconds < 1500.0);
    let price = catalogue().price("c4.4xlarge", "us-east-1").unwrap().usd_per_hour;
    assert!(found.chosen.usd_per_hour < price, "{:?}", found.chosen);
    assert!(found.chosen.seconds.unwrap() <= 1500.0);
    let runner_up = found.runner_up.as_ref().unwrap();
    assert!(runner_up.usd_per_hour >= found.chosen.usd_per_hour);
    for choice in found.front.iter().chain([&found.chosen, runner_up]) {
        assert!(holds(&wanted, choice), "{choice:?}");
    }
    for miss in &found.misses {
        assert!(!holds(&wanted, miss) && miss.usd_per_hour < found.chosen.usd_per_hour, "{miss:?}");
    }
    assert!(!found.misses.is_empty());
}

#[test]
fn the_published_mistake_is_refused_for_its_link() {
    let wanted = Wanted { families: vec!["c4.large".to_owned()], ..published(25, "2017-07") };
    let found = asked(&wanted);
    assert!(!found.is_met && found.runner_up.is_none() && found.misses.is_empty());
    assert_eq!((found.chosen.instance.as_str(), found.chosen.binds), ("c4.large", CeilingKind::Link));
    // 220 GiB at 62.5 MB/s.
    assert!((found.chosen.seconds.unwrap() - 3779.6).abs() < 1.0, "{:?}", found.chosen);
}

#[test]
fn the_front_gets_dearer_and_faster() {
    for wanted in [published(25, "2026-01"), rate(5e8, None, "2026-01"), ios(20_000, "2026-01")] {
        let found = asked(&wanted);
        assert!(found.is_met);
        assert_eq!(found.front.first(), Some(&found.chosen));
        assert!(found.front.len() > 2, "{:?}", found.front);
        for pair in found.front.windows(2) {
            assert!(pair[0].usd_per_hour <= pair[1].usd_per_hour + 1e-9, "{pair:?}");
            assert!(pair[0].bytes_per_second < pair[1].bytes_per_second, "{pair:?}");
        }
    }
}

#[test]
fn bursts_count_for_a_time_and_not_for_ever() {
    let for_ever = asked(&rate(5e8, None, "2026-01"));
    let a_while = asked(&rate(5e8, Some(minutes(20)), "2026-01"));
    assert!(a_while.chosen.usd_per_hour < for_ever.chosen.usd_per_hour);
    assert!(holds(&rate(5e8, None, "2026-01"), &for_ever.chosen));
    assert!(!holds(&rate(5e8, None, "2026-01"), &a_while.chosen));
}

#[test]
fn what_is_not_known_is_named_and_what_was_asked_is_kept() {
    let wanted = Wanted {
        architecture: Some(Architecture::Arm64),
        vcpus: Some("4..".parse().unwrap()),
        memory: Some("16GiB..".parse().unwrap()),
        volume_types: vec!["io2".to_owned()],
        most_volumes: 2,
        local_disks: false,
        ..ios(20_000, "2026-01")
    };
    let found = asked(&wanted);
    for choice in &found.front {
        let instance = catalogue().instance(&choice.instance).unwrap();
        assert!(instance.architectures.contains(&Architecture::Arm64));
        assert!(instance.vcpus >= Some(4) && instance.memory >= Some(Bytes(16 * GIB)));
        assert_eq!(instance.has_local_disks(), Some(false));
        let spec: VolumeSpec = choice.volumes.parse().unwrap();
        assert!(spec.volume_type == "io2" && spec.count <= 2, "{spec}");
        assert!(spec.size.0 * u64::from(spec.count) >= 100 * GIB, "{spec}");
    }
    assert!(found.unknown.iter().any(|unknown| unknown.reason.contains("no price in us-east-1")));
    let all = asked(&ios(20_000, "2026-01"));
    assert!(all.unknown.iter().any(|unknown| unknown.name == "standard"), "{:?}", all.unknown);
}

#[test]
fn targets_and_names_that_are_none_are_refused() {
    let error = |wanted: &Wanted| recommend(catalogue(), wanted).unwrap_err().to_string();
    let mars = Wanted { region: "mars-1".to_owned(), ..published(25, "2026-01") };
    assert!(error(&mars).contains("`mars-1`"), "{}", error(&mars));
    let typo = Wanted { volume_types: vec!["gp33".to_owned()], ..published(25, "2026-01") };
    assert!(error(&typo).contains("did you mean `gp3`"), "{}", error(&typo));
    let early = Wanted { volume_types: vec!["gp3".to_owned()], ..published(25, "2017-07") };
    assert!(error(&early).contains("gp3"), "{}", error(&early));
    let nobody = Wanted { families: vec!["q*".to_owned()], ..published(25, "2026-01") };
    assert!(error(&nobody).contains("no instance type fits"), "{}", error(&nobody));
    let no_time = Wanted { goal: Goal::Within(Span(Duration::ZERO)), ..published(25, "2026-01") };
    assert!(error(&no_time).contains("none of them zero"), "{}", error(&no_time));
    let used = Wanted { volume_types: vec!["standard".to_owned()], ..published(25, "2026-01") };
    assert!(error(&used).contains("depends on use"), "{}", error(&used));
}

#[test]
fn what_is_charged_by_use_is_left_out_where_its_price_is_not_known() {
    for region in ["us-east-1", "ap-northeast-1"] {
        let found = asked(&Wanted { region: region.to_owned(), ..published(25, "2026-01") });
        assert!(found.unknown.iter().any(|unknown| unknown.name == "standard"), "{:?}", found.unknown);
        for choice in found.front.iter().chain(&found.runner_up).chain(&found.misses) {
            assert!(!choice.volumes.contains("standard"), "{choice:?}");
        }
    }
}

#[test]
fn what_nothing_meets_is_cut_to_what_is_reached() {
    let wanted = Wanted {
        families: vec!["m5.2xlarge".to_owned(), "c4.4xlarge".to_owned()],
        volume_types: vec!["gp3".to_owned()],
        most_volumes: 1,
        ..rate(1e9, None, "2026-01")
    };
    let found = asked(&wanted);
    let spec: VolumeSpec = found.chosen.volumes.parse().unwrap();
    assert!(!found.is_met);
    // A link of 287.5 MB/s asks for 275 MiB/s.
    assert_eq!((found.chosen.instance.as_str(), spec.throughput.unwrap().0 >> 20), ("m5.2xlarge", 275));
}

#[test]
fn the_front_reaches_the_fastest_there_is_by_small_steps() {
    let alone = Wanted {
        families: vec!["m5.8xlarge".to_owned()],
        volume_types: vec!["io2".to_owned()],
        most_volumes: 1,
        ..ios(2000, "2026-01")
    };
    let found = asked(&alone);
    assert!(found.front.len() > 15, "{:?}", found.front);
    // Its link lets 30,000 through.
    let fastest = found.front.last().and_then(|choice| choice.ios_per_second).unwrap();
    assert!((fastest / 30_000.0 - 1.0).abs() < 0.001, "{fastest}");
    let top = |target: f64| asked(&rate(target, None, "2026-01")).front.last().unwrap().bytes_per_second;
    // However far the target lies below.
    assert!((top(1e6) / top(1e9) - 1.0).abs() < 0.1, "{} {}", top(1e6), top(1e9));
}

#[test]
fn links_that_cost_extra_and_names_that_are_none_are_left_out() {
    let old = Wanted { families: vec!["m3.*".to_owned()], ..published(600, "2026-01") };
    let found = recommend(catalogue(), &old).unwrap_err().to_string();
    assert!(found.contains("no instance type fits"), "{found}");
    let found = asked(&Wanted { families: vec!["m3.*".to_owned(), "c4".to_owned()], ..old });
    let m3 = found.unknown.iter().find(|unknown| unknown.name == "m3.xlarge").unwrap();
    assert!(m3.reason.contains("costs extra"), "{m3:?}");
    let nameless = Wanted { families: vec![String::new()], ..published(25, "2026-01") };
    assert!(recommend(catalogue(), &nameless).unwrap_err().to_string().contains("leave the option out"));
}

#[test]
fn no_instance_takes_more_volumes_than_can_be_attached() {
    let found = asked(&Wanted { most_volumes: 64, ..ios(200_000, "2026-01") });
    for choice in found.front.iter().chain(&found.runner_up).chain(&found.misses) {
        let spec: VolumeSpec = choice.volumes.parse().unwrap();
        let most = catalogue().instance(&choice.instance).unwrap().attachments;
        assert!(most.is_none_or(|most| spec.count < most), "{choice:?}");
    }
}

#[test]
fn the_cheapest_work_may_be_the_dearer_hour() {
    let found = asked(&published(600, "2026-01"));
    let cheapest = found.cheapest_work.as_ref().expect("a job of ten hours is done for less by more");
    assert!(cheapest.job_usd.unwrap() < found.chosen.job_usd.unwrap());
    assert!(cheapest.usd_per_hour >= found.chosen.usd_per_hour && cheapest.seconds.unwrap() <= 36_000.0);
    for choice in &found.front {
        assert!(cheapest.job_usd.unwrap() <= choice.job_usd.unwrap() * (1.0 + 1e-9), "{choice:?}");
        assert_eq!(choice.bursts, choice.seconds_from_empty.is_some(), "{choice:?}");
    }
}

#[test]
fn patterns_name_families_and_types() {
    let instance = catalogue().instance("c4.large").unwrap();
    for (pattern, is_named) in [
        ("c*", true),
        ("c4", true),
        ("c4.*", true),
        ("*large", false),
        ("*.large", true),
        ("c", false),
        ("m*", false),
        ("*4*.*a*g*", true),
        ("c4.lar*arge", false),
        ("****************************************************************************q", false),
        ("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a.", false),
    ] {
        assert_eq!(instances::is_named(instance, pattern), is_named, "{pattern}");
    }
}

/// Bytes a second or minutes, tight first.
fn wanted(kind: u8, size: u64, tight: f64, read: bool) -> Wanted {
    let amount = Bytes(size * GIB);
    let (reads, writes) = if read { (amount, Bytes(0)) } else { (Bytes(0), amount) };
    let when = date("2026-01");
    match kind {
        0 => {
            let span = Span(Duration::from_secs_f64(amount.0 as f64 / tight));
            Wanted::new(Goal::Within(span), Work::sequential(reads, writes), amount, when)
        }
        1 => Wanted { capacity: amount, ..rate(tight, None, "2026-01") },
        2 => Wanted { capacity: amount, ..rate(tight, Some(minutes(30)), "2026-01") },
        _ => {
            let work = Work::sequential(Bytes(0), Bytes(0)).at_random(Bytes(16384), None);
            Wanted { capacity: amount, work, ..rate(tight / 4.0, None, "2026-01") }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_looser_target_is_never_dearer_and_every_answer_holds(
        kind in 0_u8..4,
        size in 1_u64..4000,
        rate in 1e6_f64..6e9,
        looser in 1.01_f64..4.0,
        read: bool,
    ) {
        let tight = wanted(kind, size, rate, read);
        let loose = wanted(kind, size, rate / looser, read);
        let (tight_found, loose_found) = (asked(&tight), asked(&loose));
        if tight_found.is_met {
            prop_assert!(loose_found.is_met);
            prop_assert!(loose_found.chosen.usd_per_hour <= tight_found.chosen.usd_per_hour + 1e-8);
        }
        for (wanted, found) in [(&tight, &tight_found), (&loose, &loose_found)] {
            prop_assert_eq!(found.is_met, holds(wanted, &found.chosen));
            for choice in found.front.iter().chain(&found.runner_up) {
                prop_assert_eq!(found.is_met, holds(wanted, choice), "{:?}", choice);
            }
        }
    }
}
