// The event store that the TypeScript SDK asks for, in memory.

export class InMemoryEventStore {
  #events = [];

  async storeEvent(streamId, message) {
    const id = `${streamId}/${this.#events.length}`;
    this.#events.push({ id, streamId, message });
    return id;
  }

  async getStreamIdForEventId(id) {
    return this.#events.find((event) => event.id === id)?.streamId;
  }

  async replayEventsAfter(lastEventId, { send }) {
    const start = this.#events.findIndex(({ id }) => id === lastEventId);
    const { streamId } = this.#events[start];
    for (let i = start + 1; i < this.#events.length; i += 1) {
      const { id, streamId: of, message } = this.#events[i];
      // The event that primes a stream has an id, and no message.
      if (of === streamId && message.jsonrpc) await send(id, message);
    }
    return streamId;
  }
}
