// What is kept of one session, in memory: where there is no SQLite, and nothing need outlive the process.

/** The same as SqlStore. */
export class MemoryStore {
  #facts = new Map();
  // By id, in order.
  #rows = [];
  #undo;

  transaction(run) {
    this.#undo = [];
    try {
      return run();
    } catch (thrown) {
      for (const undo of this.#undo.reverse()) undo();
      throw thrown;
    } finally {
      this.#undo = undefined;
    }
  }

  fact(name) {
    return this.#facts.get(name);
  }

  setFact(name, value) {
    this.#keepFact(name);
    this.#facts.set(name, value);
  }

  removeFact(name) {
    this.#keepFact(name);
    this.#facts.delete(name);
  }

  put(id, note, text) {
    const at = this.#place(id);
    const old = this.#rows[at]?.id === id ? [this.#rows[at]] : [];
    this.#splice(at, old.length, [{ id, note, text }]);
  }

  rows(from, to, limit) {
    const start = this.#place(from);
    return this.#rows.slice(start, Math.min(this.#place(to), start + limit));
  }

  remove(from, to) {
    const start = this.#place(from);
    this.#splice(start, this.#place(to) - start, []);
  }

  forgotten() {
    this.#facts.clear();
    this.#rows = [];
  }

  /** How much is kept: facts and rows. */
  get size() {
    return this.#facts.size + this.#rows.length;
  }

  #keepFact(name) {
    const old = this.#facts.get(name);
    this.#undo?.push(() => (old === undefined ? this.#facts.delete(name) : this.#facts.set(name, old)));
  }

  #splice(at, count, rows) {
    const removed = this.#rows.splice(at, count, ...rows);
    this.#undo?.push(() => this.#rows.splice(at, rows.length, ...removed));
  }

  /** The place of the first row that is not below this id. */
  #place(id) {
    let [low, high] = [0, this.#rows.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#rows[middle].id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
