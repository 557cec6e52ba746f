//! `casebook`: what must come out of the published figures, each trap found by a rule that knows nothing of them.

use serde_json::Value;

use crate::support::Bench;

fn cases() -> Vec<Value> {
    let document = Bench::new().iostone(&["casebook", "--json"]).ended_with(0).json();
    assert_eq!(document["schema"], "iostone/casebook/1");
    document["cases"].as_array().unwrap().clone()
}

/// The findings of a rule in a case.
fn found<'a>(cases: &'a [Value], case: &str, rule: &str) -> Vec<&'a Value> {
    let case = cases.iter().find(|candidate| candidate["name"] == case).unwrap();
    case["audit"]["findings"].as_array().unwrap().iter().filter(|finding| finding["rule"] == rule).collect()
}

#[test]
fn every_trap_of_the_reports_is_found_by_a_rule() {
    let cases = cases();
    for (case, rule, words) in [
        ("barriers-and-kernels", "same-data", "all 5 rows under `kernel=2.6.32-504.8.1.el6.x86_64`"),
        (
            "barriers-and-kernels",
            "identical-rows",
            "2 of the 5 rows under `kernel=2.6.32-431.29.2.el6.x86_64`",
        ),
        ("barriers-and-kernels", "order-confounded", "one after another"),
        ("barriers-and-kernels", "above-every-ceiling", "2.67 times the link of c4.2xlarge (125 MB/s)"),
        ("barriers-and-kernels", "confounded-factors", "`image`"),
        ("barriers-and-kernels", "few-runs", "too few runs for a verdict"),
        ("barriers-and-kernels", "trend", "climbs run by run"),
        ("barriers-and-kernels", "trend", "latency_max steps up after run 2"),
        ("raid0", "above-every-ceiling", "16.9 times 1Gbps of the network"),
        ("raid0", "no-spread", "12 rows in table `bonnie` are averages"),
        ("raid0", "rewrite-faster", "5 of 12 rows"),
        ("raid0", "small-file", "15.1 GiB"),
        ("raid0", "superlinear", "2.35 from disks=1 to disks=2"),
        ("raid0", "reversed-scaling", "falls by 39.6"),
        ("cpu-limit", "single-run", "was run once"),
        ("cpu-limit", "confounded-factors", "`limit`"),
        ("cpu-limit", "cpu-time", "8.80 times the CPU time"),
        ("cpu-limit", "network-inside", "`perlbrew install` downloads"),
        ("cpu-limit", "steal", "45.0"),
        ("cpu-limit", "given-up", "lower bound"),
        ("cpu-limit", "given-up", "216 times the 93.3min expected (the credit law"),
        ("instance-bandwidth", "unit-slip", "as with MB taken for MiB"),
        ("instance-bandwidth", "unit-slip", "take 60.1 min"),
        ("instance-bandwidth", "above-ceiling", "4.99 GB of the 232 GB written did not fit"),
        ("instance-bandwidth", "at-ceiling", "it binds"),
        ("instance-bandwidth", "source-limited", "/dev/urandom"),
        ("instance-bandwidth", "disk-full", "by filling it, not by finishing"),
        ("btrfs-to-ext4", "confounded-factors", "`hypervisor`"),
        ("btrfs-to-ext4", "zero-data", "zeros"),
        ("btrfs-to-ext4", "one-core", "1 of 2 CPUs"),
    ] {
        let findings = found(&cases, case, rule);
        let told = |finding: &&Value| {
            let evidence = finding["evidence"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
            let mut lines = evidence.chain(finding["message"].as_str());
            lines.any(|line| line.replace('\u{a0}', " ").contains(words))
        };
        assert!(findings.iter().any(told), "{case}: {rule}: {words}\n{findings:#?}");
    }
}

#[test]
fn a_figure_that_no_path_carries_is_told_once_and_in_figures() {
    let cases = cases();
    for case in ["barriers-and-kernels", "raid0"] {
        assert_eq!(found(&cases, case, "above-ceiling"), Vec::<&Value>::new(), "{case}");
        let [finding] = found(&cases, case, "above-every-ceiling")[..] else { panic!("{case}") };
        let message = finding["message"].as_str().unwrap();
        assert!(!message.contains("throughput is") && !message.contains("block_read is"), "{message}");
        for line in finding["evidence"].as_array().unwrap() {
            assert!(!line.as_str().unwrap().contains("memory"), "{finding:#}");
        }
    }
}

#[test]
fn every_finding_has_its_evidence_and_an_advice() {
    for case in cases() {
        for finding in case["audit"]["findings"].as_array().unwrap() {
            let text = |key: &str| finding[key].as_str().unwrap().to_owned();
            assert!(text("advice").ends_with('.'), "{finding:#}");
            assert!(["note", "warning", "serious"].contains(&text("severity").as_str()), "{finding:#}");
            assert!(
                finding["rule"] == "order-unrecorded"
                    || finding["rule"] == "reversed-scaling"
                    || finding["rule"] == "few-runs"
                    || !finding["evidence"].as_array().unwrap().is_empty(),
                "{finding:#}"
            );
        }
    }
}

#[test]
fn figures_come_out_as_they_were_re_analysed() {
    let cases = cases();
    let level = |case: &str, comparison: usize, level: &str| -> Value {
        let case = cases.iter().find(|candidate| candidate["name"] == case).unwrap();
        let levels = case["comparisons"][comparison]["levels"].as_array().unwrap();
        levels.iter().find(|candidate| candidate["comparison"]["level"] == level).unwrap().clone()
    };
    let near = |value: &Value, expected: f64, tolerance: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - expected).abs() < tolerance, "{value}, not {expected}");
    };
    let barrier = level("barriers-and-kernels", 0, "0")["comparison"]["unpaired"].clone();
    near(&barrier["ratio"], 0.991, 0.001);
    near(&barrier["p_value"], 0.222, 0.001);
    near(&barrier["ratio_interval"][0], 0.983, 0.001);
    near(&barrier["ratio_interval"][1], 1.0155, 0.001);
    let old =
        level("barriers-and-kernels", 1, "2.6.32-431.29.2.el6.x86_64")["comparison"]["unpaired"].clone();
    near(&old["ratio"], 1.0 / 3.22, 0.01);
    let two = level("raid0", 0, "2")["comparison"].clone();
    assert_eq!(two["blocks"], 4);
    assert_eq!(two["verdict"], "undecided");
    near(&two["ratio"], 1.75, 0.01);
    near(&level("cpu-limit", 0, "no limit")["breakeven_cv"], 0.329, 0.001);
    near(&level("cpu-limit", 0, "25 %")["breakeven_cv"], 0.066, 0.001);
    near(&level("cpu-limit", 0, "40 %")["breakeven_cv"], 0.055, 0.001);
}

#[test]
fn a_case_reads_as_it_should() {
    let bench = Bench::new();
    for case in ["barriers-and-kernels", "raid0", "cpu-limit", "instance-bandwidth", "btrfs-to-ext4"] {
        let said = bench.iostone(&["casebook", case]).ended_with(0);
        insta::assert_snapshot!(format!("casebook_{case}"), said.stdout);
    }
    let said = bench.iostone(&["casebook", "cobol"]).ended_with(2);
    assert!(
        said.stderr.contains("there is no case `cobol`; the cases are barriers-and-kernels, raid0"),
        "{}",
        said.stderr
    );
}

#[test]
fn the_casebook_is_one_page_that_loads_nothing() {
    let bench = Bench::new();
    bench.iostone(&["casebook", "--format", "html", "--output", "casebook.html"]).ended_with(0);
    let page = std::fs::read_to_string(bench.path("casebook.html")).unwrap();
    assert!(page.contains("Do I/O barriers, kernels and images matter on EBS?"));
    assert!(page.contains("as with MB taken for MiB"));
    for loads in ["src=", "href=\"http", "@import", "url(http"] {
        assert!(!page.contains(loads), "{loads}");
    }
}
