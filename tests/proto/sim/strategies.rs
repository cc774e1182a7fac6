//! How proptest makes schedules: everything happens, most things now and then.

use landfall::proto::{OnGap, ReplayOption};
use proptest::prelude::*;

use super::carrier::{Carried, Names, Shared};
use super::eras::eras;
use super::schedule::{
    Bodies, Broken, CallPlan, ClientPlan, Clocks, Given, Handler, Held, Ids, Incident, Last, Listened, Lost,
    OddId, Ping, Prime, Replays, Reply, Resume, Schedule, Scheduler, ServerPlan, Step, Tool, Unknown,
};

/// What kind of run it is.
#[derive(Copy, Clone, Debug)]
enum Mood {
    /// Anything goes.
    Wild,
    /// The store forgets, and resumes leave out what is gone.
    Forgetful,
    /// Nothing but what passes.
    Tame,
}

pub(crate) fn schedules() -> impl Strategy<Value = Schedule> {
    let mood = prop_oneof![7 => Just(Mood::Wild), 2 => Just(Mood::Forgetful), 1 => Just(Mood::Tame)];
    let calls = prop_oneof![
        12 => prop::collection::vec(call(), 1..6),
        1 => prop::collection::vec(call(), 6..24),
    ];
    let count = prop_oneof![3 => Just(0usize), 4 => Just(1), 2 => Just(2)];
    let at = prop_oneof![4 => 0..3_000u32, 1 => 3_000..40_000u32];
    let incidents = (count, prop::collection::vec((at, incident()), 2))
        .prop_map(|(count, list)| list.into_iter().take(count).collect::<Vec<_>>());
    (any::<u64>(), mood, server(), client(), calls, incidents, eras()).prop_map(
        |(seed, mood, server, client, calls, incidents, era)| {
            let mut schedule = Schedule { seed, server, client, calls, incidents, era };
            if matches!(mood, Mood::Tame) {
                schedule.tame_eras();
            }
            schedule.meet();
            match mood {
                Mood::Wild => {}
                Mood::Forgetful => schedule.forget(),
                Mood::Tame => schedule.tame(),
            }
            schedule
        },
    )
}

impl Schedule {
    /// Makes the server one that leaves out what its store has lost.
    fn forget(&mut self) {
        self.server.unknown = Unknown::Skip;
        self.server.ids = Ids::PerStream;
        self.server.keep = Some(self.server.keep.unwrap_or(2));
        (self.server.held, self.server.replays, self.server.elsewhere) = (Held::Move, Replays::Own, false);
        self.incidents.retain(|(_, incident)| !matches!(incident, Incident::SessionDies(_)));
        for call in &mut self.calls {
            call.pace = call.pace.min(100);
            call.replies.clear();
            // A series, a cut, what is lost, and what comes after it.
            let rest = std::mem::take(&mut call.steps);
            let lost = 3 + rest.len() % 5;
            call.steps = vec![Step::Note, Step::Note, Step::Progress, Step::Note, Step::Cut];
            call.steps.extend(std::iter::repeat_n(Step::Note, lost));
            call.steps.push(Step::Wait(3_000));
            call.steps.extend(rest);
        }
    }
}

fn server() -> impl Strategy<Value = ServerPlan> {
    let ids = prop_oneof![3 => Just(Ids::PerStream), 1 => Just(Ids::Global), 1 => Just(Ids::Uuid)];
    let keep = prop_oneof![4 => Just(None), 1 => (1..6u8).prop_map(Some)];
    let unknown = prop_oneof![
        3 => Just(Unknown::Refuse(404)),
        1 => Just(Unknown::Refuse(400)),
        1 => Just(Unknown::Refuse(410)),
        3 => Just(Unknown::Skip),
    ];
    let held = prop_oneof![2 => Just(Held::Move), 3 => Just(Held::Conflict), 1 => Just(Held::ReplayAndEnd)];
    let replays = prop_oneof![10 => Just(Replays::Own), 1 => Just(Replays::All), 1 => Just(Replays::Renamed)];
    let held = (held, replays, prop::bool::weighted(0.07));
    let notice = prop_oneof![4 => 0..300u32, 1 => 300..90_000u32];
    let lost = prop_oneof![
        4 => Just(Lost::NotFound),
        1 => Just(Lost::Gone),
        1 => Just(Lost::MarkedCode),
        1 => Just(Lost::MarkedWord),
        1 => Just(Lost::Broken),
        1 => Just(Lost::Silent),
    ];
    let grace = prop_oneof![9 => Just(None), 1 => (1_000..30_000u32).prop_map(Some)];
    let prime = prop_oneof![1 => Just(Prime::Data), 1 => Just(Prime::IdOnly), 2 => Just(Prime::No)];
    let overlap = prop_oneof![3 => Just(0u8), 1 => 1..4u8];
    let ping = prop_oneof![
        8 => Just(Ping::Answered),
        1 => Just(Ping::Silent),
        2 => Just(Ping::Busy),
        1 => Just(Ping::HeadOnly),
        1 => Just(Ping::Broken),
    ];
    let delete = prop_oneof![4 => Just(Some(200)), 1 => Just(Some(405)), 1 => Just(None)];
    let flags = (any::<bool>(), any::<bool>(), delete, prop::collection::vec(listened(), 1..4));
    ((ids, keep, unknown, held, notice), (lost, grace, prime, overlap, ping), flags).prop_map(|(a, b, c)| {
        let ((ids, keep, unknown, (held, replays, elsewhere), notice), (lost, grace, prime, overlap, ping)) =
            (a, b);
        let (heeds_cancel, result_ids, delete, listened) = c;
        ServerPlan {
            ids,
            keep,
            unknown,
            held,
            replays,
            elsewhere,
            notice,
            lost,
            grace,
            prime,
            overlap,
            ping,
            heeds_cancel,
            result_ids,
            delete,
            listened,
        }
    })
}

fn clocks() -> impl Strategy<Value = Clocks> {
    prop_oneof![3 => Just(Clocks::Default), 2 => Just(Clocks::Brisk), 1 => Just(Clocks::Tight)]
}

fn client() -> impl Strategy<Value = ClientPlan> {
    let concurrent = prop_oneof![3 => Just(32u8), 1 => 2..6u8];
    let handshake = prop_oneof![24 => Just(Vec::new()), 1 => prop::collection::vec(reply(), 1..3)];
    let flags = (prop::bool::weighted(0.7), prop::bool::weighted(0.1), any::<bool>(), any::<bool>());
    let replay = prop_oneof![
        8 => Just(ReplayOption::Hints),
        1 => Just(ReplayOption::Caller),
        1 => Just(ReplayOption::Never),
    ];
    let limits = (concurrent, prop_oneof![3 => Just(200u8), 1 => 1..4u8], replay);
    let names = prop::sample::select(vec![Names::Numbers, Names::Strings, Names::Both]);
    let handshake = (handshake, prop::option::weighted(0.15, names));
    (limits, clocks(), flags, handshake, host()).prop_map(|(limits, clocks, flags, handshake, host)| {
        let (handshake, carries) = handshake;
        let (max_concurrent, max_pending, replay) = limits;
        let (lists, fail_lost, late_inputs, network_first) = flags;
        let (until_headers, page, max_retries, scheduler, provider, (listens, goes_on)) = host;
        ClientPlan {
            carries,
            max_concurrent,
            until_headers,
            page,
            max_retries,
            scheduler,
            provider,
            listens,
            goes_on,
            clocks,
            lists,
            fail_lost,
            max_pending,
            replay,
            late_inputs,
            network_first,
            handshake,
        }
    })
}

fn listened() -> impl Strategy<Value = Listened> {
    let status = prop::sample::select(vec![400, 404, 405, 409, 410, 429, 500, 503]);
    let life = || prop_oneof![2 => 1..2_000u32, 2 => 2_000..60_000u32];
    prop_oneof![
        4 => life().prop_map(Listened::Served),
        2 => life().prop_map(Listened::Cut),
        1 => Just(Listened::Silent),
        2 => (status, prop::option::weighted(0.3, 0..20u8)).prop_map(|(s, after)| Listened::Status(s, after)),
    ]
}

type Host = (bool, bool, Option<u8>, Option<Scheduler>, Option<Vec<Given>>, (bool, bool));

/// What a client's host brings along, each rarely.
fn host() -> impl Strategy<Value = Host> {
    let scheduler = prop::sample::select(vec![Scheduler::Keeps, Scheduler::Hurries, Scheduler::Forgets]);
    let given = prop_oneof![
        6 => (1..2_000u32).prop_map(Given::Fresh),
        2 => (1..2_000u32).prop_map(Given::Stale),
        1 => (1..2_000u32).prop_map(Given::Nothing),
        1 => (2_000..60_000u32).prop_map(Given::Fresh),
        1 => Just(Given::Never),
    ];
    (
        prop::bool::weighted(0.05),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.1, 0..5u8),
        prop::option::weighted(0.1, scheduler),
        prop::option::weighted(0.2, prop::collection::vec(given, 1..4)),
        (prop::bool::weighted(0.1), prop::bool::weighted(0.5)),
    )
}

fn call() -> impl Strategy<Value = CallPlan> {
    let at = prop_oneof![3 => 0..1_000u32, 1 => 1_000..40_000u32];
    let tool = prop_oneof![
        8 => Just(Tool::Once),
        4 => Just(Tool::Vouched),
        2 => Just(Tool::Same),
        2 => Just(Tool::Pure),
        2 => Just(Tool::Read),
        1 => Just(Tool::Notify),
    ];
    let own_clocks = prop::option::weighted(0.15, clocks());
    let replies = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(reply(), 1..3)];
    let steps = prop::collection::vec(step(), 0..10);
    let pace = prop_oneof![3 => 1..200u32, 1 => 200..5_000u32];
    let resumes = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(resume(), 1..5)];
    let stubborn = prop::bool::weighted(0.15);
    let cancel = prop::option::weighted(0.15, prop_oneof![2 => 0..2_000u32, 1 => 2_000..20_000u32]);
    let answers = prop::option::weighted(0.9, 1..5_000u32);
    let handler = prop_oneof![
        6 => Just(Handler::None),
        2 => (0..3_000u32).prop_map(Handler::Done),
        2 => (0..3_000u32).prop_map(Handler::FailsAtTimes),
        1 => Just(Handler::Fails),
        1 => Just(Handler::Never),
    ];
    let on_gap = prop_oneof![6 => Just(OnGap::Continue), 1 => Just(OnGap::Reissue), 1 => Just(OnGap::Fail)];
    let misses = prop::option::weighted(0.03, 1..10_000u32);
    let user = (cancel, answers, handler, prop::bool::weighted(0.3), on_gap, (misses, carried()));
    ((at, tool, own_clocks), (replies, steps, pace, last()), (resumes, stubborn), user).prop_map(
        |((at, tool, clocks), (replies, steps, pace, last), (resumes, stubborn), user)| {
            let (cancel, answers, handler, tokens, on_gap, (misses, carried)) = user;
            CallPlan {
                at,
                tool,
                clocks,
                replies,
                steps,
                pace,
                last,
                resumes,
                stubborn,
                cancel,
                answers,
                handler,
                tokens,
                on_gap,
                misses,
                carried,
            }
        },
    )
}

fn carried() -> impl Strategy<Value = Carried> {
    let shared = prop::sample::select(vec![Shared::Id, Shared::Token, Shared::Both]);
    (prop::option::weighted(0.08, shared), prop::bool::weighted(0.8), prop::bool::weighted(0.7))
        .prop_map(|(shares, timed, wants_progress)| Carried { shares, timed, wants_progress })
}

fn redirect() -> impl Strategy<Value = (u16, bool)> {
    (prop::sample::select(vec![301, 302, 303, 307, 307, 308, 308]), prop::bool::weighted(0.8))
}

pub(super) fn reply() -> impl Strategy<Value = Reply> {
    let status = prop::sample::select(vec![401, 403, 404, 405, 406, 408, 410, 415, 421, 422, 429, 500, 503]);
    prop_oneof![
        2 => Just(Reply::Stream),
        2 => (1..10_000u32).prop_map(Reply::Slow),
        3 => Just(Reply::Json),
        1 => Just(Reply::CutJson),
        2 => redirect().prop_map(|(status, stays)| Reply::Redirect(status, stays)),
        1 => Just(Reply::Hidden),
        2 => Just(Reply::Refused),
        3 => any::<bool>().prop_map(Reply::CutBefore),
        1 => any::<bool>().prop_map(Reply::NoHead),
        3 => (status, prop::option::weighted(0.4, 0..20u8)).prop_map(|(s, after)| Reply::Status(s, after)),
        1 => Just(Reply::Broken),
        1 => Just(Reply::ErrorIn400),
        1 => Just(Reply::WrongType),
        1 => Just(Reply::Accepted),
        1 => Just(Reply::BadJson),
    ]
}

fn resume() -> impl Strategy<Value = Resume> {
    let passing = prop::sample::select(vec![408, 409, 425, 429, 500, 502, 503]);
    let final_ones = prop::sample::select(vec![400, 401, 403, 404, 405, 406, 410, 421, 501]);
    let after = || prop::option::weighted(0.4, 0..20u8);
    prop_oneof![
        3 => Just(Resume::Served),
        1 => (1..10_000u32).prop_map(Resume::Slow),
        3 => (passing, after()).prop_map(|(status, after)| Resume::Status(status, after)),
        2 => (final_ones, after()).prop_map(|(status, after)| Resume::Status(status, after)),
        2 => redirect().prop_map(|(status, stays)| Resume::Redirect(status, stays)),
        2 => Just(Resume::Empty),
        2 => Just(Resume::CutAtOnce),
        2 => Just(Resume::CutBefore),
        1 => Just(Resume::NoHead),
        1 => Just(Resume::WrongType),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let retry =
        || prop_oneof![2 => Just(1u32), 4 => 100..3_000u32, 1 => 3_000..60_000u32, 1 => Just(86_400_000)];
    let odd = prop::sample::select(vec![OddId::Foreign, OddId::Empty, OddId::Control, OddId::Long]);
    prop_oneof![
        10 => Just(Step::Note),
        5 => Just(Step::Progress),
        2 => prop_oneof![4 => 1..5_000u32, 1 => 5_000..80_000u32].prop_map(Step::Wait),
        1 => Just(Step::Comment),
        1 => Just(Step::IdOnly),
        1 => Just(Step::Loose),
        3 => prop::option::weighted(0.7, retry()).prop_map(Step::Close),
        1 => retry().prop_map(Step::Retry),
        4 => Just(Step::Cut),
        2 => Just(Step::CutInside),
        1 => Just(Step::CleanCut),
        2 => Just(Step::Silence),
        1 => (1..90_000u32).prop_map(Step::Stall),
        2 => Just(Step::Repeat),
        1 => Just(Step::BrokenOnce),
        1 => Just(Step::Noise),
        1 => Just(Step::Array),
        2 => Just(Step::Evict),
        1 => Just(Step::Ask),
        1 => Just(Step::Unask),
        1 => Just(Step::Cross),
        1 => Just(Step::ResetIds),
        1 => odd.prop_map(Step::Odd),
        1 => Just(Step::Stray),
    ]
}

fn last() -> impl Strategy<Value = Last> {
    prop_oneof![
        24 => Just(Last::Result),
        2 => Just(Last::Error),
        1 => Just(Last::NullError),
        1 => Just(Last::Pair),
        1 => Just(Last::Broken),
        2 => Just(Last::ResultAndStay),
        1 => Just(Last::NoAnswer),
        1 => Just(Last::Heartbeats),
        2 => Just(Last::Never),
    ]
}

fn incident() -> impl Strategy<Value = Incident> {
    let bodies = prop::sample::select(vec![Bodies::Cut, Bodies::End, Bodies::Stay]);
    let broken = prop::sample::select(vec![Broken::Cut, Broken::Silent]);
    prop_oneof![
        18 => bodies.prop_map(Incident::SessionDies),
        13 => Just(Incident::Trap),
        5 => (10..20_000u32, broken).prop_map(|(ms, broken)| Incident::Outage(ms, broken)),
        2 => Just(Incident::Expire),
        1 => Just(Incident::Restart),
        2 => (100..20_000u32).prop_map(Incident::Gateway),
        2 => prop_oneof![1 => 1_000..40_000u32, 2 => 40_000..900_000u32].prop_map(Incident::Sleep),
        2 => prop_oneof![1 => 1..10_000u32, 1 => 10_000..100_000u32].prop_map(Incident::ClockBack),
        1 => Just(Incident::Wake),
        1 => Just(Incident::ListChanged),
        2 => Just(Incident::Close),
    ]
}
