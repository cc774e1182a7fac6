// The packed package, installed into an empty project, as a user gets it.
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const staged = join(dirname(fileURLToPath(import.meta.url)), "../../target/npm");

/** `{ folder, files, run(script, ...args), remove() }`: `files` is what the tarball holds. */
export async function installed() {
  const folder = await mkdtemp(join(tmpdir(), "landfall-consumer-"));
  const project = join(folder, "project");
  await mkdir(project);
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: staged });
  const tarball = (await readdir(folder)).find((name) => name.endsWith(".tgz"));
  const { stdout: list } = await run("tar", ["-tzf", join(folder, tarball)]);

  await writeFile(
    join(project, "package.json"),
    '{ "name": "consumer", "private": true, "type": "module" }\n',
  );
  // Offline: a package without dependencies asks no registry.
  await run("npm", ["install", "--offline", "--no-audit", "--no-fund", join(folder, tarball)], {
    cwd: project,
  });
  return {
    folder: join(project, "node_modules/landfall"),
    files: list
      .trim()
      .split("\n")
      .map((name) => name.replace(/^package\//, ""))
      .sort(),
    packages: async () =>
      Object.keys(JSON.parse(await readFile(join(project, "package-lock.json"), "utf8")).packages),
    async run(script, ...args) {
      const file = join(project, "script.mjs");
      await writeFile(file, script);
      const { stdout } = await run(process.execPath, [file, ...args], { cwd: project, timeout: 60_000 });
      return stdout;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
