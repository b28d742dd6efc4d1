// The runs found in the workspace: trace files under the usual names, those of one run's ranks together.
import * as vscode from "vscode";

export interface Run {
  folder: vscode.WorkspaceFolder;
  files: vscode.Uri[];
  bytes: number;
  /** When its newest file was written, in milliseconds since 1970. */
  written: number;
  /** As people read it: relative to the folder, ranks left out. */
  name: string;
}

const names = "**/{*trace.json,*trace.json.gz,*.sqlite}";
export const traceFiles = names;
const passedOver = "**/{node_modules,.*,venv,__pycache__,site-packages}/**";
const rankInName = /(rank|worker|proc|process|gpu|local_rank)([-_.=]?)\d+/i;
const mostFiles = 2000;

/** The runs of every folder, the newest first. */
export async function findRuns(): Promise<Run[]> {
  const runs = new Map<string, Run>();
  for (const folder of vscode.workspace.workspaceFolders ?? []) {
    const found = await vscode.workspace.findFiles(new vscode.RelativePattern(folder, names), new vscode.RelativePattern(folder, passedOver), mostFiles);
    for (const uri of found) {
      if (uri.path.endsWith(".callers.json.gz")) continue;
      let stat: vscode.FileStat;
      try {
        stat = await vscode.workspace.fs.stat(uri);
      } catch {
        continue; // gone since it was found
      }
      if (stat.size === 0) continue;
      const relative = uri.path.slice(folder.uri.path.length).replace(/^\//, "");
      const slash = relative.lastIndexOf("/") + 1;
      const file = relative.slice(slash);
      const key = `${folder.uri}\n${relative.slice(0, slash)}${file.replace(rankInName, "$1$2#")}`;
      const run = runs.get(key) ?? { folder, files: [], bytes: 0, written: 0, name: relative.slice(0, slash) + (rankInName.test(file) ? file.replace(rankInName, "$1$2*") : file) };
      run.files.push(uri);
      run.bytes += stat.size;
      run.written = Math.max(run.written, stat.mtime);
      if (run.files.length === 1) run.name = relative;
      else run.name = relative.slice(0, slash) + file.replace(rankInName, "$1$2*");
      runs.set(key, run);
    }
  }
  for (const run of runs.values()) run.files.sort((a, b) => a.path.localeCompare(b.path, undefined, { numeric: true }));
  return [...runs.values()].sort((a, b) => b.written - a.written || a.name.localeCompare(b.name));
}

/** Tells whether a status's trace, as the server names it, is this run. */
export function isLoaded(run: Run, trace: string | null | undefined): boolean {
  if (!trace) return false;
  return run.files.some((file) => {
    const relative = file.path.slice(run.folder.uri.path.length).replace(/^\//, "");
    return trace === relative || trace === file.fsPath || trace.startsWith(`${relative}, `) || trace.startsWith(`${relative} and `);
  });
}
