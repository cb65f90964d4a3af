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
  const { about, data } = await files.seal(new File([plain], "../x\u202e.bin", { type: "text/html" }), 100);
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
  const refusal = (content, type, max) => files.seal(new File([content], "x", { type }), max).then(() => "", ({ message }) => message);
  check("too long", (await refusal(plain, "text/plain", 99)).startsWith("A file has at most"));
  for (const type of ["image/png", "image/jpeg", "image/webp"]) {
    check(`no ${type}`, (await refusal("<svg onload='1'>", type, 1e6)).startsWith("This is no picture"));
  }
  return result;
}
