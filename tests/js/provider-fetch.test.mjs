// Where a provider of credentials may be sent, and what its requests carry.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LandfallTransport as OfV1 } from "../../target/modules/entry/v1.js";
import { LandfallTransport as OfV2 } from "../../target/modules/entry/v2.js";
import { refuseAddress } from "../../target/modules/http/addresses.js";
import { fetchOfProvider } from "../../target/modules/http/provider-fetch.js";
import { memoryProvider } from "./support/oauth-stub.mjs";
import { stubServer } from "./support/stub-server.mjs";

const address = "https://server.test/mcp";
const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};

test("the user's headers go to the endpoint's origin only, whatever redirects say", async () => {
  const seen = [];
  const answers = {
    "https://server.test/a": new Response(null, {
      status: 302,
      headers: { location: "https://else.test/b" },
    }),
    "https://server.test/c": new Response(null, { status: 308, headers: { location: "/d" } }),
    "https://else.test/t": new Response(null, { status: 307, headers: { location: "https://third.test/t" } }),
    "https://else.test/s": new Response(null, { status: 303, headers: { location: "https://third.test/s" } }),
  };
  const settings = {
    fetch: async (url, init) => {
      seen.push([
        String(url),
        init.method ?? "GET",
        Object.fromEntries(new Headers(init.headers)),
        init.redirect,
      ]);
      return answers[url] ?? new Response("ok");
    },
    requestInit: { headers: { "x-api-key": "k" } },
    follow: false,
    endpoint: new URL(address),
  };
  const fetch = fetchOfProvider(settings);
  const own = { headers: { authorization: "Basic x", accept: "y" } };
  await fetch("https://server.test/a", own);
  await fetch("https://server.test/c", own);
  await fetch("https://else.test/t");
  await fetch("https://else.test/s", { method: "POST", body: "code=1", headers: { "content-type": "f" } });
  assert.deepEqual(seen, [
    ["https://server.test/a", "GET", { accept: "y", authorization: "Basic x", "x-api-key": "k" }, "manual"],
    ["https://else.test/b", "GET", { accept: "y" }, "manual"],
    ["https://server.test/c", "GET", { accept: "y", authorization: "Basic x", "x-api-key": "k" }, "manual"],
    ["https://server.test/d", "GET", { accept: "y", authorization: "Basic x", "x-api-key": "k" }, "manual"],
    ["https://else.test/t", "GET", {}, "manual"],
    ["https://third.test/t", "GET", {}, "manual"],
    ["https://else.test/s", "POST", { "content-type": "f" }, "manual"],
    ["https://third.test/s", "GET", {}, "manual"],
  ]);
  await assert.rejects(fetch("https://else.test/t", { method: "POST", body: "secret" }), /leave its origin/);
  seen.length = 0;
  await fetchOfProvider({ ...settings, follow: true })("https://else.test/t", { redirect: "error" });
  await fetch("https://server.test/a", { redirect: "error" });
  assert.deepEqual(
    seen.map(([, , , redirect]) => redirect),
    ["follow", "error"],
  );
  answers["https://server.test/loop"] = new Response(null, { status: 302, headers: { location: "/loop" } });
  await assert.rejects(fetch("https://server.test/loop"), /too often/);
  answers["https://server.test/in"] = new Response(null, {
    status: 302,
    headers: { location: "http://10.0.0.1/" },
  });
  await assert.rejects(fetch("https://server.test/in"), /not https/);
});

test("a server that is reached by https names nothing in the clear, and nothing of our own network", () => {
  const refused = [
    ...[
      "http://auth.test/",
      "https://localhost/",
      "https://a.localhost/",
      "https://127.0.0.1/",
      "https://2130706433/",
    ],
    ...[
      "https://10.1.2.3/",
      "https://172.16.0.1/",
      "https://172.31.9.9/",
      "https://192.168.0.1/",
      "https://0.0.0.0/",
    ],
    ...[
      "https://169.254.169.254/",
      "https://100.64.0.1/",
      "https://[::1]/",
      "https://[::]/",
      "https://[fd00::1]/",
    ],
    ...["https://[fe80::1]/", "https://[::ffff:10.0.0.1]/", "https://0x7f.1/", "https://localhost./"],
  ];
  const allowed = ["https://auth.test/", "https://8.8.8.8/", "https://172.32.0.1/", "https://[2001:db8::1]/"];
  const verdict = (url, endpoint = address) => {
    try {
      refuseAddress("resource_metadata", new URL(url), new URL(endpoint));
      return "allowed";
    } catch (thrown) {
      assert.match(thrown.message, /^resource_metadata is refused: https?:/);
      return "refused";
    }
  };
  for (const url of refused) assert.equal(verdict(url), "refused", url);
  for (const url of allowed) assert.equal(verdict(url), "allowed", url);
  for (const endpoint of ["http://server.test/mcp", "https://localhost/mcp", "https://10.0.0.2/mcp"])
    assert.equal(verdict("http://10.0.0.3/", endpoint), "allowed", endpoint);
});

for (const [name, Transport] of Object.entries({ OfV1, OfV2 })) {
  test(`${name}: a resource_metadata that the server may not name is not asked for, and the error says so`, async () => {
    const asked = [];
    const server = stubServer(
      () =>
        new Response(null, {
          status: 401,
          headers: { "www-authenticate": 'Bearer resource_metadata="http://169.254.169.254/latest"' },
        }),
    );
    const fetch = (url, init) => {
      asked.push(String(url));
      return server.fetch(url, init);
    };
    const transport = new Transport(address, { fetch, authProvider: memoryProvider(), listen: false });
    await transport.start();
    await assert.rejects(
      transport.send(initialize),
      /resource_metadata is refused: http:\/\/169\.254\.169\.254/,
    );
    assert.deepEqual(asked, [address]);
    await transport.close();
  });
}
