//! Whether blocks compress and repeat as much as was asked for.

use std::collections::HashMap;
use std::collections::HashSet;
use std::io::Write;
use std::process::{Command, Stdio};

use iostone_model::units::Bytes;

use super::*;

fn payload(data: &Data) -> Payload {
    Payload::new(data, BLOCK, streams_of_thread(1, 0).1)
}

const BLOCK: usize = 4096;

/// What `count` writes carry, one buffer going round.
fn writes(data: &Data, count: usize) -> Vec<Vec<u8>> {
    let mut payload = payload(data);
    let mut block = vec![0; BLOCK];
    payload.fill(&mut block);
    (0..count)
        .map(|_| {
            payload.renew(&mut block);
            block.clone()
        })
        .collect()
}

/// Share that a real compressor leaves of the bytes, each block of `unit` by itself as a filesystem would; None
/// where there is no such compressor.
fn compressed_share(blocks: &[Vec<u8>], compressor: &[&str]) -> Option<f64> {
    let mut left = 0;
    for unit in blocks.chunks(32) {
        let bytes = unit.concat();
        let mut child = Command::new(compressor[0])
            .args(&compressor[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut input = child.stdin.take()?;
        let writer = std::thread::spawn(move || input.write_all(&bytes));
        left += child.wait_with_output().ok()?.stdout.len();
        writer.join().unwrap().unwrap();
    }
    Some(left as f64 / (blocks.len() * BLOCK) as f64)
}

#[test]
fn streams_of_threads_and_purposes_differ() {
    let mut first_draws = HashSet::new();
    for thread in 0..8 {
        let (mut offsets, mut data) = streams_of_thread(42, thread);
        assert!(first_draws.insert(offsets.next_u64()) && first_draws.insert(data.next_u64()));
    }
    assert!(first_draws.insert(stream_of_layout(42).next_u64()));
}

#[test]
fn every_sector_changes_with_every_stamp() {
    let mut payload = payload(&Data::default());
    let mut block = vec![0; 4096 + 100];
    payload.fill(&mut block);
    let mut seen: HashSet<Vec<u8>> = block.chunks(SECTOR_BYTES).map(<[u8]>::to_vec).collect();
    for _ in 0..100 {
        payload.renew(&mut block);
        assert!(block.chunks(SECTOR_BYTES).all(|sector| seen.insert(sector.to_vec())));
    }
    assert_eq!(payload.renewal, Renewal::Stamp);
}

#[test]
fn filled_data_has_the_entropy_of_noise() {
    let mut block = vec![0; 1 << 16];
    let mut xoshiro = block.clone();
    fill(&mut streams_of_thread(1, 0).1, &mut xoshiro);
    payload(&Data::default()).fill(&mut block);
    for bytes in [xoshiro, block] {
        let mut counts = [0u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        // 256 expected of each, sigma 16.
        assert!(counts.iter().all(|count| (160..352).contains(count)));
    }
}

#[test]
fn compressors_get_the_share_that_was_asked_for() {
    for percent in [0, 10, 50, 75, 90, 100] {
        for chunk in [None, Some(Bytes(0)), Some(Bytes(1000)), Some(Bytes(4096))] {
            let data =
                Data { compress_percent: percent, compress_chunk: chunk, refill: true, ..Data::default() };
            let blocks = writes(&data, 64);
            for compressor in [["gzip", "-c"], ["zstd", "-c"]] {
                let Some(share) = compressed_share(&blocks, &compressor) else {
                    eprintln!("skipped: there is no {}", compressor[0]);
                    continue;
                };
                let wanted = 1.0 - f64::from(percent) / 100.0;
                assert!((share - wanted).abs() < 0.03, "{percent} {chunk:?} {compressor:?}: {share}");
            }
        }
    }
}

#[test]
fn the_default_does_not_compress_however_many_blocks_are_seen_together() {
    // As the arena does it: 512 buffers in turn.
    let mut payload = payload(&Data::default());
    let mut buffers = vec![vec![0; BLOCK]; 512];
    for buffer in &mut buffers {
        payload.fill(buffer);
    }
    let blocks: Vec<Vec<u8>> = (0..1024)
        .map(|turn| {
            let buffer = &mut buffers[turn % 512];
            payload.renew(buffer);
            buffer.clone()
        })
        .collect();
    if let Some(share) = compressed_share(&blocks, &["gzip", "-c"]) {
        assert!(share > 0.999, "{share}");
    }
}

#[test]
fn the_share_that_compresses_is_the_pattern_where_there_is_one() {
    let pattern = vec![0xde, 0xad, 0xbe];
    let data = Data { content: Content::Pattern(pattern), compress_percent: 25, ..Data::default() };
    for block in writes(&data, 3) {
        for chunk in block.chunks(512) {
            assert!(chunk[384..].chunks(3).all(|piece| piece == &[0xde, 0xad, 0xbe][..piece.len()]));
            assert!(chunk[..384].chunks(3).filter(|piece| *piece == [0xde, 0xad, 0xbe]).count() < 5);
        }
    }
}

#[test]
fn the_share_of_blocks_that_was_asked_for_repeats_earlier_ones() {
    for percent in [0, 20, 50, 90, 100] {
        for compress_percent in [0, 30] {
            let data = Data { dedupe_percent: percent, compress_percent, refill: true, ..Data::default() };
            let count = 20_000;
            let mut payload = payload(&data);
            let mut block = vec![0; 512];
            let mut copies: HashMap<Vec<u8>, u32> = HashMap::new();
            for _ in 0..count {
                payload.renew(&mut block);
                *copies.entry(block.clone()).or_default() += 1;
            }
            let repeats = 1.0 - copies.len() as f64 / f64::from(count);
            // Sigma of a share of 20 000 is below 0.0036.
            assert!((repeats - f64::from(percent) / 100.0).abs() < 0.015, "{percent}: {repeats}");
        }
    }
}

#[test]
fn repeats_come_from_far_back_and_not_only_from_the_block_before() {
    let data = Data { dedupe_percent: 50, ..Data::default() };
    let blocks = writes(&data, 4000);
    let mut last_seen = HashMap::new();
    let mut far = 0;
    for (index, block) in blocks.iter().enumerate() {
        if let Some(before) = last_seen.insert(block.clone(), index)
            && index - before > 100
        {
            far += 1;
        }
    }
    assert!(far > 500, "{far}");
}

#[test]
fn zeros_patterns_and_same_blocks_stay_as_they_are() {
    assert!(
        writes(&Data { content: Content::Zeros, ..Data::default() }, 3)
            .concat()
            .iter()
            .all(|byte| *byte == 0)
    );
    let text = Data { content: Content::Pattern(b"stone".to_vec()), ..Data::default() };
    for block in writes(&text, 3) {
        assert!(block.starts_with(b"stonestone") && block.chunks_exact(5).all(|piece| piece == b"stone"));
    }
    let same = writes(&Data { content: Content::Same, ..Data::default() }, 3);
    assert!(same[0] == same[1] && same[1] == same[2] && same[0].iter().any(|byte| *byte != 0));
    let fresh = writes(&Data { content: Content::Same, refill: true, ..Data::default() }, 2);
    assert_ne!(fresh[0], fresh[1]);
}

#[test]
fn what_a_read_left_behind_is_not_written() {
    for content in [Content::Noise, Content::Same, Content::Zeros, Content::Pattern(vec![1, 2])] {
        let mut payload = payload(&Data { content, ..Data::default() }).shared_with_reads();
        let mut block = vec![0x5a; BLOCK];
        payload.renew(&mut block);
        assert!(block.windows(2).filter(|pair| *pair == [0x5a, 0x5a]).count() < 10);
    }
}
