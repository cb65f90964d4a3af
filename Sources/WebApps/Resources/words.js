// The words of the apps. Texts stand in the sources in English; a module for each other language translates them.

const modules = { de: () => import("./{{de.js}}"), es: () => import("./{{es.js}}") };
export const languages = { en: "English", de: "Deutsch", es: "Español" };

function preferred() {
  let chosen = null;
  try { chosen = localStorage.getItem("language"); } catch { /* The browser keeps nothing. */ }
  for (const tag of [chosen, ...navigator.languages ?? []]) {
    const language = tag?.slice(0, 2).toLowerCase();
    if (language in languages) return language;
  }
  return "en";
}

export const language = preferred();
const texts = await (modules[language]?.() ?? Promise.resolve({ default: {} })).then((module) => module.default).catch(() => ({}));

/** Chooses a language, or the browser's if it is empty. */
export function choose(tag) {
  if (tag) localStorage.setItem("language", tag); else localStorage.removeItem("language");
}

/** A text in the language of the page, with values for what stands in braces. */
export function t(text, values = {}) {
  return (texts[text] ?? text).replace(/\{([a-z]+)\}/gi, (whole, name) => name in values ? String(values[name]) : whole);
}

/** The same with nodes for what stands in braces. */
export function nodes(text, values) {
  return (texts[text] ?? text).split(/(\{[a-z]+\})/i).flatMap((part) => {
    const name = /^\{([a-z]+)\}$/i.exec(part)?.[1];
    if (name && name in values) return values[name];
    return part ? [part] : [];
  });
}

/** Translates what stands in the page. */
export function translate(root = document.body) {
  document.documentElement.lang = language;
  if (language === "en") return;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, key = node.data.trim().replace(/\s+/g, " ");
    if (key && texts[key]) node.data = node.data.replace(/\S[^]*\S|\S/, texts[key]);
  }
  for (const name of ["aria-label", "placeholder", "title", "data-refused"]) {
    for (const place of root.querySelectorAll(`[${name}]`)) {
      const text = texts[place.getAttribute(name)];
      if (text) place.setAttribute(name, text);
    }
  }
}
