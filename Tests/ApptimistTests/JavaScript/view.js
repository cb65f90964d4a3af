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
  ]) check(text, []);
  check("https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/", ["https://\u043f\u0440\u0438\u043c\u0435\u0440.\u0440\u0444/"]);
  return result;
}
