//! Says what bounded the rates of a test: a known limit, a plateau, or the load itself.
