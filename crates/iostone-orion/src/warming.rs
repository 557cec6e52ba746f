//! Warms the cache of an array before a large sequential point, by unmeasured random I/O.
