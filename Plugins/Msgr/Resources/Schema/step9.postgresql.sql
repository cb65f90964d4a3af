-- Removes pushes whose leases are over, with what is leased by whom.
CREATE FUNCTION awd_msgr_settle_v1(p_pushes bigint[], p_owners bytea[], p_targets text[])
  RETURNS TABLE (place bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM msgr_devices
  WHERE device_id IN (SELECT o.device_id FROM push_outbox o WHERE o.id = ANY (p_pushes))
  ORDER BY device_id FOR NO KEY UPDATE;
  DELETE FROM push_outbox o USING unnest(p_pushes, p_owners) AS s (id, owner)
  WHERE o.id = s.id AND o.lease_owner = s.owner;
  INSERT INTO push_targets
  SELECT DISTINCT t FROM unnest(p_targets) t
  WHERE t IS NOT NULL AND NOT EXISTS (SELECT 1 FROM push_targets p WHERE p.target = t)
  ORDER BY t ON CONFLICT DO NOTHING;
  RETURN QUERY SELECT generate_series(1, cardinality(p_pushes)::bigint);
END $$;
