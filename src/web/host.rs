//! What the wrapper gives us: the raw bindings, and the reading of what comes back through them.

use js_sys::{Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen::JsCast;
use web_sys::{Headers, ReferrerPolicy, RequestCache, RequestCredentials, RequestInit, RequestRedirect, Url};

use crate::proto::{HttpRequest, IoFailure, Manner, Method, Redirect, ResponseHead, Target};

#[wasm_bindgen]
extern "C" {
    /// One per transport, made by the wrapper.
    #[derive(Clone)]
    pub type Host;

    /// Calls `fetch` in a microtask of its own, with an AbortController that the wrapper keeps. `call` is the call it
    /// is for: the wrapper adds that call's own headers. To a `bare` request it adds nothing at all.
    #[wasm_bindgen(method, catch)]
    pub(super) fn open(
        this: &Host,
        exchange: u32,
        url: &str,
        init: &RequestInit,
        call: Option<u32>,
        bare: bool,
    ) -> Result<Promise, JsValue>;

    /// Asks for one call of `poll`, later.
    #[wasm_bindgen(method, catch)]
    pub(super) fn schedule(this: &Host) -> Result<(), JsValue>;

    /// Takes the text of a panic, just before the trap.
    #[wasm_bindgen(method, catch)]
    pub(super) fn panicked(this: &Host, text: &str) -> Result<(), JsValue>;
}

/// The `init` of a fetch. Nothing is set that a runtime may refuse (workerd refuses most cache modes).
pub(super) fn request_init(request: &HttpRequest, browser: bool) -> Result<RequestInit, JsValue> {
    let headers = Headers::new()?;
    for (name, value) in &request.headers {
        headers.set(name, value)?;
    }
    let init = RequestInit::new();
    init.set_method(request.method.as_str());
    init.set_headers(&headers);
    if let Some(body) = &request.body {
        init.set_body(&JsValue::from_str(body));
    }
    if browser && request.method == Method::Get {
        // Browsers queue parallel GETs of one URL behind each other, in case the first can be cached.
        init.set_cache(RequestCache::NoStore);
    }
    // A manual redirect is followed or not by the core. Browsers hide where it leads.
    init.set_redirect(match request.manner {
        Manner::Guarded => RequestRedirect::Manual,
        Manner::Following | Manner::Bare => RequestRedirect::Follow,
    });
    if request.manner == Manner::Bare {
        init.set_credentials(RequestCredentials::Omit);
        init.set_referrer_policy(ReferrerPolicy::NoReferrer);
    }
    Ok(init)
}

/// Where a response redirects to, or was redirected to where the runtime followed.
fn redirect(response: &JsValue, location: Option<String>, asked: &str) -> Option<Redirect> {
    let property = |name: &str| Reflect::get(response, &JsValue::from_str(name)).unwrap_or_default();
    if property("type").as_string().as_deref() == Some("opaqueredirect") {
        return Some(Redirect::Hidden);
    }
    let target = |url: Url| {
        let same_origin = Url::new(asked).is_ok_and(|asked| asked.origin() == url.origin());
        Target { url: url.href(), same_origin }
    };
    if let Some(location) = location {
        return Url::new_with_base(&location, asked).ok().map(|url| Redirect::To(target(url)));
    }
    let followed = property("redirected").as_bool().unwrap_or(false);
    let url = property("url").as_string().filter(|_| followed)?;
    Url::new(&url).ok().map(|url| Redirect::Followed(target(url)))
}

/// The head of a response to a request to `asked`. A user's `fetch` may return any value: what has no status is an error.
pub(super) fn response_head(response: &JsValue, asked: &str) -> Result<ResponseHead, JsValue> {
    let status = Reflect::get(response, &JsValue::from_str("status"))?.as_f64();
    let Some(status) = status else {
        return Err(JsValue::from_str("fetch gave something that is no Response"));
    };
    let headers: Headers = Reflect::get(response, &JsValue::from_str("headers"))?.unchecked_into();
    let value = |name: &str| headers.get(name).ok().flatten();
    let location = value("location").filter(|_| (300..400).contains(&(status as u16)));
    let challenge = value("www-authenticate");
    Ok(ResponseHead {
        status: status as u16,
        content_type: value("content-type"),
        session_id: value("mcp-session-id"),
        retry_after: value("retry-after"),
        challenged: challenge.is_some(),
        insufficient_scope: challenge.is_some_and(|challenge| challenge.contains("insufficient_scope")),
        redirect: redirect(response, location, asked),
    })
}

/// A rejection: the error's message and the runtime's structured code. It may be any value at all.
pub(super) fn io_failure(error: &JsValue) -> IoFailure {
    let property = |of: &JsValue, name: &str| Reflect::get(of, &JsValue::from_str(name)).ok();
    let text = |of: &JsValue, name: &str| property(of, name).and_then(|value| value.as_string());
    let message = text(error, "message").or_else(|| error.as_string()).unwrap_or_default();
    let cause = property(error, "cause").unwrap_or_default();
    let code = text(&cause, "code").or_else(|| text(error, "code")).unwrap_or_default();
    IoFailure { message, code }
}
