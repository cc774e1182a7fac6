//! What a run did, as a hash to compare and, where wanted, as lines to read.

use std::fmt::{self, Write as _};

use landfall::proto::{Client, Event, Input, Instant, Output, Settlement};

use super::agenda::{Rng, Time};

pub(crate) struct Trace {
    hash: u64,
    lines: Option<Vec<String>>,
}

impl fmt::Write for Trace {
    /// FNV-1a.
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
        Ok(())
    }
}

impl Trace {
    pub(crate) fn new(logging: bool) -> Self {
        Self { hash: 0xCBF2_9CE4_8422_2325, lines: logging.then(Vec::new) }
    }

    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }

    fn mix(&mut self, number: u64) {
        self.hash = Rng::new(self.hash ^ number).next();
    }

    /// A line for a reader; it costs nothing where none reads.
    pub(crate) fn line(&mut self, now: Time, what: &str, write: impl FnOnce(&mut String) -> fmt::Result) {
        let Some(lines) = &mut self.lines else { return };
        let mut line = format!("{:>10.3} {what}", (now as f64 - 1e9) / 1e3);
        write(&mut line).expect("a string takes all");
        lines.push(line);
    }

    pub(crate) fn input(&mut self, now: Time, input: &Input<'_>) {
        self.mix(now);
        self.line(now, "  > ", |line| match input {
            Input::Head(exchange, head) => write!(
                line,
                "Head({exchange:?}, {} {:?} {:?} {:?})",
                head.status, head.content_type, head.session_id, head.retry_after
            ),
            Input::Body(exchange, bytes) => {
                write!(line, "Body({exchange:?}, {:?})", String::from_utf8_lossy(bytes))
            }
            other => write!(line, "{other:?}"),
        });
    }

    pub(crate) fn wake(&mut self, at: Option<Instant>) {
        self.mix(at.map_or(0, super::world::micros));
    }

    pub(crate) fn output(&mut self, now: Time, output: &Output, client: &Client) {
        // A failure holds every attempt: its debug text is long, and says little more than this.
        match output {
            Output::Settle(call, at, Settlement::Failed(failure)) => {
                let (reason, outcome, attempts) =
                    (failure.reason, failure.outcome, failure.diagnostics.attempts.len());
                let _ = write!(self, "{call:?}{at:?}{reason:?}{outcome:?}{attempts}");
            }
            Output::Settle(call, at, Settlement::Result { message, .. }) => {
                let _ = write!(self, "{call:?}{at:?}{}", client.text(*message));
            }
            Output::Event(call, at, Event::Message { message, .. } | Event::Progress { message, .. }) => {
                let _ = write!(self, "{call:?}{at:?}{}", client.text(*message));
            }
            other => {
                let _ = write!(self, "{other:?}");
            }
        }
        self.line(now, "    < ", |line| match output {
            Output::Settle(call, _, Settlement::Failed(failure)) => {
                write!(
                    line,
                    "Failed({call:?}, {:?}, {:?}, {})",
                    failure.reason, failure.outcome, failure.text
                )
            }
            Output::Settle(call, _, Settlement::Result { message, .. }) => {
                write!(line, "Result({call:?}, {})", client.text(*message))
            }
            Output::Event(call, _, Event::Message { message, .. } | Event::Progress { message, .. }) => {
                write!(line, "Message({call:?}, {})", client.text(*message))
            }
            Output::Transmit(exchange, request) => {
                let has_name = |name: &str| matches!(name, "mcp-session-id" | "last-event-id");
                let told: Vec<_> = request.headers.iter().filter(|(name, _)| has_name(name)).collect();
                let body = request.body.as_deref().unwrap_or_default();
                write!(
                    line,
                    "Transmit({exchange:?}, {:?}, {:?} {told:?} {body})",
                    request.call, request.method
                )
            }
            other => write!(line, "{other:?}"),
        });
    }
}
