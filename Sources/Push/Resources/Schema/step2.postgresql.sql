-- An index that leasing changes nothing in, so that a leased row is written beside the old one, and into no index.
DROP INDEX push_outbox_leased;
CREATE INDEX push_outbox_by_account ON push_outbox (account) WHERE is_next = 1;

-- Ends the leases of pushes, with what is leased by whom: a push that has a time is tried again then, another is removed.
--
-- Whoever queues a push behind another one of its device keeps the newest of these until the commit, so that the one that
-- goes finds the one that is queued. All lock them in the order of the devices.
DROP FUNCTION awd_push_settle_v1;
CREATE FUNCTION awd_push_settle_v2(
  p_pushes bigint[], p_owners bytea[], p_targets text[], p_times bigint[]
) RETURNS TABLE (place bigint) LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM push_outbox o WHERE o.id = ANY (p_pushes)
  ORDER BY o.service, o.device FOR UPDATE;
  UPDATE push_outbox o SET due_at = s.due, lease_owner = NULL, lease_end = 0
  FROM unnest(p_pushes, p_owners, p_times) AS s (id, owner, due)
  WHERE o.id = s.id AND o.lease_owner = s.owner AND s.due IS NOT NULL;
  DELETE FROM push_outbox o USING unnest(p_pushes, p_owners, p_times) AS s (id, owner, due)
  WHERE o.id = s.id AND o.lease_owner = s.owner AND s.due IS NULL;
  INSERT INTO push_targets
  SELECT DISTINCT t FROM unnest(p_targets) t
  WHERE t IS NOT NULL AND NOT EXISTS (SELECT 1 FROM push_targets p WHERE p.target = t)
  ORDER BY t ON CONFLICT DO NOTHING;
  RETURN QUERY SELECT generate_series(1, cardinality(p_pushes)::bigint);
END $$;
