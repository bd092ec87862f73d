// One story of a client that others wrote. Arguments: the folder node_modules, the SDK ("1" or "2"), the era ("legacy" or
// "modern"), the story, and what the transport needs as JSON: {command, args} or {url, token}. Says a line for each thing
// that happens; waits for a line on standard input where the test must do something first.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [modules, sdk, era, story, place] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(`${modules}/${path}`));
const where = JSON.parse(place);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (what, more = {}) => console.log(JSON.stringify({ what, ...more }));

const first = "@modelcontextprotocol/sdk/dist/esm/client";
const parts = sdk === "1"
  ? { ...(await load(`${first}/index.js`)), ...(await load(`${first}/stdio.js`)),
      ...(await load(`${first}/streamableHttp.js`)) }
  : { ...(await load("mcp-client-2/dist/index.mjs")), ...(await load("mcp-client-2/dist/stdio.mjs")) };

const headers = { Authorization: `Bearer ${where.token}` };
const transport = where.url
  ? new parts.StreamableHTTPClientTransport(new URL(where.url), { requestInit: { headers } })
  : new parts.StdioClientTransport({ command: where.command, args: where.args, cwd: where.cwd, stderr: "ignore" });
const options = era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new parts.Client({ name: "story", version: "1" }, options);
const faults = [];
client.onerror = (error) => faults.push(String(error));
await client.connect(transport);

const call = (name, args, more) =>
  sdk === "1" ? client.callTool({ name, arguments: args }, undefined, more)
              : client.callTool({ name, arguments: args }, more);
const works = async () => {
  const made = await call("task_submit", { type: "echo", params: { say: 1 }, wait_for_previous: true });
  const waited = await call("task_wait", { id: made.structuredContent.id, timeout_ms: null });
  return waited.structuredContent.task.state === "completed" &&
    JSON.stringify(made.structuredContent.ignored) === '["wait_for_previous"]';
};

const stories = {
  // The node dies with a call under way and comes back.
  async restart() {
    say("works", { holds: await works() });
    const task = (await call("task_submit", { type: "nobody_can_do_this" })).structuredContent.id;
    const begin = Date.now();
    const waiting = call("task_wait", { id: task }, { onprogress: () => {}, timeout: 50_000 })
      .then((answer) => say("answered", { text: JSON.stringify(answer) }),
            (error) => say("answered", { text: String(error), ms: Date.now() - begin }));
    // Over HTTP until the first progress, with which the stream of the call begins: then the client comes back for it.
    await new Promise((done) => setTimeout(done, where.url ? 6000 : 500));
    say("waiting");
    await lines.next();
    await waiting;
    let again = false;
    for (let i = 0; i < 20 && !again; ++i) {
      again = await works().catch(() => new Promise((done) => setTimeout(() => done(false), 500)));
    }
    say("works again", { holds: again });
  },
  // A subscription begins and ends.
  async listen() {
    const subscription = await client.listen({ toolsListChanged: true });
    say("listening");
    await subscription.close();
    await new Promise((done) => setTimeout(done, 500));
    say("closed", { faults });
  },
  // Half an emoji, as JSON.stringify writes it.
  async half() {
    const made = await call("task_submit", { type: "echo", params: "\ud83d" });
    const waited = await call("task_wait", { id: made.structuredContent.id });
    say("half", { holds: waited.structuredContent.task.result === "\ufffd" });
  },
};
await stories[story]();
await client.close();
process.exit(0);
