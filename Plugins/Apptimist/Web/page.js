// What the views are made with.

export const $ = (id) => document.getElementById(id);
export const element = (name, { text, data, ...properties } = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  Object.assign(made.dataset, data);
  made.append(...children);
  return made;
};
// A name keeps its direction, and no sign in it turns around what stands beside it.
export const bdi = (text) => element("bdi", { text: [...text].slice(0, 64).join(""), dir: "auto" });
export const say = (text) => { $("status").textContent = text; };
export const alarm = (text) => { $("alarm").textContent = text; };
const date = (seconds) => new Date(Math.min(Number(seconds) * 1000, 8.64e15));
export const time = (seconds) => date(seconds).toLocaleTimeString([], { timeStyle: "short" });
/** The day in words: "Friday, November 20", with the year if it is another one. */
export const day = (seconds) => date(seconds).toLocaleDateString([], {
  weekday: "long", month: "long", day: "numeric",
  year: date(seconds).getFullYear() === new Date().getFullYear() ? undefined : "numeric",
});
/** The time of what is from today, else the date. */
export const when = (seconds) => day(seconds) === day(Date.now() / 1000) ? time(seconds)
  : date(seconds).toLocaleDateString([], { dateStyle: "short" });

/** A colored circle with the first letter of a name. */
export function face(name, key) {
  const letter = [...name.trim()][0] ?? "?";
  const made = element("span", { text: letter.toLocaleUpperCase(), className: "face", ariaHidden: "true" });
  made.style.setProperty("--hue", parseInt(key.slice(0, 4), 16) % 360);
  return made;
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
