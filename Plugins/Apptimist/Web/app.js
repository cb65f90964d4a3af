// The page: which view is shown, the list of chats, and the connection.
import { Account } from "./{{account.js}}";
import { Chat } from "./{{chat.js}}";
import { momentOf, summary } from "./{{contents.js}}";
import { prepareDialogs } from "./{{details.js}}";
import {
  $, alarm, applyScheme, button, element, face, icon, named, onSubmit, placeIcons, say, showItems, showUnread, sure, t, toList, translate, when,
} from "./{{page.js}}";
import { Store } from "./{{store.js}}";

const { apptimist } = globalThis;
const base = new URL("..", location).href.replace(/\/$/, "");
// A code is in the address, and so in the history, no longer than it takes to read it.
const code = /^#link=(.*)$/.exec(location.hash)?.[1];
const signedIn = /^#(.*\bid_token=.*|.*\berror=.*)$/.exec(location.hash)?.[1];
if (code ?? signedIn) history.replaceState(null, "", location.pathname + location.search);
const place = `apptimist ${new URL(base).pathname}`;
/** From so many requests on they are folded. */
const FOLDED = 9;

// The page's policy lets no text become a script's address but by this.
const workerURL = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => "worker.js" })
  .createScriptURL("") ?? "worker.js";
navigator.serviceWorker?.register(workerURL).catch(() => {});

applyScheme();
placeIcons();
translate();

let account, chat, drawing, lastDraw = 0, service = {}, wallet, isUnfolded;
/** Whether the service isn't the one that it was: nothing is sent. */
let isHalted = false;
/** The wallets that are here. */
const offered = [];

const views = ["starting", "welcome", "locked", "elsewhere", "linking", "home"];
function view(name) {
  document.documentElement.dataset.view = name;
  for (const id of views) $(id).hidden = id !== name;
  performance.mark("ready");
}

/** Only one page of a browser holds the connection. */
function hold(options) {
  let isHeld = false;
  return new Promise((resolve) => {
    navigator.locks.request(place, options, () => {
      isHeld = true;
      resolve(true);
      return new Promise(() => {});
    }).catch(() => {
      view("elsewhere");
      resolve(false);
      if (!isHeld) return;
      // Another page has taken it. Nothing of what lives here may go on beside that page, or store what is old: this one
      // begins anew, and finds the lock taken.
      account?.stop();
      account?.store.end();
      location.reload();
    });
  });
}

async function begin(options) {
  if (!await hold(options)) return;
  let store;
  try { store = await Store.open(place); } catch {
    $("make").hidden = $("returning").hidden = true;
    view("welcome");
    return alarm(t("This browser doesn’t let the page store anything, as in a private window. Without that, there is no account here."));
  }
  store.onbroken = (isGone) => {
    if (isGone && !account?.self?.isMade) {
      // There is nothing yet that would be lost.
      return alarm(t("This browser has cleared the data of this page. Load the page anew to go on."), button(t("Load anew"), () => location.reload()));
    }
    const words = isGone ? t("This browser no longer stores anything for this page: its data was cleared. What you write is not kept or sent. Export your account now.")
      : t("This browser has no space left for this page. Nothing new is kept or sent until there is. Free some space on this device; the page then goes on by itself.");
    const again = isGone ? [] : [button(t("Try again"), () => store.probe())];
    alarm(words, ...again, ...account?.self?.isMade ? [button(t("Export"), async () => (await import("./{{settings.js}}")).showExport(account))] : []);
    changed();
  };
  store.onmended = () => {
    alarm("");
    changed();
    account?.goOn();
  };
  if (store.isLocked) await unlocked(store);
  account = await Account.open(store, {
    deviceName: deviceName(), changed, alarm,
    drafted: (isKept) => { document.documentElement.dataset.drafts = isKept ? "kept" : "keeping"; },
    arrived: (message) => { chat?.arrived(message); chat?.readUp(); },
    cleared: (key) => { chat?.clear(key); },
    progress: (id, part) => { chat?.progressed(id, part); },
  });
  if (account.self?.isMade && code) alarm(t("This browser has an account already: it can’t become another account’s device."));
  // Somebody who went to the identity provider, and has come back.
  if (account.self?.state) return comeBack();
  if (account.self?.isMade) return enter();
  if (code) return linked();
  if (account.self) return resume();
  return welcome();
}

/** Goes on with an account whose making was interrupted. */
async function resume() {
  const { name, proof, token } = account.self;
  service = await settings();
  const isReady = service.identity === "open" || service.identity === "invite" && token || proof;
  await welcome();
  $("make").elements.name.value = name;
  if (!isReady) return account.unmake();
  $("asked").textContent = t("Your account “{name}” is not finished yet. Trying again …", { name });
  try { await made(); } catch ({ message }) {
    $("make").querySelector(".error").textContent = message;
  } finally { $("asked").textContent = ""; }
}

async function welcome() {
  view("welcome");
  service = await settings();
  const { identity } = service;
  $("invitation").hidden = identity !== "invite";
  $("make").elements.token.required = identity === "invite";
  if (identity === "oidc" && service.authorize) {
    const { hostOf } = await import("./{{oidc.js}}");
    $("make-button").textContent = t("Sign in with {name}", { name: hostOf(service) });
  }
  if (identity === "siwe") await offerWallets();
  const isElsewhere = identity === "facebook" || identity === "oidc" && !service.authorize;
  $("make").hidden = isElsewhere;
  $("elsewhere-made").hidden = !isElsewhere;
  const isOnHomeScreen = navigator.standalone ?? true;
  $("home-screen").hidden = !/iPhone|iPad/.test(navigator.userAgent) || isOnHomeScreen;
  if (!$("make").hidden) $("make").elements.name.focus();
}

async function offerWallets() {
  const { wallets } = await import("./{{siwe.js}}");
  $("make-button").hidden = true;
  const offer = (name, provider) => {
    $("no-wallet").hidden = true;
    offered.push(provider);
    const made = button(name, () => {
      if ($("make").dataset.busy) return;
      wallet = provider;
      // The wallet needs no name to be asked for, the service does.
      $("make").requestSubmit();
    }, "");
    $("wallets").append(made);
  };
  wallets(offer, () => showNoWallet());
}

/** The chat that a link names, to be opened when there is an account. */
const aim = () => /#chat=[0-9a-f]{64}$/.exec(location.href)?.[0] ?? "";

/** How to get on without a wallet: the page opened in a wallet's own browser. */
async function showNoWallet() {
  $("no-wallet").hidden = false;
  const address = location.href.replace(/#.*/, "") + aim(), bare = address.replace(/^https?:\/\//, "");
  $("page-address").value = address;
  $("deep-links").replaceChildren(...[
    ["MetaMask", `https://metamask.app.link/dapp/${bare}`],
    ["Coinbase Wallet", `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(address)}`],
    ["Trust Wallet", `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(address)}`],
  ].map(([name, href]) => element("a", { href, text: t("Open in {name}", { name }), rel: "noopener noreferrer" })));
  (await import("./{{qr.js}}")).draw($("page-code"), address);
}

const settings = async () => {
  try { return await (await fetch("settings.json")).json(); } catch { return {}; }
};

/** Asks for the passphrase until it is the right one. */
function unlocked(store) {
  view("locked");
  const form = $("locked").querySelector("form");
  form.elements.passphrase.focus();
  $("start-over").onclick = async () => {
    const question = t("This browser forgets the account and its messages. Without another device or an export they are lost.");
    if (!await sure(question, t("Start over"))) return;
    await store.clear();
    location.reload();
  };
  return new Promise((resolve) => onSubmit(form, async ({ passphrase }) => {
    if (!await store.unlock(passphrase.value)) throw new Error(t("This passphrase does not open it. Try again."));
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

/** Gets the account of the device that has shown a code, and asks before anything of it is stored. */
async function linked() {
  view("linking");
  const error = $("linking").querySelector(".error");
  try {
    const [{ readCode }, { confirmed, link }] = await Promise.all([import("./{{link.js}}"), import("./{{linking.js}}")]);
    const r = readCode(code);
    if (!r) throw new Error(t("This link is incomplete or damaged. Copy it again from the other device."));
    const content = await link(base, r, account.deviceName);
    await confirmed(content);
    await take({ account: content });
  } catch ({ message }) {
    error.textContent = message;
  }
}

/** Takes an account of this service. */
async function take(content) {
  const { encryptionKey, authenticationKey } = await serviceKeys().catch(() => { throw new Error(t("The service can’t be reached.")); });
  const { service } = content.account;
  if (service.encryptionKey !== apptimist.hex(encryptionKey) || service.authenticationKey !== apptimist.hex(authenticationKey)) {
    throw new Error(t("This account belongs to another service."));
  }
  // An account that was begun here ends: it may still be asked for, at a wallet or at the service.
  if (account.self) await kept(account.unmake());
  await kept(account.take(content));
  navigator.storage?.persist?.();
  await enter();
}

/** What is to be stored; throws words for people. */
const kept = (work) => work.catch((error) => { throw new Error(t("This browser can’t store the account."), { cause: error }); });

async function serviceKeys() {
  const found = await fetch(`${base}/service.json`, { cache: "no-store" }).then((response) => response.json())
    // Whatever stands before the service answers, too, while that is away.
    .catch((error) => { throw new TypeError(t("The service can’t be reached. Try again later."), { cause: error }); });
  account.document = found;
  return apptimist.pinOf(found);
}

const socketURL = base.replace(/^http/, "ws");

/** Takes the answer of the identity provider, and makes the account. */
async function comeBack() {
  const { readAnswer } = await import("./{{oidc.js}}"), { claim } = await settings();
  if (account.self.aim) history.replaceState(null, "", account.self.aim);
  const answer = readAnswer(signedIn ?? "", account.self.state, claim);
  try {
    if (!answer) throw new Error(t("The identity provider has not said who you are."));
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
  if (!chosen) throw new Error(t("Type a name first: others see it."));
  // Enter in the name's field chooses none: the only one is meant.
  const signer = wallet ?? (offered.length === 1 ? offered[0] : undefined);
  wallet = undefined;
  if (service.identity === "siwe" && !signer) {
    throw new Error(offered.length ? t("Choose one of the wallets below.") : t("No wallet is here. See below how to get on."));
  }
  if (account.self) await kept(account.unmake());
  const pin = await serviceKeys();
  // Another account was taken meanwhile.
  if (account.self) return;
  if (service.identity === "oidc") {
    const { newState, request } = await import("./{{oidc.js}}"), state = newState();
    await kept(account.make(chosen, undefined, pin, state));
    await kept(account.keepSelf({ aim: aim() }));
    return location.assign(request(service, account.self, state, `${base}/app/`));
  }
  await kept(account.make(chosen, token.value.trim(), pin));
  if (service.identity === "siwe" && !await signedByWallet(signer)) return;
  await made();
});

/** Has the wallet sign; false if the person chooses to link this browser to the wallet's account instead. */
async function signedByWallet(wallet) {
  const { signIn } = await import("./{{siwe.js}}"), asked = $("asked"), { self } = account;
  // Another account may be taken while the wallet asks: the answer is none of its.
  const isOver = () => account.self !== self;
  const buttons = $("wallets").querySelectorAll("button");
  for (const one of buttons) one.ariaBusy = "true";
  asked.textContent = t("Answer in your wallet.");
  try {
    const answer = await signIn(wallet, service.chains ?? [1], base, self, (words) => { asked.textContent = words; });
    if (isOver()) return false;
    asked.textContent = "";
    for (const one of buttons) one.ariaBusy = null;
    const isNew = !answer.isKnown || await startsNew();
    if (isOver()) return false;
    if (!isNew) {
      await account.unmake();
      return false;
    }
    await account.signedIn(answer);
    return true;
  } catch (error) {
    if (isOver()) return false;
    await account.unmake();
    throw error;
  } finally {
    asked.textContent = "";
    for (const one of buttons) one.ariaBusy = null;
  }
}

/** Tells that the wallet has an account here, and asks what to do. */
function startsNew() {
  $("known").hidden = false;
  $("known-link").focus();
  return new Promise((resolve) => {
    $("known-new").onclick = () => { $("known").hidden = true; resolve(true); };
    $("known-link").onclick = () => {
      $("known").hidden = true;
      resolve(false);
      $("paste-link").elements.link.focus();
      $("asked").textContent = t("At the other device open “Settings”, then “Link a device”, and open its link here.");
    };
  });
}

onSubmit($("paste-link"), async ({ link }) => {
  const found = /#link=([A-Za-z0-9_-]{43})$/.exec(link.value.trim())?.[1];
  if (!found) throw new Error(t("This link is incomplete or damaged. Copy it again from the other device."));
  location.hash = `link=${found}`;
});

/** Has the service make the account whose keys are stored. */
async function made() {
  const slow = setTimeout(() => { $("asked").textContent = t("The service can’t be reached."); }, 8_000);
  try {
    account.prepare(socketURL);
    await account.start();
  } catch ({ code }) {
    await kept(account.unmake());
    const byIdentity = {
      invite: t("The invitation is not valid."),
      siwe: t("The service did not accept the wallet’s signature. Try again, with the account that you have chosen in the wallet. A wallet that is a contract must be on a network that this service asks."),
    }[service.identity] ?? t("The identity provider’s answer was not accepted. Try again.");
    throw new Error({ 1: byIdentity, 4: t("The service doesn’t accept this name. Choose another one."), 5: t("Too many accounts were made from here. Try again later.") }[code]
      ?? t("The service can’t be reached, or doesn’t accept the account. Try again later."));
  } finally {
    clearTimeout(slow);
    $("asked").textContent = "";
  }
  navigator.storage?.persist?.();
  await enter();
}

$("import-open").onclick = () => $("import").showModal();
onSubmit($("import").querySelector("form"), async ({ file, passphrase }) => {
  const { open, readExport } = await import("./{{export.js}}");
  const plain = await open(passphrase.value, new Uint8Array(await file.files[0].arrayBuffer()));
  if (plain === null) throw new Error(t("This file is no export, or the passphrase is wrong."));
  const content = readExport(plain);
  if (!content) throw new Error(t("The export is damaged."));
  await take(content);
  $("import").close();
});

async function enter() {
  const isNew = Boolean(account.device);
  if (!isNew) account.prepare(socketURL);
  document.documentElement.dataset.user = account.me;
  chat = new Chat(account, toList);
  prepareDialogs(account, base, (key) => { if (key) location.hash = `chat=${key}`; else toList(); });
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
    isHalted = true;
    changed();
    return alarm(t("The service’s keys have changed. Nothing is sent."));
  }
  account.start().catch(() => {
    alarm(t("The service doesn’t know this account. Nothing is sent."));
  });
}

/** Draws soon, and seldom while much comes at once: who types goes on typing. */
function changed() {
  if (drawing || !chat) return;
  const wait = Math.max(16, Math.min(400, lastDraw) * 8);
  // In windows that aren't seen frames don't come.
  drawing = setTimeout(() => {
    const began = performance.now();
    drawing = undefined;
    draw();
    lastDraw = performance.now() - began;
  }, wait);
}

function draw() {
  document.documentElement.dataset.connection = account.isOpen ? "open" : "closed";
  // Where nothing is sent anyway, the alarm says why.
  const isSaid = Boolean(account.isOpen || account.isRefused || isHalted || account.store.isBroken);
  say(isSaid ? "" : t("No connection. Messages are sent when it is back."));
  $("try-now").hidden = isSaid;
  const last = (key) => account.chats.get(key)?.at(-1)?.order ?? Infinity;
  // Where only something was begun: it is found again there.
  const begun = [...account.drafts].filter(([key, { text }]) => text && !account.chats.has(key) && !account.isBlocked(key)).map(([key]) => key);
  const keys = [...new Set([...account.forums.joined(), ...account.chats.keys(), ...begun])].sort((a, b) => last(b) - last(a) || 0);
  const friends = keys.filter((key) => account.isAllowed(key) || begun.includes(key));
  fill($("people"), friends);
  drawRequests(keys.filter((key) => !friends.includes(key) && !account.isBlocked(key)));
  $("no-chats").hidden = friends.length > 0 || !$("hits").hidden;
  $("search").hidden = !account.messages.size;
  if (!$("hits").hidden) search();
  showUnread(account.unreadOfAll(), "Apptimist");
  if ($("settings").open) account.redrawSettings?.();
  chat.show();
}

/** Strangers stand below the chats, folded where there are many. */
function drawRequests(keys) {
  const isOpen = isUnfolded ?? keys.length < FOLDED, toggle = $("requests-toggle");
  $("asking").hidden = !keys.length;
  const name = t("Requests {count}", { count: keys.length });
  if (toggle.title !== name) {
    toggle.title = name;
    toggle.replaceChildren(icon("chevron"), name);
  }
  toggle.ariaExpanded = String(isOpen);
  $("requests-list").hidden = !isOpen;
  $("requests-delete").hidden = !isOpen;
  fill($("requests-list"), isOpen ? keys : []);
}

$("requests-toggle").onclick = () => {
  isUnfolded = $("requests-toggle").ariaExpanded !== "true";
  draw();
};
$("requests-delete").onclick = async () => {
  if (!await sure(t("All requests and what was written in them are deleted."), t("Delete all"))) return;
  const isRequest = (key) => !account.isAllowed(key) && !account.isBlocked(key);
  const all = [...account.chats.keys()].filter(isRequest).flatMap((key) => account.chats.get(key));
  // That nothing can be stored is said already, and what was there still is.
  await account.remove(all).catch(() => {});
};

/** Shows chats; what is the same stays, and keeps the focus. */
function fill(list, keys) {
  const old = new Map([...list.children].map((item) => [item.dataset.key, item]));
  const items = keys.map((key) => {
    const message = account.chats.get(key)?.at(-1), unread = account.unread(key), isOpen = key === chat.key;
    const draft = isOpen ? "" : account.drafts.get(key)?.text ?? "", isForum = account.isForum(key);
    const mark = JSON.stringify([message?.id, message?.version, message?.state, unread, isOpen, draft, account.name(key), account.isAmbiguous(key),
      account.isVerified(key), isForum]);
    const known = old.get(key);
    if (known?.mark === mark) return known;
    const item = known ?? element("li", { data: { key } }, element("button", { type: "button" }));
    item.mark = mark;
    item.dataset.unread = unread;
    const opener = item.firstChild;
    opener.ariaCurrent = isOpen ? "true" : null;
    opener.onclick = () => { location.hash = `chat=${key}`; };
    const name = element("span", { className: "name" }, ...named(account, key));
    name.toggleAttribute("data-verified", account.isVerified(key));
    opener.replaceChildren(
      face(account.name(key), key, isForum ? "forum" : ""), name,
      element("span", { text: message ? when(momentOf(message)) : "", className: "when" }),
      element("span", { className: "last", dir: "auto" }, ...lastWords(message, draft, isForum)));
    if (unread) opener.append(element("span", { className: "count" }, String(unread), element("span", { text: ` ${t("unread")}`, className: "only-heard" })));
    return item;
  });
  showItems(list, items);
}

/** The icon before a message's words in the list, if it has one. */
function marksOf(message) {
  if (message.state === "failed") return [icon("warning"), " "];
  return message.file ? [icon("attach"), " "] : [];
}

function lastWords(message, draft, isForum) {
  if (draft) return [t("Draft: {text}", { text: draft.slice(0, 100) })];
  if (!message) return [t("No messages yet")];
  const said = summary(message).slice(0, 200);
  const marks = marksOf(message);
  if (message.from === account.me) return [...marks, t("You: {text}", { text: said })];
  return isForum ? [...marks, t("{name}: {text}", { name: account.name(message.from), text: said })] : [...marks, said];
}

/** Searches what this device holds. */
function search() {
  const term = $("search-field").value.trim().toLocaleLowerCase(), isSearching = term.length > 1;
  $("people").hidden = isSearching;
  $("hits").hidden = !isSearching;
  if (!isSearching) return;
  const found = [...account.messages.values()]
    .filter((one) => account.isAllowed(one.chat) && summary(one).toLocaleLowerCase().includes(term))
    .sort((a, b) => b.order - a.order).slice(0, 50);
  const hits = found.map((message) => {
    const text = summary(message), at = text.toLocaleLowerCase().indexOf(term);
    const opener = element("button", { type: "button" }, face(account.name(message.chat), message.chat, account.isForum(message.chat) ? "forum" : ""),
      element("span", { className: "name" }, ...named(account, message.chat)), element("span", { text: when(momentOf(message)), className: "when" }),
      element("span", { className: "last", dir: "auto", text: text.slice(Math.max(0, at - 20), at + 120) }));
    opener.onclick = () => {
      location.hash = `chat=${message.chat}`;
      setTimeout(() => chat.find(message.id), 100);
    };
    return element("li", { data: { key: message.id } }, opener);
  });
  showItems($("hits"), hits.length ? hits : [element("li", { className: "quiet", text: t("Nothing found.") })]);
}

$("search-field").oninput = () => {
  search();
  draw();
};

/** Says whether the numbers are the same that somebody shows; a link proves nothing, so nothing is marked. */
async function compare(key, digits) {
  location.hash = `chat=${key}`;
  await account.look(key).catch(() => {});
  const isSame = account.known.has(key) && account.safetyNumber(key).replaceAll(" ", "") === digits;
  $("compared-words").textContent = isSame ? t("The numbers are the same") : t("The numbers are different");
  $("compared").showModal();
}

function route() {
  const verify = /^#verify=([0-9a-f]{64})\.([0-9]{60})$/.exec(location.hash);
  if (verify && chat) return compare(verify[1], verify[2]);
  const key = /^#chat=([0-9a-f]{64})$/.exec(location.hash)?.[1] ?? "";
  chat?.open(key === account?.me ? "" : key);
  if (chat) draw();
}

const hurry = () => account?.device?.hurry();
$("try-now").onclick = hurry;
addEventListener("hashchange", () => location.hash.startsWith("#link=") ? location.reload() : route());
addEventListener("online", hurry);
addEventListener("pageshow", ({ persisted }) => { if (persisted) hurry(); });
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState !== "visible") return;
  hurry();
  chat?.readUp();
});
$("use-here").onclick = () => begin({ steal: true }).then(() => {});

// A page that is being left, as when it is loaded anew, holds the lock a moment longer.
await begin({ signal: AbortSignal.timeout(2000) });
