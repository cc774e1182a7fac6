//! Options, validated, and what they are where they are not set. `tests/options.json` lists them: the tests below compare.

use super::backoff::{Backoff, BASE_MS, MOST_MS};
use super::era::{versions, EraOption};
use super::error::ConfigError;
use super::facts::SessionFacts;
use super::machines::redirect::RedirectPolicy;
use super::number::shown;
use super::replay::ReplayOption;
use super::timeouts::{at_most, positive, span, TimeoutOptions, Timeouts};

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
    /// The address of the server.
    pub endpoint: String,
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
    /// A call that its server answers by a task is carried to its end: `tasks`.
    pub tasks: bool,
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
    /// `limits.maxBufferedBytes`.
    pub max_buffered_bytes: Option<f64>,
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
    pub(crate) endpoint: String,
    pub(crate) era: EraOption,
    pub(crate) legacy_versions: Vec<String>,
    pub(crate) modern_versions: Vec<String>,
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
    pub(crate) tasks: bool,
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
    pub(crate) max_buffered_bytes: usize,
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
        let (modern_versions, legacy_versions) = versions(options.protocol_versions, options.era)?;
        positive("retry.baseMs", options.base_ms)?;
        positive("retry.maxMs", options.max_ms)?;
        let base = options.base_ms.unwrap_or_else(|| BASE_MS.min(options.max_ms.unwrap_or(f64::INFINITY)));
        let max = options.max_ms.unwrap_or_else(|| MOST_MS.max(base));
        at_most(("retry.baseMs", Some(base)), ("retry.maxMs", Some(max)))?;
        let max_event_bytes = count("limits.maxEventBytes", options.max_event_bytes, 1.0, 16 << 20)?;
        let max_body_bytes = count("limits.maxBodyBytes", options.max_body_bytes, 1.0, 16 << 20)?;
        Ok(Self {
            endpoint: options.endpoint,
            era: options.era,
            legacy_versions,
            modern_versions,
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
            tasks: options.tasks,
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
            max_event_bytes,
            max_body_bytes,
            max_buffered_bytes: count(
                "limits.maxBufferedBytes",
                options.max_buffered_bytes,
                1.0,
                max_body_bytes.max(max_event_bytes).max(64 << 20),
            )?,
            max_id_bytes: count("limits.maxIdBytes", options.max_id_bytes, 1.0, 1_024)?,
            max_questions: count("limits.maxQuestions", options.max_questions, 1.0, 16)?,
            redirects: options.redirects,
            terminate: !options.keep_session,
            full_diagnostics: options.full_diagnostics,
        })
    }
}

fn growth(factor: Option<f64>) -> Result<f64, ConfigError> {
    match factor {
        Some(factor) if !(factor.is_finite() && factor >= 1.0) => Err(ConfigError {
            option: "reconnectionOptions.reconnectionDelayGrowFactor",
            message: format!(
                "reconnectionDelayGrowFactor must be a finite number of at least 1, not {}",
                shown(factor)
            ),
        }),
        factor => Ok(factor.unwrap_or(2.0)),
    }
}

fn count(option: &'static str, value: Option<f64>, least: f64, default: usize) -> Result<usize, ConfigError> {
    match value {
        None => Ok(default),
        Some(value) if value.is_finite() && value >= least && value.fract() == 0.0 => Ok(value as usize),
        Some(value) => Err(ConfigError {
            option,
            message: format!(
                "{option} must be a whole number of at least {}, not {}",
                shown(least),
                shown(value)
            ),
        }),
    }
}

// serde_json is no dependency of a test in wasm.
#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use std::sync::LazyLock;

    use serde_json::{from_str, Value};

    use super::*;

    type Set = Vec<(&'static str, f64)>;

    fn table() -> &'static [Value] {
        static TABLE: LazyLock<Vec<Value>> =
            LazyLock::new(|| from_str(include_str!("../../tests/options.json")).expect("a list"));
        &TABLE
    }

    fn name_of(row: &Value) -> &str {
        row["core"].as_str().unwrap_or_default()
    }

    fn rows(kinds: &[&str]) -> Vec<Value> {
        let is_one = |row: &Value| kinds.iter().any(|kind| row["kind"] == *kind) && !name_of(row).is_empty();
        table().iter().filter(|row| is_one(row)).cloned().collect()
    }

    /// The options that are numbers, by the names that they cross under.
    fn options(set: &[(&'static str, f64)]) -> Options {
        let mut given = Options::default();
        for (name, value) in set {
            let (timeouts, value) = (&mut given.timeouts, Some(*value));
            match *name {
                "handshakeMs" => timeouts.handshake = value,
                "connectMs" => timeouts.connect = value,
                "firstByteMs" => timeouts.first_byte = value,
                "idleMs" => timeouts.idle = value,
                "callMs" => timeouts.call = value,
                "recoveryMs" => timeouts.recovery = value,
                "deadlineMs" => timeouts.deadline = value,
                "baseMs" => given.base_ms = value,
                "maxMs" => given.max_ms = value,
                "maxReissues" => given.max_reissues = value,
                "maxConcurrent" => given.max_concurrent = value,
                "maxQueued" => given.max_queued = value,
                "maxPendingEvents" => given.max_pending_events = value,
                "maxPendingBytes" => given.max_pending_bytes = value,
                "maxEventBytes" => given.max_event_bytes = value,
                "maxBodyBytes" => given.max_body_bytes = value,
                "maxIdBytes" => given.max_id_bytes = value,
                "maxQuestions" => given.max_questions = value,
                "maxBufferedBytes" => given.max_buffered_bytes = value,
                "maxStepUps" => given.max_step_ups = value,
                "maxRetries" => given.max_retries = value,
                "growFactor" => given.grow_factor = value,
                other => panic!("{other} is in the list of options, and not here"),
            }
        }
        given
    }

    /// What they are in force.
    fn in_force(config: &Config, timed: bool) -> Vec<(&'static str, Option<f64>)> {
        let ms = |span: std::time::Duration| Some(span.as_secs_f64() * 1_000.0);
        let count = |count: usize| Some(count as f64);
        let timeouts = config.timeout_options.derive(timed).expect("it was accepted");
        vec![
            ("handshakeMs", ms(timeouts.handshake)),
            ("connectMs", ms(timeouts.connect)),
            ("firstByteMs", ms(timeouts.first_byte)),
            ("idleMs", ms(timeouts.idle)),
            ("callMs", ms(timeouts.call)),
            ("recoveryMs", ms(timeouts.recovery)),
            ("deadlineMs", ms(timeouts.deadline)),
            ("baseMs", ms(config.backoff.base)),
            ("maxMs", ms(config.backoff.max)),
            ("maxReissues", count(config.max_reissues)),
            ("maxConcurrent", count(config.max_concurrent)),
            ("maxQueued", count(config.max_queued)),
            ("maxPendingEvents", count(config.max_pending_events)),
            ("maxPendingBytes", count(config.max_pending_bytes)),
            ("maxEventBytes", count(config.max_event_bytes)),
            ("maxBodyBytes", count(config.max_body_bytes)),
            ("maxIdBytes", count(config.max_id_bytes)),
            ("maxQuestions", count(config.max_questions)),
            ("maxBufferedBytes", count(config.max_buffered_bytes)),
            ("maxStepUps", count(config.max_step_ups)),
            ("maxRetries", config.max_retries.and_then(count)),
            ("growFactor", Some(config.backoff.growth)),
        ]
    }

    /// What the list says that an option is, where these are set.
    fn expected(default: &Value, set: &Set, timed: bool) -> Option<f64> {
        let known = |name: &str| set.iter().find(|(set, _)| *set == name).map(|(_, value)| *value);
        let Value::Array(parts) = default else {
            let Some(name) = default.as_str() else { return default.as_f64() };
            return match name.strip_suffix('?') {
                Some(name) => known(name),
                None => known(name).or_else(|| by_list(name, set, timed)),
            };
        };
        let mut values = parts[1..].iter().filter_map(|part| expected(part, set, timed));
        match parts[0].as_str() {
            Some("min") => values.reduce(f64::min),
            Some("max") => values.reduce(f64::max),
            Some("sum") => Some(values.sum()),
            Some("part") => Some(values.next()? / values.next()? * values.next()?),
            other => panic!("{other:?} is no rule of the list"),
        }
    }

    fn by_list(name: &str, set: &Set, timed: bool) -> Option<f64> {
        let row = table().iter().find(|row| name_of(row) == name).expect("an option of the list");
        let default = if timed && !row["timed"].is_null() { &row["timed"] } else { &row["default"] };
        expected(default, set, timed)
    }

    #[test]
    fn every_default_is_that_of_the_list_whatever_else_is_set() {
        let clocks = ["connectMs", "idleMs", "callMs", "recoveryMs", "deadlineMs", "baseMs", "maxMs"];
        let given = [None, Some(900.0), Some(7_000.0), Some(200_000.0)];
        let numbers = rows(&["ms", "count", "factor"]);
        assert_eq!(in_force(&Config::new(options(&[])).expect("no options"), false).len(), numbers.len());
        let mut seen = 0;
        for mut plan in 0..given.len().pow(7) {
            let mut set = Set::new();
            for clock in clocks {
                set.extend(given[plan % given.len()].map(|value| (clock, value)));
                plan /= given.len();
            }
            // So many at once say nothing new.
            let Some(config) = (set.len() <= 3).then(|| Config::new(options(&set)).ok()).flatten() else {
                continue;
            };
            seen += 1;
            for timed in [false, true] {
                for (name, value) in in_force(&config, timed) {
                    let never = timed && matches!(name, "callMs" | "firstByteMs");
                    if never && !set.iter().any(|(set, _)| *set == "callMs") {
                        assert!(value > Some(1e12), "{name} with {set:?}: whoever asks has a timer");
                        continue;
                    }
                    let listed = set.iter().find(|(set, _)| *set == name).map(|(_, value)| *value);
                    let listed = listed.or_else(|| by_list(name, &set, timed));
                    let near = value.zip(listed).is_none_or(|(is, said)| (is - said).abs() < 0.01);
                    assert!(
                        near && value.is_some() == listed.is_some(),
                        "{name} with {set:?}: {value:?}, not {listed:?}"
                    );
                }
            }
        }
        assert!(seen > 300, "{seen}");
    }

    #[test]
    fn options_are_bounded_by_one_another_as_the_list_says_and_by_nothing_else() {
        let numbers = rows(&["ms"]);
        let names: Vec<&'static str> = in_force(&Config::new(options(&[])).expect("no options"), false)
            .iter()
            .map(|(name, _)| *name)
            .collect();
        let of = |row: &Value| *names.iter().find(|name| **name == name_of(row)).expect("it is a number");
        for (small, large) in numbers.iter().flat_map(|small| numbers.iter().map(move |large| (small, large)))
        {
            let bounded = small["atMost"].as_array().is_some_and(|names| names.contains(&large["core"]));
            let with = |small_ms: f64| Config::new(options(&[(of(small), small_ms), (of(large), 800.0)]));
            if small == large {
                continue;
            }
            assert!(with(800.0).is_ok(), "{} may be {}", of(small), of(large));
            match with(801.0) {
                Ok(_) => assert!(!bounded, "{} passes {}", of(small), of(large)),
                Err(error) => {
                    assert!(bounded, "{error:?}");
                    let named = |row: &Value| error.message.contains(of(row));
                    assert!(named(small) && named(large) && error.option.ends_with(of(small)), "{error:?}");
                }
            }
        }
    }

    #[test]
    fn numbers_are_bounded_as_the_list_says() {
        for row in rows(&["ms", "count", "factor"]) {
            let config = Config::new(options(&[])).expect("no options");
            let all = in_force(&config, false);
            let name = all.iter().find(|(name, _)| *name == name_of(&row)).expect("it is a number").0;
            let least = row["least"].as_f64();
            let mut refused = vec![f64::NAN, f64::INFINITY, -1.0];
            refused.extend(least.map(|least| least - 0.5));
            refused.extend((row["kind"] == "ms").then_some(0.0));
            refused.extend((row["kind"] == "count").then_some(2.5));
            for value in refused {
                let error = Config::new(options(&[(name, value)])).expect_err(name);
                let option = row["option"].as_str().unwrap_or_default();
                assert_eq!(option.trim_start_matches("timeouts."), error.option, "{value}");
                let last = option.rsplit('.').next().expect("it has a name");
                assert!(error.message.contains(last), "{error:?}");
            }
            let accepted = least.unwrap_or(0.001);
            assert!(Config::new(options(&[(name, accepted)])).is_ok(), "{name} {accepted}");
        }
    }

    #[test]
    fn words_are_those_of_the_list() {
        let accepts = |name: &str, word: &str| match name {
            "replay" => ReplayOption::parse(word).map(|replay| replay == ReplayOption::default()),
            "onGap" => OnGap::parse(word).map(|on_gap| on_gap == OnGap::default()),
            "era" => EraOption::parse(word).map(|era| era == EraOption::default()),
            "redirects" => RedirectPolicy::parse(word).map(|policy| policy == RedirectPolicy::default()),
            "onSessionLost" => Ok(word == "replace"),
            other => panic!("{other} is in the list of options, and not here"),
        };
        for row in rows(&["word"]) {
            let words = |key: &str| row[key].as_array().cloned().unwrap_or_default();
            for word in words("words").iter().filter_map(Value::as_str) {
                assert_eq!(accepts(name_of(&row), word), Ok(row["default"] == word), "{row} {word}");
            }
            for word in words("also").iter().filter_map(Value::as_str) {
                assert_eq!(
                    accepts(name_of(&row), word),
                    Ok(true),
                    "{row} {word}: another name of the default"
                );
            }
        }
        let [row] = &rows(&["words"])[..] else { panic!("one option is a list of words") };
        let all = |key: &str| from_str::<Vec<String>>(&row[key].to_string()).expect("words");
        let fits = |wanted, era| versions(wanted, era).map(|(modern, legacy)| [modern, legacy].concat());
        assert_eq!(fits(None, EraOption::Auto), Ok(all("default")));
        assert_eq!(fits(Some(all("words")), EraOption::Auto), Ok(all("words")));
        for (version, auto, legacy, modern) in [
            ("2024-11-05", false, false, false),
            ("2025-11-25", true, true, false),
            ("2026-07-28", true, false, true),
        ] {
            for (era, speaks) in
                [(EraOption::Auto, auto), (EraOption::Legacy, legacy), (EraOption::Modern, modern)]
            {
                assert_eq!(fits(Some(vec![version.to_string()]), era).is_ok(), speaks, "{version} {era:?}");
            }
        }
    }
}
