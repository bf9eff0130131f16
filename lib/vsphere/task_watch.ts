import { deadline, linked, orAbort, sleep } from "../base/abort.ts";
import { backoffMs } from "../base/backoff.ts";
import { messageOf } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { SoapFault } from "./fault.ts";
import { currentTime, type ServiceContent } from "./service_content.ts";
import type { Session } from "./session.ts";
import { type Call, callOver, type Exchange } from "./soap.ts";
import {
  changeTaskView,
  createTaskView,
  destroyTaskView,
  type TaskView,
  waitForTasks,
} from "./task_view.ts";
import { type AwaitTask, pollTasks, type TaskEnd } from "./tasks.ts";

export interface TaskWatchOptions {
  readonly session: Session;
  readonly content: ServiceContent;
  readonly exchange: Exchange;
  /** Over a wire of its own: a long poll holds up what shares its connection. */
  readonly longPolls: Exchange;
  readonly log: Log;
  /** For a whole task (default 300 s, as the CSI driver has it). */
  readonly limitMs?: number;
  readonly maxWaitSeconds?: number;
}

/** Disposing it ends all waits, and gives back what vCenter holds for it. */
export interface TaskWatch extends AsyncDisposable {
  readonly awaitTask: AwaitTask;
}

/** What was made in one session; void with it. */
interface Watched {
  readonly view: TaskView;
  readonly call: Call;
  readonly longPoll: Call;
  readonly stop: AbortController;
  version: string | undefined;
}

/**
 * Awaits all tasks by one list and one long poll. When the session or the connection is lost, the
 * list is made anew and the tasks are put on it again; a vCenter that knows no lists is asked for each
 * task by itself.
 */
export function watchTasks(options: TaskWatchOptions): TaskWatch {
  const { session, content, log, limitMs = 300_000, maxWaitSeconds = 60 } = options;
  const life = new AbortController();
  const waiting = new Map<string, PromiseWithResolvers<TaskEnd>>();
  /** To be taken off the list with the next change of it. */
  let done: string[] = [];
  let watched: Watched | undefined;
  let running: Promise<void> | undefined;
  let isPolling = false;
  const poll = pollTasks(session.call, content.propertyCollector, { limitMs });

  function end(ended: Iterable<readonly [string, TaskEnd]>) {
    for (const [id, how] of ended) waiting.get(id)?.resolve(how);
  }

  async function change(to: Watched, add: readonly string[]) {
    const remove = done;
    done = [];
    const signal = to.stop.signal;
    const unknown = await changeTaskView(to.call, to.view, { add, remove, signal });
    end(unknown.map((id) => [id, { is: "vanished" }]));
  }

  async function build(): Promise<Watched> {
    const login = await session.login(life.signal);
    const call = callOver(options.exchange, login.cookie);
    const view = await createTaskView(call, content, life.signal);
    const longPoll = callOver(options.longPolls, login.cookie);
    const stop = new AbortController();
    const made: Watched = { view, call, longPoll, stop, version: undefined };
    watched = made;
    done = [];
    await change(made, [...waiting.keys()]);
    return made;
  }

  async function step() {
    const now = watched ?? await build();
    using both = linked(life.signal, now.stop.signal);
    const { version } = now;
    const asked = { version, maxWaitSeconds, signal: both.signal };
    const changes = await waitForTasks(now.longPoll, now.view, asked);
    if (changes === undefined) return;
    now.version = changes.version;
    end(changes.ended);
  }

  /** As long as there is something to wait for. */
  async function run() {
    for (let failures = 0; waiting.size > 0 && !isPolling;) {
      try {
        await step();
        failures = 0;
      } catch (error) {
        if (life.signal.aborted) return;
        drop(watched);
        isPolling = error instanceof SoapFault && error.fault.class === "permanent";
        if (isPolling) pollAll();
        log[isPolling ? "warn" : "debug"]("The list of tasks at vCenter is lost", {
          error: messageOf(error),
        });
        if (isPolling) return;
        if (failures++ > 0) await pause(failures);
        await renew();
      }
      await settled(); // those that wait leave before it is looked whether anybody does
    }
  }

  function pollAll() {
    for (const [value, { resolve, reject }] of waiting) {
      poll({ type: "Task", value }, life.signal).then(resolve, reject);
    }
  }

  const pause = (failures: number) =>
    sleep(backoffMs(failures - 2, { firstMs: 1_000, maxMs: 30_000 }), life.signal).catch(() => {});
  /** Logs in anew when the session has ended. */
  const renew = () =>
    session.call({ service: "vim", body: currentTime }, life.signal).catch(() => {});

  function drop(lost: Watched | undefined) {
    lost?.stop.abort(new Error("the list of tasks at vCenter is lost"));
    if (watched === lost) watched = undefined;
  }

  function start() {
    running ??= run().finally(() => {
      running = undefined;
      if (waiting.size > 0 && !isPolling && !life.signal.aborted) start();
    });
  }

  const awaitTask: AwaitTask = async (task, signal) => {
    life.signal.throwIfAborted();
    if (isPolling) return await poll(task, signal);
    using both = linked(signal, life.signal);
    using limit = deadline(both.signal, limitMs, `The task ${task.value} of vCenter`);
    const waiter = Promise.withResolvers<TaskEnd>();
    waiting.set(task.value, waiter);
    const now = watched;
    if (now !== undefined) change(now, [task.value]).catch(() => drop(now));
    start();
    try {
      return await orAbort(waiter.promise, limit.signal);
    } finally {
      waiting.delete(task.value);
      done.push(task.value);
    }
  };

  return {
    awaitTask,
    async [Symbol.asyncDispose]() {
      if (life.signal.aborted) return;
      const last = watched;
      life.abort(new Error("the watch for tasks is closed"));
      await running;
      if (last === undefined || session.state().is !== "ready") return;
      using limit = deadline(new AbortController().signal, 5_000, "The end of the watch for tasks");
      await destroyTaskView(last.call, last.view, limit.signal).catch(() => {});
    },
  };
}

/** Lets promises that have just been resolved be acted upon. */
function settled(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
