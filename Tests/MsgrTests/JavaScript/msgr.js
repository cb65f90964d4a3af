// The module that pages of every origin may use: requests that get no answer, and how long messages may be.
async function compare(module) {
  const { isTooLong, Msgr } = module, result = { count: 0, different: [] };
  const check = (name, found, expected) => {
    result.count++;
    if (JSON.stringify(found) !== JSON.stringify(expected)) result.different.push(`${name} ${JSON.stringify(found)}`);
  };
  for (const [text, expected] of [
    ["", false], ["x", false], ["x".repeat(3_000), false], ["x".repeat(4_097), true], ["ü".repeat(1_900), false], ["ü".repeat(3_800), true],
    ["😀".repeat(950), false], ["😀".repeat(1_900), true], ["\n".repeat(1_900), false], ["\n".repeat(3_000), true], ["\"".repeat(3_000), true],
  ]) check(`${text[0]} ${text.length}`, isTooLong("anna", text), expected);
  check("a long name", isTooLong("n".repeat(64), "x".repeat(3_900)), true);

  const { fetch } = window;
  const respond = (answer) => { window.fetch = answer; };
  const outcome = (asked) => asked.then((body) => body, ({ status }) => status);
  const msgr = new Msgr("./", "00");
  try {
    // Nothing ever comes: the request ends by the time that it has.
    const silent = (url, { signal }) => new Promise((resolve, reject) => signal.addEventListener("abort", () => reject(new TypeError())));
    respond(silent);
    check("no answer in time", await outcome(msgr.post("contacts", {}, 50)), 0);
    // What was begun before a time and may be made again is given up, and nothing else.
    const given = outcome(msgr.post("message")), kept = outcome(msgr.post("add", {}, 500)), later = new Date().getTime() + 1;
    msgr.giveUpStuck(later);
    check("given up", await Promise.race([given, kept.then(() => "kept")]), 0);
    check("kept until its time", await kept, 0);
    const fresh = outcome(msgr.post("message", {}, 300)).then(() => "ended");
    msgr.giveUpStuck();
    check("just begun", await Promise.race([fresh, new Promise((resolve) => setTimeout(resolve, 100, "under way"))]), "under way");
    await fresh;
    check("nothing is under way", msgr.requests.size, 0);
    // What comes in the server's place, and what breaks off, is no answer.
    for (const [text, status, expected] of [
      ["<html>Welcome to the hotel</html>", 200, 0], ["{\"Id\":\"01", 200, 0], ["{\"Id\":\"01\"}", 200, { Id: "01" }], ["", 200, 0],
      ["[]", 200, []], ["<html>", 502, 502], ["{\"error\":\"no\"}", 403, 403],
    ]) {
      respond(async () => new Response(text, { status }));
      check(`${status} ${text}`, await outcome(msgr.post("contacts")), expected);
    }
  } finally {
    window.fetch = fetch;
  }
  return result;
}
