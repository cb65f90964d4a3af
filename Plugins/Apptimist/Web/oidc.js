// Signing in at an OpenID Connect issuer, whose token names the account's keys.

const { bytes, hex, tokenNonce } = globalThis.apptimist;
const { nacl } = globalThis;

/** The issuer's host, as people read it. */
export const hostOf = ({ authorize }) => new URL(authorize).host;

/** Where the issuer asks the user, and gives a token for these keys. */
export function request({ authorize, audience }, self, state, page) {
  const url = new URL(authorize), pair = nacl.box.keyPair.fromSecretKey(bytes(self.encryptionSecret));
  const signing = nacl.sign.keyPair.fromSeed(bytes(self.authenticationSeed));
  const fields = {
    client_id: audience, response_type: "id_token", response_mode: "fragment", scope: "openid",
    nonce: tokenNonce({ encryption: pair, authentication: signing }), state, redirect_uri: page,
  };
  for (const [name, value] of Object.entries(fields)) url.searchParams.set(name, value);
  return url.href;
}

export const newState = () => hex(nacl.randomBytes(16));

/** The token in an answer of the issuer, and the identity that it says; null if it isn't to this request. */
export function readAnswer(fragment, state, claim) {
  const fields = new URLSearchParams(fragment), token = fields.get("id_token");
  if (!token || fields.get("state") !== state) return null;
  try {
    const body = token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/");
    const claims = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(body), (sign) => sign.charCodeAt(0))));
    return { token, uid: String(claim ? claims[claim] : `${claims.iss}#${claims.sub}`) };
  } catch {
    return null;
  }
}
