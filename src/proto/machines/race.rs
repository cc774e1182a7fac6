//! The race: a body fell silent, and a resume is opened beside it. The first to bring data wins.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::proto::http::ResponseHead;
use crate::proto::machines::redirect::Verdict;
use crate::proto::sse::{Decoder, Item};
use crate::proto::stream::Headers;
use crate::proto::ExchangeId;

/// A silent stream of a living session gets this many times its `idleMs` at most.
const MOST_PATIENCE: u32 = 4;

/// How one stream bears its silences.
pub(crate) struct Race {
    /// How many times its `idleMs` it may be silent.
    patience: u32,
    /// Its body is suspect: no byte within `idleMs`.
    silent: bool,
    /// Its clock is almost over: one last resume is wanted.
    last: bool,
    /// The resume that is under way beside it.
    hedge: Option<Hedge>,
}

/// A resume that was opened beside a silent body.
pub(crate) struct Hedge {
    pub(crate) exchange: ExchangeId,
    /// What it brought so far.
    pub(crate) bytes: Vec<u8>,
    pub(crate) stage: Stage,
    /// An id came that moves the cursor, should it win.
    moved: bool,
}

/// How far a resume is.
pub(crate) enum Stage {
    /// No headers yet.
    Opening(Headers),
    /// It counts as open, and its headers are still to come.
    Quiet,
    /// It is read, by what looks for data.
    Open(Decoder),
}

/// How the race stands after something came on the resume.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is open, and nothing is decided.
    Open,
    /// It brought data: the old body is given up, and it is read in its place.
    Won,
    /// The same, and it was closed politely: it moved the cursor and ended.
    WonAndOver,
    /// The server still holds the old body: that is kept where bytes of it come, else given up and resumed.
    Held,
    /// It is refused: the old body is kept, and the session asked.
    Lost,
    /// It says nothing: it is tried again.
    Again,
}

impl Race {
    pub(crate) fn new() -> Self {
        Self { patience: 1, silent: false, last: false, hedge: None }
    }

    /// How long its body may be silent.
    pub(crate) fn patience(&self, idle: Duration) -> Duration {
        idle * self.patience
    }

    /// No byte came for so long.
    pub(crate) fn falls_silent(&mut self) {
        self.silent = true;
    }

    /// The call ends soon.
    pub(crate) fn wants_last(&mut self) {
        self.last = true;
    }

    /// Whether the body is suspect.
    pub(crate) fn is_silent(&self) -> bool {
        self.silent
    }

    /// Whether a resume is wanted, and none is under way.
    pub(crate) fn may_begin(&self) -> bool {
        (self.silent || self.last) && self.hedge.is_none()
    }

    /// This resume was sent.
    pub(crate) fn begins(&mut self, exchange: ExchangeId) {
        self.last = false;
        self.hedge =
            Some(Hedge { exchange, bytes: Vec::new(), stage: Stage::Opening(Headers::Due), moved: false });
    }

    /// The exchange of the resume that is under way.
    pub(crate) fn exchange(&self) -> Option<ExchangeId> {
        self.hedge.as_ref().map(|hedge| hedge.exchange)
    }

    /// Whether one is open, or counts as that.
    pub(crate) fn is_open(&self) -> bool {
        self.hedge.as_ref().is_some_and(|hedge| !matches!(hedge.stage, Stage::Opening(_)))
    }

    /// Its headers, where they are still to come.
    pub(crate) fn headers(&mut self) -> Option<&mut Headers> {
        match self.hedge.as_mut().map(|hedge| &mut hedge.stage) {
            Some(Stage::Opening(headers)) => Some(headers),
            _ => None,
        }
    }

    /// It counts as open.
    pub(crate) fn is_kept(&mut self) {
        if let Some(hedge) = &mut self.hedge {
            hedge.stage = Stage::Quiet;
        }
    }

    /// The resume is given up, and the body is as silent as before. What it brought goes with it: ids without data, from
    /// behind the cursor. To take them over could lose what the old body still brings; without them a resume asks from
    /// further back, and what it repeats is dropped.
    pub(crate) fn stop(&mut self) -> Option<ExchangeId> {
        self.hedge.take().map(|hedge| hedge.exchange)
    }

    /// The body is not suspect any more, or over: the resume that takes its place.
    pub(crate) fn ends(&mut self) -> Option<Hedge> {
        (self.silent, self.last) = (false, false);
        self.hedge.take()
    }

    /// The session lives, or the server holds the body: the stream is only silent.
    pub(crate) fn lives(&mut self) {
        self.silent = false;
        self.bears();
    }

    /// It may be silent for longer.
    pub(crate) fn bears(&mut self) {
        self.patience = (self.patience * 2).min(MOST_PATIENCE);
    }

    /// Headers came on the resume; `verdict`: what they say of redirects; `decoder` is for its body.
    pub(crate) fn head(&mut self, head: &ResponseHead, verdict: &Verdict, decoder: Decoder) -> Standing {
        let Some(hedge) = &mut self.hedge else { return Standing::Open };
        match head.status {
            _ if head.is_success() && head.is_event_stream() && *verdict == Verdict::Answer => {
                hedge.stage = Stage::Open(decoder);
                Standing::Open
            }
            409 => Standing::Held,
            408 | 425 | 429 | 500 | 502..=599 => Standing::Again,
            _ => Standing::Lost,
        }
    }

    /// Bytes came on the resume: they are kept until they hold data. `most`: so many are kept.
    pub(crate) fn body(&mut self, bytes: &[u8], most: usize) -> Standing {
        let Some(hedge) = &mut self.hedge else { return Standing::Open };
        let Stage::Open(decoder) = &mut hedge.stage else { return Standing::Open };
        let (mut has_data, mut moved) = (false, false);
        let fed = decoder.feed(bytes, &mut |item| {
            has_data |= matches!(item, Item::Event { data, .. } if !data.is_empty());
            moved |= matches!(item, Item::Id(_) | Item::Event { own_id: true, .. });
            ControlFlow::Continue(())
        });
        hedge.bytes.extend_from_slice(bytes);
        hedge.moved |= moved;
        match has_data || fed.is_err() || hedge.bytes.len() > most {
            true => Standing::Won,
            false => Standing::Open,
        }
    }

    /// Bytes that are held of the resume.
    pub(crate) fn held(&self) -> usize {
        let Some(hedge) = &self.hedge else { return 0 };
        let held = match &hedge.stage {
            Stage::Open(decoder) => decoder.held(),
            Stage::Opening(_) | Stage::Quiet => 0,
        };
        hedge.bytes.len() + held
    }

    /// The body of the resume ended without data.
    pub(crate) fn end(&self) -> Standing {
        match &self.hedge {
            Some(hedge) if hedge.moved => Standing::WonAndOver,
            Some(_) => Standing::Held,
            None => Standing::Open,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::sse::Limits;

    const GET: ExchangeId = ExchangeId(7);
    const MOST: usize = 100;

    fn decoder() -> Decoder {
        Decoder::new(Limits { line_bytes: 80, event_bytes: 80, id_bytes: 80 })
    }

    fn head(status: u16, kind: &str) -> ResponseHead {
        let content_type = (!kind.is_empty()).then(|| kind.to_string());
        ResponseHead { status, content_type, ..ResponseHead::default() }
    }

    fn racing() -> Race {
        let mut race = Race::new();
        race.falls_silent();
        race.begins(GET);
        race
    }

    fn open() -> Race {
        let mut race = racing();
        assert_eq!(race.head(&head(200, "text/event-stream"), &Verdict::Answer, decoder()), Standing::Open);
        race
    }

    #[test]
    fn what_headers_of_the_resume_mean() {
        let cases = [
            (head(200, "text/event-stream"), Standing::Open),
            (head(200, "text/html"), Standing::Lost),
            (head(204, ""), Standing::Lost),
            (head(400, ""), Standing::Lost),
            (head(401, ""), Standing::Lost),
            (head(404, ""), Standing::Lost),
            (head(405, ""), Standing::Lost),
            (head(408, ""), Standing::Again),
            (head(409, ""), Standing::Held),
            (head(410, ""), Standing::Lost),
            (head(425, ""), Standing::Again),
            (head(429, ""), Standing::Again),
            (head(500, ""), Standing::Again),
            (head(501, ""), Standing::Lost),
            (head(503, ""), Standing::Again),
        ];
        for (head, standing) in cases {
            assert_eq!(racing().head(&head, &Verdict::Answer, decoder()), standing, "{}", head.status);
        }
        let elsewhere = Verdict::Refuse;
        assert_eq!(racing().head(&head(200, "text/event-stream"), &elsewhere, decoder()), Standing::Lost);
    }

    #[test]
    fn what_its_body_means_and_its_end() {
        let long = format!("data: {}", "x".repeat(200));
        let comments = ": beat\n\n".repeat(20);
        let cases = [
            ("", Standing::Open, Standing::Held),
            (": beat\n\n", Standing::Open, Standing::Held),
            ("retry: 5\n\n", Standing::Open, Standing::Held),
            ("id: 2\n\n", Standing::Open, Standing::WonAndOver),
            ("id: 2\ndata:\n\n", Standing::Open, Standing::WonAndOver),
            ("data: {}", Standing::Open, Standing::Held),
            ("data: {}\n\n", Standing::Won, Standing::Held),
            // What no decoder takes, and what can't be kept, is read like any body.
            (long.as_str(), Standing::Won, Standing::Held),
            (comments.as_str(), Standing::Won, Standing::Held),
        ];
        for (body, standing, end) in cases {
            let mut race = open();
            assert_eq!(race.body(body.as_bytes(), MOST), standing, "{body:?}");
            assert_eq!(race.end(), end, "{body:?}");
            let hedge = race.ends().expect("it takes the body's place");
            assert!(
                matches!(hedge.stage, Stage::Open(_))
                    && hedge.exchange == GET
                    && hedge.bytes == body.as_bytes()
            );
            assert!(!race.is_silent());
        }
        let mut race = racing();
        assert_eq!(race.body(b"data: {}\n\n", MOST), Standing::Open, "nothing is read before headers");
        assert!(!race.is_open());
    }

    #[test]
    fn a_silence_begins_and_ends_and_what_is_under_way_beside_it() {
        let mut race = Race::new();
        let seen = |race: &Race| (race.is_silent(), race.may_begin(), race.exchange());
        assert_eq!(seen(&race), (false, false, None));
        race.falls_silent();
        assert_eq!((seen(&race), race.stop()), ((true, true, None), None));
        race.begins(GET);
        assert_eq!(seen(&race), (true, false, Some(GET)));
        assert_eq!((race.stop(), seen(&race)), (Some(GET), (true, true, None)));
        assert!(race.ends().is_none());
        assert_eq!(seen(&race), (false, false, None));
    }

    #[test]
    fn a_resume_may_count_as_open_before_its_headers_and_is_read_after_them() {
        let mut race = racing();
        assert!(!race.is_open());
        *race.headers().expect("they are due") = Headers::AskedFor;
        assert_eq!(race.headers(), Some(&mut Headers::AskedFor));
        race.is_kept();
        assert!(race.is_open() && race.headers().is_none());
        assert_eq!(race.body(b"data: {}\n\n", MOST), Standing::Open);
        assert_eq!(race.head(&head(200, "text/event-stream"), &Verdict::Answer, decoder()), Standing::Open);
        assert_eq!(race.body(b"data: {}\n\n", MOST), Standing::Won);
    }

    #[test]
    fn each_proof_of_life_doubles_the_patience_up_to_four_times() {
        let mut race = Race::new();
        let patience = [1, 2, 4, 4].map(|_| {
            let patience = race.patience(Duration::from_secs(45)).as_secs();
            race.falls_silent();
            race.lives();
            patience
        });
        assert_eq!((patience, race.is_silent()), ([45, 90, 180, 180], false));
    }
}
