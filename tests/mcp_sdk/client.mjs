// One story of a client that others wrote. Arguments: the folder node_modules, the SDK ("1" or "2"), the era ("legacy" or
// "modern"), the story, and what the transport needs as JSON: {command, args} or {url, token}. Says a line for each thing
// that happens; waits for a line on standard input where the test must do something first.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { review } from "./review.mjs";

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
let gets = 0;
const counted = (url, init) => {
  gets += init?.method === "GET";
  return fetch(url, init);
};
const transport = () => where.url
  ? new parts.StreamableHTTPClientTransport(new URL(where.url), { requestInit: { headers }, fetch: counted })
  : new parts.StdioClientTransport({ command: where.command, args: where.args, cwd: where.cwd, stderr: "ignore" });
const options = era === "modern" ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {};
const client = new parts.Client({ name: "story", version: "1" }, options);
const faults = [];
client.onerror = (error) => faults.push(String(error));
await client.connect(transport());

const call = (name, args, more) =>
  sdk === "1" ? client.callTool({ name, arguments: args }, undefined, more)
              : client.callTool({ name, arguments: args }, more);
const submit = async (args) => (await call("task_submit", args)).structuredContent.id;
const works = async () => {
  const made = await call("task_submit", { type: "echo", params: { say: 1 }, wait_for_previous: true });
  const waited = await call("task_wait", { id: made.structuredContent.id, timeout_ms: null });
  return waited.structuredContent.task.state === "completed" &&
    JSON.stringify(made.structuredContent.ignored) === '["wait_for_previous"]';
};

// How often a legacy client asks for a stream while nobody uses it. What is not ended well comes back once a second.
const comes_back = async () => {
  if (!where.url || era !== "legacy") return 0;
  const before = gets;
  await new Promise((done) => setTimeout(done, 2500));
  return gets - before;
};

const stories = {
  // The node dies with a call under way and comes back.
  async restart() {
    say("works", { holds: await works() });
    const task = await submit({ type: "nobody_can_do_this" });
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
    if (!where.url) return;
    await new Promise((done) => setTimeout(done, 1500));  // until it is back on its streams
    say("quiet", { gets: await comes_back() });
  },
  // The node stops with a call under way.
  async stop() {
    const id = await submit({ type: "nobody_can_do_this" });
    const waiting = call("task_wait", { id }, { timeout: 20_000 });
    say("waiting");
    const { finished, next } = (await waiting.catch((error) => ({ structuredContent: { next: String(error) } })))
      .structuredContent;
    say("answered", { finished, next });
  },
  // Two clients share a node that the first has started, and the first ends.
  async two() {
    const other = new parts.Client({ name: "other", version: "1" }, options);
    await other.connect(transport());
    const id = await submit({ type: "sleep", params: 800 });
    const waiting = other.callTool({ name: "task_wait", arguments: { id } });
    await client.close();
    say("answered", { state: (await waiting).structuredContent.task.state });
    const listed = await other.listTools();
    say("works", { holds: listed.tools.length > 20 });
    await other.close();
  },
  async review() {
    const check = (name, holds, saw) => say("check", { name, holds: Boolean(holds), saw: JSON.stringify(saw) });
    await review({ client, call, submit, check, comes_back });
    say("done");
  },
  // A subscription begins and ends.
  async listen() {
    const subscription = await client.listen({ toolsListChanged: true });
    say("listening");
    await subscription.close();
    await new Promise((done) => setTimeout(done, 500));
    say("closed", { faults });
  },
};
await stories[story]();
await client.close();
process.exit(0);
