// What is in a message: one JSON object, or plain text of apps that know none.

const textMax = 65_536;
const isHex = (value, digits) => typeof value === "string" && value.length === digits && /^[0-9a-f]*$/.test(value);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function cut(text) {
  const bytes = new TextEncoder().encode(text);
  return bytes.length <= textMax ? text
    : `${new TextDecoder().decode(bytes.subarray(0, textMax)).replace(/\ufffd+$/, "")}…`;
}

/** The members of a content that are what they have to be. */
export function readContent(bytes) {
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
    const { name, type, size, key } = file;
    content.file = { name: name.slice(0, 255), type: type.slice(0, 100), size, file: file.file, key };
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
  if (isHex(object.takenBack, 128)) content.takenBack = object.takenBack;
  if (object.changed === ".people") content.changed = object.changed;
  return content;
}

/** What of a content is shown, or undefined if nothing is. */
export const shownOf = ({ text, file, invitation }) =>
  text === undefined && !file && !invitation ? undefined : { text: text ?? "", file, invitation };

/** What a list of chats says of a message. */
export const summary = ({ text, file, invitation }) => text || file?.name || (invitation ? `Invitation to ${invitation.name}` : "");

/** The text of a content with one member; two of the same differ. */
export function contentOf(member) {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return JSON.stringify({ id, ...member });
}

/** Whether a text is short enough to be sent. */
export const fits = (text) => new TextEncoder().encode(text).length <= textMax;
