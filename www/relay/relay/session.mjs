// One session with a client: what a Durable Object holds, or one object in Node.
import { Calls } from "./calls.mjs";
import { Connection } from "./connection.mjs";
import { goneAnswer, unreachable } from "./failure.mjs";
import { clientOf, digest, kindOf, readBody, VERSIONS, versionFor } from "./messages.mjs";
import { Counts } from "./metrics.mjs";
import { Questions } from "./questions.mjs";
import { busy, Refusal, unknownSession } from "./refusal.mjs";
import { Streams } from "./streams.mjs";
import { Upstream } from "./upstream.mjs";

// While a call is under way the object is woken so often, should it have been put away.
const WAKE_MS = 30_000;
// What belongs to no call, and was told or could not be.
const MOST_UNTOLD = 1_000;
// From this version on clients know an empty event with an id.
const PRIMED_FROM = "2025-11-25";

/**
 * One session. `store` and `alarm` are its own: `alarm.set(at)` has `wake()` called then, or never for `undefined`;
 * `alarm.clear()` forgets all that is stored. `register` knows all sessions.
 */
export class Session {
  #store;
  #alarm;
  #clock;
  #settings;
  #register;
  #landfall;
  #facts;
  #streams;
  #calls;
  #upstream;
  #questions;
  #listen;
  #counts = new Counts();
  #lastRequest = 0;
  #noted = 0;
  #alarmAt;
  #abandonedAt = 0;
  #leftAt = 0;
  #isParked = true;

  constructor({ store, alarm, clock, settings, register, landfall }) {
    this.#store = store;
    this.#alarm = alarm;
    this.#clock = clock;
    this.#settings = settings;
    this.#register = register;
    this.#landfall = landfall;
    this.#build();
    const facts = store.fact("session");
    if (facts !== undefined) this.#load(JSON.parse(facts));
  }

  #build() {
    const [store, settings, clock] = [this.#store, this.#settings, this.#clock];
    this.#streams = new Streams(store, clock);
    this.#questions = new Questions();
    const hear = {
      message: (message) => this.#heard(message),
      ask: (question) => this.#asked(question),
      subscribed: () => this.#setUris(),
    };
    this.#upstream = new Upstream({ landfall: this.#landfall, settings, hear });
    this.#calls = new Calls({
      ...{ streams: this.#streams, upstream: this.#upstream, settings, clock, store },
      hear: {
        kept: (calls) => this.#kept(calls),
        lost: () => this.#lost(),
        broken: () => this.#counts.add("storage_failures"),
        level: (level) => this.#setLevel(level),
      },
    });
  }

  #load(facts) {
    this.#facts = facts;
    this.#noted = Number(this.#store.fact("at"));
    this.#lastRequest = this.#noted + this.#noteMs;
    this.#upstream.takeUp({
      client: facts.client,
      state: JSON.parse(this.#store.fact("upstream")),
      logLevel: this.#store.fact("level"),
      uris: JSON.parse(this.#store.fact("uris") ?? "[]"),
    });
    this.#calls.load();
    for (const { asked } of this.#calls.running) for (const { id } of asked) this.#questions.expect(id);
    this.#listen = this.#streams.all.find(({ head }) => head.listen);
    if (this.#listen) this.#listen.isListen = true;
    this.#isParked = this.#calls.running.length === 0;
  }

  /** Somebody began it, and it has not ended. */
  get isThere() {
    return this.#facts !== undefined;
  }

  /** Answers a request: `{ kind, caller, text, lastEventId }`, and `id` where it begins. Never rejects. */
  async handle(ask) {
    try {
      return await this.#handle(ask);
    } catch (thrown) {
      if (thrown instanceof Refusal) return thrown.response();
      throw thrown;
    } finally {
      this.#schedule();
    }
  }

  async #handle(ask) {
    if (ask.kind === "begin") return this.#begin(ask);
    if (this.#facts === undefined || this.#facts.caller !== ask.caller) {
      this.#register.mismatched();
      throw unknownSession();
    }
    this.#active();
    if (ask.kind === "end") {
      await this.end();
      return new Response(null, { status: 204 });
    }
    return ask.kind === "listen" ? this.#get(ask) : this.#post(ask);
  }

  // ---- The beginning, and the end

  async #begin({ caller, text, id: session }) {
    const { messages } = readBody(text);
    const [{ id, params = {} }] = messages;
    const { protocolVersion } = params;
    const refused = await this.#register.open(session, caller);
    if (refused !== undefined) throw busy(refused, 60);
    const client = clientOf(params);
    let server;
    try {
      server = await this.#upstream.begin(client);
    } catch (thrown) {
      this.#register.close(session);
      return unreachable(id, thrown);
    }
    this.#isParked = false;
    this.#facts = {
      id: session,
      caller,
      client,
      primes: protocolVersion >= PRIMED_FROM,
      version: versionFor(protocolVersion),
    };
    this.#store.transaction(() => {
      this.#store.setFact("tag", crypto.randomUUID().slice(0, 6));
      this.#store.setFact("session", JSON.stringify(this.#facts));
      this.#store.setFact("upstream", JSON.stringify(this.#upstream.state));
    });
    this.#active();
    const { serverInfo = { name: "landfall-relay", version: "1" }, instructions, capabilities: can } = server;
    const result = { protocolVersion: this.#facts.version, capabilities: can, serverInfo, instructions };
    return Response.json({ jsonrpc: "2.0", id, result }, { headers: this.#headers() });
  }

  /** Ends it, and forgets all of it. */
  async end() {
    if (this.#facts === undefined) return;
    const { id } = this.#facts;
    this.#facts = undefined;
    this.#calls.stop();
    for (const stream of this.#streams.all) {
      stream.isOver = true;
      stream.connection?.close("ended");
    }
    const upstream = this.#upstream;
    this.#register.report(id, this.#counts.take());
    this.#register.close(id);
    this.#alarmAt = undefined;
    this.#build();
    this.#listen = undefined;
    await this.#alarm.clear();
    this.#store.forgotten();
    await upstream.end().catch(() => {});
  }

  /** The process goes: what is stored goes on in another. */
  async putAway() {
    this.#facts = undefined;
    this.#calls.stop();
    await this.#upstream.park();
  }

  #headers() {
    return { "mcp-session-id": this.#facts.id };
  }

  /** How exactly it is stored when it was asked last: to the minute is enough, and costs less. */
  get #noteMs() {
    return Math.min(60_000, this.#settings.idleMs / 8);
  }

  #active() {
    this.#lastRequest = this.#clock.now();
    if (this.#lastRequest - this.#noted < this.#noteMs) return;
    this.#noted = this.#lastRequest;
    this.#store.transaction(() => this.#store.setFact("at", String(this.#noted)));
  }

  // ---- What the client sends

  async #post({ text }) {
    const { messages, isBatch } = readBody(text);
    if (isBatch && this.#facts.version !== VERSIONS.at(-1))
      throw new Refusal(400, -32600, "arrays are of version 2025-03-26 alone");
    const requests = messages.filter((message) => kindOf(message) === "request");
    if (requests.some(({ method }) => method === "initialize"))
      throw new Refusal(400, -32600, "this session is initialized");
    if (requests.length > 0 && this.#isDead()) throw unknownSession();
    for (const message of messages) this.#take(message);
    if (requests.length === 0) return new Response(null, { status: 202, headers: this.#headers() });
    if (requests.length === 1 && requests[0].method === "ping")
      return Response.json({ jsonrpc: "2.0", id: requests[0].id, result: {} }, { headers: this.#headers() });
    return this.#call(requests, await digest(text));
  }

  /** A notification or a response. */
  #take(message) {
    const kind = kindOf(message);
    if (kind === "response") this.#questions.answer(message);
    if (kind !== "notification" || message.method === "notifications/initialized") return;
    const { method, params } = message;
    if (method === "notifications/cancelled") this.#calls.cancel(params?.requestId);
    // Any other method without an id would be a request that no list of tools and no quota has seen.
    else if (method.startsWith("notifications/")) this.#upstream.notify(method, params);
  }

  async #call(requests, hash) {
    const known = this.#calls.find(requests, hash);
    if (known !== undefined) return this.#attach(known, requests);
    const calls = this.#calls.running.length + requests.length;
    const wanted = { calls, bytes: this.#streams.bytes };
    const { refused, left } = await this.#register.allow(this.#facts.id, wanted);
    if (refused !== undefined) throw busy(refused, 1);
    this.#calls.most = left;
    // Meanwhile the session may have ended, or the same have come again.
    if (this.#facts === undefined) throw unknownSession();
    const since = this.#calls.find(requests, hash);
    if (since !== undefined) return this.#attach(since, requests);
    this.#isParked = false;
    const stream = this.#calls.open(requests, hash);
    return this.#carry(stream, 0).response(this.#headers());
  }

  #attach({ stream, how }, requests) {
    this.#resumed(how, stream.head.gone ? "gone" : "attached");
    if (stream.head.gone) return goneAnswer(requests[0].id, this.#headers());
    if (how === "key") this.#calls.rename(stream, requests);
    return this.#carry(stream, stream.first - 1).response(this.#headers());
  }

  /** A GET: of a stream that was cut, or of what belongs to no call. */
  #get({ lastEventId }) {
    if (lastEventId === undefined) {
      if (this.#isDead()) throw unknownSession();
      const stream = this.#listening();
      this.#upstream.wake();
      this.#isParked = false;
      return this.#carry(stream, Math.max(stream.told, stream.first - 1)).response(this.#headers());
    }
    try {
      const { stream, event } = this.#streams.find(lastEventId);
      const kind = stream.isListen ? "listen" : "cursor";
      this.#resumed(kind, "attached");
      // What came before it has arrived.
      this.#streams.free(stream, event);
      if (stream.isOver && this.#read(stream, event).every(({ text }) => text === undefined))
        return new Response(null, { status: 204, headers: this.#headers() });
      return this.#carry(stream, event).response(this.#headers());
    } catch (thrown) {
      if (thrown instanceof Refusal) this.#resumed("cursor", "refused");
      throw thrown;
    }
  }

  #resumed(kind, result) {
    this.#counts.add("resumes", { kind, result });
    this.#report();
  }

  /** A connection for a stream, in place of the one that it has. */
  #carry(stream, after) {
    const source = {
      prime: this.#facts.primes ? this.#streams.idOf(stream, after) : undefined,
      after: (event) => this.#read(stream, event),
    };
    const old = stream.connection;
    const connection = new Connection({
      ...{ stream, source, after, clock: this.#clock, mostMs: this.#settings.streamMs },
      ended: (how) => this.#left(stream, connection, how),
    });
    stream.connection = connection;
    stream.goneAt = undefined;
    this.#calls.met(stream);
    old?.close("replaced");
    return connection;
  }

  /** Events as they are written; what only the relay knows has no text. */
  #read(stream, after) {
    return this.#streams.after(stream, after).map(({ event, note, text }) => ({
      ...{ event, id: this.#streams.idOf(stream, event) },
      text: this.#calls.compose(stream, note, text),
    }));
  }

  #left(stream, connection, how) {
    this.#counts.sample("connection_seconds", connection.age / 1000);
    if (stream.connection !== connection) return;
    stream.connection = undefined;
    stream.goneAt = this.#leftAt = this.#clock.now();
    if (this.#facts === undefined) return;
    this.#schedule();
    if (how !== "gone" && how !== "stalled") return;
    this.#counts.add("drops");
    this.#report();
  }

  /** The stream of what belongs to no call. */
  #listening() {
    this.#listen ??= this.#store.transaction(() => this.#streams.open({ listen: true }));
    this.#listen.isListen = true;
    return this.#listen;
  }

  // ---- What the server says

  #heard(message) {
    if (this.#facts === undefined || message.method === "notifications/cancelled") return;
    this.#add(this.#listening(), JSON.stringify(message));
  }

  #add(stream, text) {
    this.#calls.add(stream, { kind: "message" }, text);
  }

  async #asked({ method, params, signal, call: heard }) {
    const call = heard?.call;
    const stream = call?.stream ?? this.#listening();
    const known = call && this.#calls.askedBefore(call, { method, params });
    const question = {
      id: known ?? this.#questions.fresh(),
      method,
      params,
      signal,
      isAgain: known !== undefined,
    };
    const answer = this.#questions.ask(question, stream, (message) => {
      if (call !== undefined && "id" in message) this.#calls.ask(call, message);
      else this.#add(stream, JSON.stringify(message));
    });
    this.#schedule();
    const given = await answer;
    // Where it is all over, the next life is asked.
    if (call !== undefined && this.#facts !== undefined) this.#calls.answered(call, question.id);
    return given;
  }

  /** The server has forgotten its session: so has the relay, once its calls have settled. */
  #lost() {
    if (this.#facts === undefined || this.#facts.lost) return;
    this.#facts = { ...this.#facts, lost: true };
    this.#counts.add("lost_sessions");
    this.#store.transaction(() => this.#store.setFact("session", JSON.stringify(this.#facts)));
  }

  #isDead() {
    return this.#facts.lost === true && this.#calls.running.length === 0;
  }

  #setUris() {
    if (this.#facts === undefined) return;
    this.#store.transaction(() => this.#store.setFact("uris", JSON.stringify(this.#upstream.uris)));
  }

  #setLevel(level) {
    if (typeof level !== "string") return;
    this.#upstream.setLogLevel(level);
    this.#store.transaction(() => this.#store.setFact("level", level));
  }

  #kept(ended) {
    for (const { request, startedAt } of ended)
      if (request.method === "tools/call")
        this.#counts.sample("tool_seconds", (this.#clock.now() - startedAt) / 1000);
    if (ended.length === 0) return;
    const { exhausted = 0 } = this.#upstream.metrics() ?? {};
    if (exhausted > 0) this.#counts.add("exhausted_retries", undefined, exhausted);
    this.#report();
    this.#schedule();
  }

  #report() {
    if (this.#facts === undefined) return;
    const [calls, bytes] = [this.#calls.running.length, this.#streams.bytes];
    this.#register.report(this.#facts.id, { calls, bytes, ...this.#counts.take() });
  }

  // ---- Time

  /** It is time for something, or the object was woken for what it may have to carry on. */
  async wake() {
    this.#alarmAt = undefined;
    if (this.#facts === undefined) return;
    const now = this.#clock.now();
    const { graceMs, idleMs } = this.#settings;
    for (const stream of this.#streams.all) {
      if (stream.head.gone) continue;
      if (stream.connection?.isStalled(graceMs)) stream.connection.close("stalled");
      if (stream.isListen) this.#prune(stream, now);
      else if (now >= this.#keptUntil(stream)) this.#expire(stream);
    }
    for (const stream of new Set(this.#questions.streams))
      if (stream.goneAt !== undefined && now - stream.goneAt >= graceMs) this.#questions.expire(stream);
    this.#report();
    if (this.#isQuiet() && !this.#isKeeping() && now >= this.#quietSince() + idleMs) return this.end();
    if (!this.#isParked && this.#isQuiet() && now >= this.#quietSince() + graceMs) {
      this.#isParked = true;
      await this.#upstream.park();
    }
    this.#schedule();
  }

  /** Nobody came back for a call in time, or for what is left of it. */
  #expire(stream) {
    if (stream.isOver) this.#calls.forget(stream);
    else {
      this.#counts.add("abandoned_calls", undefined, this.#calls.of(stream).length);
      this.#calls.abandon(stream);
      // The server is to hear of it.
      this.#abandonedAt = this.#clock.now();
    }
  }

  /** When a stream is needed no more: so long after the client went, or after its end. */
  #keptUntil({ goneAt, endedAt = 0 }) {
    return goneAt === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(goneAt, endedAt) + this.#settings.graceMs;
  }

  /** What belongs to no call is kept for a client that is away; what was told, until it would have said that it was not. */
  #prune(stream, now) {
    const { graceMs } = this.#settings;
    if (stream.goneAt !== undefined && now - stream.goneAt >= graceMs)
      this.#streams.free(stream, stream.last);
    else if (stream.last - stream.first >= MOST_UNTOLD) this.#streams.free(stream, stream.last - MOST_UNTOLD);
  }

  /** No call is under way, and nobody is connected. */
  #isQuiet() {
    return (
      this.#calls.running.length === 0 &&
      this.#streams.all.every(({ connection }) => connection === undefined)
    );
  }

  #quietSince() {
    return Math.max(this.#lastRequest, this.#abandonedAt, this.#leftAt);
  }

  /** Whether somebody may come back for what a call told. */
  #isKeeping() {
    return this.#streams.all.some(({ head, isListen }) => !head.gone && !isListen);
  }

  /** Has the object woken when the next thing is due. */
  #schedule() {
    if (this.#facts === undefined) return;
    const { graceMs, idleMs } = this.#settings;
    const now = this.#clock.now();
    const due = this.#streams.all.filter(({ head, isListen }) => !head.gone && !isListen);
    const times = due.map((stream) => this.#keptUntil(stream));
    if (this.#calls.running.length > 0) times.push(now + WAKE_MS);
    const listen = this.#listen;
    if (
      listen?.goneAt !== undefined &&
      (listen.last >= listen.first || this.#questions.streams.includes(listen))
    )
      times.push(listen.goneAt + graceMs);
    if (this.#isQuiet())
      times.push(this.#quietSince() + (this.#isParked ? idleMs : Math.min(graceMs, idleMs)));
    else times.push(now + Math.min(2 * graceMs, idleMs));
    const at = Math.max(now + 1, Math.min(...times));
    // One that comes too early asks again; each costs a write.
    if (this.#alarmAt !== undefined && this.#alarmAt <= at) return;
    this.#alarmAt = at;
    this.#alarm.set(at);
  }
}
