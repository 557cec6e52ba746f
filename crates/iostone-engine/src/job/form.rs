//! The form that the words of a load have in documents of jobs, which outlives how they are kept here.

use iostone_model::load::{BlockSizes, PerDirection, RandomDistribution, RateProcess, SyncFileRange, Zone};
use iostone_model::units::Bytes;
use serde::{Serialize, Serializer};

/// The sizes of one direction: a size, a range, or a list of shares.
#[derive(Serialize)]
#[serde(untagged)]
enum BlockSizesForm {
    Fixed(Bytes),
    Range { min: Bytes, max: Bytes },
    Split(Vec<ShareForm>),
}

#[derive(Serialize)]
struct ShareForm {
    bs: Bytes,
    percent: u32,
}

pub(super) fn block_sizes<S: Serializer>(
    sizes: &PerDirection<BlockSizes>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let form = |sizes: &BlockSizes| match sizes {
        BlockSizes::Fixed(bytes) => BlockSizesForm::Fixed(*bytes),
        BlockSizes::Range(range) => BlockSizesForm::Range { min: range.min, max: range.max },
        BlockSizes::Split(split) => {
            let share = |(bs, percent): &(Bytes, u32)| ShareForm { bs: *bs, percent: *percent };
            BlockSizesForm::Split(split.shares().iter().map(share).collect())
        }
    };
    PerDirection::from_fn(|direction| form(sizes.of(direction))).serialize(serializer)
}

#[derive(Serialize)]
#[serde(remote = "RandomDistribution", rename_all = "lowercase")]
pub(super) enum DistributionForm {
    #[serde(rename = "uniform")]
    Random,
    Zipf {
        theta: f64,
        center: Option<f64>,
    },
    Pareto {
        h: f64,
        center: Option<f64>,
    },
    Normal {
        deviation_percent: f64,
        center: Option<f64>,
    },
    Zoned(Vec<Zone>),
    HotCold {
        access_percent: f64,
        span_percent: f64,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) fn arrivals<S: Serializer>(process: &RateProcess, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match process {
        RateProcess::Linear => "constant",
        RateProcess::Poisson => "poisson",
    })
}

/// Never is after every 0 writes.
#[derive(Default, Serialize)]
struct SyncFileRangeForm {
    every: u32,
    wait_before: bool,
    write: bool,
    wait_after: bool,
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
pub(super) fn sync_file_range<S: Serializer>(
    sync: &Option<SyncFileRange>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let form = |sync: SyncFileRange| {
        let SyncFileRange { every, wait_before, write, wait_after } = sync;
        SyncFileRangeForm { every, wait_before, write, wait_after }
    };
    sync.map(form).unwrap_or_default().serialize(serializer)
}
