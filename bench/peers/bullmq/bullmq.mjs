// Durable tasks per second, submit -> run -> complete, on BullMQ and Redis.
// usage: node bullmq.mjs PORT WORKLOAD [COUNT], from the folder with node_modules
//
// durable_1 and durable_64 have so many submitters, each of which waits for its answer; durable_1000 has two that
// submit in bulk, 500 at a time, which is BullMQ's fastest way in. One worker with 100 jobs at once runs what is
// submitted.
import { createRequire } from 'module';
const require = createRequire(process.cwd() + '/');
const { Queue, Worker } = require('bullmq');

const workloads = {
  durable_1: { submitters: 1, bulk: 1, count: 2000 },
  durable_64: { submitters: 64, bulk: 1, count: 10000 },
  durable_1000: { submitters: 2, bulk: 500, count: 20000 },
};
const name = process.argv[3];
const { submitters, bulk, count: usual } = workloads[name];
const count = +(process.argv[4] ?? usual);
const connection = { host: '127.0.0.1', port: +process.argv[2] };
const queue = new Queue('bench' + Date.now(), { connection });
await queue.waitUntilReady();

let done = 0;
let finish;
const finished = new Promise((resolve) => (finish = resolve));
const worker = new Worker(queue.name, async () => 1, { connection, concurrency: 100 });
await worker.waitUntilReady();
worker.on('completed', () => {
  if (++done === count) finish();
});

const begin = performance.now();
let next = 0;
async function submit() {
  while (next < count) {
    const first = next;
    next += bulk;
    const jobs = Array.from({ length: bulk }, (_, i) => ({ name: 'noop', data: { i: first + i } }));
    if (bulk === 1) await queue.add(jobs[0].name, jobs[0].data);
    else await queue.addBulk(jobs);
  }
}
await Promise.all(Array.from({ length: submitters }, submit));
await finished;
console.log(`bullmq ${name} task/s ${(count / ((performance.now() - begin) / 1000)).toFixed(2)}`);
process.exit(0);
