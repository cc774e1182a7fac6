//! Events that come again: which they are, and what becomes of them.

use super::Client;
use crate::proto::cursor::Came;
use crate::proto::event::GapKind;
use crate::proto::event_ids::stream_of;
use crate::proto::repeats::Print;
use crate::proto::stream::Body;
use crate::proto::time::Instant;
use crate::proto::CallId;

impl Client {
    /// Whether the event came before: its place in the order of handling, where that is known. On a resumed stream its id
    /// alone tells where the stream itself brought it; else it has to be the same event of another. What failed comes
    /// again.
    pub(super) fn repeats(&mut self, call: CallId, id: &str, print: Print) -> Option<u64> {
        let stream = self.ledger.get(call)?.lineage.stream.as_mut()?;
        let resumed = stream.is_resumed();
        if let Some(place) = resumed.then(|| stream.cursor.is_repeat(id)).flatten() {
            return Some(place);
        }
        let came = match resumed {
            true => stream.ids.knows(print),
            false => stream.near.knows(print),
        };
        let name = stream_of(call, stream.post);
        let has_brought = || stream.near.knows(print) || stream.ids.came_on(print, name);
        let event = Came { id: Some(id), print: Some(print), resumed };
        (came && !stream.cursor.is_due(event, has_brought)).then_some(u64::MAX)
    }

    /// Whether the body of an earlier request brings an event again. If so, it is counted; else it is noted.
    pub(super) fn repeats_beside(&mut self, call: CallId, id: &str, data: &str) -> bool {
        let print = self.session.ids.print(id, data);
        let Some(entry) = self.ledger.get(call) else { return false };
        let Some(earlier) = entry.lineage.earlier.as_mut() else { return false };
        let resumed = matches!(&earlier.body, Body::Events(events) if events.resumed);
        let came = earlier.near.knows(print) || (resumed && earlier.ids.knows(print));
        if came {
            self.note_duplicate(call);
        } else {
            earlier.near.note(print);
        }
        came
    }

    /// The stream brought something under this id.
    pub(super) fn note_came(&mut self, call: CallId, id: &str, print: Option<Print>) {
        let Some(stream) = self.stream(call).filter(|_| !id.is_empty()) else { return };
        print.inspect(|print| stream.near.note(*print));
        let live_on = (!stream.is_resumed()).then(|| stream_of(call, stream.post));
        stream.ids.note(id, print, live_on);
    }

    /// A repeat is counted, and says something of the order in which the server replays.
    pub(super) fn drop_repeat(&mut self, now: Instant, call: CallId, place: u64) {
        self.note_duplicate(call);
        if self.stream(call).is_some_and(|stream| stream.gaps.is_disordered(place)) {
            self.on_gap(now, call, GapKind::Order, false, None, None);
        }
    }

    pub(super) fn note_duplicate(&mut self, call: CallId) {
        if let Some(entry) = self.ledger.get(call) {
            entry.diagnostics.duplicates += 1;
            self.stats.duplicates += 1;
        }
    }
}
