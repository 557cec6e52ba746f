//! Recommendations in words: the target, what was taken for granted, and the command that shows a choice.

use iostone_model::cloud::VolumeSpec;
use iostone_model::figures::group_digits;
use iostone_model::recommendation::Target;
use iostone_model::units::{BytesPerSecond, Fraction};

use super::instances::Pool;
use super::judge::Judge;
use super::{Goal, Wanted};
use crate::prediction::{Amount, Pattern};
use crate::prices::DEFAULT_REGION;

/// What is wanted.
pub(super) fn target(wanted: &Wanted) -> Target {
    match wanted.goal {
        Goal::Within(span) => Target {
            words: format!("within {span}"),
            within_seconds: Some(span.0.as_secs_f64()),
            bytes_per_second: None,
            ios_per_second: None,
            for_seconds: None,
        },
        Goal::Rate { bytes_per_second, ios_per_second, span } => {
            let rate = match ios_per_second {
                Some(ios) => format!("{} IOPS", group_digits(&format!("{ios:.0}"))),
                None => BytesPerSecond(bytes_per_second).to_string(),
            };
            let how_long = span.map_or_else(|| "in the long run".to_owned(), |span| format!("for {span}"));
            Target {
                words: format!("{rate} {how_long}"),
                within_seconds: None,
                bytes_per_second: Some(bytes_per_second),
                ios_per_second,
                for_seconds: span.map(|span| span.0.as_secs_f64()),
            }
        }
    }
}

/// What was taken for granted, a sentence each without its point.
pub(super) fn assumptions(wanted: &Wanted, pool: &Pool<'_>) -> Vec<String> {
    let burstable_left_out = pool.burstable_left_out;
    let mut words = vec![
        "the volumes carry no filesystem yet: it takes a share of their size and of what they move"
            .to_owned(),
        "disks of an instance's own are never taken for volumes: how fast they are is not in the catalogue"
            .to_owned(),
        "processors and memory are enough for the work; `--vcpus` and `--memory` ask for more".to_owned(),
    ];
    if wanted.most_volumes > 1 {
        words.push("several volumes are striped (RAID0): when one is lost, all is".to_owned());
        let unknown = pool.attachments_unknown;
        words.extend((unknown > 0).then(|| {
            format!("of {unknown} instance types it is not known how many volumes they take: as many as are wanted")
        }));
    }
    let bursts = match wanted.goal {
        Goal::Within(_) => true,
        Goal::Rate { span, .. } => span.is_some(),
    };
    if bursts {
        let start = wanted.start.map_or_else(|| "full".to_owned(), |share| format!("{share} full"));
        words.push(format!(
            "buckets of volumes and links are {start} at the start; an instance's link bursts for 30 min at least once in 24 h"
        ));
    }
    if wanted.work.depth.is_some() && wanted.latency.is_none() {
        words.push(
            "how long an I/O takes is not said, so that `--depth` holds nothing: `--latency` says it"
                .to_owned(),
        );
    }
    if matches!(wanted.goal, Goal::Rate { .. }) {
        words.push("the rate is that of writes".to_owned());
    }
    if burstable_left_out > 0 {
        words.push(format!(
            "{burstable_left_out} burstable types are left out, since what the work takes of their processors is not said; `--burstable ok` takes them in"
        ));
    }
    words.push(
        "the date is that of the limits of volumes; instances and prices are those that the catalogue has"
            .to_owned(),
    );
    words
}

/// The command that shows a choice.
pub(super) fn predict_command(wanted: &Wanted, instance: &str, volumes: &VolumeSpec) -> String {
    let Judge { work, start, .. } = Judge::of(wanted);
    let mut words = vec![format!("iostone predict --instance {instance} --volume {volumes}")];
    match work.amount {
        Amount::Bytes { read, write } => {
            words.extend((read.0 > 0).then(|| format!("--read {read}")));
            words.extend((write.0 > 0).then(|| format!("--write {write}")));
        }
        Amount::Time { span, written_per_mille } => {
            words.push(format!("--for {span}"));
            if written_per_mille != 1000 {
                words.push(format!("--written {}", Fraction(f64::from(written_per_mille) / 1000.0)));
            }
        }
    }
    words.extend(work.io_size.map(|size| format!("--bs {size}")));
    words.extend((work.pattern == Pattern::Random).then(|| "--random".to_owned()));
    words.extend(work.depth.map(|depth| format!("--depth {depth}")));
    words.extend(wanted.latency.map(|latency| format!("--latency {latency}")));
    words.extend(start.map(|share| format!("--start {share}")));
    words.push("--filesystem none".to_owned());
    words.push(format!("--date {}", wanted.date));
    if wanted.region != DEFAULT_REGION {
        words.push(format!("--region {}", wanted.region));
    }
    words.join(" ")
}
