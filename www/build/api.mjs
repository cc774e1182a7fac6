// api.mjs PACKAGE [--write]: the public types of a built package, compared with tests/api (or written there).
// A type that is not exported, or has no doc comment, fails.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { CompilerState, Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const kept = fileURLToPath(new URL("../../tests/api", import.meta.url));
const compilerOptions = {
  target: "ES2022",
  module: "nodenext",
  moduleResolution: "nodenext",
  lib: ["ES2022", "DOM", "DOM.AsyncIterable", "ESNext.Disposable"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  // The SDKs' types want more of the environment than ours do.
  skipLibCheck: true,
};
const all = { default: { logLevel: "error" } };

/** The entries of a manifest that have types of their own: `[name, file]`, the root entry first. */
export function entriesOf({ exports }) {
  const typed = Object.entries(exports).filter(([, target]) => target.types?.endsWith(".d.ts"));
  return typed.map(([path, { types }]) => [path === "." ? "index" : path.slice(2), types]);
}

function config(folder, types, name, out) {
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(folder, "package.json"),
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, types),
      newlineKind: "lf",
      compiler: { overrideTsconfig: { compilerOptions, include: ["entry"] } },
      apiReport: {
        enabled: true,
        reportFileName: `${name}.api.md`,
        reportFolder: out,
        reportTempFolder: join(out, "temp"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: all,
        extractorMessageReporting: { ...all, "ae-missing-release-tag": { logLevel: "none" } },
        tsdocMessageReporting: all,
      },
    },
  });
}

/** Every declaration of a report, as text. */
export function declarationsOf(report) {
  const [, code] = /^```ts\n(.*?)^```$/ms.exec(report) ?? [];
  const parts = code.split("\n\n").map((part) => part.trim().replace(/^\/\/ @public\n/, ""));
  return parts.filter((part) => part !== "");
}

const fenced = (parts) => `\`\`\`ts\n${parts.join("\n\n")}\n\`\`\`\n`;

/** What an entry has beside the root entry, or has not: the rest need not be read five times. */
export function against(root, name, report) {
  const [ofRoot, own] = [declarationsOf(root), declarationsOf(report)];
  const more = own.filter((part) => !ofRoot.includes(part));
  const less = ofRoot.filter((part) => !own.includes(part));
  const has = more.length === 0 ? ".\n" : `, and:\n\n${fenced(more)}`;
  const lacks = less.length === 0 ? "" : `\nIn place of these of \`landfall\`:\n\n${fenced(less)}`;
  return `# The public types of \`landfall/${name}\`\n\nThose of \`landfall\`${has}${lacks}`;
}

/** The reports of a built package, by file name, and what is wrong with its types. */
export function reportsOf(folder) {
  const out = mkdtempSync(join(tmpdir(), "landfall-api-"));
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const faults = new Set();
  const reports = new Map();
  const messageCallback = (message) => {
    message.handled = true;
    if (message.logLevel !== "error") return;
    const { sourceFilePath = "", sourceFileLine = "", messageId, text } = message;
    faults.add(`${sourceFilePath.replace(`${folder}/`, "")}:${sourceFileLine} ${text} (${messageId})`);
  };
  const configs = entriesOf(manifest).map(([name, types]) => [name, config(folder, types, name, out)]);
  const [[, first], ...others] = configs;
  const additionalEntryPoints = others.map(([, other]) => other.mainEntryPointFilePath);
  const compilerState = CompilerState.create(first, { additionalEntryPoints });
  for (const [name, prepared] of configs) {
    Extractor.invoke(prepared, { localBuild: true, compilerState, messageCallback });
    reports.set(name, readFileSync(join(out, `${name}.api.md`), "utf8"));
  }
  rmSync(out, { recursive: true });
  const root = reports.get("index");
  for (const [name, report] of reports) {
    const parts = fenced(declarationsOf(report));
    const text =
      name === "index" ? `# The public types of \`landfall\`\n\n${parts}` : against(root, name, report);
    reports.set(name, text);
  }
  return { reports, faults: [...faults] };
}

/** The first line in which two texts differ. */
function difference(old, now) {
  const [before, after] = [old.split("\n"), now.split("\n")];
  const at = after.findIndex((line, i) => line !== before[i]);
  const line = at === -1 ? after.length : at;
  return `line ${line + 1}\n  - ${before[line] ?? ""}\n  + ${after[line] ?? ""}`;
}

function main([folder, flag]) {
  const { reports, faults } = reportsOf(resolve(folder));
  for (const fault of faults) console.log(fault);
  mkdirSync(kept, { recursive: true });
  let isSame = true;
  for (const [name, text] of reports) {
    const file = join(kept, `${name}.api.md`);
    const old = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (old === text) continue;
    if (flag === "--write") writeFileSync(file, text);
    else {
      isSame = false;
      console.log(`tests/api/${name}.api.md is not what the package has: ${difference(old, text)}`);
    }
  }
  if (!isSame)
    console.log("Where that is meant, `make api` writes the report; the change belongs into CHANGELOG.md.");
  if (faults.length > 0 || !isSame) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
