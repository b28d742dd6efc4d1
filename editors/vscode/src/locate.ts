// Finds the server: what the user set, else the binary that came with the extension, else the one on PATH.
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import * as vscode from "vscode";

export type Located = { program: string; origin: "setting" | "bundled" | "PATH" } | { problem: string };

const executable = process.platform === "win32" ? "stepline.exe" : "stepline";

export function locateServer(context: vscode.ExtensionContext): Located {
  const set = vscode.workspace.getConfiguration("stepline").get<string>("server.path", "").trim();
  if (set !== "") {
    const program = expand(set);
    const problem = whyNotRunnable(program);
    // A wrong setting is not passed over: the user would look at another server than the one they named.
    return problem ? { problem: vscode.l10n.t("The setting `stepline.server.path` names {0}: {1}.", program, problem) } : { program, origin: "setting" };
  }
  const bundled = vscode.Uri.joinPath(context.extensionUri, "bin", executable).fsPath;
  if (fs.existsSync(bundled)) {
    makeRunnable(bundled); // some ways of unpacking an extension lose the mode
    if (!whyNotRunnable(bundled)) return { program: bundled, origin: "bundled" };
  }
  for (const folder of (process.env.PATH ?? "").split(path.delimiter)) {
    // A relative or empty entry would run a program out of the folder that happens to be open.
    if (!path.isAbsolute(folder)) continue;
    const program = path.join(folder, executable);
    if (!whyNotRunnable(program)) return { program, origin: "PATH" };
  }
  return { problem: vscode.l10n.t("`stepline` is not on PATH, and this build of the extension brings none for {0}. Install stepline (`make install` in its repository), or name the program in the setting `stepline.server.path`.", `${process.platform}-${process.arch}`) };
}

function expand(set: string): string {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  let program = set.replaceAll("${workspaceFolder}", folder).replaceAll("${userHome}", os.homedir());
  if (program === "~" || program.startsWith("~/")) program = os.homedir() + program.slice(1);
  return path.isAbsolute(program) || folder === "" ? program : path.resolve(folder, program);
}

function whyNotRunnable(program: string): string | undefined {
  try {
    if (!fs.statSync(program).isFile()) return vscode.l10n.t("it is no file");
    fs.accessSync(program, fs.constants.X_OK);
    return undefined;
  } catch (error) {
    switch ((error as NodeJS.ErrnoException).code) {
      case "ENOENT":
      case "ENOTDIR":
        return vscode.l10n.t("there is no such file");
      case "EACCES":
        return vscode.l10n.t("it may not be run");
    }
    return String(error);
  }
}

function makeRunnable(program: string): void {
  try {
    fs.accessSync(program, fs.constants.X_OK);
  } catch {
    try {
      fs.chmodSync(program, 0o755);
    } catch {
      // It stays as it is, and the next place is tried.
    }
  }
}
