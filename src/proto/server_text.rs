//! Text of a server's, made fit for a message, a log or an event: the one way in which it is shown.

/// So many characters of it are shown.
const MOST_SHOWN: usize = 200;
/// Shorter ones are in many a text by chance.
const LEAST_SECRET: usize = 8;
const MOST_SECRETS: usize = 64;
/// What is further back is not shown, whatever is taken out before it.
const MOST_READ: usize = 65_536;
const MARK: &str = "[redacted]";

/// What the host sends to the server and nobody else is to read.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    known: Vec<String>,
}

impl Secrets {
    /// Keeps one. Of many that come by and by the oldest is forgotten.
    pub(crate) fn learn(&mut self, secret: &str) {
        if secret.len() < LEAST_SECRET || self.known.iter().any(|known| known == secret) {
            return;
        }
        if self.known.len() == MOST_SECRETS {
            self.known.remove(0);
        }
        self.known.push(secret.to_string());
    }

    /// The whole text without them, and without the session's id, which is `shown` instead.
    pub(crate) fn redact(&self, text: &str, session: Option<(&str, String)>) -> String {
        let session = session.as_ref().filter(|(id, _)| id.len() >= LEAST_SECRET);
        let session = session.map(|(id, shown)| (*id, shown.as_str()));
        // The longest first.
        let mut marks: Vec<(&str, &str)> = Vec::new();
        for (secret, mark) in self.known.iter().map(|known| (known.as_str(), MARK)).chain(session) {
            let at = marks.partition_point(|(other, _)| other.len() >= secret.len());
            marks.insert(at, (secret, mark));
        }
        let mut redacted = text.to_string();
        for (secret, mark) in &marks {
            if redacted.contains(secret) {
                redacted = redacted.replace(secret, mark);
            }
        }
        // It may end in the middle of one.
        if let Some((kept, mark)) = marks.iter().find_map(|(secret, mark)| {
            let length = ends_within(&redacted, secret)?;
            Some((redacted.len() - length, *mark))
        }) {
            redacted.truncate(kept);
            redacted.push_str(mark);
        }
        redacted
    }

    /// One line of it: without control characters, without secrets, and short.
    pub(crate) fn fit(&self, text: &str, session: Option<(&str, String)>) -> String {
        let line: String = text.chars().take(MOST_READ).filter(|c| !is_break(*c)).collect();
        self.redact(&line, session).chars().take(MOST_SHOWN).collect()
    }
}

/// A control character, or what ends a line.
fn is_break(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

/// How many bytes at its end are the beginning of a secret.
fn ends_within(text: &str, secret: &str) -> Option<usize> {
    let most = secret.len().saturating_sub(1).min(text.len());
    (LEAST_SECRET..=most)
        .rev()
        .find(|length| secret.get(..*length).is_some_and(|beginning| text.ends_with(beginning)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "0123456789abcdef";

    fn session() -> Option<(&'static str, String)> {
        Some((ID, "#shown".to_string()))
    }

    fn secrets() -> Secrets {
        let mut secrets = Secrets::default();
        for secret in ["Bearer tok-1234567", "tok-1234567", "short", "kéksz-1234"] {
            secrets.learn(secret);
        }
        secrets
    }

    #[test]
    fn what_was_sent_is_taken_out_before_the_text_is_cut() {
        let rows = [
            ("Bearer tok-1234567!".to_string(), "[redacted]!".to_string()),
            ("tok-\u{1b}1234567".to_string(), "[redacted]".to_string()),
            ("short is kept".to_string(), "short is kept".to_string()),
            (format!("id {ID}."), "id #shown.".to_string()),
            (format!("{}{ID}", "x".repeat(195)), format!("{}#show", "x".repeat(195))),
            (format!("{}tok-1234", "x".repeat(9)), format!("{}[redacted]", "x".repeat(9))),
            ("kéksz-1234 kéksz-123".to_string(), "[redacted] [redacted]".to_string()),
            ("a\r\n\u{0}b\u{2028}c\u{9b}".to_string(), "abc".to_string()),
        ];
        for (text, fit) in rows {
            assert_eq!(secrets().fit(&text, session()), fit, "{text:?}");
        }
    }

    #[test]
    fn a_short_session_id_garbles_nothing() {
        assert_eq!(secrets().fit("a sad tale", Some(("a", "#a".to_string()))), "a sad tale");
    }

    #[test]
    fn of_many_secrets_the_newest_are_kept() {
        let mut secrets = Secrets::default();
        for n in 0..=MOST_SECRETS {
            secrets.learn(&format!("secret-{n:03}"));
            secrets.learn(&format!("secret-{n:03}"));
        }
        assert_eq!(
            secrets.redact("secret-000 secret-001 secret-064", None),
            "secret-000 [redacted] [redacted]"
        );
    }
}
