//! Calls that became tasks of the server's.

use std::collections::BTreeMap;

use landfall::proto::SessionState;

use super::Judge;
use crate::sim::agenda::Time;
use crate::sim::network::{LinkId, Network};
use crate::sim::server::Server;
use crate::sim::shares::Happened;
use crate::sim::tasks::work_of;

/// Between two questions for one task, whatever its server says.
const LEAST_INTERVAL: Time = 250_000;

#[derive(Default)]
pub(super) struct Tasks {
    /// The question for each that was sent last, and when.
    asked: BTreeMap<usize, (Time, LinkId)>,
    /// Those that their caller does not want any more, and whether the server is still to be told.
    unwanted: BTreeMap<usize, bool>,
}

impl Judge<'_> {
    /// A call is told of its task: it is its own, and stays the same.
    pub(super) fn on_task(&mut self, watch: usize, task: &str, server: &Server<'_>) {
        let seen = &mut self.watches[watch];
        let (call, before, task) = (seen.plan, seen.task, work_of(task));
        seen.task = task;
        let works = task.and_then(|task| server.works.get(task));
        let right =
            works.is_some_and(|work| Some(work.call) == call) && before.is_none_or(|_| before == task);
        self.happened(Happened::Task);
        self.expect(right, || format!("call {call:?} is told of task {task:?}, after {before:?}"));
    }

    /// A task is asked for while its call waits for it, and not too often; and its call is not sent again. A question that
    /// got no answer, or goes again as it was, is no other.
    pub(super) fn check_task(&mut self, now: Time, id: LinkId, network: &Network) {
        let link = &network.links[id];
        if let Some(seen) = link.call.map(|watch| &self.watches[watch]) {
            let (call, task) = (seen.plan, seen.task);
            return self
                .expect(task.is_none(), || format!("call {call:?} is sent again, and is task {task:?}"));
        }
        let header =
            |name| link.request.headers.iter().find(|(known, _)| known == name).map(|(_, v)| v.as_str());
        let Some(task) = header("mcp-name").and_then(work_of) else { return };
        match header("mcp-method") {
            Some("tasks/get") => {
                let waits = self.watches.iter().any(|seen| seen.task == Some(task) && seen.ended.is_none());
                let last =
                    self.tasks.asked.insert(task, (now, id)).map(|(at, last)| (at, &network.links[last]));
                let last = last.filter(|(_, last)| last.headed && !last.goes_again());
                let pause = last.map(|(at, _)| now - at);
                self.expect(waits, || format!("task {task} is asked for, and nobody waits for it"));
                self.expect(pause.is_none_or(|pause| pause >= LEAST_INTERVAL), || {
                    format!("task {task} is asked for again after {pause:?} us")
                });
            }
            Some("tasks/cancel") => {
                let told = self.tasks.unwanted.get_mut(&task).map(|untold| *untold = false);
                let is_unwanted = told.is_some();
                self.expect(is_unwanted, || format!("task {task} is cancelled, and nobody said so"));
                self.happened(Happened::TaskCancelled);
            }
            _ => {}
        }
    }

    /// A caller cancels: where its call is a task, the server is to be told, unless nobody can be just then.
    pub(super) fn note_task_unwanted(&mut self, plan: usize) {
        let can_tell = self.is_told(SessionState::Ready) && !self.closing;
        let live = self.watches.iter().filter(|seen| seen.plan == Some(plan) && seen.ended.is_none());
        self.tasks.unwanted.extend(live.filter_map(|seen| seen.task).map(|task| (task, can_tell)));
    }

    /// The session is not what it was: what was still to be said may be lost with it.
    pub(super) fn excuse_tasks(&mut self) {
        self.tasks.unwanted.values_mut().for_each(|untold| *untold = false);
    }

    /// All is quiet: the server was told what it was to be.
    pub(super) fn check_tasks_told(&mut self) {
        let untold = self.tasks.unwanted.iter().find(|(_, untold)| **untold).map(|(task, _)| *task);
        self.expect(untold.is_none(), || format!("task {untold:?} was cancelled, and its server not told"));
    }

    /// What a task comes to is its own.
    pub(super) fn check_task_answer(&mut self, watch: usize, work: Option<u64>) {
        let (call, task) = (self.watches[watch].plan, self.watches[watch].task);
        let Some(task) = task else { return };
        self.happened(Happened::TaskDone);
        self.expect(work == Some(task as u64), || format!("call {call:?} is task {task}, and got {work:?}"));
    }
}
