#!/usr/bin/env node
// A stdio agent in JavaScript: summarizes an array of numbers. Copy it, and replace doTask.
//
// It speaks docs/executor-protocol.md: one JSON message per line, on stdin and stdout. Print nothing else on stdout;
// what goes to stderr is kept for people.
'use strict';

const readline = require('node:readline');

const send = (message) => process.stdout.write(JSON.stringify(message) + '\n');

// What this agent is for. Returns the result; an exception is a failure that is tried again.
async function doTask(params, signal) {
  if (!Array.isArray(params.numbers)) {
    throw Object.assign(new Error('params.numbers must be an array'), { class: 'permanent' });
  }
  await new Promise((resolve) => setTimeout(resolve, params.pause_ms ?? 0));
  if (signal.aborted) throw Object.assign(new Error('stopped as asked'), { class: 'cancelled' });
  const sum = params.numbers.reduce((a, b) => a + b, 0);
  return { count: params.numbers.length, sum, mean: sum / params.numbers.length };
}

let current = null; // { fence, abort }

async function run({ task, fence, params }) {
  current = { fence, abort: new AbortController() };
  try {
    const result = await doTask(params, current.abort.signal);
    send({ type: 'result', task, fence, result });
  } catch (error) {
    send({ type: 'error', task, fence, class: error.class ?? 'transient', message: error.message });
  }
  current = null;
}

send({ type: 'hello', protocol: 1, capabilities: ['summarize'] });
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line);
  if (message.type === 'task') run(message);
  if (message.type === 'cancel' && current?.fence === message.fence) current.abort.abort();
  if (message.type === 'shutdown') process.exit(0);
});
