//! A client in virtual time, and what it asked of the world.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::texts::event_name;
use landfall::proto::{
    CallId, CallSpec, Challenge, Client, Config, EraOption, Event, ExchangeId, Failure, HttpRequest, Input,
    Instant, IoFailure, Load, Method, Options, Output, Reason, ResponseHead, SessionFacts, Settlement,
    TimeoutOptions,
};

pub(crate) use crate::texts::{header, id_of, note, result};

/// The event stream media type, as servers write it.
pub(crate) const SSE: &str = "text/event-stream";
/// The JSON media type.
pub(crate) const JSON: &str = "application/json";

/// The rest of a response to `initialize`.
pub(crate) const GREETING: &str =
    r#""result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

/// How a call ended, with the texts its message pointed to.
#[derive(Clone, Debug)]
pub(crate) enum Ended {
    /// The response.
    Answer(String),
    /// A notification was taken.
    Accepted,
    /// No answer.
    Failed(Box<Failure>),
}

/// A client, the time, and everything that came out of it.
pub(crate) struct World {
    pub(crate) client: Client,
    handshake: Option<CallId>,
    pub(crate) now: Instant,
    pub(crate) requests: VecDeque<(ExchangeId, HttpRequest)>,
    /// Each is handed to fetch at once; else a test says when, by [`World::sent`].
    pub(crate) sends: bool,
    unsent: VecDeque<ExchangeId>,
    pub(crate) aborted: Vec<ExchangeId>,
    pub(crate) reading: Vec<ExchangeId>,
    pub(crate) events: Vec<(Option<CallId>, Event)>,
    pub(crate) messages: Vec<String>,
    pub(crate) questions: Vec<String>,
    /// The ids of requests that the server gave up, as JSON texts.
    pub(crate) cancelled: Vec<String>,
    pub(crate) keys: Vec<u32>,
    pub(crate) tokens: Vec<String>,
    pub(crate) challenges: Vec<(CallId, Challenge)>,
    pub(crate) scheduled: Vec<(CallId, Duration, u32)>,
    pub(crate) paused: Vec<ExchangeId>,
    pub(crate) ended: BTreeMap<CallId, Ended>,
    /// What was told of the session, each time.
    pub(crate) facts: Vec<SessionFacts>,
    pub(crate) ready: Option<(String, Option<String>)>,
    pub(crate) closed: bool,
    /// Pages of tools whose declarations are to be read.
    pub(crate) tools: Vec<String>,
    /// Calls whose tools' declarations are wanted.
    pub(crate) declaring: Vec<CallId>,
    /// Whether tests answer the client's own `tools/list`. Else the server has no tools, and says so at once.
    pub(crate) lists: bool,
    unlisted: VecDeque<(ExchangeId, String)>,
    made: Vec<CallId>,
    wake: Option<Instant>,
}

/// Options as the wrapper would give them, of a client that knows what its server speaks.
pub(crate) fn options() -> Options {
    Options {
        endpoint: "https://h.test/mcp".to_string(),
        era: EraOption::Legacy,
        client_info: r#"{"name":"test","version":"1"}"#.to_string(),
        capabilities: "{}".to_string(),
        full_diagnostics: true,
        ..Options::default()
    }
}

/// A tool call that may run twice, by the caller's word.
pub(crate) fn safe() -> CallSpec {
    CallSpec { method: "tools/call".to_string(), idempotent: true, ..CallSpec::default() }
}

/// A session that another client began.
pub(crate) fn known_session(id: Option<&str>, version: Option<&str>, greeting: Option<&str>) -> SessionFacts {
    SessionFacts {
        session_id: id.map(String::from),
        protocol_version: version.map(String::from),
        greeting: greeting.map(String::from),
        ..SessionFacts::default()
    }
}

impl World {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            client: Client::new(Config::new(options).expect("valid options"), 7),
            handshake: None,
            now: Instant::from_millis(1_000_000.0),
            requests: VecDeque::new(),
            sends: true,
            unsent: VecDeque::new(),
            aborted: Vec::new(),
            reading: Vec::new(),
            events: Vec::new(),
            messages: Vec::new(),
            questions: Vec::new(),
            cancelled: Vec::new(),
            keys: Vec::new(),
            tokens: Vec::new(),
            challenges: Vec::new(),
            scheduled: Vec::new(),
            paused: Vec::new(),
            ended: BTreeMap::new(),
            facts: Vec::new(),
            ready: None,
            closed: false,
            tools: Vec::new(),
            declaring: Vec::new(),
            lists: false,
            unlisted: VecDeque::new(),
            made: Vec::new(),
            wake: None,
        }
    }

    /// A client that has sent `initialize`.
    pub(crate) fn connecting(options: Options) -> Self {
        let mut world = Self::new(options);
        world.handshake = world.client.connect(world.now);
        world.drain();
        world
    }

    /// Its handshake, as a call.
    pub(crate) fn handshake(&self) -> CallId {
        self.handshake.expect("it does its own handshake")
    }

    /// A client whose handshake is done, in session `s1`.
    pub(crate) fn connected(options: Options) -> Self {
        Self::connected_in(options, "s1")
    }

    /// The same in another session.
    pub(crate) fn connected_in(options: Options, session: &str) -> Self {
        let mut world = Self::connecting(options);
        let (post, request) = world.request();
        let id = id_of(&request);
        world.head(post, 200, JSON, Some(session));
        world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{id},{GREETING}"#));
        world.end(post);
        let (post, _) = world.request();
        world.head(post, 202, "", None);
        assert!(world.ready.is_some(), "the handshake is done");
        world.events.clear();
        world.aborted.clear();
        world.messages.clear();
        world
    }

    /// A client that carries another's messages, before any of them.
    pub(crate) fn carrying(options: Options) -> Self {
        let mut world = Self::new(Options { carry: true, ..options });
        world.client.connect(world.now);
        world.drain();
        world
    }

    /// One that has carried the handshake of a Client, in session `s1`.
    pub(crate) fn carried(options: Options) -> Self {
        let mut world = Self::carrying(options);
        world.client_initializes("0", Some("s1"));
        world.client.notify(world.now, "notifications/initialized", "");
        world.drain();
        let (post, _) = world.request();
        world.head(post, 202, "", None);
        world.events.clear();
        world.aborted.clear();
        world
    }

    /// The Client's `initialize`, answered.
    pub(crate) fn client_initializes(&mut self, id: &str, session: Option<&str>) -> CallId {
        let call = self.call_with(CallSpec {
            method: "initialize".to_string(),
            params: r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"2"}}"#
                .to_string(),
            id: Some(id.to_string()),
            timed: true,
            ..CallSpec::default()
        });
        let (post, request) = self.request();
        assert_eq!(id_of(&request), id, "the Client's own id");
        self.head(post, 200, JSON, session);
        self.body(post, &format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{GREETING}"));
        self.end(post);
        call
    }

    pub(crate) fn drain(&mut self) {
        loop {
            match self.client.poll_output() {
                Output::Transmit(exchange, request) if !self.lists && self.asks_hints(&request) => {
                    self.unlisted.push_back((exchange, id_of(&request)));
                }
                Output::Transmit(exchange, request) => {
                    self.requests.push_back((exchange, request));
                    self.unsent.extend(self.sends.then_some(exchange));
                }
                Output::Read(exchange, true) => {
                    self.paused.retain(|paused| *paused != exchange);
                    self.reading.push(exchange);
                }
                Output::Read(exchange, false) => self.paused.push(exchange),
                Output::Token(_, token) => self.tokens.push(token),
                Output::Authorize(call, challenge) => self.challenges.push((call, challenge)),
                Output::Schedule(call, wait, attempt) => self.scheduled.push((call, wait, attempt)),
                Output::Abort(exchange) => self.aborted.push(exchange),
                Output::Event(call, _, event) => {
                    if let Event::Message { message, key, .. } | Event::Progress { message, key, .. } = &event
                    {
                        self.messages.push(self.client.text(*message).to_string());
                        self.keys.extend(*key);
                    }
                    self.events.push((call, event));
                }
                Output::Settle(call, _, settlement) => {
                    let ended = match settlement {
                        Settlement::Result { message, .. } => {
                            Ended::Answer(self.client.text(message).to_string())
                        }
                        Settlement::Accepted => Ended::Accepted,
                        Settlement::Failed(failure) => Ended::Failed(failure),
                    };
                    assert!(self.ended.insert(call, ended).is_none(), "a call settles once: {call:?}");
                }
                Output::Request(_, _, message) => self.questions.push(self.client.text(message).to_string()),
                Output::RequestCancelled(id) | Output::RequestOver(id) => self.cancelled.push(id.text()),
                Output::Persist(facts) => self.facts.push(*facts),
                Output::Tools(message) => self.tools.push(self.client.text(message).to_string()),
                Output::Declare(call) => self.declaring.push(call),
                Output::Ready(_) => {
                    let facts = self.facts.last().cloned().unwrap_or_default();
                    self.ready = Some((facts.protocol_version.unwrap_or_default(), facts.session_id));
                }
                Output::Closed => self.closed = true,
                Output::Timeout(next) => {
                    self.wake = next.map(|(at, _)| at);
                    if let Some((exchange, id)) = self.unlisted.pop_front() {
                        self.answer_without_tools(exchange, &id);
                        continue;
                    }
                    let Some(exchange) = self.unsent.pop_front() else { return };
                    self.client.handle_input(self.now, Input::Sent(exchange));
                }
            }
        }
    }

    /// Whether the client itself asks what the server says of its tools.
    fn asks_hints(&self, request: &HttpRequest) -> bool {
        let lists = request.body.as_deref().is_some_and(|body| body.contains("\"tools/list\""));
        lists && request.call.is_none_or(|call| !self.made.contains(&call))
    }

    fn answer_without_tools(&mut self, exchange: ExchangeId, id: &str) {
        let error = r#"{"code":-32601,"message":"no tools"}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#);
        let content_type = Some(JSON.to_string());
        let head = ResponseHead { status: 200, content_type, ..ResponseHead::default() };
        for input in [
            Input::Sent(exchange),
            Input::Head(exchange, head),
            Input::Body(exchange, body.as_bytes()),
            Input::End(exchange),
        ] {
            self.client.handle_input(self.now, input);
        }
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        self.client.handle_input(self.now, input);
        self.drain();
    }

    pub(crate) fn call_with(&mut self, spec: CallSpec) -> CallId {
        let call = self.client.call(self.now, spec).expect("valid clocks");
        self.made.push(call);
        self.drain();
        call
    }

    /// A call of the tool `t`, with progress.
    pub(crate) fn call(&mut self) -> CallId {
        let tool = Some("t".to_string());
        let params = r#"{"name":"t","arguments":{}}"#.to_string();
        self.call_with(CallSpec {
            method: "tools/call".to_string(),
            params,
            tool,
            progress: true,
            ..CallSpec::default()
        })
    }

    /// A call that may run twice, by the caller's word.
    pub(crate) fn safe_call(&mut self) -> CallId {
        self.call_with(safe())
    }

    /// A call that got no headers in its time.
    pub(crate) fn hung_call(&mut self) {
        let hung = self.call_with(CallSpec {
            method: "tools/call".to_string(),
            timeouts: TimeoutOptions { first_byte: Some(1_000.0), ..TimeoutOptions::default() },
            ..CallSpec::default()
        });
        self.pass(1_000);
        assert_eq!(self.failure(hung).reason, Reason::FirstByteTimeout);
        self.requests.clear();
    }

    /// A request is answered by this result, in JSON.
    pub(crate) fn reply(&mut self, exchange: ExchangeId, request: &HttpRequest, result: &str) {
        self.head(exchange, 200, JSON, None);
        self.body(exchange, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, id_of(request)));
        self.end(exchange);
    }

    /// A call whose POST was answered by an open event stream: its id as JSON text, and the exchange.
    pub(crate) fn streaming(&mut self) -> (CallId, String, ExchangeId) {
        let call = self.call();
        let (post, request) = self.request();
        let id = id_of(&request);
        self.head(post, 200, SSE, None);
        (call, id, post)
    }

    /// A call whose handlers report, streaming.
    pub(crate) fn handling(&mut self) -> (CallId, String, ExchangeId) {
        let call = self.call_with(CallSpec {
            method: "tools/call".to_string(),
            progress: true,
            reports_handling: true,
            wants_tokens: true,
            ..CallSpec::default()
        });
        let (post, request) = self.request();
        let id = id_of(&request);
        self.head(post, 200, SSE, None);
        (call, id, post)
    }

    /// A handler reports on the event with this key.
    pub(crate) fn handled(&mut self, call: CallId, key: u32, ok: bool) {
        self.client.handled(self.now, call, key..=key, ok);
        self.drain();
    }

    /// A request is handed to fetch, where [`World::sends`] is off.
    pub(crate) fn sent(&mut self, exchange: ExchangeId) {
        self.input(Input::Sent(exchange));
    }

    /// The next request that was made.
    pub(crate) fn request(&mut self) -> (ExchangeId, HttpRequest) {
        self.requests.pop_front().expect("a request was made")
    }

    pub(crate) fn head(
        &mut self,
        exchange: ExchangeId,
        status: u16,
        content_type: &str,
        session: Option<&str>,
    ) {
        let content_type = (!content_type.is_empty()).then(|| content_type.to_string());
        let session_id = session.map(str::to_string);
        self.input(Input::Head(
            exchange,
            ResponseHead { status, content_type, session_id, ..ResponseHead::default() },
        ));
    }

    pub(crate) fn body(&mut self, exchange: ExchangeId, text: &str) {
        self.input(Input::Body(exchange, text.as_bytes()));
    }

    pub(crate) fn end(&mut self, exchange: ExchangeId) {
        self.input(Input::End(exchange));
    }

    pub(crate) fn cut(&mut self, exchange: ExchangeId) {
        self.failed(exchange, "");
    }

    pub(crate) fn failed(&mut self, exchange: ExchangeId, code: &str) {
        let failure = IoFailure { message: "terminated".to_string(), code: code.to_string() };
        self.input(Input::Failed(exchange, failure));
    }

    pub(crate) fn input_head(&mut self, exchange: ExchangeId, head: ResponseHead) {
        self.input(Input::Head(exchange, head));
    }

    /// Lets time pass, waking the client whenever it asked for it.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        while let Some(wake) = self.wake.filter(|wake| *wake <= until) {
            self.now = wake.max(self.now);
            self.input(Input::Timeout);
        }
        self.now = until;
    }

    /// Lets time pass, in steps of 100 ms, while the network refuses every POST.
    pub(crate) fn pass_cut_off(&mut self, ms: u64) {
        for _ in 0..ms / 100 {
            self.pass(100);
            let (posts, gets) = self.requests.drain(..).partition(|(_, request)| request.body.is_some());
            self.requests = gets;
            let posts: VecDeque<(ExchangeId, HttpRequest)> = posts;
            posts.into_iter().for_each(|(post, _)| self.cut(post));
        }
    }

    /// Lets time pass until a request is made: the wait in milliseconds, and the request.
    pub(crate) fn next_request(&mut self) -> (f64, ExchangeId, HttpRequest) {
        let start = self.now;
        while self.requests.is_empty() {
            self.now = self.wake.expect("something is planned").max(self.now);
            self.input(Input::Timeout);
        }
        let (exchange, request) = self.request();
        (self.now.as_millis() - start.as_millis(), exchange, request)
    }

    pub(crate) fn failure(&self, call: CallId) -> &Failure {
        match self.ended.get(&call) {
            Some(Ended::Failed(failure)) => failure,
            other => panic!("the call should have failed: {other:?}"),
        }
    }

    pub(crate) fn answer(&self, call: CallId) -> &str {
        match self.ended.get(&call) {
            Some(Ended::Answer(text)) => text,
            other => panic!("the call should have been answered: {other:?}"),
        }
    }

    pub(crate) fn is_pending(&self, call: CallId) -> bool {
        !self.ended.contains_key(&call)
    }

    /// The names of the events so far, in order.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        self.events.iter().map(|(_, event)| event_name(event)).collect()
    }

    /// The server takes the word that a call is cancelled.
    pub(crate) fn take_cancelled(&mut self) {
        let tells = |request: &HttpRequest| {
            request.body.as_deref().is_some_and(|body| body.contains("notifications/cancelled"))
        };
        let place = self.requests.iter().position(|(_, request)| tells(request));
        let (post, _) = self.requests.remove(place.expect("the server is told")).expect("it was found");
        self.head(post, 202, "", None);
    }

    /// The session that was begun in vain is ended at the server.
    pub(crate) fn given_back(&mut self, session: &str) {
        let (delete, request) = self.request();
        assert_eq!((request.method, header(&request, "mcp-session-id")), (Method::Delete, Some(session)));
        self.head(delete, 200, "", None);
    }

    pub(crate) fn assert_nothing_is_left(&self) {
        assert_eq!(self.client.load(), Load::default());
    }
}
