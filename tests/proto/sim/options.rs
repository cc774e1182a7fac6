//! The client of a run, as its plan has it.

use landfall::proto::{Client, Config, Options, SessionFacts};

use super::schedule::Schedule;

pub(super) const ENDPOINT: &str = "https://server.test/mcp";

/// The client of this generation; `known` is the session that it goes on with.
pub(super) fn client(schedule: &Schedule, generation: u32, known: Option<SessionFacts>) -> Client {
    let plan = &schedule.client;
    let options = Options {
        endpoint: ENDPOINT.to_string(),
        era: schedule.era.option,
        client_info: r#"{"name":"simulation","version":"1"}"#.to_string(),
        capabilities: r#"{"elicitation":{}}"#.to_string(),
        timeouts: plan.clocks.options(),
        max_concurrent: Some(f64::from(plan.max_concurrent)),
        max_pending_events: Some(f64::from(plan.max_pending)),
        replay: plan.replay,
        fail_lost_session: plan.fail_lost,
        until_headers: plan.until_headers,
        cross_origin: plan.page,
        max_retries: plan.max_retries.map(f64::from),
        scheduler: plan.scheduler.is_some(),
        listen: plan.listens,
        tasks: schedule.era.tasks.is_some(),
        auth: plan.provider.is_some(),
        resume: known,
        carry: plan.carries.is_some(),
        // A Client's session outlives its transport.
        keep_session: plan.carries.is_some(),
        full_diagnostics: true,
        ..Options::default()
    };
    Client::new(Config::new(options).expect("valid options"), schedule.seed ^ u64::from(generation))
}
