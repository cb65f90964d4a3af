// Names and bytes of files as others may have sent them: `files` is the app's module of that name.
async function compare(files) {
  const { bytes, hex } = globalThis.apptimist;
  const result = { count: 0, different: [] };
  const check = (name, holds) => { result.count++; if (!holds) result.different.push(name); };
  for (const [name, saved] of [
    ["a.png", "a.png"], ["", "file"], ["..", "file"], ["...", "file"], ["a/", "file"], ["\0\n", "file"], [".bashrc", "bashrc"],
    ["../../etc/passwd", "passwd"], ["C:\\x\\y.txt", "y.txt"], ["..\\..\\x", "x"], ["a\0b\r\nc", "abc"],
    ["\u202egpj.exe", "gpj.exe"], ["x\u2028y\u2029z", "xyz"], ["\u200bx", "x"], ["<b>x</b>.html", "b>.html"],
    ["\"><img>.png", "\"><img>.png"], [" x ", "x"], ["x".repeat(300), "x".repeat(100)],
    ["\u{1f600}".repeat(200), "\u{1f600}".repeat(100)],
    [" .bashrc", "bashrc"], [" . ", "file"],
  ]) check(`the name ${JSON.stringify(name)}`, files.savedName(name) === saved);
  const plain = new Uint8Array(100).fill(7);
  const { about, parts: [{ data }] } = await files.seal(new File([plain], "../x\u202e.bin", { type: "text/html" }), 100);
  check("what is said", about.name === "x.bin" && about.size === 100 && /^[0-9a-f]{32}$/.test(about.file));
  check("opens", hex(files.open(about, data)) === hex(plain));
  for (let length = 0; length < data.length; length++) check(`${length} bytes`, files.open(about, data.slice(0, length)) === null);
  check("a byte more", files.open(about, Uint8Array.of(...data, 0)) === null);
  for (const place of [0, 15, 16, data.length - 1]) {
    const changed = data.slice();
    changed[place] ^= 1;
    check(`another byte at ${place}`, files.open(about, changed) === null);
  }
  const other = bytes(about.key);
  other[0] ^= 1;
  check("another key", files.open({ key: hex(other) }, data) === null);
  const refusal = (content, type, max) => files.seal(new File([content], "x", { type }), max, max).then(() => "", ({ message }) => message);
  check("too long", (await refusal(plain, "text/plain", 99)).startsWith("A file has at most"));
  // What no browser can draw is sent as a file, which none tries to draw.
  for (const type of ["image/png", "image/jpeg", "image/webp"]) {
    const sent = await files.seal(new File(["<svg onload='1'>"], "x", { type }), 100);
    check(`no ${type}`, sent.about.type === "application/octet-stream" && sent.about.size === 16 && sent.about.thumbnail === undefined);
  }
  // In pieces: nothing is shown before all are there, in their order, and the whole is what was said.
  const long = Uint8Array.from({ length: 250 }, (_, i) => i), whole = await files.seal(new File([long], "long.bin"), 100);
  const boxes = whole.parts.map((part) => part.data);
  check("three pieces", whole.about.pieces?.length === 3 && whole.about.size === 250 && /^[0-9a-f]{64}$/.test(whole.about.digest));
  check("pieces open", hex(await files.openPieces(whole.about, boxes)) === hex(long));
  check("a piece is missing", await files.openPieces(whole.about, boxes.slice(0, 2)) === null);
  check("another order", await files.openPieces(whole.about, [boxes[1], boxes[0], boxes[2]]) === null);
  check("another digest", await files.openPieces({ ...whole.about, digest: "00".repeat(32) }, boxes) === null);
  const equal = await files.seal(new File([new Uint8Array(200)], "same"), 100);
  check("equal pieces are sealed apart", hex(equal.parts[0].data) !== hex(equal.parts[1].data));
  return result;
}
