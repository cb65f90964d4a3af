// Msgr for pages: one module without dependencies. Whoever keeps a token makes `new Msgr(base, token)`.

/** A refusal by the server, or no response at all (status 0). */
export class MsgrError extends Error {
  constructor(status, message, field, retryAfter) {
    super(message);
    this.status = status;
    this.field = field;
    /** The seconds to wait, if the server says so. */
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later. */
  get isTemporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

/** A name for a device that streams, to be kept. */
export const newDevice = () => `stream:${crypto.randomUUID()}`;

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
    msgr.token = (await msgr.post(path, fields)).Token;
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
    const body = await response.json().catch(() => ({}));
    if (response.ok) return body;
    const wait = Number(response.headers.get("Retry-After")) || undefined;
    throw new MsgrError(response.status, body.error ?? response.statusText, body.field, wait);
  }

  /** What ends the session (`TokenDigest` at `logout`), and can do nothing else. */
  async digest() {
    const bytes = Uint8Array.from(this.token.match(/../g), (digits) => parseInt(digits, 16));
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Sends a message; with the same `clientId` it may be tried again for a day, and is sent once. */
  send(to, text, clientId = crypto.randomUUID()) {
    return this.post("message", { UserTo: to, Message: text, ClientId: clientId });
  }

  /**
   * Brings messages as they come, and opens itself again until `close` is called.
   *
   * `since()` gives the last Id that is kept, `onMessage` takes a message or a `Read` notice, `onState` takes "open",
   * "waiting", or "ended" if the token has.
   */
  stream({ since, onMessage, onState = () => {} }) {
    let socket, timer, tries = 0, isClosed = false;
    const open = () => {
      const url = new URL("stream", this.base);
      url.protocol = url.protocol.replace("http", "ws");
      url.searchParams.set("since", since() ?? "0".repeat(16));
      socket = new WebSocket(url, ["msgr.1", `bearer.${this.token}`]);
      socket.onopen = () => { tries = 0; onState("open"); };
      socket.onmessage = (event) => onMessage(JSON.parse(event.data));
      socket.onclose = (event) => retry(event.code === 1008);
    };
    const retry = async (mayBeEnded) => {
      if (isClosed) return;
      // A refused handshake has no status that a page could see.
      if (mayBeEnded || tries === 1) {
        const refusal = await this.post("contacts").then(() => null, (error) => error);
        if (refusal?.status === 403) return onState("ended");
      }
      if (isClosed) return;
      onState("waiting");
      timer = setTimeout(open, Math.min(30_000, 500 * 2 ** tries++) * (0.5 + Math.random() / 2));
    };
    open();
    return {
      close() { isClosed = true; clearTimeout(timer); socket.close(); },
      /** Tries at once, as when the network is back. */
      hurry() {
        if (socket.readyState > WebSocket.OPEN) { clearTimeout(timer); tries = 0; open(); }
      },
    };
  }

  /** Has messages pushed to a service worker's registration while no page is open. */
  async subscribe(registration) {
    const { Key } = await (await fetch(this.base + "push-key")).json();
    const key = Uint8Array.from(
      atob(Key.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
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
