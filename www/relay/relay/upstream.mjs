// The session with the server behind the relay, by landfall.
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";
const LEVEL_MEMBER = "io.modelcontextprotocol/logLevel";

/**
 * One session upstream. It is opened once, put away while nobody needs it, and taken up again by its state. `hear` is told
 * what belongs to no call (`message(notification)`) and that `uris` are others (`subscribed()`), and asked what the server asks (`ask(question)`).
 */
export class Upstream {
  #landfall;
  #settings;
  #hear;
  #client;
  #state;
  #session;
  #opening;
  // By the id of landfall's request: who hears of it.
  #calls = new Map();
  #logLevel;
  // Of a server without sessions: what is subscribed to, by its URI, and the call that is kept up for it.
  #subscriptions = new Map();

  constructor({ landfall, settings, hear }) {
    this.#landfall = landfall;
    this.#settings = settings;
    this.#hear = hear;
  }

  /** Opens it on behalf of a client: what the server says of itself. Rejects as landfall's `connect` does. */
  async begin(client) {
    this.#client = client;
    this.#session = await this.#landfall.connect(this.#settings.upstream, this.#options());
    const { serverInfo, instructions, capabilities, era, protocolVersion } = this.#session;
    return { serverInfo, instructions, capabilities, era, protocolVersion };
  }

  /** It was opened before: nothing is sent until something is to be. */
  takeUp({ client, state, logLevel, uris = [] }) {
    this.#client = client;
    for (const uri of uris) this.#subscriptions.set(uri, undefined);
    this.#state = state;
    this.#logLevel = logLevel;
  }

  /** What it is taken up by. */
  get state() {
    return this.#session?.exportState() ?? this.#state;
  }

  get isOpen() {
    return this.#session !== undefined;
  }

  /** The resources that a server without sessions is to tell of. */
  get uris() {
    return [...this.#subscriptions.keys()];
  }

  /** Of a server without sessions: the level goes with each request. */
  setLogLevel(level) {
    this.#logLevel = level;
  }

  /**
   * Makes a request, or takes up one that was made: at a cursor, as it went by `wireId`, or as a task. `hear` is told its events, the outcome last,
   * and each new cursor (`cursor(text)`). Gives how to cancel it.
   */
  request({ method, params, cursor, taskId, wireId }, hear) {
    let made;
    let isCancelled = false;
    const begin = (session) => {
      if (isCancelled) {
        if (taskId !== undefined) session.task(taskId).cancel();
        hear.event({ type: "tool_call_failed", reason: "cancelled", outcome: "not_sent" });
      }
      if (isCancelled || this.#isOfSessions(session, { method, params }, hear)) return;
      const options = { onresumptiontoken: (token) => hear.cursor(token) };
      if (cursor !== undefined) Object.assign(options, { resumptionToken: cursor, idempotent: false });
      made =
        taskId === undefined
          ? session.request(method, this.#params(session, params), options)
          : session.task(taskId);
      this.#calls.set(made.id, hear);
    };
    this.#open()
      .then(begin)
      .catch((thrown) => hear.failed(thrown));
    return () => {
      isCancelled = true;
      // The server knows it by the id of an earlier life.
      if (cursor !== undefined && wireId !== undefined)
        this.notify("notifications/cancelled", { requestId: wireId });
      made?.cancel();
    };
  }

  /** Tells the server something. What becomes of it nobody hears. */
  notify(method, params) {
    this.#open()
      .then((session) => session.notify(method, params))
      .catch(() => {});
  }

  /** Opens it, so that the server is heard. */
  wake() {
    this.#open().catch(() => {});
  }

  /** Nobody needs it for now. */
  async park() {
    // What is begun between would be of a session that is closed.
    if (this.#opening !== undefined) await this.#opening.catch(() => {});
    const session = this.#session;
    if (session === undefined) return;
    this.#state = session.exportState();
    this.#session = undefined;
    this.#calls.clear();
    await session.close();
  }

  /** Ends the server's session. */
  async end() {
    await this.park();
    const state = this.#state;
    this.#state = undefined;
    if (state === undefined) return;
    const options = { ...this.#options(), state, terminateSessionOnClose: true, listen: false };
    const session = await this.#landfall.connect(this.#settings.upstream, options);
    await session.close();
  }

  /** What landfall counted since this was asked last. */
  metrics() {
    return this.#session?.metrics({ reset: true });
  }

  #open() {
    if (this.#session !== undefined) return Promise.resolve(this.#session);
    if (this.#state === undefined) return Promise.reject(new Error("there is no session to take up"));
    this.#opening ??= this.#landfall
      .connect(this.#settings.upstream, { ...this.#options(), state: this.#state })
      .then((session) => {
        this.#session = session;
        if (session.era === "modern") for (const uri of this.uris) this.#subscribe(session, uri);
        return session;
      })
      .finally(() => {
        this.#opening = undefined;
      });
    return this.#opening;
  }

  /** Whether a request is of those that have another form where there is no session; then it was answered. */
  #isOfSessions(session, { method, params }, hear) {
    if (session.era !== "modern") return false;
    const { uri } = params ?? {};
    if (method === "resources/subscribe" && typeof uri === "string") {
      this.#subscribe(session, uri, hear);
      return true;
    }
    if (method === "resources/unsubscribe") {
      this.#subscriptions.get(uri)?.cancel();
      this.#subscriptions.delete(uri);
      this.#hear.subscribed();
    } else if (method !== "logging/setLevel") return false;
    hear.event({ type: "result", result: {} });
    return true;
  }

  /** One subscription, which lasts as long as the session; `hear` waits until it is granted. */
  #subscribe(session, uri, hear) {
    const made = session.request("subscriptions/listen", { notifications: { resourceSubscriptions: [uri] } });
    this.#subscriptions.get(uri)?.cancel();
    this.#subscriptions.set(uri, made);
    let isGranted = false;
    const event = (told) => {
      const { type, message } = told;
      if (type === "result" || type === "tool_call_failed") {
        if (this.#subscriptions.get(uri) === made) this.#subscriptions.delete(uri);
        if (!isGranted) hear?.event(told);
      } else if (type === "message" && message.method === ACKNOWLEDGED) {
        if (isGranted) return;
        isGranted = true;
        this.#hear.subscribed();
        hear?.event({ type: "result", result: {} });
      } else if (type === "message") this.#hear.message(message);
    };
    this.#calls.set(made.id, { event });
  }

  #params(session, params) {
    if (session.era !== "modern" || this.#logLevel === undefined) return params;
    return { ...params, _meta: { ...params?._meta, [LEVEL_MEMBER]: this.#logLevel } };
  }

  #options() {
    const { callMs, deadlineMs, mostEventBytes, upstreamToken } = this.#settings;
    return {
      ...this.#client,
      // A session that the server forgot is the client's business: its state is gone.
      ...{ onSessionLost: "fail", terminateSessionOnClose: false, listen: true, logger: false },
      timeouts: { callMs, deadlineMs: Math.max(callMs, deadlineMs) },
      limits: { maxEventBytes: mostEventBytes, maxBodyBytes: mostEventBytes },
      ...(upstreamToken ? { authProvider: { token: () => upstreamToken } } : {}),
      onEvent: (event) => this.#event(event),
      onRequest: (request) => this.#asked(request),
    };
  }

  #event(event) {
    const { requestId, type } = event;
    if (requestId === undefined) {
      if (type === "message" && event.message.method !== ACKNOWLEDGED) this.#hear.message(event.message);
      return;
    }
    const hear = this.#calls.get(requestId);
    if (type === "result" || type === "tool_call_failed") this.#calls.delete(requestId);
    hear?.event(event);
  }

  async #asked({ method, params, signal, requestId }) {
    const { result, error } = await this.#hear.ask({
      method,
      params,
      signal,
      call: this.#calls.get(requestId),
    });
    if (error !== undefined) throw new this.#landfall.ServerError(error);
    return result;
  }
}
