//! The guard's table of signatures: whatever else is on a device, a magic in its place is never overlooked.
#![no_main]

use arbitrary::Arbitrary;
use iostone_stack::fuzzing::{magic_places, name_content, read_superblocks};
use libfuzzer_sys::fuzz_target;

/// Smaller devices are refused for their size alone.
const SMALLEST_BYTES: usize = 8 << 20;

#[derive(Debug, Arbitrary)]
struct Device<'a> {
    size: Size,
    written: Vec<(u32, &'a [u8])>,
    planted: Option<u16>,
}

#[derive(Debug, Arbitrary)]
enum Size {
    /// Quick to look at, and full of places that do not fit.
    Tiny(u16),
    Real(u16),
}

fuzz_target!(|device: Device<'_>| {
    let size = match device.size {
        Size::Tiny(bytes) => usize::from(bytes),
        // In steps of odd length, so that rounding towards the end is tried.
        Size::Real(more) => SMALLEST_BYTES + usize::from(more) * 37,
    };
    let mut bytes = vec![0u8; size];
    for (at, content) in &device.written {
        write(&mut bytes, *at as usize % size.max(1), content);
    }
    let empty = bytes.iter().all(|byte| *byte == 0);
    let planted = device.planted.and_then(|choice| plant(&mut bytes, usize::from(choice)));
    let found = name_content(&bytes);
    read_superblocks(&bytes);
    match planted {
        Some((offset, magic)) => assert!(found.is_some(), "{magic:x?} at {offset} of {size} is overlooked"),
        None => assert!(!empty || found.is_none(), "{found:?} on a device of zeros"),
    }
});

fn plant(bytes: &mut [u8], choice: usize) -> Option<(usize, &'static [u8])> {
    let places = magic_places(bytes.len() as u64);
    let (offset, magic) = *places.get(choice % places.len().max(1))?;
    let offset = usize::try_from(offset).ok()?;
    // What reaches over the end is not there.
    bytes.get_mut(offset..offset.checked_add(magic.len())?)?.copy_from_slice(magic);
    Some((offset, magic))
}

fn write(bytes: &mut [u8], at: usize, content: &[u8]) {
    for (byte, new) in bytes.iter_mut().skip(at).zip(content) {
        *byte = *new;
    }
}
