// Two sockets of a line: when one closes, so does the other. `open` has those that are open.
export function couple(near, far, open) {
  for (const [socket, other] of [
    [near, far],
    [far, near],
  ]) {
    open.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => {
      open.delete(socket);
      other.destroy();
    });
  }
}
