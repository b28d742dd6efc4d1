// The settings the server gets: only those somebody set, so that the folder's stepline.toml is not overridden by defaults.
import * as vscode from "vscode";

const serverKeys = [
  "traces", "autoDiscover", "trace.autoLoadLimit", "trace.maxMemory", "pathMappings", "rules.select", "rules.ignore", "rules.severity",
  "target-torch", "exclude", "diagnostics.mode", "inlayHints.enable", "inlayHints.threshold", "inlayHints.show", "codeLens.enable", "heat.enable",
];

/** What a folder that is not trusted may not say: these name files and places outside of it. */
const restricted = new Set(["traces", "pathMappings"]);

export function serverSettings(scope: vscode.Uri | undefined): Record<string, unknown> {
  const configuration = vscode.workspace.getConfiguration("stepline", scope ?? null);
  const settings: Record<string, unknown> = {};
  for (const key of serverKeys) {
    const said = configuration.inspect(key);
    let value = said?.globalValue;
    if (vscode.workspace.isTrusted || !restricted.has(key)) value = said?.workspaceFolderValue ?? said?.workspaceValue ?? value;
    if (value === undefined || value === null) continue;
    // Off is the extension's own business: asking a server that is just being told otherwise would draw what held before.
    if (key === "heat.enable" && value === false) continue;
    let table = settings;
    const parts = key.split(".");
    for (const part of parts.slice(0, -1)) table = (table[part] ??= {}) as Record<string, unknown>;
    table[parts[parts.length - 1]] = value;
  }
  return settings;
}
