// Hovers as the server gives them, with links that run commands. The server's text stays untrusted: kernel names in it come
// from a trace. Only the links made here may run commands.
import * as vscode from "vscode";
import type { Status } from "./protocol";

const linked = ["stepline.openReport", "stepline.explainRule", "stepline.ignoreLine"];

export function hoverWithLinks(hover: vscode.Hover | null | undefined, document: vscode.TextDocument, position: vscode.Position, status: Status | undefined): vscode.Hover | null | undefined {
  if (!hover) return hover;
  const links: string[] = [];
  const link = (text: string, command: string, argument: unknown) => links.push(`[${text}](command:${command}?${encodeURIComponent(JSON.stringify([argument]))})`);
  if (status?.trace) link(vscode.l10n.t("Open report"), "stepline.openReport", { folder: status.folder });
  const rules = new Set<string>();
  for (const diagnostic of vscode.languages.getDiagnostics(document.uri)) {
    if (diagnostic.source !== "stepline" || !diagnostic.range.contains(position)) continue;
    rules.add(ruleOf(diagnostic));
  }
  for (const rule of rules) {
    link(vscode.l10n.t("Explain {0}", rule), "stepline.explainRule", rule);
    link(vscode.l10n.t("Ignore {0} on this line", rule), "stepline.ignoreLine", { uri: document.uri.toString(), line: position.line, rule });
  }
  if (links.length === 0) return hover;
  const own = new vscode.MarkdownString(links.join(" · "));
  own.isTrusted = { enabledCommands: linked };
  // First, because a long hover scrolls.
  return new vscode.Hover([own, ...hover.contents.map(unbroken)], hover.range);
}

/** Numbers in tables stay with their units: the editor breaks narrow columns at blanks. */
function unbroken(content: vscode.MarkdownString | vscode.MarkedString): vscode.MarkdownString | vscode.MarkedString {
  if (!(content instanceof vscode.MarkdownString)) return content;
  content.value = content.value.replace(/^\|.*$/gm, (row) => row.replace(/(\d) (?=(ns|µs|ms|s|%|B|[kMGT]B)(?![\w]))/g, "$1\u00a0"));
  return content;
}

export function ruleOf(diagnostic: vscode.Diagnostic): string {
  const code = diagnostic.code;
  return String(typeof code === "object" ? code.value : code ?? "");
}
