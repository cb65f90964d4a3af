// The account with its people and messages in one file, which a passphrase opens.
import { isLong, ITERATIONS, keyOf } from "./{{passphrase.js}}";

export { isLong };
const { hex, join, text, uint, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;
const HEAD = utf8("apptimist export 1\n");
const ZERO = new Uint8Array(24);

/** Thirty random digits, in groups of five. */
export function proposal() {
  let digits = "";
  while (digits.length < 30) {
    // As many of 250 values for each digit.
    for (const byte of nacl.randomBytes(30)) if (byte < 250 && digits.length < 30) digits += byte % 10;
  }
  return digits.match(/.{5}/g).join(" ");
}

/** Seals the text; what comes last is given by nobody but tests. */
export async function seal(passphrase, plain, salt = nacl.randomBytes(32), iterations = ITERATIONS) {
  return join(HEAD, uint(iterations, 4), salt, nacl.secretbox(utf8(plain), ZERO, await keyOf(passphrase, salt, iterations)));
}

/** The text of an export, or null if it is none, or the passphrase is another. */
export async function open(passphrase, file) {
  const start = HEAD.length;
  if (file.length < start + 52 || hex(file.slice(0, start)) !== hex(HEAD)) return null;
  const iterations = new DataView(file.buffer, file.byteOffset + start, 4).getUint32(0);
  if (iterations < 100_000 || iterations > 10_000_000) return null;
  const key = await keyOf(passphrase, file.slice(start + 4, start + 36), iterations);
  const plain = nacl.secretbox.open(file.slice(start + 36), ZERO, key);
  try { return plain && text(plain); } catch { return null; }
}

const isHex = (value, digits) => typeof value === "string" && value.length === digits && /^[0-9a-f]*$/.test(value);

/** What the text of an account says, or null if something is not as it has to be. */
export function readAccount(plain) {
  try {
    const account = JSON.parse(plain), { service } = account;
    const isRight = isHex(account.encryptionSecret, 64) && isHex(account.authenticationSeed, 64)
      && typeof account.name === "string" && isHex(service.encryptionKey, 64) && isHex(service.authenticationKey, 64);
    return isRight ? account : null;
  } catch {
    return null;
  }
}

/** What an export's text says, or null if something is not as it has to be. */
export function readExport(plain) {
  try {
    const { account, people, messages } = JSON.parse(plain);
    return readAccount(JSON.stringify(account)) && Array.isArray(messages)
      ? { account, people, messages: messages.filter(isMessage) } : null;
  } catch {
    return null;
  }
}

const isMessage = (message) => message && Number.isSafeInteger(message.time) && message.time >= 0
  && isHex(message.from, 64) && isHex(message.to, 64) && isHex(message.messageID, 128) && typeof message.content === "string";

/** Gives a file to the browser's user. */
export function save(name, content) {
  const url = URL.createObjectURL(new Blob([content]));
  const link = Object.assign(document.createElement("a"), { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

