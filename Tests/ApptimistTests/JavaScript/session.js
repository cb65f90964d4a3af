// Has devices of apptimist.js talk to each other through a running service.
//
// setup: url, document (service.json's), forumSecret (hex), escrow (hex: the forum's secret, sealed for the service).
"use strict";
async function talk(setup, nacl, apptimist) {
  const { bytes, hex, join, utf8, text } = apptimist, different = [];
  let count = 0;
  const expect = (is, name) => { count++; if (!is) different.push(name); };
  const pin = apptimist.pinOf(setup.document);
  const refusal = async (promise) => {
    try { await promise; return 0; } catch (error) { return error.code; }
  };

  // Keeps entries and state together, as a page would in one transaction.
  class Journal {
    constructor() { this.entries = []; this.keys = new Set(); this.waiters = []; }
    async load() { return this.state && JSON.parse(this.state); }
    async has(key) { return this.keys.has(key); }
    async append(entry, state) {
      this.state = JSON.stringify(state);
      if (!entry) return;
      this.entries.push(entry);
      entry.keys.forEach((key) => this.keys.add(key));
      this.waiters.splice(0).forEach((wake) => wake());
    }
    // The entry of a number, once it is there.
    async entry(index) {
      while (this.entries.length <= index) await new Promise((wake) => this.waiters.push(wake));
      return this.entries[index];
    }
  }
  const person = (name) => ({
    name, keys: { encryption: nacl.box.keyPair(), authentication: nacl.sign.keyPair() }, journal: new Journal(),
  });
  const device = (user, more = {}) => new apptimist.Device({
    url: setup.url, pin, keys: user.keys, journal: user.journal, account: user.isThere ? null : { name: user.name }, ...more,
  });
  const key = (user) => user.keys.encryption.publicKey;
  const [anne, bert, cleo, forum] = ["anne", "bert", "cleo", "forum"].map(person);
  forum.keys.encryption = nacl.box.keyPair.fromSecretKey(bytes(setup.forumSecret));
  const closed = nacl.box.keyPair();

  let anneAt = device(anne);
  const login = await anneAt.start();
  expect(login.epoch > 0n && login.start === 0n && login.flags & 1, "the first login's answer");
  const bertAt = device(bert, { forums: [closed] }), cleoAt = device(cleo);
  await Promise.all([bertAt.start(), cleoAt.start()]);
  for (const user of [anne, bert, cleo]) user.isThere = true;

  // A message; the same again, byte for byte, is queued once.
  const greeting = anneAt.seal(key(bert), utf8("hello bert"));
  const first = await anneAt.deliver(greeting), again = await anneAt.deliver(greeting);
  expect(!first.isKnown && again.isKnown, "known only the second time");
  const got = await bert.journal.entry(0);
  expect(text(got.content) === "hello bert" && got.sealing === 1, "a sealed message");
  expect(hex(got.id) === hex(greeting.id) && same(got.from, key(anne)), "its identifier and sender");
  expect(await refusal(anneAt.deliver(anneAt.seal(nacl.box.keyPair().publicKey, utf8("x")))) === 2, "nobody");

  // Another device of bert's has the same position; a truncation goes to the others.
  const otherJournal = new Journal();
  const otherAt = device(bert, { journal: otherJournal });
  await otherAt.start();
  const same0 = await otherJournal.entry(0);
  expect(same0.position === got.position && hex(same0.id) === hex(got.id), "one position for all devices");
  await otherAt.truncate(greeting.id);
  const truncation = await bert.journal.entry(1);
  expect(truncation.type === "truncation" && hex(truncation.id) === hex(greeting.id), "a truncation");

  // Anne is away: her first login afterwards brings what came, once, and nothing that she has.
  await bertAt.deliver(bertAt.seal(key(anne), utf8("one")));
  await anne.journal.entry(0);
  anneAt.stop();
  await bertAt.deliver(bertAt.seal(key(anne), utf8("two")));
  anneAt = device(anne);
  const second = await anneAt.start();
  expect(String(second.start) === "1", "the position that was kept");
  expect(text((await anne.journal.entry(1)).content) === "two", "what came meanwhile");

  // The connection breaks: what wasn't answered is sent again.
  const pending = anneAt.deliver(anneAt.seal(key(bert), utf8("through a broken connection")));
  anneAt.connection.socket.close();
  await pending;
  expect(text((await bert.journal.entry(2)).content) === "through a broken connection", "a retry");

  // Vouchers can be verified.
  await anneAt.vouch(key(bert));
  let vouchers = await cleoAt.vouchers(key(bert));
  expect(vouchers.length === 1 && vouchers[0].isVerified && same(vouchers[0].key, key(anne)), "a voucher");
  await anneAt.unvouch(key(bert));
  vouchers = await cleoAt.vouchers(key(bert));
  expect(vouchers.length === 0, "a voucher taken back");
  expect(await refusal(anneAt.vouch(key(anne))) === 1, "oneself");

  // Searches.
  const found = await cleoAt.searchByName("ann*");
  expect(found.some((user) => same(user.key, key(anne)) && user.kind === 1 && user.flags === 1), "a search by name");
  expect(await cleoAt.searchByKey(nacl.box.keyPair().publicKey) === null, "a search for nobody");

  // Files and locks.
  await anneAt.write(key(anne), "profile", utf8("{}"));
  expect(text(await bertAt.read(key(anne), "profile")) === "{}", "a file");
  expect(await refusal(bertAt.write(key(anne), "profile", utf8("x"))) === 1, "another's file");
  expect(await refusal(bertAt.read(key(anne), "none")) === 2, "no file");
  await anneAt.lock(key(anne), "profile");
  await anneAt.remove(key(anne), "profile");

  // A forum whose secret the service has: copies of kind 3, signed by their author.
  await anneAt.makeForum(forum.keys.encryption, forum.keys.authentication, "a forum");
  const group = key(forum);
  await anneAt.write(group, "subscribers", join(key(anne), key(bert), key(cleo)));
  await anneAt.write(group, "moderators", key(anne));
  await anneAt.write(group, "secret", bytes(setup.escrow));
  const post = anneAt.sealPost(group, utf8("to all"));
  expect(!(await anneAt.deliver(post)).isKnown && (await anneAt.deliver(post)).isKnown, "a post, once");
  const copy = await cleo.journal.entry(0);
  expect(text(copy.content) === "to all" && copy.sealing === 3 && copy.isSigned && copy.byModerator, "a copy");
  const forged = anneAt.sealPost(group, utf8("as bert"));
  expect(await refusal(bertAt.deliver({ ...forged, from: key(bert) })) === 6, "a post that does not open");

  // A forum whose readers share the secret: kind 2, unchanged.
  await anneAt.makeForum(closed, nacl.sign.keyPair(), "a closed forum");
  await anneAt.write(closed.publicKey, "subscribers", key(bert));
  await anneAt.deliver(anneAt.sealPost(closed.publicKey, utf8("to those who know")));
  let index = 3;
  while ((await bert.journal.entry(index)).sealing !== 2) index++;
  const shared = await bert.journal.entry(index);
  expect(text(shared.content) === "to those who know" && shared.isSigned && shared.byModerator === null, "a post");
  await anneAt.removeForum(closed.publicKey);
  expect(await refusal(anneAt.removeForum(key(bert))) === 1, "no forum");

  // Pausing.
  await bertAt.pauseStream();
  await anneAt.deliver(anneAt.seal(key(bert), utf8("later")));
  const before = bert.journal.entries.length;
  await bertAt.resumeStream();
  expect(text((await bert.journal.entry(before)).content) === "later", "what came while the stream was paused");
  expect(bert.journal.entries.every((entry) => !entry.refused), "nothing was refused");

  // Who has no account is refused, and another service is not talked to.
  const nobody = person("nobody");
  nobody.isThere = true;
  expect(await refusal(device(nobody).start()) === 2, "a login of nobody");
  const stranger = { ...pin, encryptionKey: nacl.box.keyPair().publicKey };
  const wrong = await new Promise((resolve) => {
    const lost = device(person("x"), { pin: stranger, status: (word) => { lost.stop(); resolve(word); } });
    lost.start().catch(() => {});
  });
  expect(wrong === "closed", "a service without the pinned key");
  for (const one of [anneAt, bertAt, cleoAt, otherAt]) one.stop();
  return { count, different };

  function same(a, b) { return hex(a) === hex(b); }
}
