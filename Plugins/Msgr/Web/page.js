// What the parts of the page share. Whatever others write is set as text, never as markup.
import { MsgrError } from "./{{msgr.js}}";

export const $ = (id) => document.getElementById(id);
export const element = (name, { text, ...properties } = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  made.append(...children);
  return made;
};
// A name or a message keeps its direction, and no sign in it turns around what stands beside it.
export const bdi = (text) => element("bdi", { text, dir: "auto" });
export const say = (text) => { $("status").textContent = text; };
export const time = (text) => new Date(text).toLocaleTimeString([], { timeStyle: "short" });
/** The day in words: "Friday, November 20", with the year if it is another one. */
export const day = (text) => new Date(text).toLocaleDateString([], {
  weekday: "long", month: "long", day: "numeric",
  year: new Date(text).getFullYear() === new Date().getFullYear() ? undefined : "numeric",
});
/** The time of what is from today, else the date. */
export const when = (text) => day(text) === day(new Date()) ? time(text)
  : new Date(text).toLocaleDateString([], { dateStyle: "short" });

/** Runs what a form asks for, and shows there why it was refused: the form or its button has words for that. */
export function onSubmit(form, act) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = form.querySelector(".error");
    const buttons = form.querySelectorAll("button");
    if (error) error.textContent = "";
    buttons.forEach((button) => { button.disabled = true; });
    try {
      await act(Object.fromEntries(new FormData(form)), event.submitter?.value);
    } catch (failure) {
      if (!(failure instanceof MsgrError)) throw failure;
      const { refused } = { ...form.dataset, ...event.submitter?.dataset };
      if (error) error.textContent = words(failure, refused);
    } finally {
      buttons.forEach((button) => { button.disabled = false; });
    }
  });
}

export const words = ({ status, message, retryAfter }, refused = "The server refuses this.") => ({
  0: "The server can't be reached.",
  403: message === "Forbidden" ? refused : message,
  413: "The message is too long.",
  429: `Too often. Try again in ${retryAfter ?? 60} seconds.`,
})[status] ?? message;
