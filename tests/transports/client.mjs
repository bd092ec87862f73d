// A client of MCP in a WebSocket, with what a browser has: no header can be set, so the token goes as a protocol.
// Prints what it sees; the text it sends is long enough for frames of every length.
const [url, token] = process.argv.slice(2);
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
const socket = new WebSocket(url, ["mcp", `bearer.${token}`]);
const waiting = new Map();

const ask = (id, method, params) =>
  new Promise((answered) => {
    waiting.set(id, answered);
    socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta: meta } }));
  });
const tool = async (id, name, args) =>
  (await ask(id, "tools/call", { name, arguments: args })).structuredContent;

socket.onmessage = ({ data }) => {
  const { id, method, result } = JSON.parse(data);
  if (method === "notifications/subscriptions/acknowledged") console.log("listening");
  if (id === "listen") console.log("end of listen");
  waiting.get(id)?.(result);
};
socket.onclose = ({ code, reason, wasClean }) => {
  console.log(`closed ${code} ${reason} ${wasClean ? "clean" : "not clean"}`);
};
socket.onopen = async () => {
  console.log(`protocol ${socket.protocol}`);
  const params = { by: "websocket", long: "x".repeat(200_000) };
  const task = await tool(1, "task_submit", { type: "echo", params });
  await tool(2, "task_wait", { id: task.id });
  const text = (await ask(3, "resources/read", { uri: `skein://tasks/${task.id}` })).contents[0].text;
  const { by, long } = JSON.parse(text).result;
  console.log(JSON.stringify({ by, long: long.length }));
  ask("listen", "subscriptions/listen", { notifications: { toolsListChanged: true } });
};
