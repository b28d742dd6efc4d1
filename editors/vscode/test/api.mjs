// Runs suite/ inside the extension host of a real VS Code, with the extension as it is in this folder.
// usage: node api.mjs STEPLINE DATA (NODE, CODE_SERVER, CHROMIUM in the environment); ends with `N passed, N failed`.
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { copyTraces, sleep, startEditor } from "./host.mjs";

const [stepline, data] = process.argv.slice(2);
const here = path.dirname(fileURLToPath(import.meta.url));
const repository = path.resolve(here, "../../..");
fs.rmSync(data, { recursive: true, force: true });
copyTraces(repository, path.join(data, "one"), ["gpt/gpt.py"]);
copyTraces(repository, path.join(data, "two"), ["ddp/ddp.py", "ddp/ddp.rank0.trace.json.gz", "ddp/ddp.rank1.trace.json.gz"]);
const workspace = path.join(data, "both.code-workspace");
fs.writeFileSync(workspace, JSON.stringify({ folders: [{ path: "one" }, { path: "two" }] }));
const out = path.join(data, "out.txt");
fs.writeFileSync(out, "");

const editor = await startEditor({
  node: process.env.NODE, codeServer: process.env.CODE_SERVER, chromiumPath: process.env.CHROMIUM, data,
  settings: { "stepline.server.path": stepline }, env: { TEST_OUT: out, TEST_REPOSITORY: repository, TEST_STEPLINE: stepline },
});
let text = "";
try {
  await editor.page.goto(editor.url(`workspace=${workspace}`, [["extensionDevelopmentPath", editor.remote(path.dirname(here))], ["extensionTestsPath", editor.remote(path.join(here, "suite"))]]));
  const end = Date.now() + 150_000;
  while (Date.now() < end && !/\d+ passed, \d+ failed/.test(text)) {
    await sleep(100);
    text = fs.readFileSync(out, "utf8");
  }
  if (!/ 0 failed/.test(text)) await editor.page.screenshot({ path: path.join(data, "failed.png") }).catch(() => undefined);
} finally {
  await editor.stop();
}
process.stdout.write(text);
if (!/\d+ passed, \d+ failed/.test(text)) console.log(`FAIL the extension host did not end its tests; see ${data}\n0 passed, 1 failed`);
process.exit(/ 0 failed/.test(text) ? 0 : 1);
