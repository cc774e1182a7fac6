//! What the core costs, natively and without a host: the decoder, the scanner, and the client that is fed with chunks.

mod host;

use std::hint::black_box;
use std::ops::ControlFlow;
use std::time::Duration;

use criterion::{criterion_group, criterion_main, BatchSize, Criterion, Throughput};
use landfall::proto::sse::{Decoder, Limits};
use landfall::proto::{jsonrpc, ExchangeId};

use crate::host::Host;

const LIMITS: Limits = Limits { line_bytes: 16 << 20, event_bytes: 16 << 20, id_bytes: 1_024 };

/// How a stream comes: so many events of so many bytes, in reads of so many.
const STREAMS: [(&str, usize, usize, usize); 3] = [
    ("160 B events, 16 KiB reads", 10_000, 160, 16_384),
    ("160 B events, 200 B reads", 10_000, 160, 200),
    ("100 KB events, 16 KiB reads", 50, 100_000, 16_384),
];

fn event(key: usize, n: usize, size: usize, token: &str) -> String {
    let text = |message: &str| {
        let params = format!(r#"{{"progressToken":{token},"progress":{n},"message":"{message}"}}"#);
        let json = format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{params}}}"#);
        format!("event: message\nid: {key}_{n}\ndata: {json}\n\n")
    };
    let rest = size.saturating_sub(text("").len());
    text(&"the quick brown fox ".repeat(rest / 20 + 1)[..rest])
}

fn stream(key: usize, events: usize, size: usize, id: &str) -> Vec<u8> {
    let mut bytes: String = (1..=events).map(|n| event(key, n, size, id)).collect();
    bytes += &format!(
        "id: {key}_end\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[]}}}}\n\n"
    );
    bytes.into_bytes()
}

fn decoder(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decoder");
    for (name, events, size, read) in STREAMS {
        let bytes = stream(1, events, size, "1");
        group.throughput(Throughput::Elements(events as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let mut decoder = Decoder::new(LIMITS);
                let mut items = 0;
                for chunk in bytes.chunks(read) {
                    let fed = decoder.feed(chunk, &mut |item| {
                        black_box(item);
                        items += 1;
                        ControlFlow::Continue(())
                    });
                    fed.expect("no limit is met");
                }
                assert!(items > events);
            });
        });
    }
    group.finish();
}

fn scanner(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scanner");
    for size in [160, 100_000] {
        let event = event(1, 1, size, "1");
        let (_, json) = event.split_once("data: ").expect("an event has data");
        group.throughput(Throughput::Bytes(json.len() as u64));
        group.bench_function(format!("{size} B"), |bencher| {
            bencher.iter(|| jsonrpc::scan(black_box(json)).expect("it is JSON-RPC"));
        });
    }
    group.finish();
}

fn client(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("client");
    for (name, events, size, read) in STREAMS {
        let mut host = Host::connected(1);
        let mut key = 0;
        group.throughput(Throughput::Elements(events as u64));
        group.bench_function(name, |bencher| {
            bencher.iter_custom(|rounds| {
                (0..rounds).map(|_| whole_call(&mut host, &mut key, (events, size, read))).sum()
            });
        });
    }
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "the core has no clock, but what measures it has")]
fn clock() -> std::time::Instant {
    std::time::Instant::now()
}

/// One call from its first chunk to its answer. What it is fed with is made before.
fn whole_call(host: &mut Host, key: &mut usize, (events, size, read): (usize, usize, usize)) -> Duration {
    *key += 1;
    let (exchange, id) = host.open();
    let bytes = stream(*key, events, size, &id);
    let (told, settled) = (host.events, host.settled);
    let start = clock();
    for chunk in bytes.chunks(read) {
        host.body(exchange, chunk);
    }
    let took = start.elapsed();
    assert_eq!((host.events - told, host.settled - settled), (events, 1));
    took
}

/// An event for each open call in turn.
fn open_calls(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("an event with calls open");
    for calls in [1, 1_000] {
        let mut host = Host::connected(calls);
        let open: Vec<(ExchangeId, String)> = (0..calls).map(|_| host.open()).collect();
        let mut n = 0;
        group.throughput(Throughput::Elements(1));
        group.bench_function(calls.to_string(), |bencher| {
            bencher.iter_batched(
                || {
                    n += 1;
                    let at = n % calls;
                    (open[at].0, event(at, n, 160, &open[at].1))
                },
                |(exchange, bytes)| host.body(exchange, bytes.as_bytes()),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

criterion_group! {
    name = core;
    config = Criterion::default().warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(3)).sample_size(20);
    targets = decoder, scanner, client, open_calls
}
criterion_main!(core);
