// Names that look alike.

// What is seen as a Latin letter or a digit, though it is none.
const lookalikes = {
  а: "a", в: "b", с: "c", ԁ: "d", е: "e", һ: "h", і: "l", ј: "j", к: "k", ӏ: "l", м: "m", н: "h", о: "o", р: "p", ԛ: "q", ѕ: "s",
  т: "t", у: "y", ѵ: "v", ԝ: "w", х: "x", ё: "e", ї: "l", α: "a", β: "b", ε: "e", η: "n", ι: "l", κ: "k", μ: "u", ν: "v", ο: "o",
  ρ: "p", τ: "t", υ: "u", χ: "x", γ: "y", ω: "w", ı: "l", ł: "l", ø: "o", đ: "d", ß: "b", ɑ: "a", ɡ: "g", ʏ: "y", օ: "o", ս: "u",
  հ: "h", ո: "n", ց: "g", զ: "q", "0": "o", "1": "l", "|": "l", i: "l", "!": "l", "5": "s", "$": "s", "@": "a", "3": "e", "８": "8",
};

// Those of other scripts, after decomposition and in lower case, as Unicode's confusables have them (UTS 39).
const others = {
  a: "ᗅꓮꭺ𐊠𖽀",
  b: "ƅьᏼᑲᖯᗷꓐꞵꮟ𐊂𐊡𐌁",
  c: "ςᴄⲥꓚꮯ𐊢𐌂𐐽𐔜𑣩𑣲",
  d: "ᑯᗞᗪꓒꓓꭰꮷ",
  e: "ҽⴹꓰꬲꭼ𐊆𑣆𑣎",
  f: "ϝքᖴẝꓝꞙꬵ𐊇𐊥𐔥𑣂",
  g: "ƍԍᏻᶃꓖꮐ",
  h: "ᕼⲏꓧꮋꮒ𐋏",
  j: "ʝϳᒍꓙꭻ",
  k: "ᛕⲕꓗꮶ𐔘",
  l: "ǀɩɪוןا١۱ߊᒪᛁⲓⳑⵏꓡꓲꙇꭵꮮ𐊊𐌉𐌠𐑃𐔦𑣃𑣒𖼖𖼨𞣇",
  m: "ϻᗰᛖⲙꓟꮇ𐊰𐌑",
  n: "ռⲛꓠ𐔓",
  o: "σסه٥ھہە۵߀०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲟⵔ〇ꓳꬽ𐊒𐊫𐐬𐓪𐔖𑓐𑣈𑣕𑣗𑣠",
  p: "ᑭⲣꓑꮲ𐊕",
  q: "գⵕ",
  r: "ʀгᖇᴦⲅꓣꭇꭈꭱꮁꮢ𐓜𖼵",
  s: "ƽտꓢꜱꮥꮪ𐊖𐑈𑣁𖼺",
  t: "ⲧꓔꭲ𐊗𐊱𐌕𑣜𖼊",
  u: "ʋሀᑌᴜꓴꞟꭎꭒ𐓶𑣘𖽂",
  v: "ט٧۷ᐯᴠⴸꓦꛟꮩ𐔝𑜆𑣀𖼈",
  w: "ɯѡաᴡꓪꮃꮤ𑜊𑜎𑜏𑣦𑣯",
  x: "ᕁᕽᚷⲭⵝꓫꭓ𐊐𐊴𐌗𐌢𐔧𑣬",
  y: "ɣүყᶌỿⲩꓬꭚꭹꮍ𐊲𑣄𖽃",
  z: "ζᴢꓜꮓ𐋵𑣉𑣥",
};
for (const [letter, signs] of Object.entries(others)) for (const sign of signs) lookalikes[sign] ??= letter;

// Capitals that look like others than their small letters do.
const capitals = { Η: "h", Μ: "m", Ν: "n", Υ: "y", Ϲ: "c" };

// Lists compare each name with all others: each is folded once.
const folded = new Map();

/** What two names that look alike have in common. */
export function skeleton(name) {
  if (!folded.has(name)) {
    if (folded.size >= 5_000) folded.clear();
    folded.set(name, fold(name));
  }
  return folded.get(name);
}

function fold(name) {
  const clear = name.normalize("NFKD").replace(/[ΗΜΝΥϹ]/g, (sign) => capitals[sign]).toLowerCase().normalize("NFKD")
    .replace(/[\p{M}\p{Cf}\p{Cc}\p{Z}\s\p{Default_Ignorable_Code_Point}\u2800\u3164\uffa0\u115f\u1160]/gu, "");
  const plain = [...clear].map((sign) => lookalikes[sign] ?? sign).join("");
  return plain.replace(/rn/g, "m").replace(/vv/g, "w").replace(/[-‐-―−_.·']/gu, "");
}
