// What the page keeps in the browser. Each record is sealed with a key that no script can read, and its name is a MAC: no
// text, name, key or secret stands in the storage in the clear.

const finished = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});
const encoded = (text) => new TextEncoder().encode(text);

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

  name(text) { return crypto.subtle.sign("HMAC", this.keys.name, encoded(text)); }

  async seal(text) {
    const iv = crypto.getRandomValues(new Uint8Array(12));
    return { iv, data: await crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.keys.seal, encoded(text)) };
  }

  /** All records: their values by kind and identifier. */
  async load() {
    const rows = await finished(this.database.transaction("records").objectStore("records").getAll());
    const clear = await Promise.all(rows.map(({ iv, data }) =>
      crypto.subtle.decrypt({ name: "AES-GCM", iv }, this.keys.seal, data)));
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
        [await this.name(name), text && await this.seal(text)]));
      const marks = await Promise.all(seen.map((key) => this.name(`seen ${key}`)));
      const transaction = this.database.transaction(["records", "seen"], "readwrite");
      const store = transaction.objectStore("records");
      for (const [name, row] of rows) { if (row) store.put(row, name); else store.delete(name); }
      for (const name of marks) transaction.objectStore("seen").put(1, name);
      await new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error);
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
