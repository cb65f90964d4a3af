// Linking a device: what the two devices compute, and leave for each other at the service.

import { t } from "./{{words.js}}";

const { agree, bytes, hex, join, text, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;
const label = (name) => utf8(`apptimist.2 ${name}\0`);
const box = (key, plain) => nacl.secretbox(plain, key.slice(32, 56), key.slice(0, 32));
const opened = (key, sealed) => nacl.secretbox.open(sealed, key.slice(32, 56), key.slice(0, 32));
const requestKey = (r, n) => nacl.hash(join(label("link request"), r, n));
const answerKey = (shared, r, o, n) => nacl.hash(join(label("link"), shared, r, o, n));

/** The part of a link behind `#link=`. */
export const codeOf = (r) => btoa(String.fromCharCode(...r)).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

/** The 32 bytes of a code, or null if it is none. */
export function readCode(code) {
  if (!/^[A-Za-z0-9_-]{43}$/.test(code)) return null;
  const r = Uint8Array.from(atob(code.replace(/-/g, "+").replace(/_/g, "/")), (sign) => sign.charCodeAt(0));
  return codeOf(r) === code ? r : null;
}

export const slotOf = (r) => hex(nacl.hash(join(label("link slot"), r)).slice(0, 16));

export const digitsOf = (r, n) => {
  const digest = nacl.hash(join(label("link digits"), r, n)).slice(0, 8);
  return String(BigInt(`0x${hex(digest)}`) % 1_000_000n).padStart(6, "0");
};

/** What the new device leaves: its key and name. */
export const request = (r, pair, name) => join(pair.publicKey, box(requestKey(r, pair.publicKey), utf8(name)));

/** The new device's key and name, or null if they aren't for this code. */
export function readRequest(r, part) {
  if (part.length < 49) return null;
  const key = part.slice(0, 32), name = opened(requestKey(r, key), part.slice(32));
  try { return name?.length >= 1 && name.length <= 64 ? { key, name: text(name) } : null; } catch { return null; }
}

/** What the old device leaves: the account; the pair is fresh, and given by nobody but tests. */
export function answer(r, n, account, pair = nacl.box.keyPair()) {
  const key = answerKey(agree(pair.secretKey, n), r, pair.publicKey, n);
  return join(pair.publicKey, box(key, utf8(account)));
}

/** The account's text, or null if it isn't for this code and device. */
export function readAnswer(r, pair, part) {
  if (part.length < 49) return null;
  const o = part.slice(0, 32);
  try {
    const account = opened(answerKey(agree(pair.secretKey, o), r, o, pair.publicKey), part.slice(32));
    return account && text(account);
  } catch {
    return null;
  }
}

/** Leaves a part at the service. */
export async function put(base, r, part, content) {
  const { status } = await fetch(`${base}/link/${slotOf(r)}/${part}`, { method: "PUT", body: content })
    .catch((error) => { throw new Error(t("The service can’t be reached."), { cause: error }); });
  if (status === 429) throw new Error(t("Too many devices are being linked here. Try again in ten minutes."));
  if (status !== 201) throw new Error(t("This link was used before. Begin again at the other device."));
}

/** Waits for a part, which is gone once it was read; null when ten minutes are over. */
export async function wait(base, r, part, signal) {
  for (const end = Date.now() + 600_000; Date.now() < end && !signal.aborted;) {
    const response = await fetch(`${base}/link/${slotOf(r)}/${part}`, { cache: "no-store", signal }).catch(() => null);
    if (response?.ok) return new Uint8Array(await response.arrayBuffer());
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  return null;
}
