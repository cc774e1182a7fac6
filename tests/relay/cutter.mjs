// A line to a server that can be cut: connections are reset, and for a while none is made.
import { connect, createServer } from "node:net";
import { couple } from "./couple.mjs";

/** Starts one before this URL: `{ url, cut(ms), close() }`. */
export async function cutter(url) {
  const { port, pathname } = new URL(url);
  const open = new Set();
  let isDown = false;
  const server = createServer((near) => {
    if (isDown) return near.resetAndDestroy();
    const far = connect(Number(port), "127.0.0.1");
    couple(near, far, open);
    near.pipe(far).pipe(near);
  });
  const cutAll = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}${pathname}`,
    cut(ms) {
      isDown = true;
      cutAll();
      setTimeout(() => {
        isDown = false;
      }, ms);
    },
    close() {
      cutAll();
      return new Promise((resolve) => server.close(resolve));
    },
  };
}
