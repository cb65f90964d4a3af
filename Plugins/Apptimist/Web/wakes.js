// Notifications: the service wakes this browser by a push that says nothing but that there is something.

const { bytes, hex, webAddress } = globalThis.apptimist;
/** The most keys that the service takes. */
const KEYS_MAX = 256;
let bound;

/** Whether the service, by its document, and this browser can do it. */
export const isOffered = ({ push = [], pushKey }) =>
  push.includes("web") && typeof pushKey === "string" && "PushManager" in globalThis && "serviceWorker" in navigator;

/** Has the service wake this browser for people who are allowed, and for forums; strangers wake nobody. */
export async function bind(account, { pushKey }) {
  const { pushManager } = await navigator.serviceWorker.ready, applicationServerKey = bytes(pushKey);
  const { people = {}, forums = {} } = account.people;
  const keys = [...Object.keys(people), ...Object.keys(forums)].filter((key) => /^[0-9a-f]{64}$/.test(key));
  const chosen = keys.filter((key) => account.isAllowed(key)), isChosen = chosen.length <= KEYS_MAX;
  const others = isChosen ? chosen : keys.filter((key) => account.isBlocked(key)).slice(0, KEYS_MAX);
  let subscription = await pushManager.getSubscription();
  const { applicationServerKey: old } = subscription?.options ?? {};
  if (old && hex(new Uint8Array(old)) !== pushKey.toLowerCase()) {
    await subscription.unsubscribe();
    subscription = null;
  }
  subscription ??= await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey });
  const state = JSON.stringify([subscription.endpoint, others.sort(), isChosen]);
  if (state === bound) return;
  await account.device.push("web", webAddress(subscription), { keys: others.map(bytes), isChosen });
  bound = state;
}

export async function unbind(account) {
  bound = undefined;
  await account.device.push();
  const { pushManager } = await navigator.serviceWorker.ready;
  await (await pushManager.getSubscription())?.unsubscribe();
}
