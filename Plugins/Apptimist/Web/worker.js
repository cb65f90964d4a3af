// Keeps the version of the app that it has until all its pages are closed, and gives it without a network, too.

const prefix = `apptimist ${self.registration.scope} `;
const version = `${prefix}{{version}}`;
const files = {{files}};

self.addEventListener("install", (event) => {
  event.waitUntil(caches.open(version).then((cache) => cache.addAll(files)));
});

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    // Others on this host have caches too.
    for (const name of await caches.keys()) {
      if (name.startsWith(prefix) && name !== version) await caches.delete(name);
    }
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  const isKept = files.some((file) => new URL(file, location).href === url.origin + url.pathname);
  if (isKept) {
    event.respondWith(caches.open(version).then((cache) => cache.match(url.pathname)).then((found) => found ?? fetch(request)));
  }
});

// A worker reads no settings of the page: the browser's language counts.
const words = { en: "You have new messages.", de: "Du hast neue Nachrichten.", es: "Tienes mensajes nuevos." };
const language = navigator.languages.map((tag) => tag.slice(0, 2).toLowerCase()).find((tag) => tag in words) ?? "en";

// A wake says nothing: what there is to read only the page can open.
self.addEventListener("push", (event) => {
  event.waitUntil(self.registration.showNotification("Apptimist", { body: words[language], lang: language, tag: "wake", icon: "{{icon-192.png}}", badge: "{{icon-192.png}}" }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil((async () => {
    const [page] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    return page ? page.focus() : self.clients.openWindow("./");
  })());
});

self.addEventListener("message", ({ ports: [port] }) => port?.postMessage("{{version}}"));
