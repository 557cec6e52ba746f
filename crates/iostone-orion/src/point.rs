//! Measures one load point: small and large I/O beside each other through the engine.
