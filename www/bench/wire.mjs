// What the server of the benchmarks writes: events as the official servers write them, each with an id, each of a
// size that was asked for.

const encoder = new TextEncoder();
const filler = "the quick brown fox jumps over the lazy dog, and ";

/** So much prose: no character of it has to be escaped. */
function prose(length) {
  return filler.repeat(Math.ceil(length / filler.length)).slice(0, length);
}

/** Records of the kind that tools give: keys, numbers, text with line ends, quotes and an accent. */
function records(length) {
  const list = [];
  let rest = length;
  for (let n = 0; rest > 0; n += 1) {
    const record = {
      path: `src/part-${n}.ts`,
      line: n * 7,
      score: n / 3,
      kept: n % 2 === 0,
      text: `"café"\n${prose(60)}`,
    };
    list.push(record);
    rest -= JSON.stringify(record).length + 1;
  }
  return list;
}

const frame = (key, n, json) => `event: message\nid: ${key}_${n}\ndata: ${json}\n\n`;

/** Progress while it is small, what a tool logs where it is large. */
function notification({ request, n, size, data }) {
  if (size <= 1_024) {
    const progressToken = request.params._meta?.progressToken;
    return { method: "notifications/progress", params: { progressToken, progress: n, message: data } };
  }
  return { method: "notifications/message", params: { level: "info", logger: "bench", data } };
}

/** The n-th event of a call: `size` bytes with all that frames it. */
export function eventOf({ request, key, n, size, content = "prose" }) {
  const json = (data) => JSON.stringify({ jsonrpc: "2.0", ...notification({ request, n, size, data }) });
  const bare = frame(key, n, json("")).length;
  const data = content === "prose" ? prose(Math.max(0, size - bare)) : records(size - bare);
  return frame(key, n, json(data));
}

/** The event that answers the call. */
export function responseOf({ request, key }) {
  const result = { content: [{ type: "text", text: "done" }] };
  return frame(key, "end", JSON.stringify({ jsonrpc: "2.0", id: request.id, result }));
}

/** A whole stream: so many events, then the answer. */
export function streamOf({ request, key, events, size, content }) {
  const parts = [];
  for (let n = 1; n <= events; n += 1) parts.push(eventOf({ request, key, n, size, content }));
  parts.push(responseOf({ request, key }));
  return encoder.encode(parts.join(""));
}

/** The bytes as one HTTP chunk. */
export function frameOf(bytes) {
  return Buffer.concat([encoder.encode(`${bytes.length.toString(16)}\r\n`), bytes, encoder.encode("\r\n")]);
}

/** The bytes as HTTP chunks of this length. */
export function* framesOf(bytes, length) {
  for (let at = 0; at < bytes.length; at += length) yield frameOf(bytes.subarray(at, at + length));
}
