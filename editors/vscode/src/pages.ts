// Pages in Markdown that are no files: rules and comparisons.
import * as vscode from "vscode";

const scheme = "stepline-page";

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly texts = new Map<string, string>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registered = vscode.workspace.registerTextDocumentContentProvider(scheme, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.texts.get(uri.path) ?? "";
  }

  /** Shows a page rendered, or as text where no Markdown preview is there. */
  async show(name: string, content: string): Promise<void> {
    const uri = vscode.Uri.from({ scheme, path: `/${name}.md` });
    this.texts.set(uri.path, content);
    this.changed.fire(uri);
    try {
      await vscode.commands.executeCommand("markdown.showPreviewToSide", uri);
    } catch {
      await vscode.window.showTextDocument(uri, { preview: true, viewColumn: vscode.ViewColumn.Beside });
    }
  }

  dispose(): void {
    this.registered.dispose();
    this.changed.dispose();
  }
}
