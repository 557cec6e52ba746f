//! Emulated volumes: a cloud volume's limits on files of this machine, by control groups or by the disk server.

use iostone_model::experiment::EmulatedVolume;
use iostone_model::trial::Check;
use iostone_model::units::ByteRate;

use crate::error::StackError;
use crate::layer::Layer;
use crate::site::Site;

/// The layer of `emulated` volumes.
#[derive(Debug)]
pub(crate) struct EmulatedLayer {}

impl EmulatedLayer {
    /// # Errors
    /// [`StackError::Usage`] for what cannot be built, on whatever machine.
    pub(crate) fn new(_volume: &EmulatedVolume, _link: Option<ByteRate>) -> Result<Self, StackError> {
        Err(StackError::usage("volume", "not built yet"))
    }
}

impl Layer for EmulatedLayer {
    fn apply(&mut self, _site: &mut Site) -> Result<(), StackError> {
        Ok(())
    }

    fn verify(&self, _site: &Site) -> Result<Vec<Check>, StackError> {
        Ok(Vec::new())
    }
}
