// An agent endpoint: see README.md. Each call lives in a Durable Object of its own.
import { forbids } from "./access.mjs";

export { Call } from "./call.mjs";

const MOST_BYTES = 256 << 10;

export default {
  async fetch(request, env) {
    const response =
      request.method === "OPTIONS" ? new Response(null, { status: 204 }) : await answer(request, env);
    return env.ALLOW_ORIGIN ? readableFrom(env.ALLOW_ORIGIN, response) : response;
  },
};

async function answer(request, env) {
  const [path, id] = /^\/calls(?:\/(\w+))?$/.exec(new URL(request.url).pathname) ?? [];
  if (path === undefined) return refusal(404, "there is nothing but /calls");
  if (id === undefined) {
    if (request.method !== "POST") return refusal(405, "a call is made by POST", { allow: "POST" });
    return forbids(request, env) ?? begin(request, env);
  }
  if (request.method !== "GET" && request.method !== "DELETE")
    return refusal(405, "a call is followed by GET and cancelled by DELETE", { allow: "GET, DELETE" });
  try {
    return await env.CALLS.get(env.CALLS.idFromString(id)).fetch(request);
  } catch (error) {
    if (error instanceof TypeError) return refusal(404, "there is no such call");
    throw error;
  }
}

async function begin(request, env) {
  const text = await request.text();
  if (text.length > MOST_BYTES) return refusal(413, `a call has at most ${MOST_BYTES} characters`);
  const call = read(text);
  if (call === undefined) return refusal(400, 'a call is JSON: { "name": "...", "arguments": { ... } }');
  if (!isAllowed(call.name, env.TOOLS)) return refusal(403, "this tool may not be called here");
  const id = env.CALLS.newUniqueId();
  const response = await env.CALLS.get(id).fetch(request.url, { method: "POST", body: JSON.stringify(call) });
  const named = new Response(response.body, response);
  named.headers.set("location", `/calls/${id}`);
  return named;
}

function read(text) {
  try {
    const { name, arguments: args = {} } = JSON.parse(text);
    const isCall =
      typeof name === "string" && typeof args === "object" && args !== null && !Array.isArray(args);
    return isCall ? { name, arguments: args } : undefined;
  } catch {
    return undefined;
  }
}

function isAllowed(name, tools) {
  const names = (tools ?? "").split(",").map((each) => each.trim());
  return names.join("") === "" || names.includes(name);
}

function refusal(status, error, headers) {
  return Response.json({ error }, { status, headers });
}

function readableFrom(origin, response) {
  const readable = new Response(response.body, response);
  readable.headers.set("access-control-allow-origin", origin);
  readable.headers.set("access-control-allow-methods", "GET, POST, DELETE");
  readable.headers.set("access-control-allow-headers", "authorization, content-type, last-event-id");
  readable.headers.set("access-control-expose-headers", "location");
  return readable;
}
