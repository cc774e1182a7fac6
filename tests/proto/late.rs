//! A host that was busy: its timer fires late, and what came meanwhile waits to be read.

use std::time::Duration;

use crate::world::{note, options, result, World};
use landfall::proto::{ExchangeId, Input};

/// The host is kept from its turns for so long. (More than 30 s is a sleep.)
fn busy(world: &mut World, ms: u64) {
    world.now = world.now + Duration::from_millis(ms);
}

/// A stream that brings events, one that was silent for 30 s, and a host that was busy for 20 s more.
fn busy_beside_another() -> (World, ExchangeId, ExchangeId) {
    let mut world = World::connected(options());
    let (_, _, chatty) = world.streaming();
    let (_, _, other) = world.streaming();
    world.body(other, &note("o/1", "a"));
    world.pass(30_000);
    world.body(chatty, &note("c/1", "a"));
    busy(&mut world, 20_000);
    (world, chatty, other)
}

#[test]
fn what_came_while_the_host_was_busy_is_read_before_a_silence_is_judged() {
    for came in [true, false] {
        let mut world = World::connected(options());
        let (call, id, post) = world.streaming();
        world.body(post, &note("1", "a"));
        world.pass(30_000);
        busy(&mut world, 20_000);
        world.input(Input::Timeout);
        assert!(!world.names().contains(&"suspect"), "the host has a turn first");
        if came {
            world.body(post, &note("2", "b"));
        }
        world.input(Input::Timeout);
        assert_eq!(world.names().contains(&"suspect"), !came);
        assert_eq!(world.requests.is_empty(), came, "a resume beside a silent body alone");
        world.body(post, &result(&id));
        assert!(world.answer(call).contains("ok"));
        world.assert_nothing_is_left();
    }
}

#[test]
fn bytes_of_one_stream_judge_no_other_that_may_have_some_unread() {
    let (mut world, chatty, other) = busy_beside_another();
    world.body(chatty, &note("c/2", "b"));
    world.input(Input::Timeout);
    world.body(other, &note("o/2", "b"));
    world.input(Input::Timeout);
    assert!(!world.names().contains(&"suspect"));
}

#[test]
fn bytes_that_never_pause_put_no_clock_off_for_longer_than_a_second() {
    let (mut world, chatty, _) = busy_beside_another();
    for n in 0..101 {
        assert!(!world.names().contains(&"suspect"), "{n}");
        world.body(chatty, &note(&format!("c/{n}"), "b"));
        busy(&mut world, 10);
    }
    world.body(chatty, ": beat\n\n");
    assert!(world.names().contains(&"suspect"));
}

#[test]
fn a_timer_that_is_on_time_is_judged_at_once() {
    let mut world = World::connected(options());
    world.streaming();
    world.now = world.now + Duration::from_millis(45_049);
    world.input(Input::Timeout);
    assert!(world.names().contains(&"suspect"));
}
