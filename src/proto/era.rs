//! Which protocol the endpoint speaks.
//!
//! Three eras exist: legacy Streamable HTTP (2025-03-26 to 2025-11-25), modern (2026-07-28), and HTTP+SSE
//! (2024-11-05).

use serde::Serialize;

use super::error::ConfigError;

/// The versions that a legacy client may offer and accept, the newest first.
pub(crate) const LEGACY_VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// Those that need no handshake, the newest first.
pub(crate) const MODERN_VERSIONS: [&str; 1] = ["2026-07-28"];

/// What a server of Streamable HTTP may answer that knows no later version. It is of another era, and no header names it.
pub(crate) const OLD_VERSION: &str = "2024-11-05";

/// The era of a message, or of a session.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Era {
    /// 2025-03-26 to 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
    /// 2024-11-05, HTTP+SSE.
    Sse,
}

impl Era {
    /// As the diagnostics name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Legacy => "legacy",
            Self::Modern => "modern",
            Self::Sse => "sse",
        }
    }

    /// The era of that name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Legacy, Self::Modern, Self::Sse].into_iter().find(|era| era.name() == name)
    }
}

/// The option `era`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum EraOption {
    /// Find out: the era in which a call survives most of what may happen comes first.
    #[default]
    Auto,
    /// `initialize`, nothing else.
    Legacy,
    /// `server/discover`, nothing else.
    Modern,
    /// A GET for an `endpoint` event, nothing else.
    Sse,
}

impl EraOption {
    /// Reads the option. `"resumable"` was a name of `"auto"`.
    ///
    /// # Errors
    /// The name is unknown.
    pub fn parse(name: &str) -> Result<Self, ConfigError> {
        match name {
            "auto" | "resumable" => Ok(Self::Auto),
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            "sse" => Ok(Self::Sse),
            other => Err(ConfigError {
                option: "era",
                message: format!("era: \"{other}\" is none of \"auto\", \"legacy\", \"modern\", \"sse\""),
            }),
        }
    }
}

/// The modern versions, and the legacy ones.
pub(crate) type Versions = (Vec<String>, Vec<String>);

/// The versions that may be spoken. One of the era that is asked for has to be among them.
pub(crate) fn versions(wanted: Option<Vec<String>>, era: EraOption) -> Result<Versions, ConfigError> {
    let all = || MODERN_VERSIONS.into_iter().chain(LEGACY_VERSIONS);
    let wanted = wanted.unwrap_or_else(|| all().map(String::from).collect());
    let unknown = wanted.iter().find(|wanted| all().all(|version| version != *wanted)).cloned();
    let is_empty = wanted.is_empty();
    let is_modern = |version: &String| MODERN_VERSIONS.contains(&version.as_str());
    let (modern, legacy): Versions = wanted.into_iter().partition(is_modern);
    let message = match (unknown, era) {
        (Some(version), _) => {
            format!("protocolVersions: \"{version}\" is none of {}", all().collect::<Vec<_>>().join(", "))
        }
        _ if is_empty => "protocolVersions is empty".to_string(),
        (None, EraOption::Modern) if modern.is_empty() => {
            "protocolVersions has none of era \"modern\"".to_string()
        }
        // HTTP+SSE agrees on one of these, too.
        (None, EraOption::Legacy | EraOption::Sse) if legacy.is_empty() => {
            "protocolVersions has none of era \"legacy\"".to_string()
        }
        (None, EraOption::Auto | EraOption::Modern | EraOption::Legacy | EraOption::Sse) => {
            return Ok((modern, legacy))
        }
    };
    Err(ConfigError { option: "protocolVersions", message })
}
