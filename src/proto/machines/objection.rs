//! Objections: a server refuses a modern request for what it says of itself, unread. What follows, once for each kind.

/// The error codes of an objection (MCP 2026-07-28, *Errors*).
const HEADER_MISMATCH: i64 = -32_020;
const UNSUPPORTED_VERSION: i64 = -32_022;

/// What a server objects to.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Objection {
    /// The version.
    Version,
    /// The headers, which do not say what the body says.
    Headers,
}

impl Objection {
    /// What an error of this code objects to.
    pub(crate) fn of(code: i64) -> Option<Self> {
        match code {
            HEADER_MISMATCH => Some(Self::Headers),
            UNSUPPORTED_VERSION => Some(Self::Version),
            _ => None,
        }
    }
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It is sent again in this modern version.
    Speak(String),
    /// It is found out anew what the server speaks.
    FindOut,
    /// It is learned what the tool declares, and sent again with other headers.
    Learn,
    /// It was corrected before: it fails.
    Fail,
    /// The error is its answer.
    Answer,
}

/// Which versions there are in the case.
pub(crate) struct Versions<'a> {
    /// The one that the request spoke.
    pub(crate) spoken: &'a str,
    /// Those that the server names.
    pub(crate) named: &'a [String],
    /// Ours, preferred first.
    pub(crate) modern: &'a [String],
    /// Ours that begin with a handshake, as far as the server may be asked for them.
    pub(crate) legacy: &'a [String],
}

/// How a call was corrected.
#[derive(Debug, Default)]
pub(crate) struct Corrections {
    version: bool,
    headers: bool,
    /// It waits for what its tool declares.
    pub(crate) learning: bool,
    /// It waits until it is found out anew what the server speaks, for the server's words were none of its era.
    pub(crate) contradicted: bool,
}

impl Corrections {
    /// The server does not speak the version of the request.
    pub(crate) fn on_version(&mut self, versions: &Versions<'_>) -> Then {
        let Versions { spoken, named, modern, legacy } = versions;
        let other = modern.iter().find(|ours| ours != spoken && named.contains(ours));
        let then = match other {
            Some(version) => Then::Speak(version.clone()),
            // It names what the request spoke: it contradicts itself.
            None if named.iter().any(|named| named == spoken) => Then::Answer,
            None if legacy.iter().any(|ours| named.contains(ours)) => Then::FindOut,
            None => Then::Answer,
        };
        match then != Then::Answer && std::mem::replace(&mut self.version, true) {
            true => Then::Answer,
            false => then,
        }
    }

    /// The headers of the request do not say what its body says.
    pub(crate) fn on_headers(&mut self) -> Then {
        match std::mem::replace(&mut self.headers, true) {
            true => Then::Fail,
            false => Then::Learn,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(versions: &[&str]) -> Vec<String> {
        versions.iter().map(|version| version.to_string()).collect()
    }

    #[test]
    fn a_version_that_is_not_spoken_is_replaced_once_by_one_that_both_speak() {
        let (modern, legacy) = (texts(&["m2", "m1"]), texts(&["l2", "l1"]));
        let speak = |version: &str| Then::Speak(version.to_string());
        for (spoken, named, then) in [
            ("m2", &["m1"][..], speak("m1")),
            ("m1", &["m2", "l1"], speak("m2")),
            ("m2", &["l1", "x"], Then::FindOut),
            ("m2", &["m2", "l1"], Then::Answer),
            ("m2", &["x"], Then::Answer),
            ("m2", &[], Then::Answer),
        ] {
            let named = texts(named);
            let versions = Versions { spoken, named: &named, modern: &modern, legacy: &legacy };
            let mut corrections = Corrections::default();
            let is_last = then == Then::Answer;
            assert_eq!(corrections.on_version(&versions), then, "{spoken} {named:?}");
            assert_eq!(corrections.on_version(&versions), Then::Answer, "once is enough");
            assert!(is_last || corrections.version);
        }
    }

    #[test]
    fn headers_are_made_anew_once() {
        let mut corrections = Corrections::default();
        assert_eq!(corrections.on_headers(), Then::Learn);
        assert_eq!(corrections.on_headers(), Then::Fail);
    }

    #[test]
    fn an_objection_is_known_by_its_code() {
        assert_eq!(Objection::of(-32_020), Some(Objection::Headers));
        assert_eq!(Objection::of(-32_022), Some(Objection::Version));
        for code in [-32_021, -32_601, -32_602, 0] {
            assert_eq!(Objection::of(code), None, "{code}");
        }
    }
}
