// What the pages here share.
export { carry } from "/site/call.mjs";

/** An error as it can be sent. */
export function failure({ name, method, reason, outcome, message }) {
  return { error: { name, method, reason, outcome }, message };
}
