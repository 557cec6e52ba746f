//! Tests of the volatile cache against a model that remembers what every block may be after a power cut.

use proptest::prelude::*;

use super::*;

/// Not a multiple of a block, so that the last one is short.
const VOLUME_BYTES: u64 = 16 * BLOCK_BYTES + 1536;

/// A medium in memory that can be told to fail.
#[derive(Debug, Default)]
struct Memory {
    bytes: Vec<u8>,
    flushes: u32,
    fails: bool,
}

impl Memory {
    fn of(length: u64) -> Self {
        Self { bytes: vec![0; usize::try_from(length).unwrap()], ..Self::default() }
    }
}

impl Medium for Memory {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let start = usize::try_from(offset).unwrap();
        buffer.copy_from_slice(&self.bytes[start..start + buffer.len()]);
        Ok(())
    }

    fn write_at(&mut self, data: &[u8], offset: u64) -> io::Result<()> {
        if self.fails {
            return Err(io::Error::from_raw_os_error(EIO));
        }
        let start = usize::try_from(offset).unwrap();
        self.bytes[start..start + data.len()].copy_from_slice(data);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.flushes += 1;
        Ok(())
    }
}

fn cache(blocks: u64, seed: u64) -> VolatileCache<Memory> {
    VolatileCache::new(Memory::of(VOLUME_BYTES), VOLUME_BYTES, Bytes(blocks * BLOCK_BYTES), seed)
}

fn read(cache: &mut VolatileCache<Memory>, offset: u64, length: usize) -> Vec<u8> {
    let mut buffer = vec![0xEE; length];
    cache.read_at(&mut buffer, offset).unwrap();
    buffer
}

fn filled(byte: u8, blocks: usize) -> Vec<u8> {
    vec![byte; blocks * 4096]
}

fn at(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

fn is_eio<T: std::fmt::Debug>(result: io::Result<T>) -> bool {
    result.unwrap_err().raw_os_error() == Some(EIO)
}

#[test]
fn reads_see_what_is_not_flushed_and_the_medium_does_not() {
    let mut cache = cache(4, 1);
    cache.write_at(&[7; 1000], 3600, false).unwrap();
    assert_eq!(read(&mut cache, 3599, 1002), [&[0][..], &[7; 1000], &[0]].concat());
    assert!(cache.medium().bytes.iter().all(|byte| *byte == 0));
    cache.flush().unwrap();
    assert_eq!(cache.medium().bytes[3600..4600], [7; 1000]);
    assert_eq!(cache.medium().flushes, 1);
    assert_eq!(cache.cache_counters().flushed_blocks, 2);
}

#[test]
fn a_full_cache_makes_room_and_stays_bounded() {
    let mut cache = cache(2, 1);
    cache.write_at(&filled(9, 16), 0, false).unwrap();
    let counters = cache.cache_counters();
    assert_eq!((counters.capacity_blocks, counters.dirty_blocks, counters.evicted_blocks), (2, 2, 14));
    assert_eq!(read(&mut cache, 0, 16 * 4096), filled(9, 16));
}

#[test]
fn any_block_may_be_evicted_and_none_has_to_be() {
    let mut evicted = [0; 8];
    for seed in 0..50 {
        let mut cache = cache(8, seed);
        cache.write_at(&filled(1, 12), 0, false).unwrap();
        let blocks = cache.medium().bytes.chunks(4096);
        assert_eq!(blocks.clone().filter(|block| block[0] == 1).count(), 4);
        evicted.iter_mut().zip(blocks).for_each(|(count, block)| *count += u32::from(block[0]));
    }
    assert!(evicted.iter().all(|count| (1..50).contains(count)), "{evicted:?} of 50");
}

#[test]
fn a_write_with_fua_survives_and_those_before_it_need_not() {
    let mut cache = cache(8, 1);
    cache.write_at(&[1; 4096], 0, false).unwrap();
    cache.write_at(&[2; 4096], 4096, true).unwrap();
    let cut = cache.power_cut(Fraction(0.0)).unwrap();
    assert_eq!(cut, PowerCut { kept_blocks: 0, lost_blocks: 1 });
    assert_eq!(cache.medium().bytes[..4096], [0; 4096]);
    assert_eq!(cache.medium().bytes[4096..8192], [2; 4096]);
}

#[test]
fn without_power_everything_fails_until_it_is_back() {
    let mut cache = cache(8, 1);
    cache.write_at(&[1; 4096], 0, false).unwrap();
    cache.power_cut(Fraction(1.0)).unwrap();
    assert!(is_eio(cache.read_at(&mut [0; 4096], 0)));
    assert!(is_eio(cache.write_at(&[2; 4096], 0, false)));
    assert!(is_eio(cache.flush()));
    assert_eq!(cache.destage_due(1).unwrap(), None);
    assert_eq!(cache.power_cut(Fraction(0.0)).unwrap(), PowerCut::default(), "it is off already");
    cache.restore();
    assert_eq!(read(&mut cache, 0, 4096), [1; 4096], "all was to be kept");
}

#[test]
fn the_share_kept_is_exact_to_a_block() {
    let mut cache = cache(16, 5);
    cache.write_at(&filled(1, 16), 0, false).unwrap();
    assert_eq!(cache.power_cut(Fraction(0.25)).unwrap(), PowerCut { kept_blocks: 4, lost_blocks: 12 });
    let kept = cache.medium().bytes.chunks(4096).filter(|block| block[0] == 1).count();
    assert_eq!(kept, 4);
}

#[test]
fn blocks_go_to_the_medium_by_and_by() {
    let mut cache = cache(16, 5);
    assert_eq!(cache.destage_due(0).unwrap(), None);
    cache.write_at(&filled(1, 16), 0, false).unwrap();
    let mut due_ns = cache.destage_due(0).unwrap();
    assert_eq!(due_ns, Some(DESTAGE_EVERY_NS));
    assert_eq!(cache.destage_due(DESTAGE_EVERY_NS - 1).unwrap(), due_ns, "not yet");
    let mut rounds = 0;
    while let Some(at_ns) = due_ns {
        due_ns = cache.destage_due(at_ns).unwrap();
        rounds += 1;
    }
    assert_eq!(rounds, 16, "one of up to 32 each time");
    assert_eq!(cache.medium().bytes[..16 * 4096], filled(1, 16));
}

#[test]
fn a_medium_that_fails_loses_nothing_and_is_told() {
    let mut cache = cache(8, 1);
    cache.write_at(&filled(4, 8), 0, false).unwrap();
    cache.medium_mut().fails = true;
    assert!(is_eio(cache.flush()));
    assert!(is_eio(cache.write_at(&[5; 4096], 8 * 4096, false)), "there is no room");
    cache.medium_mut().fails = false;
    assert_eq!(read(&mut cache, 0, 8 * 4096), filled(4, 8));
    cache.flush().unwrap();
    assert_eq!(cache.medium().bytes[..8 * 4096], filled(4, 8));
}

#[test]
fn what_lies_beyond_the_end_is_refused() {
    let mut cache = cache(8, 1);
    assert_eq!(
        cache.write_at(&[1; 2], VOLUME_BYTES - 1, false).unwrap_err().kind(),
        io::ErrorKind::InvalidInput
    );
    assert!(cache.read_at(&mut [1; 2], u64::MAX).is_err());
    cache.write_at(&[1; 1], VOLUME_BYTES - 1, true).unwrap();
    assert_eq!(cache.medium().bytes.last(), Some(&1));
}

/// One step of the property.
#[derive(Debug, Clone)]
enum Step {
    Write { offset: u64, length: u64, fua: bool },
    Read { offset: u64, length: u64 },
    Flush,
    Destage,
    Cut { keep: f64 },
}

fn step() -> impl Strategy<Value = Step> {
    // Sectors mostly, and odd bytes sometimes.
    let place = || (0..VOLUME_BYTES, prop_oneof![Just(512_u64), Just(4096), 1_u64..20_000], any::<bool>());
    let aligned = |(offset, length, odd): (u64, u64, bool)| {
        let offset = if odd { offset } else { offset / 512 * 512 };
        (offset, length.min(VOLUME_BYTES - offset))
    };
    prop_oneof![
        8 => (place(), prop::bool::weighted(0.1)).prop_map(move |(place, fua)| {
            let (offset, length) = aligned(place);
            Step::Write { offset, length, fua }
        }),
        3 => place().prop_map(move |place| {
            let (offset, length) = aligned(place);
            Step::Read { offset, length }
        }),
        1 => Just(Step::Flush),
        2 => Just(Step::Destage),
        1 => (0.0..=1.0).prop_map(|keep| Step::Cut { keep }),
    ]
}

/// What the volume holds, and for each block what it may be found to hold after a power cut: what it held when it was
/// last made durable, and everything since.
struct Expected {
    now: Vec<u8>,
    possible: Vec<Vec<Vec<u8>>>,
}

impl Expected {
    fn new(now: Vec<u8>) -> Self {
        let possible = now.chunks(4096).map(|block| vec![block.to_vec()]).collect();
        Self { now, possible }
    }

    fn write(&mut self, offset: usize, data: &[u8], fua: bool) {
        self.now[offset..offset + data.len()].copy_from_slice(data);
        for block in offset / 4096..=(offset + data.len() - 1) / 4096 {
            if fua {
                self.possible[block].clear();
            }
            let end = self.now.len().min(block * 4096 + 4096);
            self.possible[block].push(self.now[block * 4096..end].to_vec());
        }
    }

    fn flush(&mut self) {
        *self = Self::new(std::mem::take(&mut self.now));
    }
}

proptest! {
    #[test]
    fn every_block_is_as_last_flushed_or_later_and_never_torn(
        steps in prop::collection::vec(step(), 1..60),
        blocks in 1_u64..24,
        seed: u64,
    ) {
        let mut cache = cache(blocks, seed);
        let mut expected = Expected::new(cache.medium().bytes.clone());
        let mut now_ns = 0;
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Write { offset, length, fua } => {
                    let pattern = |byte: usize| (number * 31 + byte / 512 + 1).to_le_bytes()[0];
                    let data: Vec<u8> = (0..at(length)).map(pattern).collect();
                    cache.write_at(&data, offset, fua).unwrap();
                    expected.write(at(offset), &data, fua);
                }
                Step::Read { offset, length } => {
                    let range = at(offset)..at(offset + length);
                    prop_assert_eq!(&read(&mut cache, offset, at(length)), &expected.now[range]);
                }
                Step::Flush => {
                    cache.flush().unwrap();
                    expected.flush();
                    prop_assert_eq!(&cache.medium().bytes, &expected.now);
                }
                Step::Destage => {
                    now_ns += DESTAGE_EVERY_NS;
                    cache.destage_due(now_ns).unwrap();
                }
                Step::Cut { keep } => {
                    cache.power_cut(Fraction(keep)).unwrap();
                    cache.restore();
                    expected = Expected { now: cache.medium().bytes.clone(), ..expected };
                }
            }
            prop_assert!(cache.cache_counters().dirty_blocks <= blocks);
            for (block, possible) in cache.medium().bytes.chunks(4096).zip(&expected.possible) {
                prop_assert!(possible.iter().any(|version| version == block), "step {number}");
            }
        }
    }
}
