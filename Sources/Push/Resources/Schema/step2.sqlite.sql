-- An index that leasing changes nothing in.
DROP INDEX push_outbox_leased;
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;
