// What somebody types to find people: a name, a key, an address, or a link of this service.
import { t } from "./{{view.js}}";

/**
 * What a text asks for: `key`, `uids` or `name`; `why` if it can't be asked; null if there is nothing to ask yet.
 * `base` is the service's address, `chains` are those whose addresses it proves.
 */
export function readTerm(typed, base, chains) {
  const text = typed.trim();
  if (!text) return null;
  // Also in groups of four, as the apps show it.
  const key = /^(?:0x)?((?:[0-9a-f]{4}\s*){15}[0-9a-f]{4})$/i.exec(text)?.[1].replace(/\s/g, "");
  if (key) return { key: key.toLowerCase() };
  if (/^https?:\/\//i.test(text)) return readLink(text, base);
  const address = /^(?:ethereum:|eip155:(\d+):)?(0x[0-9a-f]*)(?:@(\d+))?$/i.exec(text);
  if (address) {
    const [, chain, digits, other] = address;
    if (digits.length !== 42) return { why: t("An address has 0x and 40 digits; this one has {count}.", { count: digits.length - 2 }) };
    const asked = chain ?? other ? [Number(chain ?? other)] : chains;
    if (!asked.length) return { why: t("This service doesn’t know people by addresses. Ask for their link or key.") };
    return { uids: asked.map((one) => `eip155:${one}:${digits.toLowerCase()}`) };
  }
  if (/^[^\s/@]+\.eth$/i.test(text)) return { why: t("This app can’t look up ENS names such as {name}. Ask for the address (0x…), the key or the link.", { name: text }) };
  // One character would list everybody.
  if ([...text].length < 2) return { why: t("Type at least two characters.") };
  return { name: text };
}

function readLink(text, base) {
  if (!URL.canParse(text)) return { why: t("This link is incomplete or damaged. Copy it again.") };
  const url = new URL(text), here = new URL(base), key = /^#chat=([0-9a-f]{64})$/i.exec(url.hash)?.[1];
  if (!key) return { why: t("This is no link to a person or forum. It ends with #chat= and a key.") };
  const isHere = url.host === here.host && url.pathname.replace(/\/$/, "") === `${here.pathname}/app`.replace("//", "/");
  if (!isHere) return { why: t("This link belongs to another service, {host}. You can only write to people of {here}.", { host: url.host, here: here.host }) };
  return { key: key.toLowerCase() };
}
