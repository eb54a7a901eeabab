// Makes the npm packages of a release: one for each platform with its binary, and `engram-tape`, which starts the right one.
// Usage: node packaging/npm/make.mjs VERSION DIST OUT   (DIST has the archives of .ci/pack; scripts/package asks for all of them in a release)
import { execFileSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// The target of the archive, and what Node.js calls its platform.
const platforms = [
  ["x86_64-unknown-linux-musl", "linux", "x64", "-musl"],
  ["aarch64-unknown-linux-musl", "linux", "arm64", "-musl"],
  ["x86_64-apple-darwin", "darwin", "x64", ""],
  ["aarch64-apple-darwin", "darwin", "arm64", ""],
  ["x86_64-pc-windows-msvc", "win32", "x64", ""],
  ["aarch64-pc-windows-msvc", "win32", "arm64", ""],
];
const [version, dist, out] = process.argv.slice(2);
if (!out) throw new Error("usage: make.mjs VERSION DIST OUT");
const shared = { version, license: "Apache-2.0", repository: "github:engram-tape/engram" };
const here = new URL(".", import.meta.url).pathname;
const write = (name, manifest) => writeFileSync(join(out, name, "package.json"), JSON.stringify(manifest, null, 2) + "\n");
const optionalDependencies = {};
for (const [target, os, cpu, suffix] of platforms) {
  const isWindows = os === "win32";
  const archive = join(dist, `engram-${version}-${target}.${isWindows ? "zip" : "tgz"}`);
  if (!existsSync(archive)) continue;
  const name = `engram-tape-${os}-${cpu}${suffix}`;
  const file = isWindows ? "engram.exe" : "engram";
  const unpacked = mkdtempSync(join(tmpdir(), "engram-npm-"));
  execFileSync(...(isWindows ? ["unzip", ["-q", archive, "-d", unpacked]] : ["tar", ["-xzf", archive, "-C", unpacked]]));
  mkdirSync(join(out, name), { recursive: true });
  copyFileSync(join(unpacked, `engram-${version}-${target}`, file), join(out, name, file));
  chmodSync(join(out, name, file), 0o755);
  write(name, { name, description: `The engram command for ${os} ${cpu}.`, os: [os], cpu: [cpu], files: [file], ...shared });
  optionalDependencies[name] = version;
}
mkdirSync(join(out, "engram-tape"), { recursive: true });
copyFileSync(join(here, "engram.js"), join(out, "engram-tape", "engram.js"));
write("engram-tape", {
  name: "engram-tape",
  description: "The engram command: coding-agent logs in, tapes out.",
  keywords: ["agents", "logs", "claude-code", "codex", "jsonl"],
  bin: { engram: "engram.js" },
  files: ["engram.js"],
  engines: { node: ">=18" },
  optionalDependencies,
  ...shared,
});
