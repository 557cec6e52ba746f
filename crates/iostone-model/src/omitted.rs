//! What a document leaves out: values that are as if they had been left out.

/// Whether a value is its type's default, as serde asks it.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
