// What people type to find others: `terms` is the app's module of that name.
async function compare(terms) {
  const result = { count: 0, different: [] };
  const base = "https://chat.example/siren", key = "0a".repeat(32), address = `0x${"Ab".repeat(20)}`;
  const check = (typed, expected) => {
    result.count++;
    const found = terms.readTerm(typed, base, [1, 10]);
    const seen = found?.why ? "why" : found;
    if (JSON.stringify(seen) !== JSON.stringify(expected)) result.different.push(`${typed} ${JSON.stringify(found)}`);
  };
  const uid = (chain) => `eip155:${chain}:${address.toLowerCase()}`;
  for (const typed of ["", " ", "\n"]) check(typed, null);
  check(key, { key });
  check(` ${key.toUpperCase()} `, { key });
  check(key.match(/.{4}/g).join(" "), { key });
  check(`0x${key}`, { key });
  check(`${base}/app/#chat=${key}`, { key });
  check(`https://chat.example/siren/app#chat=${key}`, { key });
  check(address, { uids: [uid(1), uid(10)] });
  check(`ethereum:${address}`, { uids: [uid(1), uid(10)] });
  check(`ethereum:${address}@10`, { uids: [uid(10)] });
  check(`eip155:10:${address}`, { uids: [uid(10)] });
  check(" bert ", { name: "bert" });
  check("ab", { name: "ab" });
  check("\u5f20\u4e09", { name: "\u5f20\u4e09" });
  for (const typed of [
    "a", "\u5f20", "anna.eth", "0x12", `${address}0`, `https://other.example/siren/app/#chat=${key}`, "https://chat.example/siren/app/",
    "https://chat.example/siren/app/#chat=00", "https://[", `https://chat.example/other/app/#chat=${key}`,
  ]) check(typed, "why");
  return result;
}
