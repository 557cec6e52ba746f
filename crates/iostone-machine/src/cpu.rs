//! The workload's share in where the CPU time went: the groups that the probe watches, and what the workload itself tells.

use iostone_model::trial::SignalSummary;
use iostone_probe::WatchedGroups;
use iostone_stack::TrialGroups;
use iostone_workload::CpuUse;

/// The groups of a trial as the probe watches them; of a trial without any, those of the process itself count.
pub(crate) fn watched(groups: Option<&TrialGroups>) -> WatchedGroups {
    groups.map_or_else(WatchedGroups::default, |groups| WatchedGroups {
        quota: groups.quota.clone(),
        governed: groups.governed.clone(),
        usage: groups.usage.clone(),
    })
}

/// Puts down what the workload used by its own account, which goes before its group's: a program is told from what
/// prepared it, and an engine within this process has no group.
pub(crate) fn tell_own(signals: &mut SignalSummary, own: Option<CpuUse>) {
    if let (Some(account), Some(own)) = (&mut signals.cpu, own) {
        account.user_seconds = Some(own.user_seconds);
        account.system_seconds = Some(own.system_seconds);
    }
}

#[cfg(test)]
mod tests {
    use iostone_model::trial::CpuAccount;

    use super::*;

    #[test]
    fn the_workload_s_own_account_goes_before_its_group_s() {
        let of_group =
            CpuAccount { user_seconds: Some(3.0), system_seconds: Some(1.0), ..CpuAccount::default() };
        let mut signals = SignalSummary { cpu: Some(of_group), ..SignalSummary::default() };
        tell_own(&mut signals, None);
        assert_eq!(signals.cpu.as_ref().unwrap().used_seconds(), Some(4.0));
        tell_own(&mut signals, Some(CpuUse { user_seconds: 2.0, system_seconds: 0.5 }));
        assert_eq!(signals.cpu.as_ref().unwrap().used_seconds(), Some(2.5));
    }

    #[test]
    fn without_groups_the_process_s_own_are_watched() {
        assert_eq!(watched(None), WatchedGroups::default());
    }
}
