//! What the agenda holds.

use landfall::proto::CallId;

use super::carrier::Word;
use super::network::{Delivery, LinkId};
use super::schedule::{Given, Incident};

/// What comes to pass at an instant.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// The user makes this planned call.
    Make(usize),
    /// The user cancels this planned call.
    Cancel(usize),
    /// The user answers a question put to this client.
    Answer(u32, String),
    /// A handler of this client's reports on an event.
    Handled(u32, CallId, u32, bool),
    /// The application finds that events of this planned call are missing.
    Missing(usize),
    /// The provider of this client gives, or gives up.
    Provided(u32, Given),
    /// The host of this client ends a wait.
    Reconnect(u32, CallId, u64),
    /// The Client whose messages this client carries goes on with its handshake.
    Says(u32, Word),
    Incident(Incident),
    /// A request comes to the server.
    Arrive(LinkId),
    /// A response comes to the client.
    Deliver(LinkId, Delivery),
    /// The client reads what waited for it.
    Flush(LinkId),
    /// A work goes on.
    Step(usize),
    /// The server notices that a body is lost.
    Notice(LinkId),
    /// The GET stream goes on.
    Listen(LinkId),
}

impl Happening {
    /// Whether it needs the client's machine to be awake.
    pub(crate) fn is_clients(&self) -> bool {
        !matches!(
            self,
            Self::Arrive(_) | Self::Step(_) | Self::Notice(_) | Self::Listen(_) | Self::Incident(_)
        )
    }
}
