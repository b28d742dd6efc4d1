// Recording: the user's command runs in a terminal under `stepline record`, into a folder of its own.
import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as vscode from "vscode";
import { locateServer } from "./locate";
import { folderOf } from "./places";
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
    const waiting = this.awaitTrace(folder, output);
    const closing = vscode.window.onDidCloseTerminal((closed) => {
      if (closed !== terminal) return;
      closing.dispose();
      setTimeout(() => waiting.dispose(), 5000); // what was written last is still taken
    });
    this.subscriptions.push(closing);
  }

  /**
   * Has the trace loaded when it is there. The folder is read again and again: file watchers miss what is written into folders
   * that were made in one go. It goes on until the answer is disposed, since ranks write at different times.
   */
  awaitTrace(folder: vscode.WorkspaceFolder, output: string): vscode.Disposable {
    const directory = path.resolve(folder.uri.fsPath, output);
    let seen = "";
    let told = "";
    const look = async () => {
      const files = await tracesIn(directory);
      const now = JSON.stringify(files);
      // Twice the same: it is no longer being written.
      if (files.length > 0 && now === seen && now !== told) {
        told = now;
        await this.load(folder, directory, files.map(([file]) => vscode.Uri.file(file)));
      }
      seen = now;
    };
    const timer = setInterval(() => void look(), 1500);
    const waiting = { dispose: () => clearInterval(timer) };
    this.subscriptions.push(waiting);
    return waiting;
  }

  private async load(folder: vscode.WorkspaceFolder, directory: string, files: vscode.Uri[]): Promise<void> {
    const inside = vscode.workspace.getWorkspaceFolder(vscode.Uri.file(directory)) === folder;
    // A trace chosen by hand is not replaced by the server when a newer one comes; here the user has just asked for the new one.
    if (inside && !this.session.hasChosen(folder.uri)) {
      await this.session.filesWritten(files);
      return;
    }
    try {
      await this.session.loadTraces([directory], folder.uri);
    } catch (error) {
      void vscode.window.showErrorMessage(vscode.l10n.t("stepline: {0}", messageOf(error)));
    }
  }

  dispose(): void {
    for (const each of this.subscriptions) each.dispose();
  }
}

/** The traces in a folder, each with its size and time of writing. */
async function tracesIn(directory: string): Promise<[file: string, size: number, written: number][]> {
  const names = await fs.readdir(directory).catch(() => [] as string[]);
  const found: [string, number, number][] = [];
  for (const name of names.sort()) {
    if (!/trace\.json(\.gz)?$/.test(name)) continue;
    const stat = await fs.stat(path.join(directory, name)).catch(() => undefined);
    if (stat?.isFile() && stat.size > 0) found.push([path.join(directory, name), stat.size, stat.mtimeMs]);
  }
  return found;
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
