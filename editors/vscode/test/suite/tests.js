const assert = require("node:assert");
const childProcess = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const vscode = require("vscode");

const repository = process.env.TEST_REPOSITORY;
const traces = (...parts) => path.join(repository, "testdata/traces", ...parts);
const folder = (i) => vscode.workspace.workspaceFolders[i].uri;
const gpt = () => vscode.Uri.joinPath(folder(0), "gpt.py");
const traceFile = () => vscode.Uri.joinPath(folder(0), "trace.json.gz").fsPath;
let inside;

/** Waits until f gives something true, at most 15 s. */
async function eventually(what, f, describe = () => "") {
  const end = Date.now() + 15_000;
  for (;;) {
    const value = await f();
    if (value) return value;
    if (Date.now() > end) throw new Error(`waited in vain for ${what}: ${JSON.stringify(await describe())}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function open(uri) {
  const document = await vscode.workspace.openTextDocument(uri);
  return vscode.window.showTextDocument(document, { preview: false });
}

function lineOf(document, text) {
  for (let i = 0; i < document.lineCount; i++) if (document.lineAt(i).text.includes(text)) return i;
  throw new Error(`no line has ${text}`);
}

const findings = (uri) => vscode.languages.getDiagnostics(uri).filter((d) => d.source === "stepline");
const ruleOf = (d) => String(typeof d.code === "object" ? d.code.value : d.code);
const findingsOn = (uri, line) => findings(uri).filter((d) => d.range.start.line <= line && line <= d.range.end.line);
const statusText = () => inside.statusBar.item.text;
const hoverText = async (uri, position) => {
  const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", uri, position);
  return hovers.flatMap((h) => h.contents.map((c) => c.value ?? c)).join("\n\n");
};
const revert = () => vscode.commands.executeCommand("workbench.action.files.revert");
const mlp = "return self.down(F.gelu(self.up(x)))";

async function kill() {
  const pid = inside.session.client._serverProcess.pid;
  process.kill(pid, "SIGKILL");
  return pid;
}

exports.tests = [
  ["the extension starts the server that the setting names", async () => {
    await open(gpt());
    const extension = vscode.extensions.getExtension("stepline.stepline");
    inside = await extension.activate();
    await eventually("a running server", () => inside.session.running, () => inside.session.problem);
    assert.equal(inside.session.problem, undefined);
  }],

  ["every command of the manifest is there", async () => {
    const there = await vscode.commands.getCommands(true);
    for (const { command } of vscode.extensions.getExtension("stepline.stepline").packageJSON.contributes.commands) assert.ok(there.includes(command), command);
  }],

  ["without a trace the status bar says so and the report is refused calmly", async () => {
    await eventually("the status", () => statusText().includes("no trace"), statusText);
    assert.equal((await inside.lines.getChildren()).length, 0);
    await vscode.commands.executeCommand("stepline.openReport", { folder: folder(0).toString() });
    assert.equal(inside.report.html, undefined);
  }],

  ["findings are squiggles", async () => {
    const document = (await open(gpt())).document;
    const line = lineOf(document, "p.grad.norm().item()");
    const [finding] = await eventually("a finding on the .item() line", () => findingsOn(gpt(), line).length > 0 && findingsOn(gpt(), line), () => findings(gpt()));
    assert.match(ruleOf(finding), /^SYN\d{3}$/);
    assert.match(String(finding.code.target), /^https?:\/\//);
    assert.ok(finding.message.length > 20);
  }],

  ["a hover on a finding explains it and has links that run commands", async () => {
    const document = (await open(gpt())).document;
    const line = lineOf(document, "p.grad.norm().item()");
    const [finding] = findingsOn(gpt(), line);
    const text = await hoverText(gpt(), finding.range.start.translate(0, 1));
    assert.match(text, /Why it costs/);
    assert.match(text, new RegExp(`command:stepline\\.explainRule\\?%5B%22${ruleOf(finding)}%22%5D`));
    assert.match(text, /command:stepline\.ignoreLine/);
  }],

  ["only the extension's own links in a hover may run commands", async () => {
    const document = (await open(gpt())).document;
    const [finding] = findingsOn(gpt(), lineOf(document, "p.grad.norm().item()"));
    const hovers = await vscode.commands.executeCommand("vscode.executeHoverProvider", gpt(), finding.range.start.translate(0, 1));
    const contents = hovers.flatMap((h) => h.contents);
    for (const content of contents) {
      if (!content.value.includes("command:stepline")) assert.ok(!content.isTrusted, content.value);
    }
  }],

  ["a rule's page is shown", async () => {
    const page = await vscode.commands.executeCommand("stepline.explainRule", "SYN001");
    assert.equal(page.rule, "SYN001");
    assert.match(page.content, /## Why it costs/);
    await eventually("the preview", () => vscode.window.tabGroups.all.some((g) => g.tabs.some((t) => t.label.includes("SYN001"))));
    await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
  }],

  ["a quick fix mends its finding", async () => {
    const document = (await open(gpt())).document;
    const line = lineOf(document, "torch.optim.AdamW(model.parameters(), lr=3e-4)");
    const finding = await eventually("OPT002", () => findingsOn(gpt(), line).find((d) => ruleOf(d) === "OPT002"), () => findings(gpt()).map(ruleOf));
    const actions = await vscode.commands.executeCommand("vscode.executeCodeActionProvider", gpt(), finding.range, "quickfix", 10);
    const fix = actions.find((a) => a.title.includes("fused=True"));
    assert.ok(fix, actions.map((a) => a.title).join(", "));
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    assert.match(document.lineAt(line).text, /lr=3e-4, fused=True\)/);
    await eventually("the finding to go", () => !findingsOn(gpt(), line).some((d) => ruleOf(d) === "OPT002"));
    await revert();
  }],

  ["fix all applies the safe fixes", async () => {
    const editor = await open(gpt());
    const before = editor.document.getText();
    await eventually("findings", () => findings(gpt()).length > 3);
    const count = findings(gpt()).length;
    await vscode.commands.executeCommand("editor.action.codeAction", { kind: "source.fixAll.stepline", apply: "first" });
    await eventually("an edit", () => editor.document.getText() !== before);
    await eventually("fewer findings", () => findings(gpt()).length < count, () => [count, findings(gpt()).length]);
    await revert();
  }],

  ["a finding is ignored where it stands", async () => {
    const editor = await open(gpt());
    const line = lineOf(editor.document, "print(step, loss.item(), norm)");
    await eventually("a finding", () => findingsOn(gpt(), line).length > 0);
    await vscode.commands.executeCommand("stepline.ignoreLine", { uri: gpt().toString(), line });
    await eventually("the comment", () => /# stepline: ignore\[/.test(editor.document.lineAt(line).text), () => editor.document.lineAt(line).text);
    await eventually("silence", () => findingsOn(gpt(), line).length === 0);
    await revert();
  }],

  ["a broken trace is one clear message, and the lint goes on", async () => {
    const broken = vscode.Uri.joinPath(folder(0), "broken.json").fsPath;
    fs.writeFileSync(broken, "this is no trace\n");
    await assert.rejects(inside.session.loadTraces([broken], folder(0)), (error) => {
      assert.match(error.message, /broken\.json/);
      assert.ok(!error.message.includes("\n"), error.message);
      return true;
    });
    fs.rmSync(broken);
    assert.ok(inside.session.running);
    assert.ok(findings(gpt()).length > 0);
    await eventually("the status", () => statusText().includes("no trace"), statusText);
  }],

  ["a new recording is loaded when it is written", async () => {
    await open(gpt());
    fs.copyFileSync(traces("gpt", "trace.json.gz"), traceFile());
    await eventually("the step's time in the status bar", () => statusText().includes("58.6 ms a step"), statusText);
    assert.match(statusText(), /trace\.json\.gz/);
    assert.equal(inside.statusBar.item.command.command, "stepline.openReport");
    const runs = await inside.runs.getChildren();
    const own = runs.find(({ run }) => run.name === "trace.json.gz");
    assert.ok(own, JSON.stringify(runs.map((r) => r.run.name)));
    assert.match(inside.runs.getTreeItem(own).description, /^loaded/);
  }],

  ["line ends show GPU time and share", async () => {
    const document = (await open(gpt())).document;
    const line = lineOf(document, mlp);
    const hints = await eventually("a hint", async () => {
      const all = await vscode.commands.executeCommand("vscode.executeInlayHintProvider", gpt(), new vscode.Range(line, 0, line + 1, 0));
      return all.length > 0 && all;
    });
    assert.match(hints[0].label, /^3\.58 ms · \d+ %$/);
    assert.equal(hints[0].position.character, document.lineAt(line).text.length);
  }],

  ["a hover has the numbers of the line and opens the report", async () => {
    const document = (await open(gpt())).document;
    const text = await hoverText(gpt(), new vscode.Position(lineOf(document, mlp), 10));
    assert.match(text, /GPU forward \| 1\.12\u00a0ms/);
    assert.match(text, /GPU backward \| 2\.46\u00a0ms/);
    assert.match(text, /command:stepline\.openReport/);
  }],

  ["code lenses stand over the training loop and functions", async () => {
    const lenses = await eventually("lenses", async () => {
      const all = await vscode.commands.executeCommand("vscode.executeCodeLensProvider", gpt(), 50);
      const ours = all.filter((l) => l.command?.command === "stepline.openReport");
      return ours.length > 1 && ours;
    });
    assert.ok(lenses.some((l) => /58\.6 ms a step/.test(l.command.title)), lenses.map((l) => l.command.title).join("\n"));
  }],

  ["hot lines have bars in the gutter, which a setting turns off", async () => {
    const document = (await open(gpt())).document;
    const levels = await eventually("heat", () => inside.heat.levelsOf(gpt()).size > 5 && inside.heat.levelsOf(gpt()));
    assert.equal(Math.max(...levels.values()), 5);
    assert.ok(new Set(levels.values()).size >= 3, "several levels");
    assert.ok(levels.has(lineOf(document, "logits = self.head(self.norm(x))") + 1));
    await vscode.commands.executeCommand("stepline.toggleHeat");
    await eventually("no heat", () => inside.heat.levelsOf(gpt()).size === 0);
    await vscode.commands.executeCommand("stepline.toggleHeat");
    await eventually("heat again", () => inside.heat.levelsOf(gpt()).size > 5);
  }],

  ["the side view lists hot lines and leads to them", async () => {
    const rows = await eventually("hot lines", async () => { const all = await inside.lines.getChildren(); return all.length > 10 && all; }, () => inside.model.problem);
    for (let i = 1; i < rows.length; i++) assert.ok(rows[i - 1].perStepUs >= rows[i].perStepUs);
    const item = inside.lines.getTreeItem(rows[1]);
    assert.match(item.description, /\d (ms|µs) · [\d.]+ %/);
    await vscode.commands.executeCommand(item.command.command, ...item.command.arguments);
    const editor = vscode.window.activeTextEditor;
    assert.equal(editor.document.uri.toString(), gpt().toString());
    assert.equal(editor.selection.active.line + 1, rows[1].row.line);
  }],

  ["the side view lists findings and leads to them", async () => {
    const rows = await eventually("findings", async () => { const all = await inside.findings.getChildren(); return all.length > 3 && all; });
    const item = inside.findings.getTreeItem(rows[0]);
    assert.match(item.label, /^[A-Z]{2,3}\d{3} /);
    await vscode.commands.executeCommand(item.command.command, ...item.command.arguments);
    assert.equal(vscode.window.activeTextEditor.selection.active.line + 1, rows[0].line);
  }],

  ["findings stand by what they cost", async () => {
    const rows = (await inside.findings.getChildren()).filter((r) => r.verdict === "confirmed" && r.costUs !== undefined);
    assert.ok(rows.length > 1, "priced findings");
    for (let i = 1; i < rows.length; i++) assert.ok(rows[i - 1].costUs >= rows[i].costUs);
  }],

  ["the side view lists where the GPU was idle in a step", async () => {
    const steps = await inside.gaps.getChildren();
    assert.equal(steps.length, 2);
    const gaps = await inside.gaps.getChildren(steps[0]);
    assert.ok(gaps.length > 3);
    for (let i = 1; i < gaps.length; i++) assert.ok(gaps[i - 1].gap.duration_us >= gaps[i].gap.duration_us);
    const placed = gaps.find((g) => g.gap.line);
    const item = inside.gaps.getTreeItem(placed);
    await vscode.commands.executeCommand(item.command.command, ...item.command.arguments);
    assert.equal(vscode.window.activeTextEditor.selection.active.line + 1, placed.gap.line);
  }],

  ["the report opens under a strict policy", async () => {
    await vscode.commands.executeCommand("stepline.openReport", { folder: folder(0).toString() });
    const html = await eventually("the page", () => inside.report.html);
    const policies = html.match(/<meta[^>]*Content-Security-Policy[^>]*>/g);
    assert.equal(policies.length, 1);
    assert.match(policies[0], /default-src 'none'/);
    assert.doesNotMatch(policies[0], /script-src[^;]*'unsafe/);
    assert.match(html, /data-file="gpt\.py"/);
    await vscode.commands.executeCommand("workbench.action.closeAllEditors");
  }],

  ["a page's own policy is replaced by ours, its script's hash kept", () => {
    const hash = "'sha256-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='";
    const page = inside.guarded(`<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content="default-src *; script-src ${hash} 'unsafe-inline'"></head><body>x</body></html>`, { cspSource: "self" });
    assert.equal(page.match(/Content-Security-Policy/g).length, 1);
    assert.ok(page.includes(hash));
    assert.doesNotMatch(page, /script-src[^;]*'unsafe-inline'/);
    assert.doesNotMatch(page, /default-src \*/);
    assert.match(inside.guarded("<html><p>x</html>", { cspSource: "self" }), /<html><head><meta[^>]*default-src 'none'/);
  }],

  ["a changed function is stale and shows no cost", async () => {
    const editor = await open(gpt());
    const line = lineOf(editor.document, mlp);
    await eventually("heat", () => inside.heat.levelsOf(gpt()).has(line + 1));
    await editor.edit((e) => e.replace(editor.document.lineAt(line).range, "        return self.down(F.relu(self.up(x)) + F.gelu(x))"));
    await eventually("the mark", () => statusText().includes("stale"), statusText);
    await eventually("no heat there", () => !inside.heat.levelsOf(gpt()).has(line + 1));
    await revert();
    await eventually("no mark", () => !statusText().includes("stale"), statusText);
  }],

  ["a trace that is written anew is loaded again", async () => {
    await open(gpt());
    const before = statusText();
    fs.copyFileSync(traces("gpt_callers", "trace.json.gz"), traceFile());
    await eventually("another step time", () => statusText() !== before && /ms a step/.test(statusText()), statusText);
    fs.copyFileSync(traces("gpt", "trace.json.gz"), traceFile());
    await eventually("the first one again", () => statusText().includes("58.6 ms a step"), statusText);
  }],

  ["each folder has its own run; ranks are one", async () => {
    await open(vscode.Uri.joinPath(folder(1), "ddp.py"));
    await eventually("the other trace", () => statusText().includes("ddp.rank"), statusText);
    const { run } = (await inside.runs.getChildren()).find((r) => r.run.folder.index === 1);
    assert.equal(run.files.length, 2);
    assert.equal(run.name, "ddp.rank*.trace.json.gz");
    assert.equal((await inside.runs.getChildren({ run })).length, 2);
    const rows = await eventually("its hot lines", async () => { const all = await inside.lines.getChildren(); return all[0]?.row.file === "ddp.py" && all; }, async () => [(await inside.lines.getChildren())[0]?.row.file, inside.model.problem]);
    assert.ok(rows.length > 3);
    await open(gpt());
    await eventually("the first trace", () => statusText().includes("58.6 ms a step"), statusText);
  }],

  ["a recording into a folder of its own is loaded", async () => {
    await open(gpt());
    const output = path.join("runs", "2026-01-02T03-04-05");
    const waiting = inside.recorder.awaitTrace(vscode.workspace.workspaceFolders[0], output);
    const made = path.join(folder(0).fsPath, output);
    fs.mkdirSync(made, { recursive: true });
    fs.copyFileSync(traces("gpt_callers", "trace.json.gz"), path.join(made, "gpt.trace.json.gz"));
    await eventually("its name", () => statusText().includes("gpt.trace.json.gz"), statusText);
    waiting.dispose();
    fs.rmSync(path.join(folder(0).fsPath, "runs"), { recursive: true });
    fs.copyFileSync(traces("gpt", "trace.json.gz"), traceFile());
    await vscode.commands.executeCommand("stepline.refresh");
    await eventually("the first one again", () => statusText().includes("58.6 ms a step"), statusText);
  }],

  ["Record a Trace runs its command in a terminal, and what it wrote is loaded", async () => {
    await open(gpt());
    // The command stands in for a script that trains: it writes a trace where the recorder would.
    await vscode.commands.executeCommand("stepline.record", "sh -c 'cp trace.json.gz runs/*/'");
    assert.ok(vscode.window.terminals.some((t) => t.name === "stepline record"), vscode.window.terminals.map((t) => t.name).join(", "));
    const trace = () => inside.session.status(folder(0))?.trace ?? "";
    const began = () => fs.existsSync(path.join(folder(0).fsPath, "runs"));
    await eventually("the terminal", began).catch(() => {
      console.log("no terminal here (node-pty is not built): its line is run without one");
      childProcess.spawn("sh", ["-c", inside.recorder.sent.at(-1)], { cwd: folder(0).fsPath, stdio: "ignore" });
    });
    await eventually("its trace", () => trace().startsWith("runs/"), () => [trace(), inside.recorder.sent]);
    assert.match(trace(), /^runs\/\d{4}-\d\d-\d\dT[\d-]+\/trace\.json\.gz/);
    for (const terminal of vscode.window.terminals) terminal.dispose();
    fs.rmSync(path.join(folder(0).fsPath, "runs"), { recursive: true });
    await vscode.commands.executeCommand("stepline.refresh");
    await eventually("the first one again", () => statusText().includes("58.6 ms a step") && !trace().startsWith("runs/"), statusText);
  }],

  ["a killed server comes back with its trace", async () => {
    await open(gpt());
    const pid = await kill();
    await eventually("another server", () => inside.session.running && inside.session.client._serverProcess?.pid !== pid);
    await eventually("its trace", () => statusText().includes("58.6 ms a step"), statusText);
    await eventually("its findings", () => findings(gpt()).length > 3);
  }],

  ["a trace chosen by hand is loaded again after a restart", async () => {
    const elsewhere = path.join(path.dirname(folder(0).fsPath), "elsewhere.json.gz");
    fs.copyFileSync(traces("gpt_callers", "trace.json.gz"), elsewhere);
    const summary = await vscode.commands.executeCommand("stepline.loadTrace", { traces: [elsewhere], folder: folder(0).toString() });
    assert.ok(summary.steps > 0);
    await eventually("its name", () => statusText().includes("elsewhere.json.gz"), statusText);
    await kill();
    await eventually("the server to go", () => !inside.session.running || !statusText().includes("elsewhere"));
    await eventually("its name again", () => statusText().includes("elsewhere.json.gz"), statusText);
    await vscode.commands.executeCommand("stepline.unloadTrace", { folder: folder(0).toString() });
    await eventually("no trace", () => !statusText().includes("elsewhere"), statusText);
  }],

  ["cells of a notebook are linted", async () => {
    const uri = vscode.Uri.joinPath(folder(0), "train.ipynb");
    const cell = (source) => ({ cell_type: "code", metadata: {}, outputs: [], execution_count: null, source });
    fs.writeFileSync(uri.fsPath, JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: { language_info: { name: "python" }, kernelspec: { name: "python3", display_name: "Python 3", language: "python" } },
      cells: [cell("import torch\nmodel = torch.nn.Linear(4, 4).cuda()\nopt = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"), cell("for x in loader:\n    loss = model(x.cuda()).sum()\n    loss.backward()\n    opt.step()\n    print(loss.item())\n")] }));
    const notebook = await vscode.workspace.openNotebookDocument(uri);
    await vscode.window.showNotebookDocument(notebook);
    await eventually("findings in the second cell", () => findings(notebook.cellAt(1).document.uri).length > 0, () => notebook.getCells().map((c) => findings(c.document.uri).map(ruleOf)));
    await vscode.commands.executeCommand("workbench.action.closeActiveEditor");
    fs.rmSync(uri.fsPath);
  }],

  ["two runs are compared", async () => {
    const runs = await inside.runs.getChildren();
    const copy = vscode.Uri.joinPath(folder(0), "after.trace.json.gz").fsPath;
    fs.copyFileSync(traces("gpt_callers", "trace.json.gz"), copy);
    const found = await eventually("both runs", async () => {
      const own = (await inside.runs.getChildren()).filter((r) => r.run.folder.index === 0);
      return own.length === runs.filter((r) => r.run.folder.index === 0).length + 1 && own;
    });
    const text = await inside.compare(found.find((r) => r.run.name === "trace.json.gz").run, found.find((r) => r.run.name === "after.trace.json.gz").run);
    assert.match(text, /gpt\.py/);
    fs.rmSync(copy);
  }],

  ["the line for the terminal is quoted for its shell", () => {
    const line = inside.recordLine;
    assert.equal(line("/opt/stepline", 5, "runs/a", " python train.py --lr 1e-3 ", "/bin/bash"), "/opt/stepline record --steps 5 --output runs/a -- python train.py --lr 1e-3");
    assert.equal(line("/my tools/it's", 5, "my runs/a", "python t.py", "/usr/bin/zsh"), "'/my tools/it'\\''s' record --steps 5 --output 'my runs/a' -- python t.py");
    assert.equal(line("C:\\My Tools\\stepline.exe", 5, "runs\\a", "python t.py", "C:\\Windows\\System32\\WindowsPowerShell\\v1.0\\powershell.exe"), "& 'C:\\My Tools\\stepline.exe' record --steps 5 --output runs\\a -- python t.py");
    assert.equal(line("C:\\My Tools\\stepline.exe", 5, "runs\\a", "python t.py", "C:\\Windows\\System32\\cmd.exe"), '"C:\\My Tools\\stepline.exe" record --steps 5 --output runs\\a -- python t.py');
  }],

  ["settings reach the server: only those that somebody set", async () => {
    const document = (await open(gpt())).document;
    const line = lineOf(document, mlp);
    const configuration = vscode.workspace.getConfiguration("stepline", gpt());
    const label = async () => (await vscode.commands.executeCommand("vscode.executeInlayHintProvider", gpt(), new vscode.Range(line, 0, line + 1, 0)))[0]?.label;
    await eventually("a hint", label);
    await configuration.update("inlayHints.show", "time", vscode.ConfigurationTarget.Global);
    await eventually("time alone", async () => (await label()) === "3.58 ms", label);
    await configuration.update("inlayHints.show", undefined, vscode.ConfigurationTarget.Global);
    fs.writeFileSync(vscode.Uri.joinPath(folder(0), "stepline.toml").fsPath, '[inlayHints]\nshow = "share"\n');
    await eventually("the file's word", async () => /^\d+ %$/.test((await label()) ?? ""), label);
    fs.rmSync(vscode.Uri.joinPath(folder(0), "stepline.toml").fsPath);
    await eventually("both again", async () => /ms · /.test((await label()) ?? ""), label);
  }],

  ["a server that is not there is explained, and the right one starts again", async () => {
    const configuration = vscode.workspace.getConfiguration("stepline");
    const right = process.env.TEST_STEPLINE;
    await configuration.update("server.path", "/nowhere/stepline", vscode.ConfigurationTarget.Global);
    await eventually("the reason", () => inside.session.problem, () => inside.session.problem);
    assert.match(inside.session.problem, /\/nowhere\/stepline: there is no such file/);
    assert.match(statusText(), /no server/);
    assert.equal(inside.statusBar.item.command, "stepline.whyNoServer");
    await configuration.update("server.path", right, vscode.ConfigurationTarget.Global);
    await eventually("a running server", () => inside.session.running, () => inside.session.problem);
    await eventually("findings", () => findings(gpt()).length > 3);
  }],

  ["a program that is no server is explained", async () => {
    const configuration = vscode.workspace.getConfiguration("stepline");
    const right = process.env.TEST_STEPLINE;
    await configuration.update("server.path", "/bin/false", vscode.ConfigurationTarget.Global);
    await eventually("the reason", () => inside.session.problem, () => [inside.session.problem, inside.session.client?.state]);
    assert.match(inside.session.problem, /\/bin\/false|ended by itself/);
    await configuration.update("server.path", right, vscode.ConfigurationTarget.Global);
    await eventually("a running server", () => inside.session.running, () => inside.session.problem);
  }],
];
