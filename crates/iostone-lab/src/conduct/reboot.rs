//! Stops a run whose next trial needs another kernel than the one that runs, and finds the block again that waited for it.

use iostone_machine::{Failure, FailureKind};
use iostone_model::experiment::Configuration;

use super::{Block, Conductor};
use crate::boot;
use crate::directory::block_records;
use crate::error::LabError;
use crate::journal::JournalEvent;

impl<'a> Conductor<'a> {
    /// Why a configuration cannot run before a reboot.
    pub(super) fn lacks_boot(&self, configuration: &Configuration) -> Option<String> {
        boot::lacking(self.plan, configuration, &self.kernel)
    }

    /// Ends the session where a configuration needs another kernel; `block` is written down as waiting for it.
    pub(super) fn require_boot(
        &mut self,
        configuration: &Configuration,
        block: Option<u32>,
    ) -> Result<(), LabError> {
        let Some(reason) = self.lacks_boot(configuration) else { return Ok(()) };
        self.log_reboot(block, configuration, reason.clone())?;
        Err(Failure::new(FailureKind::Reboot, reason).into())
    }

    fn log_reboot(
        &mut self,
        block: Option<u32>,
        configuration: &Configuration,
        reason: String,
    ) -> Result<(), LabError> {
        let configuration = configuration.name.clone();
        self.directory.log(JournalEvent::RebootNeeded { block, configuration, reason })
    }

    /// The machine itself may find that another kernel is needed; the block waits all the same.
    pub(super) fn note_reboot<T>(
        &mut self,
        ran: Result<T, LabError>,
        configuration: &Configuration,
        block: u32,
    ) -> Result<T, LabError> {
        if let Err(error) = &ran
            && error.is_reboot()
        {
            self.log_reboot(Some(block), configuration, error.to_string())?;
        }
        ran
    }

    /// A session that was begun without the reboot ends before it warms up in vain.
    pub(super) fn check_waiting_block(&mut self) -> Result<(), LabError> {
        let Some(Block { number, order, done }) = self.waiting_block()? else { return Ok(()) };
        match (0..).zip(order).find(|(position, _)| !done.contains(position)) {
            Some((_, next)) => self.require_boot(next, Some(number)),
            None => Ok(()),
        }
    }

    /// The last block, if it stopped for a reboot and has not ended since.
    pub(super) fn waiting_block(&self) -> Result<Option<Block<'a>>, LabError> {
        let blocks = block_records(self.directory.entries());
        let Some(block) = blocks.last().filter(|block| block.waits_for_reboot()) else {
            return Ok(None);
        };
        let configurations = &self.plan.experiment.configurations;
        let of_name = |name: &String| configurations.iter().find(|configuration| configuration.name == *name);
        let trials = self.directory.trials()?;
        let own = trials.into_iter().filter(|trial| trial.block == block.number);
        Ok(Some(Block {
            number: block.number,
            order: block.order.iter().filter_map(of_name).collect(),
            done: own.map(|trial| trial.position).collect(),
        }))
    }
}
