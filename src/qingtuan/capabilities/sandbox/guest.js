// What runs inside: takes one job as a line of JSON, runs it, answers with a line of JSON. Whatever the job's code does
// to the objects here, the host takes every line for the code's own words; nothing in this file keeps anything out.

const { stdin, stdout, exit, inspect } = Deno;
const encoder = new TextEncoder();
const CODE = "data:application/typescript;base64,";
const POSITION = /data:application\/typescript[^\s()]*?:(\d+):(\d+)/;
const LONGEST_MESSAGE = 2000;
let most = 0; // bytes of the result
const LARGEST_BODY = 1024 * 1024;
const DEEPEST = 64;

function send(line) {
  let bytes = encoder.encode(line + "\n");
  while (bytes.length) bytes = bytes.subarray(stdout.writeSync(bytes));
}

async function* received() {
  const decoder = new TextDecoder();
  const piece = new Uint8Array(65536);
  let parts = [];
  for (let count; (count = await stdin.read(piece)) !== null;) {
    const [first, ...more] = decoder.decode(piece.subarray(0, count), { stream: true }).split("\n");
    parts.push(first);
    for (const next of more) {
      yield JSON.parse(parts.join(""));
      parts = [next];
    }
  }
}

// ---- the answer

let answered = false;

function answer(done) {
  if (answered) return;
  answered = true;
  send(JSON.stringify({ done }));
}

function fail(kind, message, [line, column] = []) {
  answer({ fault: { kind, message: message.slice(0, LONGEST_MESSAGE), line, column } });
}

function place(text) {
  const found = POSITION.exec(text);
  return found ? [Number(found[1]), Number(found[2])] : [];
}

function failed(error) {
  let message = "An error that cannot be shown was thrown.";
  let where = [];
  try {
    if (error instanceof Error) {
      message = `${error.name}: ${error.message}`;
      if (error.cause !== undefined) message += ` (cause: ${error.cause?.message ?? String(error.cause)})`;
      where = place(String(error.stack));
    } else {
      message = `Thrown: ${typeof error === "string" ? error : inspect(error, { depth: 2 })}`;
    }
  } catch { /* what was thrown does not let itself be looked at */ }
  fail("exception", message, where);
}

function succeeded(value) {
  const odd = value === undefined ? ["", "undefined: return a JSON value, null if there is none"] : strange(value, "", 0, new Set());
  if (odd) return fail("output", `The result${odd[0]} is ${odd[1]}.`);
  const text = JSON.stringify(value);
  if (text === undefined) return fail("output", "The result is undefined: return a JSON value, null if there is none.");
  const size = encoder.encode(text).length;
  if (size > most) return fail("output", `The result is ${size} bytes of JSON; at most ${most} are taken.`);
  if (!answered) {
    answered = true;
    send(`{"done":{"value":${text}}}`);
  }
}

// The first thing in a value that JSON would change or refuse: its path and what it is.
function strange(value, path, depth, above) {
  switch (typeof value) {
    case "number":
      return Number.isFinite(value) ? null : [path, `${value}, which is no JSON`];
    case "bigint":
      return [path, "a BigInt, which is no JSON: use Number() or String()"];
    case "function":
    case "symbol":
      return [path, `a ${typeof value}, which is no JSON`];
    case "object":
      return value === null ? null : strangeObject(value, path, depth, above);
    default:
      return null;
  }
}

const INSTEAD = [
  [Promise, "a Promise: await it"],
  [Map, "a Map: use Object.fromEntries(map)"],
  [Set, "a Set: use [...set]"],
  [ArrayBuffer, "binary: use base64, or [...bytes]"],
  [DataView, "binary: use base64, or [...bytes]"],
  [Object.getPrototypeOf(Uint8Array), "binary: use base64, or [...bytes]"],
  [Error, "an Error: return its message"],
  [RegExp, "a RegExp: return its source"],
];

function strangeObject(value, path, depth, above) {
  if (above.has(value)) return [path, "an object that contains itself"];
  if (depth >= DEEPEST) return [path.slice(0, 40), `nested more than ${DEEPEST} deep`];
  const kind = INSTEAD.find(([type]) => value instanceof type);
  if (kind) return [path, kind[1]];
  // By its name: to ask for the class loads it, which takes as long as a whole call.
  if (Object.prototype.toString.call(value) === "[object Response]") return [path, "a Response: await its json() or text()"];
  if (typeof value.toJSON === "function") return null;
  above.add(value);
  const list = Array.isArray(value);
  for (const key of list ? value.keys() : Object.keys(value)) {
    const below = list ? `${path}[${key}]` : `${path}.${key}`;
    const odd = list && value[key] === undefined
      ? [below, "undefined, which is no JSON: use null"]
      : strange(value[key], below, depth + 1, above);
    if (odd) return odd;
  }
  above.delete(value);
  return null;
}

// ---- the console

let printable = 8192;

for (const level of ["log", "info", "warn", "error", "debug", "dir", "table", "trace"]) {
  console[level] = (...parts) => {
    if (printable <= 0) return;
    const line = parts.map((part) => (typeof part === "string" ? part : inspect(part, { depth: 3 }))).join(" ");
    const print = line.slice(0, printable);
    printable -= print.length + 1;
    send(JSON.stringify({ print }));
  };
}

// ---- the network: the host does it

const waiting = new Map();
let asked = 0;

async function bodyOf(request) {
  if (request.body === null) return null;
  const bytes = new Uint8Array(await request.arrayBuffer());
  if (bytes.length > LARGEST_BODY) throw new TypeError(`fetch: the body is over ${LARGEST_BODY} bytes`);
  return bytes.toBase64();
}

globalThis.fetch = async function fetch(input, init) {
  const request = new Request(input, init);
  request.signal.throwIfAborted();
  const body = await bodyOf(request);
  const id = ++asked;
  const found = await new Promise((resolve, reject) => {
    waiting.set(id, resolve);
    request.signal.addEventListener("abort", () => reject(request.signal.reason));
    const headers = [...request.headers];
    send(JSON.stringify({ fetch: { id, method: request.method, url: request.url, headers, body, redirect: request.redirect } }));
  });
  if (found.error !== undefined) throw new TypeError(`fetch: ${found.error}`);
  const empty = [204, 205, 304].includes(found.status) || request.method === "HEAD";
  const response = new Response(empty ? null : Uint8Array.fromBase64(found.body), { status: found.status, headers: found.headers });
  Object.defineProperties(response, { url: { value: found.url }, redirected: { value: found.redirected } });
  return response;
};

// ---- one job

// Links a module behind one that throws: all of it is read and compiled, and nothing of it runs.
async function linked(url) {
  const behind = `import "data:text/javascript,throw null"; import _ from ${JSON.stringify(url)};`;
  try {
    await import("data:text/javascript;base64," + encoder.encode(behind).toBase64());
  } catch (error) {
    return error === null ? null : error;
  }
}

const SHAPE = "Write: export default async function (input) { … }";

function uncompiled(error) {
  const whole = String(error?.message ?? error);
  if (/does not provide an export named 'default'/.test(whole)) return fail("compile", `There is no default export. ${SHAPE}`);
  const refused = /Requires \w+ access|specifiers? were requested|not a dependency|manifest for|[Uu]nsupported scheme|[Mm]odule not found|Unable to load/;
  if (refused.test(whole)) return fail("compile", "Imports are not available.", place(whole));
  const [message] = whole.replace(/^SyntaxError: /, "").split(/\n|,? at data:/);
  fail("compile", `SyntaxError: ${message}`, place(whole));
}

async function work({ task, code, input, output }) {
  most = output;
  const url = CODE + encoder.encode(code).toBase64();
  const error = await linked(url);
  if (error) return uncompiled(error);
  if (task === "check") return answer({ value: null });
  const { default: main } = await import(url);
  if (typeof main !== "function") return fail("compile", `The default export is no function. ${SHAPE}`);
  succeeded(await main(input));
}

async function serve() {
  const lines = received();
  await import(`${CODE}${encoder.encode("export default (0 as number)").toBase64()}`);
  send('{"ready":true}');
  const { value: job, done } = await lines.next();
  if (done) exit(0);
  addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    failed(event.reason);
  });
  addEventListener("error", (event) => {
    event.preventDefault();
    failed(event.error);
  });
  work(job).catch(failed);
  for await (const found of lines) {
    waiting.get(found.id)?.(found);
    waiting.delete(found.id);
  }
  exit(0);
}

await serve();
