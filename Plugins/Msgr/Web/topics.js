// A topic's page: notifications, access, and lines for programs.
import { $, bdi, button, element, onSubmit, sure, t, toList, words } from "./{{page.js}}";

/** A name that nobody guesses. */
export function randomTopic() {
  const signs = "abcdefghijkmnpqrstuvwxyz23456789";
  return [...crypto.getRandomValues(new Uint8Array(20))].map((byte) => signs[byte % 32]).join("");
}

/** Says whose a topic is that isn't one's own. */
function ownership({ Owner }) {
  return Owner ? t("This topic belongs to {name}.", { name: Owner }) : t("Nobody owns this topic: everyone reads and writes it.");
}

/** Shows the dialog of a topic. */
export async function showTopic(app, name) {
  const error = $("topic").querySelector(":scope > .error");
  error.textContent = "";
  const attempt = (act) => async (...given) => {
    error.textContent = "";
    try { await act(...given); } catch (failure) { error.textContent = words(failure, t("You may not do this.")); }
  };
  const found = app.topics.find(({ Topic }) => Topic === name) ?? { Topic: name };
  const isMine = found.Owner === app.me;
  $("topic-title").textContent = `#${name}`;
  $("topic-about").textContent = isMine ? t("This topic is yours.") : ownership(found);
  $("topic-push").checked = Boolean(found.Push);
  $("topic-push").onchange = attempt(async () => { await app.msgr.post("topics/subscribe", { Topic: name, Push: $("topic-push").checked }); await app.refresh(); });
  $("topic-lines").textContent = `curl -d "Hello" -u ${app.me} ${location.origin}/${name}`;
  $("topic-access").hidden = $("topic-remove").hidden = !isMine;
  $("topic-leave").onclick = attempt(async () => {
    await app.msgr.post("topics/unsubscribe", { Topic: name });
    $("topic").close();
    await app.refresh();
  });
  $("topic-remove").onclick = attempt(async () => {
    if (!await sure(t("The topic is removed with all that is in it."), t("Remove the topic"))) return;
    await app.msgr.post("topics/remove", { Topic: name });
    $("topic").close();
    toList();
    await app.refresh();
  });
  const draw = ({ Everyone, Users = {} }) => {
    $("topic-everyone").value = Everyone ?? "deny";
    $("topic-users").replaceChildren(...Object.entries(Users).map(([user, access]) => element("li", {}, bdi(user), element("span", { text: access }),
      button(t("Remove"), attempt(async () => draw(await app.msgr.post("topics/access", { Topic: name, User: user, Access: "deny" })))))));
  };
  $("topic-everyone").onchange = attempt(async () => draw(await app.msgr.post("topics/access", { Topic: name, Access: $("topic-everyone").value })));
  app.grant = async ({ User, Access }) => {
    draw(await app.msgr.post("topics/access", { Topic: name, User, Access }));
    $("topic-grant").reset();
  };
  $("topic").showModal();
  if (isMine) await attempt(async () => draw(await app.msgr.post("topics/access", { Topic: name })))();
}

/** Prepares the dialog and the form that subscribes. */
export function prepareTopics(app) {
  $("topic-close").addEventListener("click", () => $("topic").close());
  $("topic-random").addEventListener("click", () => { $("subscribe").elements.Topic.value = randomTopic(); });
  onSubmit($("topic-grant"), (fields) => app.grant(fields));
  onSubmit($("subscribe"), async ({ Topic }) => {
    await app.msgr.post("topics/subscribe", { Topic, Push: true });
    $("subscribe").reset();
    $("subscribing").open = false;
    await app.refresh();
    location.hash = encodeURIComponent(`#${Topic}`);
  });
}
