// The account: its device, people and messages. Everything is stored before it is sent or acknowledged.
import { contentOf, EDIT_TIME, readContent, shownOf } from "./{{contents.js}}";
import { Forums, postKey } from "./{{forums.js}}";
import { skeleton } from "./{{names.js}}";
import { merge, openFile, readPeople, safetyNumber, sealFile, sorted } from "./{{people.js}}";
import { t } from "./{{words.js}}";

const { bytes, Device, hex, messageID, Refused, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;
const FILE = ".people";
const DAY = 86_400;
// The flag of a forum whose secret the service has.
const ESCROWED = 2;
const words = {
  1: "You may not write there.", 2: "There is no such person any more.",
  5: "It is too large, or there is no room for it.", 12: "The service doesn’t take it.",
};

export class Account {
  /** Reads what is stored; `changed` is called after each change, `alarm` with what needs a person's eye. */
  static async open(store, handlers) {
    const account = new Account();
    Object.assign(account, { store, ...handlers });
    account.forums = new Forums(account);
    const all = await store.load();
    account.self = all.self?.get("self");
    account.state = all.state?.get("state");
    account.people = all.people?.get("people") ?? { people: {} };
    account.isDirty = all.dirty?.has("dirty") ?? false;
    account.reads = all.read ?? new Map();
    // What was begun to be written, by chat, and the chats of which that is not stored yet.
    account.drafts = all.draft ?? new Map();
    account.unkept = new Set();
    account.known = all.known ?? new Map();
    account.jobs = new Map([...all.job ?? []].sort(([, a], [, b]) => a.order - b.order));
    account.messages = all.message ?? new Map();
    // Posts that wait for their forum's secret.
    account.sealed = all.sealed ?? new Map();
    account.chats = new Map();
    account.running = new Set();
    // Places in the order of sending of what is still being made ready.
    account.reserved = new Set();
    account.settlers = new Map();
    account.chains = [];
    account.provesIdentities = false;
    account.looked = new Map();
    account.queue = [];
    // The sealed pieces of files that are on their way.
    account.uploads = all.upload ?? new Map();
    account.syncing = Promise.resolve();
    account.order = 0;
    account.newest = 0;
    for (const job of account.jobs.values()) account.order = Math.max(account.order, job.order);
    for (const message of [...account.messages.values()].sort((a, b) => a.order - b.order)) {
      account.order = Math.max(account.order, message.order);
      account.list(message.chat).push(message);
      account.seeTime(message);
    }
    // Jobs that are stored go before anything that is written from now on.
    for (const job of account.jobs.values()) if (!job.why) account.queue.push(job.id);
    return account;
  }

  /** Makes keys, and stores them as a draft, which becomes the account when the service has accepted it. */
  async make(name, token, pin, state) {
    const encryption = nacl.box.keyPair(), authentication = nacl.sign.keyPair();
    this.self = {
      name, token, state, encryptionSecret: hex(encryption.secretKey), authenticationSeed: hex(authentication.secretKey.slice(0, 32)),
      pin: { encryptionKey: hex(pin.encryptionKey), authenticationKey: hex(pin.authenticationKey) }, isDraft: true,
    };
    await this.store.write([["self", "self", this.self]]);
  }

  /** Keeps something more with the account. */
  async keepSelf(members) {
    this.self = { ...this.self, ...members };
    await this.store.write([["self", "self", this.self]]);
  }

  /** Takes the identity provider's token. */
  signedIn({ token, proof, uid }) { return this.keepSelf({ token, proof, uid, state: undefined, aim: undefined }); }

  /** Forgets an account that the service didn't take. */
  async unmake() {
    this.device?.stop();
    this.self = this.state = this.device = undefined;
    this.isRefused = this.isOpen = false;
    await this.store.write([["self", "self", undefined], ["state", "state", undefined]]);
  }

  /** What another device needs. */
  credentials() {
    const { name, encryptionSecret, authenticationSeed, pin } = this.self;
    return { encryptionSecret, authenticationSeed, name, service: { url: this.device.home, ...pin } };
  }

  /** What an export has in it. */
  exported() {
    const isSent = ({ state }) => state === undefined || state === "sent";
    // As they stand in the chats: whoever imports them gives them their places in the order of the file.
    const sent = [...this.messages.values()].filter(isSent).sort((a, b) => a.order - b.order);
    return JSON.stringify({
      account: this.credentials(),
      people: this.people,
      messages: sent.map((message) => ({
        time: message.time, from: message.from, messageID: message.id,
        to: message.from === this.me || this.isForum(message.chat) ? message.chat : this.me,
        content: JSON.stringify({
          text: message.text || undefined, file: message.file, invitation: message.invitation, reply: message.reply,
        }),
      })),
    });
  }

  /** Takes what an export has in it, or the account of another device, into an empty browser. */
  async take({ account, people = {}, messages = [] }) {
    const { name, encryptionSecret, authenticationSeed, service } = account;
    const { encryptionKey, authenticationKey } = service;
    this.self = { name, encryptionSecret, authenticationSeed, pin: { encryptionKey, authenticationKey }, isMade: true };
    this.people = readPeople(JSON.stringify(people)) ?? { people: {} };
    const me = hex(nacl.box.keyPair.fromSecretKey(bytes(encryptionSecret)).publicKey);
    const taken = messages.filter(({ messageID }) => !this.messages.has(messageID)).flatMap((one) => {
      const shown = shownOf(readContent(utf8(one.content))), isOwn = one.from === me;
      const isPost = Boolean(this.people.forums?.[one.to]);
      return !shown || !isOwn && !isPost && one.to !== me ? [] : [this.record({
        id: one.messageID, chat: isOwn || isPost ? one.to : one.from, from: one.from, time: one.time, ...shown,
        state: isOwn ? "sent" : undefined,
      })];
    });
    await this.store.write([
      ["self", "self", this.self], ["people", "people", this.people], ...taken.map((one) => ["message", one.id, one])],
    taken.map(({ id }) => id));
    for (const message of taken) this.show(message);
    // What was exported was read.
    for (const [chat, list] of this.chats) this.reads.set(chat, list.at(-1).order);
    await this.store.write([...this.reads].map(([chat, order]) => ["read", chat, order]));
  }

  prepare(url) {
    const { name, token, proof, uid, encryptionSecret, authenticationSeed, pin, isMade } = this.self;
    this.pin = { encryptionKey: bytes(pin.encryptionKey), authenticationKey: bytes(pin.authenticationKey) };
    this.keys = {
      encryption: nacl.box.keyPair.fromSecretKey(bytes(encryptionSecret)),
      authentication: nacl.sign.keyPair.fromSeed(bytes(authenticationSeed)),
    };
    this.me = hex(this.keys.encryption.publicKey);
    let credential;
    if (proof) credential = bytes(proof);
    else if (token) credential = utf8(token);
    const device = this.device = new Device({
      url, pin: this.pin, keys: this.keys, closesVersion1: true, forums: this.forums.known(),
      account: isMade ? null : { name, uid, token: credential },
      journal: {
        load: () => this.state,
        has: (key) => this.store.hasSeen(key),
        append: (entry, state) => this.append(entry, state),
        appendAll: (entries, state) => this.appendAll(entries, state),
      },
      // The device of an account that the service didn't take may still end.
      status: (word) => { if (device === this.device) this.status(word); },
    });
  }

  /** Connects; the promise ends with the first login. */
  async start() {
    await this.device.start();
    if (this.self.isMade) return;
    await this.keepSelf({ isMade: true, isDraft: undefined, token: undefined });
  }

  stop() { this.device?.stop(); }

  /** The browser stores again: what could not be kept comes once more. */
  goOn() {
    this.keepDrafts();
    this.device?.hurry();
    this.pump();
  }

  /** Shows others what the wallet has signed. */
  async prove() {
    if (!this.self.proof || !this.self.isMade) return;
    await this.device.write(this.device.user, "siwe", bytes(this.self.proof));
    await this.keepSelf({ proof: undefined });
  }

  /** Deletes the account, there and here. */
  async leave() {
    if (!this.isRefused) {
      if (!this.isOpen) throw new Error("not connected");
      await this.device.leave();
    }
    this.stop();
    await this.store.clear();
  }

  status(word) {
    if (word === "refused") {
      this.isRefused = true;
      // A draft that the service didn't accept never was an account.
      if (this.self?.isMade) this.alarm(t("The service doesn’t know this account any more. Nothing is sent."));
    }
    this.isOpen = word === "logged in";
    if (this.isOpen) {
      // Keys are asked for again with each connection.
      this.looked.clear();
      this.forums.answered.clear();
      for (const key of [...this.chats.keys(), ...this.forums.joined()]) this.look(key).catch(() => {});
      for (const key of this.forums.joined()) this.forums.check(key).catch(() => {});
      this.running.clear();
      this.queue = [...this.jobs.values()].filter(({ why }) => !why).sort((a, b) => a.order - b.order).map(({ id }) => id);
      this.pump();
      this.sync().then(() => this.tidy()).then(() => this.prove()).then(() => this.rebind?.()).then(() => this.beSeen())
        .catch(() => {});
    }
    this.changed();
  }

  /** Says once a day, for the own other devices, that this one is in use. */
  beSeen() {
    const { device } = this.device.state, known = this.people.devices?.[device], now = Date.now();
    const seen = now - now % (DAY * 1000);
    if (known?.seen !== seen) return this.change("devices", device, { name: known?.name ?? this.deviceName, seen }, false);
  }

  list(chat) {
    if (!this.chats.has(chat)) this.chats.set(chat, []);
    return this.chats.get(chat);
  }

  // People ---------------------------------------------------------------------------------------------------------------

  isForum(key) { return Boolean(this.people.forums?.[key]) || this.known.get(key)?.kind === 2; }
  kind(key) { return this.isForum(key) ? "forums" : "people"; }
  person(key) { return this.people[this.kind(key)]?.[key] ?? {}; }
  isAllowed(key) { return key === this.me || ["allowed", "joined"].includes(this.person(key).state); }
  isBlocked(key) { return ["blocked", "left"].includes(this.person(key).state); }
  name(key) { return this.known.get(key)?.name || this.person(key).name || (key === this.me ? this.self.name : ""); }

  /** Whether a name alone could be taken for another's. */
  isAmbiguous(key) {
    if (!this.isAllowed(key)) return true;
    const folded = skeleton(this.name(key));
    return [...this.chats.keys(), this.me].some((other) => other !== key && skeleton(this.name(other)) === folded);
  }

  /** An allowed person, of whom another one has the name. */
  namesake(key) {
    return Object.keys(this.people.people ?? {}).find((other) =>
      other !== key && this.isAllowed(other) && skeleton(this.name(other)) === skeleton(this.name(key)));
  }

  /** The key of another account of an allowed person, where the service proves who somebody is. */
  successor(key) {
    const { uid } = this.known.get(key) ?? {};
    if (!this.provesIdentities || !uid || !this.isAllowed(key)) return;
    return [...this.known.keys()].find((other) => other !== key && this.known.get(other).uid === uid);
  }

  /** Asks the service who has a key, once a connection. */
  look(key) {
    if (!this.looked.has(key)) {
      this.looked.set(key, this.device.searchByKey(bytes(key)).then(async (found) => {
        if (found?.uid && this.provesIdentities && this.isAllowed(key)) {
          for (const one of await this.device.searchByUid(found.uid)) await this.meet(one);
        }
        return found && this.meet(found);
      }));
      this.looked.get(key).catch(() => this.looked.delete(key));
    }
    return this.looked.get(key);
  }

  /** Keeps what the service says of a user. */
  async meet({ key, kind, flags, name, uid, authenticationKey, changedKey }) {
    const id = hex(key);
    const known = {
      name, uid, kind, isEscrowed: (flags & ESCROWED) !== 0 || undefined, authentication: hex(authenticationKey),
      changed: changedKey && hex(changedKey),
    };
    if (sorted(this.known.get(id) ?? null) !== sorted(known)) {
      this.known.set(id, known);
      await this.store.write([["known", id, known]]);
      this.changed();
    }
    return known;
  }

  /** Finds users by what somebody has typed, at most 20 by a name. */
  async find({ key, uids, name }) {
    let found = [];
    if (key) found = [await this.device.searchByKey(bytes(key))];
    else if (uids) found = (await Promise.all(uids.map((uid) => this.device.searchByUid(uid)))).flat();
    else found = await this.device.searchByName(name, 20);
    return found.filter((user) => user && hex(user.key) !== this.me);
  }

  /** Takes another authentication key of a known person. */
  async accept(key) {
    const { changed, ...known } = this.known.get(key);
    known.authentication = changed;
    this.known.set(key, known);
    this.device.state.authentication[key] = changed;
    await this.device.keep();
    await this.store.write([["known", key, this.known.get(key)]]);
    await this.change("people", key, { authentication: changed, verified: false });
    for (const job of this.jobs.values()) if (job.to === key && !job.why) this.deliver(job);
  }

  safetyNumber(key) {
    return safetyNumber(
      this.pin.encryptionKey, { key: bytes(this.me), authenticationKey: this.keys.authentication.publicKey },
      { key: bytes(key), authenticationKey: bytes(this.known.get(key).authentication) });
  }

  isVerified(key) {
    const { verified, authentication } = this.person(key);
    return verified === true && authentication === this.known.get(key)?.authentication && !this.known.get(key)?.changed;
  }

  allow(key) {
    return this.isForum(key) ? this.forums.join(key) : this.change("people", key, {
      state: "allowed", name: this.name(key), authentication: this.known.get(key)?.authentication,
    });
  }

  verify(key, verified) {
    // Whoever is verified is known; who was blocked stays so, and who isn't verified any more is what they were.
    const known = verified && !this.isBlocked(key) ? { state: "allowed" } : {};
    return this.change("people", key, { ...known, verified, authentication: this.known.get(key).authentication });
  }

  async block(key) {
    const isForum = this.isForum(key);
    await this.change(this.kind(key), key, { state: isForum ? "left" : "blocked", name: this.name(key) });
    await this.deleteChat(key);
  }

  /** Deletes all that was written in a chat, and what was begun. */
  async deleteChat(key) {
    this.dropDraft(key);
    await this.remove(this.chats.get(key) ?? []);
  }

  /** Forgets what was begun in a chat: first at the page, which keeps what is in its field when the chat is left. */
  dropDraft(key) {
    this.cleared?.(key);
    this.keepDraft(key);
  }

  unblock(key) { return this.change("people", key, { state: "allowed" }); }

  // The private file -----------------------------------------------------------------------------------------------------

  async change(kind, key, members, isUrgent = true) {
    const entry = { ...this.people[kind]?.[key], ...members };
    entry.time = Math.max(Date.now(), (this.people[kind]?.[key]?.time ?? 0) + 1);
    this.people = { ...this.people, [kind]: { ...this.people[kind], [key]: entry } };
    if (this.device) this.device.forums = this.forums.known();
    this.isDirty = true;
    await this.store.write([["people", "people", this.people], ["dirty", "dirty", true]]);
    this.changed();
    if (isUrgent) return void this.sync();
    // What was read is told within a second, and not more often than every two seconds.
    const wait = Math.max(500, (this.told ?? 0) + 2_000 - Date.now());
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.told = Date.now();
      this.sync();
    }, wait);
  }

  /** Brings the file of the service and what is here together, one behind the other. */
  sync() {
    this.syncing = this.syncing.then(() => this.exchange()).catch((error) => {
      // Locked by another device, or the connection was lost: at the next login, or again later.
      if (this.isOpen && error instanceof Refused) setTimeout(() => this.isOpen && this.sync(), 30_000);
    });
    return this.syncing;
  }

  async exchange() {
    if (!this.isOpen || this.isUnreadable) return;
    const user = this.device.user;
    // What is changed from now on has its own turn, with a lock.
    const isWriting = this.isDirty;
    const content = isWriting ? await this.device.lock(user, FILE) : await this.read();
    const clear = content.length ? openFile(this.pin, this.keys.encryption, FILE, content) : "{}";
    const theirs = clear === null ? null : readPeople(clear);
    if (!theirs) {
      this.isUnreadable = true;
      return this.alarm(t("The list of whom you allow and block can’t be opened. What you change now stays in this browser."));
    }
    const merged = merge(this.people, theirs);
    await this.adopt(merged);
    if (!isWriting) return;
    await this.device.write(user, FILE, sealFile(this.pin, this.keys.encryption, FILE, sorted(merged)));
    // What was changed meanwhile goes with the next one.
    if (this.people === merged) {
      this.isDirty = false;
      await this.store.write([["dirty", "dirty", undefined]]);
    }
    await this.enqueue([], [this.jobFor(this.me, contentOf({ changed: FILE }))]);
    this.rebind?.();
    if (this.isDirty) this.sync();
  }

  async read() {
    try {
      return await this.device.read(this.device.user, FILE);
    } catch (error) {
      if (error instanceof Refused && error.code === 2) return new Uint8Array(0);
      throw error;
    }
  }

  async adopt(merged) {
    this.people = merged;
    // Another device may have blocked somebody, or left a forum.
    for (const key of [...this.drafts.keys()]) if (this.isBlocked(key)) this.dropDraft(key);
    this.device.forums = this.forums.known();
    const { authentication } = this.device.state;
    // What another device has seen first, or has accepted, counts here too.
    for (const [key, entry] of Object.entries(merged.people ?? {})) {
      if (/^[0-9a-f]{64}$/.test(entry.authentication)) authentication[key] = entry.authentication;
    }
    await this.device.keep();
    // As it is now: what was changed meanwhile is stored already, and isn't written over.
    await this.store.write([["people", "people", this.people]]);
    this.changed();
  }

  // What comes -----------------------------------------------------------------------------------------------------------

  /** Keeps an entry of the stream together with the device's state. */
  async append(entry, state) {
    this.state = state;
    const records = [["state", "state", state]];
    const seen = entry?.keys ?? [];
    const after = entry && await (entry.type === "truncation" ? this.forgotten(hex(entry.id), records) : this.taken(entry, records));
    await this.store.write(records, seen);
    await after?.();
    if (entry) this.changed();
  }

  /** Keeps many entries; what only adds a message to a chat is written together. */
  async appendAll(entries, state) {
    let records = [], seen = [], afters = [];
    const flush = async (more) => {
      await this.store.write([...records, ...more], seen);
      for (const after of afters) await after();
      records = [];
      seen = [];
      afters = [];
    };
    for (const entry of entries) {
      if (!this.isPlain(entry)) {
        await flush([]);
        const own = [], after = await (entry.type === "truncation" ? this.forgotten(hex(entry.id), own) : this.taken(entry, own));
        await this.store.write(own, entry.keys);
        await after?.();
        continue;
      }
      const after = this.taken(entry, records);
      seen.push(...entry.keys);
      if (after) afters.push(after);
    }
    this.state = state;
    await flush([["state", "state", state]]);
    this.changed();
  }

  /** Whether an entry does nothing but add a message to the chat with a person. */
  isPlain(entry) {
    if (entry.type !== "message" || entry.refused || hex(entry.to) !== this.me || this.isBlocked(hex(entry.from))) return false;
    const content = readContent(entry.content);
    const isOther = content.sent || content.changed || content.takenBack || content.reaction || content.edit || content.invitation
      || content.left || content.mayIRead;
    return !isOther && (content.text !== undefined || Boolean(content.file));
  }

  /** Where an entry stands in the log of the own queue. */
  placeOf({ position }) {
    return position === undefined ? {} : { epoch: String(this.device.state.epoch), position: String(position) };
  }

  forgotten(id, records) {
    const message = this.messages.get(id) ?? [...this.messages.values()].find(({ copy, copies }) => copy === id || copies?.includes(id));
    if (!message) return;
    records.push(["message", message.id, undefined]);
    return () => this.drop(message);
  }

  /** What follows from a message; its records go with the state. */
  taken(entry, records) {
    const from = hex(entry.from), id = hex(entry.id);
    if (hex(entry.to) !== this.me) return this.forums.taken(entry, records);
    if (entry.refused || this.messages.has(id)) return;
    const truncate = (...ids) => () => this.enqueue([], ids.map((one) => this.truncation(one)));
    if (this.isBlocked(from)) return truncate(id);
    const content = readContent(entry.content, Number(entry.time));
    if (from === this.me && content.sent) return this.sentElsewhere(content.sent, id, records);
    if (from === this.me && content.changed) return () => void this.sync();
    if (content.takenBack) {
      const message = this.messages.get(content.takenBack);
      if (message?.from !== from) return truncate(id);
      records.push(["message", message.id, undefined]);
      return () => { this.drop(message); return truncate(id, message.id, ...Object.values(message.amendments ?? {}))(); };
    }
    if (content.reaction || content.edit) return this.amended(from, from, content, records, id, truncate(id));
    const heard = this.forums.heard(from, id, content);
    if (heard) return heard;
    if (content.invitation && !this.forums.isGood(content.invitation)) delete content.invitation;
    const shown = shownOf(content);
    if (!shown) return;
    const message = this.record({ id, chat: from, from, time: Number(entry.time), ...shown, ...this.placeOf(entry) });
    records.push(["message", id, message]);
    return () => this.show(message);
  }

  /**
   * A reaction to a message of a chat, or an edit of one of the sender's own, which came with the identifier `id`. It stays
   * in the queue for the own other devices until a later one takes its place; what says nothing is dropped by `truncate`.
   */
  amended(chat, from, { reaction, edit }, records, id, truncate) {
    const message = this.messages.get(reaction?.to ?? edit.of) ?? this.forums.publishedAs(reaction?.to ?? edit.of);
    if (message?.chat !== chat) return truncate;
    if (reaction) {
      const reactions = { ...message.reactions, [from]: reaction.emoji || undefined };
      // Not more than a forum's readers could want.
      if (Object.keys(reactions).length > 500) return truncate;
      message.reactions = reactions;
    } else {
      if (message.from !== from || edit.time > message.time + EDIT_TIME || edit.time < (message.edited ?? 0)) return truncate;
      message.text = edit.text;
      message.edited = edit.time;
    }
    const kind = `${reaction ? "reaction" : "edit"} ${from}`, before = message.amendments?.[kind];
    if (id) message.amendments = { ...message.amendments, [kind]: id };
    message.version = (message.version ?? 0) + 1;
    records.push(["message", message.id, message]);
    return id && before && before !== id ? () => this.enqueue([], [this.truncation(before)]) : undefined;
  }

  /** A message that another device of this user has sent, or this one. */
  sentElsewhere({ to, time, messageID, content }, copy, records) {
    const read = readContent(utf8(content), time);
    if (read.reaction || read.edit) {
      return this.amended(to, this.me, read, records, copy, () => this.enqueue([], [this.truncation(copy)]));
    }
    const key = this.isForum(to) ? postKey(to, this.me, time, utf8(content)) : undefined;
    const own = this.messages.get(messageID) ?? (key && this.forums.find(to, key));
    if (own) {
      own.copy = copy;
      records.push(["message", own.id, own]);
      return;
    }
    const shown = shownOf(read);
    if (!shown) return;
    const message = this.record({ id: messageID, chat: to, from: this.me, time, ...shown, state: "sent", copy, key });
    records.push(["message", messageID, message]);
    return () => this.show(message);
  }

  /** The service's time in seconds; the own clock may be wrong. */
  get now() { return Date.now() / 1000 + (this.device?.skew ?? 0); }

  /** Gives a message its place, and says why its time is doubtful, if it is. */
  record(message) {
    const { now } = this;
    message.order ??= ++this.order;
    message.came ??= Math.round(now);
    if (message.from !== this.me && message.time > now + 120) message.doubt = "ahead";
    else if (message.from !== this.me && message.time < this.newest - DAY) message.doubt = "late";
    this.seeTime(message);
    return message;
  }

  /** The newest time: known people alone move it, and never beyond now. */
  seeTime({ from, time }) {
    if (this.isAllowed(from)) this.newest = Math.max(this.newest, Math.min(time, this.now));
  }

  /** Puts a message into its chat, where it belongs by its order. */
  place(message) {
    this.messages.set(message.id, message);
    const list = this.list(message.chat);
    list.splice(list.findLastIndex(({ order }) => order < message.order) + 1, 0, message);
  }

  show(message) {
    this.place(message);
    if (this.isOpen) this.look(message.chat).catch(() => {});
    this.arrived?.(message);
  }

  drop(message) {
    if (!this.messages.delete(message.id)) return;
    const list = this.list(message.chat);
    list.splice(list.indexOf(message), 1);
    if (!list.length) this.chats.delete(message.chat);
  }

  // What is read ---------------------------------------------------------------------------------------------------------

  /** Whether a message was read, here or at another device. */
  isRead(message) {
    const { read } = this.person(message.chat);
    if (message.from === this.me || message.order <= (this.reads.get(message.chat) ?? 0)) return true;
    return Boolean(message.position && read?.epoch === message.epoch && BigInt(message.position) <= readPosition(read));
  }

  unread(chat) {
    const list = this.chats.get(chat) ?? [];
    let count = 0;
    for (let i = list.length - 1; i >= 0; i--) {
      if (list[i].from === this.me) continue;
      if (this.isRead(list[i])) break;
      count++;
    }
    return count;
  }

  /** The unread messages of all chats, requests apart. */
  unreadOfAll() {
    let count = 0;
    for (const chat of this.chats.keys()) if (this.isAllowed(chat)) count += this.unread(chat);
    return count;
  }

  async readUp(chat) {
    const list = this.chats.get(chat);
    if (!list?.length || !this.unread(chat)) return;
    this.reads.set(chat, list.at(-1).order);
    await this.store.write([["read", chat, list.at(-1).order]]);
    const last = list.findLast(({ position }) => position);
    if (last && this.isAllowed(chat)) {
      const { read } = this.person(chat);
      const isFurther = read?.epoch !== last.epoch || BigInt(last.position) > readPosition(read);
      if (isFurther) await this.change(this.kind(chat), chat, { read: { epoch: last.epoch, position: last.position } }, false);
    }
    this.changed();
  }

  /** Keeps what was begun to be written, with the message that it answers, and the own message that is being edited. */
  keepDraft(chat, { text = "", reply, edit } = {}) {
    const draft = text || edit ? { text, reply: text ? reply : undefined, edit } : undefined;
    if (JSON.stringify(this.drafts.get(chat)) === JSON.stringify(draft)) return;
    if (draft) this.drafts.set(chat, draft); else this.drafts.delete(chat);
    this.unkept.add(chat);
    this.keepDrafts();
  }

  /** Stores at once what was begun: the page may end with the next key. What comes meanwhile is stored next. */
  async keepDrafts() {
    if (this.isKeeping) return;
    this.isKeeping = true;
    this.drafted?.(false);
    while (this.unkept.size) {
      const chats = [...this.unkept];
      this.unkept.clear();
      try {
        await this.store.write(chats.map((chat) => ["draft", chat, this.drafts.get(chat)]));
      } catch {
        // There is no room: they are stored when there is.
        for (const chat of chats) this.unkept.add(chat);
        break;
      }
    }
    this.isKeeping = false;
    this.drafted?.(!this.unkept.size);
  }

  // What goes ------------------------------------------------------------------------------------------------------------

  /** Seals a content once; the job sends the same bytes until they are answered. */
  jobFor(to, content, message) {
    const m = this.isForum(to) ? this.device.sealPost(bytes(to), utf8(content)) : this.device.seal(bytes(to), utf8(content));
    return {
      id: hex(m.id), type: "message", order: ++this.order, to, time: String(m.time), eData: base64(m.eData),
      message,
    };
  }

  /** The identifier of the own copy of a post. */
  copyID({ time, to, eData }) {
    const { user } = this.device;
    return hex(messageID({ time: BigInt(time), recipient: user, to: bytes(to), from: user, eData: ofBase64(eData) }));
  }

  truncation(id) { return { id: `- ${id}`, type: "truncate", order: ++this.order, truncates: id }; }

  /** Takes a place in the order of sending for what is still being made ready: until it is free, nothing later is sent. */
  reserve() {
    // One for the message, one for its copy.
    const order = this.order + 1;
    this.order += 2;
    this.reserved.add(order);
    return { order, free: () => { this.reserved.delete(order); this.pump(); } };
  }

  /**
   * Sends a text, a file that was sealed, or an invitation; `reply` is the message that is answered, `order` the place that
   * was reserved.
   */
  async send(chat, said, { file, invitation, reply, order } = {}) {
    for (const one of this.chats.get(chat) ?? []) delete one.isNews;
    // Not waited for: what is said next would overtake this.
    const allowing = this.isAllowed(chat) ? undefined : this.allow(chat);
    const answered = reply && { to: reply.id, text: [...summaryOf(reply)].slice(0, 100).join("") };
    const content = contentOf({ text: said || undefined, reply: answered, file: file?.about, invitation });
    const job = this.jobFor(chat, content);
    job.message = job.id;
    job.order = order ?? job.order;
    if (file) {
      job.uploads = file.parts.map(({ name }) => ({ file: name }));
      for (const { name, data } of file.parts) this.uploads.set(name, base64(data));
      await this.store.write(file.parts.map(({ name }) => ["upload", name, this.uploads.get(name)]));
      for (const { name } of file.parts) await this.change("files", name, {}, false);
    }
    const message = this.record({
      id: job.id, chat, from: this.me, time: Number(job.time), text: said, file: file?.about, invitation, reply: answered,
      state: "waiting", order, key: this.isForum(chat) ? postKey(chat, this.me, job.time, utf8(content)) : undefined,
      // Whoever reads a forum has the own posts in the queue, too.
      copies: this.isForum(chat) ? [this.copyID(job)] : undefined,
    });
    const copy = this.jobFor(this.me, contentOf({ sent: { to: chat, time: message.time, messageID: job.id, content } }));
    message.copy = copy.id;
    copy.after = job.id;
    if (order) copy.order = order + 1;
    await Promise.all([allowing, this.enqueue([message], [job, copy])]);
    return message;
  }

  /** Sends a reaction to a message, or other words for an own one. */
  async amend(message, member) {
    const content = contentOf(member), job = this.jobFor(message.chat, content), records = [];
    const copy = this.jobFor(this.me, contentOf({ sent: { to: message.chat, time: Number(job.time), messageID: job.id, content } }));
    copy.after = job.id;
    const { reactions, text, edited, version } = message;
    this.amended(message.chat, this.me, readContent(utf8(content), Number(job.time)), records);
    try { await this.enqueue([], [job, copy], records); } catch (error) {
      // What isn't stored isn't sent, and doesn't seem to be.
      Object.assign(message, { reactions, text, edited, version });
      throw error;
    }
  }

  react(message, emoji) { return this.amend(message, { reaction: { to: message.id, emoji } }); }
  edit(message, text) { return this.amend(message, { edit: { of: message.id, text } }); }

  /** Stores messages, jobs and other records together, then sends. */
  async enqueue(messages, jobs, records = []) {
    await this.store.write([
      ...records, ...messages.map((message) => ["message", message.id, message]), ...jobs.map((job) => ["job", job.id, job])],
    jobs.filter(({ type }) => type === "message").map(({ id }) => id));
    for (const message of messages) this.show(message);
    for (const job of jobs) { this.jobs.set(job.id, job); this.deliver(job); }
    this.changed();
  }

  /** Stores a job, and waits until it is done; what is lost with a connection goes on later. */
  async enqueueAndWait(job) {
    if (!this.isOpen) throw new Error("The service can’t be reached.");
    const settled = new Promise((resolve, reject) => { this.settlers.set(job.id, { resolve, reject }); });
    await this.enqueue([], [job]);
    return settled;
  }

  /** Has a job sent after those before it. */
  deliver(job) {
    if (this.running.has(job.id) || this.queue.includes(job.id)) return;
    this.queue.splice(this.queue.findLastIndex((id) => this.jobs.get(id)?.order < job.order) + 1, 0, job.id);
    this.pump();
  }

  /** Sends in the order of writing: a job is handed to the device before the next one is looked at. */
  async pump() {
    if (this.isPumping) return;
    this.isPumping = true;
    try {
      while (this.isOpen && this.queue.length) {
        const job = this.jobs.get(this.queue[0]);
        // What was chosen before it is still being made ready.
        if (job?.order > Math.min(...this.reserved)) break;
        this.queue.shift();
        if (!job || job.why || this.running.has(job.id)) continue;
        // The own other devices are told of what was sent, not of what may fail.
        if (this.jobs.has(job.after)) continue;
        const isToOthers = job.type === "message" && job.to !== this.me;
        if (isToOthers) await this.look(job.to).catch(() => {});
        // The connection was lost meanwhile: the next one begins with all jobs anew.
        if (!this.isOpen) break;
        // The key has changed and nobody has agreed yet.
        if (isToOthers && this.known.get(job.to)?.changed) continue;
        this.running.add(job.id);
        const sending = this.request(job).then(() => this.done(job), (error) => this.failed(job, error));
        // What is sent after a file waits until the file is there.
        if (job.uploads) await sending.catch(() => {});
        // What was done and could not be recorded is done again later, with the same bytes.
        sending.catch(() => {});
      }
    } finally {
      this.isPumping = false;
    }
  }

  async request(job) {
    if (job.type === "truncate") return this.device.truncate(bytes(job.truncates));
    if (job.forum) return this.forums.request(job);
    if (job.type === "remove") return this.device.remove(this.device.user, job.file);
    // What was written before it was answered is written once more: nobody else writes there.
    for (const [i, upload] of (job.uploads ?? []).entries()) {
      if (!this.jobs.has(job.id)) throw new Refused(0);
      if (!job.sent?.[i]) await this.upload(upload);
      job.sent = { ...job.sent, [i]: true };
      this.progress?.(job.message, (i + 1) / (job.uploads.length + 1));
    }
    if (job.uploads && !this.jobs.has(job.id)) throw new Refused(0);
    job.isGoing = true;
    return this.device.deliver({
      time: BigInt(job.time), recipient: bytes(job.to), to: bytes(job.to), from: this.device.user, eData: ofBase64(job.eData),
    });
  }

  // Files ----------------------------------------------------------------------------------------------------------------

  /** The most bytes of a piece of a file. */
  get pieceMax() { return (this.device.limits?.data ?? 1_048_576) - 16; }

  async upload({ file }) {
    try {
      await this.device.write(this.device.user, file, ofBase64(this.uploads.get(file) ?? ""));
    } catch (error) {
      const oldest = this.files().find(([one]) => one !== file)?.[0];
      if (!(error instanceof Refused) || error.code !== 5 || !oldest) throw error;
      // The oldest goes first where there is no room.
      await this.forget(oldest);
      await this.upload({ file });
    }
  }

  /** The own files that are still at the service, the oldest first. */
  files() {
    return Object.entries(this.people.files ?? {}).filter(([file, { isGone }]) => !isGone && /^[0-9a-f]{32}$/.test(file))
      .sort(([, a], [, b]) => a.time - b.time);
  }

  async forget(file) {
    await this.device.remove(this.device.user, file).catch((error) => { if (error.code !== 2) throw error; });
    await this.change("files", file, { isGone: true }, false);
  }

  /** Removes what is older than 30 days. */
  async tidy() {
    for (const [file, { time }] of this.files()) if (time < Date.now() - 30 * DAY * 1000) await this.forget(file);
  }

  /** The sealed pieces of a message's file, which may still be here; `heard` is told of each. */
  async fetch({ from, file }, heard = () => {}) {
    const names = file.pieces ?? [file.file], pieces = [];
    for (const name of names) {
      const waiting = this.uploads.get(name);
      pieces.push(waiting === undefined ? await this.device.read(bytes(from), name) : ofBase64(waiting));
      heard(pieces.length / names.length);
    }
    return pieces;
  }

  /** Ends a file that is on its way; nothing of it arrives, or it is taken back. */
  async cancel(message) {
    const job = this.jobs.get(message.id);
    // Its pieces are there, and the message may be: the service has been asked to deliver it.
    const isGoing = this.running.has(message.id) && Boolean(job?.isGoing);
    this.running.delete(message.id);
    await this.remove([message]);
    if (!job?.uploads) return;
    await this.store.write(this.withoutUploads(job));
    if (isGoing) await this.enqueue([], [this.jobFor(message.chat, contentOf({ takenBack: message.id }))]);
    await this.enqueue([], job.uploads.map(({ file }) => ({ id: `x ${file}`, type: "remove", order: ++this.order, file })));
  }

  async done(job) {
    this.running.delete(job.id);
    if (!this.jobs.delete(job.id)) return;
    this.settlers.get(job.id)?.resolve();
    this.settlers.delete(job.id);
    for (const copy of this.copiesOf(job)) this.deliver(copy);
    const message = this.messages.get(job.message);
    if (message) { message.state = "sent"; delete message.why; }
    await this.store.write([
      ["job", job.id, undefined], ...message ? [["message", message.id, message]] : [], ...this.withoutUploads(job)]);
    // Said once, at the first message to somebody.
    const isFirst = message && !this.isForum(message.chat) && this.list(message.chat).filter(({ from }) => from === this.me).length === 1;
    if (isFirst) message.isNews = true;
    this.changed();
  }

  /** What the own other devices are told once a job is done. */
  copiesOf({ id }) { return [...this.jobs.values()].filter(({ after }) => after === id); }

  /** Forgets what was uploaded, or is not to be uploaded any more. */
  withoutUploads(job) {
    return (job?.uploads ?? []).map(({ file }) => {
      this.uploads.delete(file);
      return ["upload", file, undefined];
    });
  }

  async failed(job, error) {
    this.running.delete(job.id);
    const waits = this.settlers.get(job.id);
    // What was lost with a connection goes on with the next one, and whoever waits for it waits on.
    const isOver = error instanceof Refused || waits && this.isOpen;
    if (!isOver || !this.jobs.has(job.id)) return;
    if (error.code === 1 && job.to) this.forums.check(job.to).catch(() => {});
    this.settlers.delete(job.id);
    waits?.reject(error);
    // What somebody was told of isn't tried again behind their back.
    if (!waits && (error.code === 3 || error.code === 8)) return void setTimeout(() => this.deliver(job), 30_000);
    const message = this.messages.get(job.message);
    // What nobody sees is given up.
    if (!message) {
      const copies = this.copiesOf(job);
      for (const { id } of copies) this.jobs.delete(id);
      await this.store.write(copies.map(({ id }) => ["job", id, undefined]));
      return this.done(job);
    }
    job.why = message.why = words[error.code] ?? `The service refuses it (error ${error.code}).`;
    message.state = "failed";
    await this.store.write([["job", job.id, job], ["message", message.id, message]]);
    this.changed();
  }

  async again(message) {
    const job = this.jobs.get(message.id), { why } = job;
    delete job.why;
    delete message.why;
    message.state = "waiting";
    try { await this.store.write([["job", job.id, job], ["message", message.id, message]]); } catch (error) {
      job.why = message.why = why;
      message.state = "failed";
      throw error;
    }
    this.deliver(job);
    this.changed();
  }

  /** Deletes messages here, on all own devices, and at the service. */
  async remove(list) {
    const gone = [], jobs = [], stopped = [];
    const stop = (job) => {
      gone.push(job.id);
      stopped.push(job);
      this.jobs.delete(job.id);
    };
    // What is gone already, as after a second click, is passed over.
    const found = list.filter(({ id }) => this.messages.has(id));
    for (const message of found) {
      const isOwn = message.from === this.me;
      const waiting = this.jobs.get(message.id), copy = isOwn && this.jobs.get(message.copy);
      // A message that is on its way arrives; one that failed, or waits, does not.
      if (waiting && !this.running.has(message.id)) stop(waiting);
      if (copy && !this.running.has(copy.id)) stop(copy);
      else if (message.copy) jobs.push(this.truncation(message.copy));
      for (const id of message.copies ?? (isOwn ? [] : [message.id])) jobs.push(this.truncation(id));
      for (const id of Object.values(message.amendments ?? {})) jobs.push(this.truncation(id));
      this.drop(message);
      gone.push(message.id);
    }
    try {
      await this.enqueue([], jobs, gone.flatMap((id) => [["message", id, undefined], ["job", id, undefined]]));
    } catch (error) {
      // What is still stored is still there, and goes on.
      for (const message of found) this.place(message);
      for (const job of stopped) {
        this.jobs.set(job.id, job);
        if (!job.why) this.deliver(job);
      }
      this.changed();
      throw error;
    }
  }

  async takeBack(message) {
    const jobs = [this.jobFor(message.chat, contentOf({ takenBack: message.id }))];
    for (const file of message.file?.pieces ?? (message.file ? [message.file.file] : [])) {
      jobs.push({ id: `x ${file}`, type: "remove", order: ++this.order, file });
    }
    await this.enqueue([], jobs);
    await this.remove([message]);
  }

  // Vouchers -------------------------------------------------------------------------------------------------------------

  async vouchers(key) {
    const all = await this.device.vouchers(bytes(key));
    // A signature of nobody, or a wrong one, says nothing.
    return all.filter(({ isVerified }) => isVerified).map((voucher) => hex(voucher.key));
  }

  vouch(key, isGiven) { return isGiven ? this.device.vouch(bytes(key)) : this.device.unvouch(bytes(key)); }
}

// In pieces, as a call takes so many arguments only.
const base64 = (data) => {
  let text = "";
  for (let at = 0; at < data.length; at += 0x8000) text += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(text);
};
const ofBase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
/** What a list, or an answer, says of a message. */
const summaryOf = ({ text, file, invitation }) => text || file?.name || invitation?.name || "";

/** The position up to which was read; what is none, as older apps wrote a time, counts as nothing. */
const readPosition = (read) => /^[0-9]{1,20}$/.test(String(read?.position)) ? BigInt(read.position) : 0n;
