// The client of somebody else's A2A (@a2a-js/sdk) against our server: by every binding and version that our card names.
// Prints one JSON object a line for each thing that it tries.

import { pathToFileURL } from "node:url";

const [, , modules, base, key] = process.argv;
const load = (file) => import(pathToFileURL(`${modules}/@a2a-js/sdk/dist/${file}`));
const { SendMessageRequest, Task, StreamResponse } = await load("index.js");
const { ClientFactory, JsonRpcTransportFactory, RestTransportFactory, DefaultAgentCardResolver } =
  await load("client/index.js");

const withKey = (given, init = {}) => {
  const headers = new Headers(init.headers);
  headers.set("authorization", `Bearer ${key}`);
  return fetch(given, { ...init, headers });
};
const say = (text, more = {}) =>
  SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: "ROLE_USER", parts: [{ text }], ...more },
  });
const tell = (name, ok, why = "") => console.log(JSON.stringify({ name, ok, why: String(why).slice(0, 300) }));
const attempt = async (name, what) => {
  try {
    tell(name, true, (await what()) ?? "");
  } catch (error) {
    tell(name, false, error?.stack ?? error);
  }
};
const expect = (value, wanted) => {
  if (value !== wanted) throw new Error(`${JSON.stringify(value)} is not ${JSON.stringify(wanted)}`);
};
const task = (result) => Task.toJSON(result.task ?? result);
const words = (told) => (told.artifacts ?? []).flatMap((one) => one.parts.map((part) => part.text)).join("");

const card = await (await fetch(`${base}/.well-known/agent-card.json`)).json();

const tries = async (name, transports, wanted) => {
  const chosen = { ...card, supportedInterfaces: card.supportedInterfaces.filter(wanted) };
  const fetchImpl = (given, init) =>
    String(given).endsWith("agent-card.json")
      ? Promise.resolve(new Response(JSON.stringify(chosen), { headers: { "content-type": "application/json" } }))
      : withKey(given, init);
  const cardResolver = new DefaultAgentCardResolver({ fetchImpl, legacyCompat: { enabled: true } });
  const client = await new ClientFactory({ transports: transports(withKey), cardResolver }).createFromUrl(base);
  let known;
  await attempt(`${name}: a question and its answer`, async () => {
    known = task(await client.sendMessage(say("小林哪天有空？")));
    expect(known.status.state, "TASK_STATE_COMPLETED");
    expect(words(known), "周三下午有空。");
  });
  await attempt(`${name}: the task again`, async () => {
    expect(task(await client.getTask({ id: known.id })).status.state, "TASK_STATE_COMPLETED");
  });
  await attempt(`${name}: a stream from the task to its end`, async () => {
    const kinds = [];
    for await (const event of client.sendMessageStream(say("小林哪天有空？", { contextId: known.contextId }))) {
      kinds.push(Object.keys(StreamResponse.toJSON(event))[0]);
    }
    expect(kinds[0], "task");
    expect(kinds.at(-1), "statusUpdate");
    expect(kinds.includes("artifactUpdate"), true);
  });
  await attempt(`${name}: a task that is there is canceled`, async () => {
    const request = say("慢慢想");
    request.configuration = { ...SendMessageRequest.fromJSON({ configuration: {} }).configuration };
    request.configuration.returnImmediately = true;
    const begun = task(await client.sendMessage(request));
    expect(task(await client.cancelTask({ id: begun.id })).status.state, "TASK_STATE_CANCELED");
  });
  await attempt(`${name}: a task that is not there is not found`, async () => {
    try {
      await client.getTask({ id: "task_none" });
    } catch (error) {
      expect(/not.?found/i.test(`${error.name} ${error.message}`), true);
      return;
    }
    throw new Error("it was found");
  });
};

const jsonRpc = (fetchImpl) => [new JsonRpcTransportFactory({ fetchImpl, legacyCompat: { enabled: true } })];
const rest = (fetchImpl) => [new RestTransportFactory({ fetchImpl })];
await tries("JSON-RPC 1.0", jsonRpc, (one) => one.protocolBinding === "JSONRPC" && one.protocolVersion === "1.0");
await tries("HTTP+JSON 1.0", rest, (one) => one.protocolBinding === "HTTP+JSON");
await tries("JSON-RPC 0.3", jsonRpc, (one) => one.protocolBinding === "JSONRPC" && one.protocolVersion === "0.3");

await attempt("without a key nobody gets in", async () => {
  const client = await new ClientFactory({
    transports: [new JsonRpcTransportFactory()],
    cardResolver: new DefaultAgentCardResolver(),
  }).createFromUrl(base);
  try {
    await client.sendMessage(say("小林哪天有空？"));
  } catch {
    return;
  }
  throw new Error("it got in");
});
