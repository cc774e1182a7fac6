//! What a run is made of: plans of the server, the client and each call, and what befalls them. Waits are in
//! milliseconds of virtual time; what no plan names (delays, sizes of chunks) follows from the seed.

use landfall::proto::{OnGap, ReplayOption};

use super::carrier::{Carried, Names, Shared};
use super::eras::EraPlan;

/// One run, whole: made and shrunk by proptest.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Decides every delay and every cut through a chunk.
    pub(crate) seed: u64,
    pub(crate) server: ServerPlan,
    pub(crate) client: ClientPlan,
    pub(crate) calls: Vec<CallPlan>,
    /// What befalls the whole, and when.
    pub(crate) incidents: Vec<(u32, Incident)>,
    pub(crate) era: EraPlan,
}

/// How the server numbers events.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// `<stream>/<n>`, rising by 1: the next id is known. A new session begins again.
    PerStream,
    /// One counter for all streams of a session.
    Global,
    /// No order at all.
    Uuid,
}

/// What the server does with a cursor that it no longer has.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// This status.
    Refuse(u16),
    /// It goes on with what is left, and says nothing.
    Skip,
}

/// What the server does with a resume while it thinks that it still holds the old body.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Held {
    /// It moves the stream to the new one.
    Move,
    /// 409 (the TypeScript SDK).
    Conflict,
    /// It replays, and ends at once (the Python SDK).
    ReplayAndEnd,
}

/// How the server says that it does not know a session.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// 404.
    NotFound,
    /// 410.
    Gone,
    /// 400 with a JSON-RPC error code for it.
    MarkedCode,
    /// 400 with the word in a plain text.
    MarkedWord,
    /// It does not: 500.
    Broken,
    /// It does not: nothing is answered.
    Silent,
}

/// What the server replays.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Replays {
    /// What its stream has after the cursor.
    Own,
    /// What all streams of the session have had since.
    All,
    /// The same as the first, under names that are new each time.
    Renamed,
}

/// What comes first on a stream.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prime {
    /// Nothing.
    No,
    /// An id and an empty data line.
    Data,
    /// An id-only block.
    IdOnly,
}

/// How `ping` is answered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ping {
    Answered,
    /// Never.
    Silent,
    /// Not while it works for a call: one thread.
    Busy,
    /// By a head, and a body that never comes.
    HeadOnly,
    /// 500.
    Broken,
}

/// What becomes of a GET for what belongs to no call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Listened {
    /// It is open for so long, and then it ends.
    Served(u32),
    /// The same, but it is cut.
    Cut(u32),
    /// It is open, and nothing ever comes.
    Silent,
    Status(u16, Option<u8>),
}

/// The model server.
#[derive(Clone, Debug)]
pub(crate) struct ServerPlan {
    pub(crate) ids: Ids,
    /// Events kept per stream; `None` for all.
    pub(crate) keep: Option<u8>,
    pub(crate) unknown: Unknown,
    pub(crate) held: Held,
    pub(crate) replays: Replays,
    /// On a body that a resume opened nothing new comes: that is stored for the next.
    pub(crate) elsewhere: bool,
    /// How long it takes for a dead or aborted body to be noticed.
    pub(crate) notice: u32,
    pub(crate) lost: Lost,
    /// A session that nothing touched for so long is forgotten.
    pub(crate) grace: Option<u32>,
    pub(crate) prime: Prime,
    /// So many events before the cursor are replayed, too.
    pub(crate) overlap: u8,
    pub(crate) ping: Ping,
    /// Whether `notifications/cancelled` ends the work.
    pub(crate) heeds_cancel: bool,
    /// Whether responses have an event id.
    pub(crate) result_ids: bool,
    /// What the DELETE gets; `None` for silence.
    pub(crate) delete: Option<u16>,
    /// What becomes of GETs for what belongs to no call, in order, and then again from the first.
    pub(crate) listened: Vec<Listened>,
}

/// The clocks of the client or of one call.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Clocks {
    /// The defaults.
    Default,
    /// Seconds instead of minutes.
    Brisk,
    /// A deadline that bounds all else.
    Tight,
}

/// What the host does with the waits that it is to end.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scheduler {
    Keeps,
    /// It ends them much too soon.
    Hurries,
    /// It never ends every third.
    Forgets,
}

/// What a provider of credentials does when it is asked.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// After so long it has what the server takes then.
    Fresh(u32),
    /// After so long it has what the server refused before.
    Stale(u32),
    /// After so long it has nothing.
    Nothing(u32),
    /// It never says a word.
    Never,
}

#[derive(Clone, Debug)]
pub(crate) struct ClientPlan {
    /// It carries the messages of an SDK's Client, which names them so.
    pub(crate) carries: Option<Names>,
    pub(crate) max_concurrent: u8,
    /// A connection is taken until headers come, and no longer.
    pub(crate) until_headers: bool,
    /// It runs in a page, and the server is of another origin.
    pub(crate) page: bool,
    /// `reconnectionOptions.maxRetries`.
    pub(crate) max_retries: Option<u8>,
    pub(crate) scheduler: Option<Scheduler>,
    /// After a trap it goes on with the session, and with calls whose place in their stream was told.
    pub(crate) goes_on: bool,
    /// It keeps a GET stream open for what belongs to no call.
    pub(crate) listens: bool,
    /// What the provider does when it is asked, in order, and then again from the first; `None` without one.
    pub(crate) provider: Option<Vec<Given>>,
    pub(crate) clocks: Clocks,
    /// Whether it lists the tools first, and so learns their hints.
    pub(crate) lists: bool,
    /// `onSessionLost: "fail"`.
    pub(crate) fail_lost: bool,
    /// `limits.maxPending.events`.
    pub(crate) max_pending: u8,
    pub(crate) replay: ReplayOption,
    /// Bytes of exchanges that are over are still handed in, as a driver may.
    pub(crate) late_inputs: bool,
    /// Due at the same instant: the network goes first.
    pub(crate) network_first: bool,
    /// The answers to `initialize`.
    pub(crate) handshake: Vec<Reply>,
}

/// What is called.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// A tool without hints.
    Once,
    /// The same, and the caller vouches for it.
    Vouched,
    /// A tool with `idempotentHint`.
    Same,
    /// A tool with `readOnlyHint`.
    Pure,
    /// `resources/read`.
    Read,
    /// A notification.
    Notify,
}

/// What becomes of a POST.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// An event stream.
    Stream,
    /// The same, after a wait.
    Slow(u32),
    /// One JSON document when the work is done.
    Json,
    /// This redirect, within the origin or out of it.
    Redirect(u16, bool),
    /// A redirect that the browser hides.
    Hidden,
    /// JSON, cut in the middle.
    CutJson,
    /// No connection, and the runtime's code proves it.
    Refused,
    /// The connection breaks before headers; was it executed?
    CutBefore(bool),
    /// No headers ever; was it executed?
    NoHead(bool),
    /// This status with this `Retry-After` (seconds), unexecuted.
    Status(u16, Option<u8>),
    /// 500 after executing.
    Broken,
    /// A JSON-RPC error in a 400.
    ErrorIn400,
    /// This code in this status, under the id of the request or under none.
    Refusal(u16, i32, bool),
    /// 200 `text/html`, executed.
    WrongType,
    /// 202 to a request, executed.
    Accepted,
    /// 200 JSON that is none, executed.
    BadJson,
}

/// What becomes of a resume GET.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Resume {
    /// As the server is.
    Served,
    /// The same, after a wait.
    Slow(u32),
    /// This status with this `Retry-After` (seconds).
    Status(u16, Option<u8>),
    /// This redirect, within the origin or out of it.
    Redirect(u16, bool),
    /// 200, and ends without an event.
    Empty,
    /// 200, and is cut before an event.
    CutAtOnce,
    /// The connection breaks before headers.
    CutBefore,
    /// No headers ever.
    NoHead,
    /// 200 `text/html`.
    WrongType,
}

/// Ids that no request can carry, or that mean something.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum OddId {
    /// Outside Latin-1: carried as UTF-8 bytes.
    Foreign,
    /// Clears the cursor.
    Empty,
    /// A control character.
    Control,
    /// Over `maxIdBytes`.
    Long,
}

/// What the server's work does next, or what the network does to its body.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Note,
    Progress,
    Wait(u32),
    Comment,
    IdOnly,
    /// A notification without an id: it is never replayed.
    Loose,
    /// A polite close, with this `retry`.
    Close(Option<u32>),
    /// A `retry` field alone.
    Retry(u32),
    /// The body breaks.
    Cut,
    /// The body breaks in the middle of the next event.
    CutInside,
    /// Somebody between ends the body cleanly.
    CleanCut,
    /// Half-open: nothing comes through any more, and nobody is told.
    Silence,
    /// Nothing comes through for so long, then all of it.
    Stall(u32),
    /// The last event again, under the same id.
    Repeat,
    /// An event whose JSON is broken on this wire, and whole in the store.
    BrokenOnce,
    /// Bytes that are no event stream.
    Noise,
    /// An array of two notifications.
    Array,
    /// The store loses all it has of this stream.
    Evict,
    /// The server asks the client, and waits.
    Ask,
    /// The response to another open call comes on this stream.
    Cross,
    /// Its ids begin anew.
    ResetIds,
    /// It asks, and does not want the answer any more.
    Unask,
    Odd(OddId),
    /// The response to a call that ended comes on this stream.
    Stray,
}

/// How the work ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Last {
    Result,
    Error,
    /// An error whose id is null.
    NullError,
    /// The response, and that of another open call before it, in one array.
    Pair,
    /// The response is broken, in every copy.
    Broken,
    /// The response, and the body stays open.
    ResultAndStay,
    /// No response, and the body ends.
    NoAnswer,
    /// Nothing more ever comes but comments.
    Heartbeats,
    /// Nothing more ever comes.
    Never,
}

/// The user's event handler.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Handler {
    /// Nobody reports: events are handled on arrival.
    None,
    /// Done after so long.
    Done(u32),
    /// After so long, and every third event fails.
    FailsAtTimes(u32),
    /// Every event fails.
    Fails,
    /// It never returns.
    Never,
}

/// One call of the user's, and what the server and the network do with it.
#[derive(Clone, Debug)]
pub(crate) struct CallPlan {
    pub(crate) at: u32,
    pub(crate) tool: Tool,
    pub(crate) clocks: Option<Clocks>,
    /// Its POSTs, in order; all others are `Stream`.
    pub(crate) replies: Vec<Reply>,
    pub(crate) steps: Vec<Step>,
    /// Between two steps.
    pub(crate) pace: u32,
    pub(crate) last: Last,
    /// Its resumes, in order; all others are `Served`.
    pub(crate) resumes: Vec<Resume>,
    /// The last reply and the last resume repeat for ever; faults strike every execution, not only the first.
    pub(crate) stubborn: bool,
    pub(crate) cancel: Option<u32>,
    /// The user answers questions after so long, or never.
    pub(crate) answers: Option<u32>,
    pub(crate) handler: Handler,
    /// It wants to be told where its stream can be resumed.
    pub(crate) tokens: bool,
    pub(crate) on_gap: OnGap,
    /// The application finds that events are missing.
    pub(crate) misses: Option<u32>,
    /// What it is where it is a Client's.
    pub(crate) carried: Carried,
}

/// What befalls the whole.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incident {
    /// The server forgets the session.
    SessionDies(Bodies),
    /// The module traps: the client is dropped, its calls are settled by the wrapper, the next calls get another.
    Trap,
    /// No network for so long; what is open breaks, or falls silent.
    Outage(u32, Broken),
    /// The server takes other credentials from now on.
    Expire,
    /// The server begins anew, with the same sessions and with ids that begin anew.
    Restart,
    /// Whoever is in front of the server begins no session for so long.
    Gateway(u32),
    /// The client's machine sleeps for so long.
    Sleep(u32),
    /// Its clock is put back by so much: it stands still meanwhile.
    ClockBack(u32),
    /// A wake-up that nobody asked for.
    Wake,
    /// `notifications/tools/list_changed` on every open body.
    ListChanged,
    /// The user closes.
    Close,
}

/// What becomes of the open bodies of a session that dies.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Bodies {
    Cut,
    End,
    /// They go on.
    Stay,
}

/// What becomes of open bodies in an outage.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Cut,
    Silent,
}

impl Schedule {
    /// Whether a Client uses an id for several of its calls.
    pub(crate) fn shares_ids(&self) -> bool {
        let shares = |call: &CallPlan| matches!(call.carried.shares, Some(Shared::Id | Shared::Both));
        self.client.carries.is_some() && self.calls.iter().any(shares)
    }
}

impl CallPlan {
    /// Whether the response to another call may come on its stream.
    pub(crate) fn mixes_streams(&self) -> bool {
        self.last == Last::Pair || self.steps.iter().any(|step| matches!(step, Step::Cross | Step::Stray))
    }
}

impl Step {
    /// Whether it is a fault: those strike the first execution only, unless the plan is stubborn.
    pub(crate) fn is_fault(self) -> bool {
        !matches!(
            self,
            Self::Note
                | Self::Progress
                | Self::Wait(_)
                | Self::Comment
                | Self::IdOnly
                | Self::Loose
                | Self::Array
                | Self::Ask
        )
    }
}
