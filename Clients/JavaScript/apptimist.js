// A device of Apptimist's protocol, version 2, for browsers and Node, over TweetNaCl.
//
// A page loads nacl-fast.js first; Node needs the package tweetnacl. Keys, nonces and contents are Uint8Array; times,
// positions and epochs are BigInt. It never speaks version 1; boxes of version 1 that others sent are opened.
"use strict";
(function (root) {
const nacl = root.nacl || require("tweetnacl");
const VERSION = 2, SUBPROTOCOL = "apptimist.2";
const TYPES = {
  login: 1, redirect: 2, new: 3, del: 4, message: 5, truncate: 6, pause: 7, resume: 8, vouch: 9, vouchers: 10,
  searchByName: 11, searchByUid: 12, searchByKey: 13, read: 15, lock: 16, write: 17, remove: 18, ack: 19, hello: 20,
  push: 21, leave: 22, join: 23,
};
// What may be sent again byte for byte when its answer is lost; the others are asked about first.
const REPEATABLE = new Set([3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 19, 21, 23]);
const CLOSED = 1, ESCROWED = 2;
// What `push` of service.json names, by their numbers from 1.
const PUSH_KINDS = ["apns", "apns-sandbox", "fcm", "web"];

// Bytes -----------------------------------------------------------------------------------------------------------------

const utf8 = (text) => new TextEncoder().encode(text);
const text = (bytes) => new TextDecoder("utf-8", { fatal: true }).decode(bytes);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (digits) => {
  if (!/^([0-9a-f]{2})*$/i.test(digits)) throw new Error("not hexadecimal");
  return Uint8Array.from(digits.match(/../g) || [], (pair) => parseInt(pair, 16));
};
const join = (...parts) => {
  const all = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
  let end = 0;
  for (const part of parts) { all.set(part, end); end += part.length; }
  return all;
};
// An unsigned integer of a number of bytes, big-endian.
const uint = (value, count) => {
  const field = new Uint8Array(count);
  for (let rest = BigInt(value), i = count - 1; i >= 0; i--, rest >>= 8n) field[i] = Number(rest & 255n);
  return field;
};
const same = (a, b) => a.length === b.length && nacl.verify(a, b);
const isZero = (field) => field.every((byte) => byte === 0);
const label = (name) => utf8(`apptimist.2 ${name}\0`);
const wipe = (...secrets) => secrets.forEach((secret) => secret.fill(0));

// Reads fields one behind the other; what is too short, or has bytes left, is refused.
class Reader {
  constructor(data) { this.data = data; this.at = 0; }
  take(count) {
    if (count > this.data.length - this.at) throw new Error("a PDU is too short");
    return this.data.slice(this.at, this.at += count);
  }
  big(count) { return this.take(count).reduce((value, byte) => value << 8n | BigInt(byte), 0n); }
  uint(count) { return Number(this.big(count)); }
  short() { return this.take(this.uint(1)); }
  end() { if (this.at !== this.data.length) throw new Error("a PDU has bytes left over"); }
}

// Proofs and boxes ------------------------------------------------------------------------------------------------------

// X25519; TweetNaCl does not check for 32 zero bytes.
function agree(secret, key) {
  const shared = nacl.scalarMult(secret, key);
  if (isZero(shared)) throw new Error("a key is of low order");
  return shared;
}

const counterNonce = (count) => join(new Uint8Array(16), uint(count, 8));

// The keys of a connection, from the device's half: e is a pair, f the service's public half.
function handshake(pin, e, f, offered) {
  const h = nacl.hash(join(
    label("handshake"), pin.encryptionKey, pin.authenticationKey, e.publicKey, f, uint(offered.length, 1),
    Uint8Array.from(offered)));
  const es = agree(e.secretKey, pin.encryptionKey), ee = agree(e.secretKey, f);
  const keys = nacl.hash(join(label("keys"), es, ee, h));
  wipe(es, ee);
  return { h, deviceKey: keys.slice(0, 32), serviceKey: keys.slice(32) };
}

function possession(pair, f, h) {
  const shared = agree(pair.secretKey, f);
  const proof = nacl.hash(join(label("possession"), shared, h, pair.publicKey)).slice(0, 32);
  wipe(shared);
  return proof;
}

const loginSigned = (h, key) => join(label("login"), h, key);
const newSigned = (h, key, authenticationKey) => join(label("new"), h, key, authenticationKey);
const leaveSigned = (h, key) => join(label("leave"), h, key);
const vouchSigned = (pin, voucher, subject) => join(label("vouch"), pin.encryptionKey, voucher, subject);
const postSigned = (pin, to, from, time, content) =>
  join(label("post"), pin.encryptionKey, to, from, uint(time, 8), nacl.hash(content));

function frame(header, data) {
  return join(uint(header.length, 4), uint(data.length, 4), header, data);
}

function unframe(clear) {
  const reader = new Reader(clear), header = reader.uint(4), data = reader.uint(4);
  const parts = { header: reader.take(header), data: reader.take(data) };
  reader.end();
  return parts;
}

// The identifier of a message, the same in every version.
function messageID(m) {
  return nacl.hash(join(Uint8Array.of(1, TYPES.message), uint(m.time, 8), m.recipient, m.to, m.from, m.eData));
}

const MARK = bytes("61707074696d02");
const sealingOf = (eData) =>
  eData.length >= 56 && same(eData.slice(0, 7), MARK) && eData[7] >= 1 && eData[7] <= 3 ? eData[7] : null;

function sealingKey(kind, pin, first, second, g, sender, receiver, m) {
  const digest = nacl.hash(join(
    label("seal"), Uint8Array.of(kind), first, second, g, pin.encryptionKey, sender, receiver, m.to, m.from,
    uint(m.time, 8)));
  wipe(first, second);
  return digest;
}

// Seals for a receiver; `m` has to, from and time, `g` is given by nobody but tests.
function seal(kind, pin, pair, receiver, m, plain, g = nacl.box.keyPair()) {
  const keys = sealingKey(
    kind, pin, agree(g.secretKey, receiver), agree(pair.secretKey, receiver), g.publicKey, pair.publicKey, receiver, m);
  const sealed = join(
    MARK, Uint8Array.of(kind), g.publicKey, nacl.secretbox(plain, keys.slice(32, 56), keys.slice(0, 32)));
  wipe(g.secretKey, keys);
  return sealed;
}

// What is sealed for `pair`, or null if it does not open.
function unseal(pin, pair, sender, m, agreement = agree(pair.secretKey, sender)) {
  const kind = sealingOf(m.eData), g = m.eData.slice(8, 40);
  try {
    const keys = sealingKey(kind, pin, agree(pair.secretKey, g), agreement, g, sender, pair.publicKey, m);
    const plain = nacl.secretbox.open(m.eData.slice(40), keys.slice(32, 56), keys.slice(0, 32));
    wipe(keys);
    return plain;
  } catch {
    return null;
  }
}

// Whether a service says, with the pinned key, that it speaks version 2.
function speaksVersion2(document, pin) {
  const versions = document.versions, signature = document.signature2;
  if (!Array.isArray(versions) || !versions.includes(VERSION) || !/^[0-9a-f]{128}$/i.test(signature)) return false;
  const signed = join(
    label("service"), pin.encryptionKey, uint(versions.length, 1), Uint8Array.from(versions));
  return document.encryptionKey.toLowerCase() === hex(pin.encryptionKey)
    && isSigned(signed, bytes(signature), pin.authenticationKey);
}

// A service's keys from its document; apps pin them instead.
function pinOf(document) {
  const pin = {
    encryptionKey: bytes(document.encryptionKey), authenticationKey: bytes(document.authenticationKey),
    signature: bytes(document.signature),
  };
  if (!isSigned(pin.encryptionKey, pin.signature, pin.authenticationKey)) {
    throw new Error("the service's signature is wrong");
  }
  if (!speaksVersion2(document, pin)) throw new Error("the service does not say that it speaks version 2");
  return pin;
}

// The nonce that binds an ID token to an account's keys.
const tokenNonce = (keys) => hex(nacl.hash(
  join(label("nonce"), keys.encryption.publicKey, keys.authentication.publicKey)).slice(0, 32));

// The fields and the data of `push`; without a kind they unbind.
function pushFields(kind, address = new Uint8Array(0), { tag = new Uint8Array(8), keys = [], isChosen = false } = {}) {
  const fields = join(
    Uint8Array.of(kind ? PUSH_KINDS.indexOf(kind) + 1 : 0, isChosen ? 1 : 0), tag, uint(keys.length, 2),
    uint(address.length, 2));
  return [fields, join(address, ...keys)];
}

// The address of a browser's PushSubscription, made with `pushKey` of service.json as applicationServerKey.
const webAddress = (subscription) => join(
  new Uint8Array(subscription.getKey("p256dh")), new Uint8Array(subscription.getKey("auth")), utf8(subscription.endpoint));

// What TweetNaCl accepts and libsodium refuses: an S that is not reduced, and keys and points of small order.
const ORDER = bytes("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
const PRIME = bytes("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f");
const SMALL = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];
const isBelow = (number, bound) => {
  for (let i = 31; i >= 0; i--) if (number[i] !== bound[i]) return number[i] < bound[i];
  return false;
};
const withoutSign = (point) => Uint8Array.from(point, (byte, i) => i === 31 ? byte & 127 : byte);
// A point as it has to be written, and not of small order.
const isPoint = (point) => isBelow(withoutSign(point), PRIME) && !SMALL.includes(hex(withoutSign(point)));

// Whether a signature is right, as libsodium decides it.
const isSigned = (message, signature, key) => signature.length === 64 && key.length === 32
  && isBelow(signature.slice(32), ORDER) && isPoint(key) && !SMALL.includes(hex(withoutSign(signature.slice(0, 32))))
  && isBelow(withoutSign(signature.slice(0, 32)), PRIME) && nacl.sign.detached.verify(message, signature, key);

// A connection -----------------------------------------------------------------------------------------------------------

// An answer with an error.
class Refused extends Error {
  constructor(code) { super(`error ${code}`); this.code = code; }
}

// One WebSocket: the handshake, boxes and counters. Hands on what the service sends, in order.
class Connection {
  constructor(url, pin, handlers, Socket) {
    this.pin = pin;
    this.handlers = handlers;
    this.e = nacl.box.keyPair();
    this.sent = this.received = 0n;
    this.socket = new Socket(`${url}?${hex(this.e.publicKey)}`, [SUBPROTOCOL]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onopen = () => { if (this.socket.protocol !== SUBPROTOCOL) this.socket.close(); };
    this.socket.onmessage = ({ data }) => {
      try { this.take(data); } catch (error) { this.error = error; this.socket.close(); }
    };
    this.socket.onclose = ({ code }) => { this.forget(); handlers.closed(code, this.error); };
  }

  take(data) {
    if (typeof data === "string") throw new Error("a text message");
    let box = new Uint8Array(data);
    if (!this.keys) {
      this.f = box.slice(0, 32);
      this.keys = handshake(this.pin, this.e, this.f, [VERSION]);
      box = box.slice(32);
    }
    const clear = nacl.secretbox.open(box, counterNonce(this.received++), this.keys.serviceKey);
    if (!clear) throw new Error("a box does not open");
    const { header, data: content } = unframe(clear), reader = new Reader(header);
    if (reader.uint(1) !== VERSION) throw new Error("another version");
    const type = reader.uint(1), request = reader.uint(4);
    if (this.received === 1n && type !== TYPES.hello) throw new Error("the first PDU is no hello");
    this.handlers.pdu(type, request, reader, content);
  }

  send(type, request, fields, data = new Uint8Array(0)) {
    // What is lost with a connection that ends is sent again on the next one.
    if (this.socket.readyState !== 1) return;
    const header = join(Uint8Array.of(VERSION, type), uint(request, 4), fields);
    this.socket.send(nacl.secretbox(frame(header, data), counterNonce(this.sent++), this.keys.deviceKey));
  }

  // Ends the connection without waiting for the other side, which may be gone.
  drop(error) {
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.forget();
    this.handlers.closed(1006, error);
  }

  forget() {
    wipe(this.e.secretKey);
    if (this.keys) wipe(this.keys.deviceKey, this.keys.serviceKey);
  }
}

// A device ---------------------------------------------------------------------------------------------------------------

// A user's device, which stays connected until it is stopped.
//
// options: url; pin {encryptionKey, authenticationKey, signature?}; keys {encryption, authentication} (TweetNaCl's pairs of
// box and sign); account {name, uid, token}, to make one first; forums, the pairs of forums whose secret this user knows;
// closesVersion1; WebSocket, a class like the browsers' (the global one, or a small one of Node's http); pingInterval, pingTimeout
// (milliseconds); journal:
//   load()              a promise of the state that `append` had last, or of undefined
//   has(key)            whether an entry with this key was appended
//   append(entry, state)  keeps both, or neither; entry is null if only the state has changed
//   appendAll(entries, state)  optional: keeps all of them and the state, or nothing
// and the handler status(word, detail). What comes is handed on by the journal alone, so that nothing is lost between
// the two.
class Device {
  constructor(options) {
    Object.assign(this, {
      forums: [], closesVersion1: false, status: () => {}, WebSocket: root.WebSocket || nodeWebSocket(),
      pingInterval: 20_000, pingTimeout: 15_000,
    }, options);
    this.user = this.keys.encryption.publicKey;
    this.home = this.url;
    this.waiting = new Map();
    this.lastRequest = 0;
    this.delay = 500;
    // How long to wait where what came could not be kept.
    this.fullDelay = 0;
    this.redirects = [];
    this.stream = this.writes = Promise.resolve();
    // What was opened and is not stored yet, and the keys of it.
    this.opened = [];
    this.unwritten = new Set();
    // What one agrees on with a sender is computed once.
    this.shared = new Map();
  }

  // Connects, and again after each loss. The promise is of the first login's answer.
  async start() {
    this.state = await this.journal.load() || {
      device: hex(nacl.randomBytes(16)), epoch: "0", position: "0", closed: [], authentication: {},
    };
    await this.journal.append(null, this.state);
    return new Promise((resolve, reject) => {
      this.started = { resolve, reject };
      this.connect();
    });
  }

  stop() {
    this.isStopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.watch);
    if (this.connection) this.connection.socket.close();
  }

  connect() {
    this.isWaiting = false;
    this.connection = new Connection(this.url, this.pin, {
      pdu: (type, request, reader, data) => this.take(type, request, reader, data),
      closed: (code, error) => this.lost(code, error),
    }, this.WebSocket);
    // A network that swallows everything answers no handshake either.
    this.expect(this.pingTimeout);
  }

  // Tries now, as when the network is back: waits no longer, asks a connection that seems open whether it is, and gives one
  // that is being opened little time, as it may have begun on a network that is gone.
  hurry() {
    if (this.isStopped || this.refusal || !this.started) return;
    this.delay = 500;
    if (this.isWaiting) {
      clearTimeout(this.timer);
      this.connect();
    } else if (this.isLoggedIn) this.ping(5_000);
    else this.expect(5_000);
  }

  // Ends the connection unless something comes from the service in time.
  expect(time) {
    clearTimeout(this.watch);
    const { connection } = this;
    this.watch = setTimeout(() => {
      if (connection === this.connection && !this.isWaiting) connection.drop(new Error("the service does not answer"));
    }, time);
  }

  // Asks the service for anything, as a page cannot send WebSocket's pings. A search for oneself changes nothing there.
  ping(timeout = this.pingTimeout) {
    this.lastRequest = this.lastRequest % 0xffffffff + 1;
    this.connection.send(TYPES.searchByKey, this.lastRequest, this.user);
    this.expect(timeout);
  }

  // Something came: the connection lives, and is asked again after a while.
  alive() {
    clearTimeout(this.watch);
    if (this.isLoggedIn) this.watch = setTimeout(() => this.isLoggedIn && this.ping(), this.pingInterval);
    else this.expect(this.pingTimeout);
  }

  lost(code, error) {
    this.isLoggedIn = false;
    clearTimeout(this.watch);
    this.status("closed", error ? error.message : String(code));
    // What can't be sent again byte for byte has an unknown outcome.
    for (const [number, { type, reject }] of this.waiting) {
      if (REPEATABLE.has(type) && !this.isStopped) continue;
      this.waiting.delete(number);
      reject(new Error("the connection was lost before the answer"));
    }
    if (this.isStopped) return;
    if (this.refusal) {
      this.status("refused", this.refusal.message);
      this.started.reject(this.refusal);
      return;
    }
    let wait = Math.max(this.fullDelay, this.delay * (0.5 + Math.random() / 2));
    if (code === 4008) wait = 60000;
    if (this.next) wait = 0;
    // It comes back to its own address when the other fails.
    this.url = this.next || this.home;
    this.next = null;
    this.delay = Math.min(this.delay * 2, 30000);
    this.isWaiting = true;
    this.timer = setTimeout(() => this.connect(), this.pause(wait));
  }

  // After five redirects within a minute a device waits a minute.
  pause(wait) {
    const minute = Date.now() - 60000;
    this.redirects = this.redirects.filter((moment) => moment > minute);
    return this.redirects.length > 5 ? 60000 : wait;
  }

  // `fields` is a function where a proof in them belongs to the connection.
  request(type, fixed, data) {
    const fields = typeof fixed === "function" ? fixed : () => fixed;
    const number = this.lastRequest = this.lastRequest % 0xffffffff + 1;
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { type, fields, data, resolve, reject });
      if (this.isLoggedIn) this.transmit(number);
    });
  }

  transmit(number) {
    const { type, fields, data, reject } = this.waiting.get(number);
    if (!data || data.length <= this.limits.data) return this.connection.send(type, number, fields(), data);
    // The service would end the connection, again and again.
    this.waiting.delete(number);
    reject(new Error(`more than ${this.limits.data} bytes of data`));
  }

  // What the service sends ------------------------------------------------------------------------------------------------

  take(type, request, reader, data) {
    this.alive();
    if (type === TYPES.hello) return this.greet(reader);
    if (type === TYPES.redirect) return this.follow(reader);
    if (type === TYPES.message || type === TYPES.truncate) {
      const entry = this.entry(type, reader, data), { connection } = this;
      // One behind the other: the position says that all before it was kept.
      this.stream = this.stream.then(() => this.deal(entry, connection))
        .catch((error) => { connection.error = error; connection.socket.close(); });
      return;
    }
    const pending = type & 0x80 && this.waiting.get(request);
    if (!pending) return;
    this.waiting.delete(request);
    const code = reader.uint(2);
    if (code === 0) pending.resolve({ reader, data }); else pending.reject(new Refused(code));
  }

  greet(reader) {
    // The seconds by which the service's clock is ahead of the own one.
    this.skew = Number(reader.big(8)) - Date.now() / 1000;
    this.limits = { header: reader.uint(4), data: reader.uint(4), page: reader.uint(2) };
    reader.end();
    const { connection, keys, state } = this, { h } = connection.keys;
    const refuse = (error) => { if (error instanceof Refused && error.code !== 8) this.refusal = error; };
    const ask = (type, fields, data) => new Promise((resolve, reject) => {
      const number = this.lastRequest = this.lastRequest % 0xffffffff + 1;
      // Belongs to this connection: nothing of it is sent again.
      this.waiting.set(number, { type: 0, resolve, reject });
      connection.send(type, number, fields, data);
    });
    if (this.account) {
      const { name, uid = "", token = new Uint8Array(0) } = this.account;
      ask(TYPES.new, this.newFields(keys.encryption, keys.authentication, name, uid), token)
        .then(() => { this.account = null; }, refuse);
    }
    ask(TYPES.login, join(
      this.user, nacl.sign.detached(loginSigned(h, this.user), keys.authentication.secretKey),
      possession(keys.encryption, connection.f, h), bytes(state.device),
      Uint8Array.of(this.closesVersion1 ? CLOSED : 0), uint(0, 4), uint(state.epoch, 8), uint(state.position, 8),
      new Uint8Array(64))).then(({ reader: answer }) => this.loggedIn(answer)).catch(refuse);
  }

  newFields(encryption, authentication, name, uid) {
    const { h } = this.connection.keys, nameBytes = utf8(name), uidBytes = utf8(uid);
    return join(
      encryption.publicKey, authentication.publicKey,
      nacl.sign.detached(newSigned(h, encryption.publicKey, authentication.publicKey), authentication.secretKey),
      possession(encryption, this.connection.f, h), Uint8Array.of(CLOSED, nameBytes.length, uidBytes.length), nameBytes,
      uidBytes);
  }

  loggedIn(reader) {
    const answer = {
      epoch: reader.big(8), first: reader.big(8), last: reader.big(8), start: reader.big(8), flags: reader.uint(1),
    };
    reader.end();
    this.state.epoch = String(answer.epoch);
    this.state.position = String(answer.start);
    if (answer.flags & CLOSED) this.sawClosed(this.user);
    // An entry that the journal does not have was dropped by the service.
    answer.isComplete = answer.start + 1n >= answer.first;
    this.isLoggedIn = true;
    this.alive();
    this.delay = 500;
    for (const [number, { type }] of this.waiting) if (type) this.transmit(number);
    this.status("logged in", answer);
    this.started.resolve(answer);
  }

  follow(reader) {
    reader.uint(1);
    const uri = text(reader.take(reader.uint(2)));
    const target = new URL(uri), wasSecure = this.url.startsWith("wss:");
    const isFine = uri.length <= 2048 && !/[?#@]/.test(uri)
      && (target.protocol === "wss:" || target.protocol === "ws:" && !wasSecure);
    if (isFine) { this.next = uri; this.redirects.push(Date.now()); }
    this.connection.socket.close();
  }

  // The stream --------------------------------------------------------------------------------------------------------------

  entry(type, reader, data) {
    const position = reader.big(8);
    if (type === TYPES.truncate) return { type: "truncation", position, id: reader.take(64) };
    const m = { time: reader.big(8), recipient: reader.take(32), to: reader.take(32), from: reader.take(32), eData: data };
    return { type: "message", position, id: messageID(m), ...m };
  }

  // Opens an entry; it is stored together with its position and those that come at the same time, then acknowledged.
  async deal(entry, connection) {
    // What comes before it could not be kept: both come again.
    const isOver = () => connection !== this.connection || connection.error;
    if (isOver() || entry.position <= BigInt(this.state.position)) return;
    const kept = entry.type === "truncation" ? { ...entry, keys: [] } : await this.open(entry);
    let isNew = kept !== null;
    for (const key of kept ? kept.keys : []) if (this.unwritten.has(key) || await this.journal.has(key)) isNew = false;
    if (isOver()) return;
    for (const key of isNew ? kept.keys : []) this.unwritten.add(key);
    this.opened.push({ entry: isNew ? kept : null, position: String(entry.position) });
    this.flushing ??= this.flush().catch((error) => this.end(error)).finally(() => { this.flushing = null; });
    // The next ones are opened meanwhile, but not without end.
    if (this.opened.length >= 64) await this.flushing;
  }

  async flush() {
    while (this.opened.length) {
      const batch = this.opened.splice(0), { position } = batch.at(-1), entries = batch.map(({ entry }) => entry).filter(Boolean);
      await this.keep(entries, position);
      for (const { keys } of entries) for (const key of keys) this.unwritten.delete(key);
      this.fullDelay = 0;
      if (this.isLoggedIn) this.connection.send(TYPES.ack, 0, uint(position, 8));
    }
  }

  // Ends a connection whose entries can't be kept. They come again with the next one, which waits longer each time.
  end(error) {
    this.opened = [];
    this.unwritten.clear();
    this.fullDelay = Math.min(Math.max(2500, this.fullDelay * 2), 30000);
    this.connection.error = error;
    this.connection.socket.close();
  }

  // Writes the state, one behind the other, so that no older position overwrites a newer one.
  keep(entries = [], position = null) {
    const work = this.writes.then(async () => {
      const state = { ...this.state, position: position ?? this.state.position };
      if (this.journal.appendAll && entries.length > 1) await this.journal.appendAll(entries, state);
      else {
        for (const entry of entries.slice(0, -1)) await this.journal.append(entry, { ...state, position: String(entry.position) });
        await this.journal.append(entries.at(-1) ?? null, state);
      }
      this.state.position = state.position;
    });
    // What could not be stored doesn't keep the next from being tried.
    this.writes = work.catch(() => {});
    return work;
  }

  // What this user and a sender agree on.
  agreement(sender) {
    const name = hex(sender);
    if (!this.shared.has(name)) {
      if (this.shared.size >= 200) this.shared.clear();
      this.shared.set(name, agree(this.keys.encryption.secretKey, sender));
    }
    return this.shared.get(name).slice();
  }

  // What a message says and how it was sealed, or null if it is not for this user. What is `refused` says why, and has no
  // content unless somebody wants to see it so marked.
  async open(m) {
    const { user, pin } = this, { encryption } = this.keys;
    const isPost = !same(m.to, m.recipient) || this.forums.some((pair) => same(pair.publicKey, m.to));
    if (!same(m.recipient, user)) return null;
    const kind = sealingOf(m.eData), base = { ...m, sealing: kind || "version 1", keys: [hex(m.id)] };
    const refused = (why) => ({ ...base, refused: why, content: null });
    const forum = this.forums.find((pair) => same(pair.publicKey, m.to));
    if (kind === null) return this.openVersion1(m, base, isPost, forum, refused);
    if (kind === 1) {
      if (!same(m.to, user)) return null;
      const content = this.unsealFrom(m.from, m);
      return content ? { ...base, content, isSigned: false } : refused("does not open");
    }
    if (kind === 2 && !forum) return refused("the forum's secret is not known");
    const plain = kind === 2 ? unseal(pin, forum, m.from, m) : unseal(pin, encryption, m.to, m);
    if (!plain || plain.length < 64) return refused("does not open");
    const signature = plain.slice(0, 64), content = plain.slice(64);
    // A second post of the same content, which the service sealed anew, is the same post.
    base.keys.push(hex(nacl.hash(join(m.to, m.from, uint(m.time, 8), nacl.hash(content)))));
    const poster = await this.searchByKey(m.from), group = await this.searchByKey(m.to);
    if (isZero(signature)) {
      const isForged = kind === 2 || this.isClosed(m.from) || this.isClosed(m.to);
      return isForged ? refused("nobody signed it") : { ...base, content, isSigned: false };
    }
    if (!poster || !group) return refused("its author or forum is unknown");
    const isRight = isSigned(postSigned(pin, m.to, m.from, m.time, content), signature, poster.authenticationKey);
    if (!isRight) return refused("the signature is wrong");
    const moderators = await this.moderators(m.to).catch((error) => {
      // Who was taken out of the readers has posts from before.
      if (error instanceof Refused && error.code === 1) return [];
      throw error;
    });
    const isModerated = moderators.length > 0, isOne = (key) => moderators.some((one) => same(one, key));
    return {
      ...base, content, signature, isSigned: true, changedKey: poster.changedKey,
      byModerator: isModerated ? isOne(m.from) : null, isModerator: isOne(this.user),
    };
  }

  unsealFrom(sender, m) {
    try { return unseal(this.pin, this.keys.encryption, sender, m, this.agreement(sender)); } catch { return null; }
  }

  async openVersion1(m, base, isPost, forum, refused) {
    // Tells, too, whether the sender has closed version 1.
    await this.searchByKey(m.from);
    const group = isPost ? await this.searchByKey(m.to) : null;
    const isClosed = this.isClosed(m.from) || isPost && this.isClosed(m.to);
    // A service that has the forum's secret copies posts so for readers whose account is open.
    const isCopy = group && group.flags & ESCROWED && !this.isClosed(this.user);
    if (isClosed && !isCopy) return refused("version 1's box of who closed version 1");
    if (!this.pin.signature) return refused("version 1's box, and no data nonce");
    const nonce = this.pin.signature.slice(0, 24), { secretKey } = this.keys.encryption;
    const content = nacl.box.open(m.eData, nonce, m.from, secretKey)
      || isPost && nacl.box.open(m.eData, nonce, m.to, secretKey)
      || forum && nacl.box.open(m.eData, nonce, m.from, forum.secretKey);
    return content ? { ...base, content, isSigned: false } : refused("does not open");
  }

  isClosed(key) { return this.state.closed.includes(hex(key)); }
  sawClosed(key) {
    if (this.isClosed(key)) return;
    this.state.closed.push(hex(key));
    this.keep();
  }

  // The authentication key that was seen first, which is the one that counts.
  firstKey(key, authenticationKey) {
    if (!this.state.authentication[hex(key)]) {
      this.state.authentication[hex(key)] = hex(authenticationKey);
      this.keep();
    }
    return this.state.authentication[hex(key)];
  }

  // Messages ---------------------------------------------------------------------------------------------------------------

  // Seals once; the same bytes are then sent as often as it takes.
  seal(to, content, time = BigInt(Math.floor(Date.now() / 1000))) {
    const m = { time, recipient: to, to, from: this.user };
    m.eData = seal(1, this.pin, this.keys.encryption, to, m, content);
    return { ...m, id: messageID(m), sealing: 1 };
  }

  sealPost(forum, content, time = BigInt(Math.floor(Date.now() / 1000))) {
    const m = { time, recipient: forum, to: forum, from: this.user };
    const signature = nacl.sign.detached(
      postSigned(this.pin, forum, this.user, time, content), this.keys.authentication.secretKey);
    m.eData = seal(2, this.pin, this.keys.encryption, forum, m, join(signature, content));
    return { ...m, id: messageID(m), sealing: 2 };
  }

  async deliver(m) {
    const { reader } = await this.request(
      TYPES.message, join(uint(m.time, 8), m.recipient, m.to, m.from), m.eData);
    return { isKnown: reader.uint(1) === 1, position: reader.big(8) };
  }

  async truncate(id) {
    const { reader } = await this.request(TYPES.truncate, id);
    return { isKnown: reader.uint(1) === 1, position: reader.big(8) };
  }

  // Has the service wake this device at a push address when something comes while it sleeps. `kind` is one of those that
  // service.json's `push` names; `tag`, 8 bytes, comes back in each wake; everybody wakes it but `keys`, or with
  // `isChosen` nobody but they. To be called at every start; without a kind it unbinds. Code 11: the service doesn't push.
  async push(kind, address, options) { await this.request(TYPES.push, ...pushFields(kind, address, options)); }

  pauseStream() { return this.request(TYPES.pause, new Uint8Array(0)); }
  resumeStream() { return this.request(TYPES.resume, new Uint8Array(0)); }

  // Users and vouchers -------------------------------------------------------------------------------------------------------

  // All pages of a list.
  async pages(type, subject, item, most = Infinity) {
    const all = [];
    for (let cursor = new Uint8Array(16); ;) {
      const { reader, data } = await this.request(type, subject(cursor));
      cursor = reader.take(16);
      const list = new Reader(data);
      for (let count = reader.uint(2); count > 0; count--) all.push(item(list));
      list.end();
      if (isZero(cursor) || all.length >= most) return all.slice(0, most);
    }
  }

  // Nothing is kept of those who are only listed.
  foundUser(list, most = Infinity) {
    const key = list.take(32), authenticationKey = list.take(32), kind = list.uint(1), flags = list.uint(1);
    const [nameLength, uidLength] = [list.uint(1), list.uint(1)];
    const found = { key, authenticationKey, kind, flags, name: text(list.take(nameLength)), uid: text(list.take(uidLength)) };
    if (Number.isFinite(most) && !this.state.authentication[hex(key)]) return found;
    if (flags & CLOSED) this.sawClosed(key);
    const known = this.firstKey(key, authenticationKey);
    if (known !== hex(authenticationKey)) {
      Object.assign(found, { authenticationKey: bytes(known), changedKey: authenticationKey });
    }
    return found;
  }

  search(type, term, most = Infinity) {
    return this.pages(
      type, (cursor) => join(uint(Number.isFinite(most) ? most : 0, 2), cursor, uint(term.length, 1), term),
      (list) => this.foundUser(list, most), most);
  }

  searchByName(name, most) { return this.search(TYPES.searchByName, utf8(name), most); }
  searchByUid(uid) { return this.search(TYPES.searchByUid, utf8(uid)); }
  async searchByKey(key) {
    return (await this.pages(TYPES.searchByKey, () => key, (list) => this.foundUser(list)))[0] || null;
  }

  vouch(subject) {
    return this.request(TYPES.vouch, join(subject, nacl.sign.detached(
      vouchSigned(this.pin, this.user, subject), this.keys.authentication.secretKey)));
  }

  unvouch(subject) { return this.request(TYPES.vouch, join(subject, new Uint8Array(64))); }

  // Who vouches; `isVerified` is null for a vouch of version 1, whose signature the service keeps.
  vouchers(subject) {
    return this.pages(TYPES.vouchers, (cursor) => join(subject, uint(0, 2), cursor), (list) => {
      const [key, authenticationKey, signature] = [list.take(32), list.take(32), list.take(64)];
      const isVerified = isZero(signature) ? null : this.firstKey(key, authenticationKey) === hex(authenticationKey)
        && isSigned(vouchSigned(this.pin, key, subject), signature, authenticationKey);
      return { key, authenticationKey, isVerified };
    });
  }

  // Forums and files ---------------------------------------------------------------------------------------------------------

  async makeForum(encryption, authentication, name) {
    await this.request(TYPES.new, () => this.newFields(encryption, authentication, name, ""));
  }

  removeForum(key) { return this.request(TYPES.del, key); }

  file(type, directory, name, content) {
    return this.request(type, join(directory, uint(utf8(name).length, 1), utf8(name)), content);
  }

  async read(directory, name) { return (await this.file(TYPES.read, directory, name)).data; }
  async lock(directory, name) { return (await this.file(TYPES.lock, directory, name)).data; }
  write(directory, name, content) { return this.file(TYPES.write, directory, name, content); }
  remove(directory, name) { return this.file(TYPES.remove, directory, name); }

  // Joins a forum that asks for a token.
  joinForum(key) { return this.request(TYPES.join, key); }

  // Deletes the account; the service closes all its sessions, and its key stays taken.
  leave() {
    return this.request(TYPES.leave, () => nacl.sign.detached(
      leaveSigned(this.connection.keys.h, this.user), this.keys.authentication.secretKey));
  }

  // The keys of a forum's moderators; none: it is not moderated.
  async moderators(forum) {
    try {
      const content = await this.read(forum, "moderators");
      return Array.from({ length: content.length / 32 }, (_, i) => content.slice(32 * i, 32 * i + 32));
    } catch (error) {
      if (error instanceof Refused && error.code === 2) return [];
      throw error;
    }
  }
}

// Node has a WebSocket of its own from version 22 on; before, this one is enough for binary messages.
function nodeWebSocket() {
  if (typeof require !== "function") return undefined;
  return class NodeWebSocket {
    constructor(url, protocols) {
      const { protocol, host, pathname, search } = new URL(url);
      const http = require(protocol === "wss:" ? "https" : "http");
      this.readyState = 0;
      this.parts = [];
      this.rest = Buffer.alloc(0);
      const request = http.request(`${protocol.replace("ws", "http")}//${host}${pathname}${search}`, {
        headers: {
          Connection: "Upgrade", Upgrade: "websocket", "Sec-WebSocket-Version": "13",
          "Sec-WebSocket-Key": Buffer.from(nacl.randomBytes(16)).toString("base64"), "Sec-WebSocket-Protocol": protocols.join(", "),
        },
      });
      this.request = request;
      request.on("upgrade", (response, socket, head) => {
        this.protocol = response.headers["sec-websocket-protocol"] ?? "";
        this.socket = socket;
        this.readyState = 1;
        socket.setNoDelay();
        socket.on("data", (data) => this.read(data));
        socket.on("error", () => {});
        socket.on("close", () => this.end(1006));
        this.onopen?.();
        if (head.length) this.read(head);
      });
      request.on("response", () => { request.destroy(); this.end(1006); });
      request.on("error", () => this.end(1006));
      request.end();
    }

    end(code) {
      if (this.readyState === 3) return;
      this.readyState = 3;
      this.onclose?.({ code });
    }

    read(data) {
      this.rest = Buffer.concat([this.rest, data]);
      while (this.rest.length >= 2) {
        const { rest } = this, short = rest[1] & 127;
        let start = 2;
        if (short === 126) start = 4;
        if (short === 127) start = 10;
        if (rest.length < start) return;
        let length = short;
        if (short === 126) length = rest.readUInt16BE(2);
        if (short === 127) length = Number(rest.readBigUInt64BE(2));
        if (length > 1 << 26) return this.socket.destroy();
        if (rest.length < start + length) return;
        const body = rest.subarray(start, start + length), kind = rest[0] & 15;
        this.rest = rest.subarray(start + length);
        if (kind === 8) {
          const code = body.length >= 2 ? body.readUInt16BE(0) : 1005;
          this.frame(8, body);
          this.socket.end();
          return this.end(code);
        }
        if (kind === 9) this.frame(10, body);
        if (kind > 2) continue;
        this.parts.push(body);
        if (!(rest[0] & 128)) continue;
        const whole = Uint8Array.from(Buffer.concat(this.parts));
        this.parts = [];
        this.onmessage?.({ data: whole.buffer });
      }
    }

    frame(kind, body) {
      const mask = Buffer.from(nacl.randomBytes(4)), masked = Buffer.from(body);
      for (let i = 0; i < masked.length; i++) masked[i] ^= mask[i & 3];
      let head = Buffer.of(128 | kind, 128 | masked.length);
      if (masked.length > 125) head = join(Uint8Array.of(128 | kind, 254), uint(masked.length, 2));
      if (masked.length > 65_535) head = join(Uint8Array.of(128 | kind, 255), uint(masked.length, 8));
      this.socket.write(Buffer.concat([head, mask, masked]));
    }

    send(data) { this.frame(2, data); }

    close() {
      if (this.readyState === 1) {
        this.frame(8, Buffer.alloc(0));
        this.socket.end();
      } else this.request.destroy();
    }
  };
}

const api = {
  Device, Connection, Refused, Reader, agree, bytes, counterNonce, frame, handshake, hex, isSigned, join, loginSigned, messageID,
  leaveSigned, newSigned, pinOf, possession, postSigned, pushFields, seal, sealingOf, speaksVersion2, text, tokenNonce, uint,
  unframe, unseal, utf8, vouchSigned, webAddress,
};
if (typeof module === "object") module.exports = api; else root.apptimist = api;
})(globalThis);
