// What the parts of the page share.
import { $, bdi, element, face, t } from "./{{view.js}}";
import { readTerm } from "./{{terms.js}}";

export * from "./{{view.js}}";

/** Says what needs a person's eye; a button may stand beside it. */
export function alarm(text, ...buttons) {
  $("alarm").replaceChildren(...text ? [element("span", { text })] : [], ...buttons);
}

/** Why something that was asked for could not be done. */
export const failureOf = ({ store }) => store.isBroken ? t("This browser can’t store it.") : t("That could not be done. Try again later.");

/** A name with what tells it from others of the same name. */
export function named(account, key) {
  const name = account.name(key) || t("Somebody");
  return account.isAmbiguous(key) ? [bdi(name), " ", element("span", { text: key.slice(0, 8), className: "digits" })] : [bdi(name)];
}

/** What a person who is found is to this account. */
function standing(user, isAllowed) {
  if (isAllowed) return t("You know each other");
  return user.uid.slice(0, 80) || t("New to you");
}

/** Finds people, and forums if `everybody`, while somebody types; calls `choose` with who was chosen. */
export function finder(account, base, place, choose, everybody = true) {
  const [field, list, none] = ["input[type=search]", "ul.people", "[role=status]"].map((one) => place.querySelector(one));
  let asked = 0;
  const clear = (text = "") => { list.replaceChildren(); none.textContent = text; };
  field.oninput = async () => {
    const number = ++asked, term = readTerm(field.value, base, account.chains);
    // Who types goes on typing.
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (number !== asked) return;
    if (!term) return clear();
    if (term.why) return clear(term.why);
    if (!account.isOpen) return clear(t("The service can’t be reached."));
    const all = await account.find(term).catch(() => null), found = all?.filter(({ kind }) => everybody || kind === 1).slice(0, 20);
    if (number !== asked) return;
    if (!found) return clear(t("The service can’t be reached."));
    clear(found.length ? "" : t("Nobody here has this name, address or key."));
    list.append(...found.map((user) => {
      const key = globalThis.apptimist.hex(user.key), isForum = user.kind === 2;
      const more = isForum ? t("Forum") : standing(user, account.isAllowed(key));
      const one = element("button", { type: "button" }, face(user.name, key, isForum ? "forum" : ""),
        element("span", { className: "name" }, bdi(user.name)), element("span", { text: "", className: "when" }),
        element("span", { className: "last" }, `${more} · `, element("span", { text: key.slice(0, 8), className: "digits" })));
      one.addEventListener("click", () => choose(user, key));
      return element("li", { data: { key } }, one);
    }));
  };
  return { clear: () => { asked++; field.value = ""; clear(); } };
}

/** Runs what a form asks for, once at a time, and shows there why it failed. */
export function onSubmit(form, act) {
  const error = form.querySelector(".error"), submit = form.querySelector("button:not([type=button])");
  form.onsubmit = async (event) => {
    event.preventDefault();
    if (form.dataset.busy) return;
    form.dataset.busy = "true";
    error.textContent = "";
    submit.disabled = true;
    submit.ariaBusy = "true";
    try { await act(form.elements); } catch (failure) { error.textContent = failure.message; } finally {
      delete form.dataset.busy;
      submit.disabled = false;
      submit.ariaBusy = null;
    }
  };
}
