// What the views of every app of people are made with. Whatever others write is set as text, never as markup.
import { icon } from "./{{icons.js}}";
import { choose, language, languages, t } from "./{{words.js}}";

export { icon, placeIcons } from "./{{icons.js}}";
export { choose, language, languages, nodes, t, translate } from "./{{words.js}}";

export const $ = (id) => document.getElementById(id);
export const element = (name, { text, data, ...properties } = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  Object.assign(made.dataset, data);
  made.append(...children);
  return made;
};
/** A button that does something. */
export const button = (text, act, className = "second") => {
  const made = element("button", { text, className, type: "button" });
  made.addEventListener("click", act);
  return made;
};
/** A button that shows an icon; its name is said, and shown as a tooltip. */
export function iconButton(name, label, act, className = "plain") {
  const made = element("button", { type: "button", className: `${className} round`, title: label }, icon(name),
    element("span", { className: "only-heard", text: label }));
  if (act) made.addEventListener("click", act);
  return made;
}
// A name keeps its direction, and no sign in it turns around what stands beside it.
export const bdi = (text) => element("bdi", { text: [...text].slice(0, 64).join(""), dir: "auto" });
export const say = (text) => { $("status-words").textContent = text; };

// Lists ------------------------------------------------------------------------------------------------------------------

/**
 * Shows items, each with a `data-key`. Those that are as before stay: a press on them that has begun counts, and what has the
 * focus keeps it.
 */
export function showItems(list, items) {
  const before = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const shown = items.map((item) => {
    const known = before.get(item.dataset.key);
    return known?.isEqualNode(item) ? known : item;
  });
  if (shown.length === list.children.length && shown.every((item, i) => item === list.children[i])) return;
  const focused = list.contains(document.activeElement) ? document.activeElement : undefined, row = focused?.closest("li");
  const index = row ? [...row.querySelectorAll("button")].indexOf(focused) : -1;
  list.replaceChildren(...shown);
  const again = row && shown.find((item) => item.dataset.key === row.dataset.key);
  again?.querySelectorAll("button")[index]?.focus({ preventScroll: true });
}

// Dialogs ----------------------------------------------------------------------------------------------------------------

/** Asks once before what can't be undone. */
export function sure(question, name) {
  $("sure-question").textContent = question;
  $("sure-yes").textContent = name;
  $("sure").showModal();
  return new Promise((resolve) => {
    $("sure-yes").onclick = () => { resolve(true); $("sure").close(); };
    $("sure").onclose = () => { if (!$("sure").open) resolve(false); };
  });
}

// Back closes a dialog: where one opens, the history gets a second entry of the same address. That stays when the dialog is
// closed otherwise, as something else may be opened at once, and is passed over on the way back.
const opened = [];
const whereabouts = () => ({ isSecond: Boolean(history.state?.isSecond), address: location.href });
let last = whereabouts();

function addSecond() {
  if (!opened.length || history.state?.isSecond) return;
  history.pushState({ isSecond: true }, "");
  last = whereabouts();
}

new MutationObserver((changes) => {
  for (const { target } of changes) {
    if (target.localName !== "dialog" || target.open === opened.includes(target)) continue;
    if (target.open) opened.push(target); else opened.splice(opened.indexOf(target), 1);
  }
  addSecond();
}).observe(document.body, { subtree: true, attributeFilter: ["open"] });

addEventListener("popstate", () => {
  const before = last;
  last = whereabouts();
  const isBack = before.isSecond && !last.isSecond && before.address === last.address;
  if (!isBack) return;
  if (opened.length) opened.at(-1).close(); else history.back();
});

/** Leads to the list, by going back if it is behind: so the browser's Back doesn't lead to what was left. */
export function toList() {
  const { navigation } = globalThis, entries = navigation?.entries() ?? [], here = navigation?.currentEntry?.index;
  const before = entries.slice(0, here).findLast(({ url }) => url !== location.href);
  const isList = before?.sameDocument && !new URL(before.url).hash;
  if (isList) history.go(before.index - here); else location.hash = "";
}

for (const closer of document.querySelectorAll("[data-close]")) {
  closer.addEventListener("click", () => closer.closest("dialog").close());
}

// Copying ----------------------------------------------------------------------------------------------------------------

/** Copies a text, and says so at a button, if there is one. Where the browser refuses, shows the text to be copied by hand. */
export async function copy(text, opener) {
  try { await navigator.clipboard.writeText(text); } catch { return showSelected(text); }
  if (!opener) return;
  const place = [...opener.childNodes].findLast((node) => node.nodeType === Node.TEXT_NODE) ?? opener, before = place.textContent;
  // It is pressed again while it says so.
  if (before === t("Copied")) return;
  place.textContent = t("Copied");
  setTimeout(() => { place.textContent = before; }, 1500);
}

/** Shows a text in a dialog, selected. */
function showSelected(text) {
  const field = $("by-hand").querySelector("textarea");
  field.value = text;
  // What was copied stands nowhere in the page any more.
  $("by-hand").onclose = () => { field.value = ""; };
  $("by-hand").showModal();
  field.focus();
  field.select();
}

// Menus ------------------------------------------------------------------------------------------------------------------

/** Opens a menu beside a button: for each item a name, what it does, a class and an icon. */
export function openMenu(opener, items, className = "") {
  const menu = $("menu");
  menu.className = `menu ${className}`;
  menu.replaceChildren(...items.map(([text, act, className = "", shape]) => {
    const made = button(text, () => { menu.hidePopover(); act(); }, `plain ${className}`);
    if (shape) made.prepend(icon(shape));
    made.role = "menuitem";
    made.tabIndex = -1;
    return made;
  }));
  menu.showPopover();
  const { bottom, left } = opener.getBoundingClientRect();
  menu.style.top = `${Math.max(0, Math.min(bottom, innerHeight - menu.offsetHeight - 4))}px`;
  menu.style.left = `${Math.max(4, Math.min(left, innerWidth - menu.offsetWidth - 4))}px`;
  menu.firstChild.focus();
  // A turned phone has no place for it any more.
  addEventListener("resize", () => menu.hidePopover(), { once: true });
  menu.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Tab") menu.hidePopover();
    if (!step) return;
    event.preventDefault();
    const all = [...menu.children];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  };
  menu.ontoggle = ({ newState }) => { if (newState === "closed" && menu.contains(document.activeElement)) opener.focus(); };
}

/** The button of a message that opens its menu, also by a right click or a long press on the message. */
export function menuButton(item, open) {
  const opener = iconButton("more", t("More"), () => open(opener), "plain more");
  opener.ariaHasPopup = "menu";
  // A message that is drawn anew has a new button, but listens already.
  const isListening = Boolean(item.openMenu);
  item.openMenu = () => open(opener);
  if (isListening) return opener;
  item.addEventListener("contextmenu", (event) => {
    if (event.target.closest("a, img, button:not(.picture)") || getSelection()?.toString()) return;
    event.preventDefault();
    item.openMenu();
  });
  let timer;
  item.addEventListener("touchstart", (event) => {
    if (event.target.closest("a, button:not(.picture)")) return;
    timer = setTimeout(() => item.openMenu(), 500);
  }, { passive: true });
  for (const end of ["touchend", "touchmove", "touchcancel"]) item.addEventListener(end, () => clearTimeout(timer), { passive: true });
  return opener;
}

// Settings ---------------------------------------------------------------------------------------------------------------

/** The settings of language and appearance, which are this browser's. */
export function showChoices() {
  let language = "", scheme = "";
  try {
    language = localStorage.getItem("language") ?? "";
    scheme = localStorage.getItem("scheme") ?? "";
  } catch { /* The browser keeps nothing. */ }
  const option = ([value, text]) => element("option", { value, text });
  $("language").replaceChildren(...[["", t("As the browser")], ...Object.entries(languages)].map(option));
  $("language").value = language;
  $("language").onchange = () => { choose($("language").value); location.reload(); };
  $("scheme").value = scheme;
  $("scheme").onchange = () => {
    const { value } = $("scheme");
    if (value) localStorage.setItem("scheme", value); else localStorage.removeItem("scheme");
    applyScheme();
  };
}

/** Shows light or dark, if one was chosen. */
export function applyScheme() {
  let scheme = null;
  try { scheme = localStorage.getItem("scheme"); } catch { /* The browser keeps nothing. */ }
  if (scheme) document.documentElement.dataset.scheme = scheme; else delete document.documentElement.dataset.scheme;
}

// Times ------------------------------------------------------------------------------------------------------------------

// Formatting by Intl is slow to set up: one of each, and each day once.
const formats = {
  time: new Intl.DateTimeFormat(language, { timeStyle: "short" }),
  day: new Intl.DateTimeFormat(language, { weekday: "long", month: "long", day: "numeric" }),
  dayOfYear: new Intl.DateTimeFormat(language, { weekday: "long", month: "long", day: "numeric", year: "numeric" }),
  short: new Intl.DateTimeFormat(language, { dateStyle: "short" }),
  weekday: new Intl.DateTimeFormat(language, { weekday: "short" }),
};
// Of seconds since 1970, or of a date's text.
const date = (moment) => new Date(typeof moment === "number" ? Math.min(moment * 1000, 8.64e15) : moment);
export const time = (moment) => formats.time.format(date(moment));
const days = new Map();
/** What two moments of one day have in common. */
export const dayKey = (moment) => {
  const one = date(moment);
  return (one.getFullYear() * 12 + one.getMonth()) * 32 + one.getDate();
};
/** The day in words: "Friday, November 20", with the year if it is another one. */
export function day(moment) {
  const key = dayKey(moment);
  if (!days.has(key)) {
    const isThisYear = date(moment).getFullYear() === new Date().getFullYear();
    days.set(key, (isThisYear ? formats.day : formats.dayOfYear).format(date(moment)));
  }
  return days.get(key);
}
/** The day as people say it. */
export function dayTitle(moment) {
  const today = Date.now() / 1000;
  if (dayKey(moment) === dayKey(today)) return t("Today");
  if (dayKey(moment) === dayKey(today - 86_400)) return t("Yesterday");
  return day(moment);
}
/** The time of what is from today, the weekday within a week, else the date. */
export function when(moment) {
  const now = Date.now() / 1000, seconds = date(moment).getTime() / 1000;
  if (dayKey(moment) === dayKey(now)) return time(moment);
  return now - seconds < 6 * 86_400 && seconds < now ? formats.weekday.format(date(moment)) : formats.short.format(date(moment));
}

/** A file's size, rounded to the nearest: with one decimal below 10. */
export function fileSize(bytes) {
  if (bytes === 1) return t("1 byte");
  if (bytes < 1024) return t("{count} bytes", { count: bytes });
  const [value, unit] = bytes < 1 << 20 ? [bytes / 1024, "KiB"] : [bytes / (1 << 20), "MiB"];
  const digits = value < 10 ? 1 : 0;
  return `${value.toLocaleString(language, { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false })} ${unit}`;
}

/** The initials of a name on a color that the name, or a key, chooses. */
export function face(name, key = name, className = "") {
  const parts = name.trim().split(/\s+/u).filter((part) => /[\p{L}\p{N}]/u.test(part));
  const letters = [parts[0], parts.length > 1 ? parts.at(-1) : ""].map((part) => [...part ?? ""].find((sign) => /[\p{L}\p{N}]/u.test(sign)) ?? "").join("");
  const made = element("span", { text: letters.toLocaleUpperCase() || "?", className: `face ${className}`, ariaHidden: "true" });
  made.style.setProperty("--hue", [...key].reduce((sum, sign) => (sum * 31 + sign.codePointAt()) % 360, 0));
  return made;
}

// Links ------------------------------------------------------------------------------------------------------------------

// What turns the text around it, an address too.
const turning = /[\u202a-\u202e\u2066-\u2069]/u;
// What an address ends before: emoji, backticks, and the punctuation of scripts that write no space behind it.
const ends = /[\p{Extended_Pictographic}\p{Regional_Indicator}\u20e3`،؛؟۔।॥\u3001\u3002\u3008-\u3011\u3014-\u301f\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3b\uff3d\uff5b\uff5d\uff5f-\uff65]|\ufe0f\u20e3/u;
// A host whose last part is Latin ends before a script that writes no spaces.
const unspaced = /^(https?:\/\/[^/?#]*\.[a-z]{2,})[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}][^./?#]*(?=[/?#]|$)/iu;
// Letters of other scripts that look like a slash beside a Latin one.
const slashes = /[a-z][ノソゾン丶丿\u3033]|[ノソゾン丶丿\u3033][a-z]/iu;
const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u, /\p{Script=Cherokee}/u];

/** The address without the sentence that goes on behind it, and without what closes the one around it. */
function trimmed(found) {
  const address = found.split(ends)[0], host = unspaced.exec(address)?.[1];
  let end = host ?? address;
  for (;;) {
    const last = [...end].at(-1);
    const count = (sign) => end.split(sign).length - 1;
    const opens = { ")": "(", "]": "[", "}": "{" }[last];
    const isClosing = opens ? count(last) > count(opens)
      : /[.,;:!?*'"“”‘’«»„…‹›\u200e\u200f\u061c]/u.test(last ?? "");
    if (!isClosing) return end;
    end = end.slice(0, -last.length);
  }
}

/** Where an address leads, or null if it should lead nowhere: user info, mixed scripts, what isn't seen, and odd hosts deceive. */
function target(address) {
  if (!URL.canParse(address) || /\p{Default_Ignorable_Code_Point}/u.test(address)) return null;
  // As it is written: a browser leaves out what it finds too much, as a third slash. Signs that look like slashes and dots are none.
  const host = /^https?:\/\/([\p{L}\p{M}\p{N}._-]+|\[[0-9a-f:.]+\])(:\d*)?([/?#]|$)/iu.exec(address)?.[1];
  if (!host || slashes.test(host)) return null;
  for (const name of host.split(".")) if (scripts.filter((script) => script.test(name)).length > 1) return null;
  // Letters that look Latin in an otherwise Latin name, as a whole.
  const isMixed = scripts.filter((script) => script.test(host)).length > 1 && !/\.(рф|бел|укр|ελ|հայ|мкд|срб|мон)$/u.test(host);
  return isMixed ? null : address;
}

/** A text whose web addresses are links. */
export function linked(text, isLive = true) {
  if (!isLive || turning.test(text)) return [text];
  const parts = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(/https?:\/\/(?:[^\s<>"“”«»]|\ufeff)+/giu)) {
    const address = trimmed(found);
    const leads = target(address);
    if (!leads) continue;
    parts.push(text.slice(end, index), element("a", { href: leads, text: address, dir: "ltr", rel: "noopener noreferrer", target: "_blank" }));
    end = index + address.length;
  }
  return [...parts, text.slice(end)].filter((part) => part !== "");
}

// The composer -----------------------------------------------------------------------------------------------------------

/** Whether a key press sends: Enter of a keyboard, not what ends a composition, and not on touch screens. */
export const sends = (event) => event.key === "Enter" && !event.shiftKey && !event.isComposing && event.keyCode !== 229
  && !matchMedia("(pointer: coarse)").matches;

/** Puts the focus into the text of a chat that was opened; on its title where that would open a keyboard on the screen. */
export function focusChat() {
  const isReading = $("compose").hidden || matchMedia("(pointer: coarse)").matches;
  $(isReading ? "with" : "text").focus({ preventScroll: true });
}

/** Shows how much is unread, in the title and at the app's icon. */
let shownUnread;
export function showUnread(count, name) {
  if (count === shownUnread) return;
  shownUnread = count;
  document.title = count ? `(${count}) ${name}` : name;
  if (count) navigator.setAppBadge?.(count).catch(() => {}); else navigator.clearAppBadge?.().catch(() => {});
}

/** A random name of 32 hexadecimal digits, also where there is no HTTPS. */
export const randomName = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Keys in groups of four, for eyes. */
export const grouped = (key) => key.match(/.{1,4}/g)?.join(" ") ?? "";
