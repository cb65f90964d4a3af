-- The accounts of chains by which users log in; addresses are in lower case.
CREATE TABLE msgr_wallets (
  address TEXT NOT NULL,
  chain BIGINT NOT NULL,
  username TEXT NOT NULL REFERENCES msgr_users ON DELETE CASCADE,
  PRIMARY KEY (address, chain)
);
CREATE INDEX msgr_wallets_by_user ON msgr_wallets (username);
-- What was signed once is not taken again while it would be good.
CREATE TABLE msgr_wallet_nonces (
  nonce TEXT NOT NULL PRIMARY KEY,
  expires_at BIGINT NOT NULL
);
CREATE INDEX msgr_wallet_nonces_by_time ON msgr_wallet_nonces (expires_at);
