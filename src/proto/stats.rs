//! Metrics: counters and fixed-size histograms. Their shape is the public one.

use serde::Serialize;

use super::error::{Outcome, Reason};
use super::event::DropCause;
use super::sorted::SortedMap;

/// A snapshot of the counters since the start or the last reset.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Metrics {
    /// Calls made.
    pub calls: u64,
    /// Calls that got an answer.
    pub answered: u64,
    /// Calls that failed after at least one attempt to recover.
    pub exhausted: u64,
    /// Failures by reason.
    pub failed: SortedMap<Reason, u64>,
    /// Failures by what is known of the execution.
    pub outcomes: Outcomes,
    /// Streams lost, by cause.
    pub drops: Drops,
    /// Polite closes that were waited out.
    pub polls: u64,
    /// Times the server did not know the session.
    pub session_mismatches: u64,
    /// Data events.
    pub events: u64,
    /// Repeats dropped.
    pub duplicates: u64,
    /// Responses dropped: they came after their call had ended, or answer nothing. No part of the public shape, and no
    /// repeats: nothing of theirs was delivered before.
    #[serde(skip)]
    pub unmatched: u64,
    /// Gaps reported.
    pub gaps: u64,
    /// Events whose handler failed for good.
    pub skipped: u64,
    /// Requests sent again.
    pub reissues: u64,
    /// Bytes of bodies.
    pub bytes: u64,
    /// Resumes.
    pub resumes: Resumes,
    /// Rungs of the ladder.
    pub levels: Levels,
    /// Questions to the session.
    pub probes: Probes,
    /// Distributions.
    pub histograms: Histograms,
}

/// Failures by what is known of the execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Outcomes {
    pub not_sent: u64,
    pub rejected: u64,
    pub unknown: u64,
}

/// Streams lost, by cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Drops {
    pub end: u64,
    pub network: u64,
    pub idle: u64,
    pub first_byte: u64,
    pub status: u64,
    pub session: u64,
}

/// Resumes by what they brought.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Resumes {
    /// GETs made.
    pub tried: u64,
    /// Those that brought something new.
    pub hit: u64,
    /// Those that opened and brought nothing new.
    pub empty: u64,
    /// Those refused, by status.
    pub refused: SortedMap<String, u64>,
}

/// How often a rung was tried, and how often it helped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Tried {
    pub tried: u64,
    pub won: u64,
}

/// The rungs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct Levels {
    #[serde(rename = "L1")]
    pub l1: Tried,
    #[serde(rename = "L2")]
    pub l2: Tried,
}

/// Questions whether the session lives, by what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)]
pub struct Probes {
    pub asked: u64,
    pub answered: u64,
    pub refused: u64,
    pub timed_out: u64,
}

/// Distributions, in milliseconds, but `replayed`: events.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Histograms {
    /// From call to outcome.
    pub call_ms: Histogram,
    /// From the headers of a stream to its end.
    pub stream_ms: Histogram,
    /// New and repeated events at the start of a resume.
    pub replayed: Histogram,
    /// From a drop to the next new event.
    pub recover_ms: Histogram,
    /// From a call's POST to its headers.
    pub first_byte_ms: Histogram,
}

/// Four buckets per power of two, from 2^-3 up to 2^29 (six days in milliseconds).
const BUCKETS: usize = 128;
const LOWEST: f64 = 0.125;

/// A distribution of fixed size: its percentiles are upper bounds of buckets, at most 19 % too high.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    count: u64,
    sum: f64,
    max: f64,
    buckets: Box<[u32; BUCKETS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, max: 0.0, buckets: Box::new([0; BUCKETS]) }
    }
}

impl Histogram {
    /// Counts a value; negative ones and NaN count as 0.
    pub fn record(&mut self, value: f64) {
        let value = value.max(0.0);
        self.count += 1;
        self.sum += value;
        self.max = self.max.max(value);
        self.buckets[Self::bucket(value)] += 1;
    }

    /// The bucket by the float's own exponent and two bits of its fraction: no logarithm is needed.
    fn bucket(value: f64) -> usize {
        let quarters = |value: f64| (value.to_bits() >> 50) as usize;
        quarters(value.max(LOWEST)).saturating_sub(quarters(LOWEST)).min(BUCKETS - 1)
    }

    /// An upper bound of the smallest value that so large a part of all values does not exceed.
    pub fn percentile(&self, part: f64) -> f64 {
        let wanted = (self.count as f64 * part).ceil() as u64;
        let mut counted = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            counted += u64::from(*count);
            if counted >= wanted && counted > 0 && bucket < BUCKETS - 1 {
                let bits = (LOWEST.to_bits() >> 50) + bucket as u64 + 1;
                return f64::from_bits(bits << 50).min(self.max);
            }
        }
        self.max
    }
}

impl Serialize for Histogram {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Histogram", 6)?;
        fields.serialize_field("count", &self.count)?;
        fields.serialize_field("sum", &self.sum)?;
        fields.serialize_field("p50", &self.percentile(0.5))?;
        fields.serialize_field("p90", &self.percentile(0.9))?;
        fields.serialize_field("p99", &self.percentile(0.99))?;
        fields.serialize_field("max", &self.max)?;
        fields.end()
    }
}

impl Metrics {
    pub(crate) fn on_failed(&mut self, reason: Reason, outcome: Outcome, recovered: bool) {
        *self.failed.or_default(reason) += 1;
        *match outcome {
            Outcome::NotSent => &mut self.outcomes.not_sent,
            Outcome::Rejected => &mut self.outcomes.rejected,
            Outcome::Unknown => &mut self.outcomes.unknown,
        } += 1;
        self.exhausted += u64::from(recovered);
    }

    pub(crate) fn on_drop(&mut self, cause: DropCause) {
        *match cause {
            DropCause::End => &mut self.drops.end,
            DropCause::Network => &mut self.drops.network,
            DropCause::Idle => &mut self.drops.idle,
            DropCause::FirstByte => &mut self.drops.first_byte,
            DropCause::Status => &mut self.drops.status,
            DropCause::Session => &mut self.drops.session,
        } += 1;
    }

    pub(crate) fn on_refused(&mut self, status: u16) {
        *self.resumes.refused.or_default(status.to_string()) += 1;
    }
}
