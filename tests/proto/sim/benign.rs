//! Which calls meet nothing but what passes: those must be answered.

use landfall::proto::{Era, OnGap, ReplayOption};

use super::schedule::{
    CallPlan, Clocks, Handler, Last, Ping, Prime, Replays, Reply, Resume, Schedule, Step, Tool,
};
use super::tasks::TaskPlan;

impl Schedule {
    /// Whether nothing that befalls this call may keep it from its answer.
    pub(crate) fn must_answer(&self, call: usize) -> bool {
        let (server, client) = (&self.server, &self.client);
        let steady = self.incidents.is_empty()
            && server.keep.is_none()
            && server.grace.is_none()
            && server.prime != Prime::No
            && server.ping == Ping::Answered
            && server.notice < 300
            && server.replays == Replays::Own
            && !server.elsewhere
            && client.handshake.is_empty()
            && client.clocks == Clocks::Default
            && client.max_concurrent == 32
            && !client.page
            && client.max_retries.is_none()
            && client.scheduler.is_none()
            && client.provider.is_none();
        let is_named = !self.shares_ids();
        let goes_through = match self.era.agreed() {
            None => false,
            Some(Era::Legacy) if self.era.speaks.has_sessions() => true,
            // One stream is all that there is.
            Some(Era::Sse) => !self.calls.iter().any(CallPlan::ends_stream),
            Some(_) => {
                let tasks = self.era.tasks.as_ref();
                let is_alone = self.calls[call].passes_alone(client.replay);
                is_alone && !self.era.insatiable && tasks.is_none_or(TaskPlan::passes)
            }
        };
        steady
            && is_named
            && goes_through
            && !self.calls.iter().any(CallPlan::hurts_session)
            && self.calls[call].passes()
    }

    /// Leaves nothing but what passes.
    pub(crate) fn tame(&mut self) {
        self.incidents.clear();
        (self.server.keep, self.server.grace, self.server.ping) = (None, None, Ping::Answered);
        self.server.notice = self.server.notice.min(299);
        (self.server.replays, self.server.elsewhere) = (Replays::Own, false);
        if self.server.prime == Prime::No {
            self.server.prime = Prime::Data;
        }
        self.client.handshake.clear();
        (self.client.clocks, self.client.max_concurrent) = (Clocks::Default, 32);
        (self.client.page, self.client.max_retries) = (false, None);
        (self.client.scheduler, self.client.provider) = (None, None);
        self.calls.iter_mut().for_each(CallPlan::tame);
    }
}

impl CallPlan {
    /// Whether it makes the client doubt its session.
    fn hurts_session(&self) -> bool {
        let reply =
            |reply: &Reply| matches!(reply, Reply::Status(400 | 401 | 404 | 410, _) | Reply::NoHead(_));
        let resume = |resume: &Resume| matches!(resume, Resume::Status(400 | 401 | 404 | 410, _));
        let silent = matches!(self.last, Last::Never | Last::Heartbeats);
        // It takes the answer of another away.
        let takes = self.last == Last::Pair || self.steps.contains(&Step::Cross);
        self.replies.iter().any(reply) || self.resumes.iter().any(resume) || silent || takes
    }

    /// Whether it does without a place to resume from: its body lasts, or it may be sent again.
    fn passes_alone(&self, replay: ReplayOption) -> bool {
        let is_safe = matches!(self.tool, Tool::Vouched | Tool::Read) && replay != ReplayOption::Never;
        is_safe || !self.ends_stream()
    }

    fn ends_stream(&self) -> bool {
        let ends =
            |step: &Step| matches!(step, Step::Cut | Step::CutInside | Step::CleanCut | Step::Close(_));
        self.steps.iter().any(ends)
    }

    fn passes(&self) -> bool {
        self.replies.iter().all(Reply::passes)
            && self.resumes.iter().all(Resume::passes)
            && self.steps.iter().all(Step::passes)
            && (self.answers.is_some() || !self.steps.contains(&Step::Ask))
            && self.cancel.is_none()
            && self.misses.is_none()
            && self.clocks.is_none()
            && self.on_gap == OnGap::Continue
            && self.handler == Handler::None
            && self.tool != Tool::Notify
            && matches!(self.last, Last::Result | Last::Error | Last::ResultAndStay)
            && !self.stubborn
            && self.pace < 1_000
    }

    fn tame(&mut self) {
        self.replies.retain(Reply::passes);
        self.resumes.retain(Resume::passes);
        self.steps.retain(Step::passes);
        self.answers = Some(self.answers.unwrap_or(100));
        (self.cancel, self.misses, self.clocks, self.stubborn) = (None, None, None, false);
        self.carried.shares = None;
        (self.on_gap, self.handler, self.last) = (OnGap::Continue, Handler::None, Last::Result);
        self.pace = self.pace.min(999);
    }
}

impl Reply {
    pub(super) fn passes(&self) -> bool {
        match self {
            Self::Stream | Self::Json => true,
            Self::Slow(ms) => *ms < 10_000,
            Self::Redirect(status, stays) => *stays && matches!(status, 307 | 308),
            _ => false,
        }
    }
}

impl Resume {
    fn passes(&self) -> bool {
        match self {
            Self::Served | Self::Empty | Self::CutAtOnce | Self::CutBefore => true,
            Self::Slow(ms) => *ms < 4_000,
            Self::Status(408 | 409 | 425 | 429 | 500 | 502 | 503, after) => after.is_none(),
            Self::Redirect(_, stays) => *stays,
            Self::Status(..) | Self::NoHead | Self::WrongType => false,
        }
    }
}

impl Step {
    fn passes(&self) -> bool {
        match self {
            Self::Wait(ms) => *ms < 5_000,
            Self::Close(retry) => retry.is_none_or(|ms| ms <= 3_000),
            Self::Retry(ms) => *ms <= 3_000,
            Self::Silence | Self::Stall(_) | Self::BrokenOnce | Self::Evict | Self::Odd(_) => false,
            Self::Cross | Self::ResetIds => false,
            _ => true,
        }
    }
}
