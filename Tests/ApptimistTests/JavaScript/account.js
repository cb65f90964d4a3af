// What the account stores: `app` is the app's module of that name.
async function compare(app) {
  const result = { count: 0, different: [] };
  const stored = new Map();
  const account = Object.assign(new app.Account(), {
    people: { people: {} }, known: new Map(), jobs: new Map(), drafts: new Map(), unkept: new Set(), changed() {}, sync() {},
    forums: { known: () => [] },
    store: { async write(records) { for (const [kind, id, value] of records) stored.set(`${kind} ${id}`, structuredClone(value)); } },
  });
  // Something is changed while what the service has is being kept.
  for (let i = 0; i < 15; i++) {
    account.device = { state: { authentication: {} }, keep: () => account.change("people", `bert ${i}`, { state: "blocked" }) };
    await account.adopt({ people: { ...account.people.people, [`anna ${i}`]: { state: "allowed", time: 1 } } });
    const { people } = stored.get("people people");
    for (const [key, state] of [[`bert ${i}`, "blocked"], [`anna ${i}`, "allowed"]]) {
      result.count++;
      if (people[key]?.state !== state) result.different.push(key);
    }
  }
  // What was begun to somebody whom another device has blocked is gone.
  for (const key of ["cleo", "dora"]) account.keepDraft(key, { text: "half a letter" });
  account.device.keep = async () => {};
  await account.adopt({ people: { cleo: { state: "blocked", time: 1 }, dora: { state: "allowed", time: 1 } } });
  result.count++;
  if ([...account.drafts.keys()].join() !== "dora") result.different.push(`drafts ${[...account.drafts.keys()]}`);
  account.device.keep = async () => { account.known.set("anna", { name: "Anna, later" }); };
  account.known.set("anna", { name: "Anna", changed: "another key" });
  await account.accept("anna");
  result.count++;
  if (stored.get("known anna")?.name !== "Anna, later") result.different.push("known");
  const check = (name, seen, expected) => {
    result.count++;
    if (JSON.stringify(seen) !== JSON.stringify(expected)) result.different.push(`${name} ${JSON.stringify(seen)}`);
  };
  await checkSending(app, check);
  await checkExport(app, check);
  return result;
}

/** An account whose jobs are answered by `answer`; `asked` are those that were sent. */
function sending(app, answer) {
  const asked = [];
  const account = Object.assign(new app.Account(), {
    me: "me", isOpen: true, people: { people: { anna: { state: "allowed" } } }, order: 0, newest: 0, queue: [], known: new Map(),
    jobs: new Map(), running: new Set(), reserved: new Set(), settlers: new Map(), messages: new Map(), chats: new Map(),
    uploads: new Map(), changed() {}, look: async () => {}, store: { async write() {} }, forums: {},
    async request(job) { asked.push(job.id); await answer?.(job); },
  });
  return { account, asked };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 20));

/** What is sent when, and what comes of what fails. */
async function checkSending(app, check) {
  const { Refused } = globalThis.apptimist;
  let failure;
  const { account, asked } = sending(app, () => { if (failure) throw failure; });
  const job = (id, order, more) => ({ id, order, type: "message", to: "anna", ...more });
  const said = (id, order) => ({ id, order, chat: "anna", from: "me", time: 1, state: "waiting", copy: `copy of ${id}` });
  // A file that is made ready keeps its place.
  const place = account.reserve();
  const text = account.order + 1;
  await account.enqueue([said("text", text)], [job("text", text, { message: "text" })]);
  await soon();
  check("nothing goes before a file", asked, []);
  await account.enqueue([said("file", place.order)], [job("file", place.order, { message: "file" })]);
  place.free();
  await soon();
  check("the file goes first", asked, ["file", "text"]);
  check("and stands first", account.chats.get("anna").map(({ id }) => id), ["file", "text"]);
  // The own other devices hear of what was sent only.
  asked.length = 0;
  failure = new Refused(2);
  const own = { to: "me", after: "one" };
  await account.enqueue([said("one", 11)], [job("one", 11, { message: "one" }), job("copy of one", 12, own)]);
  await soon();
  check("no copy of what failed", asked, ["one"]);
  failure = undefined;
  await account.again(account.messages.get("one"));
  await soon();
  check("a copy of what was sent", asked, ["one", "one", "copy of one"]);
  // What nobody sees is given up with its copy.
  failure = new Refused(2);
  await account.enqueue([], [job("two", 13), job("copy of two", 14, { to: "me", after: "two" })]);
  await soon();
  check("given up", [...account.jobs.keys()], []);
  // A connection that is lost is no answer.
  let end = "waits";
  failure = new Error("the connection was lost");
  account.request = async () => {
    account.isOpen = !failure;
    if (failure) throw failure;
  };
  account.enqueueAndWait(job("three", 15)).then(() => { end = "done"; }, () => { end = "failed"; });
  await soon();
  check("a lost connection", end, "waits");
  failure = undefined;
  account.isOpen = true;
  account.deliver(account.jobs.get("three"));
  await soon();
  check("the next connection", end, "done");
  // What is gone is not deleted twice.
  const gone = account.messages.get("one");
  await account.remove([gone]);
  await account.remove([gone]);
  account.drop(gone);
  check("what is left", account.chats.get("anna").map(({ id }) => id), ["file", "text"]);
  // What could not be deleted is still there, and is sent.
  const { account: full, asked: sent } = sending(app);
  full.isOpen = false;
  await full.enqueue([said("four", 1)], [job("four", 1, { message: "four" })]);
  full.store.write = () => Promise.reject(new Error("no room"));
  const outcome = await full.remove([full.messages.get("four")]).then(() => "deleted", () => "refused");
  check("without room", [outcome, full.chats.get("anna").map(({ id }) => id)], ["refused", ["four"]]);
  full.isOpen = true;
  full.pump();
  await soon();
  check("and what waits goes", sent, ["four"]);
}

/** An export keeps the order of the chats, and posts in their forums. */
async function checkExport(app, check) {
  const { nacl } = globalThis, { hex } = globalThis.apptimist;
  const pair = nacl.box.keyPair(), me = hex(pair.publicKey), anna = "a".repeat(64), forum = "f".repeat(64);
  const empty = () => Object.assign(sending(app).account, { reads: new Map(), isOpen: false });
  const old = Object.assign(empty(), {
    me, people: { forums: { [forum]: { state: "joined" } } },
    credentials: () => ({
      name: "me", encryptionSecret: hex(pair.secretKey), authenticationSeed: "0".repeat(64),
      service: { encryptionKey: "0".repeat(64), authenticationKey: "0".repeat(64) },
    }),
  });
  const id = (number) => String(number).repeat(128);
  for (const [number, order, chat, from] of [[1, 3, anna, me], [2, 1, anna, anna], [3, 2, forum, anna], [4, 4, forum, me]]) {
    old.messages.set(id(number), { id: id(number), order, chat, from, time: 1, text: `text ${number}` });
  }
  const account = empty();
  await account.take(JSON.parse(old.exported()));
  const texts = (chat) => account.chats.get(chat)?.map(({ text }) => text);
  check("an exported chat", texts(anna), ["text 2", "text 1"]);
  check("an exported forum", texts(forum), ["text 3", "text 4"]);
}
