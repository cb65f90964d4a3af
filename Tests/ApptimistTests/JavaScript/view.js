// Where web addresses end, and which lead nowhere: `view` is the apps' module of that name.
async function compare(view) {
  const result = { count: 0, different: [] };
  const check = (text, expected) => {
    result.count++;
    const found = view.linked(text).filter((part) => typeof part !== "string").map((link) => link.getAttribute("href"));
    const whole = view.linked(text).map((part) => part.textContent ?? part).join("");
    if (JSON.stringify(found) !== JSON.stringify(expected) || whole !== text) result.different.push(`${text} ${found}`);
  };
  for (const end of [".", ",", ";", ":", "!", "?", "…", ")", "]", "\"", "'", "\u201d", "\u3002", "\u{1f600}", ")."]) {
    check(`https://example.org/a${end}`, ["https://example.org/a"]);
  }
  // Emoji of several signs, and punctuation that has no space behind it.
  for (const end of [
    "\u{1f1e9}\u{1f1ea}", "\u{1f44d}\u{1f3fd}", "\u3002\u3088\u308d\u3057\u304f", "\uff0c\u8c22\u8c22", "\u300d\u3092", "\uff09", "\u300b",
    "\u060c", "\u061f", "\u06d4", "\u0964", "`", "*", "**", "\u200f", "\u200e \u05d0",
  ]) check(`https://example.org/a${end}`, ["https://example.org/a"]);
  for (const end of ["\u3002\u3088\u308d\u3057\u304f", "\uff0c\u8c22\u8c22", "\u3092\u898b\u3066", "\u8bf7\u770b", "?"]) {
    check(`https://example.org${end}`, ["https://example.org"]);
  }
  check("https://example.org/1\ufe0f\u20e3", ["https://example.org/1"]);
  check("https://ja.example/wiki/\u65e5\u672c", ["https://ja.example/wiki/\u65e5\u672c"]);
  check("https://\u65e5\u672c.example/", ["https://\u65e5\u672c.example/"]);
  check("https://example.\u4e2d\u56fd/", ["https://example.\u4e2d\u56fd/"]);
  // A mark of direction outside of the address changes nothing of it.
  check("\u200f\u05e9\u05dc\u05d5\u05dd https://example.org/a", ["https://example.org/a"]);
  check("https://[::1]:8080/x http://127.0.0.1:8080/x.", ["https://[::1]:8080/x", "http://127.0.0.1:8080/x"]);
  check("https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444:8080/", ["https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444:8080/"]);
  check("https://en.example/wiki/Blur_(band)", ["https://en.example/wiki/Blur_(band)"]);
  check("(https://en.example/wiki/Blur_(band))", ["https://en.example/wiki/Blur_(band)"]);
  check("http://a.example/ https://b.example/?q=1&r=2#x", ["http://a.example/", "https://b.example/?q=1&r=2#x"]);
  check("https://example.org/a\u2764\ufe0f", ["https://example.org/a"]);
  check("\u{1f468}\u200d\u{1f469} https://example.org/", ["https://example.org/"]);
  check("https://b\u00fccher.example/", ["https://b\u00fccher.example/"]);
  check("https://example.org/@user/x@y", ["https://example.org/@user/x@y"]);
  for (const text of [
    "https://user:pass@example.com", "https://user@example.com/", "http://example.com&login=x@77777777", "https://www.a\u043cazon.com/",
    "https://www.\u03b1pple.com", "https://example.com/\u202egpj.exe", "javascript:alert(1)", "data:text/html,x", "https://", "ftp://x.example",
    "https://\u0430\u0440\u0440\u04cf\u0435.com/", "https://example.com/\u200bx", "https://ex\u00adample.com/", "https://example.com/\ufeffx",
    "https://a\u200db.example/", "https://example.com/\u2060", "https://example.com/\u3164", "https://example.com/\u{e0041}x",
    "https:///www.a\u043cazon.com/", "https:////example.com/", "https://google.com\u2044login.example/", "https://bank.example\u2215login.example/",
    "https://bank.example\u29f8login.example/", "https://bank.example\uff0flogin.example/", "https://bank.example\u30celogin.example/",
    "https://bank\u2024example.com/", "https://a%2eb.example/", "https://a.example:80@b.example/", "https://example.com/\u200fexe.a",
    "\u202e https://example.com/", "\u2067 https://example.com/ \u2069",
  ]) check(text, []);
  check("https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/", ["https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/"]);
  return result;
}
