// The stub server of the wrapper's tests behind a real socket: a test decides what each request gets, and sees it all.
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { stubServer } from "../js/support/stub-server.mjs";

/** `{ url, requests, posted(), close() }`; `answer` as for the stub, and `"hang"` for no answer. */
export async function serveStub(answer) {
  const hang = new Promise(() => {});
  const stub = stubServer((request) => {
    const given = answer?.(request) ?? (request.body?.method === "tools/list" ? noTools(request) : undefined);
    return given === "hang" ? hang : given;
  });
  const server = createServer(async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString("utf8");
    const { method, headers } = req;
    const response = await stub.fetch(req.url, { method, headers, ...(body && { body }) });
    res.writeHead(response.status, Object.fromEntries(response.headers));
    if (response.body) Readable.fromWeb(response.body).pipe(res);
    else res.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    // A path that names what no text may name unless it happened.
    url: new URL(`http://127.0.0.1:${server.address().port}/401/404/405/Unauthorized`),
    requests: stub.requests,
    posted: stub.posted,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

const noTools = ({ body }) => ({ jsonrpc: "2.0", id: body.id, result: { tools: [] } });

export const plainText = (status, text = "no", headers = {}) =>
  new Response(text, { status, headers: { "content-type": "text/plain", ...headers } });
export const jsonBody = (status, body) =>
  new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });
