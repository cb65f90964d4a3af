-- Who signed for a user's address: 0 for nobody, else a key or a contract.
ALTER TABLE apptimist_users ADD COLUMN uid_proof BIGINT NOT NULL DEFAULT 0;
