//! Reasons and outcomes: why a call ended without an answer, and what is known of its execution.

use serde::Serialize;

/// Why a call ended without an answer. The serialized name is the `reason` that programs act on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Reason {
    /// The handshake was not done within `handshakeMs`.
    ConnectTimeout,
    /// The call's POST got no headers within `firstByteMs`.
    FirstByteTimeout,
    /// The stream fell silent and could not be brought back until `recoveryMs`.
    IdleTimeout,
    /// `callMs` without progress or message while an exchange was open.
    CallTimeout,
    /// The call had a cursor, and resumes failed or brought nothing new until `recoveryMs`.
    RecoveryExhausted,
    /// `deadlineMs` passed, and nothing above was pending.
    DeadlineExceeded,
    /// A server's `retry` or `Retry-After` passes the clock that bounds it.
    RetryExceedsBudget,
    /// Fetch rejected the POST before headers, and it may not be sent again.
    NetworkError,
    /// The stream ended without a usable cursor, and the call may not be re-issued.
    StreamLost,
    /// The cursor was refused for good while the session lives.
    ResumeRejected,
    /// The session is dead, and the call may not be re-issued.
    SessionLost,
    /// Events are missing, and the caller does not want to go on without them.
    Gap,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// Any other final status of the POST.
    HttpError,
    /// A redirect that may not be followed.
    Redirected,
    /// 2xx of another type, a 202 with nobody listening, an empty array.
    UnexpectedContent,
    /// No mutual protocol version.
    UnsupportedVersion,
    /// The answer is no JSON or has neither result nor error, or the handshake carried an illegal value.
    MalformedResponse,
    /// A named limit was passed.
    MessageTooLarge,
    /// The server breaks the protocol, refused the handshake, or wants input that is not to be had.
    ProtocolError,
    /// The server does not know the task any more.
    TaskLost,
    /// The server cancelled the task.
    TaskCancelled,
    /// More calls wait than `limits.maxQueued`.
    QueueFull,
    /// The caller cancelled.
    Cancelled,
    /// The session was closed.
    Closed,
    /// A defect of ours.
    InternalError,
}

impl Reason {
    /// Whether we gave up on a call that the server may still work for: neither did it answer or refuse, nor is it gone.
    pub(crate) fn gave_up(self) -> bool {
        match self {
            Self::Cancelled
            | Self::DeadlineExceeded
            | Self::CallTimeout
            | Self::FirstByteTimeout
            | Self::IdleTimeout
            | Self::RecoveryExhausted
            | Self::RetryExceedsBudget
            | Self::StreamLost
            | Self::ResumeRejected
            | Self::Gap
            | Self::MessageTooLarge => true,
            Self::ConnectTimeout
            | Self::NetworkError
            | Self::SessionLost
            | Self::Unauthorized
            | Self::Forbidden
            | Self::HttpError
            | Self::Redirected
            | Self::UnexpectedContent
            | Self::UnsupportedVersion
            | Self::MalformedResponse
            | Self::ProtocolError
            | Self::TaskLost
            | Self::TaskCancelled
            | Self::QueueFull
            | Self::Closed
            | Self::InternalError => false,
        }
    }
}

/// What is known of the execution of a call that ended without an answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The request never left.
    NotSent,
    /// The server refused the request before executing it.
    Rejected,
    /// It may have been executed.
    Unknown,
}

/// Options that contradict each other, or a value out of range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// The option at fault, by its public name.
    pub option: &'static str,
    /// What is wrong, with the values.
    pub message: String,
}
