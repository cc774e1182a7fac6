//! A host without a network: it obeys a client just enough for its streams to be fed.

use landfall::proto::{
    CallId, CallSpec, Client, Config, EraOption, Event, ExchangeId, Input, Instant, Options, Output,
    ResponseHead,
};

/// A client with a session, and calls whose streams are open.
pub(crate) struct Host {
    client: Client,
    now: Instant,
    requests: Vec<(ExchangeId, String)>,
    unsent: Vec<ExchangeId>,
    told: Vec<(CallId, u32)>,
    /// Messages that were handed out.
    pub(crate) events: usize,
    /// Calls that were settled.
    pub(crate) settled: usize,
}

impl Host {
    /// After the handshake. So many calls can be open.
    pub(crate) fn connected(calls: usize) -> Self {
        let options = Options {
            endpoint: "https://bench.test/mcp".to_string(),
            era: EraOption::Legacy,
            client_info: r#"{"name":"bench","version":"1"}"#.to_string(),
            capabilities: "{}".to_string(),
            max_concurrent: Some((calls + 1) as f64),
            ..Options::default()
        };
        let mut host = Self {
            client: Client::new(Config::new(options).expect("valid options"), 7),
            now: Instant::from_millis(1_000_000.0),
            requests: Vec::new(),
            unsent: Vec::new(),
            told: Vec::new(),
            events: 0,
            settled: 0,
        };
        host.client.connect(host.now);
        host.drain();
        let (post, id) = host.requests.remove(0);
        let result =
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
        host.head(post, 200, "application/json");
        host.input(Input::Body(
            post,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).as_bytes(),
        ));
        host.input(Input::End(post));
        let (post, _) = host.requests.remove(0);
        host.head(post, 202, "");
        host.requests.clear();
        host
    }

    /// A call of a tool whose stream is open; the id of its request.
    pub(crate) fn open(&mut self) -> (ExchangeId, String) {
        let spec = CallSpec {
            method: "tools/call".to_string(),
            params: r#"{"name":"bench","arguments":{}}"#.to_string(),
            tool: Some("bench".to_string()),
            progress: true,
            reports_handling: true,
            ..CallSpec::default()
        };
        self.client.call(self.now, spec).expect("valid clocks");
        self.drain();
        let (post, id) = self.requests.pop().expect("the call is sent");
        self.head(post, 200, "text/event-stream");
        (post, id)
    }

    /// Bytes of a stream came. What they brought is handled as soon as it is told.
    pub(crate) fn body(&mut self, exchange: ExchangeId, bytes: &[u8]) {
        self.now = self.now + std::time::Duration::from_micros(100);
        self.input(Input::Body(exchange, bytes));
        // As the wrapper does: one word for all that came together.
        let Some(&(call, first)) = self.told.first() else { return };
        let last = self.told.last().map_or(first, |&(_, key)| key);
        self.told.clear();
        self.client.handled(self.now, call, first..=last, true);
        self.drain();
    }

    fn head(&mut self, exchange: ExchangeId, status: u16, content_type: &str) {
        let head = ResponseHead {
            status,
            content_type: Some(content_type.to_string()),
            session_id: Some("s1".to_string()),
            ..ResponseHead::default()
        };
        self.input(Input::Head(exchange, head));
    }

    fn input(&mut self, input: Input<'_>) {
        self.client.handle_input(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            match self.client.poll_output() {
                Output::Transmit(exchange, request) => {
                    self.requests.push((exchange, id_of(&request.body.unwrap_or_default())));
                    self.unsent.push(exchange);
                }
                Output::Event(Some(call), _, Event::Progress { key, .. } | Event::Message { key, .. }) => {
                    self.events += 1;
                    self.told.extend(key.map(|key| (call, key)));
                }
                Output::Settle(..) => self.settled += 1,
                Output::Timeout(_) => {
                    let Some(exchange) = self.unsent.pop() else { return };
                    self.client.handle_input(self.now, Input::Sent(exchange));
                }
                _ => {}
            }
        }
    }
}

/// The id of a request, as its text has it.
fn id_of(body: &str) -> String {
    let Some((_, rest)) = body.split_once("\"id\":") else { return String::new() };
    rest.split([',', '}']).next().unwrap_or_default().to_string()
}
