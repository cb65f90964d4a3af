// Files and pictures in messages: made ready, sealed in pieces, and put together again.
import { FILE_MAX, THUMBNAIL_MAX } from "./{{contents.js}}";
import { t } from "./{{words.js}}";

const { nacl } = globalThis;
const { bytes, counterNonce, hex } = globalThis.apptimist;
const drawn = ["image/png", "image/jpeg", "image/webp"];

/** A name without path, control and format characters. */
export function savedName(name) {
  const last = name.split(/[/\\]/).at(-1).replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "").replace(/^[\s.]+/, "").trim();
  return [...last].slice(0, 100).join("") || "file";
}

const ascii = (data, at, length) => String.fromCharCode(...data.subarray(at, at + length));

function joined(parts) {
  const all = new Uint8Array(parts.reduce((count, { length }) => count + length, 0));
  let end = 0;
  for (const part of parts) { all.set(part, end); end += part.length; }
  return all;
}

/** A PNG without the chunks that say when, where and by what it was made; null if it is none. */
function barePNG(data) {
  if (hex(data.subarray(0, 8)) !== "89504e470d0a1a0a") return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length), parts = [data.subarray(0, 8)];
  for (let at = 8; at + 12 <= data.length;) {
    const length = view.getUint32(at), kind = ascii(data, at + 4, 4), end = at + 12 + length;
    if (end > data.length) return null;
    if (!["tEXt", "zTXt", "iTXt", "eXIf", "tIME"].includes(kind)) parts.push(data.subarray(at, end));
    at = end;
    if (kind === "IEND") return joined(parts);
  }
  return null;
}

/** A JPEG without the segments of cameras and programs; null if it is none, or says how it is to be turned. */
function bareJPEG(data) {
  if (data[0] !== 0xff || data[1] !== 0xd8) return null;
  const view = new DataView(data.buffer, data.byteOffset, data.length), parts = [data.subarray(0, 2)];
  for (let at = 2; at + 4 <= data.length;) {
    const mark = data[at + 1];
    if (data[at] !== 0xff) return null;
    if (mark === 0xda) return joined([...parts, data.subarray(at)]);
    const end = at + 2 + view.getUint16(at + 2), isColors = mark === 0xe2 && ascii(data, at + 4, 11) === "ICC_PROFILE";
    if (end > data.length) return null;
    if (mark === 0xe1 && ascii(data, at + 4, 4) === "Exif") return null;
    const isMetadata = mark >= 0xe1 && mark <= 0xef && mark !== 0xee && !isColors || mark === 0xfe;
    if (!isMetadata) parts.push(data.subarray(at, end));
    at = end;
  }
  return null;
}

const blobOf = (canvas, type, quality) => new Promise((resolve) => canvas.toBlob(resolve, type, quality));

function drawnAt(picture, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

/** A small picture of at most 16 KiB in base64, or nothing if it can't be had. */
async function thumbnail(picture) {
  for (let side = 480; side >= 60; side *= 0.7) {
    const canvas = drawnAt(picture, Math.min(1, side / Math.max(picture.width, picture.height)));
    for (const quality of [0.8, 0.5]) {
      const made = await blobOf(canvas, "image/webp", quality);
      if (!made || made.size > THUMBNAIL_MAX) continue;
      return btoa(String.fromCharCode(...new Uint8Array(await made.arrayBuffer())));
    }
  }
  return undefined;
}

/** A picture without metadata, as it is otherwise; smaller only where it would be larger than `max`. */
async function prepared(file, max) {
  if (!drawn.includes(file.type)) return { content: file };
  const picture = await createImageBitmap(file).catch(() => null);
  // No picture that a browser can read: a file as any other.
  if (!picture) return { content: new Blob([file], { type: "application/octet-stream" }) };
  const data = new Uint8Array(await file.arrayBuffer());
  const bare = { "image/png": barePNG, "image/jpeg": bareJPEG }[file.type]?.(data);
  let content = bare && new Blob([bare], { type: file.type });
  content ??= await blobOf(drawnAt(picture, 1), file.type, 0.92);
  for (let scale = 0.8; (!content || content.size > max) && scale > 0.05; scale *= 0.8) {
    content = await blobOf(drawnAt(picture, scale), file.type, 0.85);
  }
  return { content, width: picture.width, height: picture.height, thumbnail: await thumbnail(picture) };
}

/** What a message says of a file, and its sealed pieces of at most `pieceMax` bytes. */
export async function seal(file, pieceMax, max = FILE_MAX) {
  const { content, ...more } = await prepared(file, max);
  if (content.size > max) {
    throw new Error(t("A file has at most {size}.", { size: max >= 1 << 20 ? `${max >> 20} MiB` : `${Math.floor(max / 1024)} KiB` }));
  }
  const plain = new Uint8Array(await content.arrayBuffer().catch(() => {
    throw new Error(t("“{name}” can’t be read: it is a folder, or not there any more.", { name: file.name }));
  }));
  const key = nacl.randomBytes(32), parts = [];
  // Each piece has its own nonce: two boxes under one key and nonce would tell what they have in common.
  for (let at = 0; at < plain.length || !parts.length; at += pieceMax) {
    const data = nacl.secretbox(plain.subarray(at, at + pieceMax), counterNonce(parts.length), key);
    parts.push({ name: hex(nacl.randomBytes(16)), data });
    // Who writes goes on writing.
    if (parts.length % 2) await new Promise((resolve) => setTimeout(resolve));
  }
  const about = { name: savedName(file.name), type: content.type, size: plain.length, file: parts[0].name, key: hex(key), ...more };
  if (parts.length > 1) {
    about.pieces = parts.map(({ name }) => name);
    about.digest = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", plain)));
  }
  return { about, parts };
}

/** The bytes of a file, or null if they aren't what was sealed. */
export const open = ({ key }, data) => nacl.secretbox.open(data, counterNonce(0), bytes(key));

/** The bytes of a file in pieces, or null unless all of them are there as they were sealed. */
export async function openPieces(about, pieces) {
  if (!about.pieces) return open(about, pieces[0]);
  const key = bytes(about.key), parts = [];
  for (const [i, data] of pieces.entries()) {
    const part = nacl.secretbox.open(data, counterNonce(i), key) ?? nacl.secretbox.open(data, counterNonce(0), key);
    if (!part) return null;
    parts.push(part);
  }
  const plain = joined(parts);
  const digest = hex(new Uint8Array(await crypto.subtle.digest("SHA-256", plain)));
  return plain.length === about.size && digest === about.digest ? plain : null;
}

/** Gives bytes to the browser's user as a file. */
export function save(name, content) {
  const url = URL.createObjectURL(new Blob([content]));
  const link = Object.assign(document.createElement("a"), { href: url, download: savedName(name) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
