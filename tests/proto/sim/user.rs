//! The user of the client and its host: the calls that they make, and what they do with what the client tells them.

use landfall::proto::{CallId, CallSpec, Challenge};

use super::eras::Speaks;
use super::happening::Happening;
use super::schedule::{Clocks, Given, Handler, Scheduler, Tool};
use super::shares::Happened;
use super::world::{instant, World};

impl World<'_> {
    /// A call of the client before goes on from the last place that was told.
    pub(super) fn take_up(&mut self, number: usize, token: String) {
        self.shares.happened(Happened::TakenUp);
        let spec = self.spec(number);
        let spec = CallSpec { resumption_token: Some(token.clone()), ..spec };
        let call = self.client.call(instant(self.now), spec).expect("valid clocks");
        self.judge.on_made(self.now, call, Some(number));
        self.judge.on_taken_up(call, &token, &self.server);
        self.drain();
    }

    pub(super) fn make(&mut self, number: usize) {
        if self.waits_for_handshake(number) {
            return;
        }
        let plan = &self.schedule.calls[number];
        if plan.tool == Tool::Notify {
            let params = format!("{{\"k\":{number}}}");
            let call = self.client.notify(instant(self.now), "notifications/k", &params);
            self.judge.on_made(self.now, call, Some(number));
            return self.drain();
        }
        let spec = self.spec(number);
        self.call(Some(number), spec);
    }

    fn spec(&mut self, number: usize) -> CallSpec {
        let plan = &self.schedule.calls[number];
        let timeouts = plan.clocks.map(Clocks::options).unwrap_or_default();
        let name = plan.tool.name();
        let (method, tool, params) = match name {
            Some(name) => {
                let params = format!("{{\"name\":\"{name}\",\"arguments\":{{\"k\":{number}}}}}");
                ("tools/call", Some(name.to_string()), params)
            }
            None => ("resources/read", None, format!("{{\"uri\":\"sim:{number}\",\"k\":{number}}}")),
        };
        let idempotent = plan.tool == Tool::Vouched;
        let spec = CallSpec {
            method: method.to_string(),
            params,
            tool,
            progress: true,
            idempotent,
            on_gap: Some(plan.on_gap),
            reports_handling: plan.handler != Handler::None,
            wants_tokens: plan.tokens,
            timeouts,
            ..CallSpec::default()
        };
        self.carried(Some(plan), spec)
    }

    /// The tools are listed first, and so their hints learned.
    pub(super) fn list(&mut self) {
        if self.schedule.client.lists {
            let spec = CallSpec { method: "tools/list".to_string(), ..CallSpec::default() };
            let spec = self.carried(None, spec);
            self.call(None, spec);
        }
    }

    pub(super) fn call(&mut self, number: Option<usize>, spec: CallSpec) {
        let (id, token) = (spec.id.clone(), spec.token.clone());
        let call = self.client.call(instant(self.now), spec).expect("valid clocks");
        self.judge.on_made(self.now, call, number);
        self.judge.on_named(call, id, token);
        self.drain();
    }

    /// The user's handler begins.
    pub(super) fn handle(&mut self, call: CallId, key: u32) {
        let nth = self.judge.next_key(call);
        let Some(plan) = self.judge.plan_of(call) else { return };
        let (ms, ok) = match plan.handler {
            Handler::None | Handler::Never => return,
            Handler::Done(ms) => (ms, true),
            Handler::FailsAtTimes(ms) => (ms, nth % 3 != 0),
            Handler::Fails => (1, false),
        };
        let at = self.now + u64::from(ms) * 1_000;
        self.agenda.plan(at, Happening::Handled(self.generation, call, key, ok));
    }

    pub(super) fn question(&mut self, call: Option<CallId>, text: String) {
        let question: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        // On a stream of many nobody says whose it is.
        let asks = question["id"].as_str().and_then(|id| id.strip_prefix("ask-")?.parse::<usize>().ok());
        let is_old = self.schedule.era.speaks == Speaks::Sse;
        let asks = asks.filter(|_| is_old).map(|work| &self.schedule.calls[self.server.works[work].call]);
        let plan = call.and_then(|call| self.judge.plan_of(call)).or(asks);
        let answers = plan.and_then(|plan| plan.answers);
        self.judge.on_question(&question["id"].to_string());
        let Some(ms) = answers else { return };
        let result = r#""result":{"action":"accept","content":{}}"#;
        let body = format!(r#"{{"jsonrpc":"2.0","id":{},{result}}}"#, question["id"]);
        self.agenda.plan(self.now + u64::from(ms) * 1_000, Happening::Answer(self.generation, body));
    }

    /// The provider is asked for other credentials.
    pub(super) fn provide(&mut self, call: CallId, challenge: Challenge) {
        self.judge.on_authorize(self.now, call, challenge);
        self.shares.happened(Happened::Asked);
        let Some(given) = &self.schedule.client.provider else { return };
        let nth = self.provided % given.len();
        self.provided += 1;
        let (ms, given) = match given[nth] {
            Given::Never => return,
            given @ (Given::Fresh(ms) | Given::Stale(ms) | Given::Nothing(ms)) => (ms, given),
        };
        self.plan_in(ms, Happening::Provided(self.generation, given));
    }

    pub(super) fn provided(&mut self, given: Given) {
        match given {
            Given::Fresh(_) => self.credentials = self.server.wants,
            Given::Stale(_) => self.shares.happened(Happened::Stale),
            Given::Nothing(_) | Given::Never => {}
        }
        self.judge.on_provided();
        self.client.authorized(instant(self.now), !matches!(given, Given::Nothing(_)));
        self.drain();
    }

    /// The host is to end a wait.
    pub(super) fn schedule(&mut self, call: CallId, wait: std::time::Duration, nth: u32) {
        self.shares.happened(Happened::Scheduled);
        // It takes the place of the one before.
        self.waits += 1;
        self.scheduled.insert(call, self.waits);
        let wait = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        let wait = match self.schedule.client.scheduler {
            Some(Scheduler::Hurries) => wait / 10,
            Some(Scheduler::Forgets) if nth % 3 == 0 => return,
            _ => wait,
        };
        self.agenda.plan(self.now + wait, Happening::Reconnect(self.generation, call, self.waits));
    }

    fn plan_in(&mut self, ms: u32, happening: Happening) {
        self.agenda.plan(self.now + u64::from(ms) * 1_000, happening);
    }
}
