// A VS Code for tests: code-server on loopback and a page in headless Chromium. Nothing leaves the machine.
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { chromium } from "playwright-core";

/** Settings of the tests' user: nothing that asks, fetches or moves. */
export const userSettings = {
  "telemetry.telemetryLevel": "off", "update.mode": "none", "extensions.autoUpdate": false, "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true, "workbench.startupEditor": "none", "workbench.enableExperiments": false,
  "workbench.settings.enableNaturalLanguageSearch": false, "workbench.tips.enabled": false, "git.enabled": false,
  "chat.commandCenter.enabled": false, "editor.inlayHints.enabled": "on", "editor.lightbulb.enabled": "on", "editor.minimap.enabled": false,
  "window.commandCenter": false, "files.autoSave": "off", "workbench.colorTheme": "Default Dark Modern", "window.menuBarVisibility": "hidden",
  "notebook.output.scrolling": false,
};

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function health(port) {
  return new Promise((resolve) => http.get(`http://127.0.0.1:${port}/healthz`, (r) => { r.resume(); resolve(r.statusCode); }).on("error", () => resolve(0)));
}

/** Starts both; `data` is an empty folder of this run. The answer's stop() ends both. */
export async function startEditor({ node, codeServer, chromiumPath, data, settings = {}, env = {}, trust = false, viewport = { width: 1400, height: 860 } }) {
  for (const folder of ["home", "extensions", "user-data/User", "chromium"]) fs.mkdirSync(path.join(data, folder), { recursive: true });
  fs.writeFileSync(path.join(data, "user-data/User/settings.json"), JSON.stringify({ ...userSettings, "security.workspace.trust.enabled": trust, ...settings }, null, 2));
  const port = await freePort();
  const home = path.join(data, "home");
  const server = spawn(node, [codeServer, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, "--disable-telemetry", "--disable-update-check",
    ...(trust ? [] : ["--disable-workspace-trust"]), "--disable-getting-started-override",
    "--user-data-dir", path.join(data, "user-data"), "--extensions-dir", path.join(data, "extensions")], {
    env: { ...process.env, HOME: home, XDG_CONFIG_HOME: path.join(home, "config"), XDG_DATA_HOME: path.join(home, "data"), XDG_CACHE_HOME: path.join(home, "cache"),
      EXTENSIONS_GALLERY: '{"serviceUrl":"http://127.0.0.1:9/"}', ...env },
    stdio: ["ignore", fs.openSync(path.join(data, "server.log"), "w"), fs.openSync(path.join(data, "server.err"), "w")],
    detached: true,
  });
  const stopServer = async () => {
    const gone = new Promise((resolve) => server.on("exit", resolve));
    if (server.exitCode === null) {
      server.kill("SIGTERM");
      await Promise.race([gone, sleep(3000)]);
    }
    // Its children (extension host, file watcher) are of its process group.
    try { process.kill(-server.pid, "SIGKILL"); } catch { /* all gone */ }
  };
  try {
    for (let i = 0; (await health(port)) !== 200; i++) {
      if (i > 300 || server.exitCode !== null) throw new Error(`code-server did not start: ${fs.readFileSync(path.join(data, "server.err"), "utf8").slice(-2000)}`);
      await sleep(100);
    }
    const browser = await chromium.launchPersistentContext(path.join(data, "chromium"), {
      executablePath: chromiumPath, headless: true, viewport, colorScheme: "dark",
      args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
    });
    // Web views are served under a name of their own by the page's service worker; their host is answered by code-server.
    await browser.route((url) => !["127.0.0.1", "localhost"].includes(url.hostname) && /^(https?|wss?):$/.test(url.protocol), (route) => route.abort());
    const page = await browser.newPage();
    page.on("console", (m) => { if (m.type() === "error") fs.appendFileSync(path.join(data, "console.log"), `${m.text()}\n`); });
    return {
      page,
      browser,
      remote: (file) => `vscode-remote://127.0.0.1:${port}${file}`,
      url: (query, payload) => `http://127.0.0.1:${port}/?${query}${payload ? `&payload=${encodeURIComponent(JSON.stringify(payload))}` : ""}`,
      stop: async () => {
        await browser.close().catch(() => undefined);
        await stopServer();
      },
    };
  } catch (error) {
    await stopServer();
    throw error;
  }
}

/** Copies files of the repository's traces into a folder. */
export function copyTraces(repository, target, files) {
  fs.mkdirSync(target, { recursive: true });
  for (const file of files) fs.copyFileSync(path.join(repository, "testdata/traces", file), path.join(target, path.basename(file)));
}
