//! What the core tells: events of a call or the session, and how a call ended.

use std::collections::VecDeque;

use serde::Serialize;

use super::error::{Outcome, Reason};
use super::jsonrpc::Id;

/// A JSON-RPC message in the core's buffer: valid until the next call that changes the client.
///
/// [`Client::messages`](super::Client::messages) is the whole buffer as one JSON array, in which this message
/// has `index`; [`Client::text`](super::Client::text) is this message alone. It serializes as its index.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MessageRef {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// Its place in the array of messages.
    pub index: u32,
}

impl Serialize for MessageRef {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.index)
    }
}

/// Why a stream was lost.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DropCause {
    /// The body ended cleanly.
    End,
    /// The body or the request failed.
    Network,
    /// No byte within `idleMs`.
    Idle,
    /// No headers within `firstByteMs`.
    FirstByte,
    /// An HTTP status other than that of a stream.
    Status,
    /// The session is dead.
    Session,
}

/// Why a call is sent again.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReissueCause {
    /// Its stream was lost.
    Drop(DropCause),
    /// Events are missing.
    Gap(GapWord),
}

impl From<DropCause> for ReissueCause {
    fn from(cause: DropCause) -> Self {
        Self::Drop(cause)
    }
}

/// How a gap was seen.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapKind {
    /// Ids are missing, or the application says so.
    Missing,
    /// Progress leapt.
    Progress,
    /// Repeats came in another order.
    Order,
}

/// The word `gap`, where a cause is named.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GapWord {
    /// Events are missing.
    Gap,
}

/// A rung of the recovery ladder.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
pub enum Level {
    /// Resume the stream by GET with a cursor.
    L1,
    /// Replace the session.
    L2,
    /// Send the request again.
    #[serde(rename = "reissue")]
    Reissue,
}

/// How an attempt to recover ended.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptResult {
    /// It brought data.
    Resumed,
    /// It opened and brought no data.
    Empty,
    /// The server refused it with a status.
    Refused,
    /// No HTTP answer.
    NetworkError,
    /// No headers within `connectMs`.
    Timeout,
    /// The call ended meanwhile.
    Aborted,
}

/// One attempt to recover.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    /// The rung.
    pub level: Level,
    /// When it was made, epoch milliseconds.
    pub at: f64,
    /// The wait before it.
    pub wait_ms: f64,
    /// The cursor it asked with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How it ended.
    pub result: AttemptResult,
    /// The HTTP status, where there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Data events it brought.
    pub events: u32,
}

/// One event seen lately.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recent {
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// When it came, epoch milliseconds.
    pub at: f64,
    /// Bytes of its data.
    pub bytes: usize,
}

/// What happened to a call, for a person who reads its failure. Times are epoch milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Diagnostics {
    /// When the caller made the call.
    pub started_at: f64,
    /// When it ended.
    pub ended_at: f64,
    /// The last byte of any of its bodies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_byte_at: Option<f64>,
    /// The last comment line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat_at: Option<f64>,
    /// The last progress or message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_progress_at: Option<f64>,
    /// The last event id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_event_id: Option<String>,
    /// The last 64 events.
    pub recent: VecDeque<Recent>,
    /// Bytes of its bodies.
    pub bytes: u64,
    /// Data events of its streams.
    pub events: u64,
    /// Events dropped, since they had been delivered before.
    pub duplicates: u64,
    /// Gaps reported.
    pub gaps: u64,
    /// The protocol era.
    pub era: &'static str,
    /// The negotiated version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The session, as a digest unless `diagnostics: "full"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The last HTTP status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// Every attempt to recover.
    pub attempts: Vec<Attempt>,
    /// Where to look first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
}

/// Where to look first when a call failed.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Hint {
    /// The server's CORS headers.
    Cors,
    /// Browsers open six connections per host on HTTP/1.1; the rest waits without a word.
    Connections,
    /// Something between us and the server may hold events back.
    Buffering,
    /// Credentials.
    Auth,
}

/// A call that ended without an answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// The JSON-RPC method.
    pub method: String,
    /// The tool, for `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The first cause that made the call unrecoverable.
    pub reason: Reason,
    /// What is known of its execution.
    pub outcome: Outcome,
    /// Whether making the call again can't execute it twice to harm.
    pub retry_safe: bool,
    /// A sentence for a person.
    pub text: String,
    /// The server's task, where the call became one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_id: Option<String>,
    /// The status of the refusal, where the call was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The text of the refusal; only where a Client's messages are carried, for its own kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// What happened.
    pub diagnostics: Diagnostics,
}

/// How a call ended: exactly one of these per call.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Settlement {
    /// The server answered, with a result or a JSON-RPC error.
    Result {
        /// The response.
        message: MessageRef,
        /// The HTTP status, where it was no 2xx.
        #[serde(skip_serializing_if = "Option::is_none")]
        http_status: Option<u16>,
    },
    /// A notification was taken by the server.
    Accepted,
    /// No answer, and there will be none.
    #[serde(rename = "tool_call_failed")]
    Failed(Box<Failure>),
}

/// The session's states.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// The handshake is under way.
    Connecting,
    /// Calls are sent.
    Ready,
    /// A lost session is being replaced, or an attempt to recover got no HTTP answer.
    Recovering,
    /// No attempt gets an HTTP answer.
    Offline,
    /// No more calls.
    Closed,
}

/// The states of the GET stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ListenState {
    /// It is open.
    Open,
    /// It ended, and is opened again.
    Lost,
    /// The server has none.
    Unsupported,
}

/// An event of a call, or of the session where it belongs to no call. `at` stands beside it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// The session changed its state.
    State {
        /// The new state.
        state: SessionState,
    },
    /// The GET stream for what belongs to no call.
    Listen {
        /// What became of it.
        state: ListenState,
    },
    /// The call waits for the handshake or a free connection.
    Queued,
    /// Its request was handed to fetch.
    Sent {
        /// The JSON-RPC id on the wire.
        wire_id: Id,
        /// Whether it was sent before.
        reissue: bool,
    },
    /// Response headers came: of its request, or of a resume.
    Open {
        /// The HTTP status.
        status: u16,
    },
    /// A progress notification for this call.
    Progress {
        /// The notification.
        message: MessageRef,
        /// To report its handling under.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
        /// Whether it is the first message after a resume.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        seam: bool,
    },
    /// Any other notification.
    Message {
        /// The notification.
        message: MessageRef,
        /// To report its handling under.
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<u32>,
        /// Whether it is the first message after a resume.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        seam: bool,
    },
    /// Events are missing.
    Gap {
        /// How that was seen.
        kind: GapKind,
        /// Whether it is certain.
        certain: bool,
        /// The id before the gap.
        #[serde(skip_serializing_if = "Option::is_none")]
        before: Option<String>,
        /// The id after it.
        #[serde(skip_serializing_if = "Option::is_none")]
        after: Option<String>,
    },
    /// The handler of this event failed for good.
    EventSkipped {
        /// Its id.
        #[serde(skip_serializing_if = "Option::is_none")]
        event_id: Option<String>,
    },
    /// The server asks something while the call runs.
    InputRequired {
        /// The method of its request.
        method: String,
    },
    /// Its question was answered.
    InputAnswered {
        /// The method of its request.
        method: String,
    },
    /// No byte within `idleMs`, and no cursor to resume with.
    Suspect {
        /// How long the stream has been silent.
        silent_ms: f64,
    },
    /// The server closed the stream politely and will go on: a wait, no failure.
    Polling {
        /// How long we wait.
        wait_ms: f64,
    },
    /// The stream was lost.
    Disconnected {
        /// Why.
        cause: DropCause,
        /// The cursor it can be resumed with.
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// An attempt to recover is planned.
    Reconnecting {
        /// The rung.
        level: Level,
        /// From 1, in a row without new data.
        attempt: u32,
        /// The wait before it.
        wait_ms: f64,
        /// When it will be made, epoch milliseconds.
        next_at: f64,
        /// When we give up at the latest, epoch milliseconds.
        give_up_at: f64,
        /// The cursor.
        #[serde(skip_serializing_if = "Option::is_none")]
        cursor: Option<String>,
    },
    /// A resume brought its first data, which comes next; or it ended without any (`replayed: 0`).
    Resumed {
        /// The rung.
        level: Level,
        /// Events that came in the same bytes.
        replayed: u32,
        /// Of these, dropped as delivered before.
        duplicates: u32,
    },
    /// The call was sent again, under another id on the wire.
    Reissued {
        /// Why.
        why: ReissueCause,
        /// The new id.
        wire_id: Id,
    },
    /// The session was replaced while the call was pending.
    SessionReplaced {
        /// Whether the server has other capabilities now.
        capabilities_changed: bool,
    },
    /// The call became a task of the server's, or that has another status or says something else of it.
    Task {
        /// Its id.
        task_id: String,
        /// Its status, in the server's word.
        status: String,
        /// What the server says of it.
        #[serde(skip_serializing_if = "Option::is_none")]
        status_message: Option<String>,
    },
    /// Something is odd, and the call goes on.
    Warning {
        /// What, for a program.
        code: &'static str,
        /// What, for a person.
        message: String,
    },
}
