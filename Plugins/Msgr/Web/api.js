// The description of the interface for people, with lines for a shell.

const element = (name, text, ...children) => {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
};

/** A text in which what stands between backticks is code. */
const prose = (name, text = "") => element(name, "", ...text.split("`").map((part, i) => i % 2 ? element("code", part) : part));

const description = await (await fetch("openapi.json")).json();
const resolve = (node) => node?.$ref
  ? node.$ref.split("/").slice(1).reduce((found, step) => found[step], description) : node ?? {};
const base = new URL(".", location).href.replace(/\/$/, "");
const token = document.querySelector("#token");
const samples = { Username: "anna", Password: "a password", DeviceID: "stream:shell-0001", message: "hello" };
const typeSamples = { integer: 1, array: ["bert"] };
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function line(path, operation) {
  const json = operation.requestBody?.content["application/json"];
  const schema = resolve(json?.schema);
  const needed = schema.required ?? [];
  const fields = Object.fromEntries(needed.map((name) => {
    const { type } = resolve(schema.properties[name]);
    return [name, samples[name] ?? typeSamples[type] ?? "bert"];
  }));
  const url = base + path.replace("{name}", "bert");
  const isOpen = ["/register", "/login"].includes(path);
  const bearer = isOpen ? "" : ` -H ${quoted(`Authorization: Bearer ${token.value || "TOKEN"}`)}`;
  return json ? `curl${bearer} -d ${quoted(JSON.stringify(fields))} ${quoted(url)}` : `curl ${quoted(url)}`;
}

function show() {
  const sections = Object.entries(description.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const section = element("section");
      section.append(
        element("h2", `${method.toUpperCase()} ${path}`), prose("p", operation.summary + "."),
        prose("p", operation.description));
      const schema = resolve(operation.requestBody?.content["application/json"]?.schema);
      const rows = Object.entries(schema.properties ?? {}).map(([name, value]) => {
        const property = resolve(value);
        const isNeeded = schema.required?.includes(name);
        return element("tr", "", element("th", name), element("td", isNeeded ? "needed" : ""),
          prose("td", property.description ?? property.type ?? ""));
      });
      if (rows.length) section.append(element("table", "", element("tbody", "", ...rows)));
      if (path !== "/stream") {
        const code = element("pre", line(path, operation));
        code.tabIndex = 0;
        section.append(code);
      }
      const answers = Object.entries(operation.responses).map(([status, response]) =>
        prose("li", `${status}: ${resolve(response).description}`));
      section.append(element("ul", "", ...answers));
      return section;
    }));
  document.querySelector("#operations").replaceChildren(...sections);
}

token.addEventListener("input", show);
show();
