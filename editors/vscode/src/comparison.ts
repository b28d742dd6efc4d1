// Two runs compared by the server, which loads both beside the one that is shown.
import * as vscode from "vscode";
import type { Run } from "./runs";
import type { Session } from "./session";

/** The comparison in Markdown; undefined when cancelled. It throws with the server's message. */
export async function compareRuns(session: Session, base: Run, changed: Run): Promise<string | undefined> {
  const paths = (run: Run) => run.files.map((f) => f.fsPath);
  const title = vscode.l10n.t("stepline: comparing {0} and {1}", base.name, changed.name);
  const answer = await session.executeWithProgress<{ content: string }>(title, "stepline.compare", { base: paths(base), with: paths(changed), folder: changed.folder.uri.toString() });
  return answer?.content;
}
