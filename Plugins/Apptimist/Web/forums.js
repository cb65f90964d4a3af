// Forums: made, joined, left and moderated, and what messages say of them.
import { contentOf, readContent, shownOf } from "./{{contents.js}}";

const { bytes, hex, isSigned, join, messageID, postSigned, Refused, text, uint, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;
const NO_SECRET = "the forum's secret is not known";
/** The most posts that wait for their forum's secret. */
const SEALED_MAX = 1000;
const isHex = (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
const keysOf = (content) => Array.from({ length: content.length >> 5 }, (_, i) => hex(content.slice(32 * i, 32 * i + 32)));

/** Whether a secret is a forum's. */
const isSecretOf = (forum, secret) =>
  isHex(secret) && hex(nacl.box.keyPair.fromSecretKey(bytes(secret)).publicKey) === forum;

/** What is the same of a post in all its copies, sealed anew or published. */
export const postKey = (to, from, time, content) =>
  hex(nacl.hash(join(bytes(to), bytes(from), uint(time, 8), nacl.hash(content))));

export class Forums {
  constructor(account) {
    this.account = account;
    this.pairs = new Map();
    this.answered = new Set();
    // The joined ones whose posts the service sends to others only.
    this.lost = new Set();
  }

  entry(key) { return this.account.people.forums?.[key] ?? {}; }
  isJoined(key) { return this.entry(key).state === "joined"; }
  joined() { return Object.keys(this.account.people.forums ?? {}).filter((key) => isHex(key) && this.isJoined(key)); }

  /** The pairs by which the device opens posts; a secret that isn't the forum's opens nothing. */
  known() {
    return this.joined().flatMap((key) => {
      const { secret } = this.entry(key);
      if (!this.pairs.has(secret)) {
        this.pairs.set(secret, isSecretOf(key, secret) ? [nacl.box.keyPair.fromSecretKey(bytes(secret))] : []);
      }
      return this.pairs.get(secret);
    });
  }

  publishedBy(from, id, forum) { return this.account.chats.get(forum)?.find(({ publications }) => publications?.[id] === from); }
  publishedAs(id) { return [...this.account.messages.values()].find(({ publications }) => publications?.[id]); }
  find(forum, key) { return this.account.chats.get(forum)?.find((message) => message.key === key); }

  // What comes -----------------------------------------------------------------------------------------------------------

  /** What follows from a post; its records go with the device's state. */
  async taken(entry, records) {
    const { account } = this, forum = hex(entry.to), from = hex(entry.from), copy = hex(entry.id);
    const truncate = () => account.enqueue([], [account.truncation(copy)]);
    if (this.entry(forum).state === "left" || account.isBlocked(from)) return truncate;
    if (entry.refused === NO_SECRET && account.sealed.size < SEALED_MAX) return this.wait(entry, records);
    // Another device may know the author's new key, and open it.
    if (entry.refused) return;
    // Moderators see what waits for them; others believe no service that shows it.
    if (entry.byModerator === false && !entry.isModerator && from !== account.me) return truncate;
    const content = readContent(entry.content, Number(entry.time));
    if (content.published) return await this.published(entry, content.published, records) ?? truncate;
    const id = entry.sealing === 2 ? hex(messageID({ ...entry, recipient: entry.to })) : copy;
    const key = postKey(forum, from, entry.time, entry.content);
    const known = account.messages.get(id) ?? this.find(forum, key);
    if (known) return this.again(known, copy, records);
    if (content.takenBack) {
      const message = account.messages.get(content.takenBack) ?? this.publishedBy(from, content.takenBack, forum);
      const isTheirs = message?.from === from || message?.publications?.[content.takenBack] === from;
      if (!isTheirs || message.chat !== forum) return truncate;
      // Readers don't have the author's post, but what was published of it: whoever published it takes that back.
      const own = Object.entries(message.publications ?? {}).filter(([id, by]) => by === account.me && id !== content.takenBack);
      const jobs = own.map(([takenBack]) => account.jobFor(forum, contentOf({ takenBack })));
      return () => account.enqueue([], jobs).then(() => account.remove([message])).then(truncate);
    }
    if (content.reaction || content.edit) return account.amended(forum, from, content, records, copy, truncate);
    const shown = shownOf(content);
    if (!shown) return;
    const waits = entry.byModerator === false && from !== account.me;
    const message = account.record({
      id, chat: forum, from, time: Number(entry.time), ...shown, ...account.placeOf(entry), key, copies: [copy],
      pending: waits ? { signature: hex(entry.signature), content: text(entry.content) } : undefined,
      state: from === account.me ? "sent" : undefined,
    });
    records.push(["message", id, message]);
    return () => account.show(message);
  }

  /** Keeps a post until its forum's secret comes. */
  wait({ id, time, recipient, to, from, eData }, records) {
    const sealed = { time: String(time), recipient: hex(recipient), to: hex(to), from: hex(from), eData: hex(eData) };
    records.push(["sealed", hex(id), sealed]);
    return () => { this.account.sealed.set(hex(id), sealed); };
  }

  /** Notes one more copy of a message in the queue, which goes when the message is deleted. */
  again(message, copy, records) {
    message.copies = [...new Set([...message.copies ?? [], copy])];
    records.push(["message", message.id, message]);
  }

  /** Another's post, which a moderator has published; undefined if it isn't to be believed. */
  async published(entry, { from, time, signature, content }, records) {
    const { account } = this, forum = hex(entry.to), body = utf8(content);
    if (!entry.byModerator || account.isBlocked(from)) return;
    const author = from === account.me ? { authentication: hex(account.keys.authentication.publicKey) } : await account.look(from);
    const signed = postSigned(account.pin, entry.to, bytes(from), time, body);
    if (!author || !isSigned(signed, bytes(signature), bytes(author.authentication))) return;
    const key = postKey(forum, from, time, body), known = this.find(forum, key);
    const publication = { [hex(messageID({ ...entry, recipient: entry.to }))]: hex(entry.from) };
    if (known) {
      known.pending = undefined;
      known.publications = { ...known.publications, ...publication };
      return this.again(known, hex(entry.id), records) ?? (() => {});
    }
    const shown = shownOf(readContent(body));
    if (!shown) return;
    const message = account.record({
      id: key, chat: forum, from, time, ...shown, ...account.placeOf(entry), key, copies: [hex(entry.id)], state: from === account.me ? "sent" : undefined,
      publications: publication,
    });
    records.push(["message", key, message]);
    return () => account.show(message);
  }

  /** What follows from a message to the user that is about a forum; undefined if it is none. */
  heard(from, id, { invitation, left, mayIRead }) {
    const { account } = this, done = account.truncation(id);
    if (invitation && this.isJoined(invitation.forum) && !this.entry(invitation.forum).secret) {
      return () => this.open(invitation.forum, invitation.secret);
    }
    if (left) return () => account.enqueue([], [{ type: "drop", id: `d ${left} ${from}`, forum: left, who: from, order: done.order }, done]);
    if (!mayIRead) return;
    const question = `${mayIRead} ${from}`, isNew = !this.answered.has(question);
    this.answered.add(question);
    const answer = { type: "answer", id: `m ${question}`, forum: mayIRead, who: from, order: done.order };
    return () => account.enqueue([], [...isNew && this.entry(mayIRead).secret ? [answer] : [], done]);
  }

  /** Takes a forum's secret, and opens what waited for it. */
  async open(forum, secret) {
    const { account } = this;
    if (!isSecretOf(forum, secret)) return;
    await account.change("forums", forum, { secret });
    for (const [id, sealed] of [...account.sealed]) {
      if (sealed.to !== forum) continue;
      const { time, recipient, to, from, eData } = sealed;
      const entry = await account.device.open({
        type: "message", id: bytes(id), time: BigInt(time), recipient: bytes(recipient), to: bytes(to), from: bytes(from),
        eData: bytes(eData),
      });
      const records = [["sealed", id, undefined]];
      account.sealed.delete(id);
      const after = entry && await this.taken(entry, records);
      await account.store.write(records, entry?.keys ?? []);
      await after?.();
    }
  }

  /** Whether an invitation is one: its secret is the forum's. */
  isGood({ forum, secret }) { return isSecretOf(forum, secret); }

  // What is asked for ----------------------------------------------------------------------------------------------------

  /** Makes a forum; its keys are stored before the service is asked. */
  async make(name, isModerated, gate) {
    const { account } = this, pair = nacl.box.keyPair(), seed = nacl.randomBytes(32), key = hex(pair.publicKey);
    const job = {
      id: `f ${key}`, type: "forum", order: ++account.order, forum: key, secret: hex(pair.secretKey), seed: hex(seed), name,
      isModerated, gate,
    };
    await account.enqueueAndWait(job);
    return key;
  }

  /** Does what a job says. */
  async request(job) {
    if (job.type === "forum") return this.found(job);
    if (job.type === "drop") return this.edit(job.forum, "subscribers", (keys) => keys.filter((key) => key !== job.who));
    const readers = await this.keys(job.forum, "subscribers");
    if (readers.includes(job.who)) await this.account.enqueue([], [this.account.jobFor(job.who, this.invitation(job.forum))]);
  }

  invitation(forum) {
    const { secret } = this.entry(forum);
    return contentOf({ invitation: { forum, secret, name: this.account.name(forum) } });
  }

  async found({ forum, secret, seed, name, isModerated, gate }) {
    const { device, me } = this.account, key = bytes(forum);
    await device.makeForum(nacl.box.keyPair.fromSecretKey(bytes(secret)), nacl.sign.keyPair.fromSeed(bytes(seed)), name);
    try {
      if (gate) await device.write(key, "gate", utf8(gate));
      if (isModerated) await device.write(key, "moderators", bytes(me));
      await device.write(key, "subscribers", bytes(me));
    } catch (error) {
      // A forum without its gate would be open to others than was asked for.
      if (error instanceof Refused) await device.removeForum(key);
      throw error;
    }
    await this.account.look(forum);
    await this.account.change("forums", forum, { state: "joined", secret, name });
  }

  /** What the service says of a forum; of the lists only what the user may read. */
  async details(forum) {
    const known = await this.account.look(forum);
    const read = async (name) => {
      try { return await this.account.device.read(bytes(forum), name); } catch (error) {
        if (error instanceof Refused && [1, 2].includes(error.code)) return null;
        throw error;
      }
    };
    const author = await read("author");
    const [readers, moderators, gate] = author ? await Promise.all(["subscribers", "moderators", "gate"].map(read)) : [];
    return {
      author: author && hex(author), readers: keysOf(readers ?? []), moderators: keysOf(moderators ?? []),
      gate: gate && new TextDecoder().decode(gate).slice(0, 300), isEscrowed: known?.isEscrowed,
    };
  }

  async keys(forum, file) {
    try { return keysOf(await this.account.device.read(bytes(forum), file)); } catch (error) {
      if (error instanceof Refused && error.code === 2) return [];
      throw error;
    }
  }

  /** Changes a list of a forum; nobody else writes meanwhile. */
  async edit(forum, file, change) {
    const { device } = this.account, key = bytes(forum);
    const keys = keysOf(await device.lock(key, file));
    await device.write(key, file, join(...[...new Set(change(keys))].map(bytes)));
  }

  async invite(forum, person) {
    await this.edit(forum, "subscribers", (keys) => [...keys, person]);
    await this.account.send(person, "", { invitation: JSON.parse(this.invitation(forum)).invitation });
  }

  /** Asks whether the user is still among those who get a joined forum's posts. */
  async check(forum) {
    if (!this.isJoined(forum) || !this.account.isOpen) return;
    let isLost = false;
    try { await this.account.device.read(bytes(forum), "author"); } catch (error) {
      if (!(error instanceof Refused)) throw error;
      isLost = error.code === 1;
    }
    if (isLost === this.lost.has(forum)) return;
    if (isLost) this.lost.add(forum); else this.lost.delete(forum);
    this.account.changed();
  }

  /** Joins, by an invitation's secret, by the gate, or as somebody whom the author has added. */
  async join(forum, secret) {
    const { account } = this, key = bytes(forum);
    const known = await account.look(forum);
    let author;
    try { author = await account.device.read(key, "author"); } catch (error) {
      if (!(error instanceof Refused) || error.code !== 1) throw error;
      await account.device.joinForum(key);
      author = await account.device.read(key, "author");
    }
    this.lost.delete(forum);
    await account.change("forums", forum, { state: "joined", name: known?.name });
    if (isSecretOf(forum, secret)) return this.open(forum, secret);
    if (this.entry(forum).secret || known?.isEscrowed) return;
    const others = new Set([hex(author), ...await this.keys(forum, "moderators")]);
    others.delete(account.me);
    await account.enqueue([], [...others].map((one) => account.jobFor(one, contentOf({ mayIRead: forum }))));
  }

  async leave(forum) {
    const { account } = this;
    const { author } = await this.details(forum);
    await account.change("forums", forum, { state: "left" });
    if (author && author !== account.me) await account.enqueue([], [account.jobFor(author, contentOf({ left: forum }))]);
    await account.deleteChat(forum);
  }

  async delete(forum) {
    const { account } = this;
    await account.device.removeForum(bytes(forum));
    await account.change("forums", forum, { state: "left" });
    await account.deleteChat(forum);
  }

  /** Publishes what waits for a moderator. */
  async publish(message) {
    const { account } = this, { signature, content } = message.pending;
    const published = { from: message.from, time: message.time, signature, content };
    const job = account.jobFor(message.chat, contentOf({ published }));
    message.pending = undefined;
    message.publications = { ...message.publications, [job.id]: account.me };
    await account.store.write([["message", message.id, message]]);
    await account.enqueue([], [job]);
  }
}
