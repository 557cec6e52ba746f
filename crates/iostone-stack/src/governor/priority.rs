//! The governor before all others: a busy machine is not to make it late.
#![expect(unsafe_code, reason = "the policy of the scheduler is set by a call of the C library")]

/// Asks for the real-time policy at its lowest priority, and where that is not allowed, as in a control group of version 1
/// without a real-time share, for the best place among the others. Without root it has neither.
pub(super) fn raise() {
    // SAFETY: an all-zero sched_param is valid, and the pointer is to a live local.
    let real_time = unsafe {
        let mut parameter: libc::sched_param = std::mem::zeroed();
        parameter.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameter)
    };
    if real_time != 0 {
        let _ = rustix::process::setpriority_process(None, -20);
    }
}
