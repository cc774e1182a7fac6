//! Gaps: events that should have come at a seam, and did not (ARCHITECTURE.md, "Cursors and gaps").
//!
//! Certain: three or more live ids of one prefix rose by 1, and the first new one after a resume is further on. A server
//! may spend one id per resume on a priming event, and a counter that several streams share proves nothing. Likely:
//! progress rose across the seam by more than three times its largest earlier step.

/// So many ids in a row make a series.
const SERIES: u32 = 3;
/// Progress may rise by so many of its largest steps across a seam.
const STEPS: f64 = 3.0;

/// What a lineage knows of the regularity of its events.
#[derive(Debug, Default)]
pub struct GapWatch {
    prefix: String,
    last: u64,
    run: u32,
    /// The numbers jumped on a live stream: they are no series.
    irregular: bool,
    /// Resumes since the last new event.
    resumes: u64,
    last_progress: Option<f64>,
    largest_step: f64,
    progress_seam: bool,
    /// The place of the last repeat of this resume.
    last_repeat: u64,
}

/// An id as a prefix and the number at its end.
pub fn split(id: &str) -> Option<(&str, u64)> {
    let digits = id.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = id.split_at(id.len() - digits);
    (digits > 0 && digits <= 15).then(|| number.parse().ok().map(|number| (prefix, number)))?
}

/// Progress as it is written; a whole number, as it is most of the time, without the care that others take.
pub fn number(written: &str) -> Option<f64> {
    match written.len() <= 15 && written.bytes().all(|byte| byte.is_ascii_digit()) {
        true => written.parse::<u64>().ok().map(|whole| whole as f64),
        false => super::number::number(written),
    }
}

impl GapWatch {
    /// Whether an id of the stream is known that ends in a number.
    pub fn has_prefix(&self) -> bool {
        self.run > 0
    }

    /// A resume opened.
    pub fn resumed(&mut self) {
        self.resumes += 1;
        self.progress_seam = true;
        self.last_repeat = 0;
    }

    /// A block came under this id that brought no message: it is not missing.
    pub fn passed(&mut self, id: &str) {
        if let Some((prefix, number)) = split(id) {
            if self.run > 0 && self.prefix == prefix && number == self.last + 1 {
                self.last = number;
            }
        }
    }

    /// A new event with this id came: whether events before it are missing, if no other stream counts with its
    /// prefix.
    pub fn is_missing(&mut self, id: &str) -> bool {
        let Some((prefix, number)) = split(id) else {
            self.run = 0;
            return false;
        };
        let same = self.run > 0 && self.prefix == prefix;
        if same && number <= self.last {
            return false; // It came again, or late: it says nothing of what comes next.
        }
        let seam = std::mem::take(&mut self.resumes);
        let step = number.wrapping_sub(self.last);
        let regular = same && (step == 1 || (seam > 0 && step > 1 && step <= seam + 1));
        let missing = same && !self.irregular && seam > 0 && self.run >= SERIES && step > seam + 1;
        self.irregular |= same && !regular && seam == 0;
        self.run = if regular { self.run + 1 } else { 1 };
        if !same {
            self.prefix = prefix.to_string();
        }
        self.last = number;
        missing
    }

    /// Progress came: whether it rose suspiciously across a seam.
    pub fn is_leap(&mut self, progress: f64) -> bool {
        let seam = std::mem::take(&mut self.progress_seam);
        let step = self.last_progress.map_or(0.0, |last| progress - last);
        let leap = seam && self.largest_step > 0.0 && step > STEPS * self.largest_step;
        if !seam {
            self.largest_step = self.largest_step.max(step);
        }
        self.last_progress = Some(progress);
        leap
    }

    /// A repeat came, which was handled at this place: whether it is out of its earlier order.
    pub fn is_disordered(&mut self, place: u64) -> bool {
        let disordered = place != u64::MAX && place < self.last_repeat;
        if place != u64::MAX {
            self.last_repeat = place;
        }
        disordered
    }
}

#[cfg(test)]
mod tests {
    use super::GapWatch;

    #[test]
    fn an_id_that_comes_again_makes_no_series_irregular() {
        let mut watch = GapWatch::default();
        for id in ["k/1", "k/2", "k/3", "k/3", "k/4"] {
            assert!(!watch.is_missing(id), "{id}");
        }
        watch.resumed();
        assert!(watch.is_missing("k/9"));
    }
}
