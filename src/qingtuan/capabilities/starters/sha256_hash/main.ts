type Input = { text: string; algorithm?: "sha256" | "md5" | "sha1" | "sha512" };

const SUBTLE = { sha1: "SHA-1", sha256: "SHA-256", sha512: "SHA-512" } as const;

export default async function (input: Input): Promise<string> {
  const bytes = new TextEncoder().encode(input.text);
  const algorithm = input.algorithm ?? "sha256";
  if (algorithm === "md5") return hex(md5(bytes));
  return hex(new Uint8Array(await crypto.subtle.digest(SUBTLE[algorithm], bytes)));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// RFC 1321. The browser's cryptography leaves MD5 out, for it protects nothing any more; as a checksum it is still asked for.
const SHIFTS = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
const SINES = Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0);

function md5(bytes: Uint8Array): Uint8Array {
  const padded = new Uint8Array((((bytes.length + 8) >> 6) + 1) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n, true);
  const state = [0x67452301, 0xefcdab89 | 0, 0x98badcfe | 0, 0x10325476];
  for (let at = 0; at < padded.length; at += 64) {
    const words = Array.from({ length: 16 }, (_, word) => view.getInt32(at + 4 * word, true));
    let [a, b, c, d] = state;
    for (let step = 0; step < 64; step++) {
      const round = step >> 4;
      const mixed = [(b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d, c ^ (b | ~d)][round];
      const word = words[[step, 5 * step + 1, 3 * step + 5, 7 * step][round] & 15];
      const sum = (a + mixed + SINES[step] + word) | 0;
      const shift = SHIFTS[round][step & 3];
      [a, d, c, b] = [d, c, b, (b + ((sum << shift) | (sum >>> (32 - shift)))) | 0];
    }
    [a, b, c, d].forEach((value, index) => (state[index] = (state[index] + value) | 0));
  }
  const digest = new DataView(new ArrayBuffer(16));
  state.forEach((value, index) => digest.setInt32(4 * index, value, true));
  return new Uint8Array(digest.buffer);
}
