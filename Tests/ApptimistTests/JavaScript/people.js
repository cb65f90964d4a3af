// Compares what the web app computes with the vectors of people.json: `people` is the app's module.
async function compare(people, vectors) {
  const { bytes, hex } = globalThis.apptimist;
  const result = { count: 0, different: [] };
  const check = (name, holds) => { result.count++; if (!holds) result.different.push(name); };
  const pin = { encryptionKey: bytes(vectors.service.encryptionKey) };
  const user = (name) => {
    const { encryptionKey, authenticationKey } = vectors.users[name];
    return { key: bytes(encryptionKey), authenticationKey: bytes(authenticationKey) };
  };
  for (const { a, b, number } of vectors.safetyNumbers) {
    check(`${a} ${b}`, people.safetyNumber(pin.encryptionKey, user(a), user(b)) === number);
  }
  const file = vectors.privateFile;
  const pair = nacl.box.keyPair.fromSecretKey(bytes(vectors.users[file.user].encryptionSecret));
  const sealed = people.sealFile(pin, pair, file.name, file.plain, bytes(file.salt));
  check("seals", hex(sealed) === file.content);
  check("opens", people.openFile(pin, pair, file.name, bytes(file.content)) === file.plain);
  check("reads", people.sorted(people.readPeople(file.plain)) === file.plain);
  for (const { why, content } of file.refused) {
    check(why, people.openFile(pin, pair, file.name, bytes(content)) === null);
  }
  for (let end = 0; end < 60; end++) {
    check(`cut at ${end}`, people.openFile(pin, pair, file.name, sealed.slice(0, end)) === null);
  }
  for (const { a, b, merged } of vectors.merge) {
    check("merges", people.sorted(people.merge(a, b)) === people.sorted(merged));
    check("merges the other way", people.sorted(people.merge(b, a)) === people.sorted(merged));
    check("merges again", people.sorted(people.merge(merged, a)) === people.sorted(merged));
  }
  for (const text of ["", "[]", "null", "1", "{\"people\":[]}", "{\"people\":{\"k\":1}}", "{\"forums\":null}"]) {
    check(`refuses ${text}`, people.readPeople(text) === null);
  }
  return result;
}
