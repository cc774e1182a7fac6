//! HTTP as the core sees it: requests to make, heads that came, and how to read their fields.

use std::borrow::Cow;
use std::time::Duration;

use super::cursor::fits_header;
use super::timeouts::span;
use super::CallId;

/// The method of a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Method {
    /// Opens or resumes a stream.
    Get,
    /// Carries a JSON-RPC message.
    Post,
    /// Ends the session.
    Delete,
}

impl Method {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        }
    }
}

/// The name of a header, in lower case.
pub type HeaderName = Cow<'static, str>;

/// A request for the driver to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// The call it is for; none for the DELETE of a session.
    pub call: Option<CallId>,
    /// Where to, if not the endpoint: a redirect within its origin.
    pub url: Option<String>,
    /// Its method.
    pub method: Method,
    /// Names in lower case; values hold one byte per `char` (a JavaScript ByteString).
    pub headers: Vec<(HeaderName, String)>,
    /// The JSON text of a POST.
    pub body: Option<String>,
    /// How it is made.
    pub manner: Manner,
}

/// How a request is made.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// With all that is ours and the user's; redirects are reported, not followed.
    #[default]
    Guarded,
    /// The same, and `fetch` follows redirects.
    Following,
    /// With no header, credentials or referrer; `fetch` follows redirects, and where they end is all that is wanted.
    Bare,
}

/// The head of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseHead {
    /// The status.
    pub status: u16,
    /// `content-type`.
    pub content_type: Option<String>,
    /// `mcp-session-id`.
    pub session_id: Option<String>,
    /// `retry-after`.
    pub retry_after: Option<String>,
    /// Whether there was a `www-authenticate`.
    pub challenged: bool,
    /// Whether that says `insufficient_scope` (RFC 6750 3.1).
    pub insufficient_scope: bool,
    /// It is a redirect, or was one.
    pub redirect: Option<Redirect>,
}

/// What is known of a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Redirect {
    /// It leads there.
    To(Target),
    /// The runtime followed it, and this is the head from there.
    Followed(Target),
    /// The browser hides where it leads, and its status too.
    Hidden,
}

/// The target of a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The absolute URL.
    pub url: String,
    /// Whether it is of the origin that was asked.
    pub same_origin: bool,
}

impl Target {
    /// Whether our requests may go there. No fetch takes an address with a user in it.
    pub(crate) fn is_usable(&self) -> bool {
        let authority = self.url.split_once("//").map_or("", |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        self.same_origin && !authority.contains('@')
    }

    /// Origin and path: a query or a user may hold secrets.
    pub(crate) fn shown(&self) -> String {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        match path.split_once("//") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
                let host = host.rsplit('@').next().unwrap_or(host);
                format!("{scheme}//{host}/{path}")
            }
            None => path.to_string(),
        }
    }
}

impl ResponseHead {
    /// 200 to 299.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The media type without parameters, in lower case (RFC 9110 8.3.1).
    fn essence(&self) -> String {
        let value = self.content_type.as_deref().unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
    }

    pub(crate) fn is_event_stream(&self) -> bool {
        self.essence() == "text/event-stream"
    }

    pub(crate) fn is_json(&self) -> bool {
        let essence = self.essence();
        essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
    }

    /// `Retry-After` as a wait from `now_ms` (epoch milliseconds), in either form of RFC 9110 10.2.3.
    pub(crate) fn retry_after(&self, now_ms: f64) -> Option<Duration> {
        let value = self.retry_after.as_deref()?.trim();
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            return Some(Duration::from_secs(value.parse().unwrap_or_else(|_| u32::MAX.into())));
        }
        Some(span(imf_fixdate(value)? * 1_000.0 - now_ms))
    }
}

/// How an exchange failed without, or in the middle of, an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoFailure {
    /// The error's own text.
    pub message: String,
    /// A structured code of the runtime (`error.cause.code`), empty where it has none.
    pub code: String,
}

/// How far a request came that failed.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It failed before `fetch`: what it needs can't be had.
    Unready,
    /// And did not come in time.
    Late,
    /// The runtime proves that no byte of it left.
    NotSent,
    /// The same, and time alone changes nothing: the server's certificate is not accepted.
    Never,
    /// It may have arrived.
    Unknown,
}

impl IoFailure {
    /// How far the request came, by the code. (Browsers never tell.)
    pub(crate) fn reach(&self) -> Reach {
        match self.code.as_str() {
            "LANDFALL_NOT_SENT" => Reach::Unready,
            "LANDFALL_LATE" => Reach::Late,
            "ECONNREFUSED"
            | "ENOTFOUND"
            | "EAI_AGAIN"
            | "EHOSTUNREACH"
            | "ENETUNREACH"
            | "UND_ERR_CONNECT_TIMEOUT"
            | "ConnectionRefused" => Reach::NotSent,
            "DEPTH_ZERO_SELF_SIGNED_CERT"
            | "SELF_SIGNED_CERT_IN_CHAIN"
            | "UNABLE_TO_GET_ISSUER_CERT"
            | "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"
            | "UNABLE_TO_VERIFY_LEAF_SIGNATURE"
            | "HOSTNAME_MISMATCH"
            | "ERR_TLS_CERT_ALTNAME_INVALID" => Reach::Never,
            code if code.starts_with("CERT_") => Reach::Never,
            _ => Reach::Unknown,
        }
    }
}

/// An event id as a header value: its UTF-8 bytes, one `char` each. `None` where no header can carry it unchanged:
/// control characters are refused, and white space at an edge would be trimmed.
pub(crate) fn header_value(id: &str) -> Option<String> {
    fits_header(id).then(|| id.bytes().map(char::from).collect())
}

/// Seconds since the Unix epoch of `Sun, 06 Nov 1994 08:49:37 GMT`, the one date form that may be sent today.
fn imf_fixdate(value: &str) -> Option<f64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut parts = value.split(' ');
    let (_, day, month, year, time) =
        (parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    if parts.next() != Some("GMT") || parts.next().is_some() {
        return None;
    }
    let number = |text: &str| text.parse::<u16>().ok().map(i64::from);
    let month = MONTHS.iter().position(|m| *m == month)? as i64 + 1;
    let (day, year) = (number(day)?, number(year)?);
    let mut clock = time.split(':').map(number);
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days from civil date: years start in March, so that the leap day is the last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 1;
    Some(((days - 719_468) * 86_400 + hour * 3_600 + minute * 60 + second) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(value: &str) -> Option<u64> {
        let head = ResponseHead { retry_after: Some(value.to_string()), ..ResponseHead::default() };
        head.retry_after(784_111_770_000.0).map(|wait| wait.as_secs())
    }

    #[test]
    fn retry_after_is_read_in_seconds_and_as_a_date() {
        assert_eq!(wait("3"), Some(3));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT"), Some(7));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:00 GMT"), Some(0), "a date in the past is no wait");
        assert_eq!(wait("Tue, 28 Feb 1995 08:49:30 GMT"), Some(114 * 86_400));
        assert_eq!(wait("Wed, 01 Mar 1995 08:49:30 GMT"), Some(115 * 86_400));
        for garbage in ["", "-1", "3s", "soon", "Sun, 06 Nov 1994", "Sun, 06 Foo 1994 08:49:37 GMT"] {
            assert_eq!(wait(garbage), None, "{garbage}");
        }
    }

    #[test]
    fn a_code_tells_how_far_a_request_came() {
        for (code, reach) in [
            ("LANDFALL_NOT_SENT", Reach::Unready),
            ("LANDFALL_LATE", Reach::Late),
            ("ECONNREFUSED", Reach::NotSent),
            ("ENOTFOUND", Reach::NotSent),
            ("EAI_AGAIN", Reach::NotSent),
            ("EHOSTUNREACH", Reach::NotSent),
            ("ENETUNREACH", Reach::NotSent),
            ("ConnectionRefused", Reach::NotSent),
            ("UND_ERR_CONNECT_TIMEOUT", Reach::NotSent),
            ("ECONNRESET", Reach::Unknown),
            ("", Reach::Unknown),
        ] {
            let failure = IoFailure { code: code.to_string(), ..IoFailure::default() };
            assert_eq!(failure.reach(), reach, "{code}");
        }
    }

    #[test]
    fn content_types_are_compared_by_essence() {
        let head =
            |value: &str| ResponseHead { content_type: Some(value.to_string()), ..ResponseHead::default() };
        assert!(head("Text/Event-Stream ; charset=\"UTF-8\"").is_event_stream());
        assert!(head("application/problem+json").is_json());
        assert!(!head("text/event-streams").is_event_stream());
        assert!(!ResponseHead::default().is_json());
    }

    #[test]
    fn an_event_id_becomes_its_utf_8_bytes_or_nothing() {
        assert_eq!(header_value("k/1"), Some("k/1".to_string()));
        assert_eq!(header_value("é"), Some("\u{c3}\u{a9}".to_string()));
        for id in ["", " a", "a ", "a\u{c}b", "a\u{7f}"] {
            assert_eq!(header_value(id), None, "{id:?}");
        }
    }
}
