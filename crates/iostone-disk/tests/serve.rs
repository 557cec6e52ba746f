//! The server as its clients see it: volumes served in a thread of the test, spoken to over their sockets.

mod faults;
mod hostile;
mod whole;
