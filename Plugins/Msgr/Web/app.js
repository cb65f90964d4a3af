// The page: the account, its people and conversations.
import { isTooLong, Msgr, MsgrError, newDevice, newIdentifier } from "./{{msgr.js}}";
import { Archive } from "./{{archive.js}}";
import {
  $, applyScheme, bdi, copy, day, dayTitle, element, face, focusChat, icon, iconButton, menuButton, onSubmit, openMenu, nodes, placeHints, placeIcons, say, sends, showItems, showUnread, sure, t, time, toList,
  translate, when, withNewPassword, words,
} from "./{{page.js}}";
import { knownSigns, parts, plainText } from "./{{rich.js}}";
import { prepareSettings, registration } from "./{{settings.js}}";
import { prepareTopics, showTopic } from "./{{topics.js}}";

applyScheme();
placeIcons();
translate();
placeHints();
// Notifications on an iPhone need the page there.
$("home-screen").hidden = !/iPhone|iPad/.test(navigator.userAgent) || (navigator.standalone ?? true);
const alarm = (text) => { $("alarm").textContent = text; };
const archive = await Archive.open().catch((error) => {
  alarm(t("This browser doesn’t let the page store anything, as in a private window. Without that, nobody can sign in here."));
  $("sign").hidden = true;
  $("welcome").hidden = false;
  throw error;
});
archive.onbroken = (isGone) => {
  alarm(isGone
    ? t("This browser no longer stores anything for this page: its data was cleared. What you write is not kept or sent. Load the page again, and sign in.")
    : t("This browser has no space left for this page. Nothing new is kept or sent until there is. Free some space on this device; the page then goes on by itself."));
  // What comes can't be kept any more, so that it would come again and again.
  if (isGone) {
    stream?.close();
    document.documentElement.dataset.connection = "closed";
  }
  showState();
};
archive.onmended = () => {
  alarm("");
  showState();
  archive.set("drafts", drafts()).catch(() => {});
  archive.set("draftAnswers", draftAnswers()).catch(() => {});
  hurry();
};
const nobody = { Friends: [], Incoming: [], Outgoing: [], Blocked: [] };
let msgr, stream, me, partner = "";
// What the stream says of itself.
let connection;
let lists = nobody;
const messages = new Map();
const waiting = new Map();
// The Order of what was written last: messages that wait are sent in this order, also by a page that was loaded meanwhile.
let lastOrder = 0;

let topics = [];
/** The topic of a conversation: only its messages, or the subscription, tell it from a person who is called so. */
const topicOf = (name) => name.startsWith("#") && (topics.some(({ Topic }) => Topic === name.slice(1)) || hasTopic(name)) ? name.slice(1) : undefined;
const hasTopic = (name) => [...messages.values()].some(({ Topic }) => Topic && `#${Topic}` === name);
const drafts = () => archive.values.drafts ?? {};
/** What the drafts answer. */
const draftAnswers = () => archive.values.draftAnswers ?? {};
const GROUP = 300_000;
/** From so many requests, and chats of strangers, on they are folded. */
const FOLDED = 9;
/** How often it is asked whether a request was answered while its conversation is open: nothing says so by itself. */
const ANSWERS = 10_000;
/** How often the lists are asked for while the page is shown: nothing says what another device has changed in them. */
const CHANGES = 60_000;
/** How long the lists aren't asked for again where strangers write. */
const PAUSE = 2_000;
// What is shown of the open conversation: whether its end is, what is new below, and the first unread one.
let isAtEnd = true, below = 0, firstUnread, isUnfolded;
/** How many messages of a conversation are shown at first, and how many more are when it is asked for. */
const SHOWN = 500;
let shownCount = SHOWN;
/** The message that was searched for, until its conversation is shown. */
let sought;
/** Who has written and is nobody whom the account knows. */
let strangers = [];
/** What the text that is being written answers. */
let answered = "";

function partnerOf(message) {
  if (message.Topic) return `#${message.Topic}`;
  return message.UserTo && message.UserFrom === me ? message.UserTo : message.UserFrom;
}
const reads = () => archive.values.reads ?? {};

/** Up to where a conversation is read: here, or on other devices before this browser signed in. */
function readPosition(name) {
  const here = reads()[name] ?? "", before = archive.values.seen ?? "";
  return here > before ? here : before;
}

// MARK: The account

onSubmit($("sign"), async ({ Username, Password, DeviceName, Invitation }, act) => {
  const device = archive.values.device ?? newDevice();
  // Where nothing can be stored no account is made, and no session.
  await archive.set("device", device);
  const fields = { Username, Password, DeviceID: device };
  if (DeviceName) fields.DeviceName = DeviceName;
  if (Invitation && act === "register") fields.Invitation = Invitation;
  const opened = act === "register" ? await register(fields) : await Msgr.open("./", "login", fields);
  const { name, ending } = archive.values;
  if (name !== Username.normalize("NFC")) await archive.clear({ ending });
  await archive.set("device", device);
  await archive.set("name", Username.normalize("NFC"));
  // A browser that has kept messages knows itself which of them are read.
  if (!archive.values.last) await archive.set("seen", opened.seen);
  await archive.set("token", opened.token);
  // What other pages of this browser have kept in memory, and would store, isn't this account's.
  tabs.postMessage({ entered: true });
  $("sign").reset();
  await start();
});

/** Makes an account; who lacks a good invitation gets to its field. */
async function register(fields) {
  try {
    return await withNewPassword(fields.Password, () => Msgr.open("./", "register", fields));
  } catch (error) {
    if (error.code === "signup") throw new MsgrError(403, t("Only the operator makes accounts on this server."));
    // A name that is taken has no code.
    if (error.code !== "invitation") throw error;
    $("invitation").open = true;
    $("sign").elements.Invitation.focus();
    throw new MsgrError(403, fields.Invitation
      ? t("The invitation is unknown, used up or over. Ask for another one.")
      : t("This server needs an invitation. Enter the one that you were given."));
  }
}

async function start() {
  const { token, name } = archive.values;
  $("welcome").hidden = Boolean(token);
  $("home").hidden = !token;
  if (!token) return $("sign").elements.Username.focus();
  msgr = new Msgr("./", token);
  me = name;
  messages.clear();
  for (const message of await archive.all("messages")) messages.set(message.Id, message);
  const unsent = await archive.all("waiting");
  unsent.sort((a, b) => (a.Order ?? 0) - (b.Order ?? 0) || Date.parse(a.Time) - Date.parse(b.Time));
  for (const message of unsent) waiting.set(message.ClientId, message);
  lastOrder = Math.max(lastOrder, ...unsent.map(({ Order = 0 }) => Order));
  // A page of an earlier version may have kept a response that was cut.
  lists = { ...nobody, ...archive.values.lists };
  show();
  stream = msgr.stream({
    since: () => archive.values.last,
    onMessage: take,
    onState(state) {
      connection = state;
      const isConnected = state === "open" || state === "polling";
      document.documentElement.dataset.connection = isConnected ? "open" : "closed";
      showState();
      if (isConnected) {
        refresh();
        deliverNow();
      }
      if (state === "ended") leave(t("You were signed out."));
    },
  });
  open(wanted());
  refresh();
  // Browsers replace subscriptions at times.
  if (archive.values.notify) registration?.then((worker) => msgr.subscribe(worker)).catch(() => {});
}

/** Says how the connection is. Where nothing can be stored that is said instead: without that nothing is sent. */
function showState() {
  const sentences = {
    polling: t("No stream comes through from the server. New messages are fetched every five seconds."),
    waiting: t("No connection. Messages are sent when it is back."),
  };
  say(archive.isBroken ? "" : sentences[connection] ?? "");
  $("try-now").hidden = archive.isBroken || connection !== "waiting";
}

/** The name behind the address. */
function wanted() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

async function leave(reason) {
  stream?.close();
  connection = undefined;
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
  for (const id of ["me", "sessions", "blocked", "news", "hits", "strangers"]) $(id).replaceChildren();
  $("search-field").value = "";
  $("people").hidden = false;
  $("hits").hidden = true;
  for (const form of document.forms) form.reset();
  showAnswer("");
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

/** Signs out if that is meant: it deletes what is kept here. */
async function signOut() {
  const question = waiting.size
    ? t("Some messages are not sent yet, and will be lost. The others are deleted in this browser; the server keeps only the latest ones.")
    : t("Your messages are deleted in this browser. The server keeps only the latest ones.");
  if (!await sure(question, t("Sign out"))) return;
  // Another page may have signed out meanwhile.
  if (msgr) await leaveSession();
}

/** Signs out here at once. What is kept can do nothing but end the session, when the server can be reached. */
async function leaveSession() {
  const digest = await msgr.digest();
  if (!digest) await msgr.post("logout").catch(() => {});
  const ending = [...archive.values.ending ?? [], ...digest ? [digest] : []];
  await erase(t("You are signed out."), { ending });
  await endSessions();
}

async function endSessions() {
  for (const TokenDigest of archive.values.ending ?? []) {
    const failure = await new Msgr("./").post("logout", { TokenDigest }).then(() => null, (error) => error);
    if (failure?.isTemporary) return setTimeout(endSessions, 30_000);
    await archive.set("ending", archive.values.ending.filter((digest) => digest !== TokenDigest));
  }
}

/** How long the lists are waited for, in milliseconds. */
const ANSWER_TIME = 10_000;

async function refresh() {
  const asked = msgr;
  try {
    const found = await asked?.post("friends", {}, ANSWER_TIME);
    if (!found || asked !== msgr) return;
    lists = found;
    // A server without topics has no such request. Without an answer those that were known stay.
    const answer = await asked.post("topics", {}, ANSWER_TIME).catch((error) => {
      if (error.isTemporary) throw error;
    });
    const isKnown = Array.isArray(answer);
    topics = (isKnown ? answer : []).filter(({ Subscribed }) => Subscribed);
    tabs.postMessage({ lists, topics });
    show();
    // Where nothing can be stored that is said already.
    await archive.set("lists", lists).catch(() => {});
    if (isKnown) offerTopic();
  } catch (error) {
    if (!error.isTemporary) throw error;
    showSoon();
    // Though there is a connection, as on one of the browser's that is dead.
    if (error.status === 0 && asked === msgr && connection === "open") refreshSoon();
  }
}

/** Asks for the lists, and not again and again while much comes. */
let refreshing, refreshed = 0;
function refreshSoon() {
  refreshing ??= setTimeout(() => {
    refreshing = undefined;
    refreshed = Date.now();
    refresh();
  }, Math.max(0, refreshed + PAUSE - Date.now()));
}

// MARK: Messages

async function take(message) {
  if (message.Read) return noteRead(message.Read.With, message.Read.Id);
  if (message.Deleted) return withdraw(message.Deleted);
  if (message.Cleared) return;
  if (!message.Id || message.error) return;
  // Who writes for the first time may have become a friend on another device.
  const name = partnerOf(message), isFriend = lists.Friends.includes(name);
  const isNew = !isFriend && ![...messages.values()].some((one) => partnerOf(one) === name) && strangersAmong([name]).length > 0;
  await keep(message, true);
  // Who writes may have answered a request.
  if (message.AddRequest || lists.Outgoing.includes(message.UserFrom)) refresh();
  else if (isNew) refreshSoon();
  if (partnerOf(message) === partner) {
    if (message.UserFrom !== me && !isAtEnd) below += 1;
    if (message.UserFrom !== me) $("news").textContent = t("{name}: {text}", { name: message.UserFrom, text: message.Message });
    readUp().catch(() => {});
  }
  showSoon();
}

/** Takes messages of a topic away that its publisher has withdrawn. */
async function withdraw({ Topic, Sequence }) {
  for (const [id, message] of messages) {
    if (message.Topic !== Topic || message.Sequence !== Sequence) continue;
    await archive.remove("messages", id);
    messages.delete(id);
  }
  show();
}

/** Stores a message, and that all before it was stored if `isNewest`; then it is shown. */
async function keep(message, isNewest) {
  // A later state of the same alert takes the earlier one's place.
  const isEarlier = ({ Id, Topic, Sequence }) => Topic === message.Topic && Sequence === message.Sequence && Id < message.Id;
  const replaced = message.Topic && message.Sequence ? [...messages.values()].filter(isEarlier) : [];
  const isLast = isNewest && message.Id > (archive.values.last ?? "");
  await archive.transact((all) => {
    for (const { Id } of replaced) all.messages.delete(Id);
    all.messages.put(message);
    if (isLast) all.values.put({ name: "last", value: message.Id });
  });
  if (isLast) archive.values.last = message.Id;
  for (const { Id } of replaced) messages.delete(Id);
  messages.set(message.Id, message);
  tabs.postMessage(message);
}

// Another page of this browser is the same device, which isn't told what it has sent itself.
const tabs = new BroadcastChannel("msgr");
tabs.onmessage = ({ data }) => {
  if (data.erased) {
    archive.values = {};
    return forget(data.erased);
  }
  if (data.entered) return location.reload();
  if (data.discarded) {
    for (const id of data.discarded) messages.delete(id);
    return show();
  }
  if (data.lists) {
    ({ lists, topics } = data);
    return show();
  }
  if (data.read) return hearRead(data.read);
  if (data.draft) return hearDraft(data.draft);
  messages.set(data.Id, data);
  show();
};

async function noteRead(name, id) {
  if (id <= (reads()[name] ?? "")) return;
  tabs.postMessage({ read: { name, id } });
  await archive.set("reads", { ...reads(), [name]: id });
  show();
}

/** Another page has read up to a message. */
function hearRead({ name, id }) {
  if (id <= (reads()[name] ?? "")) return;
  archive.values.reads = { ...reads(), [name]: id };
  show();
}

/** Notes, here and at the server, that the open conversation is read. */
async function readUp() {
  if (!partner || document.hidden) return;
  const last = conversation(partner).filter(({ UserFrom, Id }) => Id && UserFrom !== me).at(-1)?.Id;
  if (!last || last <= (reads()[partner] ?? "")) return;
  const name = partner;
  await noteRead(name, last);
  await msgr.post("read", { With: name, Id: last }).catch(() => {});
}

const conversation = (name) => [...messages.values()]
  .filter((message) => partnerOf(message) === name).sort((a, b) => (a.Id < b.Id ? -1 : 1));

/** How many messages of each conversation are unread. */
function unread() {
  const counts = new Map();
  for (const message of messages.values()) {
    const name = partnerOf(message);
    if (message.UserFrom === me || message.Id <= readPosition(name)) continue;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

onSubmit($("compose"), async () => {
  const written = $("text").value, name = partner;
  if (!written.trim() || !name) return;
  // As letters do it: messages have no other place for what they answer.
  const text = answered ? `> ${answered}\n${written}` : written, answer = answered;
  trouble("");
  if (isTooLong(me, text)) return trouble(t("The message is too long."));
  const message = {
    ClientId: newIdentifier(), UserFrom: me, UserTo: name, Message: text,
    Time: new Date().toISOString(), Order: ++lastOrder,
  };
  $("text").value = "";
  showAnswer("");
  try {
    await archive.put("waiting", message);
  } catch (error) {
    // What can't be stored stays where it was written.
    if (partner === name && !$("text").value) {
      $("text").value = written;
      showAnswer(answer);
    }
    throw error;
  }
  if (partner === name) keepText();
  waiting.set(message.ClientId, message);
  isAtEnd = true;
  show();
  deliver();
  navigator.storage?.persist?.();
});

/** The texts by conversation, with another one for a conversation, or none. */
function withText(texts, name, text) {
  const { [name]: before, ...others } = texts;
  return text ? { ...others, [name]: text } : others;
}

async function keepDraft(name, text, answer = "") {
  const isSame = (drafts()[name] ?? "") === text;
  if (isSame && (draftAnswers()[name] ?? "") === answer) return;
  tabs.postMessage({ draft: { name, text, answer } });
  await Promise.all([
    archive.set("drafts", withText(drafts(), name, text)), archive.set("draftAnswers", withText(draftAnswers(), name, answer)),
  ]);
}

/** Another page has the draft of a conversation: it isn't written over by what stands here. */
function hearDraft({ name, text, answer = "" }) {
  const before = drafts()[name] ?? "", answerBefore = draftAnswers()[name] ?? "";
  archive.values.drafts = withText(drafts(), name, text);
  archive.values.draftAnswers = withText(draftAnswers(), name, answer);
  if (partner === name && $("text").value === before) $("text").value = text;
  if (partner === name && answered === answerBefore) showAnswer(answer);
  show();
}
/** Says above the field why something isn't sent, until something else is written. */
const trouble = (text) => { $("trouble").textContent = text; };
$("text").addEventListener("input", () => trouble(""));
const keepText = () => { if (partner && !$("compose").hidden) keepDraft(partner, $("text").value, answered).catch(() => {}); };
$("text").addEventListener("input", keepText);
addEventListener("pagehide", keepText);

// How long a message waits for its answer, at the first try and at later ones, and how far quick failures are apart, in
// milliseconds.
// Browsers keep connections to a server, of which some may be dead: the first try is a short one.
const ANSWER_TIMES = [3_000, 6_000, 12_000, 20_000], APART = 5_000;
let isDelivering = false, isHurried = false, delivering, failures = 0;

/** Tries at once to connect and to send, as when the network is back. */
function hurry() {
  stream?.hurry();
  deliverNow();
}

/** Sends at once what waits. What is under way and was given up is sent again without a pause. */
function deliverNow() {
  isHurried = isDelivering;
  failures = 0;
  deliver();
}

/** Sends what waits, in order, and tries again by itself with the same ClientId. */
async function deliver() {
  // What is sent has to be recorded.
  if (isDelivering || archive.isBroken) return;
  isDelivering = true;
  clearTimeout(delivering);
  try {
    const next = () => [...waiting.values()].find(({ failure }) => !failure);
    for (let message = next(); message; message = next()) {
      const asked = msgr, began = Date.now(), longest = ANSWER_TIMES[Math.min(failures, ANSWER_TIMES.length - 1)];
      let sent;
      try {
        sent = await asked.send(message.UserTo, message.Message, message.ClientId, longest);
        failures = 0;
      } catch (error) {
        if (asked !== msgr) return;
        if (error.isTemporary ?? false) {
          const isAtOnce = isHurried && error.status === 0;
          isHurried = false;
          if (isAtOnce) continue;
          failures += 1;
          // What was waited for in vain is tried at once again.
          const isLate = error.status === 0 && Date.now() - began >= longest;
          delivering = setTimeout(deliver, isLate ? 0 : error.retryAfter * 1000 || APART);
          break;
        }
        message.failure = words(error, t("There is no such user."));
      }
      if (asked !== msgr) return;
      if (sent) {
        await keep({ ...message, Id: sent.Own ?? sent.Id });
        waiting.delete(message.ClientId);
        await archive.remove("waiting", message.ClientId);
      } else await archive.put("waiting", message);
      show();
    }
  } catch {
    // What could not be recorded is sent again when the browser stores again; it is not there twice.
  } finally {
    isDelivering = false;
  }
}

$("text").addEventListener("keydown", (event) => {
  if (!sends(event)) return;
  event.preventDefault();
  $("compose").requestSubmit();
});
$("compose").addEventListener("keydown", (event) => {
  // Escape also ends a composition.
  if (event.key !== "Escape" || !answered || event.isComposing || event.keyCode === 229) return;
  event.preventDefault();
  reply();
});

// A file that is dropped would replace the page. A text can be dragged into the field.
for (const kind of ["dragover", "drop"]) {
  addEventListener(kind, (event) => {
    if (!event.dataTransfer?.types.includes("Files")) return;
    event.preventDefault();
    if (kind === "drop") trouble(t("Msgr sends no files, only text."));
  });
}
$("text").addEventListener("paste", (event) => {
  // A text that is copied with its picture, as by office programs, is a text.
  const { files, types } = event.clipboardData;
  if (!files.length || types.includes("text/plain")) return;
  event.preventDefault();
  trouble(t("Msgr sends no files, only text."));
});

// MARK: Showing

/** Shows what comes, and seldom while much comes at once. */
let showing;
function showSoon() {
  showing ??= setTimeout(() => {
    showing = undefined;
    show();
  }, 30);
}

function show() {
  const counts = unread();
  const last = new Map();
  for (const message of messages.values()) {
    const name = partnerOf(message);
    if (message.Id > (last.get(name)?.Id ?? "")) last.set(name, message);
  }
  for (const message of waiting.values()) last.set(message.UserTo, { ...message, Id: "g" });
  // Who only asks, or has asked, to be a friend stands among the requests, or nowhere.
  const said = [...messages.values()].filter(({ AddRequest }) => !AddRequest).map(partnerOf);
  const unsent = [...waiting.values()].map(({ UserTo }) => UserTo);
  const names = new Set([...said, ...unsent, ...lists.Friends, ...lists.Outgoing, ...topics.map(({ Topic }) => `#${Topic}`)]);
  if (last.has(partner)) names.add(partner);
  for (const name of lists.Blocked) if (name !== partner) names.delete(name);
  strangers = strangersAmong(said).filter((name) => names.has(name));
  const known = [...names].filter((name) => !strangers.includes(name));
  showUnread(known.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0), "Msgr");
  list($("people"), known, last, counts);
  const isEmpty = names.size + lists.Incoming.length === 0;
  if ($("nobody").hidden === isEmpty) $("adding").open = isEmpty;
  $("nobody").hidden = !isEmpty;
  $("search").hidden = !messages.size;
  if (!$("hits").hidden) search();
  showRequests(last, counts);
  showTalk();
}

/** Who of these is neither a friend, a topic nor oneself, was never written to, and is no publisher of somebody known. */
function strangersAmong(names) {
  const known = new Set([me, ...lists.Friends, ...lists.Outgoing]);
  for (const message of [...messages.values(), ...waiting.values()]) {
    if (message.UserFrom === me) known.add(partnerOf(message));
  }
  // A publisher's name begins with its owner's.
  return [...new Set(names)].filter((name) => !known.has(name) && !known.has(name.split("/")[0]) && !topicOf(name));
}

/** Lists conversations, the newest first: `last` has the newest message of each, `counts` what is unread. */
function list(place, names, last, counts) {
  const sorted = [...names].sort((a, b) =>
    (last.get(b)?.Id ?? "").localeCompare(last.get(a)?.Id ?? "") || a.localeCompare(b));
  showItems(place, sorted.map((name) => row(name, last.get(name), counts.get(name))));
}

/** A conversation in a list. */
function row(name, newest, count) {
  const topic = topicOf(name), draft = name === partner ? "" : drafts()[name];
  const picture = topic ? face(topic, name, "forum") : face(name);
  const button = element("button", {}, picture, element("span", { className: "name" }, bdi(name)),
    element("span", { className: "when", text: newest ? when(newest.Time) : "" }));
  const state = draft ? t("Draft: {text}", { text: draft.slice(0, 100) }) : lastWords(name, newest);
  const isMuted = topics.some(({ Topic, Push }) => Topic === topic && !Push);
  const marks = [...isMuted ? [icon("mute"), " "] : [], ...newest?.failure ? [icon("warning"), " "] : []];
  button.append(element("span", { className: "last", dir: "auto" }, ...marks, state));
  if (count) {
    button.append(element("span", { className: "count", text: count },
      element("span", { className: "only-heard", text: ` ${t("unread")}` })));
  }
  button.setAttribute("aria-current", String(name === partner));
  button.addEventListener("click", () => { location.hash = encodeURIComponent(name); });
  return element("li", { data: { key: name } }, button);
}

/** Who asks to be a friend, and strangers who simply write, stand below the conversations, folded where there are many. */
function showRequests(last, counts) {
  const count = new Set([...lists.Incoming, ...strangers]).size, isOpen = isUnfolded ?? count < FOLDED, toggle = $("requests-toggle");
  $("asking").hidden = !count;
  toggle.replaceChildren(icon("chevron"), t("Requests {count}", { count }));
  toggle.ariaExpanded = String(isOpen);
  $("requests").hidden = $("strangers").hidden = $("requests-delete").hidden = !isOpen;
  showItems($("requests"), !isOpen ? [] : lists.Incoming.map((name) => element(
    "li", { data: { key: name } }, element("span", {}, ...nodes("{name} wants to add you", { name: [bdi(name)] })), answers(name))));
  list($("strangers"), isOpen ? strangers : [], last, counts);
}

/** The buttons that answer a request. */
function answers(name) {
  return element("span", { className: "row" }, act(t("Accept"), () => msgr.post("add", { AddUser: name })),
    act(t("Decline"), () => msgr.post("unfriend", { User: name }), "second"));
}

$("requests-toggle").addEventListener("click", () => {
  isUnfolded = $("requests-toggle").ariaExpanded !== "true";
  show();
});

$("requests-delete").addEventListener("click", async () => {
  if (!await sure(t("All requests are declined, and what strangers have written is deleted in this browser."), t("Delete all"))) return;
  await discardAll(strangers).catch((error) => say(words(error)));
  for (const name of lists.Incoming) await msgr.post("unfriend", { User: name }).catch((error) => say(words(error)));
  await refresh();
});

/** Searches what this device holds. */
function search() {
  const term = $("search-field").value.trim().toLocaleLowerCase(), isSearching = term.length > 1;
  $("people").hidden = isSearching;
  $("hits").hidden = !isSearching;
  if (!isSearching) return;
  const textOf = ({ Title, Message }) => [Title, Message].filter(Boolean).join(": ");
  const found = [...messages.values()].filter((message) => textOf(message).toLocaleLowerCase().includes(term))
    .sort((a, b) => (a.Id < b.Id ? 1 : -1)).slice(0, 50);
  const hits = found.map((message) => {
    const name = partnerOf(message), text = textOf(message), at = text.toLocaleLowerCase().indexOf(term);
    const opener = element("button", { type: "button" }, topicOf(name) ? face(topicOf(name), name, "forum") : face(name),
      element("span", { className: "name" }, bdi(name)), element("span", { className: "when", text: when(message.Time) }),
      element("span", { className: "last", dir: "auto", text: text.slice(Math.max(0, at - 20), at + 120) }));
    opener.addEventListener("click", () => {
      sought = message.Id;
      if (name === partner) seek(); else location.hash = encodeURIComponent(name);
    });
    return element("li", { data: { key: message.Id } }, opener);
  });
  showItems($("hits"), hits.length ? hits : [element("li", { className: "quiet", text: t("Nothing found.") })]);
}

$("search-field").addEventListener("input", search);

function lastWords(name, newest) {
  if (lists.Outgoing.includes(name)) return t("asked to be a friend");
  if (!newest) return "";
  const text = [newest.Title, plainText(newest)].filter(Boolean).join(": ").slice(0, 200);
  return newest.UserFrom === me ? t("You: {text}", { text }) : text;
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
  const topic = topicOf(partner);
  $("with-face").replaceChildren(partner ? face(topic ?? partner, partner, topic ? "small forum" : "small") : "");
  $("topic-open").hidden = !topic;
  $("more").hidden = Boolean(topic);
  // A program, whose name has a slash, gets no messages.
  $("compose").hidden = Boolean(topic) || partner.includes("/");
  const isFriend = lists.Friends.includes(partner);
  $("befriend").hidden = isFriend || lists.Outgoing.includes(partner) || partner.includes("/");
  $("unfriend").hidden = !isFriend;
  const list = $("messages");
  if (list.dataset.name !== partner) {
    isAtEnd = true;
    shownCount = SHOWN;
    shownItems.clear();
  }
  list.dataset.name = partner;
  const shown = [...conversation(partner), ...[...waiting.values()].filter(({ UserTo }) => UserTo === partner)];
  // Somebody may have asked before, and was declined.
  const request = lists.Incoming.includes(partner) ? shown.findLast(({ AddRequest }) => AddRequest) : undefined;
  const isGroup = (one, next) => Boolean(one && next) && one.UserFrom === next.UserFrom
    && Math.abs(Date.parse(next.Time) - Date.parse(one.Time)) < GROUP;
  const items = shown.slice(-shownCount).flatMap((message, index, all) => {
    const isFirst = index === 0 || day(all[index - 1].Time) !== day(message.Time);
    const made = item(message, message === request);
    made.classList.toggle("follows", !isFirst && isGroup(all[index - 1], message));
    made.classList.toggle("last-of-group", !isGroup(message, all[index + 1]));
    const before = isFirst ? [line(`day ${keyOf(message)}`, "day", dayTitle(message.Time))] : [];
    if (message.Id && message.Id === firstUnread) before.push(line("mark", "mark", t("Unread messages")));
    return [...before, made];
  });
  if (shown.length > shownCount) items.unshift(earlier());
  if (lists.Outgoing.includes(partner)) items.push(line("asked", "day", t("You asked {name} to be a friend.", { name: partner })));
  if (!items.length) items.push(element("li", { className: "day" }, element("p", { text: t("No messages yet.") })));
  const stays = isAtEnd;
  // What has the focus keeps it where only something new is added.
  const old = list.children;
  let same = 0;
  while (same < old.length && old[same] === items[same]) same++;
  if (same < old.length) list.replaceChildren(...items); else list.append(...items.slice(same));
  if (stays) list.scrollTop = list.scrollHeight;
  showDown();
}

// What is shown of the open conversation, by message; a message that has changed is drawn anew.
const shownItems = new Map();
const keyOf = ({ Id, ClientId }) => ClientId ?? Id;

function line(key, className, text) {
  if (shownItems.get(key)?.textContent !== text) shownItems.set(key, element("li", { className, text }));
  return shownItems.get(key);
}

/** The button that shows more of a long conversation; what was in sight stays there. */
function earlier() {
  if (!shownItems.has("earlier")) {
    const button = element("button", { type: "button", className: "second", text: t("Earlier messages") });
    button.addEventListener("click", () => {
      const list = $("messages"), first = list.querySelector("li[data-id]"), before = first?.getBoundingClientRect().top ?? 0;
      shownCount += SHOWN;
      isAtEnd = false;
      show();
      if (first) list.scrollTop += first.getBoundingClientRect().top - before;
      $("messages").focus({ preventScroll: true });
    });
    shownItems.set("earlier", element("li", { className: "day" }, button));
  }
  return shownItems.get("earlier");
}

/** Leads to the message that was searched for. */
function seek() {
  const all = conversation(partner), index = all.findIndex(({ Id }) => Id === sought), found = all[index];
  sought = undefined;
  if (!found) return;
  isAtEnd = false;
  // Those that wait stand behind it too, and some before it are in sight.
  shownCount = Math.max(shownCount, all.length + waiting.size - index + 50);
  show();
  const made = shownItems.get(keyOf(found));
  made.tabIndex = -1;
  made.focus({ preventScroll: true });
  made.scrollIntoView({ block: "center" });
  made.animate([{ boxShadow: "0 0 0 3px var(--accent)" }, { boxShadow: "0 0 0 3px transparent" }], 2_500);
}

/** The button that leads down, with the number of new messages there. */
function showDown() {
  if (isAtEnd) below = 0;
  $("down").hidden = isAtEnd;
  $("down").replaceChildren(icon("down"), element("span", { className: "only-heard", text: t("To the newest message") }),
    ...below ? [element("span", { className: "count", text: below })] : []);
}

$("down").addEventListener("click", () => {
  isAtEnd = true;
  $("messages").scrollTop = $("messages").scrollHeight;
  showDown();
});

// The end stays in sight when a keyboard takes a part of the window.
$("messages").addEventListener("scroll", ({ target }) => {
  const wasAtEnd = isAtEnd;
  isAtEnd = target.scrollHeight - target.scrollTop - target.clientHeight < 80;
  if (isAtEnd !== wasAtEnd) showDown();
});
new ResizeObserver(([{ target }]) => { if (isAtEnd) target.scrollTop = target.scrollHeight; }).observe($("messages"));

/** What became of a message of one's own, in words and as an icon. */
function stateOf({ Id, failure }) {
  if (failure) return { state: t("not sent: {reason}", { reason: failure }), shape: "warning" };
  return Id ? { state: t("sent"), shape: "check" } : { state: t("waiting"), shape: "clock" };
}

/** Draws a message; a request that waits for its answer has buttons for that. */
function item(message, isAsking) {
  const key = keyOf(message), known = shownItems.get(key);
  const mark = JSON.stringify([message.Id, message.failure, message.Tags && knownSigns(), isAsking]);
  if (known?.mark === mark) return known;
  const isOwn = message.UserFrom === me;
  const made = element("li", { className: isOwn ? "own" : "", data: { id: key } });
  made.mark = mark;
  shownItems.set(key, made);
  made.append(element("span", { className: "only-heard", text: isOwn ? t("You:") : t("{name}:", { name: message.UserFrom }) }), ...parts(message, say, showSoon));
  const { state, shape } = isOwn ? stateOf(message) : {};
  const small = element("small", { text: time(message.Time) });
  if (message.failure) small.append(" · ", state);
  made.append(element("div", { className: "foot" }, small,
    ...shape ? [icon(shape)] : [], ...isOwn && !message.failure ? [element("span", { className: "only-heard", text: state })] : [],
    menuButton(made, (opener) => openMenu(opener, choices(message)))));
  if (isAsking) made.append(answers(message.UserFrom));
  if (message.failure) made.dataset.state = "failed";
  if (message.failure) {
    made.append(" ", act(t("Try again"), async () => {
      delete message.failure;
      show();
      deliver();
    }, "second"), " ", act(t("Discard"), async () => {
      waiting.delete(message.ClientId);
      await archive.remove("waiting", message.ClientId);
      show();
    }, "second"));
  }
  return made;
}

/** What the menu of a message offers. */
function choices(message) {
  const items = [], text = message.Message ?? "";
  if (message.Id && !$("compose").hidden) items.push([t("Reply"), () => reply(text), "", "reply"]);
  if (text) items.push([t("Copy"), () => copy(text), "", "copy"]);
  if (message.Id) items.push([t("Delete"), async () => {
    if (!await sure(t("The message is deleted in this browser."), t("Delete"))) return;
    await discard(message.Id).catch((error) => say(words(error)));
  }, "danger", "delete"]);
  return items;
}

/** Answers a message with what is written next, or nothing. */
function reply(text = "") {
  const first = text.split("\n").find((one) => one.trim() && !one.startsWith("> ")) ?? "";
  showAnswer([...first].slice(0, 200).join(""));
  keepText();
  $("text").focus();
}

/** Shows what the text that is being written answers. */
function showAnswer(quote) {
  answered = quote;
  $("chip").hidden = !answered;
  $("chip").replaceChildren(...answered ? [icon("reply"), element("span", { text: answered, dir: "auto" }),
    iconButton("close", t("Cancel"), () => reply())] : []);
}

/** Deletes messages that are kept here. */
async function discard(...ids) {
  await archive.transact((all) => {
    for (const id of ids) all.messages.delete(id);
  });
  tabs.postMessage({ discarded: ids });
  for (const id of ids) messages.delete(id);
  show();
}

/** Deletes conversations. */
async function discardAll(names) {
  const gone = [...messages.values()].filter((message) => names.includes(partnerOf(message)));
  if (names.includes(partner)) toList();
  for (const name of names) await keepDraft(name, "");
  await discard(...gone.map(({ Id }) => Id));
}

function open(name) {
  const isOther = name !== partner;
  if (isOther) keepText();
  partner = name;
  if (isOther) {
    $("text").value = drafts()[name] ?? "";
    trouble("");
    showAnswer(draftAnswers()[name] ?? "");
    const isUnread = ({ Id, UserFrom }) => Id && UserFrom !== me && Id > readPosition(name);
    firstUnread = name ? conversation(name).find(isUnread)?.Id : undefined;
  }
  isFollowed = false;
  show();
  if (!name) return;
  readUp().catch(() => {});
  focusChat();
  $("messages").scrollTop = $("messages").scrollHeight;
  if (sought) seek();
}

// Whether it was asked already if what the address names is a topic that can be subscribed to.
let isFollowed = true;
/** Whether a name may be a topic's, and nothing here is known of it. */
const isStrange = (name) => /^#[-_A-Za-z0-9]{1,64}$/.test(name) && !topicOf(name)
  && !Object.values(lists).some((names) => names.includes(name))
  && ![...messages.values(), ...waiting.values()].some((message) => partnerOf(message) === name);

/** Offers to subscribe to the topic that the address names. */
function offerTopic() {
  if (isFollowed) return;
  isFollowed = true;
  const name = partner;
  if (!isStrange(name)) return;
  // Back leads to what was there before, and not here again.
  history.replaceState(history.state, "", location.pathname);
  open("");
  $("subscribing").open = true;
  $("subscribe").elements.Topic.value = name.slice(1);
  $("subscribe").elements.Topic.focus();
}

// MARK: People

onSubmit($("add"), async ({ AddUser }) => {
  await msgr.post("add", { AddUser });
  $("add").reset();
  $("adding").open = false;
  await refresh();
});
const actOn = (id, run) => $(id).addEventListener("click", async () => {
  $("choices").hidePopover();
  await run(partner).catch((error) => say(words(error)));
  await refresh();
});
actOn("befriend", (name) => msgr.post("add", { AddUser: name }));
actOn("unfriend", (name) => msgr.post("unfriend", { User: name }));
actOn("block", async (name) => {
  await msgr.post("block", { User: name });
  toList();
});
$("back").addEventListener("click", toList);

const app = {
  archive, act, erase, signOut, refresh,
  get msgr() { return msgr; },
  get me() { return me; },
  get lists() { return lists; },
  get topics() { return topics; },
};
prepareSettings(app);
prepareTopics(app);
$("topic-open").addEventListener("click", () => showTopic(app, topicOf(partner)));
$("try-now").addEventListener("click", hurry);

// MARK: The browser's own events

addEventListener("hashchange", () => {
  open(wanted());
  // Only a fresh list tells whether it is a topic of the account, or a request was answered.
  if (isStrange(partner) || lists.Outgoing.includes(partner)) refresh();
});
addEventListener("pageshow", ({ persisted }) => { if (persisted) hurry(); });
addEventListener("online", () => {
  hurry();
  endSessions();
});
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  hurry();
  readUp().catch(() => {});
  refreshSoon();
});
setInterval(() => { if (!document.hidden && lists.Outgoing.includes(partner)) refresh(); }, ANSWERS);
setInterval(() => { if (!document.hidden) refresh(); }, CHANGES);
navigator.serviceWorker?.addEventListener("message", ({ data }) => {
  if (data.open) location.hash = encodeURIComponent(data.open);
});

await start();
await endSessions();
