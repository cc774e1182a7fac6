// What is kept of one session, in SQLite: that of a Durable Object, or Node's.
//
// `facts` are few and by name; `rows` are many and by number. Both hold text. A row costs one billed write.
const TABLES = [
  "CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
  "CREATE TABLE entries (id INTEGER PRIMARY KEY, note TEXT NOT NULL, text TEXT NOT NULL)",
];

/** A store over `exec(statement, ...values)`, which gives the rows, and `transaction(run)`. */
export class SqlStore {
  #exec;
  #transaction;
  #isThere;

  constructor(exec, transaction) {
    this.#exec = exec;
    this.#transaction = transaction;
    this.#isThere = exec("SELECT name FROM sqlite_master WHERE name = 'facts'").length > 0;
  }

  /** All that is done in `run`, or nothing where that throws. */
  transaction(run) {
    const wasThere = this.#isThere;
    try {
      return this.#transaction(() => {
        // Who asks for what is not there leaves nothing behind.
        if (!wasThere) for (const table of TABLES) this.#exec(table);
        this.#isThere = true;
        return run();
      });
    } catch (thrown) {
      this.#isThere = wasThere;
      throw thrown;
    }
  }

  fact(name) {
    if (!this.#isThere) return undefined;
    return this.#exec("SELECT value FROM facts WHERE name = ?", name)[0]?.value;
  }

  setFact(name, value) {
    this.#exec("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, value);
  }

  removeFact(name) {
    this.#exec("DELETE FROM facts WHERE name = ?", name);
  }

  put(id, note, text) {
    this.#exec("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", id, note, text);
  }

  /** Rows from `from` up to, without, `to`, in order; `limit` at most. */
  rows(from, to, limit) {
    if (!this.#isThere) return [];
    const statement = "SELECT id, note, text FROM entries WHERE id >= ? AND id < ? ORDER BY id LIMIT ?";
    return this.#exec(statement, from, to, limit);
  }

  remove(from, to) {
    this.#exec("DELETE FROM entries WHERE id >= ? AND id < ?", from, to);
  }

  /** It was emptied from outside. */
  forgotten() {
    this.#isThere = false;
  }
}
