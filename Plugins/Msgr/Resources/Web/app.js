// The page: the account, its people and conversations.
import { Msgr, newDevice } from "./{{msgr.js}}";
import { Archive } from "./{{archive.js}}";
import { $, bdi, day, element, face, onSubmit, say, time, when, words } from "./{{page.js}}";
import { prepareSettings, registration } from "./{{settings.js}}";

const archive = await Archive.open();
const nobody = { Friends: [], Incoming: [], Outgoing: [], Blocked: [] };
let msgr, stream, me, partner = "";
let lists = nobody;
const messages = new Map();
const waiting = new Map();

const partnerOf = (message) => message.UserTo && message.UserFrom === me ? message.UserTo : message.UserFrom;
const reads = () => archive.values.reads ?? {};

// MARK: The account

onSubmit($("sign"), async ({ Username, Password, DeviceName, Invitation }, act) => {
  const device = archive.values.device ?? newDevice();
  const fields = { Username, Password, DeviceID: device };
  if (DeviceName) fields.DeviceName = DeviceName;
  if (Invitation && act === "register") fields.Invitation = Invitation;
  const opened = await Msgr.open("./", act === "register" ? "register" : "login", fields);
  const { name, ending } = archive.values;
  if (name !== Username.normalize("NFC")) await archive.clear({ ending });
  await archive.set("device", device);
  await archive.set("name", Username.normalize("NFC"));
  await archive.set("token", opened.token);
  $("sign").reset();
  await start();
});

async function start() {
  const { token, name } = archive.values;
  $("welcome").hidden = Boolean(token);
  $("home").hidden = !token;
  if (!token) return $("sign").elements.Username.focus();
  msgr = new Msgr("./", token);
  me = name;
  messages.clear();
  for (const message of await archive.all("messages")) messages.set(message.Id, message);
  for (const message of await archive.all("waiting")) waiting.set(message.ClientId, message);
  lists = archive.values.lists ?? lists;
  show();
  stream = msgr.stream({
    since: () => archive.values.last,
    onMessage: take,
    onState(state) {
      say({ open: "", waiting: "Offline. Messages are sent when the server can be reached.", ended: "" }[state]);
      if (state === "open") { refresh(); deliver(); }
      if (state === "ended") leave("You were signed out.");
    },
  });
  refresh();
  open(wanted());
  // Browsers replace subscriptions at times.
  if (archive.values.notify) registration?.then((worker) => msgr.subscribe(worker)).catch(() => {});
}

/** The name behind the address. */
function wanted() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

async function leave(reason) {
  stream?.close();
  await archive.set("token", undefined);
  $("settings").close();
  say(reason);
  await start();
}

/** Forgets the account: nothing of it stays on the page, on others of this browser, or in the browser. */
async function erase(reason, kept) {
  registration?.then(silence).catch(() => {});
  stream?.close();
  msgr = undefined;
  await archive.clear(kept);
  tabs.postMessage({ erased: reason });
  await forget(reason);
}

async function forget(reason) {
  stream?.close();
  msgr = undefined;
  messages.clear();
  waiting.clear();
  lists = nobody;
  partner = location.hash = "";
  for (const id of ["me", "sessions", "blocked", "news"]) $(id).replaceChildren();
  for (const form of document.forms) form.reset();
  show();
  await leave(reason);
}

/** Ends the browser's subscription, and takes back what it shows. */
async function silence(worker) {
  const subscription = await worker.pushManager.getSubscription();
  await subscription?.unsubscribe();
  for (const notification of await worker.getNotifications()) notification.close();
  await navigator.clearAppBadge?.();
}

/** Signs out here at once. What is kept can do nothing but end the session, when the server can be reached. */
async function signOut() {
  const ending = [...archive.values.ending ?? [], await msgr.digest()];
  await erase("You are signed out.", { ending });
  await endSessions();
}

async function endSessions() {
  for (const TokenDigest of archive.values.ending ?? []) {
    const failure = await new Msgr("./").post("logout", { TokenDigest }).then(() => null, (error) => error);
    if (failure?.isTemporary) return setTimeout(endSessions, 30_000);
    await archive.set("ending", archive.values.ending.filter((digest) => digest !== TokenDigest));
  }
}

async function refresh() {
  const asked = msgr;
  try {
    const found = await asked?.post("friends");
    if (!found || asked !== msgr) return;
    lists = found;
    await archive.set("lists", lists);
    show();
  } catch (error) {
    if (!error.isTemporary) throw error;
  }
}

// MARK: Messages

async function take(message) {
  if (message.Read) return noteRead(message.Read.With, message.Read.Id);
  if (!message.Id || message.error) return;
  await keep(message);
  if (message.Id > (archive.values.last ?? "")) await archive.set("last", message.Id);
  if (message.AddRequest) refresh();
  if (partnerOf(message) === partner) {
    if (message.UserFrom !== me) $("news").textContent = `${message.UserFrom}: ${message.Message}`;
    readUp();
  }
  show();
}

async function keep(message) {
  messages.set(message.Id, message);
  tabs.postMessage(message);
  await archive.put("messages", message);
}

// Another page of this browser is the same device, which isn't told what it has sent itself.
const tabs = new BroadcastChannel("msgr");
tabs.onmessage = ({ data }) => {
  if (data.erased) {
    archive.values = {};
    return forget(data.erased);
  }
  messages.set(data.Id, data);
  show();
};

async function noteRead(name, id) {
  if (id <= (reads()[name] ?? "")) return;
  await archive.set("reads", { ...reads(), [name]: id });
  show();
}

/** Notes, here and at the server, that the open conversation is read. */
async function readUp() {
  if (!partner || document.hidden) return;
  const last = conversation(partner).filter(({ UserFrom, Id }) => Id && UserFrom !== me).at(-1)?.Id;
  if (!last || last <= (reads()[partner] ?? "")) return;
  const name = partner;
  await noteRead(name, last);
  navigator.setAppBadge?.(unread().total).catch(() => {});
  await msgr.post("read", { With: name, Id: last }).catch(() => {});
}

const conversation = (name) => [...messages.values()]
  .filter((message) => partnerOf(message) === name).sort((a, b) => (a.Id < b.Id ? -1 : 1));

function unread() {
  const counts = new Map();
  let total = 0;
  for (const message of messages.values()) {
    if (message.UserFrom === me || message.Id <= (reads()[message.UserFrom] ?? "")) continue;
    counts.set(message.UserFrom, (counts.get(message.UserFrom) ?? 0) + 1);
    total += 1;
  }
  return { counts, total };
}

onSubmit($("compose"), async () => {
  const text = $("text").value;
  if (!text.trim() || !partner) return;
  $("text").value = "";
  const message = {
    ClientId: crypto.randomUUID(), UserFrom: me, UserTo: partner, Message: text,
    Time: new Date().toISOString(),
  };
  waiting.set(message.ClientId, message);
  await archive.put("waiting", message);
  show();
  deliver();
});

let isDelivering = false;

/** Sends what waits, in order, and tries again by itself with the same ClientId. */
async function deliver() {
  if (isDelivering) return;
  isDelivering = true;
  try {
    const next = () => [...waiting.values()].find(({ failure }) => !failure);
    for (let message = next(); message; message = next()) {
      const asked = msgr;
      try {
        const { Id, Own } = await asked.send(message.UserTo, message.Message, message.ClientId);
        if (asked !== msgr) return;
        await keep({ ...message, Id: Own ?? Id });
        waiting.delete(message.ClientId);
        await archive.remove("waiting", message.ClientId);
      } catch (error) {
        if (asked !== msgr) return;
        if (error.isTemporary ?? false) {
          setTimeout(deliver, (error.retryAfter ?? 5) * 1000);
          break;
        }
        message.failure = words(error, "There is no such user.");
        await archive.put("waiting", message);
      }
      show();
    }
  } finally {
    isDelivering = false;
  }
}

$("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    $("compose").requestSubmit();
  }
});

// MARK: Showing

function show() {
  const { counts, total } = unread();
  document.title = total ? `(${total}) Msgr` : "Msgr";
  const last = new Map();
  for (const message of messages.values()) {
    const name = partnerOf(message);
    if (message.Id > (last.get(name)?.Id ?? "")) last.set(name, message);
  }
  for (const message of waiting.values()) last.set(message.UserTo, { ...message, Id: "g" });
  const names = new Set([...last.keys(), ...lists.Friends, ...lists.Outgoing]);
  for (const name of lists.Blocked) if (name !== partner) names.delete(name);
  const sorted = [...names].sort((a, b) =>
    (last.get(b)?.Id ?? "").localeCompare(last.get(a)?.Id ?? "") || a.localeCompare(b));
  $("people").replaceChildren(...sorted.map((name) => {
    const newest = last.get(name);
    const button = element("button", {}, face(name), bdi(name),
      element("span", { className: "when", text: newest ? when(newest.Time) : "" }));
    const state = lists.Outgoing.includes(name) ? "asked to be a friend" : newest?.Message.slice(0, 200) ?? "";
    button.append(element("span", { className: "last", text: state, dir: "auto" }));
    if (counts.get(name)) {
      button.append(element("span", { className: "count", text: counts.get(name) },
        element("span", { className: "only-heard", text: " unread" })));
    }
    button.setAttribute("aria-current", String(name === partner));
    button.addEventListener("click", () => { location.hash = encodeURIComponent(name); });
    return element("li", {}, button);
  }));
  const isEmpty = sorted.length + lists.Incoming.length === 0;
  if ($("nobody").hidden === isEmpty) $("adding").open = isEmpty;
  $("nobody").hidden = !isEmpty;
  $("requests").replaceChildren(...lists.Incoming.map((name) => element(
    "li", {}, element("span", {}, bdi(name), " wants to add you"), element(
      "span", { className: "row" }, act("Accept", () => msgr.post("add", { AddUser: name })),
      act("Decline", () => msgr.post("unfriend", { User: name }), "second")))));
  showTalk();
}

/** A button that does something and shows what came of it. */
function act(text, run, className = "") {
  const button = element("button", { text, className, type: "button" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    await run().catch((error) => say(words(error)));
    button.disabled = false;
    await refresh();
  });
  return button;
}

function showTalk() {
  $("talk").hidden = !partner;
  $("home").classList.toggle("talking", Boolean(partner));
  $("with").replaceChildren(bdi(partner));
  const isFriend = lists.Friends.includes(partner);
  $("befriend").hidden = isFriend || lists.Outgoing.includes(partner) || partner.includes("/");
  $("unfriend").hidden = !isFriend;
  const list = $("messages");
  if (list.dataset.name !== partner) isAtEnd = true;
  list.dataset.name = partner;
  const shown = [...conversation(partner), ...[...waiting.values()].filter(({ UserTo }) => UserTo === partner)];
  const items = shown.slice(-500).flatMap((message, index, all) => {
    const date = day(message.Time);
    const isFirst = index === 0 || day(all[index - 1].Time) !== date;
    return isFirst ? [element("li", { className: "day", text: date }), item(message)] : [item(message)];
  });
  if (!items.length) items.push(element("li", {}, element("p", { text: "No messages yet." })));
  const stays = isAtEnd;
  list.replaceChildren(...items);
  if (stays) list.scrollTop = list.scrollHeight;
}

// The end stays in sight when a keyboard takes a part of the window.
let isAtEnd = true;
$("messages").addEventListener("scroll", ({ target }) => {
  isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight < 80;
});
new ResizeObserver(([{ target }]) => { if (isAtEnd) target.scrollTop = target.scrollHeight; }).observe($("messages"));

function item(message) {
  const isOwn = message.UserFrom === me;
  const made = element("li", { className: isOwn ? "own" : "" });
  made.append(element("span", { className: "only-heard", text: isOwn ? "You: " : `${message.UserFrom}: ` }));
  if (message.Title) made.append(element("p", { className: "title", text: message.Title, dir: "auto" }));
  made.append(element("p", { text: message.Message, dir: "auto" }));
  if (/^(https?:\/\/|mailto:)/i.test(message.Link ?? "")) {
    made.append(element("p", {}, element("a", {
      href: message.Link, text: message.Link, rel: "noopener noreferrer", target: "_blank" })));
  }
  const state = !isOwn ? "" : message.failure ? `not sent: ${message.failure}` : message.Id ? "sent" : "waiting";
  made.append(element("small", { text: [time(message.Time), state].filter(Boolean).join(", ") }));
  if (message.failure) {
    made.append(" ", act("Try again", async () => {
      delete message.failure;
      show();
      deliver();
    }, "second"), " ", act("Discard", async () => {
      waiting.delete(message.ClientId);
      await archive.remove("waiting", message.ClientId);
      show();
    }, "second"));
  }
  return made;
}

function open(name) {
  partner = name;
  show();
  if (!name) return;
  readUp();
  $("with").focus({ preventScroll: true });
  $("messages").scrollTop = $("messages").scrollHeight;
}

// MARK: People

onSubmit($("add"), async ({ AddUser }) => {
  await msgr.post("add", { AddUser });
  $("add").reset();
  $("adding").open = false;
  await refresh();
});
const actOn = (id, run) => $(id).addEventListener("click", async () => {
  $("menu").hidePopover();
  await run(partner).catch((error) => say(words(error)));
  await refresh();
});
actOn("befriend", (name) => msgr.post("add", { AddUser: name }));
actOn("unfriend", (name) => msgr.post("unfriend", { User: name }));
actOn("block", async (name) => {
  await msgr.post("block", { User: name });
  location.hash = "";
});
$("back").addEventListener("click", () => { location.hash = ""; });

prepareSettings({
  archive, act, erase, signOut,
  get msgr() { return msgr; },
  get me() { return me; },
  get lists() { return lists; },
});

// MARK: The browser's own events

addEventListener("hashchange", () => open(wanted()));
addEventListener("online", () => { stream?.hurry(); endSessions(); });
document.addEventListener("visibilitychange", () => { if (!document.hidden) { stream?.hurry(); readUp(); } });
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data.open) location.hash = encodeURIComponent(data.open);
});

await start();
await endSessions();
