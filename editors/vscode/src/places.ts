// From the server's file names to the editor's documents.
import * as path from "node:path";
import * as vscode from "vscode";

/** The document of a file as the server names it: relative to its folder with "/", or absolute. */
export function fileUri(file: string, folder: vscode.WorkspaceFolder | undefined): vscode.Uri | undefined {
  if (path.isAbsolute(file) || /^[A-Za-z]:[\\/]/.test(file)) return vscode.Uri.file(file);
  return folder && vscode.Uri.joinPath(folder.uri, file);
}

/** The folder of a document, the only one, or else the first. */
export function folderOf(uri: vscode.Uri | undefined): vscode.WorkspaceFolder | undefined {
  return (uri && vscode.workspace.getWorkspaceFolder(uri)) ?? vscode.workspace.workspaceFolders?.[0];
}

/** Opens a document at a line (from 1) and shows that line in the middle. */
export async function reveal(uri: vscode.Uri, line: number, beside = false): Promise<vscode.TextEditor | undefined> {
  let document: vscode.TextDocument;
  try {
    document = await vscode.workspace.openTextDocument(uri);
  } catch {
    void vscode.window.showWarningMessage(vscode.l10n.t("{0} cannot be opened. It was there when the trace was recorded; `stepline.pathMappings` says where sources lie now.", uri.fsPath));
    return undefined;
  }
  const at = document.lineAt(Math.max(0, Math.min(line, document.lineCount) - 1)).range;
  const column = beside ? vscode.window.visibleTextEditors.find((e) => e.document === document)?.viewColumn ?? vscode.ViewColumn.Beside : undefined;
  const editor = await vscode.window.showTextDocument(document, { viewColumn: column, preview: true });
  const start = at.start.translate(0, document.lineAt(at.start.line).firstNonWhitespaceCharacterIndex);
  editor.selection = new vscode.Selection(start, start);
  editor.revealRange(at, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
  return editor;
}
