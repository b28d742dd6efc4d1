// Writes l10n/bundle.l10n.json: every text given to l10n.t("…") in src, for translators. With --check it only compares, and
// also checks that package.json and package.nls.json name the same keys.
import ts from "typescript";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const texts = new Set();
const problems = [];
for (const entry of readdirSync("src", { recursive: true }).sort()) {
  if (!entry.endsWith(".ts")) continue;
  const file = join("src", entry);
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const visit = (node) => {
    if (ts.isCallExpression(node) && /^(vscode\.)?l10n\.t$/.test(node.expression.getText())) {
      const first = node.arguments[0];
      if (first && ts.isStringLiteralLike(first)) texts.add(first.text);
      else problems.push(`${file}: l10n.t needs a plain string: ${node.getText().slice(0, 80)}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
}
const bundle = JSON.stringify(Object.fromEntries([...texts].sort().map((t) => [t, t])), null, 2) + "\n";
if (!process.argv.includes("--check")) {
  writeFileSync("l10n/bundle.l10n.json", bundle);
} else if (readFileSync("l10n/bundle.l10n.json", "utf8") !== bundle) {
  problems.push("l10n/bundle.l10n.json is out of date; run `npm run l10n`");
}
const used = new Set([...readFileSync("package.json", "utf8").matchAll(/"%([^%"]+)%"/g)].map((m) => m[1]));
const named = new Set(Object.keys(JSON.parse(readFileSync("package.nls.json", "utf8"))));
for (const key of used) if (!named.has(key)) problems.push(`package.nls.json lacks ${key}`);
for (const key of named) if (!used.has(key)) problems.push(`package.json does not use ${key}`);
if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
