// Compares exports with the vectors of people.json: `exports` is the app's module.
async function compare(exports, vectors) {
  const { bytes, hex } = globalThis.apptimist;
  const result = { count: 0, different: [] };
  const check = (name, holds) => { result.count++; if (!holds) result.different.push(name); };
  const { passphrase, same, iterations, salt, plain, file, refused } = vectors.export;
  const sealed = await exports.seal(passphrase, plain, bytes(salt), iterations);
  check("seals", hex(sealed) === file);
  check("opens", await exports.open(passphrase, bytes(file)) === plain);
  check("opens with the same", await exports.open(same, bytes(file)) === plain);
  check("another passphrase", await exports.open(`${passphrase}1`, bytes(file)) === null);
  for (const { why, file: bad } of refused ?? []) check(why, await exports.open(passphrase, bytes(bad)) === null);
  for (const end of [0, 1, 18, 19, 23, 54, 55, 70, 71, 72]) {
    check(`cut at ${end}`, await exports.open(passphrase, sealed.slice(0, end)) === null);
  }
  check("reads", exports.readExport(plain).account.name === "anna");
  const change = (edit) => { const object = JSON.parse(plain); edit(object); return exports.readExport(JSON.stringify(object)); };
  check("no account", change((object) => { delete object.account; }) === null);
  check("a short secret", change((object) => { object.account.encryptionSecret = "00"; }) === null);
  check("no service", change((object) => { delete object.account.service; }) === null);
  check("no messages", change((object) => { object.messages = {}; }) === null);
  check("bad messages", change((object) => { object.messages = [null, 1, {}, { time: -1 }]; }).messages.length === 0);
  const proposals = new Set(Array.from({ length: 20 }, exports.proposal));
  check("proposes", proposals.size === 20 && [...proposals].every((one) => /^\d{5}( \d{5}){5}$/.test(one)));
  check("long", exports.isLong(passphrase) && exports.isLong("a b c d e f g h i j k l") && !exports.isLong("short  pass"));
  return result;
}
