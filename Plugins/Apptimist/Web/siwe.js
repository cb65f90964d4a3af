// Signing in with an Ethereum wallet (ERC-4361): the service writes the text, the page looks whether it is the right one.
import { t } from "./{{words.js}}";

const { bytes, hex, join, tokenNonce, uint, utf8 } = globalThis.apptimist;
const { nacl } = globalThis;

/** Finds the wallets that announce themselves (EIP-6963), or the one of before: pairs of a name and a provider. */
export function wallets(found, none) {
  const known = new Set();
  addEventListener("eip6963:announceProvider", ({ detail }) => {
    const { info: { uuid, name } = {}, provider } = detail ?? {};
    if (!provider || typeof name !== "string" || known.has(uuid) || known.size >= 20) return;
    known.add(uuid);
    found(t("Sign in with {name}", { name: name.slice(0, 64) }), provider);
  });
  dispatchEvent(new Event("eip6963:requestProvider"));
  setTimeout(() => {
    if (known.size) return;
    if (globalThis.ethereum) found(t("Sign in with a wallet"), globalThis.ethereum); else none();
  }, 300);
}

/** Whether two origins or addresses are the same, but for a default port that is written out. */
const isSame = (one, other) => URL.canParse(one) && new URL(one).href === new URL(other).href;

/** Whether a text is what a wallet is to sign for these keys here, but for the case of the address. */
export function isExpected(message, { domain, uri, chain, address, nonce }) {
  const lines = message.split("\n"), moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
  const wants = " wants you to sign in with your Ethereum account:";
  const expected = [
    lines[0], address, "", "Make an account with the keys that the nonce names.", "", lines[5], "Version: 1", `Chain ID: ${chain}`,
    `Nonce: ${nonce}`,
  ];
  const [issued, end] = [["Issued At: ", lines[9]], ["Expiration Time: ", lines[10]]].map(([name, line]) =>
    line?.startsWith(name) && moment.test(line.slice(name.length)) ? Date.parse(line.slice(name.length)) : NaN);
  const { protocol } = new URL(uri);
  // The service judges the times by its clock; here, that they are near each other.
  return lines.length === 11
    && lines[0].endsWith(wants) && isSame(`${protocol}//${lines[0].slice(0, -wants.length)}`, `${protocol}//${domain}`)
    && lines[5].startsWith("URI: ") && isSame(lines[5].slice(5), uri)
    && expected.every((line, i) => i === 1 ? lines[i].toLowerCase() === line.toLowerCase() : lines[i] === line)
    && end > issued && end - issued <= 3_600_000;
}

/** What a wallet's error says to people. */
function refusal({ code, message } = {}) {
  if (code === 4001) return t("You declined the request in your wallet. Nothing was sent.");
  if (code === -32002) return t("Your wallet is already asking you. Open your wallet, and answer there.");
  if (code === 4100) return t("Your wallet refused the request: allow this page in the wallet first.");
  if (code === 4900 || code === 4901) return t("Your wallet is not connected to its network.");
  return t("The wallet refused the request: {reason}", { reason: String(message ?? code ?? "?").slice(0, 200) });
}

const post = async (base, body) => {
  const response = await fetch(`${base}/siwe`, {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  }).catch(() => null);
  return { isThere: Boolean(response), status: response?.status, answer: response?.ok ? await response.json() : {} };
};

/** Asks a wallet, and gives the token, the identity, and whether the wallet has an account here; throws words for people. */
export async function signIn(provider, chains, base, self, progress = () => {}) {
  const encryption = nacl.box.keyPair.fromSecretKey(bytes(self.encryptionSecret));
  const authentication = nacl.sign.keyPair.fromSeed(bytes(self.authenticationSeed));
  const ask = async (method, params = []) => {
    // A provider may also throw before there is a promise.
    try { return await provider.request({ method, params }); } catch (error) { throw new Error(refusal(error ?? {})); }
  };
  const address = String((await ask("eth_requestAccounts"))?.[0]);
  if (!/^0x[0-9a-fA-F]{40}$/.test(address)) throw new Error(t("The wallet named no address. Choose an account in the wallet, and try again."));
  // A key signs the same for each chain; a contract's wallet lives on one.
  const waited = new Promise((resolve) => setTimeout(resolve, 1_000));
  const present = Number(await Promise.race([ask("eth_chainId"), waited]).catch(() => NaN));
  const chain = chains.includes(present) ? present : chains[0] ?? 1;
  const { isThere, status, answer: { message, uid } } = await post(base, {
    address, chain, encryptionKey: hex(encryption.publicKey), authenticationKey: hex(authentication.publicKey),
  });
  if (!isThere || status >= 500) throw new Error(t("The service can’t be reached. Try again later."));
  if (!message) throw new Error(t("The service doesn’t take this address."));
  const expected = { domain: location.host, uri: base, chain, address, nonce: tokenNonce({ encryption, authentication }) };
  if (!isExpected(message, expected) || uid !== `eip155:${chain}:${address.toLowerCase()}`) {
    throw new Error(t("The service wants something else signed than this account. Nothing was signed."));
  }
  progress(t("Your wallet signs for {address} on chain {chain}. Answer there.", { address: message.split("\n")[1], chain }));
  const signed = String(await ask("personal_sign", [`0x${hex(utf8(message))}`, address])).replace(/^0x/, "");
  if (!/^([0-9a-fA-F]{2}){0,8000}$/.test(signed)) throw new Error(t("The wallet’s answer is no signature."));
  if (signed.length !== 130 && !chains.includes(present)) {
    throw new Error(t("Your wallet is a contract on a network that this service doesn’t ask (chain {present}). Switch the wallet to chain {chain}, and try again.", { present, chain }));
  }
  // Whether there is an account only who signs is told.
  const known = await post(base, { message, signature: `0x${signed}` });
  return {
    proof: hex(join(uint(utf8(message).length, 2), utf8(message), bytes(signed))), uid, isKnown: known.answer.known === true,
  };
}
