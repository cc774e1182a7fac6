//! Options, validated. What is not set follows what is set (ARCHITECTURE.md, "Clocks").

use std::time::Duration;

use super::backoff::{Backoff, BASE_MS, MOST_MS};
use super::era::{EraOption, LEGACY_VERSIONS};
use super::error::ConfigError;
use super::facts::SessionFacts;
use super::machines::redirect::RedirectPolicy;
use super::replay::ReplayOption;

/// The clocks as the user set them, in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeoutOptions {
    /// `handshakeMs`.
    pub handshake: Option<f64>,
    /// `connectMs`.
    pub connect: Option<f64>,
    /// `firstByteMs`.
    pub first_byte: Option<f64>,
    /// `idleMs`.
    pub idle: Option<f64>,
    /// `callMs`.
    pub call: Option<f64>,
    /// `recoveryMs`.
    pub recovery: Option<f64>,
    /// `deadlineMs`.
    pub deadline: Option<f64>,
}

impl TimeoutOptions {
    /// These options, and `base` where they say nothing.
    pub(crate) fn over(&self, base: &Self) -> Self {
        Self {
            handshake: self.handshake.or(base.handshake),
            connect: self.connect.or(base.connect),
            first_byte: self.first_byte.or(base.first_byte),
            idle: self.idle.or(base.idle),
            call: self.call.or(base.call),
            recovery: self.recovery.or(base.recovery),
            deadline: self.deadline.or(base.deadline),
        }
    }

    fn named(&self) -> [(&'static str, Option<f64>); 7] {
        [
            ("handshakeMs", self.handshake),
            ("connectMs", self.connect),
            ("firstByteMs", self.first_byte),
            ("idleMs", self.idle),
            ("callMs", self.call),
            ("recoveryMs", self.recovery),
            ("deadlineMs", self.deadline),
        ]
    }

    /// Checks each value, then the relations among those that were set.
    fn check(&self) -> Result<(), ConfigError> {
        for (option, value) in self.named() {
            positive(option, value)?;
        }
        let pairs = [
            ("connectMs", self.connect, "idleMs", self.idle, true),
            ("callMs", self.call, "recoveryMs", self.recovery, false),
            ("recoveryMs", self.recovery, "deadlineMs", self.deadline, true),
            ("callMs", self.call, "deadlineMs", self.deadline, true),
        ];
        for (small_name, small, large_name, large, strict) in pairs {
            let (Some(small), Some(large)) = (small, large) else { continue };
            if small > large || (strict && small == large) {
                let relation = if strict { "less than" } else { "at most" };
                return Err(ConfigError {
                    option: small_name,
                    message: format!(
                        "{small_name} ({small} ms) must be {relation} {large_name} ({large} ms)"
                    ),
                });
            }
        }
        Ok(())
    }

    /// The clocks in force. `timed`: whoever makes the call has a timer of its own.
    pub(crate) fn derive(&self, timed: bool) -> Result<Timeouts, ConfigError> {
        self.check()?;
        let half_deadline = self.deadline.map_or(f64::INFINITY, |deadline| deadline / 2.0);
        let call = self
            .call
            .unwrap_or_else(|| 120_000f64.min(self.recovery.unwrap_or(f64::INFINITY)).min(half_deadline));
        let recovery = self.recovery.unwrap_or_else(|| call.max(120_000f64.min(half_deadline)));
        let longest = if timed { 3_600_000f64 } else { 600_000.0 };
        let deadline = self.deadline.unwrap_or_else(|| longest.max(call + recovery));
        let idle = self.idle.unwrap_or_else(|| 45_000f64.min(call * 2.0 / 3.0));
        let patience = if timed && self.call.is_none() { f64::INFINITY } else { call };
        Ok(Timeouts {
            silence_counts: !timed || self.recovery.is_some(),
            handshake: span(self.handshake.unwrap_or_else(|| 30_000f64.min(deadline))),
            connect: span(self.connect.unwrap_or_else(|| 5_000f64.min(idle / 4.0))),
            first_byte: span(self.first_byte.unwrap_or(patience)),
            idle: span(idle),
            call: span(patience),
            recovery: span(recovery),
            deadline: span(deadline),
        })
    }
}

/// The clocks in force, for the transport or one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    pub(crate) handshake: Duration,
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) idle: Duration,
    pub(crate) call: Duration,
    pub(crate) recovery: Duration,
    pub(crate) deadline: Duration,
    /// A stream that is silent, and of which nothing can be learned, fails its call after `recovery`.
    pub(crate) silence_counts: bool,
}

impl Timeouts {
    /// A stream that stays open for as long as its server likes.
    pub(crate) fn endless(self) -> Self {
        let never = span(f64::INFINITY);
        Self { first_byte: never, call: never, deadline: never, ..self }
    }
}

/// What to do at a certain gap.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum OnGap {
    /// Report it and go on.
    #[default]
    Continue,
    /// Send the call again where that is safe, else fail it.
    Reissue,
    /// Fail the call.
    Fail,
}

impl OnGap {
    /// Reads the option.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, ConfigError> {
        match name {
            "continue" => Ok(Self::Continue),
            "reissue" => Ok(Self::Reissue),
            "fail" => Ok(Self::Fail),
            other => Err(ConfigError {
                option: "onGap",
                message: format!("onGap: \"{other}\" is none of \"continue\", \"reissue\", \"fail\""),
            }),
        }
    }
}

/// The options of a client as its host read them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// `era`.
    pub era: EraOption,
    /// `protocolVersions`, preferred first; `None` for all that this version speaks.
    pub protocol_versions: Option<Vec<String>>,
    /// `clientInfo`, as JSON text.
    pub client_info: String,
    /// `capabilities`, as JSON text.
    pub capabilities: String,
    /// `timeouts`.
    pub timeouts: TimeoutOptions,
    /// `retry.baseMs`.
    pub base_ms: Option<f64>,
    /// `retry.maxMs`.
    pub max_ms: Option<f64>,
    /// `retry.maxReissues`.
    pub max_reissues: Option<f64>,
    /// `replay`.
    pub replay: ReplayOption,
    /// `onSessionLost: "fail"`.
    pub fail_lost_session: bool,
    /// The endpoint is of another origin than the page: fetch hides why it rejects.
    pub cross_origin: bool,
    /// `onGap`.
    pub on_gap: OnGap,
    /// `limits.maxPending.events`.
    pub max_pending_events: Option<f64>,
    /// `limits.maxPending.bytes`.
    pub max_pending_bytes: Option<f64>,
    /// A session that another client began: go on with it instead of a handshake.
    pub resume: Option<SessionFacts>,
    /// The session is an SDK's Client's, which does the handshake itself: its messages are carried.
    pub carry: bool,
    /// Keep a GET stream open for what belongs to no call.
    pub listen: bool,
    /// There is a provider of credentials.
    pub auth: bool,
    /// How often one call asks for more scope.
    pub max_step_ups: Option<f64>,
    /// `reconnectionOptions.maxRetries`: resumes in a row that bring nothing.
    pub max_retries: Option<f64>,
    /// `reconnectionOptions.reconnectionDelayGrowFactor`.
    pub grow_factor: Option<f64>,
    /// The host ends the waits before resumes, by [`Client::reconnect`](super::Client::reconnect).
    pub scheduler: bool,
    /// `limits.maxConcurrent`.
    pub max_concurrent: Option<f64>,
    /// It bounds those that wait for headers, as in workerd; else bodies count, too.
    pub until_headers: bool,
    /// `limits.maxQueued`.
    pub max_queued: Option<f64>,
    /// `limits.maxEventBytes`.
    pub max_event_bytes: Option<f64>,
    /// `limits.maxBodyBytes`.
    pub max_body_bytes: Option<f64>,
    /// `limits.maxIdBytes`.
    pub max_id_bytes: Option<f64>,
    /// `limits.maxQuestions`.
    pub max_questions: Option<f64>,
    /// `redirectPolicy`.
    pub redirects: RedirectPolicy,
    /// `terminateSessionOnClose: false`.
    pub keep_session: bool,
    /// `diagnostics: "full"`.
    pub full_diagnostics: bool,
}

/// Validated options.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) versions: Vec<String>,
    pub(crate) client_info: String,
    pub(crate) capabilities: String,
    pub(crate) timeout_options: TimeoutOptions,
    pub(crate) timeouts: Timeouts,
    pub(crate) backoff: Backoff,
    pub(crate) max_reissues: usize,
    pub(crate) replay: ReplayOption,
    pub(crate) replace_session: bool,
    pub(crate) cross_origin: bool,
    pub(crate) on_gap: OnGap,
    pub(crate) max_pending_events: usize,
    pub(crate) max_pending_bytes: usize,
    pub(crate) resume: Option<SessionFacts>,
    pub(crate) carry: bool,
    pub(crate) listen: bool,
    pub(crate) auth: bool,
    pub(crate) max_step_ups: usize,
    pub(crate) max_retries: Option<usize>,
    pub(crate) scheduler: bool,
    pub(crate) max_concurrent: usize,
    pub(crate) until_headers: bool,
    pub(crate) max_queued: usize,
    pub(crate) max_event_bytes: usize,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_id_bytes: usize,
    pub(crate) max_questions: usize,
    pub(crate) redirects: RedirectPolicy,
    pub(crate) terminate: bool,
    pub(crate) full_diagnostics: bool,
}

const MAX_RETRIES: &str = "reconnectionOptions.maxRetries";
/// One slot is for control traffic, so a call needs a second one.
const LEAST_CONCURRENT: f64 = 2.0;

impl Config {
    /// Checks the options and fills in what they leave open.
    ///
    /// # Errors
    /// The first option that is out of range or contradicts another, by name.
    pub fn new(options: Options) -> Result<Self, ConfigError> {
        let timeouts = options.timeouts.derive(false)?;
        positive("retry.baseMs", options.base_ms)?;
        positive("retry.maxMs", options.max_ms)?;
        let base = options.base_ms.unwrap_or_else(|| BASE_MS.min(options.max_ms.unwrap_or(f64::INFINITY)));
        let max = options.max_ms.unwrap_or_else(|| MOST_MS.max(base));
        if base > max {
            let message = format!("retry.baseMs ({base} ms) must be at most retry.maxMs ({max} ms)");
            return Err(ConfigError { option: "retry.baseMs", message });
        }
        Ok(Self {
            versions: versions(options.protocol_versions)?,
            client_info: options.client_info,
            capabilities: options.capabilities,
            timeout_options: options.timeouts,
            timeouts,
            backoff: Backoff { base: span(base), max: span(max), growth: growth(options.grow_factor)? },
            max_reissues: count("retry.maxReissues", options.max_reissues, 0.0, 2)?,
            replay: options.replay,
            replace_session: !options.fail_lost_session,
            cross_origin: options.cross_origin,
            on_gap: options.on_gap,
            max_pending_events: count("limits.maxPending.events", options.max_pending_events, 1.0, 256)?,
            max_pending_bytes: count("limits.maxPending.bytes", options.max_pending_bytes, 1.0, 4 << 20)?,
            resume: options.resume,
            carry: options.carry,
            listen: options.listen,
            auth: options.auth,
            max_step_ups: count("maxStepUpRetries", options.max_step_ups, 0.0, 1)?,
            max_retries: options
                .max_retries
                .map(|most| count(MAX_RETRIES, Some(most), 0.0, 0))
                .transpose()?,
            scheduler: options.scheduler,
            max_concurrent: count("limits.maxConcurrent", options.max_concurrent, LEAST_CONCURRENT, 32)?,
            until_headers: options.until_headers,
            max_queued: count("limits.maxQueued", options.max_queued, 0.0, 1_000)?,
            max_event_bytes: count("limits.maxEventBytes", options.max_event_bytes, 1.0, 16 << 20)?,
            max_body_bytes: count("limits.maxBodyBytes", options.max_body_bytes, 1.0, 16 << 20)?,
            max_id_bytes: count("limits.maxIdBytes", options.max_id_bytes, 1.0, 1_024)?,
            max_questions: count("limits.maxQuestions", options.max_questions, 1.0, 16)?,
            redirects: options.redirects,
            terminate: !options.keep_session,
            full_diagnostics: options.full_diagnostics,
        })
    }
}

fn versions(wanted: Option<Vec<String>>) -> Result<Vec<String>, ConfigError> {
    let Some(wanted) = wanted else { return Ok(LEGACY_VERSIONS.map(String::from).to_vec()) };
    let unknown = wanted.iter().find(|version| !LEGACY_VERSIONS.contains(&version.as_str()));
    let message = match unknown {
        Some(version) => format!("protocolVersions: \"{version}\" is none of {}", LEGACY_VERSIONS.join(", ")),
        None if wanted.is_empty() => "protocolVersions is empty".to_string(),
        None => return Ok(wanted),
    };
    Err(ConfigError { option: "protocolVersions", message })
}

fn growth(factor: Option<f64>) -> Result<f64, ConfigError> {
    match factor {
        Some(factor) if !(factor.is_finite() && factor >= 1.0) => Err(ConfigError {
            option: "reconnectionOptions.reconnectionDelayGrowFactor",
            message: format!(
                "reconnectionDelayGrowFactor must be a finite number of at least 1, not {factor}"
            ),
        }),
        factor => Ok(factor.unwrap_or(2.0)),
    }
}

fn positive(option: &'static str, value: Option<f64>) -> Result<(), ConfigError> {
    match value {
        Some(value) if !(value.is_finite() && value > 0.0) => Err(ConfigError {
            option,
            message: format!("{option} must be a finite number of milliseconds above 0, not {value}"),
        }),
        _ => Ok(()),
    }
}

fn count(option: &'static str, value: Option<f64>, least: f64, default: usize) -> Result<usize, ConfigError> {
    match value {
        None => Ok(default),
        Some(value) if value.is_finite() && value >= least && value.fract() == 0.0 => Ok(value as usize),
        Some(value) => Err(ConfigError {
            option,
            message: format!("{option} must be a whole number of at least {least}, not {value}"),
        }),
    }
}

/// Milliseconds to a duration; what passes the range of a clock is a wait for ever.
fn span(ms: f64) -> Duration {
    Duration::from_micros((ms * 1_000.0) as u64)
}
