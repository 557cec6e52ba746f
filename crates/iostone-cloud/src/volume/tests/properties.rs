//! What must hold of every volume type, whatever its size and the date.

use proptest::prelude::*;

use super::*;

/// Every type, with what has to be provisioned, by a size in GiB within its range.
fn any_volume() -> impl Strategy<Value = (String, u64)> {
    let types = types();
    let names: Vec<String> =
        types.names().filter(|name| *name != "io2-block-express").map(str::to_owned).collect();
    (prop::sample::select(names), 0.0..1.0f64).prop_map(move |(name, share)| {
        let row = types.history(&name).expect("a type").last().expect("a row");
        let gib = |bytes: Bytes| bytes.0 as f64 / f64::from(1 << 30);
        let [least, most] = row.size.map_or([1.0, 2000.0], |[least, most]| [gib(least), gib(most)]);
        let most = row.tiers.last().map_or(most, |tier| gib(tier.size));
        // Small sizes as often as large ones.
        let size = (least.ln() + share * (most.ln() - least.ln())).exp().round();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in GiB")]
        (name, size.max(1.0) as u64)
    })
}

fn sized(name: &str, gib: u64) -> VolumeLimits {
    let tail = match name {
        "io1" | "io2" => ":100iops",
        "azure/ultra" => ":1000iops:100MB/s",
        _ => "",
    };
    limits(&format!("{name}:{gib}GiB{tail}"))
}

proptest! {
    /// No exception in the built-in rows: whatever the time, a larger volume with a full bucket has done as much as a smaller one. A larger Azure
    /// tier's bucket is smaller, but its base is higher, and both last for the same time.
    #[test]
    fn a_larger_volume_is_never_slower((name, gib) in any_volume(), more in 1.0..3.0f64, seconds in 1.0..1e6f64) {
        let small = sized(&name, gib);
        let row = types().history(&name).expect("a type").last().expect("a row");
        let most = row.size.map(|[_, most]| most).or(row.tiers.last().map(|tier| tier.size));
        let most = most.map_or(u64::MAX, |most| most.0 >> 30);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size in GiB")]
        let large = sized(&name, ((gib as f64 * more) as u64).min(most));
        for (small, large) in [
            (small.iops, large.iops),
            (small.write_iops, large.write_iops),
            (small.throughput, large.throughput),
            (small.write_throughput, large.write_throughput),
        ] {
            prop_assert_eq!(small.is_some(), large.is_some());
            let Some((small, large)) = small.zip(large) else { continue };
            prop_assert!(large.base >= small.base && large.peak() >= small.peak());
            let bucket = |one: Quantity| one.burst.map_or(0.0, |burst| burst.capacity);
            let done = |one: Quantity| (one.peak() * seconds).min(one.base * seconds + bucket(one));
            prop_assert!(done(large) >= done(small) * (1.0 - 1e-12));
        }
    }

    #[test]
    fn limits_are_above_zero_and_buckets_hold_something((name, gib) in any_volume()) {
        let limits = sized(&name, gib);
        let all = [limits.iops, limits.write_iops, limits.throughput, limits.write_throughput];
        prop_assert!(all.iter().any(Option::is_some));
        for quantity in all.into_iter().flatten() {
            prop_assert!(quantity.base.is_finite() && quantity.base > 0.0);
            if let Some(burst) = quantity.burst {
                prop_assert!(burst.rate > quantity.base && burst.capacity > 0.0 && burst.capacity.is_finite());
            }
        }
    }

    #[test]
    fn faster_emulations_scale_sizes_and_buckets_alike((name, gib) in any_volume(), speed in 1.0..1000.0f64) {
        let limits = sized(&name, gib);
        let spec: VolumeSpec = format!("{name}:{gib}GiB").parse().expect("a volume");
        if let Ok(volume) = limits.emulated(&spec, speed) {
            let size = spec.size.0 as f64 / speed;
            prop_assert!((volume.size.0 as f64 - size).abs() <= 4097.0);
            let near = |whole: u64, figure: f64| (whole as f64 - figure).abs() <= 1.0;
            let burst = volume.burst;
            if let Some(bucket) = limits.iops.and_then(|quantity| quantity.burst) {
                prop_assert!(near(burst.and_then(|burst| burst.credits).expect("credits"), bucket.capacity / speed));
            }
            if let Some(bucket) = limits.throughput.and_then(|quantity| quantity.burst) {
                prop_assert!(near(burst.and_then(|burst| burst.credit_bytes).expect("credits").0, bucket.capacity / speed));
            }
        } else {
            prop_assert!(limits.write_iops.is_some());
        }
    }

    #[test]
    fn more_members_of_a_type_that_shares_its_limits_are_never_slower(count in 1u32..8, gib in 10u64..2000) {
        for name in ["gcp/pd-balanced", "gcp/pd-ssd", "gcp/pd-standard", "gcp/local-ssd"] {
            let total = |count: u32| {
                let of_one = limits(&format!("{count}x{name}:{gib}GiB")).iops.expect("IOPS").base;
                of_one * f64::from(count)
            };
            prop_assert!(total(count + 1) >= total(count) * (1.0 - 1e-12));
        }
    }

    #[test]
    fn a_date_never_breaks_a_lookup((name, gib) in any_volume(), days in 0i32..9000) {
        let day = jiff::civil::date(2005, 1, 1).checked_add(jiff::Span::new().days(days)).expect("a day");
        let spec: VolumeSpec = format!("{name}:{gib}GiB:100iops").parse().expect("a volume");
        if let Err(error) = types().limits(&spec, CatalogueDate::of_day(day)) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
