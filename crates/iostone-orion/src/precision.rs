//! Ends a point by the precision of its rate instead of by time.
