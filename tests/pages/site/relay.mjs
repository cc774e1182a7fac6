// One call through a relay, and how often this page sent it.
import { connect } from "/npm/entry/index.js";

let session;
let call;
let sent = [];

const textOf = (body) => (typeof body === "string" ? body : new TextDecoder().decode(body));

/** Opens a session. The ping leaves a connection that was used. */
globalThis.openRelayed = async ({ url, options }) => {
  sent = [];
  const counting = (input, init) => {
    if (init?.body) sent.push(textOf(init.body));
    return fetch(input, init);
  };
  session = await connect(url, { ...options, fetch: counting });
  await session.request("ping").result;
};

globalThis.beginRelayed = ({ tool, key }) => {
  call = session.callTool(tool, { key });
};

globalThis.endRelayed = async ({ key }) => {
  const { content } = await call.result;
  await session.close();
  return { text: content[0].text, sent: sent.filter((body) => body.includes(key)).length };
};
