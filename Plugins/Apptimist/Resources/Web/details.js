// The dialogs: finding people, a person's details, the settings.
import { $, element, finder, named, sure } from "./{{page.js}}";

export function prepareDialogs(account, base, open) {
  $("settings-open").onclick = async () => (await import("./{{settings.js}}")).showSettings(account, base);

  // Finding ----------------------------------------------------------------------------------------------------------------

  const find = finder(account, $("finding"), async (user, key) => {
    await account.meet(user);
    $("finding").close();
    open(key);
  });
  $("new-chat").onclick = () => {
    find.clear();
    $("finding").showModal();
  };
  const forums = () => import("./{{forum.js}}");
  $("new-forum").onclick = async () => (await forums()).showNewForum(account, open);

  // A person ---------------------------------------------------------------------------------------------------------------

  let shown;
  const error = $("details").querySelector(".error");
  const attempt = (act) => async () => {
    error.textContent = "";
    try { await act(); } catch { error.textContent = "That could not be done. Try again later."; }
  };

  $("details-open").onclick = async () => {
    shown = document.documentElement.dataset.chat;
    if (account.isForum(shown)) return (await forums()).showForum(account, shown, open);
    if (account.isOpen && !account.known.has(shown)) await account.look(shown).catch(() => {});
    error.textContent = "";
    showPerson();
    $("details").showModal();
    showVouchers();
  };

  function showPerson() {
    const isVerified = account.isVerified(shown), known = account.known.get(shown);
    $("details-title").replaceChildren(...named(account, shown));
    $("details-title").toggleAttribute("data-verified", isVerified);
    $("details-key").textContent = shown;
    const number = known ? account.safetyNumber(shown) : "";
    $("safety-number").textContent = number;
    $("safety-code").hidden = !known;
    const url = `${base}/app/#verify=${account.me}.${number.replaceAll(" ", "")}`;
    if (known) import("./{{qr.js}}").then(({ draw }) => draw($("safety-code"), url));
    $("verify").disabled = !known || Boolean(known.changed);
    $("verify").textContent = isVerified ? "Not verified" : "Mark as verified";
    $("block").textContent = account.isBlocked(shown) ? "Unblock" : "Block";
  }

  $("verify").onclick = attempt(async () => {
    await account.verify(shown, !account.isVerified(shown));
    showPerson();
  });

  async function showVouchers() {
    const key = shown;
    $("vouchers").replaceChildren();
    $("vouch").disabled = true;
    $("vouch").textContent = "Vouch";
    if (!account.isOpen) return;
    const all = await account.vouchers(key).catch(() => []);
    for (const one of all) await account.look(one).catch(() => {});
    if (key !== shown) return;
    $("vouchers").replaceChildren(...all.map((one) => element("li", { data: { key: one } }, element("span", {}, ...named(account, one)))));
    const isMine = all.includes(account.me);
    $("vouch").disabled = false;
    $("vouch").textContent = isMine ? "Take the vouch back" : "Vouch";
    $("vouch").onclick = attempt(async () => {
      if (!isMine && !await sure("Everybody can see that you vouch for this key.", "Vouch")) return;
      await account.vouch(key, !isMine);
      await showVouchers();
    });
  }

  $("block").onclick = attempt(async () => {
    if (account.isBlocked(shown)) await account.unblock(shown);
    else if (await sure("All messages from here are deleted, and new ones are not shown.", "Block")) {
      await account.block(shown);
      $("details").close();
      open("");
    }
    showPerson();
  });
  $("delete-chat").onclick = attempt(async () => {
    const question = "All messages of this chat are deleted, on all your devices. What the other has stays there.";
    if (!await sure(question, "Delete chat")) return;
    $("details").close();
    const key = shown;
    open("");
    await account.remove(account.chats.get(key) ?? []);
  });
}
