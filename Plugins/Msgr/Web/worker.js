// The page without a network, and notifications while no page is open.

const version = "msgr-{{version}}";
const files = {{files}};

self.addEventListener("install", (event) => {
  event.waitUntil(
    caches.open(version).then((cache) => cache.addAll(files)).then(() => self.skipWaiting()));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    // Others on this host have caches too.
    for (const name of await caches.keys()) {
      if (name.startsWith("msgr-") && name !== version) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate") {
    // A newer page if there is one.
    event.respondWith(fetch(request).catch(() => caches.match("./")));
  } else if (files.some((file) => new URL(file, location).href === url.href)) {
    event.respondWith(caches.match(request).then((found) => found ?? fetch(request)));
  }
});

self.addEventListener("push", (event) => {
  let push = {};
  try { push = event.data.json(); } catch { /* Something has to be shown. */ }
  navigator.setAppBadge?.(push.Badge).catch(() => {});
  // A title is its author's word: it stands behind the author's name.
  const emoji = push.Emoji ? `${push.Emoji} ` : "";
  const title = [push.UserFrom ?? "Msgr", push.Title && emoji + push.Title].filter(Boolean).join(": ");
  const text = push.Message ?? "";
  event.waitUntil(self.registration.showNotification(title, {
    body: push.Title ? text : emoji + text,
    // A later message of a topic's sequence replaces the earlier one.
    tag: push.Topic && push.Sequence ? `#${push.Topic}/${push.Sequence}` : push.Id, icon: "{{icon-192.png}}", badge: "{{icon-192.png}}", dir: "auto",
    timestamp: Date.parse(push.Time) || Date.now(),
    data: { from: push.UserFrom, link: push.Link },
  }));
});

/** Whether a link has user info, as if it led elsewhere. */
function isDeceptive(link) {
  if (!URL.canParse(link)) return true;
  const { username, password } = new URL(link);
  return Boolean(username || password);
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { from, link } = event.notification.data ?? {};
  event.waitUntil((async () => {
    if (link && !isDeceptive(link)) return self.clients.openWindow(link);
    const [page] = await self.clients.matchAll({ type: "window" });
    if (!page) return self.clients.openWindow(from ? `./#${encodeURIComponent(from)}` : "./");
    page.postMessage({ open: from });
    return page.focus();
  })());
});
