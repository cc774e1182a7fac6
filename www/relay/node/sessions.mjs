// The sessions of a process: their objects, what they store, and when they are woken.
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Session } from "../relay/session.mjs";
import { MemoryStore } from "../store/memory.mjs";
import { SqlStore } from "../store/sql.mjs";

const ENDING = ".sqlite";

/** SQLite, where Node has it. */
export async function sqlite() {
  return import("node:sqlite").catch(() => undefined);
}

/** What fails when nobody waits. */
const tell = (thrown) => console.error(thrown);

/** All sessions of a process. With `folder` and SQLite they outlive it. */
export class Sessions {
  #made = new Map();
  // How to forget each.
  #forgets = new Map();
  // How to wake none of them any more.
  #stops = new Map();
  #parts;
  #folder;
  #sqlite;

  constructor({ folder, sqlite, ...parts }) {
    this.#parts = parts;
    this.#sqlite = sqlite;
    this.#folder = sqlite === undefined ? undefined : folder;
    if (this.#folder === undefined) return;
    mkdirSync(this.#folder, { recursive: true });
    for (const name of readdirSync(this.#folder))
      if (name.endsWith(ENDING)) this.get(name.slice(0, -ENDING.length)).wake().catch(tell);
  }

  /** The session of this id; one that nobody began is nothing, and leaves nothing behind. */
  get(id) {
    const known = this.#made.get(id);
    if (known !== undefined) return known;
    return this.#isKept(id) ? this.#make(id) : { handle: (ask) => this.#first(id, ask) };
  }

  async #first(id, ask) {
    if (ask.kind !== "begin") return new Session({ ...this.#parts, store: new MemoryStore() }).handle(ask);
    const made = this.#make(id);
    const response = await made.handle(ask);
    if (!made.isThere) this.#forget(id);
    return response;
  }

  #make(id) {
    const { clock } = this.#parts;
    const kept = this.#store(id);
    let stop = () => {};
    const alarm = {
      set: (at) => {
        stop();
        stop = clock.after(Math.max(0, at - clock.now()), () => made.wake().catch(tell));
      },
      clear: () => this.#forget(id),
    };
    const made = new Session({ ...this.#parts, store: kept.store, alarm });
    this.#made.set(id, made);
    this.#forgets.set(id, () => {
      stop();
      kept.forget();
    });
    this.#stops.set(id, () => stop());
    return made;
  }

  #forget(id) {
    this.#made.delete(id);
    this.#forgets.get(id)?.();
    this.#forgets.delete(id);
    this.#stops.delete(id);
  }

  #isKept(id) {
    return this.#folder !== undefined && existsSync(join(this.#folder, id + ENDING));
  }

  /** The process goes. */
  async close() {
    for (const stop of this.#stops.values()) stop();
    await Promise.all([...this.#made.values()].map((made) => made.putAway()));
  }

  get size() {
    return this.#made.size;
  }

  #store(id) {
    if (this.#folder === undefined) {
      return { store: new MemoryStore(), forget: () => {} };
    }
    const file = join(this.#folder, id + ENDING);
    const database = new this.#sqlite.DatabaseSync(file);
    // What is committed outlives the process; a machine that loses its power may lose the last moment.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
    return {
      store: new SqlStore(...overDatabase(database)),
      forget() {
        database.close();
        for (const ending of ["", "-wal", "-shm"]) rmSync(file + ending, { force: true });
      },
    };
  }
}

/** What SqlStore needs of a database of Node's. */
function overDatabase(database) {
  const statements = new Map();
  const exec = (statement, ...values) => {
    let prepared = statements.get(statement);
    if (prepared === undefined) {
      prepared = database.prepare(statement);
      statements.set(statement, prepared);
    }
    return prepared.all(...values);
  };
  const transaction = (run) => {
    database.exec("BEGIN");
    try {
      const given = run();
      database.exec("COMMIT");
      return given;
    } catch (thrown) {
      database.exec("ROLLBACK");
      throw thrown;
    }
  };
  return [exec, transaction];
}
