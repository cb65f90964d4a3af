-- Names and types that mean the same in PostgreSQL, where "user" is whoever is connected, and text holds no NUL.

ALTER TABLE apptimist_queues RENAME COLUMN user TO owner;
ALTER TABLE apptimist_entries RENAME COLUMN user TO owner;
ALTER TABLE apptimist_message_ids RENAME COLUMN user TO owner;
ALTER TABLE apptimist_dropped RENAME COLUMN user TO owner;
ALTER TABLE apptimist_shares RENAME COLUMN user TO owner;
ALTER TABLE apptimist_devices RENAME COLUMN user TO owner;
ALTER TABLE apptimist_ephemeral_keys RENAME COLUMN user TO owner;
-- With the column that it selects by, so that SQLite takes it without being told.
DROP INDEX apptimist_entries_by_run;
CREATE INDEX apptimist_entries_by_run
  ON apptimist_entries (owner, sender, position, begins_run) WHERE begins_run = 1;
DROP INDEX apptimist_ephemeral_keys_by_user;
CREATE INDEX apptimist_ephemeral_keys_by_owner
  ON apptimist_ephemeral_keys (owner, expires_at) WHERE owner IS NOT NULL;

DROP INDEX apptimist_users_by_uid;
ALTER TABLE apptimist_users RENAME COLUMN uid TO uid_text;
ALTER TABLE apptimist_users ADD COLUMN uid BLOB;
UPDATE apptimist_users SET uid = CAST(uid_text AS BLOB) WHERE uid_text IS NOT NULL;
ALTER TABLE apptimist_users DROP COLUMN uid_text;
CREATE INDEX apptimist_users_by_uid ON apptimist_users (uid) WHERE uid IS NOT NULL;

ALTER TABLE apptimist_invitations RENAME COLUMN uid TO uid_text;
ALTER TABLE apptimist_invitations ADD COLUMN uid BLOB;
UPDATE apptimist_invitations SET uid = CAST(uid_text AS BLOB) WHERE uid_text IS NOT NULL;
ALTER TABLE apptimist_invitations DROP COLUMN uid_text;
