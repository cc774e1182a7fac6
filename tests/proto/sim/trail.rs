//! Where a call is in its stream, by what really came to the client.

use std::collections::BTreeMap;

use super::network::LinkId;
use super::server::Server;
use super::work::IdUse;

/// What a resume may ask with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No id came, or it was cleared.
    Nowhere,
    /// After this id, as a header value.
    Cursor(String),
    /// An id came that no request can carry.
    Unusable,
}

/// The events of one lineage that came to the client.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trail {
    work: usize,
    /// By their place in the store: whether a whole copy came, and on which exchange it came last.
    events: BTreeMap<usize, (bool, LinkId)>,
    /// A broken copy came.
    was_broken: bool,
}

impl Trail {
    /// An event came. Whether it came on this exchange before.
    pub(crate) fn brought(&mut self, work: usize, place: usize, broken: bool, link: LinkId) -> bool {
        self.work = work;
        self.was_broken |= broken;
        // What came broken and is not brought again by a resume will never come.
        self.events.retain(|earlier, (whole, on)| *whole || *earlier >= place || *on == link);
        let known = self.events.get(&place).copied();
        let (was_whole, before) = known.unwrap_or((false, usize::MAX));
        self.events.insert(place, (was_whole || !broken, link));
        was_whole && before == link
    }

    /// The last id before the first event that came broken.
    pub(crate) fn place(&self, server: &Server<'_>) -> Place {
        self.handled(server).last().unwrap_or(Place::Nowhere)
    }

    /// Whether a resume may ask with this id: it is where the call is, or, after a broken copy, was there before.
    pub(crate) fn allows(&self, cursor: &str, server: &Server<'_>) -> bool {
        let asked = Place::Cursor(cursor.to_string());
        self.place(server) == asked || (self.was_broken && self.handled(server).any(|place| place == asked))
    }

    /// Where each event up to the first broken one brought the call.
    fn handled<'t>(&'t self, server: &'t Server<'_>) -> impl Iterator<Item = Place> + 't {
        let whole = self.events.iter().take_while(|(_, (whole, _))| *whole);
        whole.filter_map(|(number, _)| {
            let event = &server.works[self.work].events[*number];
            let id = event.id.as_ref()?;
            Some(match event.id_use {
                IdUse::Cursor => Place::Cursor(id.clone()),
                IdUse::Clears => Place::Nowhere,
                IdUse::Unusable => Place::Unusable,
            })
        })
    }
}
