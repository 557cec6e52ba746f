//! Predictions against the field reports and worked examples of the providers' guides.

use iostone_model::cloud::CeilingKind;
use iostone_model::prediction::Prediction;
use iostone_model::units::{ByteRate, Bytes, Fraction, Span};

use super::*;
use crate::catalogue;

const GIB: u64 = 1 << 30;
/// What dd wrote in the fourth report before the disk was full.
const REPORT_4: Bytes = Bytes(232_303_771_648);

fn ask(instance: Option<&str>, volumes: Option<&str>, date: &str, work: Work) -> Question {
    Question {
        instance: instance.map(str::to_owned),
        volumes: volumes.map(|spec| spec.parse().expect("a volume")),
        ..Question::new(work, date.parse().expect("a date"))
    }
}

fn answer(question: &Question) -> Prediction {
    let prediction = predict(catalogue(), question).expect("a prediction");
    check(&prediction);
    prediction
}

/// What holds of every prediction: phases without a gap that add up, and a name for what binds.
fn check(prediction: &Prediction) {
    let phases = &prediction.timeline;
    let bytes: f64 =
        phases.iter().map(|phase| phase.bytes_per_second * (phase.to_seconds - phase.from_seconds)).sum();
    assert!((bytes - prediction.bytes).abs() <= 1e-9 * prediction.bytes.max(1.0), "{prediction:?}");
    assert!(phases.windows(2).all(|pair| (pair[0].to_seconds - pair[1].from_seconds).abs() < 1e-9));
    let bound: f64 = prediction.ceilings.iter().map(|row| row.binds_seconds).sum();
    assert!((bound - prediction.seconds).abs() <= 1e-9 * prediction.seconds, "{prediction:?}");
    let [earliest, latest] = prediction.seconds_interval;
    assert!(earliest <= prediction.seconds && prediction.seconds <= latest, "{prediction:?}");
}

fn write(bytes: Bytes) -> Work {
    Work::sequential(Bytes(0), bytes)
}

fn near(value: f64, expected: f64, share: f64) {
    assert!((value / expected - 1.0).abs() <= share, "{value} for {expected}");
}

#[test]
fn the_fourth_report_is_predicted_again() {
    let large = answer(&ask(Some("c4.large"), Some("gp2:220GiB"), "2017-07", write(REPORT_4)));
    near(large.seconds, 3716.9, 1e-4);
    assert_eq!((large.binds, large.binding.as_str()), (CeilingKind::Link, "the link of 62.5MB/s"));
    let larger = answer(&ask(Some("c4.4xlarge"), Some("gp2:220GiB"), "2017-07", write(REPORT_4)));
    near(larger.seconds, 1384.6, 1e-4);
    assert_eq!((larger.binds, larger.binding.as_str()), (CeilingKind::Volume, "160MiB/s of gp2:220GiB"));
}

#[test]
fn what_the_fourth_report_did_not_see_on_the_volume_fits_the_dirty_limit() {
    let work = Work { cache: CacheUse::Buffered { dirty_ratio: Fraction(0.2) }, ..write(REPORT_4) };
    let prediction = answer(&ask(Some("c4.4xlarge"), Some("gp2:220GiB"), "2017-07", work));
    let cached = prediction.page_cache.expect("a share of memory");
    near(cached.bytes, 0.2 * 30.0 * GIB as f64, 1e-9);
    let missing = (1384.6 - 1354.88) * 160.0 * f64::from(1 << 20);
    near(missing, 5.0e9, 0.01);
    assert!(missing < cached.bytes);
    assert!(prediction.seconds_interval[0] < 1354.88, "{:?}", prediction.seconds_interval);
}

#[test]
fn work_larger_than_the_filesystem_ends_with_a_full_disk() {
    let question = Question {
        filesystem: Some(FilesystemKind::Ext4),
        ..ask(Some("c4.large"), Some("gp2:220GiB"), "2017-07", write(Bytes(220 * GIB)))
    };
    let prediction = answer(&question);
    near(prediction.bytes, REPORT_4.0 as f64, 2e-4);
    near(prediction.seconds, 3716.9, 2e-4);
    let flag = prediction.warnings.first().expect("a warning");
    assert_eq!(flag.name, "disk-full");
    // Inode tables written in the background are as much as the report was later than 3717 s: 3763 s.
    assert!(prediction.seconds_interval[1] > 3763.15, "{:?}", prediction.seconds_interval);
}

#[test]
fn gp2_of_100_gib_has_3000_iops_for_2000_s_and_300_after_that() {
    let work =
        Work::timed(Span(std::time::Duration::from_hours(1)), Fraction(0.0)).at_random(Bytes(4096), None);
    let prediction = answer(&ask(None, Some("gp2:100GiB"), "2019", work));
    let ends: Vec<(f64, f64)> =
        prediction.timeline.iter().map(|phase| (phase.to_seconds, phase.bytes_per_second / 4096.0)).collect();
    assert_eq!(ends.len(), 2);
    near(ends[0].0, 2000.0, 1e-9);
    near(ends[0].1, 3000.0, 1e-9);
    near(ends[1].1, 300.0, 1e-9);
    let bucket = &prediction.timeline[0].buckets[0];
    assert_eq!((bucket.from, bucket.to, bucket.capacity), (5.4e6, 0.0, 5.4e6));
    let named: Vec<&str> = prediction.timeline.iter().map(|phase| phase.binding.as_str()).collect();
    assert_eq!(
        named,
        ["3000 IOPS of gp2:100GiB while credits last", "300 IOPS of gp2:100GiB once credits are spent"]
    );
    near(prediction.long_run_bytes_per_second.expect("a rate"), 300.0 * 4096.0, 1e-9);
    // On average it is more, and 99 % of the time at least 90 % of it.
    near(prediction.bytes_per_second / 4096.0, (2000.0 * 3000.0 + 1600.0 * 300.0) / 3600.0, 1e-9);
    let [fewest, most] = prediction.bytes_interval.expect("an interval");
    assert!(fewest < prediction.bytes && fewest > 0.85 * prediction.bytes, "{fewest}");
    near(most, prediction.bytes, 1e-9);
    assert_eq!(bucket.name, "the I/O credits of gp2:100GiB");
}

#[test]
fn a_link_bursts_for_half_an_hour_and_goes_on_at_its_baseline() {
    for (instance, baseline, most) in
        [("m5.large", 650.0, 4750.0), ("c5.large", 650.0, 4750.0), ("m7i.large", 650.0, 10000.0)]
    {
        let work = Work::timed(Span(std::time::Duration::from_hours(1)), Fraction(1.0));
        let prediction = answer(&ask(Some(instance), None, "2023", work));
        let phases = &prediction.timeline;
        near(phases[0].to_seconds, 1800.0, 1e-6);
        near(phases[0].bytes_per_second, most * 125e3, 1e-6);
        // Phases also end where a bucket is full again: that of I/Os, here and there.
        assert!(phases.len() > 1, "{instance}");
        phases.iter().skip(1).for_each(|phase| near(phase.bytes_per_second, baseline * 125e3, 1e-6));
        assert!(prediction.assumptions.iter().any(|words| words.contains("no law")));
    }
}

#[test]
fn raid0_of_four_volumes_is_held_by_the_link() {
    let prediction = answer(&ask(Some("c4.large"), Some("4xgp2:220GiB"), "2017-07", write(Bytes(100 * GIB))));
    assert_eq!(prediction.binds, CeilingKind::Link);
    let array = prediction.ceilings.iter().find(|row| row.kind == CeilingKind::Array).expect("an array");
    assert!(array.sustained > 4.0 * 160.0 * f64::from(1 << 20) - 1.0, "{array:?}");
}

#[test]
fn one_io_at_a_time_is_held_by_its_latency() {
    let work = Work::timed(Span(std::time::Duration::from_secs(60)), Fraction(0.0))
        .at_random(Bytes(16 << 10), Some(1));
    let question = Question {
        latency: Some(Span(std::time::Duration::from_millis(1))),
        ..ask(Some("c4.4xlarge"), Some("gp2:1000GiB"), "2017-07", work)
    };
    let prediction = answer(&question);
    assert_eq!(prediction.binds, CeilingKind::QueueDepth);
    near(prediction.ios_per_second.expect("I/Os"), 1000.0, 1e-9);
}

#[test]
fn a_t2_micro_computes_until_its_credits_are_spent() {
    let work = Work {
        cpu_seconds_per_byte: Some(1e-7),
        ..Work::timed(Span(std::time::Duration::from_hours(2)), Fraction(1.0))
    };
    let prediction = answer(&ask(Some("t2.micro"), None, "2018", work));
    let cpu: Vec<&iostone_model::prediction::Phase> =
        prediction.timeline.iter().filter(|phase| phase.binds == CeilingKind::Cpu).collect();
    // 30 launch credits of 60 s, earned 6 an hour: 1800 s / (1 - 0.1) = 2000 s at 10 MB/s, then a tenth of it.
    near(cpu[0].to_seconds, 2000.0, 1e-9);
    near(cpu[0].bytes_per_second, 1e7, 1e-9);
    near(cpu[1].bytes_per_second, 1e6, 1e-9);
}

#[test]
fn a_t1_micro_goes_slow_and_fast_in_turns() {
    let work = Work { cpu_seconds_per_byte: Some(1e-7), ..Work::sequential(Bytes(0), Bytes(10_000_000_000)) };
    let mut question = ask(Some("t1.micro"), None, "2014", work);
    question.link = Some(Link::of(ByteRate(125_000_000)));
    let prediction = answer(&question);
    assert_eq!(prediction.binds, CeilingKind::Cpu);
    let governor = iostone_model::experiment::Governor {
        allowance: crate::allowance("t1.micro", None).expect("a law"),
        speed: 1.0,
        start: iostone_model::experiment::AllowanceStart::Launch,
    };
    let alone = crate::simulate(&governor, &crate::Demand::busy(1000.0));
    near(prediction.seconds, alone.wall_seconds, 1e-3);
}

#[test]
fn a_source_slower_than_everything_binds() {
    let work = Work { source: Some(ByteRate(12_000_000)), ..write(REPORT_4) };
    let prediction = answer(&ask(Some("c4.large"), Some("gp2:220GiB"), "2017-07", work));
    assert_eq!(
        (prediction.binds, prediction.binding.as_str()),
        (CeilingKind::Source, "the source of 12MB/s")
    );
}

#[test]
fn nothing_known_and_nothing_that_flows_are_told_apart() {
    let error = predict(catalogue(), &ask(None, None, "2017", write(REPORT_4))).expect_err("no ceiling");
    assert!(matches!(error, PredictError::Unlimited(_)), "{error}");
    let question = Question { link: Some(Link::of(ByteRate(0))), ..ask(None, None, "2017", write(REPORT_4)) };
    let error = predict(catalogue(), &question).expect_err("no way through");
    assert!(matches!(error, PredictError::Never { .. }), "{error}");
}

#[test]
fn an_emulation_divides_times_by_its_speed() {
    let real = ask(None, Some("gp2:100GiB"), "2019", write(Bytes(600 * GIB)).at_random(Bytes(4096), None));
    let fast =
        Question { speed: 60.0, work: write(Bytes(10 * GIB)).at_random(Bytes(4096), None), ..real.clone() };
    near(answer(&real).seconds, 60.0 * answer(&fast).seconds, 1e-9);
}

fn hours(count: u64) -> Work {
    Work::timed(Span(std::time::Duration::from_hours(count)), Fraction(1.0))
}

#[test]
fn a_network_has_its_baseline_in_the_long_run() {
    let prediction = answer(&ask(Some("t2.micro"), None, "2026-10", hours(10)));
    near(prediction.long_run_bytes_per_second.expect("a rate"), 8e6, 1e-9);
    near(prediction.timeline[0].bytes_per_second, 128e6, 1e-9);
    near(prediction.timeline[0].to_seconds, 1800.0, 1e-6);
    let [fewest, most] = prediction.bytes_interval.expect("an interval");
    // Of a bucket of 5 minutes, and of 60, beside what the baseline gives in ten hours.
    near(fewest, 36_000.0 * 8e6 + 300.0 * 120e6, 1e-6);
    near(most, 36_000.0 * 8e6 + 3600.0 * 120e6, 1e-6);
    let words = prediction.assumptions.join("\n");
    assert!(words.contains("5 to 60 minutes and no law"), "{words}");
    assert!(words.contains("the least for 5; then it has its baseline of 8MB/s"), "{words}");
}

#[test]
fn an_unknown_link_and_a_date_beyond_the_catalogue_are_warned_of() {
    let warned = |question: &Question| -> Vec<String> {
        answer(question).warnings.into_iter().map(|flag| flag.name).collect()
    };
    let unknown = ask(Some("g3.4xlarge"), Some("4xgp3:500GiB"), "2026-10", write(REPORT_4));
    assert_eq!(warned(&unknown), [iostone_model::prediction::LINK_UNKNOWN]);
    let said = Question { link: Some(Link::of(ByteRate(437_500_000))), ..unknown };
    assert!(warned(&said).is_empty());
    let far = ask(Some("c4.large"), Some("gp2:220GiB"), "2035", write(REPORT_4));
    assert_eq!(warned(&far), [iostone_model::prediction::DATE_UNKNOWN]);
    let old = answer(&ask(Some("m7i.large"), Some("gp2:220GiB"), "2014-07", write(REPORT_4)));
    let words = old.assumptions.join("\n");
    assert!(
        words.contains("of m7i.large are those of 2026-10-27, taken to have been the same in 2014-07"),
        "{words}"
    );
}

#[test]
fn credits_at_the_start_are_the_share_that_was_said() {
    let computing = |start: Option<f64>| {
        let work = Work { cpu_seconds_per_byte: Some(60.0 / GIB as f64), ..write(Bytes(50 * GIB)) };
        let question = Question {
            start: start.map(Fraction),
            ..ask(Some("t2.micro"), Some("gp3:100GiB"), "2026-10", work)
        };
        let cpu_seconds = 3000.0;
        let prediction = answer(&Question { link: Some(Link::of(ByteRate(1_000_000_000))), ..question });
        (prediction.seconds, cpu_seconds)
    };
    // A hundredth of 174 credits of 60 s, spent at 1 and earned at 0.1 of a processor; then a tenth of it.
    let spent = 0.01 * 174.0 * 60.0 / 0.9;
    let (seconds, cpu) = computing(Some(0.01));
    near(seconds, spent + (cpu - spent) / 0.1, 1e-6);
    near(computing(Some(1.0)).0, 3000.0, 1e-6);
    near(computing(Some(0.0)).0, 30_000.0, 1e-6);
    let slow = Work { cpu_seconds_per_byte: Some(1e-7), ..hours(1) };
    let tiny = |start: f64| {
        let question =
            Question { start: Some(Fraction(start)), ..ask(Some("t1.micro"), None, "2014", slow.clone()) };
        answer(&question).bytes
    };
    assert!(tiny(0.0) <= tiny(0.3) && tiny(0.3) <= tiny(1.0));
}

#[test]
fn what_would_be_ignored_or_cannot_be_is_refused() {
    let refused = |question: &Question| predict(catalogue(), question).expect_err("refused").to_string();
    let plain = ask(Some("c4.large"), Some("gp2:220GiB"), "2017-07", write(REPORT_4));
    let message = refused(&Question { processors: Some(0.3), ..plain.clone() });
    assert!(message.contains("how much of their time the work needs is not said"), "{message}");
    let costly = Work { cpu_seconds_per_byte: Some(1e-7), ..write(REPORT_4) };
    let message = refused(&ask(None, Some("gp2:220GiB"), "2017-07", costly));
    assert!(message.contains("no processors are named"), "{message}");
    for (volumes, expected) in [
        ("100xgp2:10GiB", "takes 40 volumes at most"),
        ("99999999xgp2:10GiB", "no array joins more than 1920"),
        ("azure/premium-ssd:1TiB", "is an instance of EC2"),
    ] {
        let message = refused(&ask(Some("c4.large"), Some(volumes), "2026-11", write(REPORT_4)));
        assert!(message.contains(expected), "{volumes}: {message}");
    }
}

#[test]
fn a_year_in_which_the_law_changed_says_so() {
    let noted = |volume: &str, date: &str| {
        answer(&ask(None, Some(volume), date, write(REPORT_4))).assumptions.join("\n")
    };
    assert!(noted("gp2:6TiB", "2018").contains("changed on 2018-12-03, within 2018; those before are taken"));
    assert!(!noted("gp2:6TiB", "2018-11").contains("changed"));
    assert!(noted("gp3:500GiB", "2020").contains("it came on 2020-12-01"), "{}", noted("gp3:500GiB", "2020"));
    let spec = "gp2:6TiB".parse().expect("a volume");
    let volumes = catalogue().volumes();
    let days = volumes.laws_at(&spec, "2018".parse().expect("a date"));
    let laws = days.into_iter().map(|day| volumes.limits(&spec, day).expect("a law"));
    let most: Vec<f64> = laws.filter_map(|law| law.iops).map(crate::volume::Quantity::peak).collect();
    assert_eq!(most, [10_000.0, 16_000.0]);
}

#[test]
fn a_cost_says_what_it_is_of() {
    let prediction = answer(&ask(Some("t3.micro"), Some("gp3:100GiB"), "2026-10", write(Bytes(GIB))));
    let price = prediction.price.expect("a price");
    assert_eq!(price.region.as_deref(), Some("us-east-1"));
    assert!(price.source.contains("2025-05-28"), "{}", price.source);
    assert_eq!(price.leaves_out.len(), 2, "{price:?}");
    near(prediction.usd.expect("a cost"), price.usd_per_hour * prediction.seconds / 3600.0, 1e-9);
    let emulated =
        Question { speed: 60.0, ..ask(Some("t3.micro"), Some("gp3:100GiB"), "2026-10", write(Bytes(GIB))) };
    let emulated = answer(&emulated);
    assert!(emulated.usd.is_none() && emulated.price.is_none());
}

#[test]
fn figures_of_the_users_are_not_called_published() {
    let rows = "[instance.\"c4.large\"]\nebs_baseline = \"100MB/s\"\n";
    let own = Catalogue::with_user_rows(rows, "own.toml").expect("rows");
    let question = ask(Some("c4.large"), None, "2026-10", write(REPORT_4));
    let link = predict(&own, &question).expect("a prediction").ceilings.remove(0);
    assert_eq!(link.basis, iostone_model::experiment::Basis::Assumed, "{link:?}");
    assert!(link.source.contains("own.toml"), "{link:?}");
}

#[test]
fn phases_alike_are_told_as_one() {
    let question =
        Question { start: Some(Fraction(0.0)), ..ask(Some("c5.large"), None, "2026-10", hours(3)) };
    let prediction = answer(&question);
    assert!(prediction.timeline.len() > 1, "another bucket fills");
    assert_eq!(prediction.told_phases().len(), 1, "{:?}", prediction.told_phases());
}
