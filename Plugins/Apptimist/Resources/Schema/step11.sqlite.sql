-- The push addresses of devices, and when they were woken. Times are milliseconds since 1970.
CREATE TABLE apptimist_addresses (
  owner INTEGER NOT NULL,
  device BLOB NOT NULL,
  -- What the outbox knows the device by.
  outbox BLOB NOT NULL,
  kind INTEGER NOT NULL,
  address BLOB NOT NULL,
  tag BLOB NOT NULL,
  -- 0: everybody wakes the device but the keys, 1: nobody but they.
  flags INTEGER NOT NULL,
  keys BLOB NOT NULL,
  bound_at INTEGER NOT NULL,
  -- The moment at which the device has shown itself, and the same rounded down, which rarely changes.
  shown_at INTEGER NOT NULL,
  noted_at INTEGER NOT NULL,
  -- The news that the last wake was queued for, or 0 if the device has shown itself that far.
  woken INTEGER NOT NULL DEFAULT 0,
  -- The moments from which the last wake, and the one before it, were due.
  woken_at INTEGER NOT NULL DEFAULT 0,
  before_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, device)
) STRICT;
CREATE INDEX apptimist_addresses_by_address ON apptimist_addresses (kind, address);
CREATE INDEX apptimist_addresses_by_age ON apptimist_addresses (noted_at);
CREATE TRIGGER apptimist_addresses_gone AFTER DELETE ON apptimist_addresses BEGIN
  DELETE FROM push_outbox
  WHERE service = 'apptimist' AND device = old.outbox AND lease_owner IS NULL;
END;
-- An address has four devices.
CREATE TRIGGER apptimist_addresses_added AFTER INSERT ON apptimist_addresses BEGIN
  DELETE FROM apptimist_addresses WHERE (owner, device) IN (
    SELECT owner, device FROM apptimist_addresses
    WHERE kind = new.kind AND address = new.address
      AND NOT (owner = new.owner AND device = new.device)
    ORDER BY bound_at DESC, owner, device LIMIT 1000 OFFSET 3);
END;
CREATE TRIGGER apptimist_addresses_changed AFTER UPDATE OF kind, address ON apptimist_addresses BEGIN
  DELETE FROM apptimist_addresses WHERE (owner, device) IN (
    SELECT owner, device FROM apptimist_addresses
    WHERE kind = new.kind AND address = new.address
      AND NOT (owner = new.owner AND device = new.device)
    ORDER BY bound_at DESC, owner, device LIMIT 1000 OFFSET 3);
END;
-- The open sessions of devices with an address.
CREATE TABLE apptimist_sessions (
  owner INTEGER NOT NULL,
  node INTEGER NOT NULL,
  session INTEGER NOT NULL,
  device BLOB,
  PRIMARY KEY (node, session)
) STRICT;
CREATE INDEX apptimist_sessions_by_owner ON apptimist_sessions (owner, device);
-- What decides about a wake: whether one waits, and whether a session of the device is open.
CREATE VIEW apptimist_sleepers AS
SELECT a.*,
  EXISTS (
    SELECT 1 FROM push_outbox o
    WHERE o.service = 'apptimist' AND o.device = a.outbox AND o.lease_owner IS NULL) AS is_waiting,
  EXISTS (
    SELECT 1 FROM apptimist_sessions s
    WHERE s.owner = a.owner AND s.device = a.device) AS is_open
FROM apptimist_addresses a;
