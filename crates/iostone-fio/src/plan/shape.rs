//! Block sizes and the order of blocks.

use iostone_engine::{
    BlockSize, BlockSizes, Distribution as EngineDistribution, Extent, Service, ServiceOrder, SizeShare,
    Strides, Walk, Zone as EngineZone,
};
use iostone_model::units::Bytes;

use crate::job_file::Section;
use crate::options::FioOptions;
use crate::plan::{Planner, per_direction};
use crate::values::{
    BlockChoice, ByDirection, Direction, Distribution, FileService, RwSequencer, Zone, ZoneMode, ZoneSize,
};

impl Planner<'_> {
    pub(super) fn plan_blocks(&mut self, section: &Section) -> BlockSizes {
        let options = &section.options;
        let size = |direction| block_size(options.block_choice(direction));
        let sizes = BlockSizes {
            read: size(Direction::Read),
            write: size(Direction::Write),
            trim: size(Direction::Trim),
        };
        if options.bs_is_seq_rand != Some(true) {
            return sizes;
        }
        let is_random = options.access().rw.is_random();
        let mixes = options.percentage_random.iter().flatten().any(|percent| !matches!(percent, 0 | 100));
        if is_random && mixes {
            self.refuse(section, "bs_is_seq_rand", "a job is random or sequential, not some of both");
        }
        BlockSizes::all(if is_random { sizes.write } else { sizes.read })
    }

    pub(super) fn plan_walk(&mut self, section: &Section, sizes: &BlockSizes) -> Walk {
        let options = &section.options;
        let access = options.access();
        let mut walk = Walk {
            run_length: access.ios_per_offset.unwrap_or(1),
            repeat_place: options.rw_sequencer == Some(RwSequencer::Identical),
            skip_bytes: access.skip_bytes,
            percentage_random: per_direction(&options.percentage_random, |percent| {
                percent.unwrap_or(100).into()
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
        let aligns: Vec<u64> = used(options)
            .filter_map(|direction| options.blockalign.of(direction).map(|align: Bytes| align.0))
            .collect();
        if let Some(first) = aligns.first() {
            if aligns.iter().any(|align| align != first) {
                self.refuse(section, "blockalign", "all directions of a job are aligned alike");
            }
            let smallest = used(options).map(|direction| size_of(sizes, direction).smallest().0).min();
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

    fn distribution(&mut self, section: &Section) -> EngineDistribution {
        match section.options.random_distribution.clone().unwrap_or_default() {
            Distribution::Uniform => EngineDistribution::Uniform,
            Distribution::Zipf { theta, centre } => EngineDistribution::Zipf { theta, center: centre },
            Distribution::Pareto { power, centre } => EngineDistribution::Pareto { h: power, center: centre },
            Distribution::Normal { deviation_percent, centre } => {
                EngineDistribution::Normal { deviation_percent, center: centre }
            }
            Distribution::Zoned(zones) => self.zones(section, &zones),
        }
    }

    fn zones(&mut self, section: &Section, zones: &ByDirection<Vec<Zone>>) -> EngineDistribution {
        let mut lists = used(&section.options).map(|direction| zones.of(direction));
        let first = lists.next().unwrap_or(&zones.read);
        if lists.any(|list| list != first) {
            self.refuse(
                section,
                "random_distribution",
                "the zones of a job are the same for all its directions",
            );
        }
        let zone = |zone: &Zone| EngineZone {
            access_percent: zone.access_percent.into(),
            extent: match zone.size {
                ZoneSize::Percent(percent) => Extent::Percent(percent.into()),
                ZoneSize::Bytes(bytes) => Extent::Bytes(bytes),
            },
        };
        EngineDistribution::Zoned(first.iter().map(zone).collect())
    }
}

/// The directions that a job goes in.
pub(super) fn used(options: &FioOptions) -> impl Iterator<Item = Direction> + use<> {
    let rw = options.access().rw;
    [(rw.reads(), Direction::Read), (rw.writes(), Direction::Write), (rw.trims(), Direction::Trim)]
        .into_iter()
        .filter_map(|(has, direction)| has.then_some(direction))
}

fn size_of(sizes: &BlockSizes, direction: Direction) -> &BlockSize {
    match direction {
        Direction::Read => &sizes.read,
        Direction::Write => &sizes.write,
        Direction::Trim => &sizes.trim,
    }
}

fn block_size(choice: BlockChoice) -> BlockSize {
    match choice {
        BlockChoice::Fixed(bytes) => BlockSize::Fixed(bytes),
        BlockChoice::Range(range) => BlockSize::Range { min: range.least, max: range.most },
        BlockChoice::Split(shares) => {
            let share = |share: crate::values::BlockShare| SizeShare {
                bs: share.size,
                percent: share.percent.into(),
            };
            BlockSize::Split(shares.into_iter().map(share).collect())
        }
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

pub(super) fn service(options: &FioOptions) -> Service {
    let (order, every) = match options.file_service_type.clone().unwrap_or_default() {
        FileService::RoundRobin { ios } => (ServiceOrder::RoundRobin, ios),
        FileService::Sequential { ios } => (ServiceOrder::Sequential, ios),
        FileService::Random { ios } => (ServiceOrder::Random(EngineDistribution::Uniform), ios),
        FileService::Skewed(distribution) => {
            let order = match distribution {
                Distribution::Zipf { theta, centre } => EngineDistribution::Zipf { theta, center: centre },
                Distribution::Pareto { power, centre } => {
                    EngineDistribution::Pareto { h: power, center: centre }
                }
                Distribution::Normal { deviation_percent, centre } => {
                    EngineDistribution::Normal { deviation_percent, center: centre }
                }
                Distribution::Uniform | Distribution::Zoned(_) => EngineDistribution::Uniform,
            };
            (ServiceOrder::Random(order), 1)
        }
    };
    Service { order, every }
}
