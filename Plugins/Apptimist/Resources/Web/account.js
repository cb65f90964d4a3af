// The account: its device, people and messages. Everything is stored before it is sent or acknowledged.
import { contentOf, readContent, shownOf } from "./{{contents.js}}";
import { Forums, postKey } from "./{{forums.js}}";
import { merge, openFile, readPeople, safetyNumber, sealFile, sorted } from "./{{people.js}}";

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
    account.known = all.known ?? new Map();
    account.jobs = new Map([...all.job ?? []].sort(([, a], [, b]) => a.order - b.order));
    account.messages = all.message ?? new Map();
    // Posts that wait for their forum's secret.
    account.sealed = all.sealed ?? new Map();
    account.chats = new Map();
    account.running = new Set();
    account.settlers = new Map();
    account.chains = [];
    account.provesIdentities = false;
    account.looked = new Map();
    account.delivering = account.syncing = Promise.resolve();
    account.order = account.newest = 0;
    for (const job of account.jobs.values()) account.order = Math.max(account.order, job.order);
    for (const message of [...account.messages.values()].sort((a, b) => a.order - b.order)) {
      account.order = Math.max(account.order, message.order);
      if (!message.isDoubtful) account.newest = Math.max(account.newest, message.time);
      account.list(message.chat).push(message);
    }
    return account;
  }

  /** Makes keys, stores them, and only then asks the service for an account. */
  async make(name, token, pin, state) {
    const encryption = nacl.box.keyPair(), authentication = nacl.sign.keyPair();
    this.self = {
      name, token, state, encryptionSecret: hex(encryption.secretKey), authenticationSeed: hex(authentication.secretKey.slice(0, 32)),
      pin: { encryptionKey: hex(pin.encryptionKey), authenticationKey: hex(pin.authenticationKey) },
    };
    await this.store.write([["self", "self", this.self]]);
  }

  /** Keeps something more with the account. */
  async keepSelf(members) {
    this.self = { ...this.self, ...members };
    await this.store.write([["self", "self", this.self]]);
  }

  /** Takes the identity provider's token. */
  signedIn({ token, proof, uid }) { return this.keepSelf({ token, proof, uid, state: undefined }); }

  /** Forgets an account that the service didn't take. */
  async unmake() {
    this.device?.stop();
    this.self = this.state = undefined;
    await this.store.write([["self", "self", undefined], ["state", "state", undefined]]);
  }

  /** What another device needs. */
  credentials() {
    const { name, encryptionSecret, authenticationSeed, pin } = this.self;
    return { encryptionSecret, authenticationSeed, name, service: { url: this.device.home, ...pin } };
  }

  /** What an export has in it. */
  exported() {
    return JSON.stringify({
      account: this.credentials(),
      people: this.people,
      messages: [...this.messages.values()].filter(({ state }) => state === undefined || state === "sent").map((message) => ({
        time: message.time, from: message.from, to: message.from === this.me ? message.chat : this.me, messageID: message.id,
        content: JSON.stringify({ text: message.text || undefined, file: message.file, invitation: message.invitation }),
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
      return !shown || !isOwn && one.to !== me ? [] : [this.record({
        id: one.messageID, chat: isOwn ? one.to : one.from, from: one.from, time: one.time, ...shown,
        state: isOwn ? "sent" : undefined,
      })];
    });
    await this.store.write([
      ["self", "self", this.self], ["people", "people", this.people], ...taken.map((one) => ["message", one.id, one])],
    taken.map(({ id }) => id));
    for (const message of taken) this.show(message);
  }

  prepare(url) {
    const { name, token, proof, uid, encryptionSecret, authenticationSeed, pin, isMade } = this.self;
    this.pin = { encryptionKey: bytes(pin.encryptionKey), authenticationKey: bytes(pin.authenticationKey) };
    this.keys = {
      encryption: nacl.box.keyPair.fromSecretKey(bytes(encryptionSecret)),
      authentication: nacl.sign.keyPair.fromSeed(bytes(authenticationSeed)),
    };
    this.me = hex(this.keys.encryption.publicKey);
    this.device = new Device({
      url, pin: this.pin, keys: this.keys, closesVersion1: true, forums: this.forums.known(),
      account: isMade ? null : { name, uid, token: proof ? bytes(proof) : token ? utf8(token) : undefined },
      journal: {
        load: () => this.state,
        has: (key) => this.store.hasSeen(key),
        append: (entry, state) => this.append(entry, state),
      },
      status: (word, detail) => this.status(word, detail),
    });
  }

  /** Connects; the promise ends with the first login. */
  async start() {
    await this.device.start();
    if (this.self.isMade) return;
    await this.keepSelf({ isMade: true, token: undefined });
  }

  stop() { this.device?.stop(); }

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
      this.alarm("The service doesn’t know this account any more. Nothing is sent.");
    }
    this.isOpen = word === "logged in";
    if (this.isOpen) {
      // Keys are asked for again with each connection.
      this.looked.clear();
      this.forums.answered.clear();
      for (const key of [...this.chats.keys(), ...this.forums.joined()]) this.look(key).catch(() => {});
      for (const key of this.forums.joined()) this.forums.check(key).catch(() => {});
      for (const job of this.jobs.values()) if (!job.why) this.deliver(job);
      this.sync().then(() => this.tidy()).then(() => this.prove()).then(() => this.rebind?.()).then(() => {
        const { device } = this.device.state;
        if (!this.people.devices?.[device]) return this.change("devices", device, { name: this.deviceName }, false);
      }).catch(() => {});
    }
    this.changed();
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
    const folded = fold(this.name(key));
    return [...this.chats.keys(), this.me].some((other) => other !== key && fold(this.name(other)) === folded);
  }

  /** An allowed person, of whom another one has the name. */
  namesake(key) {
    return Object.keys(this.people.people ?? {}).find((other) =>
      other !== key && this.isAllowed(other) && fold(this.name(other)) === fold(this.name(key)));
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

  async find(term) {
    const found = /^[0-9a-f]{64}$/i.test(term) ? [await this.device.searchByKey(bytes(term))]
      : /^0x[0-9a-f]{40}$/i.test(term) ? (await Promise.all(this.chains.map((chain) =>
        this.device.searchByUid(`eip155:${chain}:${term.toLowerCase()}`)))).flat()
        : await this.device.searchByName(term);
    return found.filter((user) => user && hex(user.key) !== this.me);
  }

  /** Takes another authentication key of a known person. */
  async accept(key) {
    const { changed, ...known } = this.known.get(key);
    known.authentication = changed;
    this.known.set(key, known);
    this.device.state.authentication[key] = changed;
    await this.device.keep();
    await this.store.write([["known", key, known]]);
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
    return this.change("people", key, { state: "allowed", verified, authentication: this.known.get(key).authentication });
  }

  async block(key) {
    const isForum = this.isForum(key);
    await this.change(this.kind(key), key, { state: isForum ? "left" : "blocked", name: this.name(key) });
    await this.remove(this.chats.get(key) ?? []);
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
    // What was read is told at most once a minute.
    this.timer ??= setTimeout(() => { this.timer = undefined; this.sync(); }, 60_000);
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
    const content = this.isDirty ? await this.device.lock(user, FILE) : await this.read();
    const clear = content.length ? openFile(this.pin, this.keys.encryption, FILE, content) : "{}";
    const theirs = clear === null ? null : readPeople(clear);
    if (!theirs) {
      this.isUnreadable = true;
      return this.alarm("The file with whom you allow and block doesn’t open. What you change now stays in this browser.");
    }
    const merged = merge(this.people, theirs);
    await this.adopt(merged);
    if (!this.isDirty) return;
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
    this.device.forums = this.forums.known();
    const { authentication } = this.device.state;
    // What another device has seen first, or has accepted, counts here too.
    for (const [key, entry] of Object.entries(merged.people ?? {})) {
      if (/^[0-9a-f]{64}$/.test(entry.authentication)) authentication[key] = entry.authentication;
    }
    await this.device.keep();
    await this.store.write([["people", "people", merged]]);
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
    const content = readContent(entry.content);
    if (from === this.me && content.sent) return this.sentElsewhere(content.sent, id, records);
    if (from === this.me && content.changed) return () => void this.sync();
    if (content.takenBack) {
      const message = this.messages.get(content.takenBack);
      if (message?.from !== from) return truncate(id);
      records.push(["message", message.id, undefined]);
      return () => { this.drop(message); return truncate(id, message.id)(); };
    }
    const heard = this.forums.heard(from, id, content);
    if (heard) return heard;
    if (content.invitation && !this.forums.isGood(content.invitation)) delete content.invitation;
    const shown = shownOf(content);
    if (!shown) return;
    const message = this.record({ id, chat: from, from, time: Number(entry.time), ...shown });
    records.push(["message", id, message]);
    return () => this.show(message);
  }

  /** A message that another device of this user has sent, or this one. */
  sentElsewhere({ to, time, messageID, content }, copy, records) {
    const key = this.isForum(to) ? postKey(to, this.me, time, utf8(content)) : undefined;
    const own = this.messages.get(messageID) ?? (key && this.forums.find(to, key));
    if (own) {
      own.copy = copy;
      records.push(["message", own.id, own]);
      return;
    }
    const shown = shownOf(readContent(utf8(content)));
    if (!shown) return;
    const message = this.record({ id: messageID, chat: to, from: this.me, time, ...shown, state: "sent", copy, key });
    records.push(["message", messageID, message]);
    return () => this.show(message);
  }

  record(message) {
    const now = Date.now() / 1000;
    message.order = ++this.order;
    message.isDoubtful = message.time > now + DAY || message.time < this.newest - DAY || undefined;
    if (!message.isDoubtful) this.newest = Math.max(this.newest, message.time);
    return message;
  }

  show(message) {
    this.messages.set(message.id, message);
    this.list(message.chat).push(message);
    if (this.isOpen) this.look(message.chat).catch(() => {});
    this.arrived?.(message);
  }

  drop(message) {
    this.messages.delete(message.id);
    const list = this.list(message.chat);
    list.splice(list.indexOf(message), 1);
    if (!list.length) this.chats.delete(message.chat);
  }

  // What is read ---------------------------------------------------------------------------------------------------------

  unread(chat) {
    const { read = 0 } = this.person(chat), here = this.reads.get(chat) ?? 0;
    return (this.chats.get(chat) ?? []).filter(({ from, order, time }) =>
      from !== this.me && order > here && !(time <= read)).length;
  }

  async readUp(chat) {
    const last = this.chats.get(chat)?.at(-1);
    if (!last || !this.unread(chat)) return;
    this.reads.set(chat, last.order);
    await this.store.write([["read", chat, last.order]]);
    if (this.isAllowed(chat)) {
      const times = this.chats.get(chat).filter(({ isDoubtful }) => !isDoubtful).map(({ time }) => time);
      await this.change(this.kind(chat), chat, { read: Math.max(this.person(chat).read ?? 0, ...times) }, false);
    }
    this.changed();
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

  /** Sends a text, a file that was sealed, or an invitation. */
  async send(chat, said, file, invitation) {
    // Not waited for: what is said next would overtake this.
    const allowing = this.isAllowed(chat) ? undefined : this.allow(chat);
    const content = contentOf({ text: said || undefined, file: file?.about, invitation });
    const job = this.jobFor(chat, content);
    job.message = job.id;
    if (file) {
      job.upload = { file: file.about.file, data: base64(file.data) };
      await this.change("files", file.about.file, {}, false);
    }
    const message = this.record({
      id: job.id, chat, from: this.me, time: Number(job.time), text: said, file: file?.about, invitation, state: "waiting",
      key: this.isForum(chat) ? postKey(chat, this.me, job.time, utf8(content)) : undefined,
      // Whoever reads a forum has the own posts in the queue, too.
      copies: this.isForum(chat) ? [this.copyID(job)] : undefined,
    });
    const copy = this.jobFor(this.me, contentOf({ sent: { to: chat, time: message.time, messageID: job.id, content } }));
    message.copy = copy.id;
    await Promise.all([allowing, this.enqueue([message], [job, copy])]);
  }

  /** Stores messages and jobs together, then sends. */
  async enqueue(messages, jobs) {
    await this.store.write([
      ...messages.map((message) => ["message", message.id, message]), ...jobs.map((job) => ["job", job.id, job])],
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

  /** Sends in order; what is lost with a connection the device sends again. */
  deliver(job) {
    if (this.running.has(job.id)) return;
    this.running.add(job.id);
    this.delivering = this.delivering.then(async () => {
      if (job.type === "message" && job.to !== this.me) await this.look(job.to);
      // Deleted meanwhile, or the key has changed and nobody has agreed yet.
      if (!this.jobs.has(job.id) || this.known.get(job.to)?.changed) {
        this.running.delete(job.id);
        return;
      }
      this.request(job).then(() => this.done(job), (error) => this.failed(job, error));
    }).catch(() => this.running.delete(job.id));
  }

  async request(job) {
    if (job.type === "truncate") return this.device.truncate(bytes(job.truncates));
    if (job.forum) return this.forums.request(job);
    if (job.type === "remove") return this.device.remove(this.device.user, job.file);
    // What was written before it was answered is written once more: nobody else writes there.
    if (job.upload) await this.upload(job.upload);
    return this.device.deliver({
      time: BigInt(job.time), recipient: bytes(job.to), to: bytes(job.to), from: this.device.user, eData: ofBase64(job.eData),
    });
  }

  // Files ----------------------------------------------------------------------------------------------------------------

  /** The most bytes of a file. */
  get fileMax() { return (this.device.limits?.data ?? 1_048_576) - 16; }

  async upload({ file, data }) {
    try {
      await this.device.write(this.device.user, file, ofBase64(data));
    } catch (error) {
      const oldest = this.files().find(([one]) => one !== file)?.[0];
      if (!(error instanceof Refused) || error.code !== 5 || !oldest) throw error;
      // The oldest goes first where there is no room.
      await this.forget(oldest);
      await this.upload({ file, data });
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

  fetch(message) { return this.device.read(bytes(message.from), message.file.file); }

  async done(job) {
    this.running.delete(job.id);
    this.jobs.delete(job.id);
    this.settlers.get(job.id)?.resolve();
    this.settlers.delete(job.id);
    const message = this.messages.get(job.message);
    if (message) { message.state = "sent"; delete message.why; }
    await this.store.write([["job", job.id, undefined], ...message ? [["message", message.id, message]] : []]);
    this.changed();
  }

  async failed(job, error) {
    this.running.delete(job.id);
    this.settlers.get(job.id)?.reject(error);
    this.settlers.delete(job.id);
    if (!(error instanceof Refused)) return;
    if (error.code === 1 && job.to) this.forums.check(job.to).catch(() => {});
    if (error.code === 3 || error.code === 8) return void setTimeout(() => this.deliver(job), 30_000);
    const message = this.messages.get(job.message);
    // What nobody sees is given up.
    if (!message) return this.done(job);
    job.why = message.why = words[error.code] ?? `The service refuses it (error ${error.code}).`;
    message.state = "failed";
    await this.store.write([["job", job.id, job], ["message", message.id, message]]);
    this.changed();
  }

  async again(message) {
    const job = this.jobs.get(message.id);
    delete job.why;
    delete message.why;
    message.state = "waiting";
    await this.store.write([["job", job.id, job], ["message", message.id, message]]);
    this.deliver(job);
    this.changed();
  }

  /** Deletes messages here, on all own devices, and at the service. */
  async remove(list) {
    const gone = [], jobs = [];
    for (const message of [...list]) {
      const isOwn = message.from === this.me;
      const waiting = this.jobs.get(message.id), copy = isOwn && this.jobs.get(message.copy);
      // A message that is on its way arrives; one that failed, or waits, does not.
      if (waiting && !this.running.has(message.id)) { gone.push(message.id); this.jobs.delete(message.id); }
      if (copy && !this.running.has(copy.id)) { gone.push(copy.id); this.jobs.delete(copy.id); }
      else if (message.copy) jobs.push(this.truncation(message.copy));
      for (const id of message.copies ?? (isOwn ? [] : [message.id])) jobs.push(this.truncation(id));
      this.drop(message);
      gone.push(message.id);
    }
    await this.store.write(gone.flatMap((id) => [["message", id, undefined], ["job", id, undefined]]));
    await this.enqueue([], jobs);
  }

  async takeBack(message) {
    const jobs = [this.jobFor(message.chat, contentOf({ takenBack: message.id }))];
    if (message.file) jobs.push({ id: `x ${message.file.file}`, type: "remove", order: ++this.order, file: message.file.file });
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
const fold = (name) => name.normalize("NFKC").toLowerCase();
