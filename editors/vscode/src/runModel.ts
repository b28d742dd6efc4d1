// What the side view shows of the loaded run: the report as data, fetched when somebody looks and kept until the run changes.
import * as vscode from "vscode";
import { folderOf } from "./places";
import type { Report } from "./protocol";
import { messageOf, type Session } from "./session";

export class RunModel implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when the run or what is known of it has changed. */
  readonly onDidChange = this.changed.event;
  private readonly answered = new vscode.EventEmitter<void>();
  /** Fires when the server has given a report, or has said why it gives none. */
  readonly onDidAnswer = this.answered.event;
  private readonly subscriptions: vscode.Disposable[];
  private fetched: { key: string; report: Promise<Report | undefined> } | undefined;
  private shown = "";
  private loads = 0;
  private wasLoading = false;
  /** Why there is no report although a trace is loaded. */
  problem: string | undefined;

  constructor(private readonly session: Session) {
    this.subscriptions = [
      session.onDidChange(() => this.look()),
      vscode.window.onDidChangeActiveTextEditor(() => this.look()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.look()),
    ];
  }

  /** The folder whose run is shown: the active document's, else the first that has a trace. */
  get folder(): vscode.WorkspaceFolder | undefined {
    const active = vscode.window.activeTextEditor && vscode.workspace.getWorkspaceFolder(vscode.window.activeTextEditor.document.uri);
    return active ?? vscode.workspace.workspaceFolders?.find((f) => this.session.status(f.uri)?.trace) ?? folderOf(undefined);
  }

  get hasTrace(): boolean {
    return Boolean(this.folder && this.session.status(this.folder.uri)?.trace);
  }

  /** The report on the shown run, undefined where no trace is loaded or the server cannot give one. */
  report(): Promise<Report | undefined> {
    const key = this.key();
    if (this.fetched?.key !== key) this.fetched = { key, report: this.fetch() };
    return this.fetched.report;
  }

  private async fetch(): Promise<Report | undefined> {
    const folder = this.folder;
    if (!folder || !this.hasTrace) return undefined;
    try {
      const report = await this.session.reportData(folder.uri);
      this.problem = undefined;
      return report;
    } catch (error) {
      this.problem = messageOf(error);
      return undefined;
    } finally {
      this.answered.fire();
    }
  }

  private key(): string {
    const folder = this.folder;
    const status = folder && this.session.status(folder.uri);
    return JSON.stringify([folder?.uri.toString(), status?.trace, status?.stale, this.loads, this.session.running]);
  }

  private look(): void {
    const status = this.folder && this.session.status(this.folder.uri);
    // The same name may be another run: a trace that was written anew.
    if (this.wasLoading && !status?.loading) this.loads++;
    this.wasLoading = Boolean(status?.loading);
    void vscode.commands.executeCommand("setContext", "stepline.hasTrace", this.session.allStatuses().some((s) => s.trace));
    void vscode.commands.executeCommand("setContext", "stepline.loading", this.session.allStatuses().some((s) => s.loading));
    if (this.wasLoading) return;
    const key = this.key();
    if (key === this.shown) return;
    this.shown = key;
    this.changed.fire();
  }

  dispose(): void {
    this.changed.dispose();
    this.answered.dispose();
    for (const each of this.subscriptions) each.dispose();
  }
}
