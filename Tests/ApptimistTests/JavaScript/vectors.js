// Holds apptimist.js against the vectors of version 2. `vectors` is the file; the result is a list of what differs, and how
// much was compared.
"use strict";
function compare(vectors, nacl, apptimist) {
  const { bytes, hex, uint, join } = apptimist, { keys } = vectors, different = [];
  let count = 0;
  const expect = (is, name) => { count++; if (!is) different.push(name); };
  const equal = (value, wanted, name) => expect(hex(value) === wanted, name);
  const pair = (key) => nacl.box.keyPair.fromSecretKey(bytes(key.encryptionSecret || key.secret));
  const signing = (key) => nacl.sign.keyPair.fromSeed(bytes(key.authenticationSeed)).secretKey;
  const opens = (box, n, key) => nacl.secretbox.open(box, apptimist.counterNonce(BigInt(n)), key);
  const pin = { encryptionKey: bytes(keys.service.encryptionKey), authenticationKey: bytes(keys.service.authenticationKey) };
  const anne = pair(keys.anne), { proofs } = vectors;

  const document = { encryptionKey: keys.service.encryptionKey, ...vectors.service };
  expect(apptimist.speaksVersion2(document, pin), "signature2");
  for (const change of [{ versions: [1] }, { versions: [1, 2, 3] }, { signature2: "00".repeat(64) }]) {
    expect(!apptimist.speaksVersion2({ ...document, ...change }, pin), "signature2 of something else");
  }

  // What libsodium refuses is refused: an S that isn't reduced, and keys and points of small order.
  const said = apptimist.utf8("said"), signer = nacl.sign.keyPair.fromSeed(new Uint8Array(32).fill(7));
  const signature = nacl.sign.detached(said, signer.secretKey), order = (1n << 252n) + 27742317777372353535851937790883648493n;
  const little = (part) => part.reduceRight((value, byte) => value << 8n | BigInt(byte), 0n);
  const larger = join(signature.slice(0, 32), uint(little(signature.slice(32)) + order, 32).reverse());
  expect(apptimist.isSigned(said, signature, signer.publicKey), "a signature");
  expect(!apptimist.isSigned(apptimist.utf8("other"), signature, signer.publicKey), "a signature of something else");
  expect(nacl.sign.detached.verify(said, larger, signer.publicKey), "TweetNaCl takes an S that isn't reduced");
  expect(!apptimist.isSigned(said, larger, signer.publicKey), "an S that isn't reduced");
  const small = join(Uint8Array.of(1), new Uint8Array(31)), zero = join(small, new Uint8Array(32));
  expect(nacl.sign.detached.verify(said, zero, small), "TweetNaCl takes a key of small order");
  expect(!apptimist.isSigned(said, zero, small), "a key of small order");

  const e = pair(keys.deviceEphemeral), f = bytes(keys.serviceEphemeral.key);
  const made = vectors.handshakes.map(({ offered }) => apptimist.handshake(pin, e, f, offered));
  vectors.handshakes.forEach((wanted, i) => {
    equal(made[i].h, wanted.h, `h ${i}`);
    equal(made[i].deviceKey, wanted.deviceKey, `deviceKey ${i}`);
    equal(made[i].serviceKey, wanted.serviceKey, `serviceKey ${i}`);
    const clear = opens(bytes(wanted.firstMessage).slice(32), 0, made[i].serviceKey);
    expect(clear && hex(clear) === wanted.helloFrame, `hello ${i}`);
    equal(apptimist.unframe(clear).header, wanted.helloHeader, `hello's header ${i}`);
  });
  const [{ h, deviceKey, serviceKey }] = made;

  equal(apptimist.possession(anne, f, h), proofs.possession.value, "possession");
  const login = apptimist.loginSigned(h, anne.publicKey);
  equal(login, proofs.login.signed, "login");
  equal(apptimist.leaveSigned(h, anne.publicKey), proofs.leave.signed, "leave");
  equal(nacl.sign.detached(login, signing(keys.anne)), proofs.login.signature, "login's signature");
  equal(
    apptimist.newSigned(h, anne.publicKey, bytes(keys.anne.authenticationKey)), proofs.new.signed, "new");
  equal(apptimist.vouchSigned(pin, anne.publicKey, bytes(keys.bert.encryptionKey)), proofs.vouch.signed, "vouch");

  const secrets = new Map(Object.values(keys).map((key) => [key.encryptionKey || key.key, pair(key)]));
  for (const sealed of vectors.sealed) {
    const { name } = sealed, content = sealed.content && bytes(sealed.content);
    const m = {
      time: BigInt(sealed.time), recipient: bytes(sealed.recipientPubEncrKey), to: bytes(sealed.toPubEncrKey),
      from: bytes(sealed.fromPubEncrKey), eData: bytes(sealed.eData),
    };
    const g = nacl.box.keyPair.fromSecretKey(bytes(sealed.gSecret)), receiver = bytes(sealed.receiver);
    equal(
      apptimist.seal(sealed.kind, pin, secrets.get(sealed.sender), receiver, m, bytes(sealed.plain), g), sealed.eData, name);
    const plain = apptimist.unseal(
      pin, nacl.box.keyPair.fromSecretKey(bytes(sealed.receiverSecret)), bytes(sealed.sender), m);
    expect(plain && hex(plain) === sealed.plain, `opening ${name}`);
    equal(apptimist.messageID(m), sealed.messageID, `the identifier of ${name}`);
    expect(apptimist.sealingOf(m.eData) === sealed.kind, `the kind of ${name}`);
    if (!sealed.signed) continue;
    const signed = apptimist.postSigned(pin, m.to, m.from, m.time, content);
    equal(signed, sealed.signed, `what is signed of ${name}`);
    expect(nacl.sign.detached.verify(signed, bytes(sealed.signature), bytes(sealed.signer)), `the signature of ${name}`);
  }
  for (const pdu of vectors.pdus) {
    const frame = apptimist.frame(bytes(pdu.header), bytes(pdu.data));
    equal(frame, pdu.frame, `the frame of ${pdu.name}`);
    const [fields, data] = {
      push: () => apptimist.pushFields(
        "fcm", bytes(pdu.data).slice(0, 40), { tag: bytes("0102030405060708"), keys: [bytes(keys.bert.encryptionKey)] }),
      "push of a browser": () => apptimist.pushFields("web", apptimist.webAddress({
        getKey: (name) => bytes(pdu.data).slice(...name === "auth" ? [65, 81] : [0, 65]), endpoint: "https://push.example/wake",
      }), { isChosen: true, keys: [bytes(keys.bert.encryptionKey), bytes(keys.forum.encryptionKey)] }),
      "push that unbinds": () => apptimist.pushFields(),
    }[pdu.name]?.() || [];
    if (fields) equal(join(fields, data), pdu.header.slice(12) + pdu.data, `the fields of ${pdu.name}`);
    const key = pdu.sender === "device" ? deviceKey : serviceKey;
    equal(nacl.secretbox(frame, apptimist.counterNonce(BigInt(pdu.n)), key), pdu.box, `the box of ${pdu.name}`);
  }

  const fails = (body) => { try { return body() === null; } catch { return true; } };
  const refusals = {
    box: (v) => fails(() => opens(bytes(v.box), v.n, bytes(v.key))),
    "first message": (v) => {
      const message = bytes(v.firstMessage);
      return fails(() => opens(
        message.slice(32), 0, apptimist.handshake(pin, e, message.slice(0, 32), v.offered).serviceKey));
    },
    frame: (v) => fails(() => apptimist.unframe(bytes(v.frame))),
    // TweetNaCl takes a second form of a signature, which does no harm.
    signature: (v) => v.reason.endsWith("S is not reduced")
      || !nacl.sign.detached.verify(bytes(v.signed), bytes(v.signature), bytes(v.key)),
    sealed: (v) => {
      const m = { time: BigInt(v.time), to: bytes(v.toPubEncrKey), from: bytes(v.fromPubEncrKey), eData: bytes(v.eData) };
      if (apptimist.sealingOf(m.eData) !== v.kind) return true;
      const plain = apptimist.unseal(
        pin, nacl.box.keyPair.fromSecretKey(bytes(v.receiverSecret)), bytes(v.sender), m);
      if (plain === null || !v.opens) return plain === null;
      const signed = apptimist.postSigned(pin, m.to, m.from, m.time, plain.slice(64));
      return !nacl.sign.detached.verify(signed, plain.slice(0, 64), bytes(v.signer));
    },
  };
  for (const vector of vectors.refuse) {
    const refuses = refusals[vector.what];
    // What only a service takes is not looked at.
    if (refuses) expect(refuses(vector), `${vector.what}: ${vector.reason}`);
  }
  return { count, different };
}
if (typeof module === "object") module.exports = compare;
