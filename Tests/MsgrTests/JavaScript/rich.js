// Where links of programs lead, and what they seem to: `rich` is the app's module of that name.
async function compare(rich) {
  const result = { count: 0, different: [] };
  const check = (name, found, expected) => {
    result.count++;
    if (JSON.stringify(found) !== JSON.stringify(expected)) result.different.push(`${name} ${JSON.stringify(found)}`);
  };
  for (const link of [
    "https://example.org/x.", "https://example.org/(x)!", "https://example.org/@user", "http://192.0.2.1:8080/x", "https://[2001:db8::1]/",
    "https://b\u00fccher.example/", "mailto:anna@example.org", "geo:1,2", "tel:+491234",
  ]) check(link, rich.isSafeLink(link), true);
  for (const link of [
    "https://user:pass@evil.example/", "https://user@evil.example/", "ftp://user@evil.example/", "http://good.example\\@evil.example/",
    "https:evil.example", "https://www.a\u043cazon.com/", "https://example.org/\u202egpj.exe", "https://example.org/\u200bx", "javascript:alert(1)",
    "data:text/html,x", "https://", "x", undefined,
  ]) check(link, rich.isSafeLink(link), false);
  const shown = (text, expected) => {
    const nodes = rich.markdown(text), place = document.createElement("p");
    place.append(...nodes);
    const links = [...place.querySelectorAll("a")].map((link) => [link.textContent, link.getAttribute("href")]);
    check(text, [place.textContent, ...links], expected);
  };
  const said = (message, expected) => check("said", rich.plainText(message), expected);
  said({ Message: "# Backup\n**3** files in `a`", Markdown: true }, "Backup\n3 files in a");
  said({ Message: "**3** files" }, "**3** files");
  said({ Message: "> how are you?\nfine" }, "fine");
  shown("[here](https://example.org/)", ["here", ["here", "https://example.org/"]]);
  shown("[here](https://user:pass@evil.example/)", ["[here](https://user:pass@evil.example/)"]);
  for (const name of ["https://bank.example", "https://bank.example/login", "bank.example", "www.bank.example", "ftp://bank.example", "https://evil.example@bank.example"]) {
    shown(`[${name}](https://evil.example/)`, ["https://evil.example/", ["https://evil.example/", "https://evil.example/"]]);
  }
  shown("[example.org](https://example.org/x)", ["example.org", ["example.org", "https://example.org/x"]]);
  for (const address of ["https://example.org/__init__.py", "https://example.org/*a*b", "https://example.org/~~a~~", "https://example.org/a_b_c"]) {
    shown(`see ${address} now`, [`see ${address} now`, [address, address]]);
  }
  shown("**https://example.org/b**", ["https://example.org/b", ["https://example.org/b", "https://example.org/b"]]);
  return result;
}
