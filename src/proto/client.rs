//! The client: composes the parts, takes inputs, gives outputs.

mod authorize;
mod buffers;
mod carry;
mod clocks;
mod cors;
mod detection;
mod earlier;
mod events;
mod handling;
mod handshake;
mod hints;
mod http_sse;
mod inputs;
mod ladder;
mod listen;
mod liveness;
mod messages;
mod objections;
mod quiet;
mod race;
mod receive;
mod recover;
mod redirect;
mod refusal;
mod reissue;
mod repeats;
mod replace;
mod send;
mod settle;
mod subscription;
mod task;
mod texts;
mod untold;

use std::collections::VecDeque;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::backoff::Rng;
use super::config::{Config, OnGap};
use super::era::EraOption;
use super::error::ConfigError;
use super::event::{Event, GapKind, MessageRef, Settlement};
use super::facts::SessionFacts;
use super::http::{HttpRequest, IoFailure, ResponseHead};
use super::jsonrpc::{field, Id};
use super::ledger::{members, notification, Call, Kind, Ledger};
use super::machines::call::{HeaderParams, Request, Token};
use super::machines::credentials::{Challenge, Credentials};
use super::machines::detection::Detection;
use super::machines::dialect::Dialect;
use super::machines::dispatch::Dispatch;
use super::server_requests::ServerRequests;
use super::server_text::Secrets;
use super::session::{Session, State};
use super::stats::Metrics;
use super::time::Instant;
use super::timeouts::TimeoutOptions;
use super::timer::{Clock, Late, Owner, Timers};
use super::{CallId, ExchangeId};
use untold::Untold;

/// What happened outside.
#[derive(Debug)]
pub enum Input<'a> {
    /// The instant of [`Output::Timeout`] came. Late or spurious ones are no-ops.
    Timeout,
    /// A request was handed to `fetch`: from here on the server may have it. Until then its call is `not_sent`.
    Sent(ExchangeId),
    /// Response headers came.
    Head(ExchangeId, ResponseHead),
    /// Bytes of a response body came.
    Body(ExchangeId, &'a [u8]),
    /// A response body ended cleanly.
    End(ExchangeId),
    /// The request or its body failed.
    Failed(ExchangeId, IoFailure),
}

/// What to do outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Make this request; report its head or failure.
    Transmit(ExchangeId, HttpRequest),
    /// Read its body (`true`), or pause.
    Read(ExchangeId, bool),
    /// It is over for us: abort it, cancel its body, report nothing more of it.
    Abort(ExchangeId),
    /// Tell the application; no call: the session's.
    Event(Option<CallId>, Instant, Event),
    /// The call ended. Exactly one per [`Client::call`], [`Client::notify`] and [`Client::answer`] of a Client's, and one where
    /// [`Client::connect`] failed; but [`Client::report_gap`] may give one in place of one that is not told yet.
    Settle(CallId, Instant, Settlement),
    /// The cursor of a call moved: its stream can be resumed from here, in the session in use. What is read on of a dead
    /// session gives none.
    Token(CallId, String),
    /// Get other credentials, for the response that this call got last; report to [`Client::authorized`].
    Authorize(CallId, Challenge),
    /// With the option `scheduler`: call [`Client::reconnect`] after this wait. Attempts count from 1.
    Schedule(CallId, Duration, u32),
    /// The server asks: give its JSON-RPC response to [`Client::answer`]. The call is the one it asked during. The id
    /// in the message is no other open one's, and survives `JSON.parse`: it may not be the server's own.
    Request(Option<CallId>, Instant, MessageRef),
    /// The server does not want the answer to the request of this id any more.
    RequestCancelled(Id),
    /// What is known of the session changed: the host keeps it, for a client that goes on with the session. It comes before
    /// whatever else the same input brought.
    Persist(Box<SessionFacts>),
    /// Nobody waits for the answer to the request of this id: what it was asked in is over.
    RequestOver(Id),
    /// A page of tools that the client asked for itself: the host reads what they declare.
    Tools(MessageRef),
    /// Those of this call's tool are wanted: give what it declares to [`Client::declare`], after what was told before.
    Declare(CallId),
    /// The handshake is done, at first or with a session that replaces a lost one; the message is the response to
    /// `initialize`.
    Ready(MessageRef),
    /// `close` is done: nothing moves any more.
    Closed,
    /// All is drained; wake the client at this instant, if any.
    Timeout(Option<(Instant, Clock)>),
}

/// A call to make.
#[derive(Clone, Debug, Default)]
pub struct CallSpec {
    /// The JSON-RPC method.
    pub method: String,
    /// JSON text of `params`, an object.
    pub params: String,
    /// JSON text of an object: more members of `params._meta`.
    pub meta: String,
    /// The tool, for `tools/call`.
    pub tool: Option<String>,
    /// Whether to ask for progress; the token is the request id.
    pub progress: bool,
    /// The caller says that it may be executed twice.
    pub idempotent: bool,
    /// What to do at a certain gap; `None`: as the client.
    pub on_gap: Option<OnGap>,
    /// The host reports the handling of each event by [`Client::handled`]; else an event is handled on arrival.
    pub reports_handling: bool,
    /// The host wants an [`Output::Token`] for each new cursor.
    pub wants_tokens: bool,
    /// Resume a stream that another client began, from this cursor, instead of sending the request.
    pub resumption_token: Option<String>,
    /// What the caller's `replay` decided for this call, where it is a table or a function.
    pub replay: Option<bool>,
    /// It has a key by which its server knows a repeat in the same session: there it may be sent again, and runs once.
    pub keyed: bool,
    /// Clocks of this call alone.
    pub timeouts: TimeoutOptions,
    /// The caller's own id, as JSON text: a string or a number. It goes out first; a re-issue goes under an id of ours of
    /// the same type.
    pub id: Option<String>,
    /// The progress token that stands in `_meta`, as JSON text.
    pub token: Option<String>,
    /// The caller's own `Mcp-Param-*` headers, by the names behind that, in place of those declared.
    pub param_headers: Vec<(String, String)>,
    /// The parameters that the tool declares by `x-mcp-header`, as texts by the names behind `Mcp-Param-`. A modern request
    /// repeats them.
    pub declared_params: Vec<(String, String)>,
    /// Take this task of the server's up, instead of sending the request.
    pub task: Option<String>,
    /// The caller has a timer of its own: `callMs` and `firstByteMs` hold only if set, `deadlineMs` is an hour.
    pub timed: bool,
}

/// What bounds a call beside the core, should that hang.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// `deadlineMs`.
    pub deadline: Duration,
    /// `connectMs`.
    pub connect: Duration,
}

/// What a client holds at a moment: all zero when nothing is pending.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Calls and messages of our own that have not ended.
    pub calls: usize,
    /// Requests under way and bodies open.
    pub exchanges: usize,
    /// Armed timers.
    pub timers: usize,
    /// Calls waiting for the handshake or a connection.
    pub queued: usize,
}

/// A sans-IO MCP client over Streamable HTTP. See the [module](super) for the contract.
pub struct Client {
    config: Config,
    rng: Rng,
    prefix: String,
    salt: u64,
    session: Session,
    credentials: Credentials,
    ledger: Ledger,
    dispatch: Dispatch,
    timers: Timers,
    server_requests: ServerRequests,
    secrets: Secrets,
    outputs: VecDeque<Output>,
    /// A JSON array of the messages that outputs point to; empty, or complete.
    messages: String,
    message_count: u32,
    untold: Vec<Untold>,
    next_call: u32,
    stats: Metrics,
    /// When something was done last: a sleep is forgiven once, however late its timers fire.
    awake: Instant,
    /// A clock is late, and the host has a turn to hand in what has come meanwhile.
    late: Option<Late>,
}

impl Client {
    /// A client that has done nothing yet. The seed makes its ids and spreads its waits: the same seed and inputs
    /// give the same outputs.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let (prefix, salt) = (rng.word(8), rng.next());
        let dispatch = Dispatch::new(config.max_concurrent, config.max_queued, config.until_headers);
        // A Client finds out for itself.
        let option = if config.carry { EraOption::Legacy } else { config.era };
        let (legacy, modern) = (!config.legacy_versions.is_empty(), !config.modern_versions.is_empty());
        let detection = Detection::new(option, legacy, modern);
        Self {
            server_requests: ServerRequests::new(config.max_questions),
            credentials: Credentials::new(config.max_step_ups),
            config,
            dispatch,
            prefix,
            salt,
            rng,
            session: Session::new(salt, detection),
            ledger: Ledger::default(),
            timers: Timers::default(),
            secrets: Secrets::default(),
            outputs: VecDeque::new(),
            messages: String::new(),
            message_count: 0,
            untold: Vec::new(),
            next_call: 1,
            stats: Metrics::default(),
            awake: Instant::default(),
            late: None,
        }
    }

    /// Makes a call: it is sent when the handshake is done and a connection is free. Exactly one
    /// [`Output::Settle`] follows.
    ///
    /// # Errors
    /// The call's clocks contradict each other, or those of the client; then nothing was done.
    pub fn call(&mut self, now: Instant, spec: CallSpec) -> Result<CallId, ConfigError> {
        self.begin(now);
        let spec = self.declare_tasks(spec);
        let call = CallId(self.next_call);
        let timeouts = spec.timeouts.over(&self.config.timeout_options).derive(spec.timed)?;
        let progress = spec.progress.then(|| Id::String(self.request_id(call)));
        let content = members(&spec.method, &spec.params, &spec.meta, progress.as_ref());
        let dialect = match self.config.carry {
            true => {
                let meta = field(&spec.params, &["_meta"]).unwrap_or(&spec.meta);
                let dialect = Dialect::of(&spec.method, &spec.params, meta);
                self.hear_dialect(&dialect);
                dialect
            }
            false => self.session.dialect.about(&spec.method, &spec.params),
        };
        let is_endless = dialect.is_endless(&spec.method);
        let mut entry = Call::new(
            now,
            Request {
                kind: self.kind_of(&spec.method),
                method: spec.method,
                tool: spec.tool,
                content,
                token: spec.token.as_deref().and_then(Id::read).or(progress).map(Token::new),
                dialect,
                idempotent: spec.idempotent,
                replay: spec.replay,
                keyed: spec.keyed,
                on_gap: spec.on_gap.unwrap_or(self.config.on_gap),
                reports_handling: spec.reports_handling,
                wants_tokens: spec.wants_tokens,
                params: HeaderParams { given: spec.param_headers, declared: spec.declared_params },
                answers: None,
                on_behalf: None,
                timeouts: if is_endless { timeouts.endless() } else { timeouts },
            },
        );
        entry.delivery.wire_ids = spec.id.as_deref().and_then(Id::read).into_iter().collect();
        if let Some(token) = spec.resumption_token {
            entry.adopt(token);
        }
        if let Some(task) = spec.task {
            entry.take_up(task);
        }
        self.stats.calls += u64::from(entry.request.kind == Kind::Request);
        let call = self.open(entry);
        self.enqueue(now, call);
        Ok(call)
    }

    /// Sends a notification. It settles as [`Settlement::Accepted`] when the server took it.
    pub fn notify(&mut self, now: Instant, method: &str, params: &str) -> CallId {
        self.begin(now);
        let entry = self.entry(now, Kind::Notification, method, notification(method, params, ""));
        let call = self.open(entry);
        self.enqueue(now, call);
        call
    }

    /// Sends the answer to an [`Output::Request`]: the text of a whole JSON-RPC response, under the id of that message.
    /// It goes out under the id as the server wrote it. A no-op where no such request is open. A Client's (`carry`) is a
    /// call, which settles when the server took it.
    pub fn answer(&mut self, now: Instant, body: &str) -> Option<CallId> {
        self.begin(now);
        self.answer_request(now, body)
    }

    /// The handlers of these events of a call are done with them, or failed (`ok` false). The keys of a call count up
    /// by one; those that are not in hand are left out. Of a call whose outcome is drained and not told yet, an event that
    /// failed gives an [`Event::EventSkipped`] that is to be told before that outcome.
    pub fn handled(&mut self, now: Instant, call: CallId, keys: RangeInclusive<u32>, ok: bool) {
        self.begin(now);
        self.on_handled(now, call, &keys, ok);
    }

    /// The application found events missing between two of its own: a certain gap. Of a call whose answer is drained and
    /// not told yet, what this gives is to be told before that answer, and an outcome in place of it.
    pub fn report_gap(&mut self, now: Instant, call: CallId) {
        self.begin(now);
        self.on_gap(now, call, GapKind::Missing, true, None, None);
        self.on_gap_late(now, call);
    }

    /// The counters; `reset` starts them anew.
    pub fn metrics(&mut self, reset: bool) -> Metrics {
        match reset {
            true => std::mem::take(&mut self.stats),
            false => self.stats.clone(),
        }
    }

    /// The request id that the next call gets, unless it brings one along.
    pub fn next_request_id(&self) -> String {
        self.request_id(CallId(self.next_call))
    }

    /// The clocks in force for a call that has not ended.
    pub fn terms(&self, call: CallId) -> Option<Terms> {
        let timeouts = &self.ledger.peek(call)?.request.timeouts;
        Some(Terms { deadline: timeouts.deadline, connect: timeouts.connect })
    }

    /// Ends a call by the caller's wish: it settles at once, then the server is told. A no-op for a call that ended.
    pub fn cancel(&mut self, now: Instant, call: CallId) {
        self.begin(now);
        self.cancel_call(now, call);
    }

    /// Takes what happened outside.
    pub fn handle_input(&mut self, now: Instant, input: Input<'_>) {
        self.begin(now);
        self.untold.clear();
        let is_timer = matches!(input, Input::Timeout);
        match input {
            Input::Timeout => {}
            Input::Sent(exchange) => self.on_sent(now, exchange),
            Input::Head(exchange, head) => self.on_head(now, exchange, head),
            Input::Body(exchange, bytes) => self.take_body(now, exchange, bytes),
            Input::End(exchange) => self.on_end(now, exchange),
            Input::Failed(exchange, failure) => self.on_failed(now, exchange, failure),
        }
        self.judge_clocks(now, is_timer);
    }

    /// The next thing to do; [`Output::Timeout`] when all is drained. Its answer may change after any mutation.
    #[must_use = "an output that is not obeyed is lost"]
    pub fn poll_output(&mut self) -> Output {
        // A session that is not confirmed is none to go on with.
        if self.session.facts.may_be_news() && self.is_ready() {
            if let Some(facts) = self.session.facts.news() {
                return Output::Persist(Box::new(facts));
            }
        }
        self.outputs.pop_front().unwrap_or_else(|| Output::Timeout(self.timers.next()))
    }

    /// Whether there is something to poll besides the timeout, which is the same as before where there is nothing.
    pub fn has_outputs(&self) -> bool {
        !self.outputs.is_empty() || (self.session.facts.may_be_news() && self.is_ready())
    }

    /// The request id of a call: what the application and the diagnostics know it by.
    pub fn request_id(&self, call: CallId) -> String {
        format!("{}-{}", self.prefix, call.0)
    }

    /// What is pending.
    pub fn load(&self) -> Load {
        Load {
            calls: self.ledger.len(),
            exchanges: self.dispatch.open_count(),
            timers: self.timers.len(),
            queued: self.dispatch.waiting_count(),
        }
    }

    /// Every mutation begins here: time that was slept through is forgiven, whoever wakes us, and the messages of
    /// earlier mutations are given up, once their outputs are drained.
    fn begin(&mut self, now: Instant) {
        self.wake(now);
        if self.outputs.is_empty() {
            self.messages.clear();
            self.message_count = 0;
        }
    }

    fn entry(&self, now: Instant, kind: Kind, method: &str, content: String) -> Call {
        let request = Request::new(kind, method, content, self.config.timeouts.clone());
        // A Client says of each message what it speaks.
        let dialect =
            if self.config.carry { Dialect::Legacy } else { self.session.dialect.about(method, "") };
        Call::new(now, Request { on_gap: self.config.on_gap, dialect, ..request })
    }

    /// Enters a message into the ledger under the next number, and starts its deadline.
    fn open(&mut self, entry: Call) -> CallId {
        let call = self.number();
        self.open_as(call, entry);
        call
    }

    fn number(&mut self) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        call
    }

    fn open_as(&mut self, call: CallId, mut entry: Call) {
        if entry.delivery.wire_ids.is_empty() {
            entry.delivery.wire_ids.push(Id::String(self.request_id(call)));
        }
        if entry.request.kind.is_callers() {
            self.timers.set(Owner::Call(call), Clock::Deadline, entry.clocks.deadline);
        }
        self.ledger.open(call, entry);
    }

    fn event(&mut self, now: Instant, call: Option<CallId>, event: Event) {
        self.outputs.push_back(Output::Event(call, now, event));
    }

    /// An event of a call that the host knows; what happens to our own messages is nobody's business.
    fn call_event(&mut self, now: Instant, call: CallId, event: Event) {
        if self.ledger.get(call).is_some_and(|entry| entry.request.kind == Kind::Request) {
            self.event(now, Some(call), event);
        }
    }

    /// Warns of what a server can do without end: the first is told, the others are counted until the call ends.
    fn warn(&mut self, now: Instant, call: CallId, code: &'static str, message: String) {
        let Some(entry) = self.ledger.get(call) else { return };
        match entry.delivery.warned.iter_mut().find(|(warned, _)| *warned == code) {
            Some((_, more)) => *more += 1,
            None => {
                entry.delivery.warned.push((code, 0));
                self.call_event(now, call, Event::Warning { code, message });
            }
        }
    }

    /// A call ends: how often it would have been warned of the same.
    fn tell_warned(&mut self, now: Instant, call: CallId) {
        let Some(entry) = self.ledger.get(call) else { return };
        for (code, more) in std::mem::take(&mut entry.delivery.warned) {
            if more > 0 {
                let message = format!("{more} more of the same in this call");
                self.call_event(now, call, Event::Warning { code, message });
            }
        }
    }

    fn is_ready(&self) -> bool {
        self.session.state == State::Ready
    }
}
