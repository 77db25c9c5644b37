// Runs Tencent's own WeChat client, one function after the other, against the server that it is given, and prints what
// each came to as a line of JSON.
//
//   node weixin.mjs PLAN    PLAN: {package, base, cdn, token, user, folder}

import fs from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";

const plan = JSON.parse(process.argv[2]);
const load = (file) => import(pathToFileURL(path.join(plan.package, "dist/src", file)));

// Logging in asks one fixed address; here it is the server that was given.
const real = globalThis.fetch;
globalThis.fetch = (url, options) => real(String(url).replace("https://ilinkai.weixin.qq.com", plan.base), options);

const api = await load("api/api.js");
const { uploadFileAttachmentToWeixin } = await load("cdn/upload.js");
const { downloadAndDecryptBuffer } = await load("cdn/pic-decrypt.js");
const { sendMessageWeixin, sendFileMessageWeixin } = await load("messaging/send.js");
const { getWeixinMessageId, weixinMessageToMsgContext } = await load("messaging/inbound.js");
const login = await load("auth/login-qr.js");

const to = { baseUrl: plan.base, token: plan.token };
const data = Buffer.alloc(70001, "qingtuan ");
let cursor = "";
let message;
let uploaded;

const steps = {
    begin: async () => (await api.notifyStart(to)).ret,
    receive: async () => {
        const got = await api.getUpdates({ ...to, get_updates_buf: cursor, timeoutMs: 10000 });
        cursor = got.get_updates_buf;
        message = got.msgs[0];
        const context = weixinMessageToMsgContext(message, "bot");
        return { count: got.msgs.length, id: getWeixinMessageId(message), body: context.Body, hold: got.longpolling_timeout_ms };
    },
    wait: async () => {
        const got = await api.getUpdates({ ...to, get_updates_buf: cursor, timeoutMs: 10000 });
        return { count: got.msgs.length, ret: got.ret };
    },
    type: async () => {
        const config = await api.getConfig({ ...to, ilinkUserId: plan.user, contextToken: message.context_token });
        for (const status of [1, 2]) {
            const body = { ilink_user_id: plan.user, typing_ticket: config.typing_ticket, status };
            await api.sendTyping({ ...to, body });
        }
        return config.typing_ticket.length > 0;
    },
    say: async () => {
        const opts = { ...to, contextToken: message.context_token };
        return (await sendMessageWeixin({ to: plan.user, text: "腾讯的客户端说", opts })).serverMessageId;
    },
    upload: async () => {
        const filePath = path.join(plan.folder, "file.bin");
        await fs.writeFile(filePath, data);
        uploaded = await uploadFileAttachmentToWeixin({ filePath, toUserId: plan.user, opts: to, cdnBaseUrl: plan.cdn });
        const opts = { ...to, contextToken: message.context_token };
        await sendFileMessageWeixin({ to: plan.user, text: "", fileName: "file.bin", uploaded, opts });
        return [uploaded.fileSize, uploaded.fileSizeCiphertext];
    },
    download: async () => {
        const key = Buffer.from(uploaded.aeskey).toString("base64");
        const got = await downloadAndDecryptBuffer(uploaded.downloadEncryptedQueryParam, key, plan.cdn, "peers");
        return got.equals(data);
    },
    ours: async () => {
        const media = plan.ours;
        const got = await downloadAndDecryptBuffer(media.encrypt_query_param, media.aes_key, plan.cdn, "peers");
        return got.toString("utf-8");
    },
    end: async () => (await api.notifyStop(to)).ret,
    login: async () => {
        const begun = await login.startWeixinLoginWithQr({});
        const got = await login.waitForWeixinLogin({ sessionKey: begun.sessionKey, timeoutMs: 20000 });
        return { link: begun.qrcodeUrl, connected: got.connected, account: got.accountId, user: got.userId, base: got.baseUrl };
    },
};

for (const [name, step] of Object.entries(steps)) {
    try {
        process.stdout.write(`\n${JSON.stringify({ name, value: await step() })}\n`);
    } catch (error) {
        process.stdout.write(`\n${JSON.stringify({ name, error: String(error) })}\n`);
    }
}
process.exit(0);
