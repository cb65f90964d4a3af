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
/** The same where it is likely that the connection has died, as when the network is back. */
const SHORT_PATIENCE = 5_000;
/** How long a request waits for its response, in milliseconds: some networks swallow it without a word. */
const LONGEST_REQUEST = 30_000, LONGEST_EXPORT = 600_000;
/** From when on a request, or a stream that is being opened, may be stuck on a network that is gone. */
const STUCK = 2_000;
/** What may be asked again at any time, as it does nothing a second time. */
const repeatable = ["message", "friends", "topics", "contacts", "inbox"];

/** The JSON of a text; undefined for what isn't JSON, as a response that was cut. */
function parsed(text) {
  try { return JSON.parse(text); } catch { return undefined; }
}

/** The longest push, in bytes. */
const LONGEST_PUSH = 4096;

/** Whether a message is longer than the server takes: it has to fit into a push, with its sender's name twice. */
export function isTooLong(sender, text) {
  const push = {
    aps: { alert: { title: sender, body: "…" }, sound: "default", badge: 1_234_567 },
    UserFrom: sender, Message: text, Id: "0123456789abcdef", AddRequest: true,
  };
  return new TextEncoder().encode(JSON.stringify(push)).length > LONGEST_PUSH;
}

/** An account on a server, as one device uses it. */
export class Msgr {
  /** `base` is the URL of the service with a slash at its end, such as `https://awd.example.org/msgr/`. */
  constructor(base, token) {
    this.base = new URL(base, globalThis.location?.href).href;
    this.token = token;
    // The requests that have no response yet.
    this.requests = new Set();
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

  /** Makes a request, and returns the JSON of the response; after `longest` milliseconds without it there is none. */
  async post(path, fields = {}, longest = path === "export" ? LONGEST_EXPORT : LONGEST_REQUEST) {
    const headers = { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    const request = { path, began: Date.now(), stopper: new AbortController() };
    const { signal } = request.stopper;
    const timer = setTimeout(() => request.stopper.abort(), longest);
    this.requests.add(request);
    let response, text;
    try {
      response = await fetch(this.base + path, {
        method: "POST", headers, body: JSON.stringify(fields), cache: "no-store", signal,
      });
      // A response that breaks off is none.
      text = await response.text();
    } catch {
      throw new MsgrError(0, "the server can't be reached");
    } finally {
      clearTimeout(timer);
      this.requests.delete(request);
    }
    const body = parsed(text);
    if (response.ok && body) return body;
    // Cut, as when the network goes or the page does, or a page that a hotel's network shows instead: nobody knows what the
    // server would have said.
    if (response.ok) throw new MsgrError(0, "the server can't be reached");
    const wait = Number(response.headers.get("Retry-After")) || undefined;
    throw new MsgrError(response.status, body?.error ?? response.statusText, body?.field, wait, body?.code);
  }

  /** Gives up requests without a response that began before a time and may be made again, as when the network is back. */
  giveUpStuck(before = Date.now() - STUCK) {
    for (const { path, began, stopper } of this.requests) {
      if (repeatable.includes(path) && began < before) stopper.abort();
    }
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
  send(to, text, clientId = newIdentifier(), longest = PATIENCE) {
    return this.post("message", { UserTo: to, Message: text, ClientId: clientId }, longest);
  }

  /**
   * Brings messages as they come, and opens itself again until `close` is called.
   *
   * `since()` gives the last Id that is kept, `onMessage` takes a message or a `Read` notice; if its promise is rejected, the
   * message comes again. `onState` takes "open", "polling" where no stream comes through, "waiting", or "ended" if the
   * token has.
   */
  stream({ since, onMessage, onState = () => {} }) {
    let socket, timer, pulse, opening, tries = 0, unkept = 0, isClosed = false, hasOpened = false, isPolling = false, taking = Promise.resolve();
    // Each try to open has a number: what an earlier one has asked decides nothing any more. And when it began.
    let attempt = 0, began = 0;
    // A connection that died without a word is noticed by a message that gets no answer: one that names nobody is refused.
    // Requests say nothing of it, as they may go another way.
    const ask = (patience) => {
      clearTimeout(pulse);
      socket.send("{}");
      pulse = setTimeout(() => drop(), patience);
    };
    const beat = () => {
      clearTimeout(pulse);
      pulse = setTimeout(() => ask(PATIENCE), PULSE);
    };
    // Closes without hearing of it.
    const abandon = () => {
      socket.onopen = socket.onmessage = socket.onclose = null;
      clearTimeout(opening);
      clearTimeout(pulse);
      socket.close();
    };
    const drop = () => {
      abandon();
      retry(false);
    };
    const open = () => {
      clearTimeout(timer);
      // There is one at a time.
      if (socket) abandon();
      attempt += 1;
      began = Date.now();
      const url = new URL("stream", this.base);
      url.protocol = url.protocol.replace("http", "ws");
      url.searchParams.set("since", since() ?? "0".repeat(16));
      socket = new WebSocket(url, ["msgr.1", `bearer.${this.token}`]);
      opening = setTimeout(() => drop(), PATIENCE);
      socket.onopen = () => {
        clearTimeout(opening);
        tries = 0;
        hasOpened = true;
        isPolling = false;
        // A way to the server that was begun later has come through.
        this.giveUpStuck(began);
        onState("open");
        beat();
      };
      const current = socket;
      let isOver = false;
      socket.onmessage = (event) => {
        beat();
        // One behind the other. From the first that isn't kept on, all come again with another connection.
        taking = taking.then(async () => {
          if (isOver || current !== socket) return;
          const message = JSON.parse(event.data);
          // The answer to a question whether the connection lives.
          if (message.error && message.status) return;
          await onMessage(message);
          unkept = 0;
        }).catch(() => {
          isOver = true;
          unkept += 1;
          if (current === socket) drop();
        });
      };
      socket.onclose = (event) => {
        if (current !== socket) return;
        clearTimeout(opening);
        clearTimeout(pulse);
        retry(event.code === 1008);
      };
    };
    // What stands between may take requests and no WebSocket: then the inbox is asked again and again.
    const poll = async () => {
      const current = attempt;
      isPolling = true;
      try {
        const found = await this.post("inbox", { Since: since() ?? "0".repeat(16) }, PATIENCE);
        if (isClosed || current !== attempt) return;
        onState("polling");
        for (const message of found) await onMessage(message);
      } catch (error) {
        if (isClosed || current !== attempt) return;
        if (error.status === 403) return onState("ended");
        onState("waiting");
      }
      if (isClosed || current !== attempt) return;
      clearTimeout(timer);
      timer = setTimeout(tries++ % 10 === 9 ? open : poll, 5_000);
    };
    const retry = async (mayBeEnded) => {
      if (isClosed) return;
      const current = attempt, lost = Date.now();
      // The question may take its time. Where no stream ever came through, its answer tells whether there is a connection.
      if (hasOpened) onState("waiting");
      // A refused handshake has no status that a page could see.
      if (mayBeEnded || tries >= 1) {
        const refusal = await this.post("contacts", {}, PATIENCE).then(() => null, (error) => error);
        if (isClosed || current !== attempt) return;
        if (refusal?.status === 403) return onState("ended");
        if (!refusal && !hasOpened && tries >= 2) return poll();
      }
      onState("waiting");
      const wait = Math.min(30_000, 500 * 2 ** tries++) * (0.5 + Math.random() / 2);
      // The question has taken a part of the time.
      clearTimeout(timer);
      timer = setTimeout(open, unkept ? Math.min(30_000, 2_500 * 2 ** unkept) : Math.max(0, wait - (Date.now() - lost)));
    };
    open();
    return {
      close() { isClosed = true; clearTimeout(timer); abandon(); },
      /** Tries at once, as when the network is back, and asks an open connection whether it lives. */
      hurry: () => {
        if (isClosed) return;
        this.giveUpStuck();
        const isStuck = Date.now() - began > STUCK;
        if (socket.readyState > WebSocket.OPEN && isPolling) {
          attempt += 1;
          clearTimeout(timer);
          poll();
        } else if (socket.readyState > WebSocket.OPEN || (socket.readyState < WebSocket.OPEN && isStuck)) {
          // One that is still being opened was begun on a network that may be gone.
          tries = 0;
          open();
        } else if (socket.readyState === WebSocket.OPEN) ask(SHORT_PATIENCE);
      },
    };
  }

  /** Has messages pushed to a service worker's registration while no page is open. */
  async subscribe(registration) {
    const { Key } = await (await fetch(this.base + "push-key", { signal: AbortSignal.timeout(LONGEST_REQUEST) })).json();
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
