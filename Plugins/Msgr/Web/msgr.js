// Msgr for pages: one module without dependencies. Whoever keeps a token makes `new Msgr(base, token)`.

/** A refusal by the server, or no response at all (status 0). */
export class MsgrError extends Error {
  constructor(status, message, field, retryAfter, code) {
    super(message);
    this.status = status;
    this.field = field;
    /** The seconds to wait, if the server says so. */
    this.retryAfter = retryAfter;
    /** The reason for programs, where the status has several: "invitation", "signup" or "denied". */
    this.code = code;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** A random identifier; `randomUUID` is there with HTTPS only. */
export const newIdentifier = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A name for a device that streams, to be kept. */
export const newDevice = () => `stream:${newIdentifier()}`;

/** What the stream waits for a sign of life, in milliseconds. */
const PULSE = 20_000, PATIENCE = 15_000;

/** An account on a server, as one device uses it. */
export class Msgr {
  /** `base` is the URL of the service with a slash at its end, such as `https://awd.example.org/msgr/`. */
  constructor(base, token) {
    this.base = new URL(base, globalThis.location?.href).href;
    this.token = token;
  }

  /** Makes an account (`register`) or logs in (`login`), and returns it. */
  static async open(base, path, fields) {
    const msgr = new Msgr(base);
    const { Token, Seen } = await msgr.post(path, fields);
    msgr.token = Token;
    /** Up to which Id the user has read before, on other devices; undefined for a new account. */
    msgr.seen = Seen;
    return msgr;
  }

  /** Makes a request, and returns the JSON of the response. */
  async post(path, fields = {}) {
    const headers = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    let response;
    try {
      response = await fetch(this.base + path, {
        method: "POST", headers, body: JSON.stringify(fields), cache: "no-store",
      });
    } catch {
      throw new MsgrError(0, "the server can't be reached");
    }
    const body = await response.json().catch(() => undefined);
    if (response.ok) {
      // Cut, as when the network goes or the page does: nobody knows what it would have said.
      if (body === undefined) throw new MsgrError(0, "the server's response was cut");
      return body;
    }
    const wait = Number(response.headers.get("Retry-After")) || undefined;
    throw new MsgrError(response.status, body?.error ?? response.statusText, body?.field, wait, body?.code);
  }

  /** What ends the session (`TokenDigest` at `logout`), and can do nothing else. */
  async digest() {
    // Without HTTPS there is no digest: the session itself is ended at once instead.
    if (!crypto.subtle) return null;
    const bytes = Uint8Array.from(this.token.match(/../g), (digits) => parseInt(digits, 16));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Sends a message; with the same `clientId` it may be tried again for a day, and is sent once. */
  send(to, text, clientId = newIdentifier()) {
    return this.post("message", { UserTo: to, Message: text, ClientId: clientId });
  }

  /**
   * Brings messages as they come, and opens itself again until `close` is called.
   *
   * `since()` gives the last Id that is kept, `onMessage` takes a message or a `Read` notice; if its promise is rejected, the
   * message comes again. `onState` takes "open", "polling" where no stream comes through, "waiting", or "ended" if the
   * token has.
   */
  stream({ since, onMessage, onState = () => {} }) {
    let socket, timer, pulse, tries = 0, unkept = 0, isClosed = false, hasOpened = false, taking = Promise.resolve();
    // A connection that died without a word is noticed by a request that gets no answer.
    const beat = () => {
      clearTimeout(pulse);
      pulse = setTimeout(async () => {
        if (!await this.answers(PATIENCE) && !isClosed) drop();
        else beat();
      }, PULSE);
    };
    const drop = () => {
      const { onclose } = socket;
      socket.onopen = socket.onmessage = socket.onclose = null;
      socket.close();
      onclose?.({ code: 1006 });
    };
    const open = () => {
      const url = new URL("stream", this.base);
      url.protocol = url.protocol.replace("http", "ws");
      url.searchParams.set("since", since() ?? "0".repeat(16));
      socket = new WebSocket(url, ["msgr.1", `bearer.${this.token}`]);
      const opening = setTimeout(() => drop(), PATIENCE);
      socket.onopen = () => { clearTimeout(opening); tries = 0; hasOpened = true; onState("open"); beat(); };
      const current = socket;
      let isOver = false;
      socket.onmessage = (event) => {
        beat();
        // One behind the other. From the first that isn't kept on, all come again with another connection.
        taking = taking.then(async () => {
          if (isOver || current !== socket) return;
          await onMessage(JSON.parse(event.data));
          unkept = 0;
        }).catch(() => {
          isOver = true;
          unkept += 1;
          if (current === socket) drop();
        });
      };
      socket.onclose = (event) => { clearTimeout(opening); clearTimeout(pulse); retry(event.code === 1008); };
    };
    // What stands between may take requests and no WebSocket: then the inbox is asked again and again.
    const poll = async () => {
      try {
        const found = await this.post("inbox", { Since: since() ?? "0".repeat(16) });
        onState("polling");
        for (const message of found) await onMessage(message);
      } catch (error) {
        if (error.status === 403) return onState("ended");
        onState("waiting");
      }
      if (isClosed) return;
      timer = setTimeout(tries++ % 10 === 9 ? open : poll, 5_000);
    };
    const retry = async (mayBeEnded) => {
      if (isClosed) return;
      // A refused handshake has no status that a page could see.
      if (mayBeEnded || tries >= 1) {
        const refusal = await this.post("contacts").then(() => null, (error) => error);
        if (refusal?.status === 403) return onState("ended");
        if (!refusal && !hasOpened && tries >= 2) return poll();
      }
      if (isClosed) return;
      onState("waiting");
      const wait = Math.min(30_000, 500 * 2 ** tries++) * (0.5 + Math.random() / 2);
      timer = setTimeout(open, unkept ? Math.min(30_000, 2_500 * 2 ** unkept) : wait);
    };
    open();
    return {
      close() { isClosed = true; clearTimeout(timer); clearTimeout(pulse); socket.close(); },
      /** Tries at once, as when the network is back, and asks an open connection whether it lives. */
      hurry: async () => {
        if (isClosed) return;
        if (socket.readyState > WebSocket.OPEN) {
          clearTimeout(timer);
          tries = 0;
          open();
        } else if (socket.readyState === WebSocket.OPEN && !await this.answers(5_000) && !isClosed) drop();
      },
    };
  }

  /** Whether the server answers within a time. */
  answers(time) {
    return fetch(this.base + "push-key", { cache: "no-store", signal: AbortSignal.timeout(time) }).then(() => true, () => false);
  }

  /** Has messages pushed to a service worker's registration while no page is open. */
  async subscribe(registration) {
    const { Key } = await (await fetch(this.base + "push-key")).json();
    const key = Uint8Array.from(
      atob(Key.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    // One of another key, as before a restored backup, has to go first.
    const old = await registration.pushManager.getSubscription?.();
    const before = old?.options?.applicationServerKey;
    if (before && new Uint8Array(before).join() !== key.join()) await old.unsubscribe();
    const subscription = await registration.pushManager.subscribe({
      userVisibleOnly: true, applicationServerKey: key,
    });
    const { endpoint, keys } = subscription.toJSON();
    await this.post("subscribe", { Endpoint: endpoint, P256dh: keys.p256dh, Auth: keys.auth });
  }

  /** Ends that. */
  async unsubscribe(registration) {
    await (await registration.pushManager.getSubscription())?.unsubscribe();
    await this.post("unsubscribe");
  }
}
