// What the page keeps in the browser. Each record is sealed with a key that no script can read, and its name is a MAC: no
// text, name, key or secret stands in the storage in the clear.

const finished = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const encoded = (text) => new TextEncoder().encode(text);
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
      this.keys.seal = await sealing(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, wrapping, data));
      return true;
    } catch {
      return false;
    }
  }

  /** Writes all records anew under another key, which a passphrase opens, or none if it is empty. */
  lock(passphrase) {
    const work = this.last.then(async () => {
      const { ITERATIONS, keyOf } = await import("./{{passphrase.js}}");
      const raw = crypto.getRandomValues(new Uint8Array(32)), seal = await sealing(raw), { name } = this.keys;
      let kept = { name, seal };
      if (passphrase) {
        const salt = crypto.getRandomValues(new Uint8Array(32)), iv = crypto.getRandomValues(new Uint8Array(12));
        const wrapping = await sealing(await keyOf(passphrase, salt, ITERATIONS));
        const data = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, wrapping, raw);
        kept = { name, wrapped: { salt, iterations: ITERATIONS, iv, data } };
      }
      raw.fill(0);
      const reading = this.database.transaction("records").objectStore("records");
      const [rows, names] = await Promise.all([finished(reading.getAll()), finished(reading.getAllKeys())]);
      const clear = await Promise.all(rows.map((row) => this.open(row)));
      this.keys.seal = seal;
      const sealed = await Promise.all(clear.map((bytes) => this.seal(bytes)));
      await this.transact(["records", "keys"], (records, keys) => {
        sealed.forEach((row, i) => records.put(row, names[i]));
        keys.put(kept, "keys");
      });
    });
    this.last = work.catch(() => {});
    return work;
  }

  /** Forgets everything, the keys too. */
  clear() {
    const kinds = ["records", "seen", "keys"];
    return this.last = this.last.then(() => this.transact(kinds, (...stores) => stores.forEach((store) => store.clear())));
  }

  /** Does what `act` does with the stores, all or nothing. */
  transact(kinds, act) {
    const transaction = this.database.transaction(kinds, "readwrite");
    act(...kinds.map((kind) => transaction.objectStore(kind)));
    return new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
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
    // As they are now: they may change until it is their turn.
    const texts = records.map(([kind, id, value]) =>
      [`${kind} ${id}`, value === undefined ? undefined : JSON.stringify([kind, id, value])]);
    const work = this.last.then(async () => {
      const rows = await Promise.all(texts.map(async ([name, text]) =>
        [await this.name(name), text && await this.seal(encoded(text))]));
      const marks = await Promise.all(seen.map((key) => this.name(`seen ${key}`)));
      await this.transact(["records", "seen"], (records, seen) => {
        for (const [name, row] of rows) { if (row) records.put(row, name); else records.delete(name); }
        for (const name of marks) seen.put(1, name);
      });
    });
    this.last = work.catch(() => {});
    return work;
  }

  /** Whether a key was ever given to `write` as seen. */
  async hasSeen(key) {
    const name = await this.name(`seen ${key}`);
    return await finished(this.database.transaction("seen").objectStore("seen").count(name)) > 0;
  }
}
