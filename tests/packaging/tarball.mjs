// The packed package, installed into an empty project, as a user gets it.
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { installedFile, run } from "./tools.mjs";

const STAGED = fileURLToPath(new URL("../../target/npm", import.meta.url));
const CONSUMER = fileURLToPath(new URL("consumer", import.meta.url));

/**
 * `{ tarball, folder, files, packages(), run(script, ...args), project(), remove() }`: `files` is what the tarball holds,
 * `folder` is where it was installed.
 */
export async function installed() {
  const folder = await mkdtemp(join(tmpdir(), "landfall-consumer-"));
  const project = join(folder, "project");
  await mkdir(project);
  await run(["npm", "pack", "--silent", "--pack-destination", folder], STAGED);
  const name = (await readdir(folder)).find((each) => each.endsWith(".tgz"));
  const tarball = join(folder, name);
  const list = await run(["tar", "-tzf", tarball], folder);

  await writeFile(
    join(project, "package.json"),
    '{ "name": "consumer", "private": true, "type": "module" }\n',
  );
  // Offline: a package without dependencies asks no registry.
  await run(["npm", "install", "--offline", "--no-audit", "--no-fund", tarball], project);
  let copies = 0;
  return {
    tarball,
    folder: join(project, "node_modules/landfall"),
    files: list
      .trim()
      .split("\n")
      .map((path) => path.replace(/^package\//, ""))
      .sort(),
    packages: async () =>
      Object.keys(JSON.parse(await readFile(join(project, "package-lock.json"), "utf8")).packages),
    async run(script, ...args) {
      const file = join(project, "script.mjs");
      await writeFile(file, script);
      return run([process.execPath, file, ...args], project);
    },
    /** The folder of one more project with the package, and with the programs of `consumer`. */
    async project() {
      copies += 1;
      const copy = join(folder, `project-${copies}`);
      await cp(project, copy, { recursive: true });
      await cp(CONSUMER, copy, { recursive: true });
      // The optional peers.
      const sdks = "@modelcontextprotocol";
      await symlink(installedFile(sdks), join(copy, "node_modules", sdks), "dir");
      return copy;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
