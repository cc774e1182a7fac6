//! Addresses: where a reference of the server's leads to from the endpoint, as long as that stays in its origin (RFC 3986,
//! 5.2). What comes of it begins with the endpoint's own scheme and authority, so that no parser can read another into it.

/// The address that a reference means, from the address of the endpoint; `None` where it is none of that origin.
pub(crate) fn within(endpoint: &str, reference: &str) -> Option<String> {
    let reference = reference.trim_matches(' ');
    if reference.is_empty() || reference.bytes().any(|byte| byte <= b' ' || byte == 0x7F || byte == b'\\') {
        return None;
    }
    let reference = reference.split('#').next().unwrap_or_default();
    let (scheme, rest) = endpoint.split_once("://")?;
    let authority = authority_of(rest);
    let path = rest[authority.len()..].split(['?', '#']).next().unwrap_or_default();
    let origin = format!("{scheme}://{authority}");
    // Whatever has a colon before its path names a scheme.
    let head = reference.split(['/', '?']).next().unwrap_or_default();
    let path_and_query = if head.contains(':') {
        let (other, rest) = reference.split_once("://")?;
        if !other.eq_ignore_ascii_case(scheme) {
            return None;
        }
        rest_of_same(scheme, authority, rest)?.to_string()
    } else if let Some(rest) = reference.strip_prefix("//") {
        rest_of_same(scheme, authority, rest)?.to_string()
    } else if reference.starts_with('/') {
        reference.to_string()
    } else if reference.starts_with('?') {
        format!("{path}{reference}")
    } else {
        let folder = path.rfind('/').map_or("", |last| &path[..last]);
        format!("{folder}/{reference}")
    };
    let slash = if path_and_query.starts_with('/') { "" } else { "/" };
    Some(format!("{origin}{slash}{path_and_query}"))
}

fn authority_of(rest: &str) -> &str {
    rest.split(['/', '?', '#']).next().unwrap_or_default()
}

/// Path and query behind the authority, where that is the endpoint's, also with the port that its scheme has anyway.
fn rest_of_same<'a>(scheme: &str, authority: &str, rest: &'a str) -> Option<&'a str> {
    let theirs = authority_of(rest);
    let port = if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
    let plain = |authority: &str| {
        let authority = authority.to_ascii_lowercase();
        authority.strip_suffix(port).map(str::to_string).unwrap_or(authority)
    };
    (plain(theirs) == plain(authority)).then(|| &rest[theirs.len()..])
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_reference_leads_where_a_browser_would_go_and_never_out_of_the_origin() {
        let rows = [
            ("/messages?id=1", Some("https://h.test/messages?id=1")),
            ("messages", Some("https://h.test/a/messages")),
            ("./messages", Some("https://h.test/a/./messages")),
            ("?id=1", Some("https://h.test/a/sse?id=1")),
            ("/m?u=http://x/y", Some("https://h.test/m?u=http://x/y")),
            ("https://h.test/m", Some("https://h.test/m")),
            ("HTTPS://H.test:443/m", Some("https://h.test/m")),
            ("https://h.test?q", Some("https://h.test/?q")),
            ("//h.test/m", Some("https://h.test/m")),
            (" /m ", Some("https://h.test/m")),
            ("/m#part", Some("https://h.test/m")),
            ("//other.test/m", None),
            ("https://other.test/m", None),
            ("https://h.test:8443/m", None),
            ("http://h.test/m", None),
            ("https://user@h.test/m", None),
            ("https://h.test@other.test/m", None),
            ("https:/other.test/m", None),
            ("https:other.test", None),
            ("javascript:alert(1)", None),
            ("data:text/plain,x", None),
            ("/\\other.test/m", None),
            ("\\\\other.test/m", None),
            ("/m\n", None),
            ("/\tm", None),
            ("", None),
            ("   ", None),
        ];
        for (reference, address) in rows {
            let found = within("https://h.test/a/sse?key=1", reference);
            assert_eq!(found.as_deref(), address, "{reference:?}");
        }
        assert_eq!(within("http://h:8080", "m").as_deref(), Some("http://h:8080/m"));
        assert_eq!(within("http://h:8080/sse", "http://h:8080/m").as_deref(), Some("http://h:8080/m"));
        assert_eq!(within("", "/m"), None);
    }
}
