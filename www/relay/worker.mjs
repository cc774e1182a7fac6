// The relay as a Worker: see README.md. Each session is a Durable Object of its own, and one more knows them all.
import { DurableObject } from "cloudflare:workers";
import * as landfall from "landfall";
import access from "./access.mjs";
import { realClock } from "./relay/clock.mjs";
import { Register } from "./relay/register.mjs";
import { Relay } from "./relay/relay.mjs";
import { Session } from "./relay/session.mjs";
import { readSettings, SetupError } from "./relay/settings.mjs";
import { SqlStore } from "./store/sql.mjs";

const settingsOf = (env) => readSettings(env, { hasAccess: access !== undefined });

export default {
  async fetch(request, env) {
    try {
      return await relayOf(env).fetch(request);
    } catch (thrown) {
      if (thrown instanceof SetupError) return Response.json({ error: thrown.message }, { status: 503 });
      throw thrown;
    }
  },
};

function relayOf(env) {
  const sessions = (id) => {
    const object = env.SESSIONS.get(env.SESSIONS.idFromName(id));
    return {
      handle: (ask) => object.fetch("https://session/", { method: "POST", body: JSON.stringify(ask) }),
    };
  };
  return new Relay({ settings: settingsOf(env), sessions, register: registerOf(env), access });
}

const registerOf = (env) => env.REGISTER.get(env.REGISTER.idFromName("all"));

/** The store of an object. */
const storeOf = ({ storage }) =>
  new SqlStore(
    (statement, ...values) => storage.sql.exec(statement, ...values).toArray(),
    (run) => storage.transactionSync(run),
  );

/** One session. */
export class RelaySession extends DurableObject {
  #session;

  async fetch(request) {
    return this.#open().handle(await request.json());
  }

  async alarm() {
    await this.#open().wake();
  }

  #open() {
    this.#session ??= new Session({
      ...{ settings: settingsOf(this.env), landfall, clock: realClock },
      ...{ store: storeOf(this.ctx), alarm: this.#alarm(), register: this.#register() },
    });
    return this.#session;
  }

  #alarm() {
    const { storage } = this.ctx;
    return {
      set: (at) => void this.ctx.waitUntil(storage.setAlarm(at)),
      async clear() {
        await storage.deleteAlarm();
        await storage.deleteAll();
      },
    };
  }

  /** What is only told is not waited for. */
  #register() {
    const all = registerOf(this.env);
    const told = (telling) => this.ctx.waitUntil(telling.catch(() => {}));
    return {
      open: (session, caller) => all.open(session, caller),
      allow: (session, wanted) => all.allow(session, wanted),
      report: (session, what) => told(all.report(session, what)),
      close: (session) => told(all.close(session)),
      mismatched: () => told(all.mismatched()),
    };
  }
}

/** The table of all sessions. */
export class RelayRegister extends DurableObject {
  #register;

  constructor(ctx, env) {
    super(ctx, env);
    this.#register = new Register({ settings: settingsOf(env), clock: realClock, store: storeOf(ctx) });
  }

  open(session, caller) {
    return this.#register.open(session, caller);
  }

  allow(session, wanted) {
    return this.#register.allow(session, wanted);
  }

  report(session, what) {
    this.#register.report(session, what);
  }

  close(session) {
    this.#register.close(session);
  }

  mismatched() {
    this.#register.mismatched();
  }

  metrics() {
    return this.#register.metrics();
  }
}
