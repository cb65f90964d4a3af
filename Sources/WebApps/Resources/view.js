// What the views of every app of people are made with. Whatever others write is set as text, never as markup.

export const $ = (id) => document.getElementById(id);
export const element = (name, { text, data, ...properties } = {}, ...children) => {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  Object.assign(made.dataset, data);
  made.append(...children);
  return made;
};
// A name keeps its direction, and no sign in it turns around what stands beside it.
export const bdi = (text) => element("bdi", { text: [...text].slice(0, 64).join(""), dir: "auto" });
export const say = (text) => { $("status").textContent = text; };
// Of seconds since 1970, or of a date's text.
const date = (moment) => new Date(typeof moment === "number" ? Math.min(moment * 1000, 8.64e15) : moment);
export const time = (moment) => date(moment).toLocaleTimeString([], { timeStyle: "short" });
/** The day in words: "Friday, November 20", with the year if it is another one. */
export const day = (moment) => date(moment).toLocaleDateString([], {
  weekday: "long", month: "long", day: "numeric",
  year: date(moment).getFullYear() === new Date().getFullYear() ? undefined : "numeric",
});
/** The time of what is from today, else the date. */
export const when = (moment) => day(moment) === day(Date.now() / 1000) ? time(moment)
  : date(moment).toLocaleDateString([], { dateStyle: "short" });

/** The first letter of a name on a colour that the name, or a key, chooses. */
export function face(name, key = name) {
  const letter = [...name.trim()][0] ?? "?";
  const made = element("span", { text: letter.toLocaleUpperCase(), className: "face", ariaHidden: "true" });
  made.style.setProperty("--hue", [...key].reduce((sum, sign) => (sum * 31 + sign.codePointAt()) % 360, 0));
  return made;
}
