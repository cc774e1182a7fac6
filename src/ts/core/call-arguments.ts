// A call in the form that src/web/options.rs reads: flags, texts, and what few calls have.
import type { CallSpec, RawCore } from "./protocol.js";

/** Bits of one number. */
const flag = {
  progress: 1,
  idempotent: 2,
  handled: 4,
  tokens: 8,
  timed: 16,
  replay: 32,
  noReplay: 64,
  keyed: 128,
};

/** These cross as JSON text, where one of them is there. */
const rare = [
  ...(["onGap", "resumptionToken", "task", "paramHeaders", "declaredParams"] as const),
  ...(["connectMs", "firstByteMs", "idleMs", "callMs", "recoveryMs", "deadlineMs"] as const),
];

/** Enters by `call`. */
export function withSpec(call: RawCore["call"], handle: number, now: number, spec: CallSpec): number {
  const { method, params, meta, tool, id, token, replay } = spec;
  const flags =
    (spec.progress ? flag.progress : 0) +
    (spec.idempotent ? flag.idempotent : 0) +
    (spec.handled ? flag.handled : 0) +
    (spec.tokens ? flag.tokens : 0) +
    (spec.timed ? flag.timed : 0) +
    (spec.keyed ? flag.keyed : 0) +
    (replay === undefined ? 0 : replay ? flag.replay : flag.noReplay);
  const more = rare.filter((name) => spec[name] !== undefined).map((name) => [name, spec[name]]);
  const text = more.length === 0 ? undefined : asText(Object.fromEntries(more));
  return call(handle, now, flags, method, params, meta, tool, id, token, text);
}

/** Options as JSON text. That has no word for some numbers, which the core is to refuse: they are told by their names. */
export function asText(options: object): string {
  return JSON.stringify(options, (_name, value: unknown) =>
    typeof value === "number" && !Number.isFinite(value) ? String(value) : value,
  );
}
