// What every program here does.
import { carry } from "./call.mjs";

/** What is the same in every program: the address and the key are its arguments, the outcome is its output. */
export async function run(connect) {
  const [url, key] = process.argv.slice(2);
  console.log(JSON.stringify(await carry(connect, url, key)));
}
