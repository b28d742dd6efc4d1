// Recording: the user's command runs in a terminal under `stepline record`, into a folder of its own.
import * as path from "node:path";
import * as vscode from "vscode";
import { locateServer } from "./locate";
import { folderOf } from "./places";
import { traceFiles } from "./runs";
import { messageOf, type Session } from "./session";

export class Recorder implements vscode.Disposable {
  private readonly subscriptions: vscode.Disposable[] = [];
  /** The command lines sent to terminals, the newest last; for tests. */
  readonly sent: string[] = [];

  constructor(private readonly context: vscode.ExtensionContext, private readonly session: Session) {}

  /** Asks for the command (unless given) and runs it under the recorder. */
  async record(given?: string): Promise<void> {
    if (!vscode.workspace.isTrusted) {
      void vscode.window.showWarningMessage(vscode.l10n.t("Recording runs a program of this folder; trust the folder first."));
      return;
    }
    const document = vscode.window.activeTextEditor?.document;
    const folder = folderOf(document?.uri);
    if (!folder) {
      void vscode.window.showWarningMessage(vscode.l10n.t("Open the folder of the training script first."));
      return;
    }
    const found = locateServer(this.context);
    if ("problem" in found) {
      void vscode.window.showErrorMessage(vscode.l10n.t("stepline: {0}", found.problem));
      return;
    }
    const configuration = vscode.workspace.getConfiguration("stepline", folder.uri);
    const relative = document?.languageId === "python" && document.uri.scheme === "file" ? path.relative(folder.uri.fsPath, document.uri.fsPath) : "train.py";
    const proposed = configuration.get<string>("record.command", "python ${relativeFile}").replaceAll("${relativeFile}", relative.includes(" ") ? `"${relative}"` : relative);
    const output = path.join(configuration.get<string>("record.output", "runs"), timeStamp(new Date()));
    const command = given ?? await vscode.window.showInputBox({
      title: vscode.l10n.t("Record a Trace"), value: proposed, ignoreFocusOut: true,
      prompt: vscode.l10n.t("The command that trains, as you run it in a terminal of {0}. The trace goes to {1} and is loaded from there.", folder.name, output),
      validateInput: (text) => (text.trim() === "" ? vscode.l10n.t("Give a command, such as: python train.py") : undefined),
    });
    if (!command) return;
    const line = recordLine(found.program, configuration.get<number>("record.steps", 5), output, command, vscode.env.shell);
    const terminal = vscode.window.createTerminal({ name: vscode.l10n.t("stepline record"), cwd: folder.uri, iconPath: new vscode.ThemeIcon("record") });
    terminal.show(true);
    terminal.sendText(line);
    this.sent.push(line);
    this.awaitTrace(folder, output);
  }

  /** A chosen trace is not replaced by the server when a new one comes; the user has just asked for the new one. */
  private awaitTrace(folder: vscode.WorkspaceFolder, output: string): void {
    if (!this.session.hasChosen(folder.uri) || path.isAbsolute(output)) return;
    const watcher = vscode.workspace.createFileSystemWatcher(new vscode.RelativePattern(vscode.Uri.joinPath(folder.uri, output), traceFiles));
    let waiting: NodeJS.Timeout | undefined;
    const written = () => {
      clearTimeout(waiting);
      waiting = setTimeout(async () => {
        watcher.dispose();
        try {
          await this.session.loadTraces([vscode.Uri.joinPath(folder.uri, output).fsPath], folder.uri);
        } catch (error) {
          void vscode.window.showErrorMessage(vscode.l10n.t("stepline: {0}", messageOf(error)));
        }
      }, 2000);
    };
    watcher.onDidCreate(written);
    watcher.onDidChange(written);
    this.subscriptions.push(watcher, { dispose: () => clearTimeout(waiting) });
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }
}

/** The line for the terminal. The user's command stays as written: the shell reads it as it would without us. */
export function recordLine(program: string, steps: number, output: string, command: string, shell: string): string {
  const powershell = /(powershell|pwsh)(\.exe)?$/i.test(shell);
  const cmd = /cmd\.exe$/i.test(shell);
  const quoted = (text: string) => {
    if (/^[\w@%+=:,./\\-]+$/.test(text) && (cmd || powershell || !text.includes("\\"))) return text;
    if (cmd) return `"${text}"`;
    return powershell ? `'${text.replaceAll("'", "''")}'` : `'${text.replaceAll("'", "'\\''")}'`;
  };
  const call = quoted(program);
  return `${powershell && call !== program ? "& " : ""}${call} record --steps ${steps} --output ${quoted(output)} -- ${command.trim()}`;
}

/** "2026-11-29T23-40-12": sorts by time and is a file name everywhere. */
export function timeStamp(now: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${now.getFullYear()}-${two(now.getMonth() + 1)}-${two(now.getDate())}T${two(now.getHours())}-${two(now.getMinutes())}-${two(now.getSeconds())}`;
}
