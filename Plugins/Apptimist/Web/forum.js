// The dialogs of forums: making one, and its details.
import { $, button, copy, element, finder, grouped, named, nodes, onSubmit, sure, t } from "./{{page.js}}";

const { Refused } = globalThis.apptimist;
const making = {
  4: "The service doesn’t take this name.", 5: "You have too many forums.",
  7: "The service doesn’t take this token: see the example, and mind the chain.",
};
const joining = {
  1: "Only people who hold enough of the forum’s token, or were invited, may join.", 2: "The forum is not there any more.",
  5: "The forum is full, or too much was asked. Try again later.",
  8: "The token’s chain can’t be reached, or the forum is being changed. Try again later.",
  11: "Only people who were invited may join.",
};
const wordsOf = (error, words) =>
  t(error instanceof Refused && words[error.code] || "That could not be done. Try again later.");

export function showNewForum(account, base, open) {
  const dialog = $("forum-making"), form = dialog.querySelector("form");
  form.reset();
  form.querySelector(".error").textContent = "";
  onSubmit(form, async ({ name, moderated, gate }) => {
    let key;
    try {
      key = await account.forums.make(name.value.trim().normalize("NFC"), moderated.checked, gate.value.trim());
    } catch (error) {
      throw new Error(wordsOf(error, making));
    }
    // Who has closed it meanwhile does something else now.
    if (!dialog.open) return;
    dialog.close();
    open(key);
  });
  dialog.showModal();
}

export async function showForum(account, base, key, open) {
  const dialog = $("forum"), { forums } = account, error = dialog.querySelector(":scope > .error");
  error.textContent = "";
  const attempt = (act, words = {}) => async () => {
    error.textContent = "";
    try { await act(); } catch (failure) { error.textContent = wordsOf(failure, words); }
  };
  const gone = (question, name, act) => attempt(async () => {
    if (!await sure(question, name)) return;
    await act();
    dialog.close();
    open("");
  });

  async function draw() {
    const about = await forums.details(key);
    const isMine = about.author === account.me, isJoined = forums.isJoined(key);
    for (const one of new Set([...about.readers, ...about.moderators])) await account.look(one).catch(() => {});
    $("forum-title").replaceChildren(...named(account, key));
    $("forum-title").toggleAttribute("data-verified", account.isVerified(key));
    $("forum-key").textContent = grouped(key);
    $("forum-key-copy").onclick = () => copy(key, $("forum-key-copy"));
    dialog.dataset.readableBy = about.isEscrowed ? "members and service" : "members";
    $("forum-about").replaceChildren(
      about.isEscrowed ? t("Members and the service can read what is written here.") : t("Only members can read what is written here."),
      ...about.moderators.length ? [" ", t("It is moderated.")] : [], ...isMine ? [" ", t("It is yours.")] : []);
    $("forum-gate").hidden = !about.gate;
    $("forum-gate").replaceChildren(...nodes("Whoever holds this may join: {gate}", { gate: [element("code", { text: about.gate ?? "" })] }));
    $("join").hidden = isJoined && Boolean(about.author);
    $("leave").hidden = !isJoined || isMine;
    $("delete-forum").hidden = !isMine;
    $("members").hidden = !about.author;
    $("inviting").hidden = !isMine || !forums.entry(key).secret;
    const list = (place, keys, more) => {
      place.replaceChildren(...keys.map((one) => {
        const name = account.name(one) || one.slice(0, 8);
        return element("li", { data: { key: one } }, element("span", {}, ...named(account, one)), ...isMine ? more(one, name) : []);
      }));
      if (!keys.length) place.append(element("li", { text: t("Nobody") }));
    };
    const change = (file, edit) => attempt(async () => { await forums.edit(key, file, edit); await draw(); });
    const act = (text, label, run) => {
      const made = button(text, run);
      made.ariaLabel = label;
      return made;
    };
    const without = (one) => (keys) => keys.filter((other) => other !== one);
    list($("moderators"), about.moderators, (one, name) => [act(t("Remove"), t("Remove {name}", { name }), change("moderators", without(one)))]);
    list($("readers"), about.readers, (one, name) => [
      ...about.moderators.includes(one) ? []
        : [act(t("Make moderator"), t("Make {name} a moderator", { name }), change("moderators", (keys) => [...keys, one]))],
      ...one === account.me ? [] : [act(t("Remove"), t("Remove {name}", { name }), attempt(async () => {
        await forums.edit(key, "moderators", without(one));
        await forums.edit(key, "subscribers", without(one));
        await draw();
      }))],
    ]);
  }

  const find = finder(account, base, $("inviting"), async (user, person) => {
    await attempt(async () => {
      await account.meet(user);
      await forums.invite(key, person);
      find.clear();
      await draw();
    })();
  }, false);
  find.clear();
  $("forum-link").onclick = () => copy(`${base}/app/#chat=${key}`, $("forum-link"));
  $("join").onclick = attempt(async () => { await forums.join(key); await draw(); }, joining);
  $("leave").onclick = gone(t("You get no more posts. What is here is deleted on your devices."), t("Leave"), () => forums.leave(key));
  $("delete-forum").onclick = gone(
    t("The forum is deleted for everyone. What others have stays with them."), t("Delete forum"), () => forums.delete(key));
  await attempt(draw)();
  dialog.showModal();
  $("forum-title").focus();
}
