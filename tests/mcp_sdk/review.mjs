// What clients tripped over, said by a client that others wrote: each check has what was seen, and a name that says what
// must hold. The calls are those of the SDK in use: call(name, arguments, options).
const k_part = 49_152;

const failed = (answer) => (answer.isError ? answer.content[0].text : "");
const untyped = (schema, path) =>
  Object.entries(schema.properties ?? {}).flatMap(([name, each]) => [
    ...(each.type || each.anyOf || each.oneOf || each.$ref ? [] : [`${path}.${name}`]),
    ...untyped(each, `${path}.${name}`),
  ]);

async function schemas({ client, check }) {
  const { tools } = await client.listTools();
  const without = tools.flatMap((each) => untyped(each.inputSchema, each.name));
  check("every argument has a type, so that no client sends text for it", without.length === 0, without);
  const params = tools.find((each) => each.name === "task_submit").inputSchema.properties.params;
  check("params says that it takes anything", params.type?.length === 6, params);
}

async function arguments_of_clients({ call, check, submit }) {
  const nulls = { params: null, swarm: null, priority: null, key: null, capabilities: null, attempts: null };
  const made = await call("task_submit", { type: "echo", ...nulls });
  check("null for what is optional is as if absent", made.structuredContent?.state, made);
  const added = await call("tree", { wait_for_previous: false });
  check("a member that the client added is passed over and named",
        added.structuredContent?.ignored?.[0] === "wait_for_previous", failed(added));
  const wrong = failed(await call("task_submit", { typ: "echo" }));
  check("a wrong name is told with the right one", wrong.includes("typ (did you mean 'type'?)"), wrong);
  const key = `key-${Date.now()}`;
  const first = await submit({ type: "echo", params: 1, key });
  const again = await call("task_submit", { type: "echo", params: 1, key });
  check("the same key gives the first task", again.structuredContent.id === first, again);
  const other = failed(await call("task_submit", { type: "echo", params: 2, key }));
  check("the same key with other params is an error that names it", other.includes(first), other);
}

async function errors({ call, check, submit }) {
  for (const [tool, given, culprit] of [
    ["task_submit", { type: "echo", swarm: "nope" }, "there is no swarm 'nope'"],
    ["agent_spawn", { executor: "function", swarm: "nope" }, "there is no swarm 'nope'"],
    ["task_submit", { type: "x".repeat(200) }, "type has 200 bytes, the limit is 128"],
    ["task_submit", { type: "echo", attempts: "two" }, "arguments.attempts must be of type integer"],
  ]) {
    const said = failed(await call(tool, given));
    check(`${tool}: the error names the culprit`, said.includes(culprit), said);
  }
  const id = await submit({ type: "nobody_does" });
  for (const [tool, given] of [["task_wait", { id, timeout_ms: 100 }], ["task_status", { id }]]) {
    const said = JSON.stringify(await call(tool, given));
    check(`${tool}: says why the task waits`, said.includes("can do 'nobody_does'"), said);
  }
  let deep = 1;
  for (let i = 0; i < 70; ++i) deep = [deep];
  const told = await call("task_submit", { type: "echo", params: deep }, { timeout: 5000 }).catch(String);
  check("what is nested too deep is answered with its id", String(told).includes("nested more than 64"), told);
  const half = await submit({ type: "echo", params: "\ud83d" });
  const waited = await call("task_wait", { id: half });
  check("half a character is answered", waited.structuredContent.task.result === "\ufffd", waited);
}

async function long_results({ call, check, submit }) {
  const whole = "é".repeat(60_000);
  const id = await submit({ type: "echo", params: whole });
  const waited = await call("task_wait", { id });
  check("a long result is linked to", waited.content.some((each) => each.type === "resource_link"), waited.content.length);
  let part = waited.structuredContent.task.result_part;
  check("its first part is there", part?.bytes === k_part && part.total === 120_000, part?.bytes);
  let all = part?.text ?? "";
  while (part?.next_offset !== undefined) {
    part = (await call("task_status", { id, result_offset: part.next_offset })).structuredContent.result_part;
    all += part.text;
  }
  check("its parts are the whole", all === whole, all.length);
}

async function progress_and_times({ call, check, submit, comes_back }) {
  const id = await submit({ type: "steps" });
  const status = async () => (await call("task_status", { id })).structuredContent;
  while (!(await status()).progress) await new Promise((done) => setTimeout(done, 50));
  const over = new AbortController();
  const told = await new Promise((done) =>
    call("task_wait", { id }, { onprogress: done, signal: over.signal }).catch(done));
  check("progress is the agent's mark", told.progress === 3 && told.total === 6 && told.message.includes('"step":3'), told);
  over.abort();
  const asked = await comes_back();
  check("a client does not come back again and again for a call that it has cancelled", asked <= 1, asked);
  await call("task_cancel", { id });
  const task = await status();
  check("times are for people too", task.submitted_time === new Date(task.submitted_at).toISOString(), task);
  const swarm = (await call("swarm_status", { name: "default" })).structuredContent;
  check("numbers of a swarm are numbers", typeof swarm.settings.min === "number", swarm.settings);
}

async function completion({ client, check, submit }) {
  const id = await submit({ type: "nobody_does" });
  for (const [ref, name] of [[{ type: "ref/prompt", name: "diagnose_task" }, "task"],
                             [{ type: "ref/resource", uri: "skein://tasks/{id}" }, "id"]]) {
    const { completion } = await client.complete({ ref, argument: { name, value: "" } });
    check(`${ref.type}: ids of open tasks are suggested`, completion.values.includes(id), completion);
  }
}

export async function review(tools) {
  for (const each of [schemas, arguments_of_clients, errors, long_results, progress_and_times, completion]) {
    await each(tools);
  }
}
