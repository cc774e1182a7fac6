//! What goes over the wire, and what is told, as texts that a test compares or sends.

use landfall::proto::{DropCause, Event, HttpRequest, ListenState};

/// What an event is called in a test.
pub(crate) fn event_name(event: &Event) -> &'static str {
    match event {
        Event::State { .. } => "state",
        Event::Listen { state: ListenState::Open } => "listen:open",
        Event::Listen { state: ListenState::Lost } => "listen:lost",
        Event::Listen { state: ListenState::Unsupported } => "listen:unsupported",
        Event::Queued => "queued",
        Event::Sent { .. } => "sent",
        Event::Open { .. } => "open",
        Event::Progress { .. } => "progress",
        Event::Message { .. } => "message",
        Event::InputRequired { .. } => "input_required",
        Event::InputAnswered { .. } => "input_answered",
        Event::Suspect { .. } => "suspect",
        Event::Polling { .. } => "polling",
        Event::Disconnected { cause: DropCause::End, .. } => "disconnected:end",
        Event::Disconnected { cause: DropCause::Network, .. } => "disconnected:network",
        Event::Disconnected { cause: DropCause::Idle, .. } => "disconnected:idle",
        Event::Disconnected { .. } => "disconnected",
        Event::Reconnecting { .. } => "reconnecting",
        Event::Resumed { .. } => "resumed",
        Event::Gap { .. } => "gap",
        Event::EventSkipped { .. } => "event_skipped",
        Event::Reissued { .. } => "reissued",
        Event::SessionReplaced { .. } => "session_replaced",
        Event::Warning { code, .. } => code,
        _ => "other",
    }
}

/// The id of a request, as JSON text.
pub(crate) fn id_of(request: &HttpRequest) -> String {
    let body: serde_json::Value =
        serde_json::from_str(request.body.as_deref().unwrap_or("null")).expect("JSON");
    body["id"].to_string()
}

/// A header of a request.
pub(crate) fn header<'a>(request: &'a HttpRequest, name: &str) -> Option<&'a str> {
    request.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// An event block with an id and a notification.
pub(crate) fn note(id: &str, text: &str) -> String {
    let params = format!(r#"{{"level":"info","data":"{text}"}}"#);
    format!("id: {id}\ndata: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{params}}}\n\n")
}

/// An event block with the response to a request.
pub(crate) fn result(request_id: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{request_id},\"result\":{{\"ok\":true}}}}\n\n")
}
