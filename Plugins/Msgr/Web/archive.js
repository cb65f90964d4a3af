// What the page keeps in the browser: messages, those that wait to be sent, and a few values.

const stores = { messages: "Id", waiting: "ClientId", values: "name" };

/** How long to wait before it is tried again to store something, and how much. */
const PROBE_TIME = 5_000, PROBE_SIZE = 65_536;

const finished = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

export class Archive {
  static async open() {
    const request = indexedDB.open("msgr", 1);
    request.onupgradeneeded = () => {
      for (const [name, keyPath] of Object.entries(stores)) {
        request.result.createObjectStore(name, { keyPath });
      }
    };
    const archive = new Archive();
    archive.database = await finished(request);
    // The browser has cleared the page's data, or lost it.
    archive.database.onclose = () => archive.breaks({ name: "InvalidStateError" });
    archive.values = Object.fromEntries(
      (await archive.all("values")).map(({ name, value }) => [name, value]));
    return archive;
  }

  all(name) { return finished(this.database.transaction(name).objectStore(name).getAll()); }

  /** Does what `act` does with the stores, all or nothing; done is what is on disk. */
  async transact(act) {
    const names = Object.keys(stores);
    try {
      const transaction = this.database.transaction(names, "readwrite");
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = () => reject(transaction.error ?? new Error("the browser has not stored it"));
      });
      try { act(Object.fromEntries(names.map((name) => [name, transaction.objectStore(name)]))); } catch (error) {
        done.catch(() => {});
        // It may have ended by itself, which says nothing of why.
        try { transaction.abort(); } catch { /* The first error counts. */ }
        throw error;
      }
      // Not left to the browser: the page may end before it would do so by itself.
      transaction.commit?.();
      await done;
    } catch (error) {
      this.breaks(error);
      throw error;
    }
  }

  put(name, item) { return this.transact((all) => { all[name].put(item); }); }
  remove(name, key) { return this.transact((all) => { all[name].delete(key); }); }

  set(name, value) {
    this.values[name] = value;
    return this.put("values", { name, value });
  }

  /** Nothing is kept now: says so once. Where there was no room there may be some again; what is gone is gone. */
  breaks({ name }) {
    if (this.isGone) return;
    const wasBroken = this.isBroken;
    this.isBroken = true;
    this.isGone = name === "InvalidStateError";
    clearTimeout(this.probing);
    if (!this.isGone) this.probing = setTimeout(() => this.probe(), PROBE_TIME);
    if (!wasBroken || this.isGone) this.onbroken?.(this.isGone);
  }

  /** Looks whether the browser stores again. */
  async probe() {
    try {
      await this.put("values", { name: "probe", value: "x".repeat(PROBE_SIZE) });
      await this.remove("values", "probe");
    } catch { return; }
    if (!this.isBroken || this.isGone) return;
    this.isBroken = false;
    clearTimeout(this.probing);
    this.onmended?.();
  }

  /** Forgets everything, all at once, but for some values. */
  clear(kept = {}) {
    this.values = kept;
    return this.transact((all) => {
      for (const store of Object.values(all)) store.clear();
      for (const [name, value] of Object.entries(kept)) all.values.put({ name, value });
    });
  }
}
