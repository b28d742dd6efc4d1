// Bundles the extension into dist/extension.js. `--watch` rebuilds on change, `--minify` is for packaging.
import { context, build } from "esbuild";

const options = {
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node18",
  external: ["vscode"],
  sourcemap: !process.argv.includes("--minify"),
  minify: process.argv.includes("--minify"),
  logLevel: "warning",
};
if (process.argv.includes("--watch")) await (await context(options)).watch();
else await build(options);
