//! Procedures over hosts against vectors of another program, and simulated fleets.

use iostone_model::verdict::Verdict;
use serde_json::Value;

use super::between::{Stratum, fewest_hosts, hosts_needed};
use super::odd::odd_hosts;
use super::rank_law::{limit, of_u, weights};
use super::spread::{Components, NextHost};
use super::within::Hosts;
use super::{HostComparison, HostRules, between, within};
use crate::schedule::SplitMix64;
use crate::vectors;

fn all() -> Value {
    serde_json::from_str(include_str!("../../tests/fleet_vectors.json")).unwrap()
}

fn rules() -> HostRules {
    HostRules { confidence: 0.95, margin: 0.03, comparisons: 1 }
}

fn lists(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(vectors::numbers).collect()
}

fn assert_comparison(found: &HostComparison, expected: &Value) {
    vectors::assert_close(found.estimate.unwrap(), &expected["estimate"]);
    for (interval, ends) in
        [(found.difference, &expected["difference"]), (found.equivalence, &expected["equivalence"])]
    {
        for (end, expected) in [interval.lower, interval.upper].into_iter().zip(ends.as_array().unwrap()) {
            if expected.is_null() {
                assert!(end.is_infinite(), "{end}");
            } else {
                vectors::assert_close(end, expected);
            }
        }
    }
    assert_eq!(found.verdict.unwrap().word(), expected["verdict"].as_str().unwrap());
}

#[test]
fn laws_and_limits_match_the_vectors() {
    let vectors = all();
    for case in vectors["u_law"].as_array().unwrap() {
        let size = |side: &str| vectors::whole(&case[side]) as usize;
        let law = of_u(size("level_hosts"), size("baseline_hosts"));
        for (found, expected) in law.iter().zip(case["p"].as_array().unwrap()) {
            vectors::assert_relative(*found, expected);
        }
    }
    for case in vectors["limits"].as_array().unwrap() {
        let size = |pair: &Value, side: usize| vectors::whole(&pair[side]) as usize;
        let pairs = case["sizes"].as_array().unwrap();
        let sizes: Vec<(usize, usize)> = pairs.iter().map(|pair| (size(pair, 0), size(pair, 1))).collect();
        let found = weights(&sizes);
        assert_eq!(serde_json::to_value(&found).unwrap(), case["weights"]);
        for (name, level) in
            [("k_0.05", 0.05), ("k_0.025", 0.025), ("k_0.0125", 0.0125), ("k_0.00833333", 0.05 / 6.0)]
        {
            let expected = u64::try_from(case[name].as_i64().unwrap()).ok();
            assert_eq!(limit(&sizes, &found, level), expected, "{case} {name}");
        }
    }
}

#[test]
fn weights_stay_small_whatever_the_sizes() {
    assert_eq!(weights(&[(8, 2), (2, 8)]), [1, 1]);
    assert_eq!(weights(&[(3, 2), (5, 6)]), [2, 1]);
    let odd = weights(&[(50, 50), (51, 51), (53, 53)]);
    assert!(odd.iter().all(|weight| (50..=60).contains(weight)), "{odd:?}");
    let law = of_u(150, 150);
    assert!((law.iter().sum::<f64>() - 1.0).abs() < 1e-9 && law.iter().all(|chance| *chance >= 0.0));
}

#[test]
fn comparisons_between_hosts_match_the_vectors() {
    for case in all()["between"].as_array().unwrap() {
        let values =
            |hosts: &Value| lists(hosts).iter().map(|host| between::host_value(host).unwrap()).collect();
        let strata: Vec<Stratum> = case["strata"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| Stratum { baseline: values(&of["baseline"]), level: values(&of["level"]) })
            .collect();
        let rules = HostRules { margin: case["margin"].as_f64().unwrap(), ..rules() };
        assert_comparison(&between::compare(&strata, &rules), &case["expect"]);
    }
}

#[test]
fn comparisons_within_hosts_match_the_vectors() {
    for case in all()["within"].as_array().unwrap() {
        let values: Vec<f64> =
            lists(&case["hosts"]).iter().map(|host| within::host_value(host).unwrap()).collect();
        for (found, expected) in values.iter().zip(case["expect"]["host_values"].as_array().unwrap()) {
            vectors::assert_close(*found, expected);
        }
        let rules = HostRules { margin: case["margin"].as_f64().unwrap(), ..rules() };
        assert_comparison(&within::compare(&values, Hosts::Declared, &rules), &case["expect"]);
    }
}

#[test]
fn components_and_fewest_hosts_match_the_vectors() {
    let vectors = all();
    for case in vectors["components"].as_array().unwrap() {
        let found = Components::of(&lists(&case["hosts"])).unwrap();
        vectors::assert_close(found.block, &case["expect"]["block"]);
        vectors::assert_close(found.host, &case["expect"]["host"]);
    }
    for case in vectors["fewest_hosts"].as_array().unwrap() {
        let rules = HostRules { comparisons: vectors::whole(&case["comparisons"]), ..rules() };
        for (others, fewest) in case["expect"]["between_difference"].as_object().unwrap() {
            let found = fewest_hosts(others.parse().unwrap(), &rules).unwrap();
            assert_eq!(found.difference, vectors::whole(fewest), "{others} {rules:?}");
            assert_eq!(found.equivalence, vectors::whole(&case["expect"]["between_equivalence"][others]));
        }
        let [difference, equivalence] = within::fewest_hosts(&rules);
        assert_eq!(difference, vectors::whole(&case["expect"]["within_difference"]));
        assert_eq!(equivalence, vectors::whole(&case["expect"]["within_equivalence"]));
    }
}

#[test]
fn one_host_of_a_level_says_nothing_of_the_level() {
    let alone = Stratum { baseline: vec![0.0, 0.01, 0.02], level: vec![5.0] };
    let found = between::compare(&[alone], &rules());
    assert_eq!((found.verdict, found.hosts), (None, [3, 1]));
    let apart = [
        Stratum { baseline: vec![0.0; 9], level: Vec::new() },
        Stratum { baseline: Vec::new(), level: vec![1.0; 9] },
    ];
    assert_eq!(between::compare(&apart, &rules()).verdict, None);
    assert_eq!(between::compare(&[], &rules()).estimate, None);
    assert_eq!(within::compare(&[0.1; 4], Hosts::Declared, &rules()).verdict, None);
    assert_eq!(within::compare(&[], Hosts::Declared, &rules()).estimate, None);
}

/// Hosts' values: a law's numbers times the spread between hosts.
fn hosts(generator: &mut SplitMix64, count: usize, centre: f64, spread: f64) -> Vec<f64> {
    (0..count).map(|_| centre + spread * generator.next_normal()).collect()
}

#[test]
fn strata_keep_zones_out_of_the_comparison() {
    // Two zones 5 % apart, levels spread 8 to 2 and 2 to 8 over them; the same without an effect and with one of 10 %.
    let share = |effect: f64| {
        let decided = (0..400).filter(|seed| {
            let mut generator = SplitMix64::new(*seed);
            let mut zone = |baseline: usize, level: usize, shift: f64| Stratum {
                baseline: hosts(&mut generator, baseline, shift, 0.03),
                level: hosts(&mut generator, level, shift + effect, 0.03),
            };
            let strata = [zone(8, 2, 0.0), zone(2, 8, 0.05)];
            matches!(between::compare(&strata, &rules()).verdict, Some(Verdict::Faster | Verdict::Slower))
        });
        decided.count()
    };
    let (none, clear) = (share(0.0), share(0.1));
    assert!(none <= 34, "{none} of 400 differ without an effect");
    assert!(clear >= 380, "{clear} of 400 differ at 10 %");
}

#[test]
fn intervals_over_hosts_hold_and_the_next_host_lies_where_it_should() {
    let fleets = 500;
    let (mut covered, mut next_within) = (0, [0; 2]);
    for seed in 0..fleets {
        let mut generator = SplitMix64::new(seed);
        let values = hosts(&mut generator, 10, 0.05, 0.03);
        let found = within::compare(&values, Hosts::Declared, &rules());
        covered += u32::from(found.difference.contains(0.05));
        for (count, within) in [10, 60].into_iter().zip(&mut next_within) {
            let fleet = hosts(&mut generator, count, 0.05, 0.03);
            let next = NextHost::of(&fleet, 0.95).unwrap();
            assert_eq!(next.assumes_normal, count < 39);
            let value = 0.05 + 0.03 * generator.next_normal();
            *within += u32::from(next.lower <= value && value <= next.upper);
        }
    }
    // 95 % of 500 are 475, one standard error is 5.
    assert!(covered >= 460, "{covered}");
    assert!(next_within.iter().all(|within| (455..=495).contains(within)), "{next_within:?}");
    assert_eq!(NextHost::of(&[0.0, 1.0], 0.95), None);
}

#[test]
fn hosts_added_one_at_a_time_are_judged_by_the_sequential_limits() {
    let values: Vec<f64> = (0..8).map(|host| 0.1 + 0.001 * f64::from(host)).collect();
    let found = within::compare(&values, Hosts::Added(40), &rules());
    assert_eq!(found.verdict, Some(Verdict::Faster));
    assert_eq!(within::compare(&values[..5], Hosts::Added(40), &rules()).verdict, None);
}

#[test]
fn more_hosts_are_asked_for_as_an_effect_is_smaller() {
    let needed = |effect: f64| hosts_needed(effect, 0.03, &rules()).map(|needed| needed.each);
    assert_eq!(needed(1.0), Some(4));
    assert!(needed(0.1) >= needed(1.0) && needed(0.05) > needed(0.1), "{:?} {:?}", needed(0.1), needed(0.05));
    assert_eq!(hosts_needed(0.02, 1.0, &rules()), None);
}

#[test]
fn healthy_fleets_seldom_have_an_odd_host_and_a_slow_one_is_named() {
    let fleet = |seed: u64, count: usize| {
        let mut generator = SplitMix64::new(seed);
        let host = |centre: f64, generator: &mut SplitMix64| {
            let figures: Vec<f64> = (0..6).map(|_| centre + 0.03 * generator.next_normal()).collect();
            between::host_value(&figures).unwrap()
        };
        (0..count)
            .map(|_| {
                let centre = 0.03 * generator.next_normal();
                host(centre, &mut generator)
            })
            .collect::<Vec<f64>>()
    };
    for count in [8, 20, 50] {
        let named = (0..500).filter(|seed| !odd_hosts(&fleet(*seed, count), 0.0).is_empty()).count();
        assert!(named <= 25, "{named} of 500 healthy fleets of {count}");
    }
    let found = (0..500).filter(|seed| {
        let mut values = fleet(*seed, 50);
        values[7] += 0.8f64.ln();
        let odd = odd_hosts(&values, 0.0);
        odd.first().is_some_and(|host| host.host == 7 && host.distance < 0.0)
    });
    let found = found.count();
    assert!(found >= 475, "{found} of 500 slow hosts named");
    assert_eq!(odd_hosts(&[0.0, 0.0, 0.0, 5.0], 0.0), []);
    assert_eq!(odd_hosts(&[0.0; 9], 0.0), []);
    // Rounding leaves no spread; the uncertainty of a value does.
    assert_eq!(odd_hosts(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.001, 0.0], 0.01), []);
}
