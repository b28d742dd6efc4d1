// The server's life: found, started, restarted, stopped, and why not; and the requests of the other parts.
import * as vscode from "vscode";
import {
  CloseAction, DidChangeWatchedFilesNotification, type DynamicFeature, ErrorAction, ExecuteCommandRequest, FileChangeType, LanguageClient, type LanguageClientOptions,
  type ServerOptions, type StaticFeature, State, Trace, WorkDoneProgress,
} from "vscode-languageclient/node";
import { hoverWithLinks } from "./hover";
import { locateServer } from "./locate";
import { lineCostsRequest, reportRequest, statusNotification, type CostRow, type Report, type ReportFormat, type Status, type TraceSummary } from "./protocol";
import { serverSettings } from "./settings";

/** A client that leaves commands to the extension: they are there before the server runs, and ask for what is missing. */
class SteplineClient extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if ("registrationType" in feature && feature.registrationType.method === ExecuteCommandRequest.method) return;
    super.registerFeature(feature);
  }
}

/** How often the server may end by itself within three minutes before it stays down. */
const restarts = 4;
const restartWindowMs = 3 * 60_000;

export class Session implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private readonly log = vscode.window.createOutputChannel("stepline", { log: true });
  private readonly statuses = new Map<string, Status>();
  /** Traces the user loaded by hand, by folder: they are loaded again into a server that was started anew. */
  private readonly chosen = new Map<string, string[]>();
  private ended: number[] = [];
  private starting: Promise<void> = Promise.resolve();
  private why: string | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  /** Fires when a status, the server's state or the reason it is down has changed. */
  readonly onDidChange = this.changed.event;

  constructor(private readonly context: vscode.ExtensionContext) {
    context.subscriptions.push(
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.restart()),
      vscode.workspace.onDidChangeConfiguration((e) => {
        if (e.affectsConfiguration("stepline.server.path") || e.affectsConfiguration("stepline.server.arguments")) void this.restart();
        else if (e.affectsConfiguration("stepline.trace.server")) void this.applyTracing();
      }),
    );
  }

  get running(): boolean {
    return this.client?.state === State.Running;
  }

  /** Why the server is not running, undefined while it runs or starts. */
  get problem(): string | undefined {
    return this.why;
  }

  /** The status of a folder; without one, of the first folder that has a trace or loads one. */
  status(folder: vscode.Uri | undefined): Status | undefined {
    const own = folder && this.statuses.get(folder.toString());
    if (own || folder) return own;
    return [...this.statuses.values()].find((s) => s.trace || s.loading);
  }

  allStatuses(): readonly Status[] {
    return [...this.statuses.values()];
  }

  start(): Promise<void> {
    return (this.starting = this.starting.then(() => this.startNow()));
  }

  restart(): Promise<void> {
    this.ended = [];
    return (this.starting = this.starting.then(async () => {
      await this.stopNow();
      await this.startNow();
    }));
  }

  private async startNow(): Promise<void> {
    if (this.client) return;
    const found = locateServer(this.context);
    if ("problem" in found) return this.fail(found.problem);
    this.log.info(`server: ${found.program} (${found.origin})`);
    this.setProblem(undefined);
    const client = this.newClient(found.program);
    this.client = client;
    try {
      await client.start();
      await this.applyTracing();
    } catch (error) {
      this.client = undefined;
      await client.dispose().catch(() => undefined);
      this.fail(vscode.l10n.t("{0} could not be started: {1}", found.program, messageOf(error)));
    }
  }

  private newClient(program: string): LanguageClient {
    const configuration = vscode.workspace.getConfiguration("stepline");
    const server: ServerOptions = { command: program, args: ["lsp", ...configuration.get<string[]>("server.arguments", [])] };
    const options: LanguageClientOptions = {
      documentSelector: [{ language: "python", scheme: "file" }, { language: "python", scheme: "untitled" }, { language: "python", notebook: "*" }],
      outputChannel: this.log,
      initializationOptions: { untrusted: !vscode.workspace.isTrusted },
      diagnosticPullOptions: { onChange: true, onSave: true, onTabs: true },
      errorHandler: { error: () => ({ action: ErrorAction.Continue, handled: true }), closed: () => this.serverEnded() },
      initializationFailedHandler: () => false, // startNow says it
      markdown: { supportHtml: false, isTrusted: false },
      middleware: {
        provideHover: async (document, position, token, next) =>
          hoverWithLinks(await next(document, position, token), document, position, this.status(folderUri(document.uri))),
        workspace: {
          configuration: (params) => params.items.map((item) => (item.section === "stepline" ? serverSettings(item.scopeUri ? vscode.Uri.parse(item.scopeUri) : undefined) : null)),
          // The server asks for what it needs when told that something has changed.
          didChangeConfiguration: async () => void this.client?.sendNotification("workspace/didChangeConfiguration", { settings: null }),
        },
      },
    };
    const client = new SteplineClient("stepline", "stepline", server, options);
    client.onNotification(statusNotification, (status) => this.tookStatus(status));
    client.onDidChangeState(({ newState }) => {
      if (newState !== State.Running) this.statuses.clear();
      else void this.loadChosenAgain();
      this.changed.fire();
    });
    return client;
  }

  private tookStatus(status: Status): void {
    this.statuses.set(status.folder ?? "", status);
    this.changed.fire();
  }

  private serverEnded() {
    const now = Date.now();
    this.ended = [...this.ended.filter((t) => now - t < restartWindowMs), now];
    if (this.ended.length <= restarts) {
      this.log.warn("the server ended by itself and is started again");
      return { action: CloseAction.Restart, handled: true };
    }
    const ended = this.client;
    this.client = undefined;
    void ended?.dispose().catch(() => undefined);
    this.fail(vscode.l10n.t("The server has ended by itself {0} times within three minutes and stays down. Its log says more.", this.ended.length));
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  private fail(problem: string): void {
    this.log.error(problem);
    this.setProblem(problem);
    void this.showProblem();
  }

  private setProblem(problem: string | undefined): void {
    this.why = problem;
    void vscode.commands.executeCommand("setContext", "stepline.noServer", problem !== undefined);
    this.changed.fire();
  }

  /** Says why the server is not running, with what can be done. */
  async showProblem(): Promise<void> {
    if (!this.why) {
      void vscode.window.showInformationMessage(vscode.l10n.t("The stepline server is running."));
      return;
    }
    const settings = vscode.l10n.t("Open Settings");
    const again = vscode.l10n.t("Try Again");
    const log = vscode.l10n.t("Show Log");
    const answer = await vscode.window.showErrorMessage(vscode.l10n.t("stepline: {0}", this.why), settings, again, log);
    if (answer === settings) await vscode.commands.executeCommand("workbench.action.openSettings", "stepline.server.path");
    if (answer === again) await this.restart();
    if (answer === log) this.showLog();
  }

  showLog(): void {
    this.log.show(true);
  }

  private async applyTracing(): Promise<void> {
    const level = vscode.workspace.getConfiguration("stepline").get<string>("trace.server", "off");
    await this.client?.setTrace(Trace.fromString(level));
  }

  /** The costs of a document's lines; none while there is no server or no trace. */
  async lineCosts(document: vscode.TextDocument, token?: vscode.CancellationToken): Promise<CostRow[]> {
    if (!this.client || !this.running) return [];
    const answer = await this.client.sendRequest(lineCostsRequest, { textDocument: { uri: this.client.code2ProtocolConverter.asUri(document.uri) } }, token);
    return answer?.lines ?? [];
  }

  /** The report on a folder's trace; it throws with the server's message. */
  async report(format: ReportFormat, folder: vscode.Uri | undefined): Promise<string> {
    const answer = await this.runningClient().sendRequest(reportRequest, { format, folder: folder?.toString() });
    return answer.content;
  }

  async reportData(folder: vscode.Uri | undefined): Promise<Report> {
    return JSON.parse(await this.report("json", folder)) as Report;
  }

  /** Runs one of the server's commands; it throws with the server's message. */
  execute<T>(command: string, ...args: unknown[]): Promise<T> {
    return this.runningClient().sendRequest(ExecuteCommandRequest.type, { command, arguments: args }) as Promise<T>;
  }

  /** Loads traces into a folder, with a progress that can be cancelled; undefined when it was. */
  async loadTraces(paths: string[], folder: vscode.Uri | undefined): Promise<TraceSummary | undefined> {
    const answer = await this.executeWithProgress<{ trace?: TraceSummary }>(vscode.l10n.t("stepline: loading"), "stepline.loadTrace", { traces: paths, folder: folder?.toString() });
    if (!answer) return undefined;
    this.chosen.set(folder?.toString() ?? "", paths);
    return answer.trace;
  }

  /** Runs one of the server's long commands under a progress that can be cancelled; undefined when it was. */
  async executeWithProgress<T>(title: string, command: string, argument: unknown): Promise<T | undefined> {
    const client = this.runningClient();
    return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title, cancellable: true }, async (progress, cancel) => {
      const workDoneToken = `stepline-${Date.now()}-${Math.random()}`;
      let told = 0;
      const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        if (value.kind !== "report") return;
        const percent = value.percentage ?? told;
        progress.report({ message: value.message, increment: Math.max(0, percent - told) });
        told = Math.max(told, percent);
      });
      try {
        return await (client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument], workDoneToken }, cancel) as Promise<T>);
      } catch (error) {
        if (cancel.isCancellationRequested) return undefined;
        throw error;
      } finally {
        listening.dispose();
      }
    });
  }

  /** Tells the server of files on disk that a watcher may have missed. */
  async filesWritten(files: vscode.Uri[]): Promise<void> {
    const client = this.runningClient();
    await client.sendNotification(DidChangeWatchedFilesNotification.type, { changes: files.map((f) => ({ uri: client.code2ProtocolConverter.asUri(f), type: FileChangeType.Created })) });
  }

  /** Tells whether a folder's trace was chosen by hand, so that the server does not replace it by a newer one. */
  hasChosen(folder: vscode.Uri | undefined): boolean {
    return this.chosen.has(folder?.toString() ?? "");
  }

  async unloadTrace(folder: vscode.Uri | undefined): Promise<void> {
    this.chosen.delete(folder?.toString() ?? "");
    await this.execute("stepline.unloadTrace", ...(folder ? [folder.toString()] : []));
  }

  private async loadChosenAgain(): Promise<void> {
    for (const [folder, traces] of this.chosen) {
      try {
        await this.execute("stepline.loadTrace", { traces, ...(folder ? { folder } : {}) });
      } catch (error) {
        this.log.warn(`a trace could not be loaded again: ${messageOf(error)}`);
      }
    }
  }

  private runningClient(): LanguageClient {
    if (!this.client || !this.running) throw new Error(this.why ?? vscode.l10n.t("The server is not running yet."));
    return this.client;
  }

  private async stopNow(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.statuses.clear();
    await client?.dispose().catch((error) => this.log.warn(`stopping the server: ${messageOf(error)}`));
    this.changed.fire();
  }

  async dispose(): Promise<void> {
    await this.stopNow();
    this.changed.dispose();
    this.log.dispose();
  }
}

function folderUri(uri: vscode.Uri): vscode.Uri | undefined {
  return vscode.workspace.getWorkspaceFolder(uri)?.uri;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
