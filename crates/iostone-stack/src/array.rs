//! Arrays: several volumes made into one device; one file for each way.

use iostone_model::experiment::{Array, Stack};

use crate::error::StackError;
use crate::layer::Layer;

/// The layer of a stack's array; none where nothing is joined, or where the filesystem itself joins its devices.
///
/// # Errors
/// [`StackError::Usage`] for what cannot be built, on whatever machine.
pub(crate) fn layer_of(stack: &Stack) -> Result<Option<Box<dyn Layer>>, StackError> {
    match &stack.array {
        Array::None | Array::Btrfs(_) => Ok(None),
        Array::Md(_) | Array::Lvm(_) => Err(StackError::usage("array", "not built yet")),
    }
}
