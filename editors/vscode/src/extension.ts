// stepline in VS Code: starts the server and hangs the parts of the extension on it.
import * as vscode from "vscode";
import { registerCommands } from "./commands";
import { compareRuns } from "./comparison";
import { Heat } from "./heat";
import { Pages } from "./pages";
import { Recorder, recordLine } from "./record";
import { guarded, ReportPanel } from "./reportPanel";
import type { Run } from "./runs";
import { RunModel } from "./runModel";
import { Session } from "./session";
import { FindingsList, GapsList, LinesList, RunsList } from "./sideView";
import { StatusBar } from "./statusBar";

/** What the tests look at; nothing for other extensions. */
export interface Inside {
  session: Session;
  heat: Heat;
  statusBar: StatusBar;
  model: RunModel;
  report: ReportPanel;
  recorder: Recorder;
  runs: RunsList;
  lines: LinesList;
  findings: FindingsList;
  gaps: GapsList;
  pages: Pages;
  recordLine: typeof recordLine;
  guarded: typeof guarded;
  compare: (base: Run, changed: Run) => Promise<string | undefined>;
}

export function activate(context: vscode.ExtensionContext): Inside {
  const session = new Session(context);
  const heat = new Heat(session, context);
  const statusBar = new StatusBar(session);
  const model = new RunModel(session);
  const report = new ReportPanel(session);
  const recorder = new Recorder(context, session);
  const pages = new Pages();
  const runs = new RunsList(session);
  const lines = new LinesList(model, context);
  const findings = new FindingsList(model);
  const gaps = new GapsList(model);
  const linesView = vscode.window.createTreeView("stepline.lines", { treeDataProvider: lines });
  const views = [
    vscode.window.createTreeView("stepline.runs", { treeDataProvider: runs }), linesView,
    vscode.window.createTreeView("stepline.findings", { treeDataProvider: findings }),
    vscode.window.createTreeView("stepline.gaps", { treeDataProvider: gaps }),
  ];
  context.subscriptions.push(model.onDidAnswer(() => (linesView.message = model.problem)), session, heat, statusBar, model, report, recorder, pages, runs, lines, findings, gaps, ...views);
  registerCommands({ context, session, report, recorder, pages, refresh: () => runs.refresh() });
  void session.start();
  return { session, heat, statusBar, model, report, recorder, runs, lines, findings, gaps, pages, recordLine, guarded, compare: (base, changed) => compareRuns(session, base, changed) };
}
