// Names that look alike.

// What is seen as a Latin letter or a digit, though it is none.
const lookalikes = {
  а: "a", в: "b", с: "c", ԁ: "d", е: "e", һ: "h", і: "i", ј: "j", к: "k", ӏ: "l", м: "m", н: "h", о: "o", р: "p", ԛ: "q", ѕ: "s",
  т: "t", у: "y", ѵ: "v", ԝ: "w", х: "x", ё: "e", ї: "i", α: "a", β: "b", ε: "e", η: "n", ι: "i", κ: "k", μ: "u", ν: "v", ο: "o",
  ρ: "p", τ: "t", υ: "u", χ: "x", γ: "y", ω: "w", ı: "l", ł: "l", ø: "o", đ: "d", ß: "b", ɑ: "a", ɡ: "g", ʏ: "y", օ: "o", ս: "u",
  հ: "h", ո: "n", ց: "g", զ: "q", "0": "o", "1": "l", "|": "l", i: "l", "!": "l", "5": "s", "$": "s", "@": "a", "3": "e", "８": "8",
};

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
  const clear = name.normalize("NFKD").toLowerCase().normalize("NFKD")
    .replace(/[\p{M}\p{Cf}\p{Cc}\p{Z}\s\p{Default_Ignorable_Code_Point}\u2800\u3164\uffa0\u115f\u1160]/gu, "");
  const plain = [...clear].map((sign) => lookalikes[sign] ?? sign).join("");
  return plain.replace(/rn/g, "m").replace(/vv/g, "w").replace(/[-‐-―−_.·']/gu, "");
}
