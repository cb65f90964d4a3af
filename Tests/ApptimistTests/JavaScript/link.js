// Compares linking with the vectors of people.json: `links` is the app's module.
async function compare(links, vectors) {
  const { bytes, hex } = globalThis.apptimist;
  const result = { count: 0, different: [] };
  const check = (name, holds) => { result.count++; if (!holds) result.different.push(name); };
  const { r: secret, code, slot, newSecret, oldSecret, name, part1, digits, account, part2, refused } = vectors.linking;
  const r = bytes(secret), pair = nacl.box.keyPair.fromSecretKey(bytes(newSecret));
  const old = nacl.box.keyPair.fromSecretKey(bytes(oldSecret));
  check("code", `#link=${links.codeOf(r)}` === code);
  check("reads the code", hex(links.readCode(code.slice(6))) === secret);
  for (const bad of ["", code, code.slice(7), `${code.slice(6)}A`, `${code.slice(6, -1)}=`, `${code.slice(6, -1)}Z`, `${code.slice(6, -1)}/`]) {
    check(`refuses ${bad}`, links.readCode(bad) === null);
  }
  check("slot", links.slotOf(r) === slot);
  check("part 1", hex(links.request(r, pair, name)) === part1);
  const read = links.readRequest(r, bytes(part1));
  check("reads part 1", read.name === name && hex(read.key) === hex(pair.publicKey));
  check("digits", links.digitsOf(r, pair.publicKey) === digits);
  check("part 2", hex(links.answer(r, pair.publicKey, account, old)) === part2);
  check("reads part 2", links.readAnswer(r, pair, bytes(part2)) === account);
  for (const { why, part2: bad } of refused) check(why, links.readAnswer(r, pair, bytes(bad)) === null);
  check("another code", links.readRequest(nacl.randomBytes(32), bytes(part1)) === null);
  for (const end of [0, 1, 31, 32, 47, 48, 49]) {
    check(`part 1 cut at ${end}`, links.readRequest(r, bytes(part1).slice(0, end)) === null);
    check(`part 2 cut at ${end}`, links.readAnswer(r, pair, bytes(part2).slice(0, end)) === null);
  }
  for (const bad of ["", "x".repeat(65)]) check("a bad name", links.readRequest(r, links.request(r, pair, bad)) === null);
  // A key of low order agrees on nothing.
  const low = bytes(part2).fill(0, 0, 32);
  check("a key of low order", links.readAnswer(r, pair, low) === null);
  return result;
}
