// The calls of a session: each is under way or has ended, and is what its stream tells of it.
import { failureError, ownFailure, serverError } from "./failure.mjs";
import { errorText, KEY_MEMBER, responseText } from "./messages.mjs";
import { Refusal } from "./refusal.mjs";
import { isListed } from "./settings.mjs";

const MOST_KEY = 256;
// Keys that are remembered when all else of their calls is forgotten.
const MOST_KEYS = 4_096;

/** One request of a client's. */
class Call {
  isOver = false;
  /** Where its stream upstream can be taken up, and the id by which the server knows it. */
  cursor;
  wireId;
  taskId;
  cancel = () => {};
  /** Questions of the server's that are open in it: meanwhile its cursor stays before them, so that they come again. */
  asking = 0;
  /** Those that were open in an earlier life, as `{ id, method, params }`, and what came behind the cursor since then. */
  asked = [];
  repeats = [];
  /** Ids of all that were asked. */
  questions = [];

  constructor(stream, place, request, now) {
    this.stream = stream;
    this.place = place;
    this.request = request;
    this.startedAt = now;
  }

  /** Where its cursor is kept while there is no event to keep it with. */
  get fact() {
    return `cursor ${this.stream.number} ${this.place}`;
  }
}

/** What of a request is kept with its stream. */
function kept({ id, method, params = {} }) {
  const { progressToken: token, [KEY_MEMBER]: key } = params._meta ?? {};
  return {
    ...{ id, method },
    ...(typeof params.name === "string" ? { name: params.name } : {}),
    ...(token === undefined ? {} : { token }),
    ...(typeof key === "string" && key.length <= MOST_KEY ? { key } : {}),
  };
}

/** The params as they go to the server: progress is landfall's to ask for. */
function sent({ params }) {
  if (params?._meta?.progressToken === undefined) return params;
  const { progressToken: _own, ..._meta } = params._meta;
  return { ...params, _meta };
}

export class Calls {
  #streams;
  #upstream;
  #settings;
  #clock;
  #hear;
  // By stream: those of its POST.
  #byStream = new Map();
  // What was told since the last turn, to be kept together.
  #pending = [];
  #cursors = new Map();
  #isDue = false;
  // Streams of which only the key is left.
  #graves = [];

  /** `hear` is told when calls ended (`ended(calls)`), and that one failed for its session is dead (`lost()`). */
  constructor({ streams, upstream, settings, clock, store, hear }) {
    this.#streams = streams;
    this.#upstream = upstream;
    this.#settings = settings;
    this.#clock = clock;
    this.#hear = hear;
    this.store = store;
    /** How much of what was told may be kept. */
    this.most = settings.mostKeptBytes;
  }

  /** Calls under way. */
  get running() {
    return [...this.#byStream.values()].flat().filter((call) => !call.isOver);
  }

  /** Those of one stream. */
  of(stream) {
    return this.#byStream.get(stream) ?? [];
  }

  /** Takes up what was under way before this object was made; what can't be ends, and is never run again. */
  load() {
    this.#streams.load((...event) => this.#noted(...event));
    const lost = [];
    for (const stream of this.#streams.all) {
      if (stream.head.gone) this.#graves.push(stream);
      if (stream.head.calls === undefined) continue;
      const calls = this.#callsOf(stream);
      for (const call of calls.filter(({ isOver }) => !isOver)) {
        this.#readCursor(call);
        if (call.cursor === undefined && call.taskId === undefined) lost.push(call);
      }
      stream.isOver = calls.every(({ isOver }) => isOver);
      // Nobody is connected in a new life. Since when, it must not be said anew in each.
      if (stream.isOver) stream.goneAt = stream.endedAt = Math.max(...calls.map(({ endedAt }) => endedAt));
      else this.#noteGone(stream);
    }
    const text = "the relay was restarted, and the server kept nothing by which the call could go on";
    for (const call of lost) this.#end(call, errorText(ownFailure("interrupted", text)));
    this.flush();
    for (const call of this.running) {
      call.isTakenUp = true;
      // Where nothing was open the cursor is behind all that came.
      if (call.asked.length === 0) call.repeats = [];
      this.#start(call);
    }
  }

  #noteGone(stream) {
    const known = this.store.fact(goneFact(stream));
    if (known === undefined)
      this.store.transaction(() => this.store.setFact(goneFact(stream), String(stream.goneAt)));
    else stream.goneAt = Number(known);
    stream.isGoneNoted = true;
  }

  /** Somebody came back for a stream, or nobody needs it any more. */
  met(stream) {
    if (stream.isGoneNoted) this.store.removeFact(goneFact(stream));
    stream.isGoneNoted = false;
  }

  #callsOf(stream) {
    let calls = this.#byStream.get(stream);
    if (calls === undefined) {
      const now = this.#clock.now();
      calls = stream.head.calls.map((request, place) => new Call(stream, place, request, now));
      this.#byStream.set(stream, calls);
    }
    return calls;
  }

  #noted(stream, { kind, place, cursor, wireId, at }, event, text) {
    if (place === undefined) return;
    const call = this.#callsOf(stream)[place];
    if (kind === "question") {
      const { id, method, params } = JSON.parse(text);
      call.questions.push(id);
      if (this.store.fact(answered(id)) === undefined) call.asked.push({ id, method, params });
    }
    if (cursor !== undefined) call.repeats = [];
    else if (kind === "message" || kind === "progress") call.repeats.push({ event, kind, text });
    if (isEnd({ kind })) Object.assign(call, { isOver: true, endedAt: at });
    if (cursor !== undefined) Object.assign(call, { cursor, wireId, cursorAt: event });
  }

  #readCursor(call) {
    const fact = this.store.fact(call.fact);
    if (fact === undefined) return;
    const { cursor, taskId, wireId, at } = JSON.parse(fact);
    call.taskId = taskId;
    call.wireId ??= wireId;
    if (cursor === undefined || at < (call.cursorAt ?? 0)) return;
    call.cursor = cursor;
    call.repeats = call.repeats.filter(({ event }) => event > at);
  }

  /**
   * The stream that these requests belong to already, as `{ stream, how }`: a repeat runs nothing. Throws a Refusal where
   * an id is under way with another body.
   */
  find(requests, hash) {
    const wanted = requests.map(kept);
    const [{ key }] = wanted;
    if (wanted.length === 1 && key !== undefined) {
      const stream = this.#streams.all.find(({ head }) => head.key === key || head.calls?.[0].key === key);
      if (stream !== undefined) return { stream, how: "key" };
    }
    const ids = JSON.stringify(wanted.map(({ id }) => id));
    for (const stream of this.#streams.all) {
      const { head } = stream;
      if (head.gone || head.calls === undefined || !this.#isFresh(stream)) continue;
      if (head.hash === hash && JSON.stringify(head.calls.map(({ id }) => id)) === ids)
        return { stream, how: "repeat" };
    }
    const open = new Set(this.running.map(({ request }) => request.id));
    const taken = wanted.find(({ id }) => open.has(id));
    if (taken === undefined) return undefined;
    throw new Refusal(400, -32600, `a request with the id ${JSON.stringify(taken.id)} is under way`);
  }

  /** It runs, or ended so lately that a repeat can't be another request. */
  #isFresh(stream) {
    return !stream.isOver || this.#clock.now() - stream.endedAt < this.#settings.repeatMs;
  }

  /** Commits to these requests: from here on they have an outcome. */
  open(requests, hash) {
    const now = this.#clock.now();
    const head = { calls: requests.map(kept), hash, at: now };
    const stream = this.store.transaction(() => this.#streams.open(head));
    const calls = this.#callsOf(stream);
    for (const [place, request] of requests.entries()) this.#start(calls[place], request);
    return stream;
  }

  /** Whoever sent it again is answered under the id, and told progress by the token, of that time. */
  rename(stream, [request]) {
    const [call] = this.of(stream);
    const { id, token } = kept(request);
    if (call === undefined || (call.request.id === id && call.request.token === token)) return;
    call.request = { ...call.request, id, token };
    this.store.transaction(() => this.#streams.rewrite(stream, { ...stream.head, calls: [call.request] }));
  }

  /** The client does not want it any more. */
  cancel(id) {
    for (const call of this.running) if (call.request.id === id) call.cancel();
  }

  /** Nobody came back for a stream. */
  abandon(stream) {
    for (const call of this.of(stream)) {
      call.isOver = true;
      call.cancel();
    }
    this.forget(stream);
  }

  /** Nobody can need a stream any more. That its key was seen is not forgotten. */
  forget(stream) {
    this.met(stream);
    const [call, ...more] = this.of(stream);
    const key = more.length === 0 ? call?.request.key : undefined;
    for (const each of this.of(stream)) {
      if (each.isNoted) this.store.removeFact(each.fact);
      for (const id of each.questions) this.store.removeFact(answered(id));
    }
    this.#byStream.delete(stream);
    this.#streams.forget(stream, key === undefined ? undefined : { key });
    if (key === undefined) return;
    this.#graves.push(stream);
    if (this.#graves.length > MOST_KEYS) this.#streams.forget(this.#graves.shift());
  }

  #start(call, request) {
    const { method, name } = call.request;
    if (method === "tools/call" && !isListed(this.#settings.tools, name)) {
      this.#end(call, errorText({ code: -32602, message: `Unknown tool: ${name}` }));
      return;
    }
    if (method === "ping") {
      this.#end(call, '"result":{}');
      return;
    }
    if (method === "logging/setLevel") this.#hear.level(request?.params?.level);
    const { cursor, taskId, wireId } = call;
    const wanted = { method, params: request && sent(request), cursor, taskId, wireId };
    call.cancel = this.#upstream.request(wanted, {
      call,
      event: (event) => this.#event(call, event),
      cursor: (token) => this.#moved(call, { cursor: token }),
      failed: (thrown) => this.#failed(call, thrown),
    });
  }

  #event(call, event) {
    if (call.isOver) return;
    const { type } = event;
    if (type === "progress") this.#progress(call, event);
    else if (type === "message") this.#message(call, event.message);
    else if (type === "task") this.#moved(call, { taskId: event.taskId });
    else if (type === "input_required") call.asking += 1;
    else if (type === "sent" && !call.isTakenUp) call.wireId = event.wireId;
    else if (type === "result") this.#answered(call, event);
    else if (type === "tool_call_failed") this.#failed(call, { event });
  }

  #progress(call, { progress, total, message }) {
    this.#tell(call, "progress", JSON.stringify({ progress, total, message }).slice(1, -1));
  }

  #message(call, message) {
    const { method, params } = message;
    // The relay has told it, under the id that it gave the question.
    if (method === "notifications/cancelled") return;
    if (method !== "notifications/progress") {
      this.#tell(call, "message", JSON.stringify(message));
      return;
    }
    // Of a call that was taken up, whose token landfall does not know any more.
    const { progressToken: _theirs, ...rest } = params ?? {};
    this.#progress(call, rest);
  }

  #answered(call, { result, error }) {
    const text = error === undefined ? `"result":${JSON.stringify(this.#shown(call, result))}` : undefined;
    this.#end(call, text ?? errorText(serverError(error)));
  }

  /** Tools that may not be called are not shown. */
  #shown(call, result) {
    if (call.request.method !== "tools/list" || !Array.isArray(result?.tools)) return result;
    return { ...result, tools: result.tools.filter((tool) => isListed(this.#settings.tools, tool?.name)) };
  }

  #failed(call, thrown) {
    if (call.isOver) return;
    const { event } = thrown;
    if (event?.reason === "session_lost") this.#hear.lost();
    // A cancelled request is not answered.
    if (event?.reason === "cancelled") this.#end(call, "", "end");
    // What was taken up was sent in an earlier life.
    else if (event !== undefined)
      this.#end(call, errorText(failureError(call.isTakenUp ? { ...event, outcome: "unknown" } : event)));
    else this.#end(call, errorText({ code: -32602, message: String(thrown.message) }));
  }

  /** The server asks in a call: on its stream, or as it did in an earlier life, by the id of which that is `asked`. */
  askedBefore(call, { method, params }) {
    const given = JSON.stringify(params);
    const place = call.asked.findIndex(
      (each) => each.method === method && JSON.stringify(each.params) === given,
    );
    return place < 0 ? undefined : call.asked.splice(place, 1)[0].id;
  }

  ask(call, message) {
    call.questions.push(message.id);
    this.add(call.stream, { kind: "question", place: call.place }, JSON.stringify(message));
  }

  /** A question of a call's has its answer, or is not asked any more. */
  answered(call, id) {
    if (this.#byStream.has(call.stream)) this.store.transaction(() => this.store.setFact(answered(id), "1"));
    call.asking -= 1;
    if (call.asking > 0 || call.later === undefined) return;
    this.#moved(call, { cursor: call.later });
    call.later = undefined;
  }

  #end(call, text, kind = "response") {
    call.isOver = true;
    this.#tell(call, kind, text);
  }

  /** To be kept, with what else this turn brings. */
  #tell(call, kind, text) {
    if (kind === "progress" && call.request.token === undefined) return;
    const [repeat] = call.repeats;
    if (repeat?.kind === kind && repeat.text === text) {
      call.repeats.shift();
      return;
    }
    call.repeats = [];
    this.add(call.stream, { kind, place: call.place }, text);
  }

  /** To be kept on a stream, as it is. */
  add(stream, note, text) {
    this.#pending.push({ stream, note, text });
    this.#soon();
  }

  #moved(call, place) {
    if (call.isOver) return;
    if (call.asking > 0 && place.cursor !== undefined) {
      call.later = place.cursor;
      return;
    }
    this.#cursors.set(call, { ...this.#cursors.get(call), ...place });
    this.#soon();
  }

  /** The session has ended: nothing more is kept. */
  stop() {
    this.#isDue = true;
    this.#pending = [];
    this.#cursors.clear();
  }

  /** Events, and the cursor behind them, come in one turn. */
  #soon() {
    if (this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.flush());
  }

  /** Keeps what is pending in one transaction, then tells it. */
  flush() {
    this.#isDue = false;
    // A stream that was forgotten has nobody to tell.
    const events = this.#pending.filter(({ stream }) => stream.isListen || this.#byStream.has(stream));
    const cursors = [...this.#cursors].filter(([call]) => this.#byStream.has(call.stream));
    this.#pending = [];
    this.#cursors.clear();
    if (events.length === 0 && cursors.length === 0) return;
    this.#fit(events);
    for (const { note } of events) if (isEnd(note)) note.at = this.#clock.now();
    const alone = cursors.filter(([call, place]) => !joins(events, call, place));
    try {
      this.#streams.commit(events, () => this.#noteAlone(alone));
    } catch (thrown) {
      this.#broken(events, thrown);
      return;
    }
    for (const [call, place] of cursors) Object.assign(call, place);
    for (const [call] of alone) call.isNoted = true;
    this.#settle(events);
  }

  /** Cursors that no event of their call came with. */
  #noteAlone(cursors) {
    for (const [call, place] of cursors) {
      const known = { cursor: call.cursor, taskId: call.taskId, wireId: call.wireId, ...place };
      this.store.setFact(call.fact, JSON.stringify({ ...known, at: call.stream.last }));
    }
  }

  /** What can't be kept is not told: its calls end here, and whoever comes back for them is refused. */
  #broken(events, thrown) {
    this.#hear.broken(thrown);
    for (const stream of new Set(events.map((each) => each.stream))) {
      if (stream.isListen) continue;
      stream.connection?.close("broken");
      try {
        this.abandon(stream);
      } catch {
        // Nothing can be stored; that it was made is stored already.
      }
    }
  }

  /** Makes room, or ends the calls for which there is none. */
  #fit(events) {
    const { most } = this;
    const size = () => events.reduce((sum, { text }) => sum + text.length, this.#streams.bytes);
    if (size() <= most) return;
    for (const stream of this.#streams.all)
      if (stream.connection !== undefined || stream.isListen) this.#streams.free(stream, stream.told);
    if (size() <= most) return;
    const text = errorText(
      ownFailure("message_too_large", `more than MOST_KEPT_BYTES (${most}) would be kept`),
    );
    for (const stream of new Set(events.map((each) => each.stream))) {
      const own = events.filter((each) => each.stream === stream);
      events.splice(0, events.length, ...events.filter((each) => each.stream !== stream));
      for (const call of this.of(stream)) {
        const endsNow = own.some(({ note }) => note.place === call.place && isEnd(note));
        if (call.isOver && !endsNow) continue;
        call.isOver = true;
        call.cancel();
        events.push({ stream, note: { kind: "response", place: call.place }, text });
      }
    }
  }

  #settle(events) {
    const ended = events.filter(({ note }) => isEnd(note));
    const calls = ended.map(({ stream, note }) => this.of(stream)[note.place]);
    for (const { stream } of calls) {
      if (stream.isOver || !this.of(stream).every(({ isOver }) => isOver)) continue;
      stream.isOver = true;
      stream.endedAt = this.#clock.now();
      stream.connection?.wake();
    }
    this.#hear.kept(calls);
  }

  /** An event as it is written; nothing for what only the relay knows. */
  compose(stream, { kind, place }, text) {
    if (kind === "end") return undefined;
    if (kind !== "response" && kind !== "progress") return text;
    const { id, token } = this.of(stream)[place].request;
    if (kind === "response") return responseText(id, text);
    const params = `{"progressToken":${JSON.stringify(token)},${text}}`;
    return `{"jsonrpc":"2.0","method":"notifications/progress","params":${params}}`;
  }
}

/** The name of what is kept of a question that was answered. */
const answered = (id) => `answered ${id}`;

/** The name of what is kept of when the last connection of a stream went. */
const goneFact = ({ number }) => `gone ${number}`;

const isEnd = ({ kind }) => kind === "response" || kind === "end";

/** Whether a cursor is kept with the last event of its call. */
function joins(events, call, { cursor, taskId }) {
  if (cursor === undefined || taskId !== undefined) return false;
  const last = events.findLast(({ stream, note }) => stream === call.stream && note.place === call.place);
  if (last === undefined) return false;
  last.note = { ...last.note, cursor, wireId: call.wireId };
  return true;
}
