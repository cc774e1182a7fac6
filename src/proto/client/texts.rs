//! Texts: the messages that are told, and what of the server's words and of our secrets may be shown.

use super::Client;
use crate::proto::backoff::Rng;
use crate::proto::event::MessageRef;

impl Client {
    /// The messages that the latest outputs point to, as the text of a JSON array.
    pub fn messages(&self) -> Option<&str> {
        (!self.messages.is_empty()).then_some(self.messages.as_str())
    }

    /// One message's own text.
    pub fn text(&self, message: MessageRef) -> &str {
        self.messages.get(message.start..message.end).unwrap_or_default()
    }

    /// Puts a message into the buffer. The text is one complete JSON value: the scanner proved it.
    pub(super) fn keep(&mut self, text: &str) -> MessageRef {
        let closed = self.messages.pop();
        self.messages.push(if closed.is_some() { ',' } else { '[' });
        let start = self.messages.len();
        self.messages.push_str(text);
        let end = self.messages.len();
        self.messages.push(']');
        let index = self.message_count;
        self.message_count += 1;
        MessageRef { start, end, index }
    }

    /// The host sends this value to the server, and it is taken out of what the server says.
    pub fn learn_secret(&mut self, secret: &str) {
        self.secrets.learn(secret);
    }

    /// Server text fit for a message or an event.
    pub(super) fn fit(&self, text: &str) -> String {
        self.secrets.fit(text, self.shown_session())
    }

    /// The whole of it, without what is secret.
    pub(super) fn redacted(&self, text: &str) -> String {
        self.secrets.redact(text, self.shown_session())
    }

    fn shown_session(&self) -> Option<(&str, String)> {
        self.session.facts.session_id.as_deref().map(|id| (id, self.shown(id)))
    }

    /// A secret as events and diagnostics show it: a salted digest, unless the user asked for the full text.
    pub(super) fn shown(&self, secret: &str) -> String {
        if self.config.full_diagnostics {
            return secret.to_string();
        }
        let digest = secret.bytes().fold(self.salt, |digest, byte| Rng::new(digest ^ u64::from(byte)).next());
        format!("#{digest:016x}")
    }
}
