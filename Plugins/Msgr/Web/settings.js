// The settings: notifications, sessions, whom one blocks, the password, the account.
import { $, bdi, copy, day, element, onSubmit, say, showChoices, sure, t, withNewPassword, words } from "./{{page.js}}";

// The page's policy lets no text become a script's address but by this.
const workerURL = globalThis.trustedTypes?.createPolicy("worker", { createScriptURL: () => "worker.js" })
  .createScriptURL("") ?? "worker.js";
export const registration = navigator.serviceWorker?.register(workerURL).then(() => navigator.serviceWorker.ready);

const kinds = {
  apns: "iPhone", fcm: "Android phone", webpush: "Browser with notifications", stream: "Browser or program",
  publish: "Publisher", gotify: "Gotify client",
};

/** Prepares the dialog for `app`, which has the account (`msgr`, `me`, `lists`), the `archive`, and what changes the page. */
export function prepareSettings(app) {
  $("settings-open").addEventListener("click", async () => {
    $("me").textContent = app.me;
    $("token-made").hidden = true;
    showChoices();
    $("settings").showModal();
    $("blocked").replaceChildren(...app.lists.Blocked.map((name) => element("li", {}, bdi(name),
      app.act(t("Unblock"), async () => { await app.msgr.post("unblock", { User: name }); $("settings").close(); }, "second"))));
    if (!app.lists.Blocked.length) $("blocked").append(element("li", { text: t("Nobody") }));
    $("notify").disabled = !registration || !("PushManager" in window);
    $("notify-help").hidden = !$("notify").disabled;
    await showSessions().catch((error) => say(words(error)));
  });
  $("settings-close").addEventListener("click", () => $("settings").close());

  async function showSessions(end) {
    const sessions = await app.msgr.post("sessions", end ? { End: end } : {});
    $("sessions").replaceChildren(...sessions.map(({ Session, Device, Kind, Created, Current }) => element(
      "li", {}, element("span", {}, bdi(Device || t(kinds[Kind] ?? Kind)), element("small", { text: t("since {day}", { day: day(Created) }) })),
      Current ? t("This device") : app.act(t("End"), () => showSessions(Session), "second"))));
    $("notify").checked = sessions.some(({ Current, Kind }) => Current && Kind === "webpush");
  }

  $("notify").addEventListener("change", async ({ target }) => {
    try {
      const worker = await registration;
      await app.archive.set("notify", target.checked);
      if (!target.checked) return await app.msgr.unsubscribe(worker);
      if (await Notification.requestPermission() !== "granted") throw new Error(t("The browser doesn’t allow it."));
      await app.msgr.subscribe(worker);
    } catch (error) {
      target.checked = !target.checked;
      await app.archive.set("notify", target.checked);
      say(t("Notifications: {reason}", { reason: error.message }));
    }
  });

  // A token is shown once, with lines that use it.
  onSubmit($("token"), async ({ Name, Form, Read }) => {
    const { Token } = await app.msgr.post("tokens", { Name, Form, Read: Boolean(Read) });
    const { origin } = location;
    $("token").reset();
    $("token-text").value = Token;
    $("token-lines").textContent = Form === "gotify"
      ? `curl -H "X-Gotify-Key: ${Token}" -d message=Hello ${origin}/message`
      : `curl -H "Authorization: Bearer ${Token}" -d Hello ${origin}/msgr/publish`;
    $("token-made").hidden = false;
    $("token-text").select();
    await showSessions();
  });
  $("token-copy").addEventListener("click", () => copy($("token-text").value, $("token-copy")));

  onSubmit($("password"), async (fields) => {
    await withNewPassword(fields.NewPassword, () => app.msgr.post("password", fields));
    $("password").reset();
    say(t("The password is changed, and every other session has ended."));
  });
  onSubmit($("delete"), async (fields) => {
    if (!await sure(t("The account is deleted with all its messages, for good."), t("Delete"))) return;
    await app.msgr.post("delete", fields);
    $("delete").reset();
    await app.erase(t("The account is deleted."));
  });
  $("sign-out").addEventListener("click", () => app.signOut().catch((error) => say(words(error))));
  $("export").addEventListener("click", async () => {
    try {
      const text = JSON.stringify(await app.msgr.post("export"), null, 1);
      const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
      element("a", { href: url, download: "msgr.json" }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    } catch (error) {
      say(words(error));
    }
  });
}
