-- Makes room for the tables of all services' pushes, which a step of theirs makes now. The twelfth step takes these up.
CREATE TABLE msgr_push_outbox AS SELECT * FROM push_outbox;
CREATE TABLE msgr_push_targets AS SELECT * FROM push_targets;
DROP TABLE push_outbox;
DROP TABLE push_targets;
DROP FUNCTION push_outbox_next;
DROP FUNCTION awd_msgr_settle_v1;
DROP FUNCTION awd_msgr_send_v2;
