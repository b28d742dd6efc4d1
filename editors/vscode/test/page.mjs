// Installs the packaged extension into a real VS Code and uses it as a person does, by mouse and keyboard, with screenshots.
// usage: node page.mjs VSIX DATA (NODE, CODE_SERVER, CHROMIUM in the environment); ends with `N passed, N failed`.
import assert from "node:assert";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { copyTraces, startEditor } from "./host.mjs";

const [vsix, data] = process.argv.slice(2);
const repository = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const shots = path.join(data, "shots");
fs.rmSync(data, { recursive: true, force: true });
fs.mkdirSync(shots, { recursive: true });
const work = path.join(data, "gpt");
copyTraces(repository, work, ["gpt/gpt.py", "gpt/trace.json.gz"]);
const file = path.join(work, "gpt.py");

const wait = { timeout: 60_000 };
const mlp = "return self.down(F.gelu(self.up(x)))";
let passed = 0, failed = 0, editor;

const installed = () => execFileSync(process.env.NODE, [process.env.CODE_SERVER, "--user-data-dir", path.join(data, "user-data"), "--extensions-dir", path.join(data, "extensions"), "--install-extension", vsix], {
  env: { ...process.env, HOME: path.join(data, "home"), XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/"}' }, encoding: "utf8", timeout: 90_000,
});

/** Text of the page's lines, with ordinary blanks. */
const drawnLines = () => editor.page.evaluate(() => [...document.querySelectorAll(".view-line")].map((l) => l.textContent.replace(/\u00a0/g, " ")));
async function untilDrawn(what, ok) {
  const end = Date.now() + wait.timeout;
  for (;;) {
    const lines = await drawnLines();
    const found = lines.find(ok);
    if (found !== undefined) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}; drawn is\n${lines.join("\n")}`);
    await editor.page.waitForTimeout(100);
  }
}
const shot = (name) => editor.page.screenshot({ path: path.join(shots, `${name}.png`) });

/** Goes to a line by the keyboard. */
async function goTo(line) {
  const { page } = editor;
  await page.keyboard.press("Control+1"); // the first group of editors has the focus
  await page.keyboard.press("Control+G");
  await page.locator(".quick-input-widget input").waitFor(wait);
  await page.keyboard.type(String(line));
  await page.keyboard.press("Enter");
  await cursorOn(line);
}
const cursorOn = (line) => editor.page.waitForFunction((l) => new RegExp(`Ln ${l},`).test(document.querySelector(".statusbar")?.textContent ?? ""), line, wait);
const lineOf = (text) => fs.readFileSync(file, "utf8").split("\n").findIndex((l) => l.includes(text)) + 1;

const tests = [
  ["the packaged extension installs", async () => {
    assert.match(installed(), /successfully installed/i);
    editor = await startEditor({ node: process.env.NODE, codeServer: process.env.CODE_SERVER, chromiumPath: process.env.CHROMIUM, data });
  }],
  ["a script opened beside its trace shows findings and costs", async () => {
    const { page } = editor;
    await page.goto(editor.url(`folder=${work}`, [["openFile", editor.remote(file)]]));
    await page.locator(".monaco-editor .view-line").first().waitFor(wait);
    await page.locator(".monaco-editor [class*='squiggly-']").first().waitFor({ ...wait, state: "attached" });
    await page.locator(".statusbar", { hasText: "58.6 ms a step" }).waitFor(wait);
    await goTo(lineOf(mlp));
    const drawn = await untilDrawn("the MLP's cost at its line end", (l) => l.includes(mlp) && l.includes("3.58 ms"));
    assert.match(drawn, /3\.58 ms · \d+ %/);
  }],
  ["hot lines have bars in the gutter", async () => {
    const { page } = editor;
    await page.waitForFunction(() => [...document.querySelectorAll(".glyph-margin-widgets .cgmr")].filter((e) => /heat\d-dark\.svg/.test(getComputedStyle(e).backgroundImage) || /heat\d-dark\.svg/.test(getComputedStyle(e, "::before").backgroundImage) || /svg/.test(getComputedStyle(e).backgroundImage)).length > 3, null, wait);
    await shot("editor");
  }],
  ["a hover shows the numbers, and its link opens the report", async () => {
    const { page } = editor;
    const token = page.locator(".view-line", { hasText: "self.down(F.gelu" }).locator("span span", { hasText: "gelu" }).first();
    const hover = page.locator(".monaco-hover:not(.hidden)", { hasText: "GPU forward" }).first();
    // The editor drops a hover that anything on the page moves under: a person would point again.
    for (const end = Date.now() + wait.timeout; ;) {
      await page.mouse.move(700, 12);
      await token.hover(wait);
      if (await hover.waitFor({ ...wait, timeout: 5000 }).then(() => true, () => false)) break;
      if (Date.now() > end) throw new Error("no hover with the line's numbers");
    }
    assert.match(await hover.textContent(), /1\.12\u00a0ms/);
    // It fades in; the picture waits for that.
    for (const end = Date.now() + 2000; Date.now() < end && !(await hover.evaluate((drawn) => getComputedStyle(drawn).opacity === "1")); ) await page.waitForTimeout(50);
    await shot("hover");
    await hover.locator("a", { hasText: "Open report" }).first().click(wait);
    await page.locator(".tab", { hasText: "stepline report" }).waitFor(wait);
  }],
  ["the report is drawn, and a place in it leads to its line", async () => {
    const { page } = editor;
    const end = Date.now() + wait.timeout;
    let link;
    for (;;) {
      for (const frame of page.frames()) {
        const place = frame.locator("a[data-file][data-line]");
        if ((await place.count().catch(() => 0)) > 0) link = place.first();
      }
      if (link) break;
      if (Date.now() > end) throw new Error("the report's page was not drawn");
      await page.waitForTimeout(100);
    }
    await page.keyboard.press("Escape"); // the hover goes
    await page.mouse.move(700, 12);
    await page.locator(".monaco-hover:not(.hidden)", { hasText: "GPU forward" }).waitFor({ ...wait, state: "hidden" });
    await shot("report");
    const line = Number(await link.getAttribute("data-line"));
    await goTo(1);
    await link.click(wait);
    await cursorOn(line);
  }],
  ["the side view lists runs, hot lines, findings and idle time, and leads to a line", async () => {
    const { page } = editor;
    await page.locator(".tab", { hasText: "stepline report" }).locator(".codicon-close").click(wait);
    await page.locator(".activitybar .action-item a[aria-label^='stepline']").first().click(wait);
    const row = page.locator(".monaco-list-row", { has: page.locator(".label-name", { hasText: /^gpt\.py:\d+$/ }) }).first();
    await row.waitFor(wait);
    await page.locator(".monaco-list-row", { hasText: "trace.json.gz" }).first().waitFor(wait);
    await page.locator(".monaco-list-row", { hasText: /GPU busy/ }).first().waitFor(wait);
    await page.locator(".monaco-list-row", { hasText: /[A-Z]{3}\d{3} / }).first().waitFor(wait);
    const line = Number(/gpt\.py:(\d+)$/.exec(await row.locator(".label-name").first().textContent())[1]);
    await row.click(wait);
    await cursorOn(line);
    await shot("side-view");
  }],
  ["a quick fix by the keyboard mends a finding and is saved", async () => {
    const { page } = editor;
    const line = lineOf("torch.optim.AdamW(model.parameters(), lr=3e-4)");
    await goTo(line);
    await page.keyboard.press("End");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("Control+.");
    await page.locator(".action-widget", { hasText: "fused=True" }).waitFor(wait);
    await shot("quick-fix");
    await page.locator(".action-widget .monaco-list-row.focused", { hasText: "fused=True" }).waitFor(wait);
    await page.keyboard.press("Enter");
    await untilDrawn("the edit", (l) => l.includes("lr=3e-4, fused=True)"));
    await page.keyboard.press("Control+S");
    const end = Date.now() + wait.timeout;
    while (!fs.readFileSync(file, "utf8").includes("lr=3e-4, fused=True)")) {
      assert.ok(Date.now() < end, "the file was not saved");
      await page.waitForTimeout(100);
    }
  }],
  ["light themes have bars of their own", async () => {
    const { page } = editor;
    await page.keyboard.press("F1");
    await page.locator(".quick-input-widget input").waitFor(wait);
    await page.keyboard.type("Preferences: Toggle between Light/Dark Themes");
    await page.locator(".quick-input-list .monaco-list-row.focused", { hasText: "Toggle between Light/Dark Themes" }).waitFor(wait);
    await page.keyboard.press("Enter");
    await page.locator(".monaco-workbench.vs:not(.vs-dark)").first().waitFor(wait);
    await goTo(lineOf(mlp));
    await untilDrawn("the MLP's cost", (l) => l.includes(mlp) && l.includes("3.58 ms"));
    await shot("light");
  }],
  ["a folder that is not trusted is linted, and neither its program nor its trace is touched", async () => {
    await editor.stop();
    // The folder names a program and a trace, as a stranger's might.
    const strange = path.join(data, "strange");
    copyTraces(repository, strange, ["gpt/gpt.py", "gpt/trace.json.gz"]);
    const mark = path.join(data, "was-run");
    fs.writeFileSync(path.join(strange, "server.sh"), `#!/bin/sh\ntouch '${mark}'\n`, { mode: 0o755 });
    fs.mkdirSync(path.join(strange, ".vscode"));
    fs.writeFileSync(path.join(strange, ".vscode/settings.json"), JSON.stringify({ "stepline.server.path": path.join(strange, "server.sh"), "stepline.traces": ["trace.json.gz"] }));
    editor = await startEditor({ node: process.env.NODE, codeServer: process.env.CODE_SERVER, chromiumPath: process.env.CHROMIUM, data, trust: true,
      settings: { "security.workspace.trust.startupPrompt": "never", "security.workspace.trust.untrustedFiles": "open" } });
    const { page } = editor;
    await page.goto(editor.url(`folder=${strange}`, [["openFile", editor.remote(path.join(strange, "gpt.py"))]]));
    await page.locator(".statusbar", { hasText: "Restricted Mode" }).waitFor(wait);
    await page.locator(".monaco-editor [class*='squiggly-']").first().waitFor({ ...wait, state: "attached" });
    await page.locator(".statusbar", { hasText: "stepline: no trace" }).waitFor(wait);
    await shot("restricted");
    assert.ok(!fs.existsSync(mark), "the folder's program was run");
  }],
];

for (const [name, test] of tests) {
  const started = Date.now();
  try {
    await test();
    passed++;
    console.log(`ok   ${name} (${Date.now() - started} ms)`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}\n     ${String(error?.stack ?? error).split("\n").slice(0, 12).join("\n     ")}`);
    if (editor) await shot(`failed-${failed}`).catch(() => undefined);
    else break;
    await editor.page.keyboard.press("Escape").catch(() => undefined);
  }
}
await editor?.stop();
console.log(`${passed} passed, ${failed + (tests.length - passed - failed)} failed`);
process.exit(passed === tests.length ? 0 : 1);
