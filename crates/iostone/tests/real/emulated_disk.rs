//! `iostone disk` below a real filesystem: power cuts, caps, latencies, bursts, errors and stalls as ext4 sees them.

mod cuts;
mod faults;
mod limits;
mod rig;
