// Who may make calls at the Worker of www/edge.
import assert from "node:assert/strict";
import { test } from "node:test";
import { forbids } from "../../www/edge/access.mjs";

const request = (authorization) =>
  new Request("https://edge.test/calls", { method: "POST", headers: authorization ? { authorization } : {} });

test("the Worker makes no call without a secret, unless it says that anybody may call", () => {
  for (const env of [{}, { SECRET: "" }, { PUBLIC: "" }, { PUBLIC: "0" }, { PUBLIC: "true" }])
    assert.equal(forbids(request("Bearer "), env)?.status, 503, JSON.stringify(env));
  assert.equal(forbids(request(), { PUBLIC: "1" }), undefined);
});

test("with a secret only who sends it may call", () => {
  const env = { SECRET: "s3cret", PUBLIC: "" };
  for (const wrong of [undefined, "Bearer", "Bearer s3cre", "Bearer s3cret1", "s3cret", "Bearer S3cret"])
    assert.equal(forbids(request(wrong), env)?.status, 401, String(wrong));
  assert.equal(forbids(request("Bearer s3cret"), env), undefined);
});
