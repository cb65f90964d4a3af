// What the parts of the page share.
import { MsgrError } from "./{{msgr.js}}";

export * from "./{{view.js}}";

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
