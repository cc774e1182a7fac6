//! What is known of the ids of one session's events. Each stream holds that of the session which its request was sent in,
//! so that one that outlives its session still tells what comes again, and leaves nothing in the next.

use std::cell::RefCell;
use std::rc::Rc;

use super::repeats::{Name, Print, Repeats};
use super::sorted::SortedMap;
use super::CallId;

/// So many prefixes are told apart.
const MOST_PREFIXES: usize = 512;

/// Shared by the streams of a session. (Nothing is borrowed while anything else runs.)
#[derive(Clone, Debug)]
pub(crate) struct EventIds(Rc<RefCell<Known>>);

#[derive(Debug)]
struct Known {
    seed: u64,
    /// What its streams have brought.
    repeats: Repeats,
    /// Prefixes of ids, and the call that uses each; `None`: several do.
    prefixes: SortedMap<String, Option<CallId>>,
    /// A stream was given up before it showed an id: the server may go on to count for it.
    gave_up_unseen: bool,
}

impl EventIds {
    /// Nothing has come yet.
    pub(crate) fn new(seed: u64) -> Self {
        let (repeats, prefixes) = (Repeats::new(seed), SortedMap::new());
        Self(Rc::new(RefCell::new(Known { seed, repeats, prefixes, gave_up_unseen: false })))
    }

    /// Those of the next session.
    pub(crate) fn next(&self) -> Self {
        Self::new(self.0.borrow().seed)
    }

    /// Whether these are the same session's.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The hash of an event: the same in each session.
    pub(crate) fn print(&self, id: &str, payload: &str) -> Print {
        self.0.borrow().repeats.print(id, payload)
    }

    /// See [`Repeats::note`].
    pub(crate) fn note(&self, id: &str, print: Option<Print>, live_on: Option<Name>) {
        self.0.borrow_mut().repeats.note(id, print, live_on);
    }

    /// See [`Repeats::knows`].
    pub(crate) fn knows(&self, print: Print) -> bool {
        self.0.borrow_mut().repeats.knows(print)
    }

    /// See [`Repeats::came_on`].
    pub(crate) fn came_on(&self, print: Print, stream: Name) -> bool {
        self.0.borrow().repeats.came_on(print, stream)
    }

    /// Whether streams of other calls use this prefix too: then its numbers are no series of one stream.
    pub(crate) fn shares(&self, prefix: &str, call: CallId) -> bool {
        let prefixes = &mut self.0.borrow_mut().prefixes;
        if let Some(user) = prefixes.get_mut(prefix) {
            if *user != Some(call) {
                *user = None;
            }
            return user.is_none();
        }
        if prefixes.len() == MOST_PREFIXES {
            prefixes.pop_first();
        }
        prefixes.insert(prefix.to_string(), Some(call));
        false
    }

    /// A stream is given up that has shown no id.
    pub(crate) fn gives_up_unseen(&self) {
        self.0.borrow_mut().gave_up_unseen = true;
    }

    pub(crate) fn gave_up_unseen(&self) -> bool {
        self.0.borrow().gave_up_unseen
    }
}
