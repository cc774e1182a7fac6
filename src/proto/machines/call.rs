//! A call: what was asked, what became of its requests, the stream it reads, its clocks, and what is told of it when it
//! ends. What survives its host is [`Request`] and [`Delivery`].

use std::time::Duration;

use super::delivery::Delivery;
use super::dialect::Dialect;
use super::inputs::Rounds;
use super::subscription::Subscription;
use super::task::Task;
use crate::proto::config::OnGap;
use crate::proto::cursor::Held;
use crate::proto::deadline::Budget;
use crate::proto::error::Outcome;
use crate::proto::event::{Diagnostics, Level};
use crate::proto::facts::Identity;
use crate::proto::header::param_headers;
use crate::proto::http::HeaderName;
use crate::proto::jsonrpc::{Id, IdText};
use crate::proto::stream::{Earlier, Stream};
use crate::proto::time::Instant;
use crate::proto::timeouts::Timeouts;
use crate::proto::CallId;

/// What a message is for.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `initialize`.
    Initialize,
    /// `notifications/initialized`.
    Initialized,
    /// A request of the caller's.
    Request,
    /// A notification of the caller's.
    Notification,
    /// `initialize` or `server/discover` of a Client whose messages are carried.
    Handshake,
    /// The DELETE that ends the session, by the caller's wish.
    Terminate,
    /// The GET stream for what belongs to no call.
    Listen,
    /// The request for the same where there is no such stream: a subscription of our own.
    Subscription,
    /// A Client's answer to a request of the server's.
    Answer,
    /// Our own answer to one, or our word that a call is cancelled: nobody waits for it.
    Control,
    /// A `ping` that asks whether the session lives.
    Probe,
    /// A `tools/list` that asks whether a lost call may run twice.
    List,
    /// A request that restores the state of a replaced session.
    Restore,
    /// A request about a task of a call's.
    Task,
    /// A bare GET that asks where the redirects of the endpoint end.
    Scout,
}

impl Kind {
    /// Whether the server owes a response.
    pub(crate) fn wants_response(self) -> bool {
        matches!(
            self,
            Self::Initialize
                | Self::Request
                | Self::Subscription
                | Self::Probe
                | Self::List
                | Self::Restore
                | Self::Handshake
                | Self::Task
        )
    }

    /// Whether it goes out without a session or a version: it asks for them.
    pub(crate) fn begins_session(self) -> bool {
        matches!(self, Self::Initialize | Self::Handshake)
    }

    /// Whether it asks something of the server, within `connectMs`.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Probe | Self::List | Self::Scout)
    }

    /// Whether the caller waits for its outcome.
    pub(crate) fn is_callers(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Answer | Self::Handshake | Self::Terminate)
    }
}

/// A call that has not ended.
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) delivery: Delivery,
    pub(crate) lineage: Lineage,
    /// Its answers that were not its end.
    pub(crate) rounds: Rounds,
    /// What the server made of it, where it goes on by itself.
    pub(crate) task: Option<Box<Task>>,
    pub(crate) clocks: Clocks,
    pub(crate) diagnostics: Diagnostics,
}

/// What was asked. Nothing changes it once the call is made.
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) method: String,
    pub(crate) tool: Option<String>,
    /// A request's members but its id (the same on every re-issue); any other message whole.
    pub(crate) content: String,
    /// The progress token: the same on every re-issue.
    pub(crate) token: Option<Token>,
    /// What it speaks.
    pub(crate) dialect: Dialect,
    pub(crate) idempotent: bool,
    /// The caller's `replay` decided for this call.
    pub(crate) replay: Option<bool>,
    /// Its server knows a repeat of it in the same session.
    pub(crate) keyed: bool,
    /// What to do at a certain gap.
    pub(crate) on_gap: OnGap,
    /// The host reports the handling of its events.
    pub(crate) reports_handling: bool,
    /// The host wants to know each new cursor.
    pub(crate) wants_tokens: bool,
    /// Its parameters that go into headers, too.
    pub(crate) params: HeaderParams,
    /// The call whose question this message answers: while that lives, the answer is sent until HTTP answers it.
    pub(crate) answers: Option<CallId>,
    /// The call that this message is sent for: with its headers, and its credentials.
    pub(crate) on_behalf: Option<CallId>,
    pub(crate) timeouts: Timeouts,
}

/// A progress token, and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub(crate) id: Id,
    text: String,
}

impl Token {
    pub(crate) fn new(id: Id) -> Self {
        Self { text: id.text(), id }
    }

    /// Whether this text is it.
    pub(crate) fn is(&self, written: IdText<'_>) -> bool {
        self.text == written.text() || self.id.plain() == written.id().plain()
    }
}

/// Parameters of a call that its headers repeat, as texts by the names behind `Mcp-Param-`.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderParams {
    /// The caller's own.
    pub(crate) given: Vec<(String, String)>,
    /// Those that its tool declares: of a modern request, where the caller gives none.
    pub(crate) declared: Vec<(String, String)>,
}

/// The body that it reads, and those that it read.
#[derive(Default)]
pub(crate) struct Lineage {
    /// `None` until it is sent.
    pub(crate) stream: Option<Stream>,
    /// The body of an earlier request that may still bring the answer.
    pub(crate) earlier: Option<Earlier>,
    /// Events in hand of a stream that was given up: what fails of them can't come again.
    pub(crate) orphans: Held,
    /// The key of the last event that was handed out.
    pub(crate) last_key: u32,
    /// The cursor of a stream that another client began.
    pub(crate) resume_from: Option<String>,
    /// That stream's request id is not known: any response on it is the call's.
    pub(crate) adopts: bool,
    /// An attempt to recover that waits to be made, and for how long.
    pub(crate) planned: Option<(Level, Duration)>,
    /// What it is as a subscription.
    pub(crate) subscription: Subscription,
    /// Questions of the server's on its stream that wait for our answer.
    pub(crate) questions: u32,
}

/// Its clocks.
pub(crate) struct Clocks {
    pub(crate) deadline: Instant,
    pub(crate) call: Budget,
    pub(crate) recovery: Budget,
    /// One last resume was made before `callMs` ends it, or there was none to make.
    pub(crate) had_last: bool,
    /// It slept through its deadline, and has had one more attempt.
    pub(crate) woken: bool,
    /// When its POST was sent.
    pub(crate) posted_at: Option<Instant>,
}

impl Call {
    pub(crate) fn new(now: Instant, request: Request) -> Self {
        let era = request.dialect.era().name();
        Self {
            delivery: Delivery::new(request.kind.begins_session().then(Identity::default)),
            lineage: Lineage::default(),
            rounds: Rounds::default(),
            task: None,
            clocks: Clocks::new(now, &request.timeouts),
            diagnostics: Diagnostics { started_at: now.as_millis(), era, ..Diagnostics::default() },
            request,
        }
    }

    /// It goes on behind this event of a stream that another client began: that one sent it.
    pub(crate) fn adopt(&mut self, cursor: String) {
        self.lineage.resume_from = Some(cursor);
        self.lineage.adopts = true;
        self.delivery.sent();
    }

    /// It goes on with a task that was made known by its id alone.
    pub(crate) fn take_up(&mut self, task: String) {
        self.task = Some(Box::new(Task::new(task)));
        self.delivery.sent();
    }

    /// Whether the server answered it, and that was not its end.
    fn is_answered(&self) -> bool {
        self.rounds.count() > 0 || self.task.is_some()
    }

    /// What it speaks from now on.
    pub(crate) fn speaks(&mut self, dialect: Dialect) {
        self.diagnostics.era = dialect.era().name();
        self.request.dialect = dialect;
    }

    /// `Mcp-Param-*`, as they go out with each POST.
    pub(crate) fn param_headers(&self) -> Vec<(HeaderName, String)> {
        let HeaderParams { given, declared } = self.request.params.clone();
        param_headers(given, if self.request.dialect.has_session() { Vec::new() } else { declared })
    }

    /// The id it goes by on the wire.
    pub(crate) fn wire_id(&self) -> &Id {
        self.delivery.wire_id()
    }

    /// Whether it is no call but a stream that stays open.
    pub(crate) fn is_endless(&self) -> bool {
        self.request.kind == Kind::Listen || self.request.dialect.is_endless(&self.request.method)
    }

    /// What is known of its execution.
    pub(crate) fn outcome(&self) -> Outcome {
        self.delivery.outcome()
    }

    /// Whether a request of it ever left.
    pub(crate) fn was_sent(&self) -> bool {
        self.lineage.stream.is_some() || self.delivery.reissues() > 0 || self.is_answered()
    }
}

impl Request {
    /// A message of this kind, with nothing that only a caller can say.
    pub(crate) fn new(kind: Kind, method: &str, content: String, timeouts: Timeouts) -> Self {
        Self {
            kind,
            method: method.to_string(),
            tool: None,
            content,
            token: None,
            dialect: Dialect::default(),
            idempotent: false,
            replay: None,
            keyed: false,
            on_gap: OnGap::default(),
            reports_handling: false,
            wants_tokens: false,
            params: HeaderParams::default(),
            answers: None,
            on_behalf: None,
            timeouts,
        }
    }
}

impl Clocks {
    pub(crate) fn new(now: Instant, timeouts: &Timeouts) -> Self {
        Self {
            deadline: now + timeouts.deadline,
            call: Budget::new(timeouts.call),
            recovery: Budget::new(timeouts.recovery),
            had_last: false,
            woken: false,
            posted_at: None,
        }
    }

    /// `callMs` is full again. Whether it was not.
    pub(crate) fn rearm_call(&mut self, now: Instant) -> bool {
        let had_last = std::mem::take(&mut self.had_last);
        self.call.rearm(now) || had_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::error::Reason;
    use crate::proto::event::DropCause;
    use crate::proto::event_ids::EventIds;
    use crate::proto::timeouts::TimeoutOptions;
    use crate::proto::ExchangeId;

    fn call(kind: Kind, method: &str) -> Call {
        let timeouts = TimeoutOptions::default().derive(false).expect("the defaults agree");
        Call::new(Instant::from_millis(1_000.0), Request::new(kind, method, String::new(), timeouts))
    }

    #[test]
    fn it_was_sent_when_it_has_a_stream_or_had_one() {
        let mut call = call(Kind::Request, "tools/call");
        assert!(!call.was_sent());
        call.lineage.stream = Some(Stream::new(ExchangeId(1), &EventIds::new(0)));
        assert!(call.was_sent());
        call.lineage.stream = None;
        call.delivery.reissue(DropCause::End.into(), Reason::StreamLost);
        assert!(call.was_sent());
    }

    #[test]
    fn what_each_kind_is() {
        use Kind::*;
        let rows = [
            (Initialize, true, true, false, false),
            (Initialized, false, false, false, false),
            (Request, true, false, false, true),
            (Notification, false, false, false, true),
            (Handshake, true, true, false, true),
            (Terminate, false, false, false, true),
            (Answer, false, false, false, true),
            (Listen, false, false, false, false),
            (Subscription, true, false, false, false),
            (Control, false, false, false, false),
            (Probe, true, false, true, false),
            (List, true, false, true, false),
            (Restore, true, false, false, false),
            (Task, true, false, false, false),
            (Scout, false, false, true, false),
        ];
        for (kind, response, begins, asks, callers) in rows {
            let is = (kind.wants_response(), kind.begins_session(), kind.asks(), kind.is_callers());
            assert_eq!(is, (response, begins, asks, callers), "{kind:?}");
            assert_eq!(call(kind, "m").is_endless(), kind == Listen);
            assert_eq!(call(kind, "m").delivery.identity.is_some(), begins);
        }
    }
}
