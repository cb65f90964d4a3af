// The settings, and what is done there.
import { $, bdi, button, copy, day, dayKey, element, face, failureOf, grouped, icon, named, onSubmit, showChoices, sure, t } from "./{{page.js}}";

/** Shows a dialog with a form, whose earlier words are gone. */
function show(id) {
  const form = $(id).querySelector("form");
  form.reset();
  form.querySelector(".error").textContent = "";
  $("settings").close();
  $(id).showModal();
  return form;
}

/** The box for notifications, which are this browser's. */
async function showWakes(account) {
  const { bind, isOffered, unbind } = await import("./{{wakes.js}}"), box = $("wakes"), help = $("wakes-help");
  box.checked = Boolean(account.self.wakes);
  box.disabled = !account.document || !isOffered(account.document);
  help.textContent = box.disabled ? t("The service, or this browser, can’t send any.")
    : t("They say that there is something new from people whom you allow, and nothing else.");
  box.onchange = async () => {
    try {
      if (box.checked && await Notification.requestPermission() !== "granted") throw new Error(t("The browser doesn’t allow it."));
      await (box.checked ? bind(account, account.document) : unbind(account));
      await account.keepSelf({ wakes: box.checked || undefined });
    } catch (error) {
      box.checked = !box.checked;
      help.textContent = error.message;
    }
  };
}

export function showSettings(account, base) {
  showWakes(account);
  $("myself").replaceChildren(face(account.self.name, account.me), bdi(account.self.name));
  $("my-key").textContent = grouped(account.me);
  $("my-key-copy").onclick = () => copy(account.me, $("my-key-copy"));
  showChoices();
  let drawn;
  // Another device may change both lists while they are shown.
  account.redrawSettings = () => {
    const state = JSON.stringify([blockedBy(account), account.people.devices]);
    if (state === drawn) return;
    drawn = state;
    drawBlocked(account);
    drawDevices(account);
  };
  account.redrawSettings();
  showVersion();
  $("link-open").onclick = async () => {
    const { showLink } = await import("./{{linking.js}}");
    $("settings").close();
    showLink(account, base);
  };
  $("export-open").onclick = () => showExport(account);
  $("lock-open").onclick = () => onSubmit(show("lock"), async ({ passphrase }) => {
    const { isLong } = await import("./{{passphrase.js}}");
    if (passphrase.value && !isLong(passphrase.value, 8)) throw new Error(t("A passphrase has 8 characters or more."));
    await account.store.lock(passphrase.value).catch((error) => { throw new Error(failureOf(account), { cause: error }); });
    $("lock").close();
  });
  $("leave-open").onclick = () => onSubmit(show("leaving"), async ({ name }) => {
    if (name.value.trim().normalize("NFC") !== account.self.name) throw new Error(t("This is not your name. Type it as it stands at the top of the settings."));
    if (!await sure(t("Your account is deleted for good. Nobody can use its key again."), t("Delete"))) return;
    await account.leave().catch(() => { throw new Error(t("The service can’t be reached. Nothing is deleted.")); });
    location.replace(location.pathname);
  });
  $("settings").showModal();
}

/** When a device was used last, which it says itself once a day; of one that says nothing, since when it is there. */
function lastSeen({ seen, time }) {
  // Noon of that day of UTC is on the same day nearly everywhere.
  const moment = Number.isSafeInteger(seen) ? seen / 1000 + 43_200 : undefined;
  if (moment === undefined) return Number.isSafeInteger(time) ? t("since {day}", { day: day(time / 1000) }) : "";
  return dayKey(moment) === dayKey(Date.now() / 1000) ? t("last seen today") : t("last seen {day}", { day: day(moment) });
}

export async function showExport(account) {
  const { isLong, proposal, save, seal } = await import("./{{export.js}}");
  const form = show("export");
  form.elements.passphrase.value = proposal();
  onSubmit(form, async ({ passphrase }) => {
    if (!isLong(passphrase.value)) throw new Error(t("A passphrase has 12 characters or more."));
    save("apptimist.export", await seal(passphrase.value, account.exported()));
    $("export").close();
  });
}

function drawDevices(account) {
  const devices = Object.entries(account.people.devices ?? {});
  $("devices").replaceChildren(...devices.map(([key, device]) => {
    const isThis = key === account.device.state?.device;
    return element("li", { data: { key } }, icon("device"), element("span", { className: "about" },
      element("bdi", { text: String(device.name).slice(0, 64) }),
      element("small", { className: "quiet", text: isThis ? t("This device") : lastSeen(device) })));
  }));
  if (!devices.length) $("devices").append(element("li", { text: t("This device") }));
}

const blockedBy = (account) => Object.keys(account.people.people ?? {}).filter((key) => account.isBlocked(key));

function drawBlocked(account) {
  const keys = blockedBy(account), error = $("settings").querySelector(".error");
  error.textContent = "";
  $("blocked").replaceChildren(...keys.map((key) => {
    const unblock = button(t("Unblock"), async () => {
      try {
        await account.unblock(key);
        drawBlocked(account);
      } catch { error.textContent = failureOf(account); }
    });
    unblock.ariaLabel = t("Unblock {name}", { name: account.name(key) });
    return element("li", { data: { key } }, element("span", {}, ...named(account, key)), unblock);
  }));
  if (!keys.length) $("blocked").append(element("li", { text: t("Nobody") }));
}

function showVersion() {
  const worker = navigator.serviceWorker?.controller;
  if (!worker) return void ($("version").textContent = t("not kept by this browser"));
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = ({ data }) => { $("version").textContent = data; };
  worker.postMessage("version", [port2]);
}
