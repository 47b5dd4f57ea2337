// SPDX-License-Identifier: GPL-2.0-or-later
// perfetto_sql.mjs ENGINE TRACE: loads the trace into Perfetto's own trace processor, as ui.perfetto.dev does, and runs the
// queries of stdin, a JSON list of texts. Prints a JSON list: the rows of each, as lists; numbers beyond 2^53 are texts.
// ENGINE is a folder with trace_processor.wasm, its worker (engine_bundle.node.js) and the client of it (engine.mjs).
import fs from 'fs';
import path from 'path';
import url from 'url';
import vm from 'vm';

const [engine, trace] = process.argv.slice(2);
const PIECE = 16 << 20; // a message must be below 64 MiB

// The worker is made for a browser, where it fetches the program at once. When this is over, it can be talked to.
async function startWorker() {
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = function () {};
  globalThis.location = { href: `${url.pathToFileURL(engine)}/` };
  globalThis.XMLHttpRequest = class {
    open(method, name) {
      this.response = new Uint8Array(fs.readFileSync(path.join(engine, path.basename(name))));
    }
    send() {}
  };
  console.warn = () => {};
  // First it tries whether there are memories of 64 bits; the program for those is not there.
  const { Module } = WebAssembly;
  WebAssembly.Module = function () {
    WebAssembly.Module = Module;
    throw Error('32 bits');
  };
  vm.runInThisContext(fs.readFileSync(path.join(engine, 'engine_bundle.node.js'), 'utf8'));
  await new Promise(resolve => setTimeout(resolve));
}

async function connect() {
  const { EngineBase } = await import(url.pathToFileURL(path.join(engine, 'engine.mjs')));
  const { port1, port2 } = new MessageChannel();
  class Client extends EngineBase {
    rpcSendRequestBytes(bytes) {
      port2.postMessage(bytes);
    }
  }
  const client = new Client();
  port2.onmessage = message => client.onRpcResponseBytes(message.data);
  globalThis.onmessage({ data: port1 });
  return client;
}

function plain(value) {
  return typeof value === 'bigint' ? (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)) : value;
}

async function main() {
  await startWorker();
  const client = await connect();
  const file = fs.openSync(trace);
  for (let size; ;) {
    const piece = new Uint8Array(PIECE);
    size = fs.readSync(file, piece);
    if (!size)
      break;
    await client.parse(piece.subarray(0, size));
  }
  await client.notifyEof();
  const answers = [];
  for (const sql of JSON.parse(fs.readFileSync(0))) {
    const result = await client.query(sql), columns = result.columns(), rows = [];
    for (const row = result.iter({}); row.valid(); row.next())
      rows.push(columns.map(column => plain(row.get(column))));
    answers.push(rows);
  }
  process.stdout.write(`${JSON.stringify(answers)}\n`, () => process.exit(0));
}

main().catch(error => {
  console.error(String(error.stack || error));
  process.exit(1);
});
