// Files and pictures in messages.

const { nacl } = globalThis;
const { bytes, hex } = globalThis.apptimist;
const ZERO = new Uint8Array(24);
const drawn = ["image/png", "image/jpeg", "image/webp"];

/** A name without path, control and format characters. */
export function savedName(name) {
  const last = name.split(/[/\\]/).at(-1).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").replace(/^[\s.]+/, "").trim();
  return [...last].slice(0, 100).join("") || "file";
}

/** A picture without metadata, and no larger than `max` bytes; other files as they are. */
async function prepared(file, max) {
  if (!drawn.includes(file.type)) return file;
  const picture = await createImageBitmap(file);
  for (let scale = Math.min(1, 2560 / Math.max(picture.width, picture.height)); ; scale *= 0.7) {
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(picture.width * scale));
    canvas.height = Math.max(1, Math.round(picture.height * scale));
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    const made = await new Promise((resolve) => canvas.toBlob(resolve, file.type, 0.85));
    if (made.size <= max || canvas.width === 1) return made;
  }
}

/** What a message says of a file, and its sealed bytes; a file of more than `max` bytes is refused. */
export async function seal(file, max) {
  const content = await prepared(file, max).catch(() => { throw new Error("This is no picture that the browser can read."); });
  if (content.size > max) throw new Error(`A file has at most ${Math.floor(max / 1024)} KiB.`);
  const plain = new Uint8Array(await content.arrayBuffer()), key = nacl.randomBytes(32);
  return {
    about: {
      name: savedName(file.name), type: content.type, size: plain.length, file: hex(nacl.randomBytes(16)), key: hex(key),
    },
    data: nacl.secretbox(plain, ZERO, key),
  };
}

/** The bytes of a file, or null if they aren't what was sealed. */
export const open = ({ key }, data) => nacl.secretbox.open(data, ZERO, bytes(key));
