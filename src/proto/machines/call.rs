//! A call: what was asked, what became of its requests, the stream it reads, its clocks, and what is told of it when it
//! ends. What survives its host is [`Request`] and [`Delivery`].

use std::time::Duration;

use super::credentials::Standing;
use super::dialect::Dialect;
use crate::proto::config::OnGap;
use crate::proto::cursor::Held;
use crate::proto::deadline::Budget;
use crate::proto::error::{Outcome, Reason};
use crate::proto::event::{Diagnostics, Level, ReissueCause};
use crate::proto::facts::Identity;
use crate::proto::jsonrpc::Id;
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
    /// Our answer to a request of the server's, or our word that a call is cancelled: nobody waits for it.
    Control,
    /// A `ping` that asks whether the session lives.
    Probe,
    /// A request that restores the state of a replaced session.
    Restore,
    /// A bare GET that asks where the redirects of the endpoint end.
    Scout,
}

impl Kind {
    /// Whether the server owes a response.
    pub(crate) fn wants_response(self) -> bool {
        matches!(self, Self::Initialize | Self::Request | Self::Probe | Self::Restore | Self::Handshake)
    }

    /// Whether it goes out without a session or a version: it asks for them.
    pub(crate) fn begins_session(self) -> bool {
        matches!(self, Self::Initialize | Self::Handshake)
    }

    /// Whether it asks something of the server, within `connectMs`.
    pub(crate) fn asks(self) -> bool {
        matches!(self, Self::Probe | Self::Scout)
    }

    /// Whether the caller waits for its outcome.
    pub(crate) fn is_callers(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Handshake | Self::Terminate)
    }
}

/// A call that has not ended.
pub(crate) struct Call {
    pub(crate) request: Request,
    pub(crate) delivery: Delivery,
    pub(crate) lineage: Lineage,
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
    pub(crate) token: Option<Id>,
    /// What it speaks.
    pub(crate) dialect: Dialect,
    pub(crate) idempotent: bool,
    /// The caller's `replay` decided for this call.
    pub(crate) replay: Option<bool>,
    /// What to do at a certain gap.
    pub(crate) on_gap: OnGap,
    /// The host reports the handling of its events.
    pub(crate) reports_handling: bool,
    /// The host wants to know each new cursor.
    pub(crate) wants_tokens: bool,
    /// The call whose question this message answers: while that lives, the answer is sent until HTTP answers it.
    pub(crate) answers: Option<CallId>,
    pub(crate) timeouts: Timeouts,
}

/// What became of its requests.
pub(crate) struct Delivery {
    /// The ids it went by on the wire, the current one last: the caller's first. Earlier ones stay known: the first
    /// answer wins.
    pub(crate) wire_ids: Vec<Id>,
    /// What is known of its latest POST.
    latest: Outcome,
    /// An earlier POST of it may have been executed.
    may_have_run: bool,
    reissues: usize,
    /// Re-issues that got no HTTP answer.
    unanswered: usize,
    /// An earlier POST of it reached the server, whatever became of it there.
    arrived: bool,
    /// Since when its POSTs are refused by the network, and none arrived.
    refused_since: Option<Instant>,
    /// Why the next POST is a re-issue.
    pub(crate) reissue_why: Option<ReissueCause>,
    /// The first cause that made its stream unrecoverable.
    pub(crate) cause: Option<Reason>,
    /// A replacement of the session carried it over: once is enough.
    pub(crate) carried_over: bool,
    /// It was sent again beside a silent body: once is enough.
    pub(crate) sent_beside: bool,
    /// Its session died while its POST had no headers yet: they tell whether it was executed.
    pub(crate) stranded: bool,
    /// The session it belongs to, where that is not the one in use: `initialize` has its own, adopted only with its
    /// result.
    pub(crate) identity: Option<Identity>,
    /// What it has seen of credentials.
    pub(crate) credentials: Standing,
    /// Its request was rejected once for what may be CORS.
    pub(crate) cors_suspected: bool,
    /// Why the caller cancelled it, in his words.
    pub(crate) cancel_reason: Option<String>,
    /// What was warned of, and how often it came again.
    pub(crate) warned: Vec<(&'static str, u64)>,
    pub(crate) attempt: Attempt,
}

/// Its request under way.
#[derive(Default)]
pub(crate) struct Attempt {
    /// Header names of it.
    pub(crate) headers: Vec<&'static str>,
    /// How many redirects led to it.
    pub(crate) redirects: u32,
    /// How it was refused.
    pub(crate) refusal: Option<Refusal>,
}

/// A refusal, for a caller who wants to read it himself.
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) body: String,
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
    /// How often in a row it was made again and brought nothing; only of what has no end.
    pub(crate) barren: u32,
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
        let dialect = request.dialect.era().name();
        Self {
            delivery: Delivery::new(&request),
            lineage: Lineage::default(),
            clocks: Clocks::new(now, &request.timeouts),
            diagnostics: Diagnostics { started_at: now.as_millis(), era: dialect, ..Diagnostics::default() },
            request,
        }
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
        self.lineage.stream.is_some() || self.delivery.reissues() > 0
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
            on_gap: OnGap::default(),
            reports_handling: false,
            wants_tokens: false,
            answers: None,
            timeouts,
        }
    }
}

impl Delivery {
    fn new(request: &Request) -> Self {
        Self {
            wire_ids: Vec::new(),
            latest: Outcome::NotSent,
            may_have_run: false,
            reissues: 0,
            unanswered: 0,
            arrived: false,
            refused_since: None,
            reissue_why: None,
            cause: None,
            carried_over: false,
            sent_beside: false,
            stranded: false,
            identity: request.kind.begins_session().then(Identity::default),
            credentials: Standing::default(),
            cors_suspected: false,
            cancel_reason: None,
            warned: Vec::new(),
            attempt: Attempt::default(),
        }
    }

    pub(crate) fn wire_id(&self) -> &Id {
        self.wire_ids.last().unwrap_or(&Id::Null)
    }

    /// What is known of its execution.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.may_have_run {
            return Outcome::Unknown;
        }
        self.latest
    }

    /// How often it was re-issued.
    pub(crate) fn reissues(&self) -> usize {
        self.reissues
    }

    /// How often it was re-issued and that got an HTTP answer: what may run twice may be tried as often as it takes.
    pub(crate) fn answered_reissues(&self) -> usize {
        self.reissues.saturating_sub(self.unanswered)
    }

    /// Its latest POST got no HTTP answer. `left`: something of it may have left.
    pub(crate) fn unanswered(&mut self, now: Instant, left: bool) {
        self.unanswered += usize::from(self.reissues > 0);
        if !left {
            self.latest = Outcome::NotSent;
            self.refused_since.get_or_insert(now);
        }
    }

    /// How much longer it waits for a server that none of its POSTs has reached, of `patience` in all; `None` where one
    /// has.
    pub(crate) fn waits_for_server(&self, now: Instant, patience: Duration) -> Option<Duration> {
        let since = self.refused_since.filter(|_| !self.arrived && self.latest == Outcome::NotSent)?;
        Some((since + patience).since(now))
    }

    /// The machine slept for so long.
    pub(crate) fn forgive(&mut self, slept: Duration) {
        self.refused_since = self.refused_since.map(|since| since + slept);
    }

    /// Its POST goes out: from now on it may be executed.
    pub(crate) fn sent(&mut self) {
        self.latest = Outcome::Unknown;
    }

    /// Its latest POST was refused unread.
    pub(crate) fn rejected(&mut self) {
        self.latest = Outcome::Rejected;
    }

    /// Nothing of its latest POST left.
    pub(crate) fn never_left(&mut self) {
        self.latest = Outcome::NotSent;
    }

    /// Whether its latest POST was refused unread.
    pub(crate) fn is_rejected(&self) -> bool {
        self.latest == Outcome::Rejected
    }

    /// Its latest request is given up, and the next POST is a re-issue.
    pub(crate) fn reissue(&mut self, why: ReissueCause, cause: Reason) {
        self.may_have_run |= self.latest == Outcome::Unknown;
        self.arrived |= self.latest != Outcome::NotSent;
        self.reissues += 1;
        self.reissue_why = Some(why);
        self.cause.get_or_insert(cause);
    }

    /// The same message goes out once more, as it is. How often it did.
    pub(crate) fn repeat(&mut self) -> usize {
        self.reissues += 1;
        self.reissues
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

    /// `callMs` is full again.
    pub(crate) fn rearm_call(&mut self, now: Instant) {
        self.call.rearm(now);
        self.had_last = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::event::DropCause;
    use crate::proto::timeouts::TimeoutOptions;
    use crate::proto::ExchangeId;

    fn call(kind: Kind, method: &str) -> Call {
        let timeouts = TimeoutOptions::default().derive(false).expect("the defaults agree");
        Call::new(Instant::from_millis(1_000.0), Request::new(kind, method, String::new(), timeouts))
    }

    #[derive(Copy, Clone, Debug)]
    enum Step {
        Sent,
        Rejected,
        NeverLeft,
        Reissue,
    }

    #[test]
    fn what_is_known_of_its_execution() {
        use Step::{NeverLeft, Reissue, Rejected, Sent};
        let rows: [(&[Step], Outcome); 8] = [
            (&[], Outcome::NotSent),
            (&[Sent], Outcome::Unknown),
            (&[Sent, Rejected], Outcome::Rejected),
            (&[Sent, NeverLeft], Outcome::NotSent),
            (&[Sent, Rejected, Reissue, Sent, Rejected], Outcome::Rejected),
            (&[Sent, Reissue, Sent, Rejected], Outcome::Unknown),
            (&[Sent, Reissue, NeverLeft], Outcome::Unknown),
            (&[Sent, NeverLeft, Reissue], Outcome::NotSent),
        ];
        for (steps, outcome) in rows {
            let mut call = call(Kind::Request, "tools/call");
            for step in steps {
                match step {
                    Sent => call.delivery.sent(),
                    Rejected => call.delivery.rejected(),
                    NeverLeft => call.delivery.never_left(),
                    Reissue => call.delivery.reissue(DropCause::Network.into(), Reason::NetworkError),
                }
            }
            assert_eq!(call.outcome(), outcome, "{steps:?}");
        }
    }

    #[test]
    fn a_re_issue_without_an_http_answer_is_not_counted_and_the_first_request_is_none() {
        let at = |seconds: u64| Instant::from_micros(seconds * 1_000_000);
        let mut delivery = call(Kind::Request, "tools/call").delivery;
        let mut step = |seconds, left: Option<bool>| {
            delivery.sent();
            left.into_iter().for_each(|left| delivery.unanswered(at(seconds), left));
            let counted = delivery.answered_reissues();
            let waits =
                delivery.waits_for_server(at(seconds), Duration::from_secs(15)).map(|left| left.as_secs());
            delivery.reissue(DropCause::Network.into(), Reason::NetworkError);
            (counted, waits)
        };
        assert_eq!(step(10, Some(false)), (0, Some(15)));
        assert_eq!(step(14, Some(false)), (0, Some(11)), "since the first that was refused");
        assert_eq!(step(30, Some(false)), (0, Some(0)));
        assert_eq!(step(31, Some(true)), (0, None), "it may have arrived");
        assert_eq!(step(32, Some(false)), (0, None));
        assert_eq!(step(33, None), (1, None), "it was answered");
        assert_eq!(step(34, None), (2, None));
        assert_eq!(step(35, Some(false)), (2, None));
    }

    #[test]
    fn the_first_cause_stays_and_the_last_reason_to_send_again() {
        let mut call = call(Kind::Request, "tools/call");
        call.delivery.reissue(DropCause::Network.into(), Reason::NetworkError);
        call.delivery.reissue(DropCause::Session.into(), Reason::SessionLost);
        assert_eq!(call.delivery.cause, Some(Reason::NetworkError));
        assert_eq!(call.delivery.reissue_why, Some(DropCause::Session.into()));
        assert_eq!((call.delivery.reissues(), call.delivery.repeat()), (2, 3));
    }

    #[test]
    fn it_was_sent_when_it_has_a_stream_or_had_one() {
        let mut call = call(Kind::Request, "tools/call");
        assert!(!call.was_sent());
        call.lineage.stream = Some(Stream::new(ExchangeId(1)));
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
            (Listen, false, false, false, false),
            (Control, false, false, false, false),
            (Probe, true, false, true, false),
            (Restore, true, false, false, false),
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
