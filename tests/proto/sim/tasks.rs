//! Calls that a modern server goes on with as tasks (SEP-2663): answered at once, and asked for until they are done.

use landfall::proto::HttpRequest;
use proptest::prelude::*;
use serde_json::Value;

use super::network::LinkId;
use super::schedule::{Last, Reply, Schedule, Tool};
use super::server::Server;
use super::strategies::reply;
use super::work::Work;

/// What becomes of a task.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskEnd {
    Completed,
    Failed,
    /// The server cancels it.
    Cancelled,
}

/// The tasks of a run.
#[derive(Clone, Debug)]
pub(crate) struct TaskPlan {
    /// A call becomes one after so many of its steps.
    after: usize,
    /// When the server wants to be asked.
    interval: Option<u32>,
    ttl: Option<u32>,
    /// So often it is still at work when it is asked.
    works: u32,
    end: TaskEnd,
    /// What the questions of a run meet, in order; all others are answered.
    pub(super) polls: Vec<Reply>,
}

pub(super) fn tasks() -> impl Strategy<Value = TaskPlan> {
    let interval = prop::option::weighted(0.8, 100..2_000u32);
    let ttl = prop::option::weighted(0.3, 600_000..3_600_000u32);
    let end =
        prop_oneof![4 => Just(TaskEnd::Completed), 1 => Just(TaskEnd::Failed), 1 => Just(TaskEnd::Cancelled)];
    let polls = prop_oneof![1 => Just(Vec::new()), 1 => prop::collection::vec(reply(), 1..6)];
    (0..4usize, interval, ttl, 0..6u32, end, polls).prop_map(|(after, interval, ttl, works, end, polls)| {
        TaskPlan { after, interval, ttl, works, end, polls }
    })
}

/// Whether a request asks for a task.
pub(super) fn is_poll(request: &HttpRequest) -> bool {
    request.headers.iter().any(|(name, value)| name == "mcp-method" && value == "tasks/get")
}

/// The work that a task is.
pub(super) fn work_of(task: &str) -> Option<usize> {
    task.strip_prefix('t')?.parse().ok()
}

impl TaskPlan {
    pub(super) fn passes(&self) -> bool {
        self.end != TaskEnd::Cancelled && self.polls.iter().all(Reply::passes)
    }

    pub(super) fn tame(&mut self) {
        self.end = TaskEnd::Completed;
        self.polls.retain(Reply::passes);
    }

    /// How it is told of a task.
    fn tell(&self, kind: &str, number: usize, rest: &str) -> String {
        let ttl = self.ttl.map_or_else(|| "null".to_string(), |ttl| ttl.to_string());
        let interval = self.interval.map(|ms| format!(r#","pollIntervalMs":{ms}"#)).unwrap_or_default();
        format!(r#"{{"resultType":"{kind}","taskId":"t{number}","ttlMs":{ttl}{interval},{rest}}}"#)
    }
}

impl Schedule {
    /// Whether a work has come to where it goes on as a task.
    pub(super) fn is_task(&self, work: &Work) -> bool {
        let is_tool = work.alone && self.calls[work.call].tool != Tool::Read;
        self.era.tasks.as_ref().is_some_and(|plan| is_tool && work.next >= plan.after)
    }
}

impl Server<'_> {
    /// The request is answered by a task.
    pub(super) fn begin_task(&mut self, number: usize) {
        let Some(plan) = &self.schedule.era.tasks else { return };
        let work = &mut self.works[number];
        (work.task, work.finished) = (Some(0), true);
        self.end_part(number, &plan.tell("task", number, r#""status":"working""#), None);
    }

    /// Whether a task is cancelled, by its client or by its plan.
    pub(crate) fn cancels(&self, work: &Work) -> bool {
        let ends = |end| self.schedule.era.tasks.as_ref().is_some_and(|plan| plan.end == end);
        work.cancelled || ends(TaskEnd::Cancelled)
    }

    /// A task is asked for.
    pub(super) fn tell_task(&mut self, link: LinkId, body: &Value, reply: Reply) {
        let number = body["params"]["taskId"].as_str().and_then(work_of).expect("a task of ours");
        let Some(plan) = &self.schedule.era.tasks else { return };
        let asked = self.works[number].task.as_mut().expect("it is a task");
        *asked += 1;
        let is_working = *asked <= plan.works;
        let rest = match plan.end {
            _ if self.works[number].cancelled => r#""status":"cancelled""#.to_string(),
            _ if is_working => r#""status":"working""#.to_string(),
            TaskEnd::Completed => format!(r#""status":"completed",{}"#, self.outcome(number, Last::Result)),
            TaskEnd::Failed => format!(r#""status":"failed",{}"#, self.outcome(number, Last::Error)),
            TaskEnd::Cancelled => r#""status":"cancelled""#.to_string(),
        };
        self.reply(link, reply, &body["id"], &plan.tell("complete", number, &rest), None);
    }

    /// Nobody waits for a task any more.
    pub(super) fn cancel_task(&mut self, link: LinkId, body: &Value) {
        let number = body["params"]["taskId"].as_str().and_then(work_of).expect("a task of ours");
        self.works[number].cancelled = true;
        self.reply(link, Reply::Json, &body["id"], r#"{"resultType":"complete"}"#, None);
    }
}
