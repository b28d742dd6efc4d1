// Heat: bars in the gutter and marks in the overview ruler. A bar's height says the same as its colour, so that nobody has
// to tell colours apart; the colours rise in lightness alone as well (light to dark on light themes, dark to light on dark).
import * as vscode from "vscode";
import type { CostRow } from "./protocol";
import type { Session } from "./session";

export const levels = 5;
/** From which heat on a line is in a level; under the first there is no mark. */
const from = [0.002, 0.05, 0.2, 0.45, 0.75];

/** The level of a heat (1–5), 0 for none. */
export function levelOf(heat: number): number {
  let level = 0;
  while (level < levels && heat >= from[level]) level++;
  return level;
}

export class Heat implements vscode.Disposable {
  private readonly gutter: vscode.TextEditorDecorationType[] = [];
  private readonly ruler: vscode.TextEditorDecorationType[] = [];
  private readonly subscriptions: vscode.Disposable[] = [];
  private readonly waiting = new Map<vscode.TextDocument, NodeJS.Timeout>();
  /** What was drawn last, by document: for the side view's icons and the tests. */
  private readonly drawn = new Map<string, Map<number, number>>();

  constructor(private readonly session: Session, context: vscode.ExtensionContext) {
    for (let level = 1; level <= levels; level++) {
      const icon = (theme: string) => vscode.Uri.joinPath(context.extensionUri, "media", `heat${level}-${theme}.svg`);
      this.gutter.push(vscode.window.createTextEditorDecorationType({
        light: { gutterIconPath: icon("light") }, dark: { gutterIconPath: icon("dark") }, gutterIconSize: "contain",
      }));
      this.ruler.push(vscode.window.createTextEditorDecorationType({
        overviewRulerColor: new vscode.ThemeColor(`stepline.heat${level}`), overviewRulerLane: vscode.OverviewRulerLane.Left,
      }));
    }
    this.subscriptions.push(
      session.onDidChange(() => this.drawAll()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawAll()),
      vscode.workspace.onDidChangeTextDocument((e) => { if (e.contentChanges.length > 0) this.drawSoon(e.document); }),
      vscode.workspace.onDidCloseTextDocument((d) => this.drawn.delete(d.uri.toString())),
      vscode.workspace.onDidChangeConfiguration((e) => { if (e.affectsConfiguration("stepline.heat")) this.drawAll(); }),
    );
    this.drawAll();
  }

  /** The level of each marked line (from 1) of a document, as drawn last. */
  levelsOf(uri: vscode.Uri): ReadonlyMap<number, number> {
    return this.drawn.get(uri.toString()) ?? new Map();
  }

  private drawAll(): void {
    const documents = new Set(vscode.window.visibleTextEditors.map((e) => e.document));
    for (const document of documents) this.drawSoon(document);
  }

  private drawSoon(document: vscode.TextDocument): void {
    if (document.languageId !== "python") return;
    clearTimeout(this.waiting.get(document));
    this.waiting.set(document, setTimeout(() => {
      this.waiting.delete(document);
      void this.draw(document);
    }, 150));
  }

  private async draw(document: vscode.TextDocument): Promise<void> {
    const on = vscode.workspace.getConfiguration("stepline", document.uri).get<boolean>("heat.enable", true);
    const version = document.version;
    let rows: CostRow[] = [];
    try {
      if (on) rows = await this.session.lineCosts(document);
    } catch {
      return; // the server went, or the text changed: the next draw shows what holds then
    }
    if (document.version !== version || document.isClosed) return;
    const ranges: vscode.Range[][] = Array.from({ length: levels }, () => []);
    const drawn = new Map<number, number>();
    for (const row of rows) {
      const level = row.stale || row.confidence === "ambiguous" ? 0 : levelOf(row.heat);
      if (level === 0 || row.line > document.lineCount) continue;
      ranges[level - 1].push(document.lineAt(row.line - 1).range);
      drawn.set(row.line, level);
    }
    this.drawn.set(document.uri.toString(), drawn);
    const ruler = vscode.workspace.getConfiguration("stepline").get<boolean>("heat.overviewRuler", true);
    for (const editor of vscode.window.visibleTextEditors) {
      if (editor.document !== document) continue;
      for (let i = 0; i < levels; i++) {
        editor.setDecorations(this.gutter[i], ranges[i]);
        editor.setDecorations(this.ruler[i], ruler ? ranges[i] : []);
      }
    }
  }

  dispose(): void {
    for (const timer of this.waiting.values()) clearTimeout(timer);
    for (const each of [...this.gutter, ...this.ruler, ...this.subscriptions]) each.dispose();
  }
}
