// Keys of passphrases.

const { utf8 } = globalThis.apptimist;
export const ITERATIONS = 1_000_000;

const condensed = (passphrase) => passphrase.normalize("NFKC").replace(/\p{White_Space}+/gu, "");

/** Whether a passphrase is long enough. */
export const isLong = (passphrase, least = 12) => [...condensed(passphrase)].length >= least;

export async function keyOf(passphrase, salt, iterations) {
  const base = await crypto.subtle.importKey("raw", utf8(condensed(passphrase)), "PBKDF2", false, ["deriveBits"]);
  return new Uint8Array(await crypto.subtle.deriveBits({ name: "PBKDF2", hash: "SHA-512", salt, iterations }, base, 256));
}
