// Two runs compared: by the server, or by `stepline diff` where the server does not compare.
import { execFile } from "node:child_process";
import * as vscode from "vscode";
import { locateServer } from "./locate";
import type { Run } from "./runs";
import { messageOf, type Session } from "./session";

/** The comparison in Markdown; undefined when cancelled. It throws with one message. */
export async function compareRuns(context: vscode.ExtensionContext, session: Session, base: Run, changed: Run): Promise<string | undefined> {
  const paths = (run: Run) => run.files.map((f) => f.fsPath);
  return vscode.window.withProgress({ location: vscode.ProgressLocation.Notification, title: vscode.l10n.t("stepline: comparing {0} and {1}", base.name, changed.name), cancellable: true }, async (_, cancel) => {
    try {
      const answer = await session.execute<{ content?: string } | string | null>("stepline.compare", { folder: changed.folder.uri.toString(), base: paths(base), with: paths(changed), format: "markdown" });
      const content = typeof answer === "string" ? answer : answer?.content;
      if (content) return content;
    } catch {
      // An older server does not compare; the program does.
    }
    if (cancel.isCancellationRequested) return undefined;
    return diff(context, paths(base), paths(changed), changed.folder.uri.fsPath, cancel);
  });
}

function diff(context: vscode.ExtensionContext, base: string[], changed: string[], root: string, cancel: vscode.CancellationToken): Promise<string | undefined> {
  const found = locateServer(context);
  if ("problem" in found) return Promise.reject(new Error(found.problem));
  const stop = new AbortController();
  const listening = cancel.onCancellationRequested(() => stop.abort());
  const parameters = ["diff", ...base, ...changed.flatMap((c) => ["--with", c]), "--root", root, "--format", "markdown"];
  return new Promise((resolve, reject) => {
    execFile(found.program, parameters, { cwd: root, signal: stop.signal, maxBuffer: 64 << 20 }, (error, out, err) => {
      listening.dispose();
      if (cancel.isCancellationRequested) resolve(undefined);
      else if (out.trim() !== "") resolve(out);
      else reject(new Error(err.trim().split("\n").pop() || (error ? messageOf(error) : vscode.l10n.t("stepline diff printed nothing"))));
    });
  });
}
