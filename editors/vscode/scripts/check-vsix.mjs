// check-vsix.mjs FILE TARGET: tells whether a packaged extension is for its platform: the manifest says so, the server in it is a
// program of that system and processor and may be executed, everything the manifest names is there, and nothing else of this
// folder has come along.
import yauzl from "yauzl";

const [file, target] = process.argv.slice(2);

/** The entries of a zip: name → { mode, data }. */
function entries(path) {
  return new Promise((resolve, reject) => {
    yauzl.open(path, { lazyEntries: true }, (error, zip) => {
      if (error) return reject(error);
      const found = new Map();
      zip.on("error", reject).on("end", () => resolve(found)).on("entry", (entry) => {
        zip.openReadStream(entry, (failed, stream) => {
          if (failed) return reject(failed);
          const chunks = [];
          stream.on("error", reject).on("data", (c) => chunks.push(c)).on("end", () => {
            found.set(entry.fileName, { mode: entry.externalFileAttributes >>> 16, data: Buffer.concat(chunks) });
            zip.readEntry();
          });
        });
      });
      zip.readEntry();
    });
  });
}

/** What a program runs on, by its first bytes, in VS Code's words; "" where they say nothing known. */
function platformOf(program) {
  if (program.readUInt32BE(0) === 0x7f454c46) return { 0x3e: "linux-x64", 0xb7: "linux-arm64" }[program.readUInt16LE(18)] ?? ""; // ELF: e_machine
  if (program.readUInt32LE(0) === 0xfeedfacf) return { 0x01000007: "darwin-x64", 0x0100000c: "darwin-arm64" }[program.readUInt32LE(4)] ?? ""; // Mach-O: cputype
  if (program.toString("latin1", 0, 2) === "MZ") {
    const header = program.readUInt32LE(0x3c); // PE: "PE\0\0", then Machine
    if (program.readUInt32LE(header) === 0x4550) return { 0x8664: "win32-x64", 0xaa64: "win32-arm64" }[program.readUInt16LE(header + 4)] ?? "";
  }
  return "";
}

/** Every file that package.json names, by its icons, pictures and entry. */
function namedFiles(manifest) {
  const names = new Set([manifest.main, manifest.icon, "package.nls.json", `${manifest.l10n}/bundle.l10n.json`]);
  JSON.stringify(manifest, (_, value) => {
    if (typeof value === "string" && value.startsWith("media/")) names.add(value);
    return value;
  });
  return [...names].map((name) => name.replace(/^\.\//, ""));
}

const problems = [];
const found = await entries(file);
const text = (name) => found.get(name)?.data.toString("utf8") ?? "";
const program = target.startsWith("win32") ? "stepline.exe" : "stepline";
if (!text("extension.vsixmanifest").includes(`TargetPlatform="${target}"`)) problems.push(`its manifest does not name the platform ${target}`);
const server = found.get(`extension/bin/${program}`);
if (!server) problems.push(`bin/${program} is missing`);
else {
  if (platformOf(server.data) !== target) problems.push(`bin/${program} is for ${platformOf(server.data) || "no known platform"}, not for ${target}`);
  if (!target.startsWith("win32") && (server.mode & 0o111) === 0) problems.push(`bin/${program} may not be executed`);
}
for (const name of namedFiles(JSON.parse(text("extension/package.json")))) if (!found.has(`extension/${name}`)) problems.push(`${name} is missing`);
const allowed = /^extension\/(package(\.nls(\.[\w-]+)?)?\.json|readme\.md|l10n\/[\w.-]+\.json|dist\/extension\.js|media\/[\w-]+\.(svg|png|md)|bin\/stepline(\.exe)?)$/;
for (const name of found.keys()) if (name.startsWith("extension/") && !allowed.test(name)) problems.push(`${name} does not belong into it`);
if ([...found.keys()].filter((n) => n.startsWith("extension/bin/")).length > 1) problems.push("it holds more than one server");
if (problems.length > 0) {
  console.error(problems.map((p) => `${file}: ${p}`).join("\n"));
  process.exit(1);
}
