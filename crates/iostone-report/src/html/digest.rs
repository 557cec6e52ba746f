//! SHA-256 of the page's script, by which its security policy knows it.
//!
//! The policy allows no other script, so that even markup that slipped through the escaping would not run. Computing
//! the digest where the page is written keeps the two from drifting apart.

/// The source expression of Content Security Policy Level 3 for a script: `sha256-` and the digest in Base64.
pub(super) fn source_expression(script: &str) -> String {
    format!("sha256-{}", base64(&sha256(script.as_bytes())))
}

/// The round constants of FIPS 180-4, section 4.2.2: fractional parts of the cube roots of the first 64 primes.
fn round_constants() -> [u32; 64] {
    let mut constants = [0; 64];
    for (constant, prime) in constants.iter_mut().zip(primes()) {
        *constant = fraction_of_root(prime, 3);
    }
    constants
}

fn primes() -> impl Iterator<Item = u32> {
    (2_u32..)
        .filter(|candidate| (2..*candidate).take_while(|d| d * d <= *candidate).all(|d| candidate % d != 0))
}

/// The first 32 bits behind the point of the square or cube root, by search over integers: exact.
fn fraction_of_root(of: u32, degree: u32) -> u32 {
    // The largest r with r^degree <= of * 2^(32 * degree); below 2^36, so its cube stays below 2^108.
    let target = u128::from(of) << (32 * degree);
    let (mut low, mut high) = (0_u128, 1_u128 << 37);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        if middle.pow(degree) <= target { low = middle } else { high = middle }
    }
    u32::try_from(low & 0xffff_ffff).unwrap_or(u32::MAX)
}

/// FIPS 180-4, section 6.2.
fn sha256(message: &[u8]) -> [u8; 32] {
    let constants = round_constants();
    let mut state = [0_u32; 8];
    for (word, prime) in state.iter_mut().zip(primes()) {
        *word = fraction_of_root(prime, 2);
    }
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.as_chunks::<64>().0 {
        compress(&mut state, block, &constants);
    }
    let mut digest = [0; 32];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8; 64], constants: &[u32; 64]) {
    let mut schedule = [0_u32; 64];
    for (word, bytes) in schedule.iter_mut().zip(block.as_chunks::<4>().0) {
        *word = u32::from_be_bytes(*bytes);
    }
    for t in 16..64 {
        let (early, late) = (schedule[t - 15], schedule[t - 2]);
        let small_0 = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
        let small_1 = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
        schedule[t] =
            schedule[t - 16].wrapping_add(small_0).wrapping_add(schedule[t - 7]).wrapping_add(small_1);
    }
    let mut v = *state;
    for (word, constant) in schedule.iter().zip(constants) {
        let big_1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
        let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
        let first = v[7].wrapping_add(big_1).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let big_0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
        let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        v.rotate_right(1);
        v[4] = v[4].wrapping_add(first);
        v[0] = first.wrapping_add(big_0).wrapping_add(majority);
    }
    for (word, added) in state.iter_mut().zip(v) {
        *word = word.wrapping_add(added);
    }
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = ALPHABET.get((bits >> shift & 63) as usize).copied().unwrap_or(b'=');
            text.push(char::from(if place <= chunk.len() { letter } else { b'=' }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard_come_out() {
        // FIPS 180-4 example "abc", and the digest of nothing, in Base64.
        assert_eq!(source_expression("abc"), "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
        assert_eq!(source_expression(""), "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
    }

    #[test]
    fn a_message_of_two_blocks_comes_out() {
        // FIPS 180-4 example of 448 bits.
        let message = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(sha256(message)[..4], [0x24, 0x8d, 0x6a, 0x61]);
    }
}
