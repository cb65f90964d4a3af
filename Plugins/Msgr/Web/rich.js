// What programs send: titles, Markdown, tags, actions and files. Everything is text, never markup of others.
import { bdi, button, copy, day, element, fileSize, icon, linked, sure, t, time } from "./{{page.js}}";

// The emoji by the short codes that tags are, as soon as a tag was seen.
const emojis = new Map();
let reading;

/** Reads the short codes, once; `changed` is called when they are there. */
function readEmojis(changed) {
  reading ??= fetch("{{short-codes.txt}}").then((response) => response.ok ? response.text() : Promise.reject(new Error("no codes")))
    .then((text) => {
      for (const line of text.split("\n")) {
        const [emoji, ...codes] = line.split(" ");
        for (const code of codes) emojis.set(code, emoji);
      }
      changed();
    }).catch(() => { reading = undefined; });
}

const unsafe = /^(javascript|data|file|vbscript|blob|about|content|intent):/i;
/** Whether a link may be followed: it runs nothing here, and leads where it seems to. */
export function isSafeLink(link) {
  if (typeof link !== "string" || !/^[a-z][a-z0-9+.-]{1,31}:/i.test(link) || unsafe.test(link)) return false;
  if (!URL.canParse(link) || /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]/u.test(link)) return false;
  const { username, password } = new URL(link);
  if (username || password) return false;
  if (!/^https?:/i.test(link)) return true;
  // What deceives by its beginning is no link in a text.
  const beginning = /^https?:\/\/[^/?#]*/i.exec(link)?.[0] ?? "";
  const [found, ...rest] = linked(`${beginning}/`);
  return Boolean(found?.href) && !rest.length;
}

/** Whether the text of a link names another place than the one where it leads, as `https://bank.example` could. */
function namesAnotherPlace(label, address) {
  const name = /^\s*(?:(https?):\/\/|www\.)|^\s*(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}(?=[\s/?#:]|$)/iu.exec(label);
  if (!name) return label.includes("://");
  const written = name[1] ? label.trim() : `https://${label.trim()}`;
  const hosts = [written, address].map((one) => URL.canParse(one) ? new URL(one).host.replace(/^www\./, "") : "");
  return hosts[0] !== hosts[1] || /[@\\]/.test(written.split(/[/?#]/)[2] ?? "");
}

const anchor = (href, ...children) => {
  const made = element("a", { href, rel: "noopener noreferrer", target: "_blank" });
  made.append(...children);
  return made;
};

/** A line of Markdown: addresses, code, links, bold, italic; pictures and HTML stay text. */
function inline(text) {
  const parts = [], form = /https?:\/\/[^\s<>"“”«»]+|`([^`]+)`|(!?)\[([^\]]*)\]\(([^()\s]+(?:\([^()\s]*\))?)\)|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|(?<![\p{L}\p{N}])_([^_\s][^_]*)_(?![\p{L}\p{N}])|~~([^~]+)~~/gu;
  let end = 0;
  for (const found of text.matchAll(form)) {
    const [whole, code, isPicture, label, address, bold, bold2, italic, italic2, struck] = found;
    parts.push(...linked(text.slice(end, found.index)));
    end = found.index + whole.length;
    // What looks like Markdown within an address belongs to it.
    if (/^https?:/i.test(whole)) parts.push(...linked(whole));
    else if (code) parts.push(element("code", { text: code }));
    else if (address && !isSafeLink(address)) parts.push(whole);
    else if (address) parts.push(anchor(address, !label || namesAnotherPlace(label, address) ? address : label));
    else if (bold ?? bold2) parts.push(element("strong", {}, ...inline(bold ?? bold2)));
    else if (italic ?? italic2) parts.push(element("em", {}, ...inline(italic ?? italic2)));
    else parts.push(element("s", {}, ...inline(struck)));
  }
  return [...parts, ...linked(text.slice(end))];
}

/** A text in Markdown as nodes. */
export function markdown(text) {
  const blocks = [], lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    if (/^```/.test(line)) {
      const code = [];
      while (++i < lines.length && !/^```/.test(lines[i])) code.push(lines[i]);
      // The block has room around it by itself.
      while (blocks.at(-1) === "\n") blocks.pop();
      blocks.push(element("pre", { tabIndex: 0 }, element("code", { text: code.join("\n") })));
      if (lines[i + 1] === "") i++;
      continue;
    }
    const heading = /^#{1,6}\s+(.*)/.exec(line), item = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)/.exec(line), quote = /^>\s?(.*)/.exec(line);
    if (heading) blocks.push(element("strong", {}, ...inline(heading[1])), "\n");
    else if (item) blocks.push(`${item[1] ? `${item[1]}.` : "•"} `, ...inline(item[2]), "\n");
    else if (quote) blocks.push(element("em", {}, ...inline(quote[1])), "\n");
    else blocks.push(...inline(line), "\n");
  }
  while (blocks.at(-1) === "\n") blocks.pop();
  return blocks;
}

/** How many short codes are known: a message with tags is shown anew when it has changed. */
export const knownSigns = () => emojis.size;

/** The emoji of the tags, and the tags that are words. */
export function tagsOf({ Tags = [] }) {
  const known = Tags.filter((tag) => emojis.has(tag)).map((tag) => emojis.get(tag));
  return { signs: known.join(" "), words: Tags.filter((tag) => !emojis.has(tag)) };
}

/** A file, and until when it is kept. */
function attachment({ Name, Size, Expires, Url }) {
  const isGone = Boolean(Expires) && Expires < Date.now() / 1000;
  const until = Expires ? t("until {day}", { day: `${day(Expires)}, ${time(Expires)}` }) : "";
  const about = [Size ? fileSize(Size) : "", isGone ? t("is not kept any more") : until];
  const made = element("div", { className: "file" }, icon("file"), element("span", { className: "about" }, bdi(Name ?? "file"),
    element("small", { text: about.filter(Boolean).join(" · ") })));
  if (!isGone && /^https?:\/\//i.test(Url ?? "") && isSafeLink(Url)) made.append(anchor(Url, t("Open")));
  return made;
}

/** What a message asks to be done; requests to others only after a question. */
function action({ action: kind, label, url, method = "POST", headers, body, value }, say) {
  if (kind === "view" && isSafeLink(url)) return anchor(url, namesAnotherPlace(label ?? "", url) ? url : label);
  if (kind === "copy") {
    const copying = button(label, () => copy(value ?? "", copying));
    return copying;
  }
  if (kind !== "http" || !/^https?:\/\//i.test(url ?? "")) return null;
  return button(label, async () => {
    const question = t("The program that wrote this asks for a {method} request to {host}.", { method, host: new URL(url).host });
    if (!await sure(question, t("Send"))) return;
    try {
      const response = await fetch(url, { method, headers, body: ["GET", "HEAD"].includes(method) ? undefined : body, referrerPolicy: "no-referrer", credentials: "omit" });
      say(t("{host} answered with {status}.", { host: new URL(url).host, status: response.status }));
    } catch {
      say(t("{host} can’t be asked from this page.", { host: new URL(url).host }));
    }
  });
}

/** What a text answers, which it begins with as letters do, and the rest. */
function quoted(text) {
  const lines = text.split("\n"), end = lines.findIndex((line) => !line.startsWith("> "));
  return end > 0 ? { quote: lines.slice(0, end).map((line) => line.slice(2)).join(" "), text: lines.slice(end).join("\n") } : { text };
}

/** What a message says, without what only Markdown needs, and without what it answers. */
export const plainText = ({ Markdown, Message = "" }) =>
  Markdown ? element("p", {}, ...markdown(Message)).textContent : quoted(Message).text;

/** The parts of a message, its sender apart; `changed` is called when they would be others now. */
export function parts(message, say, changed) {
  if (message.Tags?.length && !emojis.size) readEmojis(changed);
  const { signs, words } = tagsOf(message), made = [];
  const title = [signs, message.Title].filter(Boolean).join(" ");
  if (message.Title) made.push(element("p", { className: "title", text: title, dir: "auto" }));
  const before = !message.Title && signs ? [`${signs} `] : [];
  const { quote, text } = quoted(message.Markdown ? "" : message.Message ?? "");
  if (quote) made.push(element("div", { className: "quote", dir: "auto", text: quote }));
  const content = message.Markdown ? markdown(message.Message ?? "") : linked(text);
  made.push(element("p", { dir: "auto", data: { text: "" } }, ...before, ...content));
  if (isSafeLink(message.Link)) made.push(element("div", {}, anchor(message.Link, message.Link)));
  if (message.Attachment) made.push(attachment(message.Attachment));
  const actions = (message.Actions ?? []).map((one) => action(one, say)).filter(Boolean);
  if (actions.length) made.push(element("div", { className: "row" }, ...actions));
  if (words.length) made.push(element("div", { className: "quiet", text: words.join(", ") }));
  return made;
}
