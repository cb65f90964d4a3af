// A chat: its messages, and what can be done with them.
import { fits, summary } from "./{{contents.js}}";
import { $, bdi, button, day, element, named, openMenu, sure, time } from "./{{page.js}}";

const PAGE = 100;
// Everything else is saved.
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export class Chat {
  constructor(account, close) {
    this.account = account;
    this.items = new Map();
    $("back").onclick = close;
    $("earlier").onclick = () => { this.count += PAGE; this.show(); };
    $("allow").onclick = () => account.allow(this.key).catch(() => this.trouble("That could not be done. Try again later."));
    $("delete-request").onclick = async () => {
      if (!await sure("What was written is deleted.", "Delete")) return;
      await account.remove(account.chats.get(this.key) ?? []);
      close();
    };
    $("block-request").onclick = async () => {
      if (!await sure("What was written is deleted, and what comes from there is not shown.", "Block")) return;
      await account.block(this.key);
      close();
    };
    $("text").onkeydown = (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      $("compose").requestSubmit();
    };
    $("file").onchange = async () => {
      const [file] = $("file").files, { key } = this;
      $("file").value = "";
      if (!file) return;
      try {
        const { seal } = await import("./{{files.js}}");
        await account.send(key, "", await seal(file, account.fileMax));
        this.trouble("");
      } catch (error) {
        this.trouble(error.message);
      }
    };
    $("compose").onsubmit = async (event) => {
      event.preventDefault();
      const said = $("text").value;
      if (!said.trim()) return;
      this.trouble(fits(said) ? "" : "The message is too long.");
      if (!fits(said)) return;
      $("text").value = "";
      try { await account.send(this.key, said); } catch (error) {
        $("text").value = said;
        throw error;
      }
      $("messages").scrollTop = $("messages").scrollHeight;
    };
    this.stay();
  }

  /** Keeps the end in sight when a keyboard takes a part of the window, or it becomes narrower. */
  stay() {
    const list = $("messages");
    let isAtEnd = true;
    list.addEventListener("scroll", () => { isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80; });
    new ResizeObserver(() => { if (isAtEnd) list.scrollTop = list.scrollHeight; }).observe(list);
  }

  /** Opens the chat with a key, or none. */
  open(key) {
    const isOther = key !== this.key;
    this.key = key;
    $("talk").hidden = !key;
    $("home").classList.toggle("talking", Boolean(key));
    if (!key) delete document.documentElement.dataset.chat;
    else document.documentElement.dataset.chat = key;
    if (!key || !isOther) return;
    this.count = PAGE;
    this.items.clear();
    this.isWarned = false;
    $("messages").replaceChildren();
    $("text").value = $("news").textContent = "";
    this.trouble("");
    if (this.account.isOpen) this.account.look(key).catch(() => {});
    this.account.forums.check(key).catch(() => {});
    this.show();
    $("messages").scrollTop = $("messages").scrollHeight;
    if (!$("compose").hidden) $("text").focus(); else $("with").focus();
    this.readUp();
  }

  trouble(text) { $("trouble").textContent = text; }

  show() {
    const { account, key } = this;
    if (!key) return;
    const all = account.chats.get(key) ?? [];
    const isRequest = all.length > 0 && !account.isAllowed(key) && !account.isBlocked(key);
    $("with").replaceChildren(...named(account, key));
    $("with").toggleAttribute("data-verified", account.isVerified(key));
    $("compose").hidden = isRequest || account.isBlocked(key) || account.isForum(key) && !account.isAllowed(key);
    $("answer").hidden = !isRequest;
    if (isRequest) this.showRequest();
    this.warn();
    const shown = all.slice(-this.count), list = $("messages");
    $("earlier").hidden = shown.length === all.length;
    const isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const wanted = [];
    let last;
    for (const message of shown) {
      if (day(message.time) !== last) {
        last = day(message.time);
        wanted.push(this.dayLine(last, message));
      }
      wanted.push(this.item(message, !isRequest));
    }
    const old = [...list.children];
    // What has the focus keeps it where only something new is added.
    if (old.every((node, i) => node === wanted[i])) list.append(...wanted.slice(old.length));
    else list.replaceChildren(...wanted);
    if (isAtEnd) list.scrollTop = list.scrollHeight;
  }

  dayLine(text, message) {
    const known = this.items.get(`day ${message.id}`);
    if (known) return known;
    const made = element("li", { text, className: "day" });
    this.items.set(`day ${message.id}`, made);
    return made;
  }

  showRequest() {
    const { account, key } = this, known = account.known.get(key);
    const isForum = account.isForum(key);
    $("who-asks").replaceChildren(...named(account, key), isForum ? " has you among its readers. Allow joins the forum." : " writes to you for the first time.");
    if (known?.uid) $("who-asks").append(" Identity: ", element("bdi", { text: known.uid.slice(0, 200) }), ".");
    if (this.asked === key || !account.isOpen) return;
    this.asked = key;
    account.vouchers(key).then((all) => {
      const friends = all.filter((one) => account.isAllowed(one) && one !== account.me);
      if (this.key !== key || !friends.length) return;
      $("who-asks").append(" Vouched for by: ", ...friends.flatMap((one, i) => [...i ? [", "] : [], ...named(account, one)]), ".");
    }).catch(() => {});
  }

  warn() {
    const { account, key } = this, known = account.known.get(key), place = $("warning");
    const isChanged = Boolean(known?.changed);
    const isNamesake = !account.isAllowed(key) && !account.isBlocked(key) && account.namesake(key);
    const successor = account.successor(key), isLost = account.forums.lost.has(key);
    const state = `${key} ${isChanged} ${isNamesake} ${successor} ${isLost}`;
    if (state === this.warned) return;
    this.warned = state;
    place.replaceChildren();
    if (isChanged) {
      place.append(
        element("p", {}, "The key of ", ...named(account, key), " has changed. It is a new account, or somebody who wants to "
          + "read along. Nothing is sent until you go on; compare the safety number first."),
        button("Continue", () => account.accept(key)));
    } else if (successor) {
      place.append(element("p", {}, ...named(account, key), " has a new account: ", element("span", { text: successor.slice(0, 8), className: "digits" }),
        ". Ask them by another way whether it is theirs, and find it with “New chat”."));
    } else if (isLost) {
      place.append(element("p", { text: "You were taken out of this forum’s readers, and get no new posts. What is here stays. If the forum "
        + "asks for a token, “Join” in “Details” asks again whether you hold enough." }));
    } else if (isNamesake) {
      place.append(element("p", { text: "This is somebody else than the person of this name whom you know." }));
    }
  }

  item(message, isFriend) {
    const { account } = this, isForum = message.chat !== message.from && account.isForum(message.chat);
    const isJoined = message.invitation && account.forums.isJoined(message.invitation.forum);
    const mark = `${message.state} ${message.why} ${isFriend} ${isJoined} ${isForum && account.name(message.from)} ${Boolean(message.pending)} ${account.isAllowed(message.from)}`;
    const known = this.items.get(message.id);
    if (known?.mark === mark) return known;
    const isOwn = message.from === account.me;
    // Readers of a forum may be strangers.
    const isKnown = isFriend && (!isForum || account.isAllowed(message.from));
    const body = element("p", { dir: "auto", data: { text: "" } }, ...linked(message.text, isKnown || isOwn));
    const more = button("⋯", () => this.openMenu(message, more), "more");
    more.ariaLabel = "More";
    more.ariaHasPopup = "menu";
    const state = { waiting: "waiting", failed: `not sent: ${message.why}` }[message.state] ?? message.state ?? "";
    const doubt = message.isDoubtful ? "doubtful: " : "";
    const foot = element("div", { className: "foot" },
      element("small", { text: `${doubt}${time(message.time)}${state ? ` · ${state}` : ""}${message.pending ? " · not published" : ""}` }), more);
    const made = known ?? element("li", { data: { id: message.id, from: message.from }, className: isOwn ? "own" : "" });
    const author = isForum && !isOwn ? [element("p", { className: "author" }, ...named(account, message.from))] : [];
    const invitation = message.invitation ? [this.invitation(message, isKnown && !isOwn && !isJoined)] : [];
    made.replaceChildren(...author, ...invitation, ...message.file ? [this.file(message, isFriend || isOwn)] : [], ...message.text ? [body] : [], foot);
    made.mark = mark;
    if (message.state) made.dataset.state = message.state;
    this.items.set(message.id, made);
    return made;
  }

  /** An invitation to a forum. */
  invitation(message, isLive) {
    const { forum, secret, name } = message.invitation;
    const join = button("Join", async () => {
      join.disabled = true;
      try {
        await this.account.forums.join(forum, secret);
        location.hash = `chat=${forum}`;
      } catch {
        join.disabled = false;
        this.trouble("The forum is not there, or you aren’t among its readers.");
      }
    });
    join.disabled = !isLive;
    return element("p", { className: "file" }, element("span", {}, "Invitation to ", bdi(name)), join);
  }

  /** A file: it is fetched when somebody asks for it, and never from a stranger. */
  file(message, isLive) {
    const { file } = message, place = element("div", { className: "file" });
    const failed = element("p", { className: "error", role: "alert" });
    const get = (act) => async () => {
      failed.textContent = "";
      try {
        const { open, savedName } = await import("./{{files.js}}");
        const content = open(file, await this.account.fetch(message));
        if (!content) throw new Error();
        act(content, savedName(file.name));
      } catch {
        failed.textContent = "The file is not there any more, or the service can’t be reached.";
      }
    };
    const name = [...file.name.split(/[/\\]/).at(-1)].slice(0, 64).join("").replace(/[\p{Cc}\p{Cf}]/gu, "") || "file";
    const save = button(`Save ${name}`, get((content, savedAs) => {
      const url = URL.createObjectURL(new Blob([content]));
      element("a", { href: url, download: savedAs }).click();
      setTimeout(() => URL.revokeObjectURL(url), 10_000);
    }));
    const show = button("Show", get((content) => {
      const picture = element("img", { alt: name, src: URL.createObjectURL(new Blob([content], { type: file.type })) });
      picture.onload = picture.onerror = () => URL.revokeObjectURL(picture.src);
      show.replaceWith(picture);
    }));
    save.disabled = show.disabled = !isLive;
    const size = element("small", { text: `${Math.ceil(file.size / 1024)} KiB` });
    place.append(...pictures.includes(file.type) ? [show] : [], save, size, failed);
    return place;
  }

  openMenu(message, opener) {
    const { account } = this, isOwn = message.from === account.me;
    const items = message.text ? [["Copy", () => navigator.clipboard?.writeText(message.text)]] : [];
    if (message.pending) items.push(["Publish", () => account.forums.publish(message).then(() => this.show())]);
    if (message.state === "failed") items.push(["Try again", () => account.again(message)]);
    items.push(["Delete", async () => {
      if (await sure("The message is deleted here and on your other devices.", "Delete")) await account.remove([message]);
    }, "danger"]);
    if (isOwn && message.state !== "failed") items.push(["Delete for everyone", async () => {
      const question = "The message is deleted here, and the other’s app is asked to. What was read or saved stays with them.";
      if (await sure(question, "Delete for everyone")) await account.takeBack(message);
    }, "danger"]);
    openMenu(opener, items);
  }

  /** Says a message that has come, and counts it as read if somebody looks. */
  arrived(message) {
    if (message.chat !== this.key || message.from === this.account.me) return;
    $("news").textContent = `${this.account.name(message.from)}: ${summary(message)}`;
  }

  readUp() {
    if (this.key && document.visibilityState === "visible") this.account.readUp(this.key);
  }
}

/** A text whose web addresses are links. */
function linked(text, isLive) {
  if (!isLive) return [text];
  return text.split(/(https?:\/\/[^\s<>"]+)/u).map((part, i) => {
    if (i % 2 === 0 || !URL.canParse(part)) return part;
    return element("a", { href: part, text: part, rel: "noopener noreferrer", target: "_blank" });
  });
}
