//! Redirects (ARCHITECTURE.md, "Trust"): what one means, and where the endpoint is that a browser hides behind them.
//!
//! A redirect holds for its request alone: the next one begins at the endpoint again. Only where the browser hides the
//! target is it learned, by a bare GET, and kept for the session.

use crate::proto::error::ConfigError;
use crate::proto::http::{Method, Redirect, ResponseHead};
use crate::proto::CallId;

/// So many redirects are followed for one request.
const MOST: u32 = 5;

/// The option `redirectPolicy`, with what `requestInit.redirect` says.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum RedirectPolicy {
    /// Follow what stays in the origin and keeps the method.
    #[default]
    SameOrigin,
    /// Leave them to `fetch`.
    Follow,
    /// Follow none: `requestInit.redirect` is `error` or `manual`.
    Refuse,
}

impl RedirectPolicy {
    /// Reads the option.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, ConfigError> {
        match name {
            "same-origin" => Ok(Self::SameOrigin),
            "follow" => Ok(Self::Follow),
            "refuse" => Ok(Self::Refuse),
            other => Err(ConfigError {
                option: "redirectPolicy",
                message: format!("redirectPolicy: \"{other}\" is none of \"same-origin\", \"follow\""),
            }),
        }
    }

    /// What a head means to a request of this method that came there by so many redirects.
    pub(crate) fn judge(self, head: &ResponseHead, method: Method, made: u32) -> Verdict {
        let (Some(redirect), redirects) = (&head.redirect, made + 1) else { return Verdict::Answer };
        match redirect {
            Redirect::Followed(target) if self == Self::Follow || target.same_origin => Verdict::Answer,
            Redirect::To(target)
                if self != Self::Refuse
                    && target.is_usable()
                    && redirects <= MOST
                    && keeps(head.status, method) =>
            {
                Verdict::Follow(Hop { url: Some(target.url.clone()), redirects })
            }
            // Where one was learned, it is no redirect any more.
            Redirect::Hidden if self != Self::Refuse && made == 0 => Verdict::Locate,
            _ => Verdict::Refuse,
        }
    }

    /// What is said of a redirect that is not followed; `fit` makes the server's text fit for it.
    pub(crate) fn refuses(self, redirect: &Redirect, fit: impl Fn(&str) -> String) -> String {
        let place = match redirect {
            Redirect::To(target) | Redirect::Followed(target) => format!("to {}", fit(&target.shown())),
            Redirect::Hidden => "to where the browser does not tell".to_string(),
        };
        let why = match self {
            Self::Refuse => "requestInit.redirect says not to follow",
            Self::SameOrigin | Self::Follow => {
                "what stays in the origin, keeps the method and names no user is followed, 5 times at most \
                 (redirectPolicy: \"follow\" leaves it to fetch)"
            }
        };
        format!("the server redirects {place}, and {why}")
    }
}

/// Of the others a POST becomes a GET (WHATWG fetch, *HTTP-redirect fetch*): its server may have dealt with it.
fn keeps(status: u16, method: Method) -> bool {
    matches!(status, 307 | 308) || (method == Method::Get && matches!(status, 301..=303))
}

/// What a head means, as far as redirects go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is the answer.
    Answer,
    /// The same request goes there.
    Follow(Hop),
    /// The browser hides where it leads: to be found out.
    Locate,
    /// It is not followed.
    Refuse,
}

/// Where a request goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hop {
    /// `None`: to the endpoint.
    pub(crate) url: Option<String>,
    /// So many redirects led there.
    pub(crate) redirects: u32,
}

/// Who looks for a session's endpoint, where a browser hides it, and who waits for that.
#[derive(Debug, Default)]
pub(crate) struct Endpoint {
    scout: Option<CallId>,
    waiting: Vec<CallId>,
}

impl Endpoint {
    /// It is being found out, by this message of ours.
    pub(crate) fn is_sought(&self) -> bool {
        self.scout.is_some()
    }

    pub(crate) fn seek(&mut self, scout: CallId) {
        self.scout = Some(scout);
    }

    /// A request waits until it is known.
    pub(crate) fn wait(&mut self, call: CallId) {
        self.waiting.push(call);
    }

    /// A call ended, or has no request that waits any more.
    pub(crate) fn gone(&mut self, call: CallId) {
        self.waiting.retain(|waiting| *waiting != call);
    }

    /// What was sought is found, or is not to be found: who waited for it.
    pub(crate) fn found(&mut self) -> Vec<CallId> {
        self.scout = None;
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::http::Target;

    fn target(url: &str, same_origin: bool) -> Target {
        Target { url: url.to_string(), same_origin }
    }

    fn judge(policy: RedirectPolicy, status: u16, redirect: Redirect, method: Method, made: u32) -> Verdict {
        let head = ResponseHead { status, redirect: Some(redirect), ..ResponseHead::default() };
        policy.judge(&head, method, made)
    }

    fn is_refused(verdict: &Verdict) -> bool {
        *verdict == Verdict::Refuse
    }

    #[test]
    fn what_stays_in_the_origin_and_keeps_the_method_is_followed() {
        use Method::{Delete, Get, Post};
        let rows = [
            (301, Get, true),
            (302, Get, true),
            (303, Get, true),
            (307, Get, true),
            (308, Get, true),
            (301, Post, false),
            (302, Post, false),
            (303, Post, false),
            (307, Post, true),
            (308, Post, true),
            (303, Delete, false),
            (308, Delete, true),
            (304, Get, false),
        ];
        for (status, method, follows) in rows {
            let inside = Redirect::To(target("http://h/mcp/", true));
            let verdict = judge(RedirectPolicy::SameOrigin, status, inside.clone(), method, 0);
            let there = Hop { url: Some("http://h/mcp/".to_string()), redirects: 1 };
            match follows {
                true => assert_eq!(verdict, Verdict::Follow(there), "{status} {method:?}"),
                false => assert!(is_refused(&verdict), "{status} {method:?}"),
            }
            let outside = Redirect::To(target("http://other/mcp", false));
            assert!(is_refused(&judge(RedirectPolicy::SameOrigin, status, outside, method, 0)));
            assert!(is_refused(&judge(RedirectPolicy::Refuse, status, inside, method, 0)));
        }
    }

    #[test]
    fn a_loop_ends_and_so_does_a_target_with_a_user_in_it() {
        let to = |url| Redirect::To(target(url, true));
        let policy = RedirectPolicy::SameOrigin;
        assert!(!is_refused(&judge(policy, 307, to("http://h/a"), Method::Post, 4)));
        assert!(is_refused(&judge(policy, 307, to("http://h/a"), Method::Post, 5)));
        let hostile = to("http://u:secret@h/a?q");
        assert!(is_refused(&judge(policy, 307, hostile.clone(), Method::Post, 0)));
        let text = policy.refuses(&hostile, str::to_string);
        assert!(text.contains("http://h/a") && !text.contains("secret") && !text.contains('?'), "{text}");
        assert!(text.contains("redirectPolicy"), "{text}");
    }

    #[test]
    fn what_fetch_followed_is_an_answer_in_the_origin_and_wherever_the_user_lets_it() {
        let followed = |same_origin| Redirect::Followed(target("http://x/", same_origin));
        for (policy, same_origin, is_answer) in [
            (RedirectPolicy::SameOrigin, true, true),
            (RedirectPolicy::SameOrigin, false, false),
            (RedirectPolicy::Refuse, false, false),
            (RedirectPolicy::Follow, false, true),
        ] {
            let verdict = judge(policy, 200, followed(same_origin), Method::Post, 0);
            assert_eq!(verdict == Verdict::Answer, is_answer, "{policy:?} {same_origin}");
        }
    }

    #[test]
    fn a_hidden_target_is_looked_for_once() {
        let hidden = |policy, made| judge(policy, 0, Redirect::Hidden, Method::Post, made);
        assert_eq!(hidden(RedirectPolicy::SameOrigin, 0), Verdict::Locate);
        assert!(is_refused(&hidden(RedirectPolicy::SameOrigin, 1)));
        assert!(is_refused(&hidden(RedirectPolicy::Refuse, 0)));
    }

    #[test]
    fn who_waits_for_an_endpoint_is_told_once_that_the_search_is_over() {
        let (one, two) = (CallId(1), CallId(2));
        let mut endpoint = Endpoint::default();
        endpoint.seek(CallId(3));
        endpoint.wait(one);
        endpoint.wait(two);
        endpoint.gone(one);
        assert!(endpoint.is_sought());
        assert_eq!((endpoint.found(), endpoint.is_sought()), (vec![two], false));
        assert!(endpoint.found().is_empty());
    }
}
