// Where a page can make a call: here, or in a worker under the policy given.
import { carry, failure } from "/site/carry.mjs";

const script = (policy) =>
  `/site/worker.mjs${policy === undefined ? "" : `?${new URLSearchParams({ policy })}`}`;

async function serviceWorker(policy) {
  const { installing, active } = await navigator.serviceWorker.register(script(policy), { type: "module" });
  const worker = installing ?? active;
  while (worker.state !== "activated")
    await new Promise((resolve) => worker.addEventListener("statechange", resolve, { once: true }));
  return worker;
}

const PLACES = {
  page: undefined,
  "Web Worker": (policy) => new Worker(script(policy), { type: "module" }),
  "Service Worker": serviceWorker,
};

/** What came of a call that is cut, made in a place of that name. */
globalThis.carryIn = async (place, { entry, url, key, policy }) => {
  const open = PLACES[place];
  if (open === undefined) {
    const { connect } = await import(`/npm/entry/${entry}`);
    return carry(connect, url, key).catch(failure);
  }
  const worker = await open(policy);
  const { port1, port2 } = new MessageChannel();
  const told = new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
  });
  worker.postMessage({ entry, url, key }, [port2]);
  return told;
};
