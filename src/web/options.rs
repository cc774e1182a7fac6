//! The wrapper's options, read from JSON text: one text crosses in place of a property at a time.

use crate::proto::jsonrpc::{elements, entries, string};
use crate::proto::{
    number, CallSpec, ConfigError, Era, EraOption, OnGap, Options, RedirectPolicy, ReplayOption,
    SessionFacts, TimeoutOptions,
};

/// An object of the wrapper's: names, and values as JSON text. An absent one is `None`.
pub(super) struct Object<'a>(Vec<(String, &'a str)>);

impl<'a> Object<'a> {
    pub(super) fn read(text: &'a str) -> Self {
        Self(entries(text, usize::MAX).unwrap_or_default())
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find_map(|(its, value)| (its == name).then_some(*value))
    }

    /// One that JSON has no word for crosses as a text.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let raw = self.get(name)?;
        match raw.trim_matches('"') {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => number(raw),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.get(name).and_then(text)
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("true")
    }

    fn texts(&self, name: &str) -> Option<Vec<String>> {
        Some(elements(self.get(name)?).into_iter().filter_map(text).collect())
    }

    fn pairs(&self, name: &str) -> Vec<(String, String)> {
        self.get(name).map(Object::read).map_or_else(Vec::new, Object::own_pairs)
    }

    /// All that are texts.
    pub(super) fn own_pairs(self) -> Vec<(String, String)> {
        self.0.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
    }

    fn timeouts(&self) -> TimeoutOptions {
        TimeoutOptions {
            handshake: self.number("handshakeMs"),
            connect: self.number("connectMs"),
            first_byte: self.number("firstByteMs"),
            idle: self.number("idleMs"),
            call: self.number("callMs"),
            recovery: self.number("recoveryMs"),
            deadline: self.number("deadlineMs"),
        }
    }

    /// The options of a transport.
    pub(super) fn options(&self) -> Result<Options, ConfigError> {
        Ok(Options {
            endpoint: self.text("url").unwrap_or_default(),
            era: EraOption::parse(self.text("era").as_deref().unwrap_or("auto"))?,
            protocol_versions: self.texts("protocolVersions"),
            client_info: self.text("clientInfo").unwrap_or_default(),
            capabilities: self.text("capabilities").unwrap_or_default(),
            timeouts: self.timeouts(),
            base_ms: self.number("baseMs"),
            max_ms: self.number("maxMs"),
            max_reissues: self.number("maxReissues"),
            replay: ReplayOption::parse(self.text("replay").as_deref().unwrap_or("hints"))?,
            fail_lost_session: self.text("onSessionLost").as_deref() == Some("fail"),
            cross_origin: self.flag("crossOrigin"),
            on_gap: OnGap::parse(self.text("onGap").as_deref().unwrap_or("continue"))?,
            max_pending_events: self.number("maxPendingEvents"),
            max_pending_bytes: self.number("maxPendingBytes"),
            resume: self.session_facts(),
            tasks: self.flag("tasks"),
            carry: self.flag("carry"),
            listen: self.flag("listen"),
            auth: self.flag("auth"),
            max_step_ups: self.number("maxStepUps"),
            max_retries: self.number("maxRetries"),
            grow_factor: self.number("growFactor"),
            scheduler: self.flag("scheduler"),
            max_concurrent: self.number("maxConcurrent"),
            until_headers: self.flag("untilHeaders"),
            max_queued: self.number("maxQueued"),
            max_event_bytes: self.number("maxEventBytes"),
            max_body_bytes: self.number("maxBodyBytes"),
            max_id_bytes: self.number("maxIdBytes"),
            max_questions: self.number("maxQuestions"),
            max_buffered_bytes: self.number("maxBufferedBytes"),
            redirects: RedirectPolicy::parse(self.text("redirects").as_deref().unwrap_or("same-origin"))?,
            keep_session: !self.flag("terminate"),
            full_diagnostics: self.flag("full"),
        })
    }

    /// A session to go on with.
    fn session_facts(&self) -> Option<SessionFacts> {
        let object = Object::read(self.get("session")?);
        Some(SessionFacts {
            era: object.text("era").as_deref().and_then(Era::named),
            session_id: object.text("sessionId"),
            protocol_version: object.text("protocolVersion"),
            greeting: object.text("greeting"),
            hello: object.text("hello"),
            location: object.text("location"),
        })
    }

    /// What few calls have.
    pub(super) fn rare_call(&self) -> Result<CallSpec, ConfigError> {
        Ok(CallSpec {
            on_gap: self.text("onGap").as_deref().map(OnGap::parse).transpose()?,
            resumption_token: self.text("resumptionToken"),
            timeouts: self.timeouts(),
            task: self.text("task"),
            param_headers: self.pairs("paramHeaders"),
            declared_params: self.pairs("declaredParams"),
            ..CallSpec::default()
        })
    }
}

/// The flags of a call, as bits of one number.
mod flag {
    pub(super) const PROGRESS: u32 = 1;
    pub(super) const IDEMPOTENT: u32 = 2;
    pub(super) const HANDLED: u32 = 4;
    pub(super) const TOKENS: u32 = 8;
    pub(super) const TIMED: u32 = 16;
    /// `replay` was decided: so.
    pub(super) const REPLAY: u32 = 32;
    /// The same: not.
    pub(super) const NO_REPLAY: u32 = 64;
    pub(super) const KEYED: u32 = 128;
}

/// A call of these flags and texts, and what else it has.
pub(super) fn call_spec(
    flags: u32,
    [method, params, meta]: [String; 3],
    [tool, id, token]: [Option<String>; 3],
    rare: Option<&str>,
) -> Result<CallSpec, ConfigError> {
    let has = |flag| flags & flag != 0;
    Ok(CallSpec {
        method,
        params,
        meta,
        tool,
        id,
        token,
        progress: has(flag::PROGRESS),
        idempotent: has(flag::IDEMPOTENT),
        reports_handling: has(flag::HANDLED),
        wants_tokens: has(flag::TOKENS),
        timed: has(flag::TIMED),
        keyed: has(flag::KEYED),
        replay: if has(flag::NO_REPLAY) { Some(false) } else { has(flag::REPLAY).then_some(true) },
        ..rare.map_or_else(|| Ok(CallSpec::default()), |rare| Object::read(rare).rare_call())?
    })
}

fn text(raw: &str) -> Option<String> {
    Some(string(raw)?.into_owned())
}
