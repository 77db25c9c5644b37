type Format = "base64" | "hex" | "url" | "html";
type Input = { text: string; format: Format; direction: "encode" | "decode" };

export default function (input: Input): string {
  return (input.direction === "encode" ? ENCODE : DECODE)[input.format](input.text);
}

const ENCODE: Record<Format, (text: string) => string> = {
  base64: (text) => btoa(Array.from(utf8(text), (byte) => String.fromCharCode(byte)).join("")),
  hex: (text) => Array.from(utf8(text), (byte) => byte.toString(16).padStart(2, "0")).join(""),
  url: (text) => encodeURIComponent(text.toWellFormed()),
  html: (text) => text.replace(/[&<>"']/g, (letter) => ESCAPES[letter]),
};

const DECODE: Record<Format, (text: string) => string> = {
  base64(text) {
    // The variant for addresses ("-" and "_", no "=") is taken as well.
    const plain = text.replace(/\s+/g, "").replace(/-/g, "+").replace(/_/g, "/").replace(/=+$/, "");
    if (!/^[A-Za-z0-9+/]*$/.test(plain) || plain.length % 4 === 1) throw new Error("This is not Base64.");
    return fromUtf8(Uint8Array.from(atob(plain), (letter) => letter.charCodeAt(0)), "Base64");
  },
  hex(text) {
    const plain = text.replace(/\s+|^0x/gi, "");
    if (!/^([0-9a-f]{2})*$/i.test(plain)) throw new Error("This is not hexadecimal: pairs of 0-9 and a-f.");
    return fromUtf8(Uint8Array.from(plain.match(/../g) ?? [], (pair) => parseInt(pair, 16)), "hexadecimal");
  },
  url(text) {
    try {
      return decodeURIComponent(text.replace(/\+/g, " "));
    } catch {
      throw new Error("This is not URL encoding: a % must begin two hexadecimal digits, and all of them be UTF-8.");
    }
  },
  html: (text) => text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|[a-z]+\d*);/gi, entity),
};

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
const NAMED: Record<string, string> = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", copy: "©", reg: "®", trade: "™", deg: "°",
  middot: "·", bull: "•", hellip: "…", ndash: "–", mdash: "—", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”",
  laquo: "«", raquo: "»", times: "×", divide: "÷", plusmn: "±", euro: "€", pound: "£", yen: "¥", cent: "¢", sect: "§",
};

// What is no entity that is known here stays as it is, as in a browser.
function entity(whole: string, name: string): string {
  if (!name.startsWith("#")) return Object.hasOwn(NAMED, name) ? NAMED[name] : whole;
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  const valid = code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return valid ? String.fromCodePoint(code) : whole;
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function fromUtf8(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`The ${what} is right, but what it stands for is no text in UTF-8.`);
  }
}
