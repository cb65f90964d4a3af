// Reads contents as others may have written them: `contents` is the app's module of that name, `vectors` are people.json's.
async function compare(contents, vectors) {
  const result = { count: 0, different: [] };
  const utf8 = (text) => new TextEncoder().encode(text);
  const check = (bytes, expected) => {
    result.count++;
    const read = JSON.stringify(contents.readContent(bytes));
    if (read !== JSON.stringify(expected)) result.different.push(read.slice(0, 200));
  };
  const byKeys = (object) => Object.fromEntries(Object.keys(object).sort().map((key) => [key, object[key]]));
  const sorted = (value) => JSON.stringify(value, (_, part) => part && typeof part === "object" && !Array.isArray(part) ? byKeys(part) : part);
  for (const { content, members } of vectors.contents.read) {
    result.count++;
    const read = contents.readContent(utf8(content), 1);
    // An edit counts by the time of its message.
    if (read.edit) delete read.edit.time;
    if (sorted(read) !== sorted(members)) result.different.push(`${content.slice(0, 200)}: ${sorted(read).slice(0, 200)}`);
  }
  check(utf8("plain"), { text: "plain" });
  for (const text of ["", "1", "null", "[]", "\"text\"", "{", "{\"text\":1"]) check(utf8(text), { text });
  check(Uint8Array.of(0xff, 0xfe), {});
  check(utf8("{\"id\":\"0123456789abcdef\",\"text\":\"hello\"}"), { text: "hello" });
  for (const text of [
    "{}", "{\"text\":1}", "{\"text\":{\"toString\":1}}", "{\"takenBack\":1}", "{\"takenBack\":\"00\"}", "{\"sent\":[]}",
    "{\"changed\":\"other\"}", "{\"unknown\":\"x\"}", "{\"__proto__\":{\"text\":\"x\"}}",
  ]) check(utf8(text), {});
  const file = { name: "a.png", type: "image/png", size: 1, file: "00".repeat(16), key: "00".repeat(32) };
  check(utf8(JSON.stringify({ file: { ...file, other: 1 } })), { file });
  for (const change of [
    { name: 1 }, { type: null }, { size: -1 }, { size: "1" }, { file: "../secret" }, { file: ".people" }, { key: "00" },
  ]) check(utf8(JSON.stringify({ file: { ...file, ...change } })), {});
  const sent = { to: "00".repeat(32), time: 1, messageID: "00".repeat(64), content: "{}" };
  check(utf8(JSON.stringify({ sent })), { sent });
  for (const change of [
    { to: "00" }, { to: "ZZ".repeat(32) }, { time: -1 }, { time: 1.5 }, { time: "1" }, { time: 1e300 }, { messageID: "" },
    { content: 1 },
  ]) check(utf8(JSON.stringify({ sent: { ...sent, ...change } })), {});
  const invitation = { forum: "00".repeat(32), secret: "11".repeat(32), name: "<b>" };
  check(utf8(JSON.stringify({ invitation, text: "x" })), { text: "x", invitation });
  for (const change of [{ forum: "00" }, { secret: 1 }, { secret: "ZZ".repeat(32) }, { name: null }, { name: ["x"] }]) {
    check(utf8(JSON.stringify({ invitation: { ...invitation, ...change } })), {});
  }
  const published = { from: "00".repeat(32), time: 1, signature: "00".repeat(64), content: "{}" };
  check(utf8(JSON.stringify({ published })), { published });
  for (const change of [{ from: "" }, { time: -1 }, { time: 2 ** 60 }, { signature: "00" }, { content: {} }]) {
    check(utf8(JSON.stringify({ published: { ...published, ...change } })), {});
  }
  for (const name of ["left", "mayIRead"]) {
    check(utf8(JSON.stringify({ [name]: "00".repeat(32) })), { [name]: "00".repeat(32) });
    for (const bad of [1, "", "00", ["00".repeat(32)], "AA".repeat(32)]) check(utf8(JSON.stringify({ [name]: bad })), {});
  }
  const id = "00".repeat(64), reply = { to: id, text: "what was said" };
  check(utf8(JSON.stringify({ text: "x", reply })), { text: "x", reply });
  for (const change of [{ to: "00" }, { text: 1 }]) check(utf8(JSON.stringify({ reply: { ...reply, ...change } })), {});
  for (const emoji of ["👍", "❤️", "👩‍👩‍👧", "🇩🇪", ""]) check(utf8(JSON.stringify({ reaction: { to: id, emoji } })), { reaction: { to: id, emoji } });
  for (const emoji of ["👍👍", "x", "👍 ", 1, null]) check(utf8(JSON.stringify({ reaction: { to: id, emoji } })), {});
  // An edit counts by the time of its message.
  check(utf8(JSON.stringify({ edit: { of: id, text: "y" } })), {});
  const pieces = ["11".repeat(16), "22".repeat(16)], digest = "33".repeat(32);
  check(utf8(JSON.stringify({ file: { ...file, pieces, digest } })), { file: { ...file, pieces, digest } });
  for (const change of [{ pieces: [] }, { pieces: ["x"] }, { digest: "00" }, { size: 2 ** 40 }]) {
    check(utf8(JSON.stringify({ file: { ...file, pieces, digest, ...change } })), {});
  }
  const thumbnail = btoa("x".repeat(16_384));
  check(utf8(JSON.stringify({ file: { ...file, thumbnail } })), { file: { ...file, thumbnail } });
  check(utf8(JSON.stringify({ file: { ...file, thumbnail: btoa("x".repeat(16_390)) } })), { file });
  const long = "é".repeat(40_000);
  check(utf8(JSON.stringify({ text: long })), { text: `${"é".repeat(32_768)}…` });
  const [one, other] = [contents.contentOf({ text: "x" }), contents.contentOf({ text: "x" })];
  result.count++;
  if (one === other || !/^\{"id":"[0-9a-f]{16}","text":"x"\}$/.test(one)) result.different.push(one);
  // A clock that is ahead, or one that is late, says nothing of when it came.
  for (const [message, moment] of [[{ time: 5, came: 7 }, 5], [{ time: 50, came: 7, doubt: "ahead" }, 7], [{ time: 5, came: 7, doubt: "late" }, 7],
    [{ time: 5, doubt: "late" }, 5]]) {
    result.count++;
    if (contents.momentOf(message) !== moment) result.different.push(`moment ${JSON.stringify(message)}`);
  }
  return result;
}
