// What the account stores: `app` is the app's module of that name.
async function compare(app) {
  const result = { count: 0, different: [] };
  const stored = new Map();
  const account = Object.assign(new app.Account(), {
    people: { people: {} }, known: new Map(), jobs: new Map(), changed() {}, sync() {}, forums: { known: () => [] },
    store: { async write(records) { for (const [kind, id, value] of records) stored.set(`${kind} ${id}`, structuredClone(value)); } },
  });
  // Something is changed while what the service has is being kept.
  for (let i = 0; i < 15; i++) {
    account.device = { state: { authentication: {} }, keep: () => account.change("people", `bert ${i}`, { state: "blocked" }) };
    await account.adopt({ people: { ...account.people.people, [`anna ${i}`]: { state: "allowed", time: 1 } } });
    const { people } = stored.get("people people");
    for (const [key, state] of [[`bert ${i}`, "blocked"], [`anna ${i}`, "allowed"]]) {
      result.count++;
      if (people[key]?.state !== state) result.different.push(key);
    }
  }
  account.device.keep = async () => { account.known.set("anna", { name: "Anna, later" }); };
  account.known.set("anna", { name: "Anna", changed: "another key" });
  await account.accept("anna");
  result.count++;
  if (stored.get("known anna")?.name !== "Anna, later") result.different.push("known");
  return result;
}
