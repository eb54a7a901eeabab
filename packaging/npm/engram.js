#!/usr/bin/env node
// Starts the binary of this platform, which an optional dependency of the package has.
"use strict";
const { spawnSync } = require("node:child_process");

const musl = process.platform === "linux" ? "-musl" : "";
const name = `engram-tape-${process.platform}-${process.arch}${musl}`;
const file = process.platform === "win32" ? "engram.exe" : "engram";
let binary;
try {
  binary = require.resolve(`${name}/${file}`);
} catch {
  console.error(`engram has no binary for ${process.platform} ${process.arch} here (package ${name}); cargo install engram-tape builds one`);
  process.exit(1);
}
const { status, signal, error } = spawnSync(binary, process.argv.slice(2), { stdio: "inherit" });
if (error) throw error;
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
