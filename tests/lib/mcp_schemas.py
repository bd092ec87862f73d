"""Messages of a server against the schemas that the MCP project publishes.

They are not part of this project: SKEIN_MCP_SCHEMAS names their folder (default: shared/mcp beside the project), and
without them nothing is checked, which is said. Where they are, Python must have jsonschema.
"""
import json
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODERN = "2026-07-28"
TASKS = "tasks-extension"

RESULTS = {
    "initialize": "InitializeResult",
    "ping": "EmptyResult",
    "logging/setLevel": "EmptyResult",
    "resources/subscribe": "EmptyResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tools/list": "ListToolsResult",
    "tools/call": "CallToolResult",
    "prompts/list": "ListPromptsResult",
    "prompts/get": "GetPromptResult",
    "resources/list": "ListResourcesResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/read": "ReadResourceResult",
    "completion/complete": "CompleteResult",
}
TASK_RESULTS = {"tasks/get": "GetTaskResult", "tasks/update": "UpdateTaskResult", "tasks/cancel": "CancelTaskResult"}
ERRORS = {-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError",
          -32022: "UnsupportedProtocolVersionError"}


def find():
    """A Schemas, or None with the reason said. Ends the program as failed when what reads them is missing."""
    folder = pathlib.Path(os.environ.get("SKEIN_MCP_SCHEMAS", ROOT.parent / "shared/mcp"))
    if not (folder / MODERN / "schema.json").exists():
        print(f"skipped: mcp-schemas: {folder} has none of MCP's schemas; no message was checked")
        return None
    try:
        import jsonschema  # pylint: disable=import-outside-toplevel,unused-import
    except ImportError:
        print(f"{folder} has MCP's schemas, and {sys.executable} has no jsonschema to check messages with; install "
              "Debian's python3-jsonschema (scripts/setup test does), or jsonschema with pip")
        print("0 passed, 1 failed")
        sys.exit(1)
    return Schemas(folder)


class Schemas:
    def __init__(self, folder):
        self.folder = folder
        self.documents = {}
        self.validators = {}
        self.checked = 0
        self.problems = []

    def document(self, version):
        if version not in self.documents:
            self.documents[version] = json.loads((self.folder / version / "schema.json").read_text())
        return self.documents[version]

    def definitions(self, version):
        document = self.document(version)
        return "$defs" if "$defs" in document else "definitions"

    def validator(self, version, name):
        import jsonschema  # pylint: disable=import-outside-toplevel
        if (version, name) not in self.validators:
            document = self.document(version)
            schema = dict(document, **{"$ref": f"#/{self.definitions(version)}/{name}"})
            schema.pop("$id", None)
            kind = jsonschema.validators.validator_for(document, default=jsonschema.Draft202012Validator)
            self.validators[version, name] = kind(schema)
        return self.validators[version, name]

    def has(self, version, name):
        document = self.document(version)
        return name in document[self.definitions(version)]

    def expect(self, version, name, value, about):
        for error in list(self.validator(version, name).iter_errors(value))[:3]:
            where = "/".join(map(str, error.absolute_path))
            self.problems.append(f"{about} is no {name} of {version}: at /{where}: {error.message[:300]}")

    def check(self, version, method, message):
        """A message the server sent; `method` is of the request it answers, if it answers one."""
        self.checked += 1
        about = json.dumps(message)[:400]
        if "error" in message:
            names = ("JSONRPCErrorResponse", "JSONRPCError")
            self.expect(version, next(name for name in names if self.has(version, name)), message, about)
            special = ERRORS.get(message["error"].get("code"))
            if version == MODERN and special:
                self.expect(version, special, message, about)
        elif "result" in message:
            names = ("JSONRPCResultResponse", "JSONRPCResponse")
            self.expect(version, next(name for name in names if self.has(version, name)), message, about)
            self.check_result(version, method, message["result"], about)
        elif message["method"] == "notifications/tasks":
            self.expect(TASKS, "TaskStatusNotification", message, about)
        elif "id" in message:
            self.expect(version, "ServerRequest", message, about)
        else:
            self.expect(version, self.notification(version, message["method"]), message, about)

    def check_result(self, version, method, result, about):
        kind = result.get("resultType")
        if kind == "input_required":
            self.expect(version, "InputRequiredResult", result, about)
        elif kind == "task":
            self.expect(TASKS, "CreateTaskResult", result, about)
        elif method in TASK_RESULTS:
            self.expect(TASKS, TASK_RESULTS[method], result, about)
            if result.get("status") == "completed":
                self.expect(MODERN, "CallToolResult", dict(result["result"], resultType="complete"), about)
        else:
            self.expect(version, RESULTS.get(method, "Result"), result, about)

    def notification(self, version, method):
        """The definition whose method this is; one that is none of them fits nothing."""
        for name, each in self.document(version)[self.definitions(version)].items():
            if each.get("properties", {}).get("method", {}).get("const") == method:
                return name
        return "ServerNotification"
