// How streams and their events are numbered: in the store, and as the ids that clients get.
//
// A row of the store is found by one number: heads of streams below 2^32, then the events of each stream in order. What is
// long has parts. 2^21 streams, as many events in each, 2^11 parts.
const PARTS = 2 ** 11;
const STREAM = 2 ** 32;
const MOST = 2 ** 21 - 1;

export const HEADS_END = STREAM;
export const headRow = (stream, part = 0) => stream * PARTS + part;
export const streamOfHead = (id) => Math.floor(id / PARTS);
export const eventRow = (stream, event, part = 0) => stream * STREAM + event * PARTS + part;
export const eventOfRow = (id) => Math.floor((id % STREAM) / PARTS);
export const isSpent = (number) => number >= MOST;

// A row has at most 2 MB, and a character up to three bytes.
const MOST_CHARACTERS = 500_000;

/** A text in parts that fit into rows; no character is cut in two. */
export function split(text) {
  if (text.length <= MOST_CHARACTERS) return [text];
  const parts = [];
  for (let start = 0; start < text.length; ) {
    let end = Math.min(start + MOST_CHARACTERS, text.length);
    const last = text.charCodeAt(end - 1);
    if (end < text.length && last >= 0xd800 && last < 0xdc00) end -= 1;
    parts.push(text.slice(start, end));
    start = end;
  }
  return parts;
}

/** The id of an event: the session's tag keeps it from being taken for one of another session's. */
export const eventId = (tag, stream, event) => `${tag}-${stream}/${event}`;

/** What an id names: `{ stream, event }`, or nothing. */
export function readEventId(tag, id) {
  const [, given, stream, event] = /^([0-9a-z]+)-(\d{1,7})\/(\d{1,7})$/.exec(id) ?? [];
  return given === tag ? { stream: Number(stream), event: Number(event) } : undefined;
}
