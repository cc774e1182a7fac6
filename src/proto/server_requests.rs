//! Requests of the server's that wait for our answer: what the host calls them, and what the server does.
//!
//! A server names its requests as it likes, and some count for each stream anew: to the server one is known by the
//! stream it came on and its id. A host answers by an id alone, which it has from `JSON.parse`: so each is handed out
//! under a *name*, an id that no other open one has and that JavaScript gives back as it was. What a server wants by a
//! result is no message of its own, and has a name of ours.

use std::collections::VecDeque;

use super::jsonrpc::Id;
use super::CallId;

/// One that is open.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ServerRequest {
    /// The call on whose stream it came.
    pub(crate) call: CallId,
    pub(crate) method: String,
    /// The id under which the host has it.
    pub(crate) name: Id,
    pub(crate) asked: Asked,
    id: Id,
}

/// How the server asked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// By a message with this id, as it was written: JSON text.
    Message(String),
    /// By a result, under this key.
    Result(String),
}

/// What becomes of one that came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The host is asked under this name.
    As(Id),
    /// It is open already.
    Before,
    /// Its call has as many open as it may.
    TooMany,
}

/// All that are open.
#[derive(Debug)]
pub(crate) struct ServerRequests {
    open: Vec<ServerRequest>,
    /// `limits.maxQuestions`.
    most: usize,
    /// Names that the host was told lately, the newest last: an answer under one of them has its request here, or comes
    /// too late for it.
    told: VecDeque<Id>,
}

impl ServerRequests {
    /// Names that are kept.
    const MOST_TOLD: usize = 1_024;

    /// None is open; of each call so many may be.
    pub(crate) fn new(most: usize) -> Self {
        Self { open: Vec::new(), most, told: VecDeque::new() }
    }

    /// One came. `fresh` makes an id that nobody has used.
    pub(crate) fn open(
        &mut self,
        call: CallId,
        method: String,
        written: &str,
        fresh: impl FnOnce() -> Id,
    ) -> Opened {
        let Some(id) = Id::read(written).map(|id| id.plain()) else { return Opened::Before };
        if self.place(call, &id).is_some() {
            return Opened::Before;
        }
        if !self.has_room(call) {
            return Opened::TooMany;
        }
        let free = id.exact().filter(|name| self.open.iter().all(|other| other.name != *name));
        let name = free.unwrap_or_else(fresh);
        let asked = Asked::Message(written.to_string());
        self.enter(ServerRequest { call, method, name: name.clone(), asked, id });
        Opened::As(name)
    }

    /// A result of the call's wants something, under this key. It is handed out under this name, which nobody has used.
    pub(crate) fn open_input(&mut self, call: CallId, method: String, key: String, name: Id) {
        let (id, asked) = (name.clone(), Asked::Result(key));
        self.enter(ServerRequest { call, method, name, asked, id });
    }

    /// Whether the call may have one more open.
    pub(crate) fn has_room(&self, call: CallId) -> bool {
        self.open.iter().filter(|request| request.call == call).count() < self.most
    }

    fn enter(&mut self, request: ServerRequest) {
        if self.told.len() == Self::MOST_TOLD {
            self.told.pop_front();
        }
        self.told.push_back(request.name.clone());
        self.open.push(request);
    }

    /// Whether one that comes under this id, as the server has it, is open already.
    pub(crate) fn is_open(&self, call: CallId, id: &Id) -> bool {
        self.place(call, &id.plain()).is_some()
    }

    /// Whether the host has this name from here.
    pub(crate) fn knew(&self, name: &Id) -> bool {
        self.told.contains(name)
    }

    /// The host answers one.
    pub(crate) fn answered(&mut self, name: &Id) -> Option<ServerRequest> {
        let place = self.open.iter().position(|request| request.name == *name)?;
        Some(self.open.remove(place))
    }

    /// The server gives one up, by a word that came on this call's stream. On another stream than its own it can only
    /// mean one whose id no other bears.
    pub(crate) fn cancelled(&mut self, call: CallId, id: &Id) -> Option<ServerRequest> {
        let id = id.plain();
        let place = self.place(call, &id).or_else(|| {
            let mut places = (0..self.open.len()).filter(|place| self.open[*place].id == id);
            places.next().filter(|_| places.next().is_none())
        })?;
        Some(self.open.remove(place))
    }

    /// The call is over, or its stream is: nobody waits for the answers to these.
    pub(crate) fn end_call(&mut self, call: CallId) -> Vec<Id> {
        let mut names = Vec::new();
        self.open.retain(|request| {
            let ends = request.call == call;
            names.extend(ends.then(|| request.name.clone()));
            !ends
        });
        names
    }

    /// The session is over.
    pub(crate) fn end_all(&mut self) {
        self.open.clear();
    }

    fn place(&self, call: CallId, id: &Id) -> Option<usize> {
        self.open.iter().position(|request| request.call == call && request.id == *id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: CallId = CallId(1);
    const TWO: CallId = CallId(2);

    fn fresh() -> Id {
        Id::String("ours".to_string())
    }

    fn named(requests: &mut ServerRequests, call: CallId, written: &str) -> Option<String> {
        match requests.open(call, "m".to_string(), written, fresh) {
            Opened::As(name) => Some(name.text()),
            Opened::Before | Opened::TooMany => None,
        }
    }

    #[test]
    fn a_name_is_the_servers_id_where_javascript_gives_that_back() {
        let cases = [
            ("7", "7"),
            ("-3", "-3"),
            ("1.0", "1"),
            ("1e2", "100"),
            ("\"a\"", "\"a\""),
            ("\"a\\u0041\"", "\"aA\""),
            ("\"\"", "\"\""),
            ("1.5", "\"ours\""),
            ("9007199254740993", "\"ours\""),
            ("1E400", "\"ours\""),
        ];
        for (written, name) in cases {
            let mut requests = ServerRequests::new(16);
            assert_eq!(named(&mut requests, ONE, written).as_deref(), Some(name), "{written}");
            let name = Id::read(name).expect("an id");
            let asked = requests.answered(&name).expect("it is open").asked;
            assert_eq!(asked, Asked::Message(written.to_string()));
            assert_eq!(requests.answered(&name), None, "answered once");
        }
    }

    #[test]
    fn a_second_one_under_an_open_id_has_a_name_of_ours_and_a_repeat_has_none() {
        let mut requests = ServerRequests::new(16);
        assert_eq!(named(&mut requests, ONE, "0").as_deref(), Some("0"));
        assert_eq!(named(&mut requests, ONE, "0"), None, "a repeat on its own stream");
        assert_eq!(named(&mut requests, ONE, "0.0"), None, "and in another writing");
        assert_eq!(named(&mut requests, TWO, "0").as_deref(), Some("\"ours\""));
        assert_eq!(requests.answered(&fresh()).expect("it is open").call, TWO);
        assert_eq!(named(&mut requests, TWO, "0").as_deref(), Some("\"ours\""), "the name is taken still");
        assert_eq!(requests.answered(&Id::Number("0".to_string())).expect("it is open").call, ONE);
    }

    #[test]
    fn a_cancel_means_its_own_streams_and_on_another_stream_only_one_that_is_alone() {
        let zero = Id::Number("0".to_string());
        for (on, ended) in [(ONE, Some(ONE)), (TWO, Some(TWO)), (CallId(3), None)] {
            let mut requests = ServerRequests::new(16);
            named(&mut requests, ONE, "0");
            named(&mut requests, TWO, "0");
            assert_eq!(requests.cancelled(on, &zero).map(|request| request.call), ended);
        }
        let mut requests = ServerRequests::new(16);
        named(&mut requests, ONE, "0");
        assert_eq!(requests.cancelled(TWO, &Id::String("0".to_string())), None);
        assert_eq!(requests.cancelled(TWO, &zero).map(|request| request.call), Some(ONE));
    }

    #[test]
    fn a_call_takes_its_own_with_it() {
        let mut requests = ServerRequests::new(16);
        named(&mut requests, ONE, "1");
        named(&mut requests, TWO, "2");
        named(&mut requests, TWO, "2");
        assert_eq!(requests.end_call(ONE), [Id::Number("1".to_string())]);
        assert_eq!(requests.end_call(ONE), []);
        assert_eq!(requests.answered(&Id::Number("1".to_string())), None);
        requests.end_all();
        assert_eq!(requests.answered(&Id::Number("2".to_string())), None);
    }

    #[test]
    fn each_call_may_have_so_many_open_and_none_takes_anothers() {
        let mut requests = ServerRequests::new(2);
        let mut open = |call, id: &str| requests.open(call, "m".to_string(), id, fresh);
        assert!(matches!(open(ONE, "1"), Opened::As(_)));
        assert!(matches!(open(ONE, "2"), Opened::As(_)));
        assert_eq!(open(ONE, "3"), Opened::TooMany);
        assert_eq!(open(ONE, "2"), Opened::Before, "a repeat is none too many");
        assert!(matches!(open(TWO, "3"), Opened::As(_)));
        requests.answered(&Id::Number("1".to_string()));
        assert!(matches!(requests.open(ONE, "m".to_string(), "4", fresh), Opened::As(_)));
    }
}
