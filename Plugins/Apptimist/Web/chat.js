// A chat: its messages, and what can be done with them.
import { EDIT_TIME, FILE_MAX, fits, momentOf, summary } from "./{{contents.js}}";
import {
  $, bdi, button, copy, day, dayKey, dayTitle, element, face, failureOf, fileSize, focusChat, icon, iconButton, linked, menuButton, named, nodes, openMenu, sends, sure, t, time,
} from "./{{page.js}}";

const PAGE = 100;
/** Messages of one sender within this time, in seconds, form a group. */
const GROUP = 300;
/** The most bytes of a picture that is fetched by itself. */
const FETCHED = 8 << 20;
// Everything else is saved.
const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const emojis = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

export class Chat {
  constructor(account, close) {
    this.account = account;
    this.items = new Map();
    // The addresses of pictures that were fetched, or chosen here, by message.
    this.shownPictures = new Map();
    // Strangers' pictures that somebody wanted to see, by message.
    this.uncovered = new Set();
    // How much of a file is there already, by message.
    this.moved = new Map();
    this.isAtEnd = true;
    $("back").onclick = close;
    $("earlier").onclick = () => { this.count += PAGE; this.show(); };
    $("allow").onclick = () => this.attempt(() => account.allow(this.key));
    // Another chat may be open when the question is answered.
    $("delete-request").onclick = async () => {
      const { key } = this;
      if (!await sure(t("What was written is deleted."), t("Delete"))) return;
      await this.attempt(async () => {
        await account.deleteChat(key);
        if (this.key === key) close();
      });
    };
    $("block-request").onclick = async () => {
      const { key } = this;
      if (!await sure(t("What was written is deleted, and what comes from there is not shown."), t("Block"))) return;
      await this.attempt(async () => {
        await account.block(key);
        if (this.key === key) close();
      });
    };
    $("text").enterKeyHint = matchMedia("(pointer: coarse)").matches ? "enter" : "send";
    $("text").onkeydown = (event) => {
      // Some browsers say by the code alone that a key belongs to a composition.
      const isComposing = event.isComposing || event.keyCode === 229;
      if (event.key === "Escape" && this.chosen && !isComposing) return this.choose();
      if (!sends(event)) return;
      event.preventDefault();
      $("compose").requestSubmit();
    };
    $("text").oninput = () => this.keepDraft();
    addEventListener("pagehide", () => this.keepDraft());
    $("file").onchange = async () => {
      const files = [...$("file").files];
      $("file").value = "";
      await this.sendFiles(files);
    };
    this.receiveFiles();
    $("compose").onsubmit = (event) => {
      event.preventDefault();
      this.submit();
    };
    $("attach").prepend(icon("attach"));
    $("down").append(icon("down"), element("span", { className: "only-heard", text: t("To the newest message") }));
    $("down").onclick = () => this.toEnd();
    this.stay();
  }

  async submit() {
    const said = $("text").value, { key, chosen, account } = this;
    if (!said.trim()) return;
    // It may have been begun in time. What was written stays to be copied.
    if (chosen?.edits && !isEditable(chosen.edits)) return this.trouble(t("It is too late to edit this message."));
    this.trouble(fits(said) ? "" : t("The message is too long: at most 65,536 bytes."));
    if (!fits(said)) return;
    // The draft is kept until the message is stored.
    $("text").value = chosen?.edits ? account.drafts.get(key)?.text ?? "" : "";
    this.chosen = undefined;
    this.showChip();
    try {
      if (chosen?.edits) await account.edit(chosen.edits, said);
      else await account.send(key, said, { reply: chosen?.answers });
    } catch (error) {
      // What was written is a draft again, unless something else was begun.
      const begun = account.drafts.get(key), reply = chosen?.answers?.id;
      account.keepDraft(key, chosen?.edits ? { ...begun, edit: { of: chosen.edits.id, text: said } } : begun ?? { text: said, reply });
      if (this.key === key && !$("text").value) this.restoreDraft();
      this.trouble(account.store.isBroken ? t("Not sent: this browser can’t store it.") : t("Not sent: {reason}", { reason: error.message }));
      return;
    }
    if (this.key === key) this.keepDraft();
    else if (account.drafts.get(key)?.text === said) account.keepDraft(key);
    navigator.storage?.persist?.();
    this.toEnd();
  }

  /** Keeps the end in sight when a keyboard takes a part of the window, or it becomes narrower. */
  stay() {
    const list = $("messages");
    list.addEventListener("scroll", () => {
      this.isAtEnd = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
      if (this.isAtEnd) this.below = 0;
      this.showDown();
    }, { passive: true });
    new ResizeObserver(() => { if (this.isAtEnd) list.scrollTop = list.scrollHeight; }).observe(list);
  }

  toEnd() {
    this.isAtEnd = true;
    this.below = 0;
    $("messages").scrollTop = $("messages").scrollHeight;
    this.showDown();
  }

  showDown() {
    $("down").hidden = this.isAtEnd;
    $("down").querySelector(".count")?.remove();
    if (this.below) $("down").append(element("span", { className: "count", text: this.below }));
  }

  /** Opens the chat with a key, or none. */
  open(key) {
    const isOther = key !== this.key, { account } = this;
    if (isOther) this.keepDraft();
    this.key = key;
    $("talk").hidden = !key;
    $("home").classList.toggle("talking", Boolean(key));
    if (!key) delete document.documentElement.dataset.chat;
    else document.documentElement.dataset.chat = key;
    if (!key) {
      // What was deleted, or is left, stands nowhere in the page.
      this.items.clear();
      $("messages").replaceChildren();
      $("news").textContent = "";
    }
    if (!key || !isOther) return;
    this.count = PAGE;
    this.items.clear();
    this.below = 0;
    this.isAtEnd = true;
    const unread = account.unread(key), all = account.chats.get(key) ?? [];
    this.firstUnread = unread ? all.filter(({ from }) => from !== account.me).at(-unread)?.id : undefined;
    this.count = Math.max(PAGE, Math.min(unread + 20, 500));
    $("messages").replaceChildren();
    $("news").textContent = "";
    this.restoreDraft();
    this.trouble("");
    if (account.isOpen) account.look(key).catch(() => {});
    account.forums.check(key).catch(() => {});
    this.show();
    this.toEnd();
    const mark = $("messages").querySelector(".mark");
    if (mark && unread > 5) mark.scrollIntoView({ block: "center" });
    focusChat();
    this.readUp();
  }

  trouble(text) { $("trouble").textContent = text; }

  /** Does what somebody asks for, and says if it could not be done. */
  async attempt(act) {
    this.trouble("");
    try { await act(); } catch { this.trouble(failureOf(this.account)); }
  }

  // What is shown ----------------------------------------------------------------------------------------------------------

  show() {
    const { account, key } = this;
    if (!key) return;
    const all = account.chats.get(key) ?? [];
    const isRequest = this.isRequest(), isForum = account.isForum(key);
    const heading = JSON.stringify([key, account.name(key), account.isAmbiguous(key), account.isVerified(key), isForum]);
    if (heading !== this.heading) {
      this.heading = heading;
      $("with-face").replaceChildren(face(account.name(key), key, isForum ? "small forum" : "small"));
      $("with").replaceChildren(...named(account, key));
      $("with").toggleAttribute("data-verified", account.isVerified(key));
    }
    $("compose").hidden = !this.canWrite();
    $("answer").hidden = !isRequest;
    if (isRequest) this.showRequest();
    this.warn(isForum && !account.isAllowed(key));
    const shown = all.slice(-this.count), list = $("messages"), wanted = [];
    $("earlier").hidden = shown.length === all.length;
    let latestDay = 0;
    for (const [i, message] of shown.entries()) {
      const moment = momentOf(message), before = shown[i - 1], after = shown[i + 1], ownDay = dayKey(moment);
      // Days don't go back: what was written on an earlier one, and came late, says so itself.
      const isNewDay = ownDay > latestDay, isOfEarlierDay = ownDay < latestDay;
      latestDay = Math.max(latestDay, ownDay);
      if (isNewDay) wanted.push(this.line(`day ${ownDay} ${message.id}`, "day", dayTitle(moment)));
      if (message.id === this.firstUnread) wanted.push(this.line("mark", "mark", t("Unread messages")));
      const item = this.item(message, !isRequest, isOfEarlierDay);
      const follows = !isNewDay && isGroup(before, message), isLast = !after || !isGroup(message, after);
      const isAuthored = isForum && message.from !== account.me;
      item.classList.toggle("follows", follows);
      item.classList.toggle("last-of-group", isLast);
      item.classList.toggle("authored", isAuthored);
      if (isAuthored) this.author(item, message, !follows, isLast);
      wanted.push(item);
    }
    if (!wanted.length) wanted.push(this.emptyLine(isForum));
    const old = list.children;
    let same = 0;
    while (same < old.length && old[same] === wanted[same]) same++;
    // What has the focus keeps it where only something new is added.
    if (same === old.length) {
      if (wanted.length > same) list.append(...wanted.slice(same));
    } else list.replaceChildren(...wanted);
    if (this.isAtEnd) list.scrollTop = list.scrollHeight;
  }

  /** Whether somebody who isn't known has written here. */
  isRequest() {
    const { account, key } = this;
    return Boolean(account.chats.get(key)?.length) && !account.isAllowed(key) && !account.isBlocked(key);
  }

  canWrite() {
    const { account, key } = this, isJoined = !account.isForum(key) || account.isAllowed(key);
    return !this.isRequest() && !account.isBlocked(key) && isJoined;
  }

  /** What an empty chat says next. */
  emptyLine(isForum) {
    const { account, key } = this, id = `empty ${isForum} ${account.isAllowed(key)}`;
    if (!this.items.has(id)) {
      const invite = button(t("Invite people"), () => $("details-open").click());
      const link = button(t("Copy the forum’s link"), () => copy(`${location.origin}${location.pathname}#chat=${key}`, link));
      const isMine = isForum && account.forums.isJoined(key);
      this.items.set(id, element("li", { className: "day", text: isMine ? t("Nothing was written here yet. Invite people, or send them the forum’s link.") : t("No messages yet. The first one asks whether you may write.") },
        ...isMine ? [element("div", { className: "row" }, invite, link)] : []));
    }
    return this.items.get(id);
  }

  line(id, className, text) {
    const known = this.items.get(id);
    // Today becomes yesterday while the page is open.
    if (known?.textContent === text) return known;
    const made = element("li", { text, className });
    this.items.set(id, made);
    return made;
  }

  author(item, message, isFirst, isLast) {
    const { account } = this, mark = `${isFirst} ${isLast} ${account.name(message.from)} ${account.isAmbiguous(message.from)}`;
    if (item.authorMark === mark) return;
    item.authorMark = mark;
    item.querySelector(":scope > .author")?.remove();
    item.querySelector(":scope > .face")?.remove();
    if (isFirst) item.prepend(element("p", { className: "author", ariaHidden: "true" }, ...named(account, message.from)));
    if (isLast) item.append(face(account.name(message.from), message.from, "small"));
  }

  showRequest() {
    const { account, key } = this, known = account.known.get(key), isForum = account.isForum(key);
    const who = { name: [element("span", {}, ...named(account, key))] };
    $("who-asks").replaceChildren(...isForum ? nodes("{name} has you among its readers. Allow joins the forum.", who)
      : nodes("{name} writes to you for the first time.", who));
    if (known?.uid && account.provesIdentities) $("who-asks").append(" ", ...nodes("Identity: {uid}.", { uid: [element("bdi", { text: known.uid.slice(0, 200) })] }));
    if (this.vouching?.key === key) $("who-asks").append(...this.vouching.words());
    if (this.asked === key || !account.isOpen) return;
    this.asked = key;
    account.vouchers(key).then((all) => {
      const friends = all.filter((one) => account.isAllowed(one) && one !== account.me);
      if (this.key !== key || !friends.length) return;
      const names = () => friends.flatMap((one, i) => [...i ? [", "] : [], ...named(account, one)]);
      this.vouching = { key, words: () => [" ", ...nodes("Vouched for by: {names}.", { names: names() })] };
      $("who-asks").append(...this.vouching.words());
    }).catch(() => {});
  }

  warn(isUnjoined) {
    const { account, key } = this, known = account.known.get(key), place = $("warning");
    const isChanged = Boolean(known?.changed);
    const isNamesake = !account.isAllowed(key) && !account.isBlocked(key) && account.namesake(key);
    const successor = account.successor(key), isLost = account.forums.lost.has(key);
    const state = `${key} ${isChanged} ${isNamesake} ${successor} ${isLost} ${isUnjoined}`;
    if (state === this.warned) return;
    this.warned = state;
    place.replaceChildren();
    const who = { name: [element("span", {}, ...named(account, key))] };
    if (isChanged) {
      place.append(
        element("p", {}, ...nodes("The key of {name} has changed. It is a new account, or somebody who wants to read along. Nothing is sent until you go on; compare the safety number first.", who)),
        button(t("Continue"), () => this.attempt(() => account.accept(key))));
    } else if (successor) {
      place.append(element("p", {}, ...nodes("{name} has a new account: {digits}. Ask them by another way whether it is theirs, and find it with “New chat”.",
        { ...who, digits: [element("span", { text: successor.slice(0, 8), className: "digits" })] })));
    } else if (isLost) {
      place.append(element("p", { text: t("You were taken out of this forum’s readers, and get no new posts. What is here stays. If the forum asks for a token, “Join” in “Details” asks again whether you hold enough.") }));
    } else if (isNamesake) {
      const friend = account.name(isNamesake);
      place.append(element("p", {}, ...nodes("This is somebody else than {name}, whom you know: the same name, or one that looks like it.", { name: [bdi(friend)] })));
    } else if (isUnjoined && !account.isBlocked(key)) {
      place.append(element("p", { text: t("You have not joined this forum. “Join” is in “Details”.") }));
    }
  }

  item(message, isFriend, isOfEarlierDay) {
    const { account } = this, isForum = message.chat !== message.from && account.isForum(message.chat);
    const isJoined = message.invitation && account.forums.isJoined(message.invitation.forum);
    const mark = `${message.state} ${message.why} ${isFriend} ${isJoined} ${account.name(message.from)} ${Boolean(message.pending)} ${account.isAllowed(message.from)} ${message.version} ${message.isNews} ${isOfEarlierDay}`;
    const known = this.items.get(message.id);
    if (known?.mark === mark) return known;
    const isOwn = message.from === account.me;
    // Readers of a forum may be strangers.
    const isKnown = isFriend && (!isForum || account.isAllowed(message.from)), isLive = isKnown || isOwn;
    const parts = [element("span", { className: "only-heard", text: isOwn ? t("You:") : t("{name}:", { name: account.name(message.from) || t("Somebody") }) })];
    if (message.reply) parts.push(this.quote(message.reply));
    if (message.invitation) parts.push(this.invitation(message, isKnown && !isOwn && !isJoined));
    if (message.file) parts.push(this.file(message, isLive));
    if (message.text) parts.push(element("p", { dir: "auto", data: { text: "" } }, ...linked(message.text, isLive)));
    const made = known ?? element("li", { data: { id: message.id, from: message.from }, className: isOwn ? "own" : "" });
    parts.push(this.foot(message, made, isOfEarlierDay));
    const reactions = Object.entries(message.reactions ?? {}).filter(([, emoji]) => emoji);
    if (reactions.length) parts.push(this.reactions(message, reactions));
    made.replaceChildren(...parts);
    made.mark = mark;
    made.authorMark = undefined;
    if (message.state) made.dataset.state = message.state;
    this.items.set(message.id, made);
    return made;
  }

  foot(message, item, isOfEarlierDay) {
    const small = element("small", {});
    if (message.doubt === "late") {
      small.append(t("written {day} {time}, long before it was sent; came {now}",
        { day: day(message.time), time: time(message.time), now: time(message.came) }));
    } else if (message.doubt === "ahead") small.append(t("{time} (its clock is ahead)", { time: time(message.came) }));
    else if (isOfEarlierDay) small.append(t("written {day} {time}", { day: day(message.time), time: time(message.time) }));
    else small.append(time(message.time));
    if (message.edited) small.append(" · ", t("edited"));
    if (message.pending) small.append(" · ", t("not published"));
    if (message.state === "failed") small.append(" · ", t("not sent: {reason}", { reason: t(message.why ?? "") }));
    if (message.isNews) small.append(" · ", t("Stored. {name} gets it when online.", { name: this.account.name(message.chat) }));
    const state = { waiting: ["clock", t("waiting")], sent: ["check", t("sent")], failed: ["warning", ""] }[message.state];
    return element("div", { className: "foot" }, small,
      ...state ? [icon(state[0]), element("span", { className: "only-heard", text: state[1] })] : [], menuButton(item, (opener) => this.openMenu(message.id, opener)));
  }

  quote({ to, text }) {
    const { account } = this, original = account.messages.get(to);
    const said = original ? `${this.sayer(original)}: ${summary(original)}` : text;
    const made = element("button", { type: "button", className: "quote", dir: "auto", text: said.slice(0, 200) });
    made.onclick = () => this.find(to);
    return made;
  }

  sayer({ from }) { return from === this.account.me ? t("You") : this.account.name(from) || t("Somebody"); }

  /** Shows a message, also an old one. */
  find(id) {
    const list = this.account.chats.get(this.key) ?? [], index = list.findIndex((one) => one.id === id);
    if (index < 0) return;
    this.count = Math.max(this.count, list.length - index + 20);
    this.isAtEnd = false;
    this.show();
    const item = this.items.get(id);
    item?.scrollIntoView({ block: "center" });
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) item?.animate?.([{ opacity: 0.3 }, { opacity: 1 }], 600);
  }

  reactions(message, all) {
    const counts = new Map();
    for (const [from, emoji] of all) counts.set(emoji, [...counts.get(emoji) ?? [], from]);
    const { account } = this, mine = message.reactions[account.me];
    return element("div", { className: "reactions" }, ...[...counts].map(([emoji, people]) => {
      const made = button(people.length > 1 ? `${emoji} ${people.length}` : emoji, () => this.setReaction(message, emoji), "");
      made.ariaPressed = String(mine === emoji);
      made.title = people.map((one) => one === account.me ? t("You") : account.name(one)).join(", ");
      return made;
    }));
  }

  /** An invitation to a forum. */
  invitation(message, isLive) {
    const { forum, secret, name } = message.invitation;
    const join = button(t("Join"), async () => {
      join.disabled = true;
      try {
        await this.account.forums.join(forum, secret);
        location.hash = `chat=${forum}`;
      } catch {
        join.disabled = false;
        this.trouble(t("The forum is not there, or you aren’t among its readers."));
      }
    });
    join.disabled = !isLive;
    const about = element("span", { className: "about" }, ...nodes("Invitation to {name}", { name: [bdi(name)] }));
    return element("div", { className: "file" }, icon("group"), about, ...message.from === this.account.me ? [] : [join]);
  }

  // Files ------------------------------------------------------------------------------------------------------------------

  /** Files that are chosen, pasted or dropped, one after the other. */
  async sendFiles(files) {
    const { account, key } = this;
    this.trouble("");
    // In the order chosen, also where a later one, or what is written meanwhile, is made ready first.
    const places = files.map(() => account.reserve());
    for (const [i, file] of files.entries()) {
      try {
        if (file.size > FILE_MAX && !pictures.includes(file.type)) throw new Error(t("“{name}” is too large: a file has at most 25 MiB.", { name: file.name }));
        const { seal } = await import("./{{files.js}}");
        const sealed = await seal(file, account.pieceMax);
        const message = await account.send(key, "", { file: sealed, order: places[i].order });
        navigator.storage?.persist?.();
        if (pictures.includes(message.file.type)) this.remember(message.id, URL.createObjectURL(file));
        this.show();
        if (this.key === key) this.toEnd();
      } catch (error) {
        this.trouble(account.store.isBroken ? t("Not sent: this browser can’t store it.") : error.message);
      } finally {
        places[i].free();
      }
    }
  }

  receiveFiles() {
    const filesOf = (transfer) => [...transfer?.files ?? []];
    document.addEventListener("paste", (event) => {
      const field = event.target.closest?.("input, textarea");
      if ($("talk").hidden || $("compose").hidden || field && field !== $("text") || document.querySelector("dialog[open]")) return;
      const files = filesOf(event.clipboardData), text = event.clipboardData?.getData("text/plain") ?? "";
      if (files.length && isNames(text, files)) {
        event.preventDefault();
        this.sendFiles(files);
      } else if (!field && text) {
        // The focus is beside the field, as in the messages.
        event.preventDefault();
        $("text").focus();
        $("text").setRangeText(text, $("text").selectionStart, $("text").selectionEnd, "end");
        this.keepDraft();
      }
    });
    for (const place of [$("talk")]) {
      const isWanted = (event) => !$("compose").hidden && event.dataTransfer?.types.includes("Files");
      place.addEventListener("dragover", (event) => {
        if (!isWanted(event)) return;
        event.preventDefault();
        $("messages").classList.add("drop");
      });
      place.addEventListener("dragleave", () => $("messages").classList.remove("drop"));
      place.addEventListener("drop", (event) => {
        $("messages").classList.remove("drop");
        if (!isWanted(event)) return;
        event.preventDefault();
        this.sendFiles(filesOf(event.dataTransfer));
      });
    }
    // What is dropped beside it would replace the page. Fields take texts, and those for files take files.
    const isTaken = ({ target, dataTransfer }) =>
      target.closest?.(dataTransfer?.types.includes("Files") ? "input[type=file]" : "input:not([type=file]), textarea");
    for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => { if (!isTaken(event)) event.preventDefault(); });
  }

  remember(id, url) {
    this.shownPictures.set(id, url);
    if (this.shownPictures.size <= 60) return;
    const [oldest, old] = this.shownPictures.entries().next().value;
    URL.revokeObjectURL(old);
    this.shownPictures.delete(oldest);
  }

  /** The bytes of a file; `heard` is told how much is there. Throws words for people. */
  async fetched(message, heard) {
    const { openPieces } = await import("./{{files.js}}");
    const content = await this.account.fetch(message, heard).then((pieces) => openPieces(message.file, pieces)).catch(() => null);
    if (!content) throw new Error(t("The file is not there any more, or the service can’t be reached."));
    return content;
  }

  async savePicture(message, name, failed) {
    failed.textContent = "";
    try {
      const { save } = await import("./{{files.js}}");
      save(name, await this.fetched(message));
    } catch (error) { failed.textContent = error.message; }
  }

  /** Fetches a file with its progress in place of the button, and saves it unless that is cancelled. */
  async saveFile(message, name, saving, failed) {
    failed.textContent = "";
    const bar = element("progress", { max: 1, value: 0 }), about = saving.parentElement.querySelector(".about");
    bar.ariaLabel = t("Fetching {name}", { name });
    const moving = new AbortController();
    const cancel = iconButton("close", t("Cancel {name}", { name }), () => moving.abort());
    about.append(bar);
    saving.replaceWith(cancel);
    try {
      const content = await this.fetched(message, (part) => {
        moving.signal.throwIfAborted();
        bar.value = part;
      });
      const { save } = await import("./{{files.js}}");
      moving.signal.throwIfAborted();
      save(name, content);
    } catch (error) {
      if (!moving.signal.aborted) failed.textContent = error.message;
    } finally {
      bar.remove();
      cancel.replaceWith(saving);
    }
  }

  /** A file: pictures of allowed people are shown, the rest is fetched when somebody asks for it. */
  file(message, isLive) {
    const { file } = message, name = nameOf(file), isPicture = pictures.includes(file.type);
    const failed = element("p", { className: "error", role: "alert" });
    if (message.state === "waiting") return this.sending(message, name, isPicture);
    const saving = iconButton("save", t("Save {name}", { name }), () => this.saveFile(message, name, saving, failed));
    const isShown = isLive || this.uncovered.has(message.id);
    if (isPicture && isShown) return element("div", {}, this.picture(message, name, failed), failed);
    const place = element("div", { className: "file" }, icon(shapeOf(file)),
      element("span", { className: "about" }, bdi(name), element("small", { text: fileSize(file.size) })));
    if (isPicture) {
      place.append(button(t("Show"), () => {
        this.uncovered.add(message.id);
        place.replaceWith(element("div", {}, this.picture(message, name, failed), failed));
      }));
    }
    // Who asks for the first time is answered first; readers of a forum may be strangers.
    saving.disabled = !isLive && this.isRequest();
    place.append(saving, failed);
    return place;
  }

  picture(message, name, failed) {
    const { file } = message, picture = element("img", { alt: name, decoding: "async" });
    if (file.width) Object.assign(picture, { width: file.width, height: file.height });
    picture.style.width = "auto";
    picture.style.height = "auto";
    const known = this.shownPictures.get(message.id);
    if (known) picture.src = known;
    else {
      if (file.thumbnail) {
        const bytes = Uint8Array.from(atob(file.thumbnail), (sign) => sign.charCodeAt(0));
        picture.src = URL.createObjectURL(new Blob([bytes], { type: "image/webp" }));
        const { width = 1, height = 1 } = file, scale = Math.min(1, 320 / width, 320 / height);
        if (file.width) {
          picture.style.width = `${Math.round(width * scale)}px`;
          picture.style.aspectRatio = `${width} / ${height}`;
        }
      }
      if (!file.thumbnail || file.size <= FETCHED) this.fetchWhenSeen(message, picture, failed);
    }
    const open = element("button", { type: "button", className: "picture" }, picture);
    open.ariaLabel = t("Open {name}", { name });
    open.onclick = () => this.showFull(message, name, failed);
    return open;
  }

  fetchWhenSeen(message, picture, failed) {
    const watcher = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      watcher.disconnect();
      this.pictureOf(message).then((url) => { picture.src = url; }, (error) => {
        if (!message.file.thumbnail) failed.textContent = error.message;
      });
    });
    watcher.observe(picture);
  }

  async pictureOf(message) {
    if (!this.shownPictures.has(message.id)) {
      const content = await this.fetched(message);
      this.remember(message.id, URL.createObjectURL(new Blob([content], { type: message.file.type })));
    }
    return this.shownPictures.get(message.id);
  }

  async showFull(message, name, failed) {
    const picture = element("img", { alt: name });
    $("full-title").textContent = name;
    $("full-place").replaceChildren(picture);
    $("full-save").replaceChildren(icon("save"), element("span", { className: "only-heard", text: t("Save {name}", { name }) }));
    $("full-save").title = t("Save {name}", { name });
    $("full-save").onclick = () => this.savePicture(message, name, failed);
    $("full").showModal();
    $("full-title").focus();
    try { picture.src = await this.pictureOf(message); } catch (error) {
      // Another one may be shown by now.
      if (picture.isConnected) $("full").close();
      failed.textContent = error.message;
    }
  }

  /** A file that is on its way. */
  sending(message, name, isPicture) {
    const bar = element("progress", { max: 1, value: this.moved.get(message.id) ?? 0 });
    bar.ariaLabel = t("Sending {name}", { name });
    bar.dataset.upload = message.id;
    const cancel = iconButton("close", t("Cancel {name}", { name }), () => this.attempt(() => this.account.cancel(message)));
    if (isPicture) {
      return element("div", {}, this.picture(message, name, element("p", {})), element("div", { className: "file" }, element("span", { className: "about" }, bar), cancel));
    }
    return element("div", { className: "file" }, icon(shapeOf(message.file)),
      element("span", { className: "about" }, bdi(name), element("small", { text: fileSize(message.file.size) }), bar), cancel);
  }

  progressed(id, part) {
    this.moved.set(id, part);
    if (part === 1) this.moved.delete(id);
    const bar = document.querySelector(`progress[data-upload="${id}"]`);
    if (bar) bar.value = part;
  }

  // Menus ------------------------------------------------------------------------------------------------------------------

  openMenu(id, opener) {
    const { account } = this, message = account.messages.get(id);
    if (!message) return;
    const isOwn = message.from === account.me, isSent = message.state === undefined || message.state === "sent";
    const canWrite = this.canWrite(), items = [];
    if (canWrite && isSent) {
      items.push([t("Reply"), () => this.choose({ answers: message }), "", "reply"]);
      items.push([t("React"), () => this.react(message, opener), "", "react"]);
    }
    if (message.text) items.push([t("Copy"), () => copy(message.text), "", "copy"]);
    if (canWrite && isOwn && isSent && message.text && isEditable(message)) {
      items.push([t("Edit"), () => this.choose({ edits: message }), "", "edit"]);
    }
    if (message.file && isSent && !this.isRequest()) {
      const name = nameOf(message.file);
      items.push([t("Save {name}", { name }), () => this.savePicture(message, name, $("trouble")), "", "save"]);
    }
    if (message.pending) {
      items.push([t("Publish"), () => this.attempt(() => account.forums.publish(message).then(() => this.show())), "", "moderator"]);
    }
    if (message.state === "failed") items.push([t("Try again"), () => this.attempt(() => account.again(message)), "", "send"]);
    items.push([t("Delete"), async () => {
      const question = t("The message is deleted here and on your other devices.");
      if (await sure(question, t("Delete"))) await this.attempt(() => account.remove([message]));
    }, "danger", "delete"]);
    if (isOwn && message.state !== "failed") items.push([t("Delete for everyone"), async () => {
      const question = t("The message is deleted here, and the other’s app is asked to. What was read or saved stays with them.");
      if (await sure(question, t("Delete for everyone"))) await this.attempt(() => account.takeBack(message));
    }, "danger", "delete"]);
    openMenu(opener, items);
  }

  react(message, opener) { openMenu(opener, emojis.map((emoji) => [emoji, () => this.setReaction(message, emoji)]), "signs"); }

  /** Reacts to a message; the same emoji once more takes the reaction back. */
  setReaction(message, emoji) {
    const { account } = this, isSame = message.reactions?.[account.me] === emoji;
    return this.attempt(() => account.react(message, isSame ? "" : emoji));
  }

  /** Answers or edits a message with what is written next, or nothing. */
  choose(chosen) {
    const wasEditing = this.chosen?.edits;
    if (!wasEditing && chosen?.edits) this.keepDraft();
    this.chosen = chosen;
    if (chosen?.edits) $("text").value = chosen.edits.text;
    else if (wasEditing) $("text").value = this.account.drafts.get(this.key)?.text ?? "";
    this.keepDraft();
    this.showChip();
    if (chosen) $("text").focus();
  }

  /** Keeps what is begun, with what it answers or edits. */
  keepDraft() {
    const { account, key, chosen } = this, said = $("text").value;
    if (!key || $("compose").hidden) return;
    if (chosen?.edits) account.keepDraft(key, { ...account.drafts.get(key), edit: { of: chosen.edits.id, text: said } });
    else account.keepDraft(key, { text: said, reply: chosen?.answers?.id });
  }

  /** Forgets what was begun in a chat that is deleted. */
  clear(key) {
    if (key !== this.key) return;
    this.chosen = undefined;
    $("text").value = "";
    this.showChip();
  }

  /** Shows what was begun in this chat. */
  restoreDraft() {
    const { account } = this, { text = "", reply, edit } = account.drafts.get(this.key) ?? {};
    const edited = account.messages.get(edit?.of), answers = account.messages.get(reply);
    const isEditing = edited && isEditable(edited);
    this.chosen = answers ? { answers } : undefined;
    if (isEditing) this.chosen = { edits: edited };
    $("text").value = isEditing ? edit.text : text;
    this.showChip();
  }

  /** Says above the text what it answers or edits. */
  showChip() {
    const { chosen } = this;
    $("chip").hidden = !chosen;
    $("chip").replaceChildren();
    if (!chosen) return;
    $("chip").replaceChildren(icon(chosen.edits ? "edit" : "reply"), element("span", { text: this.wordsOf(chosen), dir: "auto" }),
      iconButton("close", t("Cancel"), () => this.choose()));
  }

  wordsOf({ answers, edits }) {
    const text = summary(answers ?? edits).slice(0, 100);
    if (edits) return t("Editing: {text}", { text });
    if (answers.from === this.account.me) return t("Reply to your message: {text}", { text });
    return t("Reply to {name}: {text}", { name: this.sayer(answers), text });
  }

  /** Says a message that has come, and counts it as read if somebody looks. */
  arrived(message) {
    if (message.chat !== this.key) return;
    if (message.from === this.account.me) return;
    if (!this.isAtEnd) {
      this.below = (this.below ?? 0) + 1;
      this.showDown();
    }
    // A screen reader hears the newest of many that come at once.
    clearTimeout(this.saying);
    this.saying = setTimeout(() => { $("news").textContent = `${this.account.name(message.from)}: ${summary(message)}`; }, 150);
  }

  readUp() {
    if (this.key && document.visibilityState === "visible") this.account.readUp(this.key).catch(() => {});
  }
}

/** Whether it is not too late to write an own message anew. */
const isEditable = ({ time }) => time > Date.now() / 1000 - EDIT_TIME;

const isGroup = (one, next) => one && next && one.from === next.from && Math.abs(momentOf(next) - momentOf(one)) < GROUP;

const nameOf = ({ name }) =>
  [...name.split(/[/\\]/).at(-1)].slice(0, 64).join("").replace(/[\p{Cc}\p{Cf}]/gu, "") || t("file");

/**
 * Whether a text that is pasted with files only names them, as file managers have it. A text that is copied with its picture, as
 * by office programs, is a text.
 */
function isNames(text, files) {
  // Some name them by their addresses.
  const names = files.map(({ name }) => name.normalize()).flatMap((name) => [name, encodeURIComponent(name)]);
  const lastPart = (path) => path.trim().split(/[/\\]/).at(-1).normalize();
  return text.split(/[\r\n]+/).every((line) => !line || names.includes(lastPart(line)));
}

/** The icon of a kind of file. */
function shapeOf({ type }) {
  const kind = type.split("/")[0];
  if (/zip|tar|compressed|7z|rar/.test(type)) return "archive";
  return { image: "picture", audio: "audio", video: "film", text: "text" }[kind] ?? "file";
}
