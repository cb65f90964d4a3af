// What the page keeps in the browser: messages, those that wait to be sent, and a few values.

const stores = { messages: "Id", waiting: "ClientId", values: "name" };

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
    archive.database.onclose = () => archive.onbroken?.();
    archive.values = Object.fromEntries(
      (await archive.all("values")).map(({ name, value }) => [name, value]));
    return archive;
  }

  store(name, mode = "readwrite") {
    return this.database.transaction(name, mode).objectStore(name);
  }

  all(name) { return finished(this.store(name, "readonly").getAll()); }
  async put(name, item) {
    try { return await finished(this.store(name).put(item)); } catch (error) {
      this.onbroken?.();
      throw error;
    }
  }

  remove(name, key) { return finished(this.store(name).delete(key)); }

  set(name, value) {
    this.values[name] = value;
    return this.put("values", { name, value });
  }

  /** Forgets everything, all at once, but for some values. */
  clear(kept = {}) {
    this.values = kept;
    const transaction = this.database.transaction(Object.keys(stores), "readwrite");
    for (const name of Object.keys(stores)) transaction.objectStore(name).clear();
    for (const [name, value] of Object.entries(kept)) transaction.objectStore("values").put({ name, value });
    return new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
    });
  }
}
