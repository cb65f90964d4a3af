// The dialogs: finding people, a person's details, the settings.
import { $, bdi, button, element, face, onSubmit, sure } from "./{{page.js}}";

/** A name with what tells it from others of the same name. */
export function named(account, key) {
  const name = account.name(key) || "Somebody";
  return account.isAmbiguous(key) ? [bdi(name), " ", element("span", { text: key.slice(0, 8), className: "digits" })] : [bdi(name)];
}

export function prepareDialogs(account, open) {
  // Finding ----------------------------------------------------------------------------------------------------------------

  let asked = 0;
  $("new-chat").onclick = () => {
    $("find").value = $("found-none").textContent = "";
    $("found").replaceChildren();
    $("finding").showModal();
  };
  $("find").oninput = async () => {
    const number = ++asked, term = $("find").value.trim();
    // Who types goes on typing.
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (number !== asked) return;
    if (!term) { $("found").replaceChildren(); $("found-none").textContent = ""; return; }
    try {
      if (!account.isOpen) throw new Error();
      const people = await account.find(term);
      if (number !== asked) return;
      $("found").replaceChildren(...people.map((user) => {
        const key = globalThis.apptimist.hex(user.key);
        const choose = element("button", { type: "button" }, face(user.name, key), bdi(user.name),
          element("span", { text: user.uid.slice(0, 80), className: "when" }),
          element("span", { text: key.slice(0, 8), className: "last digits" }));
        choose.addEventListener("click", async () => {
          await account.meet(user);
          $("finding").close();
          open(key);
        });
        return element("li", { data: { key } }, choose);
      }));
      $("found-none").textContent = people.length ? "" : "Nobody has this name or key.";
    } catch {
      $("found-none").textContent = "The service can’t be reached.";
    }
  };

  // A person ---------------------------------------------------------------------------------------------------------------

  let shown;
  const error = $("details").querySelector(".error");
  const attempt = (act) => async () => {
    error.textContent = "";
    try { await act(); } catch { error.textContent = "That could not be done. Try again later."; }
  };

  $("details-open").onclick = async () => {
    shown = document.documentElement.dataset.chat;
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
    $("safety-number").textContent = known ? account.safetyNumber(shown) : "";
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

  // Settings ---------------------------------------------------------------------------------------------------------------

  $("settings-open").onclick = async () => {
    $("me").textContent = account.self.name;
    $("my-key").textContent = account.me;
    showBlocked();
    $("settings").showModal();
    const worker = navigator.serviceWorker?.controller;
    if (!worker) return void ($("version").textContent = "not kept by this browser");
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => { $("version").textContent = data; };
    worker.postMessage("version", [port2]);
  };

  $("export-open").onclick = async () => {
    const { proposal } = await import("./{{export.js}}");
    $("export").querySelector("input").value = proposal();
    $("settings").close();
    $("export").showModal();
  };
  onSubmit($("export").querySelector("form"), async ({ passphrase }) => {
    const { isLong, save, seal } = await import("./{{export.js}}");
    if (!isLong(passphrase.value)) throw new Error("A passphrase has 12 characters or more.");
    save("apptimist.export", await seal(passphrase.value, account.exported(account.device.home)));
    $("export").close();
  });

  function showBlocked() {
    const keys = Object.keys(account.people.people ?? {}).filter((key) => account.isBlocked(key));
    $("blocked").replaceChildren(...keys.map((key) => {
      const unblock = button("Unblock", async () => { await account.unblock(key); showBlocked(); });
      unblock.ariaLabel = `Unblock ${account.name(key)}`;
      return element("li", { data: { key } }, element("span", {}, ...named(account, key)), unblock);
    }));
    if (!keys.length) $("blocked").append(element("li", { text: "Nobody" }));
  }
}
