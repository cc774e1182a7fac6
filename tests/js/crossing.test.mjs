// The crossing: what the driver writes as numbers, read into records; and the options, which both sides must know.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decoded } from "../../target/modules/core/decoder.js";
import { readSettings } from "../../target/modules/options/settings.js";
import { sdkRequestOptions } from "../../target/modules/sdk/request-options.js";

/**
 * Exports that tell `numbers` (without their head), these messages, short texts and rare outputs, in a memory of their own. A
 * body stands at 8192.
 */
function telling(numbers, messages = [], rare = [], { onRare = () => {}, texts = "", body = "" } = {}) {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const text = messages.length === 0 ? "" : JSON.stringify(messages);
  const [address, textAt, textsAt, bodyAt] = [64, 4_096, 6_144, 8_192];
  const put = (each, at) => new TextEncoder().encodeInto(each, new Uint8Array(memory.buffer, at)).written;
  const head = [numbers.length + 6, textAt, put(text, textAt), rare.length, textsAt, put(texts, textsAt)];
  put(body, bodyAt);
  new Float64Array(memory.buffer, address).set([...head, ...numbers]);
  const raw = {
    memory,
    poll: () => address,
    call: () => address,
    push: () => 0,
    room: () => 32_768,
    rare: () => {
      onRare(memory);
      return JSON.stringify(rare);
    },
  };
  return decoded(raw);
}

const note = (n) => ({ jsonrpc: "2.0", method: "m", params: { n } });

test("messages in a row are one record, with their place among all messages and the key of the first", () => {
  const among = [note(1), note(2), note(3), note("é")];
  const core = telling([1, 3, 9.5, 7, 3, 0, 2, -1, 10, 0, 1, 3], among);
  const of = { out: "messages", seam: false, among };
  assert.deepEqual(core.poll(1, 0).outputs, [
    { ...of, type: "message", call: 3, at: 9.5, firstKey: 7, index: 0, count: 3 },
    { ...of, type: "progress", call: undefined, at: 10, firstKey: 0, index: 3, count: 1 },
  ]);
});

test("other records keep their place among them, the rare ones too", () => {
  const numbers = [
    ...[7, 4, 1],
    ...[6, 2, 5, 200],
    ...[3, 2, 5, 1, 1, 0],
    0,
    ...[4, 2, 5, 2, 1, 1],
    ...[8, 4],
    ...[5, 2, 6, 2, 0],
    ...[5, 3, 6, 2, 400],
    0,
  ];
  const rare = [
    { out: "request", call: 2, at: 5, message: 1 },
    { out: "event", at: 1, type: "warning", message: "a text" },
  ];
  const among = [note(1), note(2), note(3)];
  const core = telling(numbers, among, rare);
  const seam = { out: "messages", call: 2, at: 5, among, count: 1, firstKey: 1, seam: true };
  assert.deepEqual(core.poll(1, 0).outputs, [
    { out: "read", exchange: 4, on: true },
    { out: "event", call: 2, at: 5, type: "open", status: 200 },
    { ...seam, type: "message", index: 0 },
    { out: "request", call: 2, at: 5, message: note(2) },
    { ...seam, type: "progress", firstKey: 2, index: 1 },
    { out: "abort", exchange: 4 },
    { out: "settle", call: 2, at: 6, type: "result", message: note(3) },
    { out: "settle", call: 3, at: 6, type: "result", message: note(3), httpStatus: 400 },
    { out: "event", at: 1, type: "warning", message: "a text" },
  ]);
});

test("a request to make is numbers, short texts in a row, and a body by itself", () => {
  const texts = "https://s.test/ümcp-nameé€acceptx";
  const numbers = [
    ...[9, 3, 7, 1, 0, 16, 8_192, 13, 2, 8, 2, 6, 1],
    ...[8, 2],
    ...[9, 4, -1, 0, 2, 0, 0, 0, 0],
  ];
  const core = telling(numbers, [], [], { texts, body: '{"a":"é€"}' });
  assert.deepEqual(core.poll(1, 0).outputs, [
    {
      ...{
        out: "transmit",
        exchange: 3,
        call: 7,
        url: "https://s.test/ü",
        method: "POST",
        manner: "guarded",
      },
      ...{ headers: { "mcp-name": "é€", accept: "x" }, body: '{"a":"é€"}' },
    },
    { out: "abort", exchange: 2 },
    {
      ...{ out: "transmit", exchange: 4, call: undefined, url: undefined, method: "GET", manner: "bare" },
      ...{ headers: {}, body: undefined },
    },
  ]);
});

test("a sent event names the id on the wire, as the text or the number that it is", () => {
  const core = telling([...[11, 2, 5, 0, 1, 3], ...[11, 2, 6, 1, 0, 41]], [], [], { texts: "a-1" });
  const sent = { out: "event", call: 2, type: "sent" };
  assert.deepEqual(core.poll(1, 0).outputs, [
    { ...sent, at: 5, wireId: "a-1", reissue: false },
    { ...sent, at: 6, wireId: 41, reissue: true },
  ]);
});

test("a call crosses as flags and texts, and as JSON text only where it has what few have", () => {
  const asked = [];
  const raw = { memory: new WebAssembly.Memory({ initial: 1 }), call: (...given) => asked.push(given) && 0 };
  const core = decoded(raw);
  const spec = { method: "m", params: "{}", meta: "", progress: true };
  core.call(7, 1.5, spec);
  core.call(7, 2, { ...spec, tool: "t", id: "1", token: '"p"', replay: false, handled: true, timed: false });
  const limited = { ...spec, progress: false, replay: true, idempotent: true, tokens: true };
  core.call(7, 3, { ...limited, callMs: 5 });
  core.call(7, 4, { ...limited, callMs: Number.NaN, paramHeaders: { name: "é" } });
  assert.deepEqual(asked, [
    [7, 1.5, 1, "m", "{}", "", undefined, undefined, undefined, undefined],
    [7, 2, 1 + 4 + 64, "m", "{}", "", "t", "1", '"p"', undefined],
    [7, 3, 2 + 8 + 32, "m", "{}", "", undefined, undefined, undefined, '{"callMs":5}'],
    [
      7,
      4,
      2 + 8 + 32,
      "m",
      "{}",
      "",
      undefined,
      undefined,
      undefined,
      '{"paramHeaders":{"name":"é"},"callMs":"NaN"}',
    ],
  ]);
});

test("what was made or refused stands apart from what else is told", () => {
  const outputs = [{ out: "abort", exchange: 9 }];
  const made = { call: 1, requestId: "a-1", outputs };
  const call = (...numbers) => telling(numbers, [], [], { texts: "a-1" }).call(1, 0, {});
  const clocks = { deadlineMs: 600_000, connectMs: 5_000 };
  assert.deepEqual(call(10, 1, 600_000, 5_000, 3, 8, 9), { ...made, ...clocks });
  assert.deepEqual(call(10, 1, -1, -1, 3, 8, 9), made, "it has ended already");
  const refused = { out: "refused", option: "callMs", message: "no" };
  assert.deepEqual(telling([0], [], [refused]).call(1, 0, {}), {
    option: "callMs",
    message: "no",
    outputs: [],
  });
});

test("the memory may grow while the rare ones are asked for", () => {
  const core = telling([1, 1, 1, 1, 1, 0, 0], [note(1)], [{ out: "closed" }], {
    onRare: (memory) => memory.grow(1),
  });
  assert.deepEqual(
    core.poll(1, 0).outputs.map(({ out, among }) => [out, among]),
    [
      ["messages", [note(1)]],
      ["closed", undefined],
    ],
  );
  assert.equal(core.poll(1, 0).outputs.length, 2, "and the views are the new memory's");
});

test("nothing to tell is no batch, and a record that is not known is no silence", () => {
  const core = telling([99]);
  assert.equal(core.push(1, 0, 1, new Uint8Array()), undefined);
  assert.throws(() => core.poll(1, 0), /99/);
});

const source = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** The members of an interface of the protocol's: their kinds, as the driver has them. */
function declared(name) {
  const [, body] = new RegExp(`^export interface ${name} \\{\\n(.*?)^\\}`, "ms").exec(
    source("src/ts/core/protocol.ts"),
  );
  const members = [...body.matchAll(/^ {2}(\w+)\??: (.*);$/gm)].map(([, member, type]) => {
    if (type === "string[]") return [member, "texts"];
    if (type === "Record<string, string>") return [member, "pairs"];
    return [member, type === "number" || type === "boolean" ? type : "text"];
  });
  return new Map(members.sort());
}

/** What the driver reads, by what function: names and kinds. */
function read(...functions) {
  const text = source("src/web/options.rs") + source("src/web/exports.rs");
  const kinds = {
    number: "number",
    flag: "boolean",
    text: "text",
    texts: "texts",
    pairs: "pairs",
    get: "boolean",
  };
  const found = functions.flatMap((name) => {
    const [body] = new RegExp(`^( *)(?:pub(?:\\(super\\))? )?fn ${name}\\(.*?^\\1\\}`, "ms").exec(text);
    return [...body.matchAll(/\b(?:self|object)\s*\.(number|flag|texts?|pairs|get)\("(\w+)"\)/g)];
  });
  return new Map(found.map(([, kind, member]) => [member, kinds[kind]]).sort());
}

/** The bits of a call's flags, by their names in small letters. */
function flags(path, each) {
  const found = [...source(path).matchAll(each)];
  return Object.fromEntries(found.map(([, name, bit]) => [name, Number(bit)]));
}

test("the flags of a call are the same bits on both sides", () => {
  const [ours, theirs] = [
    flags("src/ts/core/call-arguments.ts", /^ {2}(\w+): (\d+),$/gm),
    flags("src/web/options.rs", /const (\w+): u32 = (\d+);/g),
  ];
  const small = (table) =>
    Object.fromEntries(
      Object.entries(table).map(([name, bit]) => [name.replace("_", "").toLowerCase(), bit]),
    );
  assert.deepEqual(small(ours), small(theirs));
  assert.equal(Object.keys(ours).length, 8);
});

/** Every option: its name, the one that it crosses under, its kind, its default, and what bounds it. Rust is held to it, too. */
const table = JSON.parse(source("tests/options.json"));
const crossing = table.filter(({ core }) => core !== undefined);
const named = table.filter(({ option }) => option !== undefined);
const kinds = {
  ...{ ms: "number", count: "number", factor: "number", number: "number" },
  ...{ flag: "boolean", text: "text", word: "text", words: "texts" },
};

test("every option of the list is known on both sides, as the same kind, and no other is", () => {
  const listed = new Map(crossing.map(({ core, kind }) => [core, kinds[kind]]).sort());
  const config = declared("CoreConfig");
  assert.ok(config.delete("session"));
  assert.deepEqual(config, listed);
  assert.deepEqual(read("create", "options", "timeouts"), listed);
  const facts = read("session_facts");
  assert.ok(facts.delete("session"));
  assert.deepEqual(facts, declared("SessionFacts"));
  const call = declared("CallSpec");
  const clocks = new Map(crossing.filter((row) => row.call).map(({ core }) => [core, "number"]));
  const flagged = { tool: "text", id: "text", token: "text", method: "text", params: "text", meta: "text" };
  for (const name of Object.keys(flags("src/ts/core/call-arguments.ts", /^ {2}(\w+): (\d+),$/gm)))
    if (name !== "noReplay") flagged[name] = "boolean";
  assert.deepEqual(new Map([...read("rare_call"), ...Object.entries(flagged), ...clocks].sort()), call);
  assert.ok(call.size > 15 && clocks.size === 6);
});

/** Members of the public options, by their path: what their doc comment says of the default. */
function documented() {
  const found = new Map();
  const prefixes = { Timeouts: "timeouts.", TransportOptions: "", ConnectOptions: "" };
  for (const [name, prefix] of Object.entries(prefixes)) {
    const text = source("src/ts/api/options.ts");
    const [, body] = new RegExp(`^export interface ${name}\\b.*? \\{\\n(.*?)^\\}`, "ms").exec(text);
    const path = [];
    let doc = "";
    for (const line of body.split("\n")) {
      if (/^ *\/?\*/.test(line)) doc += `${line.replace(/\*\/$/, "").replace(/^ *\/?\*+ ?/, "")} `;
      const [, member, opens] = /^ +(\w+)\??: .*?(\{)?$/.exec(line) ?? [];
      if (member !== undefined) {
        found.set(prefix + [...path, member].join("."), /@defaultValue (.*?) *$/.exec(doc)?.[1]);
        doc = "";
      }
      if (opens) path.push(member);
      else if (/^ +\}.*;$/.test(line) && path.length > 0) path.pop();
    }
  }
  return found;
}

/** The constants of a rule. */
const constants = (rule) => {
  if (!Array.isArray(rule)) return typeof rule === "number" ? [rule] : [];
  return rule[0] === "part" ? [] : rule.slice(1).flatMap(constants);
};
const mebibyte = 2 ** 20;
const written = (number) =>
  number >= mebibyte ? `${number / mebibyte} MiB` : `${number}`.replaceAll(/\B(?=(\d{3})+$)/g, " ");

test("what an option is by default is what its doc comment says, and the tables of clocks", () => {
  const docs = documented();
  const said = [...docs].filter(([, text]) => text !== undefined);
  assert.deepEqual(
    Object.fromEntries(said.sort()),
    Object.fromEntries(
      named
        .filter((row) => row.says)
        .map(({ option, says }) => [option, says])
        .sort(),
    ),
  );
  for (const { option, kind, default: rule, says } of named) {
    const [group] = option.split(".");
    assert.ok(docs.has(option) || group === "reconnectionOptions", option);
    if (says === undefined) continue;
    for (const number of constants(rule)) assert.ok(says.startsWith(written(number)), option);
    const words = kind === "words" ? rule : typeof rule === "string" ? [rule] : [];
    for (const word of words) assert.ok(says.includes(`\`${word}\``), option);
    const [, clock] = /^timeouts\.(\w+)$/.exec(option) ?? [];
    if (clock === undefined) continue;
    for (const document of ["README.md", "ARCHITECTURE.md"]) {
      const [row] = new RegExp(`^\\| \`${clock}\` \\|.*$`, "m").exec(source(document));
      assert.ok(row.endsWith(`| ${says} |`), `${document}: ${row}`);
    }
  }
});

/** What the list says that an option is, where these are set. */
function inForce(rule, set, timed = false) {
  if (typeof rule === "number") return rule;
  if (typeof rule === "string") {
    const name = rule.replace("?", "");
    if (set[name] !== undefined || rule !== name) return set[name];
    const row = crossing.find(({ core }) => core === name);
    return inForce((timed && row.timed) || row.default, set, timed);
  }
  const [how, ...parts] = rule;
  const values = parts.map((part) => inForce(part, set, timed)).filter((value) => value !== undefined);
  if (how === "part") return (values[0] / values[1]) * values[2];
  return how === "sum" ? values[0] + values[1] : Math[how](...values);
}

test("what the wrapper waits or holds by itself is what the list says", () => {
  const settings = (options) => readSettings("https://server.test/mcp", { fetch() {}, ...options });
  for (const timeouts of [{}, { handshakeMs: 70_000 }, { deadlineMs: 500 }, { deadlineMs: 90_000 }])
    assert.equal(settings({ timeouts }).handshakeMs, inForce("handshakeMs", timeouts));
  assert.equal(settings().handlerMs, table.find(({ option }) => option === "timeouts.handlerMs").default);
  assert.equal(settings().mostBodyBytes, inForce("maxBodyBytes", {}));
  const [, unknown] = /^const unknownConnectMs = ([\d_]+);$/m.exec(source("src/ts/session/connection.ts"));
  assert.equal(Number(unknown.replaceAll("_", "")), inForce("connectMs", {}));
  for (const recoveryMs of [undefined, 300, 200_000, 5_000_000]) {
    for (const callMs of [undefined, 200, 150_000]) {
      if (callMs > recoveryMs) continue;
      const set = { recoveryMs, callMs };
      const outlived = inForce("deadlineMs", set, true) + inForce("connectMs", set, true);
      assert.ok(sdkRequestOptions(set).timeout > outlived, `${recoveryMs} ${callMs}`);
    }
  }
});

test("the wrapper takes the words of the list, and no others", () => {
  const settings = (options) => readSettings("https://server.test/mcp", { fetch() {}, ...options });
  let words = 0;
  for (const { option, kind, words: listed = [] } of named) {
    const given = (word) => ({ [option]: kind === "words" ? [word] : word });
    for (const word of listed) assert.doesNotThrow(() => settings(given(word)), `${option} ${word}`);
    words += listed.length;
    // Versions are the core's to judge.
    if (listed.length > 0 && kind !== "words") assert.throws(() => settings(given("other")), { option });
  }
  assert.ok(words > 15);
});
