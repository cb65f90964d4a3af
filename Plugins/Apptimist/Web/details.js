// The dialogs: finding people, a person's details, the settings.
import { $, copy, element, failureOf, finder, grouped, named, sure, t } from "./{{page.js}}";

export function prepareDialogs(account, base, open) {
  $("settings-open").onclick = async () => (await import("./{{settings.js}}")).showSettings(account, base);

  // Finding ----------------------------------------------------------------------------------------------------------------

  const find = finder(account, base, $("finding"), async (user, key) => {
    // Whoever can't be kept is known as long as the page is open.
    await account.meet(user).catch(() => {});
    $("finding").close();
    open(key);
  });
  $("new-chat").onclick = $("find-first").onclick = () => {
    find.clear();
    $("finding").showModal();
  };
  $("share-open").onclick = $("share-settings").onclick = () => showMyLink(account, base);
  const forums = () => import("./{{forum.js}}");
  $("new-forum").onclick = async () => (await forums()).showNewForum(account, base, open);

  // A person ---------------------------------------------------------------------------------------------------------------

  let shown;
  const error = $("details").querySelector(".error");
  const attempt = (act) => async () => {
    error.textContent = "";
    try { await act(); } catch { error.textContent = failureOf(account); }
  };

  $("details-open").onclick = async () => {
    shown = document.documentElement.dataset.chat;
    if (account.isForum(shown)) return (await forums()).showForum(account, base, shown, open);
    if (account.isOpen && !account.known.has(shown)) await account.look(shown).catch(() => {});
    error.textContent = "";
    showPerson();
    $("details").showModal();
    showVouchers();
  };

  function showPerson() {
    const isVerified = account.isVerified(shown), known = account.known.get(shown);
    $("details-title").replaceChildren(...named(account, shown));
    $("details-copy").onclick = () => copy(shown, $("details-copy"));
    $("details-title").toggleAttribute("data-verified", isVerified);
    $("details-key").textContent = grouped(shown);
    const number = known ? account.safetyNumber(shown) : "";
    $("safety-number").textContent = number;
    $("safety-code").hidden = !known;
    const url = `${base}/app/#verify=${account.me}.${number.replaceAll(" ", "")}`;
    if (known) import("./{{qr.js}}").then(({ draw }) => draw($("safety-code"), url));
    $("verify").disabled = !known || Boolean(known.changed);
    $("verify").textContent = isVerified ? t("Not verified") : t("Mark as verified");
    $("block").textContent = account.isBlocked(shown) ? t("Unblock") : t("Block");
  }

  $("verify").onclick = attempt(async () => {
    await account.verify(shown, !account.isVerified(shown));
    showPerson();
  });

  async function showVouchers() {
    const key = shown;
    $("vouchers").replaceChildren();
    $("vouch").disabled = true;
    $("vouch").textContent = t("Vouch");
    if (!account.isOpen) return;
    const all = await account.vouchers(key).catch(() => []);
    for (const one of all) await account.look(one).catch(() => {});
    if (key !== shown) return;
    $("vouchers").replaceChildren(...all.map((one) => element("li", { data: { key: one } }, element("span", {}, ...named(account, one)))));
    const isMine = all.includes(account.me);
    $("vouch").disabled = false;
    $("vouch").textContent = isMine ? t("Take the vouch back") : t("Vouch");
    $("vouch").onclick = attempt(async () => {
      if (!isMine && !await sure(t("Everybody can see that you vouch for this key."), t("Vouch"))) return;
      await account.vouch(key, !isMine);
      await showVouchers();
    });
  }

  $("block").onclick = attempt(async () => {
    if (account.isBlocked(shown)) await account.unblock(shown);
    else if (await sure(t("All messages from here are deleted, and new ones are not shown."), t("Block"))) {
      await account.block(shown);
      $("details").close();
      open("");
    }
    showPerson();
  });
  $("delete-chat").onclick = attempt(async () => {
    const question = t("All messages of this chat are deleted, on all your devices. What the other has stays there.");
    if (!await sure(question, t("Delete chat"))) return;
    $("details").close();
    const key = shown;
    open("");
    await account.deleteChat(key);
  });
}

/** The own link, as text and as a code. */
export async function showMyLink(account, base) {
  const dialog = $("my-link"), url = `${base}/app/#chat=${account.me}`;
  const field = dialog.querySelector("[name=link]");
  field.value = url;
  field.onfocus = () => field.select();
  $("my-link-copy").onclick = () => copy(url, $("my-link-copy"));
  $("my-link-share").hidden = !navigator.share;
  $("my-link-share").onclick = () => navigator.share({ url }).catch(() => {});
  $("settings").close();
  dialog.showModal();
  (await import("./{{qr.js}}")).draw(dialog.querySelector("canvas"), url);
}
