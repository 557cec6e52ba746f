//! Block sizes by their shares.

use iostone_model::load::BlockSplit;
use iostone_model::units::Bytes;

use crate::number::size;
use crate::values::KbBase;

/// The most entries that fio takes (`BSSPLIT_MAX`).
const MOST_SHARES: usize = 64;

/// Reads `4k/10:64k/50:32k/40`, with lists for reads, writes and trims behind commas.
pub(crate) fn read_block_shares(text: &str, kb_base: KbBase) -> Result<[Option<BlockSplit>; 3], String> {
    by_direction(text, |part| block_shares(part, kb_base))
}

/// One list serves all directions; of two, the second serves writes and trims. An empty one changes nothing.
pub(super) fn by_direction<T: Clone>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<T, String>,
) -> Result<[Option<T>; 3], String> {
    let parts: Vec<&str> = text.trim().split(',').collect();
    if parts.len() > 3 {
        return Err("there are more than three lists (reads, writes, trims)".into());
    }
    let mut lists = parts.iter().map(|part| if part.is_empty() { Ok(None) } else { read(part).map(Some) });
    let first = lists.next().transpose()?.flatten();
    let Some(second) = lists.next().transpose()? else { return Ok([first.clone(), first.clone(), first]) };
    let Some(third) = lists.next().transpose()? else { return Ok([first, second.clone(), second]) };
    Ok([first, second, third])
}

/// `value/percent` pairs; the percentage may be left out.
pub(super) fn pairs(text: &str, most: usize) -> Result<Vec<(&str, &str)>, String> {
    // fio stops at an empty entry, so that a colon at the end means nothing.
    let entries: Vec<&str> = text.strip_suffix(':').unwrap_or(text).split(':').collect();
    if entries.len() > most {
        return Err(format!("there are more than {most} entries"));
    }
    entries.iter().map(|entry| Ok(entry.split_once('/').unwrap_or((entry, "")))).collect()
}

pub(super) fn percent(text: &str) -> Result<Option<u32>, String> {
    if text.is_empty() || text == "0" {
        // fio reads no percentage and a zero alike: an equal part of what is left.
        return Ok(None);
    }
    match text.parse::<u32>() {
        Ok(percent) if percent <= 100 => Ok(Some(percent)),
        _ => Err(format!("`{text}` is not a percentage from 0 to 100")),
    }
}

/// Gives the entries without a percentage equal parts of what is left of 100, in whole per cent.
pub(super) fn deal_out(given: &[Option<u32>]) -> Result<Vec<u32>, String> {
    let sum: u32 = given.iter().flatten().sum();
    let left = 100_u32.checked_sub(sum).ok_or_else(|| format!("the percentages add up to {sum}"))?;
    let missing = given.iter().filter(|percent| percent.is_none()).count();
    let part = u32::try_from(missing).ok().and_then(|missing| left.checked_div(missing)).unwrap_or(0);
    Ok(given.iter().map(|percent| percent.unwrap_or(part)).collect())
}

fn block_shares(text: &str, kb_base: KbBase) -> Result<BlockSplit, String> {
    let pairs = pairs(text, MOST_SHARES)?;
    let given = pairs.iter().map(|(_, share)| percent(share)).collect::<Result<Vec<_>, _>>()?;
    let dealt = deal_out(&given)?;
    let mut shares = Vec::with_capacity(pairs.len());
    for ((typed, _), percent) in pairs.into_iter().zip(dealt) {
        let size = size(typed, kb_base)?;
        if size == 0 {
            return Err("a block of 0 bytes is no block".into());
        }
        shares.push((Bytes(size), percent));
    }
    let sum: u32 = shares.iter().map(|(_, percent)| percent).sum();
    // fio falls back on the entry with the largest share when the list does not reach 100.
    if let Some((_, largest)) = shares.iter_mut().max_by_key(|(_, percent)| *percent) {
        *largest += 100_u32.saturating_sub(sum);
    }
    BlockSplit::new(shares)
}
