//! What is known of the ids of one session's events. Each stream holds that of the session which its request was sent in,
//! so that one that outlives its session still tells what comes again, and leaves nothing in the next.

use std::cell::RefCell;
use std::rc::Rc;

use super::repeats::{hash, Name, Print, Repeats};
use super::ring::{key, Key, Keyed, Ring};
use super::{CallId, ExchangeId};

/// The name of a stream.
pub(crate) fn stream_of(call: CallId, post: ExchangeId) -> Name {
    key(u64::from(call.0) << 32 | u64::from(post.0))
}

/// A prefix of ids, by its hash.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prefix(Key);

impl Prefix {
    pub(crate) fn new(prefix: &str) -> Self {
        Self(key(hash(0, prefix)))
    }
}

/// The call that uses a prefix; `None`: several do.
#[derive(Copy, Clone, Debug)]
struct User(Prefix, Option<CallId>);

impl Keyed<1> for User {
    fn keys(&self) -> [Option<Key>; 1] {
        [Some(self.0 .0)]
    }
}

/// The prefixes in use: those that were used last.
#[derive(Debug)]
struct Prefixes(Ring<User, 1>);

impl Prefixes {
    const MOST: usize = 1_024;

    fn shares(&mut self, prefix: Prefix, call: CallId) -> bool {
        let users = &mut self.0;
        let before = users.find(0, prefix.0).map(|(number, user)| (number, user.1));
        let user = match before {
            Some((_, user)) => user.filter(|user| *user == call),
            None => Some(call),
        };
        // What is in use is not the next to be forgotten.
        let is_old = |number: u64| number + (Self::MOST / 2) as u64 <= users.count();
        if before.is_none_or(|(number, known)| known != user || is_old(number)) {
            users.push(User(prefix, user));
        }
        user.is_none()
    }
}

/// Shared by the streams of a session. (Nothing is borrowed while anything else runs.)
#[derive(Clone, Debug)]
pub(crate) struct EventIds(Rc<RefCell<Known>>);

#[derive(Debug)]
struct Known {
    seed: u64,
    /// What its streams have brought.
    repeats: Repeats,
    prefixes: Prefixes,
    /// A stream was given up before it showed an id: the server may go on to count for it.
    gave_up_unseen: bool,
}

impl EventIds {
    /// Nothing has come yet.
    pub(crate) fn new(seed: u64) -> Self {
        let (repeats, prefixes) = (Repeats::new(seed), Prefixes(Ring::new(Prefixes::MOST)));
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
    pub(crate) fn shares(&self, prefix: Prefix, call: CallId) -> bool {
        self.0.borrow_mut().prefixes.shares(prefix, call)
    }

    /// A stream is given up that has shown no id.
    pub(crate) fn gives_up_unseen(&self) {
        self.0.borrow_mut().gave_up_unseen = true;
    }

    pub(crate) fn gave_up_unseen(&self) -> bool {
        self.0.borrow().gave_up_unseen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(prefixes: &mut Prefixes, prefix: &str, call: u32) -> bool {
        prefixes.shares(Prefix::new(prefix), CallId(call))
    }

    #[test]
    fn a_prefix_is_shared_from_the_second_call_on_for_good() {
        let mut prefixes = Prefixes(Ring::new(Prefixes::MOST));
        assert!(!shares(&mut prefixes, "a", 1) && !shares(&mut prefixes, "b", 2));
        assert!(!shares(&mut prefixes, "a", 1));
        assert!(
            shares(&mut prefixes, "a", 2) && shares(&mut prefixes, "a", 1) && shares(&mut prefixes, "a", 3)
        );
        assert!(!shares(&mut prefixes, "b", 2) && !shares(&mut prefixes, "", 4));
    }

    #[test]
    fn what_is_used_on_is_known_among_thousands_and_what_is_not_is_forgotten() {
        let mut prefixes = Prefixes(Ring::new(Prefixes::MOST));
        assert!(!shares(&mut prefixes, "once", 1) && !shares(&mut prefixes, "often", 1));
        for n in 0..5_000 {
            shares(&mut prefixes, &n.to_string(), 2);
            if n % 100 == 0 {
                assert!(!shares(&mut prefixes, "often", 1));
            }
        }
        assert!(shares(&mut prefixes, "often", 2) && !shares(&mut prefixes, "once", 2));
    }
}
