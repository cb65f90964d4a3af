// Signing in with an Ethereum wallet (ERC-4361): the service writes the text, the page looks whether it is the right one.

const { bytes, hex, join, tokenNonce, uint, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;

/** Finds the wallets that announce themselves (EIP-6963), or the one of before: pairs of a name and a provider. */
export function wallets(found) {
  const known = new Set();
  addEventListener("eip6963:announceProvider", ({ detail }) => {
    const { info: { uuid, name } = {}, provider } = detail ?? {};
    if (!provider || typeof name !== "string" || known.has(uuid) || known.size >= 20) return;
    known.add(uuid);
    found(`Sign in with ${name.slice(0, 64)}`, provider);
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
  setTimeout(() => { if (!known.size && globalThis.ethereum) found("Sign in with a wallet", globalThis.ethereum); }, 300);
}

/** Whether a text is what a wallet is to sign for these keys here, but for the case of the address. */
export function isExpected(message, { domain, uri, chain, address, nonce }, now = Date.now()) {
  const lines = message.split("\n"), moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  const expected = [
    `${domain} wants you to sign in with your Ethereum account:`, address, "",
    "Make an account with the keys that the nonce names.", "", `URI: ${uri}`, "Version: 1", `Chain ID: ${chain}`, `Nonce: ${nonce}`,
  ];
  const [issued, end] = [["Issued At: ", lines[9]], ["Expiration Time: ", lines[10]]].map(([name, line]) =>
    line?.startsWith(name) && moment.test(line.slice(name.length)) ? Date.parse(line.slice(name.length)) : NaN);
  return lines.length === 11
    && expected.every((line, i) => i === 1 ? lines[i].toLowerCase() === line.toLowerCase() : lines[i] === line)
    && Math.abs(issued - now) < 3_600_000 && end > issued && end - issued <= 3_600_000;
}

/** Asks a wallet, and gives the token and the identity; throws words for people. */
export async function signIn(provider, chain, base, self) {
  const encryption = nacl.box.keyPair.fromSecretKey(bytes(self.encryptionSecret));
  const authentication = nacl.sign.keyPair.fromSeed(bytes(self.authenticationSeed));
  const ask = (method, params) => provider.request({ method, params }).catch(() => { throw new Error("The wallet says no."); });
  const address = String((await ask("eth_requestAccounts", []))?.[0]);
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error("The wallet gives no address.");
  const response = await fetch(`${base}/siwe`, {
    method: "POST", headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      address, chain, encryptionKey: hex(encryption.publicKey), authenticationKey: hex(authentication.publicKey),
    }),
  }).catch(() => null);
  const { message, uid } = response?.ok ? await response.json() : {};
  if (!message) throw new Error("The service can’t be reached, or doesn’t take this address.");
  const expected = { domain: location.host, uri: base, chain, address, nonce: tokenNonce({ encryption, authentication }) };
  if (!isExpected(message, expected) || uid !== `eip155:${chain}:${address.toLowerCase()}`) {
    throw new Error("The service wants something else signed than this account. Nothing was signed.");
  }
  const signed = String(await ask("personal_sign", [`0x${hex(utf8(message))}`, address])).replace(/^0x/, "");
  if (!/^([0-9a-fA-F]{2}){1,4000}$/.test(signed)) throw new Error("The wallet gives no signature.");
  return { proof: hex(join(uint(utf8(message).length, 2), utf8(message), bytes(signed))), uid };
}
