// What the parts of the page share.
import { $, bdi, element, face } from "./{{view.js}}";

export * from "./{{view.js}}";
export const alarm = (text) => { $("alarm").textContent = text; };

/** A name with what tells it from others of the same name. */
export function named(account, key) {
  const name = account.name(key) || "Somebody";
  return account.isAmbiguous(key) ? [bdi(name), " ", element("span", { text: key.slice(0, 8), className: "digits" })] : [bdi(name)];
}

/** Finds people, and forums if `everybody`, while somebody types; calls `choose` with who was chosen. */
export function finder(account, place, choose, everybody = true) {
  const [field, list, none] = ["input[type=search]", "ul[aria-label=Found]", "[role=status]"].map((one) => place.querySelector(one));
  let asked = 0;
  const clear = (text = "") => { list.replaceChildren(); none.textContent = text; };
  field.oninput = async () => {
    const number = ++asked, term = field.value.trim();
    // Who types goes on typing.
    await new Promise((resolve) => setTimeout(resolve, 250));
    if (number !== asked) return;
    if (!term) return clear();
    if (!account.isOpen) return clear("The service can’t be reached.");
    const all = await account.find(term).catch(() => null), found = all?.filter(({ kind }) => everybody || kind === 1);
    if (number !== asked) return;
    clear(!found ? "The service can’t be reached." : found.length ? "" : "Nobody has this name or key.");
    list.append(...found?.map((user) => {
      const key = globalThis.apptimist.hex(user.key);
      const one = element("button", { type: "button" }, face(user.name, key), bdi(user.name),
        element("span", { text: user.kind === 2 ? "Forum" : user.uid.slice(0, 80), className: "when" }),
        element("span", { text: key.slice(0, 8), className: "last digits" }));
      one.addEventListener("click", () => choose(user, key));
      return element("li", { data: { key } }, one);
    }) ?? []);
  };
  return { clear: () => { field.value = ""; clear(); } };
}

/** Runs what a form asks for, once at a time, and shows there why it failed. */
export function onSubmit(form, act) {
  const error = form.querySelector(".error"), submit = form.querySelector("button");
  form.onsubmit = async (event) => {
    event.preventDefault();
    error.textContent = "";
    submit.disabled = true;
    try { await act(form.elements); } catch (failure) { error.textContent = failure.message; } finally { submit.disabled = false; }
  };
}

export const button = (text, act, className = "second") => {
  const made = element("button", { text, className, type: "button" });
  made.addEventListener("click", act);
  return made;
};

/** Asks once before what can't be undone. */
export function sure(question, name) {
  $("sure-question").textContent = question;
  $("sure-yes").textContent = name;
  $("sure").showModal();
  return new Promise((resolve) => {
    $("sure-yes").onclick = () => { resolve(true); $("sure").close(); };
    $("sure").onclose = () => resolve(false);
  });
}

/** Opens a menu beside a button: pairs of a name and what it does. */
export function openMenu(opener, items) {
  const menu = $("menu");
  menu.replaceChildren(...items.map(([text, act, className = ""]) => {
    const made = button(text, () => { menu.hidePopover(); act(); }, `plain ${className}`);
    made.role = "menuitem";
    made.tabIndex = -1;
    return made;
  }));
  menu.showPopover();
  const { bottom, left } = opener.getBoundingClientRect();
  menu.style.top = `${Math.max(0, Math.min(bottom, innerHeight - menu.offsetHeight - 4))}px`;
  menu.style.left = `${Math.max(0, Math.min(left, innerWidth - menu.offsetWidth - 4))}px`;
  menu.firstChild.focus();
  menu.onkeydown = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Tab") menu.hidePopover();
    if (!step) return;
    event.preventDefault();
    const all = [...menu.children];
    all[(all.indexOf(document.activeElement) + step + all.length) % all.length].focus();
  };
  menu.ontoggle = ({ newState }) => { if (newState === "closed" && menu.contains(document.activeElement)) opener.focus(); };
}

for (const closer of document.querySelectorAll("[data-close]")) {
  closer.addEventListener("click", () => closer.closest("dialog").close());
}
