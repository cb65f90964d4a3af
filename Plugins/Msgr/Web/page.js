// What the parts of the page share.
import { MsgrError } from "./{{msgr.js}}";
import { $, t } from "./{{view.js}}";

export * from "./{{view.js}}";

/** What was entered in a form. Keyboards of phones add a space behind a word: only passwords keep those at their ends. */
function entered(form) {
  const trimmed = ([name, value]) => [name, /password/i.test(name) ? value : value.trim()];
  return Object.fromEntries([...new FormData(form)].map(trimmed));
}

/** Runs what a form asks for, and shows there why it was refused: the form or its button has words for that. */
export function onSubmit(form, act) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const error = form.querySelector(".error");
    const buttons = form.querySelectorAll("button");
    if (error) error.textContent = "";
    buttons.forEach((button) => { button.disabled = true; });
    const busy = event.submitter ?? buttons[0];
    if (busy) busy.ariaBusy = "true";
    try {
      await act(entered(form), event.submitter?.value);
    } catch (failure) {
      const { refused } = { ...form.dataset, ...event.submitter?.dataset };
      if (!(failure instanceof MsgrError)) console.error(failure);
      // Whatever goes wrong is said where it was asked for.
      if (error) error.textContent = words(failure, refused);
    } finally {
      buttons.forEach((button) => { button.disabled = false; });
      if (busy) busy.ariaBusy = null;
    }
  });
}

// The server counts bytes: whatever has so many characters is long enough, and some of fewer characters is.
const count = Number($("sign").dataset.minimumPassword);

/** Shows what signing up needs, if it is possible, and how long a new password has to be. */
export function placeHints() {
  const { signup } = $("sign").dataset, isClosed = signup === "closed";
  $("invitation").open = signup === "invite";
  $("invitation").hidden = $("sign").querySelector("[value=register]").hidden = isClosed;
  if (count < 2) return;
  if (!isClosed) $("sign-hint").textContent = t("To sign up, choose a password of at least {count} characters.", { count });
  $("new-hint").textContent = t("At least {count} characters.", { count });
}

/** Asks for something with a new password, and says in words why one is refused that is too short. */
export async function withNewPassword(password, ask) {
  try {
    return await ask();
  } catch (error) {
    const isShort = new TextEncoder().encode(password).length < count;
    if (!isShort || !["Password", "NewPassword"].includes(error.field)) throw error;
    throw new MsgrError(error.status, t("The password needs at least {count} characters.", { count }), error.field);
  }
}

/** The fields that hold names of people, devices and programs. */
const names = ["Username", "AddUser", "User", "UserTo", "DeviceName", "Name"];

/** What became of a request; `refused` is what a form says of a refusal in the reader's language. */
const wordsOfRefusal = ({ status, message, field, retryAfter, code }, refused) => ({
  0: t("The server can’t be reached."),
  400: names.includes(field) ? t("This name can’t be used. Try a shorter one, without slashes and hidden characters.") : message,
  403: refusal(message, code, refused),
  413: t("The message is too long."),
  429: tooOften(retryAfter ?? 60),
})[status] ?? message;

const tooOften = (seconds) => seconds === 1 ? t("Too often. Try again in a second.") : t("Too often. Try again in {seconds} seconds.", { seconds });

/** A refusal in the reader's language, as far as the form has words for it. */
function refusal(message, code, own) {
  if (message === "Forbidden") return own ? t(own) : t("The server refuses this.");
  return own && code === "denied" ? t(own) : message;
}

/** Says what went wrong: the server refuses something, or the browser can't store it. */
export function words(error, refused) {
  if (error instanceof MsgrError) return wordsOfRefusal(error, refused);
  // The browser's own words say nothing to people.
  if (error instanceof DOMException) return t("This browser can’t store it.");
  return t("That did not work: {reason}", { reason: error.message });
}
