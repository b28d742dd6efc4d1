// The status bar: the step's time, what bounds it and the trace; a click opens the report.
import * as vscode from "vscode";
import { duration } from "./format";
import { folderOf } from "./places";
import type { Session } from "./session";

export class StatusBar implements vscode.Disposable {
  readonly item = vscode.window.createStatusBarItem("stepline.status", vscode.StatusBarAlignment.Left, 50);
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly session: Session) {
    this.item.name = "stepline";
    this.subscriptions = [
      session.onDidChange(() => this.show()),
      vscode.window.onDidChangeActiveTextEditor(() => this.show()),
      vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration("stepline.statusBar")) this.show(); }),
    ];
    this.show();
  }

  private show(): void {
    if (!vscode.workspace.getConfiguration("stepline").get<boolean>("statusBar.enable", true)) {
      this.item.hide();
      return;
    }
    this.set();
    this.item.show();
  }

  private set(): void {
    const item = this.item;
    item.backgroundColor = undefined;
    if (this.session.problem) {
      item.text = `$(error) ${vscode.l10n.t("stepline: no server")}`;
      item.tooltip = this.session.problem;
      item.command = "stepline.whyNoServer";
      item.backgroundColor = new vscode.ThemeColor("statusBarItem.errorBackground");
      return;
    }
    const folder = folderOf(vscode.window.activeTextEditor?.document.uri)?.uri;
    const status = this.session.status(folder);
    if (!this.session.running) {
      item.text = `$(sync~spin) ${vscode.l10n.t("stepline: starting")}`;
      item.tooltip = undefined;
      item.command = "stepline.showLog";
    } else if (status?.loading) {
      item.text = `$(sync~spin) ${vscode.l10n.t("stepline: loading trace")}`;
      item.tooltip = vscode.l10n.t("Click to stop loading.");
      item.command = { command: "stepline.unloadTrace", title: "", arguments: [{ folder: status.folder }] };
    } else if (!status?.trace) {
      item.text = `$(flame) ${vscode.l10n.t("stepline: no trace")}`;
      item.tooltip = vscode.l10n.t("Click to load or record a trace.");
      item.command = "stepline.runs.focus";
    } else {
      const parts = [status.step_us > 0 ? vscode.l10n.t("{0} a step", duration(status.step_us)) : "", status.class?.replaceAll("-", " ") ?? "", shortName(status.trace)];
      item.text = `${status.stale ? "$(warning)" : "$(flame)"} ${parts.filter(Boolean).join(" · ")}${status.stale ? ` ${vscode.l10n.t("(stale)")}` : ""}`;
      item.tooltip = this.tooltip(status.trace, status.steps, status.stale);
      item.command = { command: "stepline.openReport", title: "", arguments: [{ folder: status.folder }] };
    }
  }

  private tooltip(trace: string, steps: number, stale: boolean): vscode.MarkdownString {
    const text = new vscode.MarkdownString();
    text.appendText(vscode.l10n.t("Trace: {0}", trace) + "\n");
    text.appendText(vscode.l10n.t("Steps recorded: {0}", steps) + "\n");
    if (stale) text.appendText(vscode.l10n.t("A function has changed since the trace was recorded: its lines show no costs until a new one is loaded.") + "\n");
    text.appendText(vscode.l10n.t("Click to open the report."));
    return text;
  }

  dispose(): void {
    this.item.dispose();
    for (const each of this.subscriptions) each.dispose();
  }
}

/** A trace's name without its folders. */
function shortName(trace: string): string {
  return trace.split(", ").map((t) => t.replace(/\/$/, "")).map((t) => t.slice(t.lastIndexOf("/") + 1)).join(", ");
}
