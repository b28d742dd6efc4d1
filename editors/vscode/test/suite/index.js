// Runs inside the extension host: the real vscode API, the real server. The tests build on each other in their order.
const fs = require("node:fs");
const { tests } = require("./tests");

const say = (text) => fs.appendFileSync(process.env.TEST_OUT, `${text}\n`);

/** How long one test may take before it counts as failed. */
const limitMs = 40_000;

exports.run = async () => {
  let passed = 0, failed = 0;
  for (const [name, test] of tests) {
    const started = Date.now();
    let timer;
    try {
      await Promise.race([test(), new Promise((_, reject) => { timer = setTimeout(() => reject(new Error(`did not end within ${limitMs} ms`)), limitMs); })]);
      passed++;
      say(`ok   ${name} (${Date.now() - started} ms)`);
    } catch (error) {
      failed++;
      if (passed === 0) failed = tests.length; // without the extension nothing else can be told
      say(`FAIL ${name}\n     ${String(error?.stack ?? error).split("\n").slice(0, 6).join("\n     ")}`);
    } finally {
      clearTimeout(timer);
    }
    if (failed === tests.length) break;
  }
  say(`${passed} passed, ${failed} failed`);
};
