-- With the account and not with the mailbox, which is another's to lock: who writes files lets messages come meanwhile.
ALTER TABLE apptimist_users ADD COLUMN file_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE apptimist_users SET file_bytes =
  (SELECT file_bytes FROM apptimist_queues WHERE owner = apptimist_users.id)
WHERE id IN (SELECT owner FROM apptimist_queues WHERE file_bytes > 0);
ALTER TABLE apptimist_queues DROP COLUMN file_bytes;
