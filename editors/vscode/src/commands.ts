// The commands: each asks for what it was not given, and says what went wrong in one message.
import * as vscode from "vscode";
import { bytes } from "./format";
import { compareRuns } from "./comparison";
import { ruleOf } from "./hover";
import type { Pages } from "./pages";
import { folderOf, reveal } from "./places";
import type { Recorder } from "./record";
import type { ReportPanel } from "./reportPanel";
import { findRuns, isLoaded, type Run } from "./runs";
import { messageOf, type Session } from "./session";

interface Parts {
  context: vscode.ExtensionContext;
  session: Session;
  report: ReportPanel;
  recorder: Recorder;
  pages: Pages;
  refresh: () => void;
}

export function registerCommands(parts: Parts): void {
  const { context, session } = parts;
  const on = (name: string, run: (...args: never[]) => unknown) =>
    context.subscriptions.push(vscode.commands.registerCommand(name, async (...args: unknown[]) => {
      try {
        return await (run as (...args: unknown[]) => unknown)(...args);
      } catch (error) {
        void vscode.window.showErrorMessage(vscode.l10n.t("stepline: {0}", messageOf(error)));
        return undefined;
      }
    }));
  on("stepline.loadTrace", (first?: unknown, selected?: unknown) => loadTrace(parts, first, selected));
  on("stepline.unloadTrace", (argument?: unknown) => session.unloadTrace(folderArgument(argument)?.uri));
  on("stepline.openReport", (argument?: unknown) => parts.report.open(folderArgument(argument) ?? folderWithTrace(session)));
  on("stepline.compare", () => compare(parts));
  on("stepline.record", (command?: unknown) => parts.recorder.record(typeof command === "string" ? command : undefined));
  on("stepline.explainRule", (rule?: unknown) => explainRule(parts, rule));
  on("stepline.ignoreLine", (argument?: unknown) => ignoreLine(session, argument));
  on("stepline.toggleHeat", toggleHeat);
  on("stepline.restartServer", () => session.restart());
  on("stepline.showLog", () => session.showLog());
  on("stepline.whyNoServer", () => session.showProblem());
  on("stepline.refresh", async () => {
    parts.refresh();
    const [newest] = await findRuns();
    if (newest && session.running) await session.filesWritten(newest.files);
  });
  on("stepline.reveal", (uri: vscode.Uri, line: number) => reveal(uri, line));
  on("stepline.runs.load", ({ run }: { run: Run }) => session.loadTraces(run.files.map((f) => f.fsPath), run.folder.uri));
  on("stepline.runs.compare", ({ run }: { run: Run }) => compareWithLoaded(parts, run));
}

/** Code lenses and links name a folder as {folder: uri}. */
function folderArgument(argument: unknown): vscode.WorkspaceFolder | undefined {
  const uri = typeof argument === "string" ? argument : (argument as { folder?: unknown } | undefined)?.folder;
  return typeof uri === "string" ? vscode.workspace.workspaceFolders?.find((f) => f.uri.toString() === vscode.Uri.parse(uri).toString()) : undefined;
}

function folderWithTrace(session: Session): vscode.WorkspaceFolder | undefined {
  const active = folderOf(vscode.window.activeTextEditor?.document.uri);
  if (active && session.status(active.uri)?.trace) return active;
  return vscode.workspace.workspaceFolders?.find((f) => session.status(f.uri)?.trace) ?? active;
}

/** Takes nothing (asks), the explorer's selection, or paths and URIs as the server's command does. */
async function loadTrace({ session }: Parts, first: unknown, selected: unknown): Promise<unknown> {
  let paths: string[] = [];
  let folder = folderOf(vscode.window.activeTextEditor?.document.uri);
  if (first instanceof vscode.Uri) {
    const uris = Array.isArray(selected) ? selected.filter((u): u is vscode.Uri => u instanceof vscode.Uri) : [first];
    folder = folderOf(first);
    paths = uris.map((u) => u.fsPath);
  } else if (typeof first === "string") {
    paths = [first, ...(typeof selected === "string" ? [selected] : [])];
  } else if (Array.isArray((first as { traces?: unknown } | undefined)?.traces)) {
    paths = (first as { traces: string[] }).traces;
    folder = folderArgument(first) ?? folder;
  } else {
    const run = await pickRun(vscode.l10n.t("Load which run?"), session, undefined, true);
    if (!run) return undefined;
    if (run !== "other") {
      folder = run.folder;
      paths = run.files.map((f) => f.fsPath);
    } else {
      const picked = await vscode.window.showOpenDialog({
        title: vscode.l10n.t("Load Trace"), openLabel: vscode.l10n.t("Load"), canSelectMany: true, defaultUri: folder?.uri,
        filters: { [vscode.l10n.t("Traces")]: ["json", "gz", "zip", "sqlite", "csv"], [vscode.l10n.t("All files")]: ["*"] },
      });
      if (!picked) return undefined;
      paths = picked.map((u) => u.fsPath);
    }
  }
  return session.loadTraces(paths, folder?.uri);
}

async function pickRun(title: string, session: Session, besides: Run | undefined, other: boolean): Promise<Run | "other" | undefined> {
  const runs = (await findRuns()).filter((r) => r.name !== besides?.name || r.folder !== besides.folder);
  if (runs.length === 0 && other) return "other";
  const several = (vscode.workspace.workspaceFolders?.length ?? 0) > 1;
  const items: (vscode.QuickPickItem & { run: Run | "other" })[] = runs.map((run) => ({
    label: run.name, run,
    description: [several ? run.folder.name : "", isLoaded(run, session.status(run.folder.uri)?.trace) ? vscode.l10n.t("loaded") : ""].filter(Boolean).join(" · "),
    detail: [new Date(run.written).toLocaleString(), bytes(run.bytes), run.files.length > 1 ? vscode.l10n.t("{0} ranks", run.files.length) : ""].filter(Boolean).join(" · "),
  }));
  if (other) items.push({ label: vscode.l10n.t("Another file…"), run: "other", iconPath: new vscode.ThemeIcon("folder-opened") });
  return (await vscode.window.showQuickPick(items, { title, matchOnDetail: true }))?.run;
}

async function compare(parts: Parts): Promise<void> {
  if ((await findRuns()).length < 2) {
    void vscode.window.showInformationMessage(vscode.l10n.t("A comparison needs two runs in the workspace. Record one before and one after a change."));
    return;
  }
  const base = await pickRun(vscode.l10n.t("Compare: the run before"), parts.session, undefined, false);
  if (!base || base === "other") return;
  const changed = await pickRun(vscode.l10n.t("Compare {0} with: the run after", base.name), parts.session, base, false);
  if (changed && changed !== "other") await showComparison(parts, base, changed);
}

async function compareWithLoaded(parts: Parts, run: Run): Promise<void> {
  const loaded = (await findRuns()).find((r) => isLoaded(r, parts.session.status(r.folder.uri)?.trace) && r.folder === run.folder);
  if (!loaded) throw new Error(vscode.l10n.t("The loaded run is no file of this workspace; use the command “Compare Two Runs”."));
  // The older one is what came before.
  await (loaded.written <= run.written ? showComparison(parts, loaded, run) : showComparison(parts, run, loaded));
}

async function showComparison(parts: Parts, base: Run, changed: Run): Promise<void> {
  const content = await compareRuns(parts.session, base, changed);
  if (content) await parts.pages.show(vscode.l10n.t("Comparison"), content);
}

async function explainRule(parts: Parts, rule: unknown): Promise<unknown> {
  let id = typeof rule === "string" ? rule : undefined;
  if (!id) {
    const here = new Set(vscode.languages.getDiagnostics().flatMap(([, list]) => list.filter((d) => d.source === "stepline").map(ruleOf)).filter(Boolean));
    id = here.size > 0 ? await vscode.window.showQuickPick([...here].sort(), { title: vscode.l10n.t("Explain which rule?") })
      : await vscode.window.showInputBox({ title: vscode.l10n.t("Explain which rule?"), placeHolder: "SYN001" });
  }
  if (!id) return undefined;
  const page = await parts.session.execute<{ rule: string; name: string; content: string }>("stepline.explainRule", id);
  await parts.pages.show(page.rule, page.content);
  return page;
}

async function ignoreLine(session: Session, argument: unknown): Promise<void> {
  let given = argument as { uri: string; line: number; rule?: string } | undefined;
  if (typeof given?.uri !== "string") {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return;
    given = { uri: editor.document.uri.toString(), line: editor.selection.active.line };
  }
  await session.execute("stepline.ignoreLine", given);
}

async function toggleHeat(): Promise<void> {
  const configuration = vscode.workspace.getConfiguration("stepline");
  const said = configuration.inspect<boolean>("heat.enable");
  const target = said?.workspaceValue !== undefined ? vscode.ConfigurationTarget.Workspace : vscode.ConfigurationTarget.Global;
  await configuration.update("heat.enable", !configuration.get<boolean>("heat.enable", true), target);
}
