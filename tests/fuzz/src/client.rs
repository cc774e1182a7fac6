//! The client: whatever comes in whatever order, it keeps its contract (see `watch.rs`) and ends empty.

use landfall::proto::{CallSpec, ExchangeId, Input, IoFailure, Load, Method, Redirect, ResponseHead, Target};

use crate::script::{self, Clocks, Piece, Script, Setup, Step};
use crate::watch::Watched;

/// Longer than any clock of any call runs.
const FOR_EVER_MS: u64 = 3 * 3_600_000;
const TEN_MINUTES_MS: u64 = 600_000;

pub fn check(script: &Script) {
    let Some(mut world) = Watched::new(script.setup.options(), u64::from(script.setup.seed)) else { return };
    world.listens = script.setup.listen;
    if script.setup.connected {
        connect(&mut world, &script.setup);
        if script.setup.carry {
            hello(&mut world, &script.setup);
        }
        serve_all(&mut world, script.setup.in_session);
        if script.setup.carry {
            notify(&mut world, "notifications/initialized", &script.setup);
        }
        // A session without an id is asked what else it speaks before it is confirmed.
        serve_all(&mut world, false);
        serve_all(&mut world, false);
        assert!(world.all_ended(), "connected");
    }
    for step in &script.steps {
        take(&mut world, step, &script.setup);
    }
    if script.setup.await_all && !world.closed {
        world.pass(FOR_EVER_MS);
        assert!(world.all_ended(), "every call has ended");
        let is_quiet = world.client.load() == Load::default();
        assert!(is_quiet || world.listens, "nothing is left after silence");
    }
    close(&mut world);
    world.pass(TEN_MINUTES_MS);
    assert!(world.closed && world.all_ended());
    assert_eq!(world.client.load(), Load::default(), "nothing is left after the close");
    let metrics = world.client.metrics(false);
    assert_eq!(
        metrics.calls,
        metrics.answered + metrics.failed.values().sum::<u64>(),
        "every call is counted"
    );
    for exchange in world.exchanges.keys().copied().collect::<Vec<_>>() {
        world.input(Input::Head(exchange, ResponseHead { status: 200, ..ResponseHead::default() }));
        world.input(Input::Body(exchange, b"data: {}\n\n"));
        world.input(Input::End(exchange));
    }
}

fn take(world: &mut Watched, step: &Step, setup: &Setup) {
    match step {
        Step::Call { method, flags, clocks } => call(world, *method, *flags, *clocks, setup),
        Step::Stream { exchange, is_new, flags, pieces, end } => {
            let mut chosen = world.exchange(*exchange);
            if *is_new {
                call(world, *exchange, *flags, setup.clocks, setup);
                chosen = world.exchanges.keys().next_back().copied();
            }
            if let Some(id) = chosen {
                stream(world, id, pieces, *end);
            }
        }
        Step::Handled { .. } | Step::Gap(_) => report(world, step),
        Step::Notify => notify(world, "notifications/roots/list_changed", setup),
        Step::Hello | Step::Authorized(_) | Step::Reconnect(_) | Step::Terminate | Step::Version(_) => {
            carry(world, step, setup);
        }
        Step::Answer(choice) => answer(world, *choice),
        Step::Cancel(choice) => {
            if let Some(call) = world.call(*choice) {
                world.client.cancel(world.now, call);
                world.drain(0);
            }
        }
        Step::Serve(choice) => {
            if let Some(exchange) = world.exchange(*choice) {
                serve(world, exchange, true);
            }
        }
        Step::Head { .. } | Step::Body { .. } | Step::End(_) | Step::Failed { .. } => io(world, step),
        Step::Pass { amount, unit } => world.pass(script::span(*amount, *unit)),
        Step::Sleep { amount, unit } => world.sleep(script::span(*amount, *unit)),
        Step::Spurious => world.input(Input::Timeout),
        Step::Connect => connect(world, setup),
        Step::Close => close(world),
    }
}

/// What a Client and its transport do beside calls.
fn carry(world: &mut Watched, step: &Step, setup: &Setup) {
    match step {
        Step::Hello if setup.carry => hello(world, setup),
        Step::Authorized(ok) => world.client.authorized(world.now, *ok),
        Step::Reconnect(choice) => {
            let Some(call) = world.call(*choice) else { return };
            world.client.reconnect(world.now, call);
        }
        Step::Terminate => {
            let call = world.client.terminate(world.now);
            world.made(call, deadline_ms(setup.clocks, setup.clocks));
        }
        Step::Version(choice) => {
            world.client.set_version(world.now, ["2025-06-18", "x"][usize::from(choice % 2)])
        }
        _ => return,
    }
    world.drain(0);
}

fn hello(world: &mut Watched, setup: &Setup) {
    let spec = CallSpec {
        method: "initialize".to_string(),
        params: "{\"protocolVersion\":\"2025-11-25\"}".to_string(),
        id: Some(world.next_id().to_string()),
        ..CallSpec::default()
    };
    if let Ok(call) = world.client.call(world.now, spec) {
        world.made(call, deadline_ms(setup.clocks, setup.clocks));
        world.drain(0);
    }
}

fn notify(world: &mut Watched, method: &str, setup: &Setup) {
    let call = world.client.notify(world.now, method, "{\"a\":1}");
    world.made(call, deadline_ms(setup.clocks, setup.clocks));
    world.drain(0);
}

/// What the application says of events.
fn report(world: &mut Watched, step: &Step) {
    match step {
        Step::Handled { which, failed } => {
            let Some((call, key)) = world.event_in_hand(*which) else { return };
            world.client.handled(world.now, call, key..=key, !failed);
        }
        Step::Gap(choice) => {
            let Some(call) = world.call(*choice) else { return };
            world.client.report_gap(world.now, call);
        }
        _ => return,
    }
    world.drain(0);
}

fn call(world: &mut Watched, method: u8, flags: u8, clocks: Clocks, setup: &Setup) {
    let id = setup.carry.then(|| world.next_id());
    let spec = script::call(method, flags, clocks, id);
    // A stream that stays open as long as its server likes has no end that can be waited for.
    // A client of its own may have found a modern server.
    let is_modern = !setup.carry || spec.meta == script::MODERN;
    let is_endless = is_modern && spec.method == "subscriptions/listen";
    let hour = if spec.timed { 3_600_000.0 } else { 0.0 };
    if let Ok(call) = world.client.call(world.now, spec) {
        world.listens |= is_endless;
        if !is_endless {
            world.made(call, deadline_ms(clocks, setup.clocks).max(hour));
        }
        world.drain(0);
    }
}

/// An event stream that begins with an id, and that ends, is cut, or goes on.
fn stream(world: &mut Watched, id: ExchangeId, pieces: &[Piece], end: u8) {
    if let Some(exchange) = world.exchanges.get_mut(&id) {
        exchange.events = Some(true);
    }
    let content_type = Some("text/event-stream".to_string());
    world.input(Input::Head(id, ResponseHead { status: 200, content_type, ..ResponseHead::default() }));
    if end < 0xC0 {
        world.input(Input::Body(id, format!("id: {end}\ndata:\n\n").as_bytes()));
    }
    body(world, id, pieces, 0);
    match end % 4 {
        0 => {}
        1 => {
            over(world, id);
            world.input(Input::End(id));
        }
        _ => {
            over(world, id);
            world.input(Input::Failed(id, IoFailure::default()));
        }
    }
}

/// What happens to an exchange.
fn io(world: &mut Watched, step: &Step) {
    let (Step::Head { exchange, .. }
    | Step::Body { exchange, .. }
    | Step::End(exchange)
    | Step::Failed { exchange, .. }) = step
    else {
        return;
    };
    let Some(id) = world.exchange(*exchange) else { return };
    match step {
        Step::Head { status, kind, session, wait, redirect, .. } => {
            let head = head(*status, *kind, *session, *wait, *redirect);
            let events = head.content_type.as_deref().is_some_and(|kind| kind.starts_with("text/event"));
            if let Some(exchange) = world.exchanges.get_mut(&id) {
                exchange.events = Some(events);
            }
            world.input(Input::Head(id, head));
        }
        Step::Body { pieces, lost, .. } => body(world, id, pieces, *lost),
        Step::Failed { code, .. } => {
            over(world, id);
            let failure = IoFailure { message: "terminated".into(), code: script::code(*code).into() };
            world.input(Input::Failed(id, failure));
        }
        _ => {
            over(world, id);
            world.input(Input::End(id));
        }
    }
}

fn head(status: u8, kind: u8, session: u8, wait: u8, redirect: u8) -> ResponseHead {
    let some = |text: &str| (!text.is_empty()).then(|| text.to_string());
    ResponseHead {
        status: script::status(status),
        content_type: some(script::kind(kind)),
        session_id: match session % 8 {
            0 => Some("s\u{e9}".to_string()),
            1 => Some(String::new()),
            2..=4 => Some(format!("s{session}")),
            _ => None,
        },
        retry_after: some(script::retry_after(wait)),
        challenged: wait % 2 == 1,
        insufficient_scope: wait % 3 == 2,
        redirect: (redirect % 8 == 7).then(|| {
            let target = Target { url: "http://h/x?q".to_string(), same_origin: redirect & 32 != 0 };
            match redirect >> 6 {
                0 => Redirect::Hidden,
                1 => Redirect::Followed(target),
                _ => Redirect::To(target),
            }
        }),
    }
}

/// Sends pieces in one chunk, without the last `lost` bytes of it.
fn body(world: &mut Watched, id: ExchangeId, pieces: &[Piece], lost: u8) {
    let events = world.exchanges.get(&id).and_then(|exchange| exchange.events).unwrap_or(true);
    let ids = world.wire_ids();
    let mut bytes = Vec::new();
    for piece in pieces {
        piece.write(&ids, events, &mut bytes);
    }
    bytes.truncate(bytes.len().saturating_sub(usize::from(lost) / 4));
    world.input(Input::Body(id, &bytes));
}

/// The exchange has ended by the other side.
fn over(world: &mut Watched, id: ExchangeId) {
    if let Some(exchange) = world.exchanges.get_mut(&id) {
        exchange.over = true;
    }
}

/// Answers a request as a good server does: by JSON, 202, an open stream for a GET, 200 for a DELETE.
fn serve(world: &mut Watched, id: ExchangeId, in_session: bool) {
    let Some(exchange) = world.exchanges.get_mut(&id) else { return };
    let method = exchange.method;
    let is_request = !exchange.id.is_empty() && !exchange.rpc.is_empty();
    let body = script::answer(&exchange.id, &exchange.rpc);
    let session_id = (in_session && exchange.rpc == "initialize").then(|| "s1".to_string());
    exchange.events = Some(method == Method::Get);
    let (status, kind) = match method {
        Method::Get => (200, "text/event-stream"),
        Method::Post if is_request => (200, "application/json"),
        Method::Post => (202, ""),
        Method::Delete => (200, ""),
    };
    let content_type = Some(kind.to_string());
    world
        .input(Input::Head(id, ResponseHead { status, content_type, session_id, ..ResponseHead::default() }));
    if method == Method::Post && is_request {
        world.input(Input::Body(id, body.as_bytes()));
        over(world, id);
        world.input(Input::End(id));
    }
}

fn serve_all(world: &mut Watched, in_session: bool) {
    let open = world.exchanges.iter().filter(|(_, x)| !x.over).map(|(id, _)| *id);
    for id in open.collect::<Vec<_>>() {
        serve(world, id, in_session);
    }
}

fn answer(world: &mut Watched, choice: u8) {
    let known = world.questions.len().max(1);
    let id = world.questions.get(usize::from(choice) % known).cloned().unwrap_or_else(|| "9".to_string());
    let body = match choice % 5 {
        4 => "no JSON".to_string(),
        3 => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"x"}}}}"#),
        _ => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#),
    };
    world.client.answer(world.now, &body);
    world.drain(0);
}

fn connect(world: &mut Watched, setup: &Setup) {
    let handshake = world.client.connect(world.now);
    if let Some(handshake) = handshake.filter(|_| !setup.resume) {
        let within_ms = deadline_ms(setup.clocks, setup.clocks).min(30_000.0);
        world.connecting(handshake, within_ms);
    }
    world.drain(0);
}

fn close(world: &mut Watched) {
    world.client.close(world.now);
    world.drain(0);
}

/// The deadline of a call with clocks of its own.
fn deadline_ms(own: Clocks, common: Clocks) -> f64 {
    let default = 600_000.0;
    own.options().deadline.or(common.options().deadline).unwrap_or(default)
}
