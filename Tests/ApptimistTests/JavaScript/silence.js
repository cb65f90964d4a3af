// A device in Node whose network swallows everything without a word: it notices, connects anew, and loses nothing.
//
// node silence.js APPTIMIST PORT: the path of apptimist.js, and the port of the service.
"use strict";
const net = require("node:net");
const [, , library, port] = process.argv;
const nacl = require("tweetnacl"), apptimist = require(library);
const { utf8, text } = apptimist;

// A way to the service that can go silent: connections stay open, and nothing passes.
class Way {
  constructor() {
    this.sockets = new Set();
    this.server = net.createServer((near) => {
      const far = net.connect(Number(port), "127.0.0.1"), pair = { isSilent: this.isSilent };
      this.sockets.add(pair);
      near.on("data", (data) => { if (!pair.isSilent) far.write(data); });
      far.on("data", (data) => { if (!pair.isSilent) near.write(data); });
      for (const [one, other] of [[near, far], [far, near]]) {
        one.on("error", () => {});
        one.on("close", () => { if (!pair.isSilent) other.destroy(); });
      }
    });
  }
  listen() { return new Promise((resolve) => this.server.listen(0, "127.0.0.1", () => resolve(this.server.address().port))); }
  silence() { for (const pair of this.sockets) pair.isSilent = true; }
}

function journal() {
  const entries = [], keys = new Set();
  let state;
  return {
    entries, load: async () => state && JSON.parse(state), has: async (key) => keys.has(key),
    append: async (entry, next) => {
      state = JSON.stringify(next);
      if (entry) { entries.push(entry); for (const key of entry.keys) keys.add(key); }
    },
  };
}

async function until(holds, what) {
  for (let i = 0; i < 600; i++) {
    if (holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`never: ${what}`);
}

(async () => {
  const document = await (await fetch(`http://127.0.0.1:${port}/siren/service.json`)).json(), pin = apptimist.pinOf(document);
  const way = new Way(), words = [];
  const device = (name, atPort, more) => new apptimist.Device({
    url: `ws://127.0.0.1:${atPort}/siren`, pin, journal: journal(), account: { name },
    keys: { encryption: nacl.box.keyPair(), authentication: nacl.sign.keyPair() }, ...more,
  });
  const bert = device("bert", port, {});
  const anne = device("anne", await way.listen(), {
    pingInterval: 200, pingTimeout: 2_000, status: (word) => words.push(word),
  });
  await Promise.all([anne.start(), bert.start()]);
  // A connection in use is left alone, for longer than a ping may be without an answer.
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const isLeftAlone = !words.includes("closed");

  way.silence();
  const sending = anne.deliver(anne.seal(bert.user, utf8("said into the silence")));
  await until(() => words.includes("closed"), "the silence is noticed");
  const { isKnown } = await sending;
  await bert.deliver(bert.seal(anne.user, utf8("and back")));
  await until(() => bert.journal.entries.length && anne.journal.entries.length, "both are there");
  console.log(JSON.stringify({
    isLeftAlone, isKnown,
    said: bert.journal.entries.map(({ content }) => text(content)), back: anne.journal.entries.map(({ content }) => text(content)),
  }));
  process.exit(0);
})().catch((error) => { console.error(error); process.exit(1); });
