//! `subscriptions/listen` of 2026-07-28: one of our own for what belongs to no call, and a Client's. Whatever ends its
//! stream, it is made again, and what may have been missed is told (ARCHITECTURE.md, "Sessions and eras").

use crate::carried::streaming;
use crate::eras::{asked, auto, confirm, discovered, greets, refuse, say, UNKNOWN};
use crate::modern;
use crate::world::{id_of, options, World, JSON, SSE};
use landfall::proto::{CallSpec, Event, ExchangeId, HttpRequest, ListenState, Options, ReplayOption};

const LISTEN: &str = "subscriptions/listen";
const ALL: &str =
    r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true}}"#;

/// A session that listens with a server that offers this.
fn subscribing(options: Options, capabilities: &str) -> World {
    let mut world = World::connecting(Options { listen: true, ..options });
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    let discover = asked(&mut world, "server/discover");
    let result = format!(r#""result":{{"supportedVersions":["2026-07-28"],"capabilities":{capabilities}}}"#);
    say(&mut world, discover, 200, &result);
    world
}

/// A notification on the stream of this request.
fn told(method: &str, id: &str, more: &str) -> String {
    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
    format!(
        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{{{more}{meta}}}}}\n\n"
    )
}

fn acknowledge(world: &mut World, (post, request): &(ExchangeId, HttpRequest), granted: &str) {
    world.head(*post, 200, SSE, None);
    let more = format!(r#""notifications":{granted},"#);
    world.body(*post, &told("subscriptions/acknowledged", &id_of(request), &more));
}

/// It is open.
fn subscribed(options: Options) -> (World, (ExchangeId, HttpRequest)) {
    let mut world = subscribing(options, ALL);
    let listen = asked(&mut world, LISTEN);
    acknowledge(&mut world, &listen, r#"{"toolsListChanged":true}"#);
    (world, listen)
}

fn next(world: &mut World) -> (f64, (ExchangeId, HttpRequest)) {
    let (wait, post, request) = world.next_request();
    assert_eq!(crate::eras::rpc(&request), LISTEN);
    (wait, (post, request))
}

/// What was told of the stream, since it was asked for last.
fn states(world: &mut World) -> Vec<ListenState> {
    let state = |(call, event): (_, Event)| match event {
        Event::Listen { state } => {
            assert_eq!(call, None);
            Some(state)
        }
        _ => None,
    };
    std::mem::take(&mut world.events).into_iter().filter_map(state).collect()
}

/// The notifications that were told: their methods, and the subscription that they name.
fn messages(world: &mut World) -> Vec<(String, serde_json::Value)> {
    let read = |text: String| {
        let message: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let method = message["method"].as_str().unwrap_or("response").trim_start_matches("notifications/");
        let of = if message["params"].is_object() { &message["params"] } else { &message["result"] };
        (method.to_string(), of["_meta"]["io.modelcontextprotocol/subscriptionId"].clone())
    };
    std::mem::take(&mut world.messages).into_iter().map(read).collect()
}

fn json(id: &str) -> serde_json::Value {
    serde_json::from_str(id).expect("JSON")
}

#[test]
fn a_modern_session_subscribes_to_what_the_server_offers() {
    let mut world = subscribing(auto(), ALL);
    let listen = asked(&mut world, LISTEN);
    let body: serde_json::Value = serde_json::from_str(listen.1.body.as_deref().unwrap()).unwrap();
    let wanted = serde_json::json!({ "toolsListChanged": true, "promptsListChanged": true });
    assert_eq!(body["params"]["notifications"], wanted);
    assert_eq!(body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
    assert_eq!(states(&mut world), []);
    acknowledge(&mut world, &listen, r#"{"toolsListChanged":true}"#);
    assert_eq!(states(&mut world), [ListenState::Open]);
    world.body(listen.0, &told("tools/list_changed", &id_of(&listen.1), ""));
    world.body(listen.0, &told("tasks", &id_of(&listen.1), "\"taskId\":\"1\","));
    let id = json(&id_of(&listen.1));
    let all = ["subscriptions/acknowledged", "tools/list_changed", "tasks"];
    assert_eq!(messages(&mut world), all.map(|method| (method.to_string(), id.clone())));
    let mut world = subscribing(auto(), r#"{"tools":{}}"#);
    assert!(world.requests.is_empty(), "there is nothing to tell");
    assert_eq!(states(&mut world), [ListenState::Unsupported]);
}

#[test]
fn it_may_say_nothing_for_days_and_no_clock_of_a_call_ends_it() {
    let (mut world, _) = subscribed(auto());
    world.pass(7 * 24 * 3_600_000);
    assert!(world.requests.is_empty());
    assert_eq!(states(&mut world), [ListenState::Open]);
    world.client.close(world.now);
    world.drain();
    assert_eq!(states(&mut world), []);
    world.assert_nothing_is_left();
}

#[test]
fn what_ends_is_made_again_and_what_may_have_been_missed_is_told_under_the_first_id() {
    for end in ["cut", "closed", "answered", "cancelled", "json"] {
        let (mut world, (post, request)) = subscribed(auto());
        let first = id_of(&request);
        let _opened = (states(&mut world), messages(&mut world));
        match end {
            "cut" => world.cut(post),
            "closed" => world.end(post),
            "cancelled" => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{first}}}}}"#
                );
                world.body(post, &format!("data: {text}\n\n"));
            }
            "json" => {
                world.cut(post);
                let (_, (post, request)) = next(&mut world);
                world.reply(post, &request, r#"{"resultType":"complete"}"#);
            }
            _ => {
                world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{first},\"result\":{{}}}}\n\n"))
            }
        }
        assert_eq!(states(&mut world), [ListenState::Lost], "{end}");
        assert_eq!(messages(&mut world), [], "{end}");
        let (wait, again) = next(&mut world);
        assert!(wait < 2_000.0, "{end}");
        assert_ne!(id_of(&again.1), first, "{end}");
        acknowledge(&mut world, &again, r#"{"toolsListChanged":true}"#);
        assert_eq!(states(&mut world), [ListenState::Open], "{end}");
        world.body(again.0, &told("tools/list_changed", &id_of(&again.1), ""));
        let changed = ("tools/list_changed".to_string(), json(&first));
        assert_eq!(messages(&mut world), [changed.clone(), changed], "missed, and come; {end}");
    }
}

#[test]
fn it_is_made_again_ever_more_rarely_where_that_brings_nothing_and_promptly_where_it_does() {
    let (mut world, (mut post, request)) = subscribed(auto());
    let mut id = id_of(&request);
    let mut waits = Vec::new();
    for round in 0..24 {
        match round % 3 {
            0 => world.cut(post),
            1 => world.end(post),
            _ => world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n")),
        }
        let (wait, again) = next(&mut world);
        waits.push(wait);
        acknowledge(&mut world, &again, "{}");
        (post, id) = (again.0, id_of(&again.1));
    }
    assert!(waits[0] < 700.0 && waits[23] > 40_000.0 && waits[23] < 80_000.0, "{waits:?}");
    world.body(post, &told("tools/list_changed", &id, ""));
    world.cut(post);
    assert!(next(&mut world).0 < 700.0);
}

#[test]
fn what_passes_is_waited_for_and_a_refusal_says_that_there_is_none() {
    for status in [429, 500, 503] {
        let mut world = subscribing(auto(), ALL);
        let listen = asked(&mut world, LISTEN);
        refuse(&mut world, listen, status);
        assert_eq!(states(&mut world), [], "{status}");
        let (_, again) = next(&mut world);
        world.cut(again.0);
        let (_, again) = next(&mut world);
        acknowledge(&mut world, &again, "{}");
        assert_eq!(states(&mut world), [ListenState::Open], "{status}: the session is no less ready for it");
    }
    let capability = r#""error":{"code":-32021,"message":"no"}"#;
    for (status, said) in [(404, UNKNOWN), (200, UNKNOWN), (400, capability), (404, ""), (405, "")] {
        let mut world = subscribing(auto(), ALL);
        let listen = asked(&mut world, LISTEN);
        match said {
            "" => refuse(&mut world, listen, status),
            said => say(&mut world, listen, status, said),
        }
        assert_eq!(states(&mut world), [ListenState::Unsupported], "{status} {said}");
        world.pass(600_000);
        assert!(world.requests.is_empty(), "{status} {said}");
        world.call();
        assert_eq!(world.requests.len(), 1);
    }
}

#[test]
fn a_limit_of_the_users_ends_it_with_a_warning() {
    let (mut world, (post, _)) = subscribed(Options { max_retries: Some(0.0), ..auto() });
    world.cut(post);
    let is_warning = |event: &Event| matches!(event, Event::Warning { code: "listen_given_up", .. });
    assert!(world.events.iter().any(|(_, event)| is_warning(event)));
    world.pass(600_000);
    assert!(world.requests.is_empty());
}

#[test]
fn a_session_that_goes_on_in_another_era_listens_as_that_does() {
    let mut world = World::connecting(Options { listen: true, ..auto() });
    greets(&mut world, Some("s1"));
    confirm(&mut world);
    let (get, _) = world.request();
    world.head(get, 200, SSE, None);
    let set = CallSpec {
        method: "resources/subscribe".to_string(),
        params: r#"{"uri":"a:b"}"#.to_string(),
        ..CallSpec::default()
    };
    world.call_with(set);
    let (post, request) = world.request();
    world.reply(post, &request, "{}");
    world.call();
    let (post, _) = world.request();
    world.head(post, 404, "", None);
    world.end(post);
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    let discover = asked(&mut world, "server/discover");
    let result = format!(r#""result":{{"supportedVersions":["2026-07-28"],"capabilities":{ALL}}}"#);
    say(&mut world, discover, 200, &result);
    let (_, request) = asked(&mut world, LISTEN);
    let body = request.body.expect("a POST");
    assert!(body.contains(r#""resourceSubscriptions":["a:b"]"#), "what was subscribed to is, still: {body}");
}

#[test]
fn a_client_s_subscription_never_breaks_for_it() {
    let mut world = World::carrying(Options { replay: ReplayOption::Never, ..options() });
    let (call, post) = streaming(&mut world, modern::modern(LISTEN));
    let granted = r#""notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]},"#;
    world.body(post, &told("subscriptions/acknowledged", "1", granted));
    let mut post = post;
    let mut id = "1".to_string();
    for end in ["cut", "answered", "cancelled"] {
        world.messages.clear();
        match end {
            "cut" => world.cut(post),
            "answered" => {
                world.body(post, &format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
            }
            _ => {
                let text = format!(
                    r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
                );
                world.body(post, &format!("data: {text}\n\n"));
            }
        }
        let (_, again) = next(&mut world);
        (post, id) = (again.0, id_of(&again.1));
        world.head(post, 200, SSE, None);
        world.body(post, &told("subscriptions/acknowledged", &id, granted));
        world.body(post, &told("prompts/list_changed", &id, ""));
        let all = ["tools/list_changed", "resources/updated", "prompts/list_changed"];
        assert_eq!(messages(&mut world), all.map(|method| (method.to_string(), json("1"))), "{end}");
        let is_its =
            |(of, event): &(Option<_>, Event)| !matches!(event, Event::Message { .. }) || *of == Some(call);
        assert!(world.events.iter().all(is_its), "{end}");
    }
    assert!(world.is_pending(call));
    world.client.cancel(world.now, call);
    world.drain();
    assert_eq!(world.aborted.last(), Some(&post));
    world.assert_nothing_is_left();
}

#[test]
fn it_hears_of_changes_for_a_day_in_which_its_stream_is_cut_each_hour() {
    let mut world = World::carrying(options());
    let (call, mut post) = streaming(&mut world, modern::modern(LISTEN));
    let granted = r#""notifications":{"toolsListChanged":true},"#;
    let mut id = "1".to_string();
    world.body(post, &told("subscriptions/acknowledged", &id, granted));
    for hour in 0..24 {
        world.messages.clear();
        for _ in 0..120 {
            world.pass(30_000);
            world.body(post, ": alive\n\n");
        }
        world.cut(post);
        let (wait, again) = next(&mut world);
        assert!(wait < 700.0, "{hour}");
        (post, id) = (again.0, id_of(&again.1));
        world.head(post, 200, SSE, None);
        world.body(post, &told("subscriptions/acknowledged", &id, granted));
        world.body(post, &told("tools/list_changed", &id, ""));
        let changed = ("tools/list_changed".to_string(), json("1"));
        assert_eq!(messages(&mut world), [changed.clone(), changed], "{hour}");
    }
    assert!(world.is_pending(call) && world.requests.is_empty());
}

#[test]
fn a_client_s_subscription_that_was_never_granted_ends_with_its_answer() {
    let mut world = World::carrying(options());
    let call = world.call_with(modern::modern(LISTEN));
    let (post, request) = world.request();
    world.head(post, 200, JSON, None);
    world.body(post, &format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, id_of(&request)));
    world.end(post);
    assert!(world.answer(call).contains("result"));
    world.assert_nothing_is_left();
}

#[test]
fn months_of_streams_that_end_leave_nothing_behind() {
    let (mut world, (mut post, _)) = subscribed(auto());
    for _ in 0..3_000 {
        world.cut(post);
        let (_, again) = next(&mut world);
        acknowledge(&mut world, &again, "{}");
        post = again.0;
    }
    let load = world.client.load();
    assert_eq!((load.calls, load.exchanges, load.timers), (1, 1, 0));
}

#[test]
fn the_discovered_server_that_offers_nothing_is_asked_for_nothing() {
    let mut world = World::connecting(Options { listen: true, ..auto() });
    let initialize = asked(&mut world, "initialize");
    say(&mut world, initialize, 404, UNKNOWN);
    discovered(&mut world);
    assert!(world.requests.is_empty());
}
