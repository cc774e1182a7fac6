//! What is known of a session (ARCHITECTURE.md, "Sessions and eras"): the core decides it, and tells its host, which
//! keeps it for the client that goes on with the session.

use serde::Serialize;
use std::ops::Deref;

use super::era::Era;
use super::jsonrpc::field;

/// What another client needs to go on with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionFacts {
    /// What its messages speak.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub era: Option<Era>,
    /// `Mcp-Session-Id`; a server may give none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The negotiated version; unknown where a Client was given no more than the id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// The response to its `initialize`, as JSON text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub greeting: Option<String>,
    /// The params of the Client's last accepted `initialize`, as JSON text: another session must be alike.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hello: Option<String>,
    /// Where the endpoint is that a browser hides behind redirects.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

impl SessionFacts {
    /// JSON text of the server's capabilities; empty where nothing says.
    pub(crate) fn capabilities(&self) -> &str {
        let greeting = self.greeting.as_deref().unwrap_or_default();
        field(greeting, &["result", "capabilities"]).unwrap_or_default()
    }
}

/// What names a session in the headers of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Identity {
    /// `Mcp-Session-Id`.
    pub(crate) id: Option<String>,
    /// The negotiated version.
    pub(crate) version: Option<String>,
}

/// A session that the server began and that is not in use yet.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) identity: Identity,
    /// The response to `initialize`.
    pub(crate) greeting: String,
}

/// The facts of a session, and what the host knows of them.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    now: SessionFacts,
    told: SessionFacts,
    /// They may differ: nothing is compared where nothing was written.
    is_edited: bool,
}

impl Facts {
    /// As the host knows them.
    pub(crate) fn restore(&mut self, facts: SessionFacts) {
        self.told = facts.clone();
        self.now = facts;
    }

    /// To change them.
    pub(crate) fn edit(&mut self) -> &mut SessionFacts {
        self.is_edited = true;
        &mut self.now
    }

    /// Whether the host has to be told, as far as that is known without a look.
    pub(crate) fn may_be_news(&self) -> bool {
        self.is_edited
    }

    /// What the host does not know yet, once.
    pub(crate) fn news(&mut self) -> Option<SessionFacts> {
        if !std::mem::take(&mut self.is_edited) || self.now == self.told {
            return None;
        }
        self.told.clone_from(&self.now);
        Some(self.now.clone())
    }
}

impl Deref for Facts {
    type Target = SessionFacts;

    fn deref(&self) -> &SessionFacts {
        &self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(id: &str) -> SessionFacts {
        SessionFacts { session_id: Some(id.to_string()), ..SessionFacts::default() }
    }

    #[test]
    fn a_change_is_told_once_and_what_was_written_back_is_none() {
        let mut facts = Facts::default();
        assert_eq!(facts.news(), None);
        facts.edit().session_id = Some("s1".to_string());
        assert_eq!((facts.news(), facts.news()), (Some(named("s1")), None));
        facts.edit().session_id = None;
        facts.edit().session_id = Some("s1".to_string());
        assert_eq!(facts.news(), None);
        facts.edit().session_id = None;
        assert_eq!(facts.news(), Some(SessionFacts::default()));
    }

    #[test]
    fn what_the_host_gave_is_no_news_to_it() {
        let mut facts = Facts::default();
        facts.restore(named("s1"));
        facts.edit().session_id = Some("s1".to_string());
        assert_eq!(facts.session_id.as_deref(), Some("s1"));
        assert_eq!(facts.news(), None);
        facts.edit().era = Some(Era::Legacy);
        assert_eq!(facts.news(), Some(SessionFacts { era: Some(Era::Legacy), ..named("s1") }));
    }

    #[test]
    fn capabilities_are_those_of_the_greeting() {
        let greeting = r#"{"result":{"capabilities":{"tools":{}}}}"#.to_string();
        let facts = SessionFacts { greeting: Some(greeting), ..SessionFacts::default() };
        assert_eq!((facts.capabilities(), SessionFacts::default().capabilities()), (r#"{"tools":{}}"#, ""));
    }
}
