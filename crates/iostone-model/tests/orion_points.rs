//! ORION's load points against a second, naive statement of its rule, and against everything published about them.

use std::collections::BTreeSet;

use iostone_model::orion::{LoadPoint, OrionTest, levels};

/// The loads of an axis, stated by membership: all up to the step, and beyond it the multiples of the step.
fn axis(maximum: u32) -> BTreeSet<u32> {
    let step = if maximum < 40 { 1 } else { maximum / 20 };
    (1..=maximum).filter(|load| *load <= step || load % step == 0).collect()
}

fn with_zero(maximum: u32) -> BTreeSet<u32> {
    let mut axis = axis(maximum);
    axis.insert(0);
    axis
}

fn only(load: u32) -> BTreeSet<u32> {
    BTreeSet::from([load])
}

fn product(small: &BTreeSet<u32>, large: &BTreeSet<u32>) -> Vec<LoadPoint> {
    large
        .iter()
        .flat_map(|large| small.iter().map(|small| LoadPoint { small: *small, large: *large }))
        .collect()
}

fn parse(line: &str) -> OrionTest {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    OrionTest::parse(&words).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// What the rule says of a command line for n disks.
fn expected(line: &str, n: u32) -> Vec<LoadPoint> {
    let (small, large) = (with_zero(5 * n), with_zero(2 * n));
    let alone = |point: &LoadPoint| point.small == 0 || point.large == 0;
    let basic = || product(&small, &large).into_iter().filter(alone).collect();
    match line {
        "-run simple" | "-run advanced" | "-run advanced -matrix basic" => basic(),
        "-run normal" | "-run advanced -matrix detailed" => product(&small, &large),
        "-run oltp" => product(&with_zero(20 * n), &only(0)),
        "-run dss" => product(&only(0), &with_zero(15 * n)),
        "-run advanced -matrix point -num_small 7 -num_large 3" => vec![LoadPoint { small: 7, large: 3 }],
        "-run advanced -matrix row -num_large 3" => product(&small, &only(3)),
        "-run advanced -matrix col -num_small 7" => product(&only(7), &large),
        "-run advanced -matrix max -num_small 70 -num_large 3" => product(&with_zero(70), &with_zero(3)),
        other => panic!("{other} has no expectation"),
    }
}

const LINES: &[&str] = &[
    "-run simple",
    "-run normal",
    "-run oltp",
    "-run dss",
    "-run advanced",
    "-run advanced -matrix basic",
    "-run advanced -matrix detailed",
    "-run advanced -matrix point -num_small 7 -num_large 3",
    "-run advanced -matrix row -num_large 3",
    "-run advanced -matrix col -num_small 7",
    "-run advanced -matrix max -num_small 70 -num_large 3",
];

#[test]
fn for_1_to_64_disks_every_level_and_matrix_follows_the_rule() {
    for n in 1..=64 {
        for line in LINES {
            assert_eq!(parse(line).points(n), expected(line, n), "{line} with {n} disks");
        }
    }
}

#[test]
fn an_axis_has_about_twenty_loads_and_ends_at_its_maximum_where_the_step_divides_it() {
    for maximum in 0..=4096 {
        let loads = levels(maximum);
        assert!(loads.is_sorted_by(|a, b| a < b));
        assert!(loads.iter().all(|load| (1..=maximum).contains(load)));
        assert_eq!(loads.is_empty(), maximum == 0);
        let step = (maximum / 20).max(1);
        assert!(loads.last().is_none_or(|last| maximum - last < step));
        // As many as twenty steps, the ones below the first step, and the rest of an uneven division.
        assert!(loads.len() < 39 + step as usize, "{maximum}: {}", loads.len());
    }
}

#[test]
fn every_published_observation_comes_out() {
    let points = |line: &str, n| parse(line).points(n);
    let minutes = |line: &str, n| {
        let test = parse(line);
        test.estimated_minutes(test.points(n).len())
    };
    // 11.1, simple, one disk: 8 points, 9 minutes, small loads 1 to 5, large columns 0, 1, 2.
    assert_eq!((points("-run simple", 1).len(), minutes("-run simple", 1)), (8, 9));
    assert_eq!(parse("-run simple").small_loads(1), [0, 1, 2, 3, 4, 5]);
    assert_eq!(parse("-run simple").large_loads(1), [0, 1, 2]);
    // 11.1, simple, eight disks: 38 points, the last small load 40 and the last large one 16, one of them 7.
    let eight = points("-run simple", 8);
    assert_eq!(eight.len(), 38);
    assert!(
        eight.contains(&LoadPoint { small: 40, large: 0 })
            && eight.contains(&LoadPoint { small: 0, large: 7 })
    );
    // 11.2, normal, one LUN: 19 minutes.
    assert_eq!((points("-run normal", 1).len(), minutes("-run normal", 1)), (18, 19));
    // 10.2, simple: `Point 2 out of 29` is Small=1, Large=0.
    assert_eq!(points("-run simple", 4).len(), 29);
    assert_eq!(points("-run simple", 4)[1], LoadPoint { small: 1, large: 0 });
    // oltp, one disk: 22 minutes; 20 loads and the point without any.
    assert_eq!((points("-run oltp", 1).len(), minutes("-run oltp", 1)), (21, 22));
    // 12.2, oltp, four disks: the most IOPS at Small=68, the least latency at Small=4.
    let four = points("-run oltp", 4);
    assert!([4, 68].iter().all(|small| four.contains(&LoadPoint { small: *small, large: 0 })));
    // Field report 5: four disks, nothing said of the matrix.
    assert_eq!(points("-run advanced -testname orion-test -size_small 8 -num_disks 4", 4).len(), 29);
}

#[test]
fn a_test_too_long_for_any_patience_is_told_without_overflow() {
    let test = parse("-run advanced -matrix detailed -duration 2678400");
    assert_eq!(test.estimated_minutes(1 << 20), 44_640 * (1 << 20) + 1);
}
