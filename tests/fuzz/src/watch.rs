//! Watches a client: takes all it puts out, and panics where that breaks its contract.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use landfall::proto::{
    CallId, Client, Config, Event, ExchangeId, HttpRequest, Input, Instant, MessageRef, Method, Options,
    Output, Settlement,
};
use serde_json::value::RawValue;

/// An exchange that the client began.
pub(crate) struct Exchange {
    pub(crate) method: Method,
    /// The JSON-RPC id as JSON text (empty for a notification) and the method of a POST.
    pub(crate) id: String,
    pub(crate) rpc: String,
    /// Whether its body is an event stream, once its head came.
    pub(crate) events: Option<bool>,
    /// Ended by either side: what is reported of it now is late.
    pub(crate) over: bool,
}

/// A call that was made.
struct Call {
    until: Instant,
    ended: bool,
}

pub(crate) struct Watched {
    pub(crate) client: Client,
    pub(crate) now: Instant,
    pub(crate) exchanges: BTreeMap<ExchangeId, Exchange>,
    /// The ids of the server's questions, as JSON texts.
    pub(crate) questions: Vec<String>,
    pub(crate) closed: bool,
    /// A stream may stay open for ever.
    pub(crate) listens: bool,
    /// Whether a request may go out twice under its id: one that was refused for its credentials.
    may_repeat: bool,
    next_id: u32,
    /// Events in hand, by the keys to report them under.
    in_hand: Vec<(CallId, u32)>,
    calls: BTreeMap<CallId, Call>,
    /// A gap was told of this call after its outcome was drained.
    late_gap: Option<CallId>,
    /// The handshake, which ends when the session is ready.
    handshake: Option<CallId>,
    wire_ids: BTreeSet<String>,
    wake: Option<Instant>,
    /// After a sleep a call may outlive its deadline by one attempt.
    grace: Instant,
    transmitted: usize,
    /// Requests that are about to be handed to fetch.
    unsent: VecDeque<ExchangeId>,
}

/// How long an attempt may take that is made after a sleep.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Outputs per mutation, besides those for the calls and the bytes there are.
const SOME_OUTPUTS: usize = 200;

impl Watched {
    pub(crate) fn new(options: Options, seed: u64) -> Option<Self> {
        let may_repeat = options.auth;
        let client = Client::new(Config::new(options).ok()?, seed);
        let start = Instant::from_millis(1.8e12);
        Some(Self {
            client,
            now: start,
            exchanges: BTreeMap::new(),
            questions: Vec::new(),
            closed: false,
            listens: false,
            may_repeat,
            next_id: 0,
            in_hand: Vec::new(),
            calls: BTreeMap::new(),
            handshake: None,
            late_gap: None,
            wire_ids: BTreeSet::new(),
            wake: None,
            unsent: VecDeque::new(),
            grace: start,
            transmitted: 0,
        })
    }

    /// The next id of a Client's own.
    pub(crate) fn next_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// A call was made, and must have ended so many milliseconds from now.
    pub(crate) fn made(&mut self, call: CallId, within_ms: f64) {
        let until = self.now + Duration::from_secs_f64(within_ms / 1_000.0);
        assert!(self.calls.insert(call, Call { until, ended: false }).is_none(), "{call:?} is made once");
    }

    /// The handshake began, and must be done so many milliseconds from now.
    pub(crate) fn connecting(&mut self, handshake: CallId, within_ms: f64) {
        self.handshake = Some(handshake);
        self.made(handshake, within_ms);
    }

    pub(crate) fn input(&mut self, input: Input<'_>) {
        let was_closed = self.closed;
        let size = if let Input::Body(_, bytes) = &input { bytes.len() } else { 0 };
        self.client.handle_input(self.now, input);
        let outputs = self.drain(size);
        assert!(!was_closed || outputs == 0, "nothing moves after the close");
    }

    /// Takes the outputs that follow a mutation with so many bytes.
    pub(crate) fn drain(&mut self, bytes: usize) -> usize {
        let most = SOME_OUTPUTS + bytes + 50 * (self.calls.len() + self.exchanges.len());
        let mut messages = Vec::new();
        let mut count = 0;
        loop {
            let output = self.client.poll_output();
            if let Output::Timeout(next) = output {
                self.wake = next.map(|(at, _)| at);
                self.check_messages(&std::mem::take(&mut messages));
                let Some(exchange) = self.unsent.pop_front() else { break };
                self.client.handle_input(self.now, Input::Sent(exchange));
                continue;
            }
            count += 1;
            assert!(count <= most, "more than {most} outputs");
            self.take(output, &mut messages);
        }
        assert!(!self.closed || self.wake.is_none(), "no timer after the close");
        self.check_deadlines();
        count
    }

    fn take(&mut self, output: Output, messages: &mut Vec<MessageRef>) {
        match output {
            Output::Transmit(exchange, request) => {
                self.unsent.push_back(exchange);
                self.transmit(exchange, &request);
            }
            Output::Read(exchange, _) => assert!(!self.exchanges[&exchange].over, "{exchange:?} is over"),
            Output::Abort(exchange) => {
                let exchange = self.exchanges.get_mut(&exchange).expect("one that was begun");
                exchange.over = true;
            }
            Output::Event(call, _, event) => {
                if let Event::Message { message, key, .. } | Event::Progress { message, key, .. } = event {
                    messages.push(message);
                    self.in_hand.extend(call.zip(key));
                }
                // What failed of a call whose outcome is drained and not told yet is reported all the same, and a gap
                // that was found then may give another outcome.
                let is_late = matches!(event, Event::EventSkipped { .. } | Event::Gap { .. });
                let ended = call.and_then(|call| self.calls.get(&call)).is_some_and(|call| call.ended);
                if ended && matches!(event, Event::Gap { .. }) {
                    self.late_gap = call;
                }
                assert!(!ended || is_late, "no event of {call:?} after its end: {event:?}");
            }
            Output::Settle(id, _, settlement) => {
                if let Settlement::Result { message, .. } = settlement {
                    messages.push(message);
                }
                // A stream without end is not among them.
                if let Some(call) = self.calls.get_mut(&id) {
                    let may_end = self.late_gap.take() == Some(id);
                    assert!(!std::mem::replace(&mut call.ended, true) || may_end, "a call ends once");
                }
            }
            Output::Request(_, _, message) => {
                messages.push(message);
                let text = self.client.text(message);
                let id = landfall::proto::jsonrpc::field(text, &["id"]).expect("a question has an id");
                self.questions.push(id.to_string());
            }
            Output::Tools(message) => messages.push(message),
            Output::Ready(message) => {
                messages.push(message);
                if let Some(connect) = self.handshake.and_then(|call| self.calls.get_mut(&call)) {
                    connect.ended = true;
                }
            }
            Output::Token(call, _) => {
                let ended = self.calls.get(&call).is_some_and(|call| call.ended);
                assert!(!ended, "no cursor of {call:?} after its end");
            }
            Output::Closed => assert!(!std::mem::replace(&mut self.closed, true), "closed once"),
            _ => {}
        }
    }

    fn transmit(&mut self, exchange: ExchangeId, request: &HttpRequest) {
        assert!(!self.closed, "no request after the close");
        self.transmitted += 1;
        for (name, value) in &request.headers {
            let legal = |c: char| c == '\t' || (' '..='\u{ff}').contains(&c) && c != '\u{7f}';
            assert!(
                value.chars().all(legal) && value.trim_matches([' ', '\t']) == value,
                "{name}: {value:?}"
            );
        }
        let body: Option<serde_json::Value> =
            request.body.as_ref().map(|body| serde_json::from_str(body).expect("a body is JSON"));
        assert_eq!(body.is_some(), request.method == Method::Post);
        let member = |name: &str| body.as_ref().and_then(|body| body.get(name)).cloned();
        let rpc = member("method").and_then(|method| method.as_str().map(str::to_string)).unwrap_or_default();
        let id = member("id").map(|id| id.to_string()).unwrap_or_default();
        let is_new = rpc.is_empty() || id.is_empty() || self.wire_ids.insert(id.clone());
        let may_repeat = request.url.is_some() || self.may_repeat;
        assert!(
            is_new || may_repeat,
            "but where it is redirected or asks for credentials, an id goes out once: {id}"
        );
        let new = Exchange { method: request.method, id, rpc, events: None, over: false };
        assert!(self.exchanges.insert(exchange, new).is_none(), "an exchange begins once");
    }

    /// All messages are one JSON array, and the references point to its elements.
    fn check_messages(&self, messages: &[MessageRef]) {
        let Some(text) = self.client.messages() else {
            return assert!(messages.is_empty(), "references without messages");
        };
        let elements: Vec<&RawValue> = serde_json::from_str(text).expect("the messages are an array");
        for message in messages {
            let text = self.client.text(*message).trim_matches([' ', '\n', '\r', '\t']);
            assert_eq!(text, elements[message.index as usize].get());
        }
    }

    fn check_deadlines(&self) {
        if self.now < self.grace {
            return;
        }
        for (call, Call { until, ended }) in &self.calls {
            assert!(
                *ended || self.now < *until || self.wake.is_some_and(|wake| wake <= *until),
                "{call:?} hangs"
            );
        }
    }

    /// Lets time pass, with a wake-up wherever the client asked for one.
    pub(crate) fn pass(&mut self, ms: u64) {
        let until = self.now + Duration::from_millis(ms);
        let open = self.calls.values().filter(|call| !call.ended).count();
        // Our own waits are of 375 ms and more, `connectMs` is of 50 and more, and nothing runs on without a wait.
        let most = (200 + ms / 20) as usize * (open + 4);
        let (mut wakes, before) = (0, self.transmitted);
        while let Some(wake) = self.wake.filter(|wake| *wake <= until) {
            self.now = wake.max(self.now);
            self.input(Input::Timeout);
            wakes += 1;
            assert!(wakes <= most, "{wakes} wake-ups in {ms} ms");
            assert!(self.transmitted - before <= most, "a storm of requests");
        }
        self.now = until;
    }

    pub(crate) fn sleep(&mut self, ms: u64) {
        self.now = self.now + Duration::from_millis(ms);
        self.grace = self.now + ATTEMPT;
        self.input(Input::Timeout);
    }

    /// The one of the exchanges under way that a number chooses; large numbers choose among all, late ones too.
    pub(crate) fn exchange(&self, choice: u8) -> Option<ExchangeId> {
        let late = choice >= 0xF0;
        let known: Vec<_> =
            self.exchanges.iter().filter(|(_, x)| late || !x.over).map(|(id, _)| *id).collect();
        known.get(usize::from(choice) % known.len().max(1)).copied()
    }

    pub(crate) fn call(&self, choice: u8) -> Option<CallId> {
        let known: Vec<_> = self.calls.keys().copied().collect();
        known.get(usize::from(choice) % known.len().max(1)).copied()
    }

    /// An event in hand, which is not in hand any more.
    pub(crate) fn event_in_hand(&mut self, choice: u8) -> Option<(CallId, u32)> {
        let place = usize::from(choice) % self.in_hand.len().max(1);
        (place < self.in_hand.len()).then(|| self.in_hand.remove(place))
    }

    /// The requests under way: ids and methods.
    pub(crate) fn wire_ids(&self) -> Vec<(String, String)> {
        let of_requests = |x: &&Exchange| !x.over && !x.id.is_empty() && !x.rpc.is_empty();
        self.exchanges.values().filter(of_requests).map(|x| (x.id.clone(), x.rpc.clone())).collect()
    }

    pub(crate) fn all_ended(&self) -> bool {
        self.calls.values().all(|call| call.ended)
    }
}
