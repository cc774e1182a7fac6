//! Many concurrent calls through a faulty network to a model server, in virtual time; and what must hold in every run.
//!
//! A run follows from a [`Schedule`](schedule::Schedule), which proptest makes from a seed and shrinks when a property
//! does not hold. `LANDFALL_SEED=<n>` runs that one again and tells it line by line; `LANDFALL_SOAK=<n>` runs so many,
//! from the seed `LANDFALL_FROM=<n>` on.

mod agenda;
mod benign;
mod carrier;
mod clocks;
mod eras;
mod happening;
mod http_sse;
mod listening;
mod modern;
mod network;
mod options;
mod properties;
mod schedule;
mod server;
mod shares;
mod store;
mod strategies;
mod strays;
mod tasks;
mod trace;
mod trail;
mod user;
mod watch;
mod wire;
mod work;
mod world;

use std::collections::BTreeMap;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;
use std::time::Duration;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use schedule::Schedule;
use shares::Tally;
use strategies::schedules;
use world::Run;

/// Schedules of an ordinary test.
const SCHEDULES: u64 = 20_000;
/// Every so many of them run twice, to compare the traces.
const TWICE: u64 = 4;

fn tree(seed: u64) -> impl ValueTree<Value = Schedule> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config { failure_persistence: None, ..Config::default() }, rng);
    schedules().new_tree(&mut runner).expect("no strategy of ours rejects")
}

/// Runs a schedule, maybe twice. Why it is wrong, if it is.
fn judge(schedule: &Schedule, twice: bool) -> Result<Run, String> {
    let once = || catch_unwind(AssertUnwindSafe(|| world::run(schedule, false)));
    let run = once().map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        format!("it panics: {}", text.or_else(|| panic.downcast_ref().copied()).unwrap_or_default())
    })?;
    if let Some(broken) = run.broken {
        return Err(broken);
    }
    if !twice {
        return Ok(run);
    }
    match once() {
        Ok(again) if again.trace == run.trace => Ok(run),
        _ => Err("the same seed gives another trace".to_string()),
    }
}

/// What is wrong, without its numbers and names.
fn kind(why: &str) -> String {
    const MOST: usize = 60;
    let words = why.split(|c: char| c.is_ascii_digit()).filter(|words| !words.is_empty());
    let plain = words.collect::<Vec<_>>().join("#");
    plain.chars().take_while(|c| !matches!(c, '"' | '{')).take(MOST).collect()
}

/// The smallest schedule found that is wrong in the same way, and why. One that takes long is not looked for for ever.
fn shrink(mut tree: impl ValueTree<Value = Schedule>, mut why: String) -> (Schedule, String) {
    const MOST: usize = 4_000;
    const PATIENCE: Duration = Duration::from_secs(60);
    let (mut smallest, wrong, began) = (tree.current(), kind(&why), now());
    for _ in 0..MOST {
        if began.elapsed() > PATIENCE {
            break;
        }
        let moved = match judge(&tree.current(), true) {
            Err(broken) if kind(&broken) == wrong => {
                (smallest, why) = (tree.current(), broken);
                tree.simplify()
            }
            _ => tree.complicate(),
        };
        if !moved {
            break;
        }
    }
    (smallest, why)
}

fn number_from_env(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text:?}")))
}

/// Tells what happened in a run that went wrong, and ends the test.
fn report(seed: u64, why: &str, tree: impl ValueTree<Value = Schedule>) -> ! {
    let (schedule, broken) = shrink(tree, why.to_string());
    let log = catch_unwind(AssertUnwindSafe(|| world::run(&schedule, true).log)).unwrap_or_default();
    const MOST_LINES: usize = 4000;
    let skipped = log.len().saturating_sub(MOST_LINES);
    let Schedule { seed: own, server, client, calls, incidents, era } = &schedule;
    println!("seed {own}\n{era:?}\n{server:?}\n{client:?}\n{incidents:?}");
    for call in calls {
        println!("{call:?}");
    }
    println!("{skipped} lines, and then:\n{}", log[skipped..].join("\n"));
    println!("WRONG: {broken}");
    panic!(
        "{broken}\n(again: LANDFALL_SEED={seed} cargo test --test proto sim -- --nocapture; at first: {why})"
    );
}

#[test]
fn every_schedule_keeps_the_promises() {
    if let Some(seed) = number_from_env("LANDFALL_SEED") {
        let tree = tree(seed);
        if let Err(why) = judge(&tree.current(), true) {
            report(seed, &why, tree);
        }
        println!("{}", world::run(&tree.current(), true).log.join("\n"));
        return;
    }
    // A soak begins where the ordinary test ends, if it is not told.
    let soak = number_from_env("LANDFALL_SOAK");
    let (first, count) = soak.map_or((0, SCHEDULES), |count| (SCHEDULES, count));
    let first = number_from_env("LANDFALL_FROM").unwrap_or(first);
    let began = now();
    let tally = run_all(first, count);
    println!("it took {:.1} s", began.elapsed().as_secs_f64());
    tally.print();
    tally.check(count);
}

#[expect(clippy::disallowed_methods, reason = "how long the test takes is not the core's time")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Runs these seeds on every processor.
fn run_all(first: u64, count: u64) -> Tally {
    /// So many wrong schedules are enough to see what is wrong.
    const MOST_WRONG: usize = 200;
    /// So many of a kind are named.
    const MOST_TOLD: usize = 30;
    let (next, tally) = (AtomicU64::new(first), Mutex::new(Tally::default()));
    let wrong: Mutex<Vec<(u64, String)>> = Mutex::new(Vec::new());
    let work = || {
        let mut own = Tally::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + count || wrong.lock().expect("no panic").len() >= MOST_WRONG {
                break;
            }
            match judge(&tree(seed).current(), seed % TWICE == 0) {
                Ok(run) => own.add(&run),
                Err(why) => wrong.lock().expect("no panic").push((seed, why)),
            }
        }
        tally.lock().expect("no panic").join(own);
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (mut wrong, tally) = (wrong.into_inner().expect("no panic"), tally.into_inner().expect("no panic"));
    wrong.sort_unstable();
    let mut kinds: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (seed, why) in &wrong {
        kinds.entry(kind(why)).or_default().push(*seed);
    }
    for (kind, seeds) in &kinds {
        println!("{} schedules, {:?}: {kind}", seeds.len(), &seeds[..seeds.len().min(MOST_TOLD)]);
    }
    if let Some((seed, why)) = wrong.first() {
        tally.print();
        println!("{} right, {} wrong", tally.runs, wrong.len());
        report(*seed, why, tree(*seed));
    }
    tally
}
