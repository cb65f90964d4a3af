// The page: which view is shown, the list of chats, and the connection.
import { Account } from "./{{account.js}}";
import { Chat } from "./{{chat.js}}";
import { summary } from "./{{contents.js}}";
import { prepareDialogs } from "./{{details.js}}";
import { $, alarm, button, element, face, named, onSubmit, say, when } from "./{{page.js}}";
import { Store } from "./{{store.js}}";

const { apptimist } = globalThis;
const base = new URL("..", location).href.replace(/\/$/, "");
// A code is in the address, and so in the history, no longer than it takes to read it.
const code = /^#link=(.*)$/.exec(location.hash)?.[1];
const signedIn = /^#(.*\bid_token=.*|.*\berror=.*)$/.exec(location.hash)?.[1];
if (code ?? signedIn) history.replaceState(null, "", location.pathname + location.search);
const place = `apptimist ${new URL(base).pathname}`;

// The page's policy lets no text become a script's address but by this.
const workerURL = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => "worker.js" })
  .createScriptURL("") ?? "worker.js";
navigator.serviceWorker?.register(workerURL).catch(() => {});

let account, chat, isDrawing = false, service = {}, wallet;

const views = ["welcome", "locked", "elsewhere", "linking", "home"];
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
  if (store.isLocked) await unlocked(store);
  account = await Account.open(store, {
    deviceName: deviceName(),
    changed, alarm, arrived: (message) => { chat?.arrived(message); chat?.readUp(); },
  });
  if (account.self && code) alarm("This browser has an account already: it opens no other device’s code.");
  // Somebody who went to the identity provider, and has come back.
  if (account.self?.state) return comeBack();
  if (account.self) return enter();
  if (code) return linked();
  return welcome();
}

async function welcome() {
  view("welcome");
  service = await settings();
  const { identity } = service;
  $("invitation").hidden = identity !== "invite";
  $("make").elements.token.required = identity === "invite";
  if (identity === "oidc" && service.authorize) {
    const { hostOf } = await import("./{{oidc.js}}");
    $("make-button").textContent = `Sign in with ${hostOf(service)}`;
  }
  if (identity === "siwe") {
    const { wallets } = await import("./{{siwe.js}}");
    $("make-button").hidden = true;
    wallets((name, provider) => $("wallets").append(button(name, () => {
      wallet = provider;
      $("make").requestSubmit();
    }, "")));
  }
  const isElsewhere = identity === "facebook" || identity === "oidc" && !service.authorize;
  $("make").hidden = isElsewhere;
  $("elsewhere-made").hidden = !isElsewhere;
  $("make").elements.name.focus();
}

const settings = async () => {
  try { return await (await fetch("settings.json")).json(); } catch { return {}; }
};

/** Asks for the passphrase until it is the right one. */
function unlocked(store) {
  view("locked");
  const form = $("locked").querySelector("form");
  form.elements.passphrase.focus();
  return new Promise((resolve) => onSubmit(form, async ({ passphrase }) => {
    if (!await store.unlock(passphrase.value)) throw new Error("The passphrase is another.");
    form.reset();
    resolve();
  }));
}

/** A name by which the own devices are told apart. */
function deviceName() {
  const { userAgent } = navigator, found = (names) => names.find((name) => userAgent.includes(name)) ?? "Unknown";
  const browser = found(["Firefox", "Edg", "Chrome", "Safari"]).replace("Edg", "Edge");
  return `${browser} on ${found(["Android", "iPhone", "iPad", "Windows", "Mac", "Linux"])}`;
}

/** Gets the account of the device that has shown a code. */
async function linked() {
  view("linking");
  const error = $("linking").querySelector(".error");
  try {
    const [{ readCode }, { link }] = await Promise.all([import("./{{link.js}}"), import("./{{linking.js}}")]);
    const r = readCode(code);
    if (!r) throw new Error("This link is none.");
    await take({ account: await link(base, r, account.deviceName) });
  } catch ({ message }) {
    error.textContent = message;
  }
}

/** Takes an account of this service. */
async function take(content) {
  const { encryptionKey, authenticationKey } = await serviceKeys().catch(() => { throw new Error("The service can’t be reached."); });
  const { service } = content.account;
  if (service.encryptionKey !== apptimist.hex(encryptionKey) || service.authenticationKey !== apptimist.hex(authenticationKey)) {
    throw new Error("The account is of another service.");
  }
  await account.take(content);
  navigator.storage?.persist?.();
  await enter();
}

async function serviceKeys() {
  const found = await fetch(`${base}/service.json`, { cache: "no-store" }).then((response) => response.json())
    // Whatever stands before the service answers, too, while that is away.
    .catch((error) => { throw new TypeError("the service can’t be reached", { cause: error }); });
  account.document = found;
  return apptimist.pinOf(found);
}

const socketURL = base.replace(/^http/, "ws");

/** Takes the answer of the identity provider, and makes the account. */
async function comeBack() {
  const { readAnswer } = await import("./{{oidc.js}}"), { claim } = await settings();
  const answer = readAnswer(signedIn ?? "", account.self.state, claim);
  try {
    if (!answer) throw new Error("The identity provider has not said who you are.");
    await account.signedIn(answer);
    await made();
  } catch ({ message }) {
    await account.unmake();
    await welcome();
    $("make").querySelector(".error").textContent = message;
  }
}

onSubmit($("make"), async ({ name, token }) => {
  const chosen = name.value.trim().normalize("NFC");
  if (service.identity === "oidc") {
    const { newState, request } = await import("./{{oidc.js}}"), state = newState();
    await account.make(chosen, undefined, await serviceKeys(), state);
    return location.assign(request(service, account.self, state, `${base}/app/`));
  }
  await account.make(chosen, token.value.trim(), await serviceKeys());
  if (service.identity === "siwe") {
    const { signIn } = await import("./{{siwe.js}}");
    try {
      if (!wallet) throw new Error("No wallet is here.");
      await account.signedIn(await signIn(wallet, service.chains?.[0] ?? 1, base, account.self));
    } catch (error) {
      await account.unmake();
      throw error;
    }
  }
  await made();
});

/** Has the service make the account whose keys are stored. */
async function made() {
  try {
    account.prepare(socketURL);
    await account.start();
  } catch ({ code }) {
    await account.unmake();
    throw new Error({ 1: service.identity === "invite" ? "The invitation isn’t good." : "The identity provider’s word isn’t good for this.", 4: "The service doesn’t take this name.", 5: "Too much was given." }[code]
      ?? "The service can’t be reached, or doesn’t take the account.");
  }
  navigator.storage?.persist?.();
  await enter();
}

$("import-open").onclick = () => $("import").showModal();
onSubmit($("import").querySelector("form"), async ({ file, passphrase }) => {
  const { open, readExport } = await import("./{{export.js}}");
  const plain = await open(passphrase.value, new Uint8Array(await file.files[0].arrayBuffer()));
  if (plain === null) throw new Error("This is no export, or the passphrase is another.");
  const content = readExport(plain);
  if (!content) throw new Error("The export is damaged.");
  await take(content);
  $("import").close();
});

async function enter() {
  const isNew = Boolean(account.device);
  if (!isNew) account.prepare(socketURL);
  document.documentElement.dataset.user = account.me;
  chat = new Chat(account, () => { location.hash = ""; });
  prepareDialogs(account, base, (key) => { location.hash = key ? `chat=${key}` : ""; });
  view("home");
  draw();
  route();
  account.rebind = async () => {
    if (!account.self.wakes || !account.document) return;
    const { bind } = await import("./{{wakes.js}}");
    await bind(account, account.document).catch(() => {});
  };
  settings().then(({ identity, chains = [] }) => {
    account.provesIdentities = ["facebook", "oidc", "siwe"].includes(identity);
    account.chains = chains;
  });
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
  const last = (key) => account.chats.get(key)?.at(-1)?.order ?? Infinity;
  const keys = [...new Set([...account.forums.joined(), ...account.chats.keys()])].sort((a, b) => last(b) - last(a) || 0);
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
    const message = account.chats.get(key)?.at(-1), unread = account.unread(key), isOpen = key === chat.key;
    const mark = JSON.stringify([message?.id, unread, isOpen, account.name(key), account.isAmbiguous(key)]);
    const known = old.get(key);
    if (known?.mark === mark) return known;
    const item = known ?? element("li", { data: { key } }, element("button", { type: "button" }));
    item.mark = mark;
    item.dataset.unread = unread;
    const opener = item.firstChild;
    opener.ariaCurrent = isOpen ? "true" : null;
    opener.onclick = () => { location.hash = `chat=${key}`; };
    opener.replaceChildren(
      face(account.name(key), key), element("span", { className: "name" }, ...named(account, key)),
      element("span", { text: message ? when(message.time) : "", className: "when" }),
      element("span", { text: message ? summary(message).slice(0, 200) : "No messages yet", className: "last", dir: "auto" }));
    if (unread) opener.append(element("span", { className: "count" }, String(unread), element("span", { text: " unread", className: "only-heard" })));
    return item;
  });
  if (items.length !== list.children.length || items.some((item, i) => item !== list.children[i])) list.replaceChildren(...items);
}

/** Says whether the numbers are the same that somebody shows; a link proves nothing, so nothing is marked. */
async function compare(key, digits) {
  location.hash = `chat=${key}`;
  await account.look(key).catch(() => {});
  const isSame = account.known.has(key) && account.safetyNumber(key).replaceAll(" ", "") === digits;
  $("compared-words").textContent = isSame ? "The numbers are the same" : "The numbers are different";
  $("compared").showModal();
}

function route() {
  const verify = /^#verify=([0-9a-f]{64})\.([0-9]{60})$/.exec(location.hash);
  if (verify && chat) return compare(verify[1], verify[2]);
  const key = /^#chat=([0-9a-f]{64})$/.exec(location.hash)?.[1] ?? "";
  chat?.open(key);
  if (chat) draw();
}

addEventListener("hashchange", () => location.hash.startsWith("#link=") ? location.reload() : route());
document.addEventListener("visibilitychange", () => chat?.readUp());
$("use-here").onclick = () => begin({ steal: true }).then(() => {});

await begin({ ifAvailable: true });
