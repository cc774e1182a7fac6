//! The clocks of a run, and what they come to.

use landfall::proto::TimeoutOptions;

use super::agenda::Time;
use super::schedule::{CallPlan, Clocks, Schedule, Tool};

/// What bounds a call, in microseconds.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Bounds {
    pub(crate) call: Time,
    pub(crate) recovery: Time,
    pub(crate) deadline: Time,
    pub(crate) idle: Time,
    pub(crate) connect: Time,
}

impl Clocks {
    pub(crate) fn options(self) -> TimeoutOptions {
        match self {
            Self::Default => TimeoutOptions::default(),
            Self::Brisk => TimeoutOptions {
                handshake: Some(3_000.0),
                connect: Some(400.0),
                idle: Some(2_000.0),
                call: Some(6_000.0),
                recovery: Some(8_000.0),
                deadline: Some(20_000.0),
                ..TimeoutOptions::default()
            },
            Self::Tight => TimeoutOptions { deadline: Some(10_000.0), ..TimeoutOptions::default() },
        }
    }
}

impl Bounds {
    /// Those of a call, as ARCHITECTURE.md, "Clocks", derives them.
    pub(crate) fn of(schedule: &Schedule, plan: Option<&CallPlan>) -> Self {
        let timed = schedule.client.carries.is_some() && plan.is_none_or(|plan| plan.carried.timed);
        let timed = timed && plan.is_none_or(|plan| plan.tool != Tool::Notify);
        let base = schedule.client.clocks.options();
        let own = plan.filter(|plan| plan.tool != Tool::Notify).and_then(|plan| plan.clocks);
        let own = own.map(Clocks::options).unwrap_or_default();
        let deadline = own.deadline.or(base.deadline);
        let recovery = own.recovery.or(base.recovery);
        let set = |ms: Option<f64>| ms.unwrap_or(120_000.0).min(120_000.0);
        let is_set = own.call.or(base.call);
        let call = is_set.unwrap_or_else(|| set(deadline).min(set(recovery)));
        let recovery = recovery.unwrap_or_else(|| call.max(set(deadline)));
        let deadline =
            deadline.unwrap_or_else(|| (call + recovery).max(if timed { 3_600_000.0 } else { 600_000.0 }));
        let idle = own.idle.or(base.idle).unwrap_or_else(|| 45_000f64.min(call * 2.0 / 3.0));
        // Whoever has a timer of its own has no other.
        let call = if timed && is_set.is_none() { deadline } else { call };
        let connect = own.connect.or(base.connect).unwrap_or_else(|| 5_000f64.min(idle / 4.0));
        let micros = |ms: f64| (ms * 1_000.0) as Time;
        Self {
            call: micros(call),
            recovery: micros(recovery),
            deadline: micros(deadline),
            idle: micros(idle),
            connect: micros(connect),
        }
    }
}

impl Tool {
    /// Its name, where it is a tool.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Once => Some("once"),
            Self::Vouched => Some("vouched"),
            Self::Same => Some("same"),
            Self::Pure => Some("pure"),
            Self::Read | Self::Notify => None,
        }
    }
}
