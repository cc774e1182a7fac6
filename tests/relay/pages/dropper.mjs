// A line to a relay that loses one answer: a browser then sends its POST again by itself, if the connection was used before.
import { connect, createServer } from "node:net";
import { couple } from "../couple.mjs";

/**
 * Starts one before this URL: `{ url, posts, lose({ word, how, when }), close() }`. The first request that has `word` in it
 * goes on, no answer of it comes back, and when `when()` is settled the page's connection is dropped. `posts` are those that
 * had the word, as `{ nth }`, which request of its connection each was.
 */
export async function dropper(url) {
  const { port, pathname } = new URL(url);
  const sockets = new Set();
  const posts = [];
  let plan;
  const server = createServer((near) => {
    const far = connect(Number(port), "127.0.0.1");
    const state = { requests: 0, isLost: false };
    couple(near, far, sockets);
    far.on("data", (chunk) => {
      if (!state.isLost) near.write(chunk);
    });
    near.on("data", (chunk) => {
      const text = chunk.toString("latin1");
      state.requests += text.match(/^(?:POST|GET|OPTIONS|DELETE) \S+ HTTP/gm)?.length ?? 0;
      if (plan !== undefined && text.includes(plan.word)) note(near, state);
      far.write(chunk);
    });
  });
  const note = (near, state) => {
    posts.push({ nth: state.requests });
    if (posts.length > 1) return;
    state.isLost = true;
    const drop = () => (plan.how === "rst" ? near.resetAndDestroy() : near.destroy());
    plan.when().then(drop, drop);
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    posts,
    lose(given) {
      posts.length = 0;
      plan = given;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
