-- Puts the pushes that wait into the outbox of all services.
--
-- The content of a push is a line with the message's identifier, the badge, whether it is a contact request, the priority
-- and whether the browser shows it by itself; lines with the sender, the link and the title; and the text.
INSERT INTO push_outbox (
  service, device, account, kind, address, push_id, content, urgency, position, created_at,
  expires_at, attempts, due_at, is_next, lease_owner, lease_end)
SELECT 'msgr', CAST(o.device_id AS BLOB), CAST(d.username AS BLOB), o.provider,
  CASE o.provider WHEN 0 THEN CAST(o.device_id AS BLOB) WHEN 2 THEN CAST(substr(o.device_id, 5) AS BLOB)
    ELSE CAST(d.p256dh || d.auth || d.endpoint AS BLOB) END,
  o.apns_id,
  CAST(
    o.message_id || ' ' || o.badge || ' ' || o.is_add_request || ' '
      || coalesce(CAST(o.priority AS TEXT), '-') || ' ' || d.is_declarative || char(10) || o.sender
      || char(10) || coalesce(o.link, '') || char(10) || coalesce(o.title, '') || char(10) || o.text AS BLOB),
  CASE WHEN o.priority < 4 THEN 0 ELSE 1 END, o.message_id, o.created_at, o.expires_at,
  o.attempts, o.due_at, o.is_next, o.lease_owner, o.lease_end
FROM msgr_push_outbox o JOIN msgr_devices d USING (device_id)
WHERE o.provider <> 1 OR d.endpoint IS NOT NULL ORDER BY o.id;
INSERT INTO push_targets SELECT target FROM msgr_push_targets;
DROP TABLE msgr_push_outbox;
DROP TABLE msgr_push_targets;

-- What waits for a device goes with it.
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices BEGIN
  DELETE FROM push_outbox WHERE service = 'msgr' AND device = CAST(old.device_id AS BLOB);
END;
