// Names that look alike: `names` is the app's module of that name.
async function compare(names) {
  const result = { count: 0, different: [] };
  const check = (one, other, isAlike) => {
    result.count++;
    const found = names.skeleton(one) === names.skeleton(other);
    if (found !== isAlike) result.different.push(`${one} ${other}`);
  };
  for (const other of [
    "BERT", "b\u200bert", "bert\ufe0f", "b\u034fert", "bert\u3164", "bert\u2800", " bert ", "\u0432ert", "b\u0435rt", "\uff42ert",
    "be\u202ert", "bert\u{e0041}", "b-ert", "b\u00e9rt", "bert\u00a0", "\u{1d41b}ert", "be.rt", "\u0412ert",
  ]) check("bert", other, true);
  check("Bill", "Bi11", true);
  // Cyrillic, Greek, Cherokee, Lisu, Coptic and Canadian letters.
  for (const other of [
    "\u0456sabel", "\u0406sabel", "\u03b9sabel", "\u0457sabel", "is\u13aabel", "isabe\ua4e1", "isa\u15afel",
    "\u{10320}sabel",
  ]) check("Isabel", other, true);
  check("Isabel", "Isobel", false);
  check("Helen", "\u0397elen", true);
  check("Mary", "\u039cary", true);
  check("Mother", "rnother", true);
  for (const other of ["bart", "berta", "ert", "\u05d1\u05e8\u05d8", "robert"]) check("bert", other, false);
  return result;
}
