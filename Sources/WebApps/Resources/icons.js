// The icons of every app of people: 24 by 24, drawn with strokes of the text's color.

const shapes = {
  add: "M12 5v14M5 12h14",
  archive: "M4 8h16v12H4zM3 4h18v4H3zM10 12h4",
  attach: "M20 11.5 12 19.4a5 5 0 0 1-7-7.1l8.4-8.4a3.4 3.4 0 0 1 4.8 4.8l-8.3 8.3a1.7 1.7 0 0 1-2.4-2.4l7.4-7.4",
  audio: "M9 18V5l11-2v13M9 18a3 2.4 0 1 1-3-2.4A3 2.4 0 0 1 9 18zM20 16a3 2.4 0 1 1-3-2.4A3 2.4 0 0 1 20 16z",
  back: "M15 5l-7 7 7 7",
  bell: "M6 16V11a6 6 0 0 1 12 0v5l1.5 2h-15zM10 21h4",
  block: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM5.7 5.7l12.6 12.6",
  check: "M5 13l4.5 4.5L19 7",
  chevron: "M9 5l7 7-7 7",
  clock: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 8v4.5l3 1.8",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  delete: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5",
  device: "M8 3h8a1 1 0 0 1 1 1v16a1 1 0 0 1-1 1H8a1 1 0 0 1-1-1V4a1 1 0 0 1 1-1zM11 18h2",
  down: "M12 5v14M6 13l6 6 6-6",
  edit: "M4 20l1-4L16.5 4.5a2.1 2.1 0 0 1 3 3L8 19zM14.5 6.5l3 3",
  file: "M7 3h7l5 5v13H7zM14 3v5h5",
  film: "M4 5h16v14H4zM8 5v14M16 5v14M4 9.7h4M4 14.3h4M16 9.7h4M16 14.3h4",
  group: "M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c0-4 2.8-6 6.5-6s6.5 2 6.5 6M16 4.6a3.3 3.3 0 0 1 0 5.9M18 14.6c2.2.8 3.5 2.6 3.5 5.4",
  info: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM12 11v5M12 8v.1",
  link: "M10 14a4 4 0 0 0 5.7 0l3.1-3.1a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0l-3.1 3.1a4 4 0 0 0 5.7 5.7l1.1-1.1",
  lock: "M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3",
  moderator: "M12 3l7.5 3v5.5c0 4.5-3 7.8-7.5 9.5-4.5-1.7-7.5-5-7.5-9.5V6z",
  more: "M12 5.5v.1M12 12v.1M12 18.5v.1",
  mute: "M6 16V11a6 6 0 0 1 9-5.2M18 11v5l1.5 2H8M10 21h4M4 4l16 16",
  newChat: "M20 12.5v5a2 2 0 0 1-2 2H6.5L4 21.5V7a2 2 0 0 1 2-2h6M18 3v6M15 6h6",
  picture: "M4 5h16v14H4zM4 16l4.5-4.5 4 4 3-3L20 17M15.5 9v.1",
  qr: "M4 4h6v6H4zM14 4h6v6h-6zM4 14h6v6H4zM14 14h2v2h-2zM18 18h2v2M20 14v1M14 19v1",
  react: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17zM8.5 14.5c1.8 2.4 5.2 2.4 7 0M9 9.5v.1M15 9.5v.1",
  reply: "M10 6L4 11.5 10 17v-3.5c5 0 8 1.5 10 5 0-6-4-9-10-9z",
  save: "M12 4v11M7 11l5 5 5-5M5 20h14",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5L20 20",
  send: "M4 12L20 4.5 16 20l-4.5-6.5zM11.5 13.5L20 4.5",
  settings: "M12 9a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM12 3v2.5M12 18.5V21M3 12h2.5M18.5 12H21M5.6 5.6l1.8 1.8M16.6 16.6l1.8 1.8M18.4 5.6l-1.8 1.8M7.4 16.6l-1.8 1.8",
  text: "M7 3h7l5 5v13H7zM14 3v5h5M10 12h6M10 15h6M10 18h4",
  topic: "M9.5 4L7.5 20M16.5 4l-2 16M4.5 9h16M3.5 15h16",
  warning: "M12 4l9 16H3zM12 10v4.5M12 17.3v.1",
};

const SVG = "http://www.w3.org/2000/svg";

/** An icon, which says nothing: its button has a name. */
export function icon(name) {
  const made = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("class", "icon");
  made.setAttribute("aria-hidden", "true");
  path.setAttribute("d", shapes[name] ?? shapes.info);
  made.append(path);
  return made;
}

/** Puts icons before, or in place of, the texts of buttons in the page: `data-icon` names one, and `data-only` hides the text. */
export function placeIcons(root = document) {
  for (const place of root.querySelectorAll("[data-icon]")) {
    const text = place.textContent.trim();
    if ("only" in place.dataset) {
      const name = document.createElement("span");
      name.className = "only-heard";
      name.textContent = text;
      place.title = text;
      place.replaceChildren(icon(place.dataset.icon), name);
    } else place.prepend(icon(place.dataset.icon));
    place.removeAttribute("data-icon");
  }
}
