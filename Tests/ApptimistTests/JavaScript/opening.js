// Has a device of apptimist.js open messages good and bad, without a service: what others look like is told by the test.
"use strict";
async function openMessages(nacl, apptimist) {
  const { hex, join, utf8, text } = apptimist, different = [];
  let count = 0;
  const expect = (is, name) => { count++; if (!is) different.push(name); };
  const pair = () => nacl.box.keyPair(), zero = new Uint8Array(64);
  const service = pair(), signing = nacl.sign.keyPair();
  const pin = {
    encryptionKey: service.publicKey, authenticationKey: signing.publicKey,
    signature: nacl.sign.detached(service.publicKey, signing.secretKey),
  };
  const [me, ann, group, nobody] = [pair(), pair(), pair(), pair()], annSigns = nacl.sign.keyPair();
  const journal = { entries: [], async load() {}, async has() { return false; }, async append() {} };
  const time = 1700000000n, content = utf8("a text");

  // A device that knows these accounts; `flags` by key in hex.
  const device = (flags = {}, more = {}) => {
    const one = new apptimist.Device({
      url: "ws://none", pin, journal, keys: { encryption: me, authentication: nacl.sign.keyPair() }, forums: [group], ...more,
    });
    one.state = { position: "0", closed: [], authentication: {} };
    one.moderators = async () => more.moderators || [];
    one.searchByKey = async (key) => {
      if (!more.users && hex(key) === hex(nobody.publicKey)) return null;
      const found = { key, authenticationKey: annSigns.publicKey, flags: flags[hex(key)] || 0 };
      if (found.flags & 1) one.sawClosed(key);
      return found;
    };
    return one;
  };
  const message = (to, from, recipient, eData) => {
    const m = { type: "message", position: 1n, time, recipient, to, from, eData };
    return { ...m, id: apptimist.messageID(m) };
  };
  const sealed = (kind, plain, { to = me.publicKey, from = ann, recipient = me.publicKey, sender = from, receiver = to } = {}) =>
    message(to, from.publicKey, recipient, apptimist.seal(
      kind, pin, sender, receiver, { to, from: from.publicKey, time }, plain));
  const post = (kind, { by = annSigns, signature, ...where } = {}) => {
    const to = group.publicKey, from = where.from || ann;
    const signed = signature
      || nacl.sign.detached(apptimist.postSigned(pin, to, from.publicKey, time, content), by.secretKey);
    const place = kind === 3 ? { sender: group, receiver: me.publicKey } : {};
    return sealed(kind, join(signed, content), { to, ...place, ...where });
  };
  const closedAnn = { [hex(ann.publicKey)]: 1 }, closedGroup = { [hex(group.publicKey)]: 1 };
  const opened = async (one, m, sealing, isSigned) => {
    const entry = await one.open(m);
    return Boolean(entry && !entry.refused && text(entry.content) === "a text" && entry.sealing === sealing
      && entry.isSigned === isSigned);
  };
  const refused = async (one, m) => Boolean((await one.open(m)).refused);

  // Messages to the user.
  expect(await opened(device(), sealed(1, content), 1, false), "a message");
  expect(await opened(device(closedAnn), sealed(1, content), 1, false), "a message of somebody without version 1");
  expect(await device().open(sealed(1, content, { recipient: ann.publicKey })) === null, "somebody else's message");
  expect(await device().open(sealed(1, content, { to: group.publicKey })) === null, "kind 1 in a forum");
  expect(await refused(device(), { ...sealed(1, content), time: time + 1n }), "another time");
  expect(await refused(device(), { ...sealed(1, content), from: nobody.publicKey }), "another sender");
  expect(await refused(device(), { ...sealed(1, content), eData: sealed(1, content).eData.slice(0, 60) }), "cut off");

  // Posts, for those who have the forum's secret, and copies.
  for (const kind of [2, 3]) {
    expect(await opened(device(), post(kind), kind, true), `a post of kind ${kind}`);
    expect(await refused(device(), post(kind, { by: nacl.sign.keyPair() })), `kind ${kind}, signed by another`);
    const bit = nacl.sign.detached(content, annSigns.secretKey);
    expect(await refused(device(), post(kind, { signature: bit })), `kind ${kind}, signed for something else`);
    expect(await refused(device(), post(kind, { from: nobody })), `kind ${kind} of nobody`);
    const both = [await device().open(post(kind)), await device().open(post(kind))];
    expect(both[0].keys[0] !== both[1].keys[0] && both[0].keys[1] === both[1].keys[1], `kind ${kind}, sealed twice`);
  }
  expect(await refused(device({}, { forums: [] }), post(2)), "a forum whose secret isn't known");
  expect(await refused(device(), post(2, { signature: zero })), "kind 2 without a signature");
  expect(await opened(device(), post(3, { signature: zero }), 3, false), "a copy of a post of version 1");
  expect(await refused(device(closedAnn), post(3, { signature: zero })), "such a copy of somebody without version 1");
  expect(await refused(device(closedGroup), post(3, { signature: zero })), "such a copy in a forum without it");
  const moderated = device({}, { moderators: [nobody.publicKey] });
  expect((await moderated.open(post(3))).byModerator === false, "a post by nobody of the moderators");
  expect((await device({}, { moderators: [ann.publicKey] }).open(post(3))).byModerator, "a moderator's post");

  // Version 1's boxes.
  const nonce = pin.signature.slice(0, 24);
  const old = message(
    me.publicKey, ann.publicKey, me.publicKey, nacl.box(content, nonce, me.publicKey, ann.secretKey));
  expect(await opened(device(), old, "version 1", false), "version 1's box");
  expect(await refused(device(closedAnn), old), "version 1's box of somebody without version 1");
  const forgetful = device();
  forgetful.sawClosed(ann.publicKey);
  expect(await refused(forgetful, old), "the same, where the service has forgotten it");
  const copy = message(
    group.publicKey, ann.publicKey, me.publicKey, nacl.box(content, nonce, me.publicKey, group.secretKey));
  expect(await opened(device(), copy, "version 1", false), "version 1's copy");
  expect(await refused(device(closedGroup), copy), "version 1's copy in a forum without version 1");
  const escrowed = { [hex(group.publicKey)]: 3 };
  expect(await opened(device(escrowed), copy, "version 1", false), "the same, where the service has the secret");
  const closedReader = device(escrowed);
  closedReader.sawClosed(me.publicKey);
  expect(await refused(closedReader, copy), "the same, for a reader without version 1");

  // The authentication key that was seen first is the one that counts.
  const one = device();
  const other = nacl.sign.keyPair().publicKey;
  expect(one.firstKey(ann.publicKey, annSigns.publicKey) === hex(annSigns.publicKey), "a first key");
  expect(one.firstKey(ann.publicKey, other) === hex(annSigns.publicKey), "another key later");

  // By Python's hashlib.
  const nonce12 = apptimist.tokenNonce({
    encryption: { publicKey: new Uint8Array(32).fill(1) }, authentication: { publicKey: new Uint8Array(32).fill(2) },
  });
  expect(nonce12 === "9973879bd5d453bfeb0e9de444347378f4feb924951c03a0a87736b5bece4b0f", "the nonce of ID tokens");
  return { count, different };
}
if (typeof module === "object") module.exports = openMessages;
