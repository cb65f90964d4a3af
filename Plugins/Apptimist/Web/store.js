// What the page keeps in the browser. Each record is sealed with a key that no script can read, and its name is a MAC: no
// text, name, key or secret stands in the storage in the clear.

const finished = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
/** Why nothing is kept: the database is not there any more. */
const GONE = Symbol("gone");
/** How long to wait before it is tried again to store something, and how much. */
const PROBE_TIME = 5_000, PROBE_SIZE = 65_536;
/** The bytes of a name as a short text. */
const short = (name) => String.fromCharCode(...new Uint8Array(name));
const encoded = (text) => new TextEncoder().encode(text);
const naming = (raw) => crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
const sealing = (raw) => crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);

export class Store {
  /** Opens the one database of a service. */
  static async open(name) {
    const request = indexedDB.open(name, 1);
    request.onupgradeneeded = () => {
      for (const kind of ["keys", "records", "seen"]) request.result.createObjectStore(kind);
    };
    const store = new Store();
    store.database = await finished(request);
    // The browser has cleared the page's data, or lost it.
    store.database.onclose = () => store.breaks(GONE);
    store.last = Promise.resolve();
    const made = {
      seal: await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]),
      name: await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, false, ["sign"]),
    };
    // Within one transaction, as two pages may begin at once.
    const keys = store.database.transaction("keys", "readwrite").objectStore("keys");
    store.keys = await finished(keys.get("keys"));
    if (!store.keys) {
      await finished(keys.add(made, "keys"));
      store.keys = made;
    }
    return store;
  }

  /** Whether the key of the records lies here only as a passphrase opens it. */
  get isLocked() { return !this.keys.seal; }

  /** Opens the key of the records; false if the passphrase is another. */
  async unlock(passphrase) {
    const { keyOf } = await import("./{{passphrase.js}}");
    const { salt, iterations, iv, data } = this.keys.wrapped;
    const wrapping = await sealing(await keyOf(passphrase, salt, iterations));
    try {
      const raw = await crypto.subtle.decrypt({ name: "AES-GCM", iv }, wrapping, data);
      this.keys.seal = await sealing(raw.slice(0, 32));
      this.keys.name = await naming(raw.slice(32));
      return true;
    } catch {
      return false;
    }
  }

  /** Writes all records anew under other keys, and other names; a passphrase opens the keys, or nothing if it is empty. */
  lock(passphrase) {
    const work = this.last.then(async () => {
      const { ITERATIONS, keyOf } = await import("./{{passphrase.js}}");
      const raw = crypto.getRandomValues(new Uint8Array(64));
      const next = { seal: await sealing(raw.slice(0, 32)), name: await naming(raw.slice(32)) };
      let kept = next;
      if (passphrase) {
        const salt = crypto.getRandomValues(new Uint8Array(32)), iv = crypto.getRandomValues(new Uint8Array(12));
        const wrapping = await sealing(await keyOf(passphrase, salt, ITERATIONS));
        const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, wrapping, raw);
        kept = { wrapped: { salt, iterations: ITERATIONS, iv, data } };
      }
      raw.fill(0);
      const rows = await finished(this.database.transaction("records").objectStore("records").getAll());
      const clear = await Promise.all(rows.map((row) => this.open(row)));
      const seen = await this.seenKeys();
      const old = this.keys;
      this.keys = next;
      try {
        const named = await Promise.all(clear.map(async (bytes) => {
          const [kind, id] = JSON.parse(new TextDecoder().decode(bytes));
          return [await this.name(`${kind} ${id}`), await this.seal(bytes)];
        }));
        const marks = await Promise.all(seen.map(async (key) => [await this.name(`seen ${key}`), await this.seal(encoded(key))]));
        await this.transact(["records", "seen", "keys"], (records, seen, keys) => {
          records.clear();
          seen.clear();
          for (const [name, row] of named) records.put(row, name);
          for (const [name, row] of marks) seen.put(row, name);
          keys.put(kept, "keys");
        });
      } catch (error) {
        this.keys = old;
        throw error;
      } finally {
        this.seenNames = undefined;
      }
    });
    this.last = work.catch(() => {});
    return work;
  }

  /** What was given to `write` as seen. */
  async seenKeys() {
    const rows = await finished(this.database.transaction("seen").objectStore("seen").getAll());
    return Promise.all(rows.map(async (row) => new TextDecoder().decode(await this.open(row))));
  }

  /** Nothing is kept now: says so once. Where there was no room there may be some again; what is gone is gone. */
  breaks(reason) {
    if (this.isEnding || this.isGone) return;
    const wasBroken = this.isBroken;
    this.isBroken = true;
    this.isGone = reason === GONE || reason?.name === "InvalidStateError";
    clearTimeout(this.probing);
    if (!this.isGone) this.probing = setTimeout(() => this.probe(), PROBE_TIME);
    if (!wasBroken || this.isGone) this.onbroken?.(this.isGone);
  }

  /** Looks whether the browser stores again. */
  async probe() {
    try {
      await this.write([["probe", "probe", "x".repeat(PROBE_SIZE)]]);
      await this.write([["probe", "probe", undefined]]);
    } catch { return; }
    if (!this.isBroken || this.isGone) return;
    this.isBroken = false;
    clearTimeout(this.probing);
    this.onmended?.();
  }

  /** Nothing is written from now on. */
  end() {
    this.isEnding = true;
    clearTimeout(this.probing);
  }

  /** Forgets everything, the keys too. */
  clear() {
    this.end();
    const kinds = ["records", "seen", "keys"];
    return this.last = this.last.then(() => this.transact(kinds, (...stores) => stores.forEach((store) => store.clear())));
  }

  /** Does what `act` does with the stores, all or nothing. */
  transact(kinds, act) {
    const transaction = this.database.transaction(kinds, "readwrite");
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error ?? new Error("the browser has not stored it"));
    });
    try { act(...kinds.map((kind) => transaction.objectStore(kind))); } catch (error) {
      // All or nothing.
      done.catch(() => {});
      transaction.abort();
      throw error;
    }
    // Not left to the browser: the page may end before it would do so by itself.
    transaction.commit?.();
    return done;
  }

  name(text) { return crypto.subtle.sign("HMAC", this.keys.name, encoded(text)); }

  async seal(bytes) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    return { iv, data: await crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.keys.seal, bytes) };
  }

  open({ iv, data }) { return crypto.subtle.decrypt({ name: "AES-GCM", iv }, this.keys.seal, data); }

  /** All records: their values by kind and identifier. */
  async load() {
    const rows = await finished(this.database.transaction("records").objectStore("records").getAll());
    const clear = await Promise.all(rows.map((row) => this.open(row)));
    const all = {};
    for (const bytes of clear) {
      const [kind, id, value] = JSON.parse(new TextDecoder().decode(bytes));
      (all[kind] ??= new Map()).set(id, value);
    }
    return all;
  }

  /** Writes all or nothing: triples of kind, identifier and value, which is undefined for what is to be removed. */
  write(records, seen = []) {
    if (this.isEnding) return Promise.reject(new Error("the browser keeps nothing any more"));
    // As they are now: they may change until it is their turn.
    const texts = records.map(([kind, id, value]) =>
      [`${kind} ${id}`, value === undefined ? undefined : JSON.stringify([kind, id, value])]);
    const work = this.last.then(async () => {
      if (this.isGone) throw new Error("the browser keeps nothing");
      const rows = await Promise.all(texts.map(async ([name, text]) =>
        [await this.name(name), text && await this.seal(encoded(text))]));
      const marks = await Promise.all(seen.map(async (key) => [await this.name(`seen ${key}`), await this.seal(encoded(key))]));
      await this.transact(["records", "seen"], (records, seen) => {
        for (const [name, row] of rows) { if (row) records.put(row, name); else records.delete(name); }
        for (const [name, row] of marks) seen.put(row, name);
      });
      const known = await this.seenNames?.catch(() => undefined);
      for (const [name] of known ? marks : []) known.add(short(name));
    });
    this.last = work.catch((error) => this.breaks(error));
    return work;
  }

  async readSeenNames() {
    try {
      return new Set((await finished(this.database.transaction("seen").objectStore("seen").getAllKeys())).map(short));
    } catch (error) {
      this.seenNames = undefined;
      throw error;
    }
  }

  /** Whether a key was ever given to `write` as seen. All are read once: a query for each would wait for what is being written. */
  async hasSeen(key) {
    this.seenNames ??= this.readSeenNames();
    return (await this.seenNames).has(short(await this.name(`seen ${key}`)));
  }
}
