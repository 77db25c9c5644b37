// Somebody else's Telegram (telegram-test-api) on a free port, with what it leaves out: who the bot is, updates that
// stay until they are confirmed and that are waited for, the typing sign. Prints the port, and ends with its input.

import { createServer } from "node:http";
import { createRequire } from "node:module";

const TelegramServer = createRequire(`${process.argv[2]}/`)("telegram-test-api");
const server = new TelegramServer({ host: "127.0.0.1", port: 1 });
const pending = [];
const seen = { typing: 0, edits: 0 };

const read = async (request) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  return pieces.length ? JSON.parse(Buffer.concat(pieces).toString()) : {};
};

const arrived = (milliseconds) =>
  new Promise((resolve) => {
    const names = ["AddedUserMessage", "AddedUserCommand", "AddedUserCallbackQuery"];
    const done = () => {
      clearTimeout(timer);
      names.forEach((name) => server.off(name, done));
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    names.forEach((name) => server.on(name, done));
  });

const methods = {
  getMe: () => ({ id: 666, is_bot: true, first_name: "Bot", username: "TestNameBot", can_read_all_group_messages: true }),
  sendChatAction: () => {
    seen.typing += 1;
    return true;
  },
  editMessageText: (given) => {
    seen.edits += 1;
    server.editMessageText(given);
    return { message_id: given.message_id, chat: { id: given.chat_id, type: "private" }, date: 1, text: given.text };
  },
  getUpdates: async ({ offset = 0, timeout = 0 }, token) => {
    const take = () => pending.push(...server.getUpdates(token));
    take();
    while (pending.length && pending[0].update_id < offset) pending.shift();
    if (!pending.length && timeout) {
      await arrived(timeout * 1000);
      take();
    }
    return pending;
  },
};

const listening = createServer(async (request, response) => {
  const [, token, method] = request.url.match(/^\/bot([^/]+)\/(\w+)/) ?? [];
  if (request.url === "/seen") return response.end(JSON.stringify(seen));
  if (!(method in methods)) return server.webServer(request, response);
  const result = await methods[method](await read(request), token);
  response.setHeader("Content-Type", "application/json");
  return response.end(JSON.stringify({ ok: true, result }));
});
listening.listen(0, "127.0.0.1", () => console.log(listening.address().port));
process.stdin.resume().on("end", () => process.exit(0));
