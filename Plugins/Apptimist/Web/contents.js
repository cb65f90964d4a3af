// What is in a message: one JSON object, or plain text of apps that know none.
import { t } from "./{{words.js}}";

const textMax = 65_536;
/** The seconds within which an own message may be edited. */
export const EDIT_TIME = 3600;
/** The most bytes of a thumbnail, and of a file. */
export const THUMBNAIL_MAX = 16_384, FILE_MAX = 25 << 20;
const isHex = (value, digits) => typeof value === "string" && value.length === digits && /^[0-9a-f]*$/.test(value);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function cut(text) {
  const bytes = new TextEncoder().encode(text);
  return bytes.length <= textMax ? text
    : `${new TextDecoder().decode(bytes.subarray(0, textMax)).replace(/\ufffd+$/, "")}…`;
}

/** The members of a content that are what they have to be. */
export function readContent(bytes, time) {
  let text;
  try { text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes); } catch { return {}; }
  let object;
  try { object = JSON.parse(text); } catch { /* Plain text. */ }
  if (!isObject(object)) return { text: cut(text) };
  const content = {};
  if (typeof object.text === "string") content.text = cut(object.text);
  const { file, sent, invitation, published } = object;
  if (isObject(file) && typeof file.name === "string" && typeof file.type === "string" && Number.isSafeInteger(file.size)
    && file.size >= 0 && isHex(file.file, 32) && isHex(file.key, 64)) {
    const { name, type, size, key, pieces, digest, thumbnail, width, height } = file;
    content.file = { name: name.slice(0, 255), type: type.slice(0, 100), size, file: file.file, key };
    if (pieces !== undefined) {
      const isWhole = Array.isArray(pieces) && pieces.length >= 1 && pieces.length <= 4096 && pieces.every((one) => isHex(one, 32))
        && isHex(digest, 64) && size <= FILE_MAX;
      // A file that can't be put together is none.
      if (isWhole) Object.assign(content.file, { pieces: [...pieces], digest }); else delete content.file;
    }
    if (content.file && typeof thumbnail === "string" && thumbnail.length <= THUMBNAIL_MAX / 3 * 4 + 4
      && /^[A-Za-z0-9+/]+={0,2}$/.test(thumbnail)) content.file.thumbnail = thumbnail;
    const isSide = (side) => Number.isSafeInteger(side) && side > 0 && side <= 100_000;
    if (content.file && isSide(width) && isSide(height)) Object.assign(content.file, { width, height });
  }
  if (isObject(sent) && isHex(sent.to, 64) && Number.isSafeInteger(sent.time) && sent.time >= 0
    && isHex(sent.messageID, 128) && typeof sent.content === "string") {
    content.sent = { to: sent.to, time: sent.time, messageID: sent.messageID, content: sent.content };
  }
  if (isObject(invitation) && isHex(invitation.forum, 64) && isHex(invitation.secret, 64) && typeof invitation.name === "string") {
    content.invitation = { forum: invitation.forum, secret: invitation.secret, name: invitation.name.slice(0, 255) };
  }
  if (isObject(published) && isHex(published.from, 64) && Number.isSafeInteger(published.time) && published.time >= 0
    && isHex(published.signature, 128) && typeof published.content === "string") {
    const { from, time, signature } = published;
    content.published = { from, time, signature, content: published.content };
  }
  for (const name of ["left", "mayIRead"]) if (isHex(object[name], 64)) content[name] = object[name];
  const { reply, reaction, edit } = object;
  if (isObject(reply) && isHex(reply.to, 128) && typeof reply.text === "string") {
    content.reply = { to: reply.to, text: [...reply.text].slice(0, 100).join("") };
  }
  if (isObject(reaction) && isHex(reaction.to, 128) && isEmoji(reaction.emoji)) {
    content.reaction = { to: reaction.to, emoji: reaction.emoji };
  }
  if (isObject(edit) && isHex(edit.of, 128) && typeof edit.text === "string" && edit.text.trim() && time !== undefined) {
    content.edit = { of: edit.of, text: cut(edit.text), time };
  }
  if (isHex(object.takenBack, 128)) content.takenBack = object.takenBack;
  if (object.changed === ".people") content.changed = object.changed;
  return content;
}

/** What of a content is shown, or undefined if nothing is. */
export const shownOf = ({ text, file, invitation, reply }) =>
  text === undefined && !file && !invitation ? undefined : { text: text ?? "", file, invitation, reply };

/** One emoji, or "", which takes a reaction back. */
function isEmoji(text) {
  if (text === "") return true;
  if (typeof text !== "string" || text.length > 40 || !/\p{Extended_Pictographic}|\p{Regional_Indicator}{2}|^[0-9#*]\ufe0f?\u20e3$/u.test(text)) return false;
  return [...new Intl.Segmenter().segment(text)].length === 1;
}

/** When a message counts as said: what comes late, or from a clock that is ahead, when it came. */
export const momentOf = ({ doubt, came, time }) => doubt ? came ?? time : time;

/** What a list of chats says of a message. */
export const summary = ({ text, file, invitation }) =>
  text || file?.name || (invitation ? t("Invitation to {name}", { name: invitation.name }) : "");

/** The text of a content with one member; two of the same differ. */
export function contentOf(member) {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return JSON.stringify({ id, ...member });
}

/** Whether a text is short enough to be sent. */
export const fits = (text) => new TextEncoder().encode(text).length <= textMax;
