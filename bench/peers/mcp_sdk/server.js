// The official TypeScript SDK's server with one trivial tool: `node server.js` on standard input and output, `node
// server.js http` on a port of 127.0.0.1 that it prints. Plain node:http, a server for each session, JSON responses:
// the least that the SDK needs.
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

function makeServer() {
  const server = new McpServer({ name: "bench", version: "1" });
  server.registerTool("test_simple_text", { description: "Says a fixed text" }, async () => ({
    content: [{ type: "text", text: "This is a simple text response for testing." }],
  }));
  return server;
}

if (process.argv[2] !== "http") {
  await makeServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    let transport = sessions.get(request.headers["mcp-session-id"]);
    if (!transport) {
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        enableJsonResponse: true,
        onsessioninitialized: (id) => sessions.set(id, transport),
      });
      await makeServer().connect(transport);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
}
