// The page: which view is shown, the list of chats, and the connection.
import { Account } from "./{{account.js}}";
import { Chat } from "./{{chat.js}}";
import { named, prepareDialogs } from "./{{details.js}}";
import { $, alarm, element, face, onSubmit, say, when } from "./{{page.js}}";
import { Store } from "./{{store.js}}";

const { apptimist } = globalThis;
const base = new URL("..", location).href.replace(/\/$/, "");
const place = `apptimist ${new URL(base).pathname}`;

// The page's policy lets no text become a script's address but by this.
const workerURL = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => "worker.js" })
  .createScriptURL("") ?? "worker.js";
navigator.serviceWorker?.register(workerURL).catch(() => {});

let account, chat, isDrawing = false;

const views = ["welcome", "elsewhere", "home"];
function view(name) {
  document.documentElement.dataset.view = name;
  for (const id of views) $(id).hidden = id !== name;
  performance.mark("ready");
}

/** Only one page of a browser holds the connection. */
function hold(options) {
  return new Promise((resolve) => {
    navigator.locks.request(place, options, async (lock) => {
      resolve(Boolean(lock));
      if (lock) await new Promise(() => {});
    }).catch(() => {
      // Another page has taken it.
      account?.stop();
      view("elsewhere");
    });
  });
}

async function begin(options) {
  if (!await hold(options)) return view("elsewhere");
  let store;
  try { store = await Store.open(place); } catch {
    return alarm("This browser doesn’t let the page keep anything, as in a private window. Without that, there is no account here.");
  }
  account = await Account.open(store, { changed, alarm, arrived: (message) => { chat?.arrived(message); chat?.readUp(); } });
  if (account.self) return enter();
  view("welcome");
  const { identity } = await (await fetch("settings.json")).json().catch(() => ({}));
  $("invitation").hidden = identity !== "invite";
  $("make").elements.token.required = identity === "invite";
  const isElsewhere = ["facebook", "oidc"].includes(identity);
  $("make").hidden = isElsewhere;
  $("elsewhere-made").hidden = !isElsewhere;
  $("make").elements.name.focus();
}

async function serviceKeys() {
  const document = await fetch(`${base}/service.json`, { cache: "no-store" }).then((response) => response.json())
    // Whatever stands before the service answers, too, while that is away.
    .catch((error) => { throw new TypeError("the service can’t be reached", { cause: error }); });
  return apptimist.pinOf(document);
}

const socketURL = base.replace(/^http/, "ws");

onSubmit($("make"), async ({ name, token }) => {
  try {
    await account.make(name.value.trim().normalize("NFC"), token.value.trim(), await serviceKeys());
    account.prepare(socketURL);
    await account.start();
  } catch ({ code }) {
    await account.unmake();
    throw new Error({ 1: "The invitation isn’t good.", 4: "The service doesn’t take this name.", 5: "Too much was given." }[code]
      ?? "The service can’t be reached, or doesn’t take the account.");
  }
  navigator.storage?.persist?.();
  await enter();
});

$("import-open").onclick = () => $("import").showModal();
onSubmit($("import").querySelector("form"), async ({ file, passphrase }) => {
  const { open, readExport } = await import("./{{export.js}}");
  const plain = await open(passphrase.value, new Uint8Array(await file.files[0].arrayBuffer()));
  if (plain === null) throw new Error("This is no export, or the passphrase is another.");
  const content = readExport(plain);
  if (!content) throw new Error("The export is damaged.");
  const { encryptionKey, authenticationKey } = await serviceKeys().catch(() => { throw new Error("The service can’t be reached."); });
  const { service } = content.account;
  if (service.encryptionKey !== apptimist.hex(encryptionKey) || service.authenticationKey !== apptimist.hex(authenticationKey)) {
    throw new Error("The account is of another service.");
  }
  await account.take(content);
  $("import").close();
  navigator.storage?.persist?.();
  await enter();
});

async function enter() {
  const isNew = Boolean(account.device);
  if (!isNew) account.prepare(socketURL);
  document.documentElement.dataset.user = account.me;
  chat = new Chat(account, () => { location.hash = ""; });
  prepareDialogs(account, (key) => { location.hash = key ? `chat=${key}` : ""; });
  view("home");
  draw();
  route();
  if (isNew) return;
  try {
    const pin = await serviceKeys().catch((error) => { if (!(error instanceof TypeError)) throw error; });
    // Offline, the pin is what counts.
    const isSame = (name) => apptimist.hex(pin[name]) === account.self.pin[name];
    if (pin && !(isSame("encryptionKey") && isSame("authenticationKey"))) throw new Error("other keys");
  } catch {
    return alarm("The service’s keys have changed. Nothing is sent.");
  }
  account.start().catch(() => {
    alarm("The service doesn’t know this account. Nothing is sent.");
  });
}

function changed() {
  if (isDrawing || !chat) return;
  isDrawing = true;
  // In windows that aren't seen frames don't come.
  setTimeout(() => { isDrawing = false; draw(); }, 16);
}

function draw() {
  document.documentElement.dataset.connection = account.isOpen ? "open" : "closed";
  say(account.isOpen ? "" : "Offline. Messages are sent when the service can be reached.");
  const keys = [...account.chats.keys()].filter((key) => account.chats.get(key).length);
  const last = (key) => account.chats.get(key).at(-1);
  keys.sort((a, b) => last(b).order - last(a).order);
  const isRequest = (key) => !account.isAllowed(key) && !account.isBlocked(key);
  fill($("people"), keys.filter((key) => account.isAllowed(key)));
  fill($("requests-list"), keys.filter(isRequest));
  $("asking").hidden = !keys.some(isRequest);
  $("nobody").hidden = keys.length > 0;
  chat.show();
}

/** Shows chats; what is the same stays, and keeps the focus. */
function fill(list, keys) {
  const old = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = keys.map((key) => {
    const message = account.chats.get(key).at(-1), unread = account.unread(key), isOpen = key === chat.key;
    const mark = JSON.stringify([message.id, message.text, unread, isOpen, account.name(key), account.isAmbiguous(key)]);
    const known = old.get(key);
    if (known?.mark === mark) return known;
    const item = known ?? element("li", { data: { key } }, element("button", { type: "button" }));
    item.mark = mark;
    item.dataset.unread = unread;
    const opener = item.firstChild;
    opener.ariaCurrent = isOpen ? "true" : null;
    opener.onclick = () => { location.hash = `chat=${key}`; };
    opener.replaceChildren(
      face(account.name(key), key), element("span", {}, ...named(account, key)),
      element("span", { text: when(message.time), className: "when" }),
      element("span", { text: (message.text || message.file.name).slice(0, 200), className: "last", dir: "auto" }));
    if (unread) opener.append(element("span", { className: "count" }, String(unread), element("span", { text: " unread", className: "only-heard" })));
    return item;
  });
  if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i])) list.replaceChildren(...items);
}

function route() {
  const key = /^#chat=([0-9a-f]{64})$/.exec(location.hash)?.[1] ?? "";
  chat?.open(key);
  if (chat) draw();
}

addEventListener("hashchange", route);
document.addEventListener("visibilitychange", () => chat?.readUp());
$("use-here").onclick = () => begin({ steal: true }).then(() => {});

await begin({ ifAvailable: true });
