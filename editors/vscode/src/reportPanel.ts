// The report and comparisons in a panel. The page is the server's; only its own script (named by hash in its policy) and
// ours run, nothing is fetched, and its places lead to lines.
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import { fileUri, reveal } from "./places";
import type { Session } from "./session";
import { messageOf } from "./session";

export class ReportPanel implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private folder: vscode.WorkspaceFolder | undefined;
  private fetching = 0;
  private readonly subscriptions: vscode.Disposable[] = [];
  /** The page as shown, for tests. */
  get html(): string | undefined {
    return this.panel?.webview.html;
  }

  constructor(private readonly session: Session) {
    let shown = "";
    this.subscriptions.push(session.onDidChange(() => {
      // An open report follows its run.
      const status = this.panel && session.status(this.folder?.uri);
      if (!status?.trace || status.loading) {
        if (status?.loading) shown = "";
        return;
      }
      const now = `${status.folder}\n${status.trace}`;
      if (shown === "" && this.panel) void this.fill(false);
      shown = now;
    }));
  }

  async open(folder: vscode.WorkspaceFolder | undefined): Promise<void> {
    this.folder = folder;
    await this.fill(true);
  }

  private async fill(show: boolean): Promise<void> {
    const mine = ++this.fetching;
    if (this.folder && this.session.running && !this.session.status(this.folder.uri)?.trace) {
      if (show) void this.refused(vscode.l10n.t("no trace is loaded in {0}", this.folder.name));
      return;
    }
    let html: string;
    try {
      html = await vscode.window.withProgress({ location: vscode.ProgressLocation.Window, title: vscode.l10n.t("stepline: report") }, () => this.session.report("html", this.folder?.uri));
    } catch (error) {
      if (show) void this.refused(messageOf(error));
      return;
    }
    if (mine !== this.fetching) return;
    if (!/<html[\s>]/i.test(html)) {
      if (show) void vscode.window.showWarningMessage(vscode.l10n.t("This stepline server gives no report as a page. Use the stepline that came with the extension, or a newer one."));
      return;
    }
    const panel = this.shownPanel(show);
    panel.title = vscode.l10n.t("stepline report");
    panel.webview.html = guarded(html, panel.webview);
  }

  private shownPanel(show: boolean): vscode.WebviewPanel {
    if (!this.panel) {
      this.panel = vscode.window.createWebviewPanel("stepline.report", vscode.l10n.t("stepline report"), { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true }, {
        enableScripts: true, enableFindWidget: true, retainContextWhenHidden: false, localResourceRoots: [],
      });
      this.panel.onDidDispose(() => (this.panel = undefined));
      this.panel.webview.onDidReceiveMessage((message) => this.clicked(message));
    } else if (show) {
      this.panel.reveal(undefined, true);
    }
    return this.panel;
  }

  private async refused(message: string): Promise<void> {
    const load = vscode.l10n.t("Load Trace");
    const record = vscode.l10n.t("Record a Trace");
    const noTrace = this.session.running && !this.session.status(this.folder?.uri)?.trace;
    const answer = await vscode.window.showInformationMessage(vscode.l10n.t("No report: {0}", message), ...(noTrace ? [load, record] : []));
    if (answer === load) await vscode.commands.executeCommand("stepline.loadTrace");
    if (answer === record) await vscode.commands.executeCommand("stepline.record");
  }

  /** A link was followed. What comes from the page is taken as a stranger's. */
  private async clicked(message: unknown): Promise<void> {
    const place = message as { file?: unknown; line?: unknown } | null;
    if (typeof place?.file !== "string" || place.file === "") return;
    const line = typeof place.line === "number" && Number.isInteger(place.line) && place.line > 0 ? place.line : 1;
    const uri = fileUri(place.file, this.folder);
    if (uri) await reveal(uri, line, true);
  }

  dispose(): void {
    this.panel?.dispose();
    for (const each of this.subscriptions) each.dispose();
  }
}

/** The page under a policy of ours: its own script by the hash its policy names, ours by a nonce, and nothing else. */
export function guarded(html: string, webview: Pick<vscode.Webview, "cspSource">): string {
  const nonce = randomBytes(18).toString("base64");
  const meta = /<meta[^>]*http-equiv=["']?Content-Security-Policy["']?[^>]*>/gi;
  const own = html.match(meta)?.join(" ") ?? "";
  const hashes = own.replaceAll("&#43;", "+").match(/'sha256-[A-Za-z0-9+/]+=*'/g) ?? [];
  const policy = `default-src 'none'; style-src ${webview.cspSource} 'unsafe-inline'; img-src data:; font-src ${webview.cspSource}; script-src ${hashes.join(" ")} 'nonce-${nonce}'; base-uri 'none'; form-action 'none'`;
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}">`;
  const tail = `<style>${themed}</style><script nonce="${nonce}">${follow}</script>`;
  let page = html.replace(meta, "");
  page = /<head[^>]*>/i.test(page) ? page.replace(/<head[^>]*>/i, (tag) => tag + head) : page.replace(/<html[^>]*>/i, (tag) => `${tag}<head>${head}</head>`);
  const end = page.toLowerCase().lastIndexOf("</body>");
  return end < 0 ? page + tail : page.slice(0, end) + tail + page.slice(end);
}

/** The page's colours are variables; here they are the editor's theme's. */
const themed = `
body{--bg:var(--vscode-editor-background);--fg:var(--vscode-editor-foreground);--dim:var(--vscode-descriptionForeground);--line:var(--vscode-panel-border,#8884);--panel:var(--vscode-editorWidget-background);--accent:var(--vscode-textLink-foreground);font-family:var(--vscode-font-family)}
body.vscode-light,body.vscode-high-contrast-light{color-scheme:light;--data:#d9730d;--communication:#3f72c4;--sync:#b58a00;--launch:#2f8f8b;--copy:#8a5fc0;--compute:#3f8f46;--other:#8b929c;--loader:#d9730d;--collective:#3f72c4;--allocator:#a34a6c;--python:#61798f;--profiler:#a3a3a3;--unknown:#c33}
body.vscode-dark,body.vscode-high-contrast:not(.vscode-high-contrast-light){color-scheme:dark;--data:#f59a45;--communication:#6f9df0;--sync:#dcb43a;--launch:#4fb8b3;--copy:#b08be6;--compute:#67b96e;--other:#7d8590;--loader:#f59a45;--collective:#6f9df0;--allocator:#d07a9c;--python:#8aa4bd;--profiler:#8f8f8f;--unknown:#ff6b6b}
code{color:inherit;background:none;padding:0}`;

const follow = `
{
  const editor = acquireVsCodeApi();
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest("a[data-file]");
    if (!link) return;
    event.preventDefault();
    editor.postMessage({ file: link.dataset.file, line: Number(link.dataset.line ?? 1) });
  });
}`;
