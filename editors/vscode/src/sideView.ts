// The side view: runs found, hot lines, findings by cost, and where the GPU was idle in a step.
import * as vscode from "vscode";
import { bytes, duration, percent } from "./format";
import { levelOf } from "./heat";
import { ruleOf } from "./hover";
import { fileUri } from "./places";
import type { Finding, Gap, LineRow, Step } from "./protocol";
import { findRuns, isLoaded, type Run, traceFiles } from "./runs";
import type { RunModel } from "./runModel";
import type { Session } from "./session";

/** How many rows a list shows; more help nobody. */
const most = 100;

abstract class List<T> implements vscode.TreeDataProvider<T>, vscode.Disposable {
  protected readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  protected readonly subscriptions: vscode.Disposable[] = [this.changed];
  abstract getTreeItem(element: T): vscode.TreeItem;
  abstract getChildren(element?: T): Promise<T[]> | T[];
  refresh(): void {
    this.changed.fire();
  }
  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }
}

/** A row that leads to a line. */
function jump(item: vscode.TreeItem, uri: vscode.Uri | undefined, line: number | undefined): vscode.TreeItem {
  if (uri && line) item.command = { command: "stepline.reveal", title: vscode.l10n.t("Go to line"), arguments: [uri, line] };
  return item;
}

type RunNode = { run: Run; file?: vscode.Uri };

export class RunsList extends List<RunNode> {
  constructor(private readonly session: Session) {
    super();
    let waiting: NodeJS.Timeout | undefined;
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.refresh(), 300);
    };
    const watcher = vscode.workspace.createFileSystemWatcher(traceFiles);
    this.subscriptions.push(watcher, watcher.onDidCreate(soon), watcher.onDidDelete(soon), watcher.onDidChange(soon), session.onDidChange(soon),
      vscode.workspace.onDidChangeWorkspaceFolders(soon), { dispose: () => clearTimeout(waiting) });
  }

  async getChildren(node?: RunNode): Promise<RunNode[]> {
    if (node) return node.file ? [] : node.run.files.map((file) => ({ run: node.run, file }));
    return (await findRuns()).map((run) => ({ run }));
  }

  getTreeItem({ run, file }: RunNode): vscode.TreeItem {
    if (file) {
      const item = new vscode.TreeItem(file.path.slice(file.path.lastIndexOf("/") + 1));
      item.iconPath = new vscode.ThemeIcon("file-binary");
      item.resourceUri = file;
      item.contextValue = "rank";
      return item;
    }
    const several = run.files.length > 1;
    const item = new vscode.TreeItem(run.name, several ? vscode.TreeItemCollapsibleState.Collapsed : vscode.TreeItemCollapsibleState.None);
    const status = this.session.status(run.folder.uri);
    const loaded = isLoaded(run, status?.trace);
    const parts = [loaded ? vscode.l10n.t("loaded") : "", several ? vscode.l10n.t("{0} ranks", run.files.length) : "", bytes(run.bytes), new Date(run.written).toLocaleString()];
    item.description = parts.filter(Boolean).join(" · ");
    item.iconPath = new vscode.ThemeIcon(loaded ? "pass-filled" : "circle-outline");
    item.tooltip = run.files.map((f) => f.fsPath).join("\n");
    item.contextValue = loaded ? "runLoaded" : "run";
    if (!loaded) item.command = { command: "stepline.runs.load", title: vscode.l10n.t("Load this run"), arguments: [{ run }] };
    return item;
  }
}

type LineNode = { row: LineRow; perStepUs: number; share: number; heat: number };

export class LinesList extends List<LineNode> {
  constructor(private readonly model: RunModel, private readonly context: vscode.ExtensionContext) {
    super();
    this.subscriptions.push(model.onDidChange(() => this.refresh()));
  }

  async getChildren(node?: LineNode): Promise<LineNode[]> {
    if (node) return [];
    const report = await this.model.report();
    const rows = (report?.lines ?? []).filter((r) => r.cuda_self_us + r.cuda_backward_us > 0);
    if (!report || rows.length === 0) return [];
    const steps = Math.max(1, report.trace.steps) * Math.max(1, report.trace.ranks);
    const total = (r: LineRow) => r.cuda_self_us + r.cuda_backward_us;
    rows.sort((a, b) => total(b) - total(a));
    const hottest = total(rows[0]);
    return rows.slice(0, most).map((row) => ({ row, perStepUs: total(row) / steps, share: total(row) / (report.trace.gpu_total_us || Infinity), heat: total(row) / hottest }));
  }

  getTreeItem({ row, perStepUs, share, heat }: LineNode): vscode.TreeItem {
    const uri = fileUri(row.file, this.model.folder);
    const item = new vscode.TreeItem(`${row.file}:${row.line}`);
    const sure = row.confidence === "exact" ? "" : row.confidence === "function" ? vscode.l10n.t("lines unknown") : row.confidence;
    item.description = [`${duration(perStepUs)} · ${percent(share)}`, row.function, sure].filter(Boolean).join(" · ");
    const level = Math.max(1, levelOf(heat));
    const icon = (theme: string) => vscode.Uri.joinPath(this.context.extensionUri, "media", `heat${level}-${theme}.svg`);
    item.iconPath = { light: icon("light"), dark: icon("dark") };
    const parts = (row.cuda_self_us + row.cuda_backward_us) / perStepUs;
    item.tooltip = [
      vscode.l10n.t("{0}, GPU time a step: forward {1}, backward {2}", row.function, duration(row.cuda_self_us / parts), duration(row.cuda_backward_us / parts)),
      vscode.l10n.t("CPU {0}, host waits {1}, GPU idle {2}", duration(row.cpu_us / parts), duration(row.sync_us / parts), duration(row.gpu_idle_us / parts)),
      vscode.l10n.t("Confidence: {0}", row.confidence),
    ].join("\n");
    return jump(item, uri, row.line);
  }
}

type FindingNode = { rule: string; name: string; message: string; severity: string; uri?: vscode.Uri; file: string; line: number; costUs?: number; highUs?: number; share?: number; verdict?: string };
const severities = ["error", "warning", "info", "hint"];

export class FindingsList extends List<FindingNode> {
  constructor(private readonly model: RunModel) {
    super();
    let waiting: NodeJS.Timeout | undefined;
    this.subscriptions.push(
      model.onDidChange(() => this.refresh()),
      vscode.languages.onDidChangeDiagnostics(() => {
        clearTimeout(waiting);
        waiting = setTimeout(() => this.refresh(), 300);
      }),
      { dispose: () => clearTimeout(waiting) },
    );
  }

  async getChildren(node?: FindingNode): Promise<FindingNode[]> {
    if (node) return [];
    const report = await this.model.report();
    const rows = report?.findings ? report.findings.map((f) => this.priced(f)) : this.fromDiagnostics();
    rows.sort((a, b) => rank(a) - rank(b) || (b.costUs ?? -1) - (a.costUs ?? -1) || (b.highUs ?? 0) - (a.highUs ?? 0) || severities.indexOf(a.severity) - severities.indexOf(b.severity) || a.file.localeCompare(b.file) || a.line - b.line);
    return rows.slice(0, most);
  }

  private priced(f: Finding): FindingNode {
    return { ...f, uri: f.file ? fileUri(f.file, this.model.folder) : undefined, costUs: f.cost_us_per_step, highUs: f.cost_high_us_per_step, share: f.cost_share };
  }

  private fromDiagnostics(): FindingNode[] {
    const rows: FindingNode[] = [];
    for (const [uri, diagnostics] of vscode.languages.getDiagnostics()) {
      for (const d of diagnostics) {
        if (d.source !== "stepline" || !d.code) continue;
        rows.push({ rule: ruleOf(d), name: "", message: d.message, severity: severities[d.severity], uri, file: vscode.workspace.asRelativePath(uri), line: d.range.start.line + 1 });
      }
    }
    return rows;
  }

  getTreeItem(f: FindingNode): vscode.TreeItem {
    const item = new vscode.TreeItem(`${f.rule} ${f.name || f.message}`);
    const cost = f.verdict === "refuted" ? vscode.l10n.t("costs nothing that matters")
      : f.verdict === "not-observed" ? vscode.l10n.t("did not run")
      : f.costUs ? `${duration(f.costUs)}${f.share ? ` · ${percent(f.share)}` : ""}`
      : f.highUs ? vscode.l10n.t("up to {0}", duration(f.highUs)) : "";
    item.description = [cost, f.file ? `${f.file}:${f.line}` : ""].filter(Boolean).join(" · ");
    item.iconPath = f.verdict === "refuted" || f.verdict === "not-observed" ? new vscode.ThemeIcon("circle-slash")
      : f.severity === "error" ? new vscode.ThemeIcon("error", new vscode.ThemeColor("problemsErrorIcon.foreground"))
      : f.severity === "warning" ? new vscode.ThemeIcon("warning", new vscode.ThemeColor("problemsWarningIcon.foreground"))
      : new vscode.ThemeIcon("info", new vscode.ThemeColor("problemsInfoIcon.foreground"));
    item.tooltip = f.message;
    return jump(item, f.uri, f.line);
  }
}

/** Confirmed and unjudged findings stand before those a trace speaks against. */
function rank(f: FindingNode): number {
  return f.verdict === "refuted" ? 2 : f.verdict === "not-observed" ? 1 : 0;
}

type GapNode = { step: Step } | { step: Step; gap: Gap; count: number };

export class GapsList extends List<GapNode> {
  constructor(private readonly model: RunModel) {
    super();
    this.subscriptions.push(model.onDidChange(() => this.refresh()));
  }

  async getChildren(node?: GapNode): Promise<GapNode[]> {
    if (!node) {
      const steps = (await this.model.report())?.steps ?? [];
      return steps.filter((s) => s.gaps.length > 0).slice(0, most).map((step) => ({ step }));
    }
    return "gap" in node ? [] : gapsByLine(node.step).slice(0, most);
  }

  getTreeItem(node: GapNode): vscode.TreeItem {
    const { step } = node;
    if (!("gap" in node)) {
      const ranks = step.rank > 0 ? vscode.l10n.t("Rank {0}, step {1}", step.rank, step.index) : vscode.l10n.t("Step {0}", step.index);
      const item = new vscode.TreeItem(ranks, vscode.TreeItemCollapsibleState.Collapsed);
      item.description = vscode.l10n.t("{0} · GPU busy {1}", duration(step.duration_us), percent(step.gpu_busy));
      item.iconPath = new vscode.ThemeIcon("watch");
      item.id = `${step.rank}/${step.index}`;
      return item;
    }
    const { gap, count } = node;
    const item = new vscode.TreeItem(`${duration(gap.duration_us)} · ${causeText(gap.cause)}`);
    const where = gap.file ? `${gap.file}${gap.line ? `:${gap.line}` : ""}` : vscode.l10n.t("no line");
    item.description = [where, count > 1 ? vscode.l10n.t("{0} gaps", count) : "", percent(gap.duration_us / step.duration_us)].filter(Boolean).join(" · ");
    item.iconPath = new vscode.ThemeIcon(causeIcons[gap.cause] ?? "question");
    if (gap.note) item.tooltip = gap.note;
    return jump(item, gap.file ? fileUri(gap.file, this.model.folder) : undefined, gap.line);
  }
}

/** A step has thousands of gaps; those of one line and cause are one row, the longest first. */
function gapsByLine(step: Step): { step: Step; gap: Gap; count: number }[] {
  const rows = new Map<string, { step: Step; gap: Gap; count: number }>();
  for (const gap of step.gaps) {
    const key = `${gap.cause}\n${gap.file ?? ""}\n${gap.line ?? 0}`;
    const row = rows.get(key);
    if (row) {
      row.gap.duration_us += gap.duration_us;
      row.count++;
    } else {
      rows.set(key, { step, gap: { ...gap }, count: 1 });
    }
  }
  return [...rows.values()].sort((a, b) => b.gap.duration_us - a.gap.duration_us);
}

const causeIcons: Record<string, string> = {
  loader: "database", sync: "debug-pause", launch: "rocket", copy: "copy", collective: "broadcast", allocator: "symbol-array", python: "symbol-method", profiler: "pulse",
};

function causeText(cause: string): string {
  switch (cause) {
    case "loader": return vscode.l10n.t("waiting for the loader");
    case "sync": return vscode.l10n.t("after a synchronisation");
    case "launch": return vscode.l10n.t("waiting for a launch");
    case "copy": return vscode.l10n.t("after a blocking copy");
    case "collective": return vscode.l10n.t("in a collective");
    case "allocator": return vscode.l10n.t("allocating GPU memory");
    case "python": return vscode.l10n.t("Python and CPU work");
    case "profiler": return vscode.l10n.t("the profiler itself");
  }
  return vscode.l10n.t("unknown cause");
}
