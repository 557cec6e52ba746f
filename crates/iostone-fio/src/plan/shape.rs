//! Block sizes and the order of blocks.

use iostone_engine::{Strides, Walk};
use iostone_model::load::{BlockSizes, PerDirection, RandomDistribution};
use iostone_model::units::Bytes;

use crate::job_file::Section;
use crate::options::FioOptions;
use crate::plan::Planner;
use crate::values::{RwSequencer, ZoneMode};

impl Planner<'_> {
    pub(super) fn plan_blocks(&mut self, section: &Section) -> PerDirection<BlockSizes> {
        let options = &section.options;
        let sizes = PerDirection::from_fn(|direction| options.block_sizes(direction));
        if options.bs_is_seq_rand != Some(true) {
            return sizes;
        }
        let is_random = options.access().rw.is_random();
        let mixes = options.percentage_random.iter().flatten().any(|percent| !matches!(percent, 0 | 100));
        if is_random && mixes {
            self.refuse(section, "bs_is_seq_rand", "a job is random or sequential, not some of both");
        }
        PerDirection::all(if is_random { sizes.write } else { sizes.read })
    }

    pub(super) fn plan_walk(&mut self, section: &Section, sizes: &PerDirection<BlockSizes>) -> Walk {
        let options = &section.options;
        let access = options.access();
        let mut walk = Walk {
            run_length: access.ios_per_offset.unwrap_or(1),
            repeat_place: options.rw_sequencer == Some(RwSequencer::Identical),
            skip_bytes: access.skip_bytes,
            percentage_random: PerDirection::from_fn(|direction| {
                options.percentage_random.of(direction).unwrap_or(100)
            }),
            revisits: options.norandommap == Some(true),
            strides: strides(options),
            ..Walk::default()
        };
        if !access.rw.is_random() {
            // fio repeats the place of a sequential job as well, where no number is behind `rw`, once.
            walk.repeat_place = false;
            return walk;
        }
        walk.distribution = self.distribution(section);
        let aligns: Vec<u64> = access
            .rw
            .directions()
            .filter_map(|direction| options.blockalign.of(direction).map(|align: Bytes| align.0))
            .collect();
        if let Some(first) = aligns.first() {
            if aligns.iter().any(|align| align != first) {
                self.refuse(section, "blockalign", "all directions of a job are aligned alike");
            }
            let smallest = access.rw.directions().map(|direction| sizes.of(direction).smallest().0).min();
            // As in fio, places that are not where blocks are cannot be ticked off.
            walk.revisits |= smallest != Some(*first);
            walk.align = Some(Bytes(*first));
        }
        if options.zonemode == Some(ZoneMode::Strided)
            && options.filename.len().max(options.nrfiles.unwrap_or(1) as usize) > 1
        {
            let place = section.place_of("zonemode").unwrap_or(&section.place).clone();
            self.remark(&place, "zones are of jobs with one file only, as in fio; this one has more");
        }
        walk
    }

    fn distribution(&mut self, section: &Section) -> RandomDistribution {
        let options = &section.options;
        let Some(given) = &options.random_distribution else { return RandomDistribution::default() };
        let mut used = options.access().rw.directions().map(|direction| given.of(direction));
        let first = used.next().unwrap_or(&given.read);
        if used.any(|other| other != first) {
            self.refuse(
                section,
                "random_distribution",
                "the zones of a job are the same for all its directions",
            );
        }
        first.clone()
    }
}

/// Zones hold for jobs with one file, as in fio.
fn strides(options: &FioOptions) -> Option<Strides> {
    let files = options.filename.len().max(options.nrfiles.unwrap_or(1) as usize);
    let io = options.zonesize.filter(|size| size.0 > 0)?;
    if options.zonemode != Some(ZoneMode::Strided) || files > 1 {
        return None;
    }
    let range = options.zonerange.filter(|range| range.0 > 0).unwrap_or(io);
    Some(Strides { range, io, skip: options.zoneskip.unwrap_or_default() })
}
