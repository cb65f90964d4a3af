// Whom the user allows, blocks and has verified: the private file, and the safety numbers.

const { agree, bytes, hex, join, text, uint, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;
const label = (name) => utf8(`apptimist.2 ${name}\0`);
const MARK = bytes("61707074696d0210");
const kinds = ["people", "forums", "devices", "files"];

const fileKey = (pin, pair, salt, name) => nacl.hash(join(
  label("private file"), agree(pair.secretKey, pair.publicKey), pin.encryptionKey, pair.publicKey, salt,
  uint(utf8(name).length, 1), utf8(name)));

/** Seals the private file; `salt` is given by nobody but tests. */
export function sealFile(pin, pair, name, plain, salt = nacl.randomBytes(32)) {
  const key = fileKey(pin, pair, salt, name);
  return join(MARK, salt, nacl.secretbox(utf8(plain), key.slice(32, 56), key.slice(0, 32)));
}

/** The text of the private file, or null if it doesn't open. */
export function openFile(pin, pair, name, content) {
  if (content.length < 56 || hex(content.slice(0, 8)) !== hex(MARK)) return null;
  const key = fileKey(pin, pair, content.slice(8, 40), name);
  const plain = nacl.secretbox.open(content.slice(40), key.slice(32, 56), key.slice(0, 32));
  try { return plain && text(plain); } catch { return null; }
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
/** The object with its keys in the order of their code units. */
const byKeys = (object) => Object.fromEntries(Object.keys(object).sort().map((key) => [key, object[key]]));
/** JSON with sorted keys and without blanks. */
export const sorted = (value) => JSON.stringify(value, (_, part) => isObject(part) ? byKeys(part) : part);

const isLater = (one, other) => one.time !== other.time ? (one.time ?? 0) > (other.time ?? 0) : sorted(one) > sorted(other);

/** Of two states of the file what both say: of each entry the later one, then the greater text. */
export function merge(a, b) {
  const merged = { ...a, ...b };
  for (const kind of kinds) {
    if (!isObject(a[kind]) && !isObject(b[kind])) continue;
    merged[kind] = Object.assign(Object.create(null), a[kind]);
    for (const [key, entry] of Object.entries(b[kind] ?? {})) {
      const mine = merged[kind][key];
      if (isObject(entry) && (!mine || isLater(entry, mine))) merged[kind][key] = entry;
    }
  }
  return merged;
}

/** What the file's text says, or null if it is no object of the right form. */
export function readPeople(plain) {
  try {
    const object = JSON.parse(plain);
    return isObject(object) && kinds.every((kind) => object[kind] === undefined || isObject(object[kind])
      && Object.values(object[kind]).every(isObject)) ? object : null;
  } catch {
    return null;
  }
}

function half(service, { key, authenticationKey }) {
  const k = join(key, authenticationKey);
  let digest = nacl.hash(join(label("safety number"), service, k));
  for (let round = 1; round < 5200; round++) digest = nacl.hash(join(digest, k));
  return [0, 5, 10, 15, 20, 25].map((at) =>
    String(digest.slice(at, at + 5).reduce((value, byte) => value * 256 + byte, 0) % 100_000).padStart(5, "0")).join(" ");
}

/** The number that two users compare; each has `key` and `authenticationKey`, `service` is its encryption key. */
export const safetyNumber = (service, a, b) => [half(service, a), half(service, b)].sort().join(" ");
