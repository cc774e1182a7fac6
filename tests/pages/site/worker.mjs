// A worker of any kind: makes a call for whoever sends a message, and answers at the port that came with it.
import { connect as connectInline } from "/npm/entry/index.js";
import { connect as connectUrl } from "/npm/entry/url.js";
import { carry, failure } from "/site/carry.mjs";

const CONNECT = { "index.js": connectInline, "url.js": connectUrl };

addEventListener("message", (event) => {
  const { entry, url, key } = event.data;
  const carried = carry(CONNECT[entry], url, key).catch(failure);
  const told = carried.then((outcome) => event.ports[0].postMessage(outcome));
  // A service worker may be ended once nothing more is to be waited for.
  event.waitUntil?.(told);
});
