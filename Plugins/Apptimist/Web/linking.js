// What the two devices show that are being linked.
import { answer, codeOf, digitsOf, put, readAnswer, readRequest, request, wait } from "./{{link.js}}";
import { $, copy, onSubmit, t } from "./{{page.js}}";
import { readAccount } from "./{{export.js}}";

const { nacl } = globalThis;

/** Ends the link that the dialog shows. */
let stop = () => {};

/** The old device: shows a code, and gives the account to who shows the digits that belong to it. */
export async function showLink(account, base) {
  stop();
  const dialog = $("link"), form = dialog.querySelector("form"), said = dialog.querySelector("[role=status]");
  const error = dialog.querySelector(".error"), r = nacl.randomBytes(32), ending = new AbortController();
  const url = `${base}/app/#link=${codeOf(r)}`;
  form.reset();
  form.elements.link.value = url;
  said.textContent = t("Waiting for the new device.");
  $("link-copy").onclick = () => copy(url, $("link-copy"));
  error.textContent = "";
  stop = () => { ending.abort(); r.fill(0); form.reset(); };
  // The event comes a moment after the dialog was closed, when it may be open again for the next link.
  dialog.onclose = () => { if (!dialog.open) stop(); };
  const end = (words) => { error.textContent = words; said.textContent = ""; ending.abort(); };
  let asked;
  onSubmit(form, async ({ digits }) => {
    if (ending.signal.aborted) throw new Error(t("This link is over. Close, and begin again."));
    if (!asked) throw new Error(t("The new device has not opened the link yet."));
    if (digits.value.trim() !== digitsOf(r, asked.key)) return end(t("The digits are wrong. This link is over: close, and begin again."));
    await put(base, r, 2, answer(r, asked.key, JSON.stringify(account.credentials())));
    dialog.close();
  });
  dialog.showModal();
  // Whoever can't be shown the picture has the link.
  import("./{{qr.js}}").then(({ draw }) => draw(dialog.querySelector("canvas"), url)).catch(() => {});
  const part = await wait(base, r, 1, ending.signal);
  if (ending.signal.aborted) return;
  asked = part && readRequest(r, part);
  if (!asked) return end(t("Nobody has opened the link, or somebody else has answered. Close, and begin again."));
  said.textContent = t("“{name}” wants to be linked. Type the six digits that it shows.", { name: asked.name });
  form.elements.digits.focus();
}

/** The new device: shows the digits, and gives the account that it gets; throws words for people. */
export async function link(base, r, name) {
  const pair = nacl.box.keyPair();
  await put(base, r, 1, request(r, pair, name));
  const digits = document.querySelector("[data-digits]");
  digits.textContent = digitsOf(r, pair.publicKey);
  const part = await wait(base, r, 2, new AbortController().signal);
  const account = part && readAccount(readAnswer(r, pair, part));
  if (!account) throw new Error(t("The other device has not answered, or the answer isn’t for this one. Begin again there."));
  return account;
}

/** Asks whether this browser becomes a device of an account, before anything of it is stored. */
export function confirmed({ name }) {
  $("linking-digits").hidden = true;
  $("linking-words").textContent = t("This browser becomes a device of {name}", { name });
  $("linking-confirm").hidden = false;
  $("linking-yes").focus();
  return new Promise((resolve) => { $("linking-yes").onclick = resolve; });
}
