//! Limits of a real volume put in force on an emulated one.

use iostone_model::cloud::VolumeSpec;
use iostone_model::experiment::{Burst, EmulatedVolume};
use iostone_model::units::{ByteRate, Bytes};

use super::{VolumeError, VolumeLimits};

/// What sizes of emulated volumes are multiples of.
const BLOCK: u64 = 4096;

impl VolumeLimits {
    /// The emulated volume with these limits, `speed` times faster: its size and its buckets divided by that, its rates as they are,
    /// so that every time is divided by it too.
    ///
    /// Rates and buckets are rounded to the nearest whole unit, at least one; the size down to whole blocks of 4 KiB, at least one.
    /// A volume whose small I/Os each take a whole one's bytes (st1, sc1) needs no word of its own: the disk server counts bytes
    /// so wherever it merges and has a bucket of bytes. Without that bucket, its I/Os a second say the same.
    ///
    /// # Errors
    /// [`VolumeError::NotEmulated`]: reads and writes have limits of their own, which the disk server counts together; a speed
    /// that is not above zero; rates beyond the server's.
    pub fn emulated(&self, spec: &VolumeSpec, speed: f64) -> Result<EmulatedVolume, VolumeError> {
        let not = |reason: String| VolumeError::NotEmulated { volume: spec.to_string(), reason };
        if !speed.is_finite() || speed <= 0.0 {
            return Err(not(format!("{speed} times faster is no speed; it must be above zero")));
        }
        if self.write_iops.is_some() || self.write_throughput.is_some() {
            return Err(not(
                "its reads and writes have limits of their own, and the disk server counts them together; \
                 give an emulated volume `iops` and `throughput` yourself"
                    .to_owned(),
            ));
        }
        let whole = |figure: f64| {
            whole_units(figure).ok_or_else(|| not(format!("{figure} is beyond what it can count")))
        };
        let ios = |figure: f64| -> Result<u32, VolumeError> {
            u32::try_from(whole(figure)?)
                .map_err(|_| not(format!("{figure} IOPS are beyond what it can count")))
        };
        let mut volume =
            EmulatedVolume::new(Bytes((whole(spec.size.0 as f64 / speed)? / BLOCK).max(1) * BLOCK));
        volume.count = spec.count;
        volume.iops = self.iops.map(|quantity| ios(quantity.base)).transpose()?;
        volume.throughput = self.throughput.map(|quantity| whole(quantity.base).map(ByteRate)).transpose()?;
        volume.io_size = self.io_size;
        volume.merge = self.merge;
        let io_burst = self.iops.and_then(|quantity| quantity.burst);
        let byte_burst = self.throughput.and_then(|quantity| quantity.burst);
        if io_burst.is_some() || byte_burst.is_some() {
            volume.burst = Some(Burst {
                iops: io_burst.map(|burst| ios(burst.rate)).transpose()?,
                credits: io_burst.map(|burst| whole(burst.capacity / speed)).transpose()?,
                throughput: byte_burst.map(|burst| whole(burst.rate).map(ByteRate)).transpose()?,
                credit_bytes: byte_burst.map(|burst| whole(burst.capacity / speed).map(Bytes)).transpose()?,
                start: None,
            });
        }
        volume.latency = self.latency;
        volume.stands_for = Some(spec.clone());
        Ok(volume)
    }
}

/// To the nearest whole unit, at least one; none above 2^53, where an `f64` no longer holds every integer.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded and at least one")]
fn whole_units(figure: f64) -> Option<u64> {
    let rounded = figure.round().max(1.0);
    (rounded < 9_007_199_254_740_992.0).then_some(rounded as u64)
}
