//! What the engine refuses, in ORION's words: an option that was typed instead of a field of a job that nobody did.

use std::path::Path;

use iostone_engine::EngineError;
use iostone_model::orion::{LoadPoint, MOST_IN_FLIGHT, OrionTest, SimulatedArray, shortened};
use iostone_model::units::Bytes;

use crate::error::OrionError;
use crate::point::Subject;

/// What can be done where direct I/O is the difficulty.
const BUFFERED: &str = "`--buffered` goes through the page cache instead";

/// Says of a point's refusal by the engine which option of ORION's it comes from; other errors stay as they are.
pub(crate) fn explain(error: OrionError, subject: &Subject<'_>, point: LoadPoint) -> OrionError {
    match error {
        OrionError::Engine(engine) => match in_words_of_orion(&engine, subject, point) {
            Some(sentence) => OrionError::Refused(sentence),
            None => OrionError::Engine(engine),
        },
        other => other,
    }
}

fn in_words_of_orion(error: &EngineError, subject: &Subject<'_>, point: LoadPoint) -> Option<String> {
    let test = &subject.header.test;
    let name = |path: &Path| {
        let lun = subject.luns.iter().find(|lun| lun.path == path);
        let name = lun.map_or_else(|| path.display().to_string(), |lun| lun.name.clone());
        shortened(&name).into_owned()
    };
    Some(match error {
        EngineError::Unaligned { path, bs, required } => format!(
            "`{}` does not suit direct I/O on `{}`: it must be a multiple of {}; {BUFFERED}",
            size_option(test, *bs),
            name(path),
            kilobytes(*required)
        ),
        EngineError::UnalignedPieces { path, required, .. } if test.simulate == SimulatedArray::Raid0 => {
            format!(
                "`-stripe {}` does not suit direct I/O on `{}`: it must be a multiple of {}; {BUFFERED}",
                test.stripe.0 >> 10,
                name(path),
                kilobytes(*required)
            )
        }
        EngineError::UnalignedPieces { path, required, .. } => format!(
            "several LUNs one behind the other cannot be read past the page cache where `{}` needs multiples of {}; \
             {BUFFERED}",
            name(path),
            kilobytes(*required)
        ),
        EngineError::NoDirect { path } => {
            format!(
                "`{}` has no direct I/O (O_DIRECT): its filesystem or driver offers none; {BUFFERED}",
                name(path)
            )
        }
        EngineError::Invalid { field: "volume", .. } => {
            let short = subject.luns.iter().find(|lun| lun.bytes < test.stripe.0)?;
            format!(
                "`-stripe {}` is {}, longer than `{}` with {}; lower it, or take larger LUNs",
                test.stripe.0 >> 10,
                test.stripe.in_words(),
                shortened(&short.name),
                Bytes(short.bytes).in_words()
            )
        }
        EngineError::Invalid { field: "targets", .. } => {
            format!("{} LUNs are more than can be open at once (4096); name fewer", subject.luns.len())
        }
        EngineError::Invalid { field: "iodepth", .. } => format!(
            "at {point} the I/Os in flight are more than {MOST_IN_FLIGHT} pieces on the LUNs; raise `-stripe`, or lower \
             `-size_large` or the loads"
        ),
        EngineError::DepthNeedsRing { reason, .. } | EngineError::NoRing { reason } => {
            format!("{point} needs several I/Os in flight, and with them io_uring: {reason}")
        }
        EngineError::TooMuchMemory { needed, available } => format!(
            "the I/Os in flight at {point} take {} of memory, more than half of the {} that are available; lower the \
             loads (`-num_disks`) or `-size_large`",
            needed.in_words(),
            available.in_words()
        ),
        EngineError::Buffers { source, .. } => format!(
            "cannot get {} of memory for the I/Os in flight at {point}: {source}; lower the loads (`-num_disks`) or \
             `-size_large`",
            test.bytes_in_flight(point).in_words()
        ),
        EngineError::Threads { source } => {
            format!("cannot start a thread for each of the {} streams at {point}: {source}", point.large)
        }
        _ => return None,
    })
}

/// The option that such a block comes from, with its value.
fn size_option(test: &OrionTest, bs: Bytes) -> String {
    let option = if bs == test.size_small { "-size_small" } else { "-size_large" };
    format!("{option} {}", bs.0 >> 10)
}

/// A length as ORION's options count: `4 KB`.
fn kilobytes(length: Bytes) -> String {
    if length.0.is_multiple_of(1024) {
        format!("{} KB", length.0 >> 10)
    } else {
        format!("{} bytes", length.0)
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::orion::RunLevel;

    use super::*;
    use crate::point::tests::{header, luns};

    fn said(test: OrionTest, error: EngineError) -> String {
        let (header, luns) = (header(test), luns(&[1 << 20, 1 << 20]));
        let subject = Subject { header: &header, luns: &luns, devices: Vec::new() };
        explain(error.into(), &subject, LoadPoint { small: 2, large: 1 }).to_string()
    }

    #[test]
    fn the_option_is_named_that_was_typed() {
        let mut test = OrionTest::new(RunLevel::Advanced);
        test.size_small = Bytes(6 << 10);
        test.simulate = SimulatedArray::Raid0;
        test.stripe = Bytes(7 << 10);
        let (path, required) = (Path::new("/nowhere/lun-1").to_owned(), Bytes(4096));
        assert_eq!(
            said(test.clone(), EngineError::Unaligned { path: path.clone(), bs: Bytes(6 << 10), required }),
            "`-size_small 6` does not suit direct I/O on `lun-1`: it must be a multiple of 4 KB; `--buffered` goes through \
             the page cache instead"
        );
        let pieces = EngineError::UnalignedPieces { path, volume: "raid0", required, unit: Bytes(7 << 10) };
        assert!(said(test.clone(), pieces).starts_with("`-stripe 7` does not suit direct I/O on `lun-1`"));
        test.stripe = Bytes(64 << 30);
        let refused = |field| EngineError::Invalid { field, value: "x".into(), reason: "y".into() };
        assert_eq!(
            said(test.clone(), refused("volume")),
            "`-stripe 67108864` is 64 GiB, longer than `lun-0` with 1 MiB; lower it, or take larger LUNs"
        );
        assert!(said(test.clone(), refused("iodepth")).contains("raise `-stripe`"));
        assert_eq!(said(test, refused("bsrange")), "the load engine: `bsrange` of `x` is refused: y");
    }
}
