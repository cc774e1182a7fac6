// The journal of a call: what happened, kept in its object's storage.
const KEPT = 500;
const AT_ONCE = 100;

/** What is known of one call, in the storage of its object; nothing is stored before there is a call. */
export class Journal {
  #storage;
  #isThere;

  constructor(storage) {
    this.#storage = storage;
    const tables = this.#rows("SELECT name FROM sqlite_master WHERE name = 'events'");
    this.#isThere = tables.length > 0;
  }

  begin(call) {
    this.#rows("CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL)");
    this.#rows("CREATE TABLE events (id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT NOT NULL)");
    this.#isThere = true;
    this.set("call", call);
  }

  async forget() {
    await this.#storage.deleteAll();
    this.#isThere = false;
  }

  get(name) {
    if (!this.#isThere) return undefined;
    const [row] = this.#rows("SELECT value FROM facts WHERE name = ?", name);
    return row && JSON.parse(row.value);
  }

  set(name, value) {
    this.#rows("INSERT OR REPLACE INTO facts VALUES (?, ?)", name, JSON.stringify(value));
  }

  /** Adds an event; the oldest beyond the last 500 is dropped. */
  append(event) {
    this.#rows("INSERT INTO events (data) VALUES (?)", JSON.stringify(event));
    this.#rows("DELETE FROM events WHERE id <= (SELECT max(id) FROM events) - ?", KEPT);
  }

  /** Events after the one of that id, with a word about those that were dropped. */
  after(id) {
    const rows = this.#rows("SELECT * FROM events WHERE id > ? ORDER BY id LIMIT ?", id, AT_ONCE);
    const missing = rows.length === 0 ? 0 : rows[0].id - id - 1;
    if (missing <= 0) return rows;
    const message = `${missing} earlier events are not kept any more`;
    return [{ data: JSON.stringify({ type: "warning", code: "events_dropped", message }) }, ...rows];
  }

  #rows(statement, ...values) {
    return this.#storage.sql.exec(statement, ...values).toArray();
  }
}
