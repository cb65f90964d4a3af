-- The tables of the step for SQLite, which says what they hold. Updated with messages and acknowledgements: half-filled pages
-- let that happen in place.
CREATE TABLE apptimist_addresses (
  owner BIGINT NOT NULL REFERENCES apptimist_users,
  device BYTEA NOT NULL,
  outbox BYTEA NOT NULL,
  kind BIGINT NOT NULL,
  address BYTEA NOT NULL,
  tag BYTEA NOT NULL,
  flags BIGINT NOT NULL,
  keys BYTEA NOT NULL,
  bound_at BIGINT NOT NULL,
  shown_at BIGINT NOT NULL,
  noted_at BIGINT NOT NULL,
  woken BIGINT NOT NULL DEFAULT 0,
  woken_at BIGINT NOT NULL DEFAULT 0,
  before_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (owner, device)
) WITH (fillfactor = 50);
CREATE INDEX apptimist_addresses_by_address ON apptimist_addresses USING hash (address);
CREATE INDEX apptimist_addresses_by_age ON apptimist_addresses (noted_at);
CREATE FUNCTION apptimist_addresses_gone() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM push_outbox
  WHERE service = 'apptimist' AND device = old.outbox AND lease_owner IS NULL;
  RETURN NULL;
END $$;
CREATE TRIGGER apptimist_addresses_gone AFTER DELETE ON apptimist_addresses
  FOR EACH ROW EXECUTE FUNCTION apptimist_addresses_gone();
CREATE FUNCTION apptimist_addresses_bound() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM apptimist_addresses WHERE (owner, device) IN (
    SELECT owner, device FROM apptimist_addresses
    WHERE kind = new.kind AND address = new.address
      AND NOT (owner = new.owner AND device = new.device)
    ORDER BY bound_at DESC, owner, device OFFSET 3);
  RETURN NULL;
END $$;
CREATE TRIGGER apptimist_addresses_bound AFTER INSERT OR UPDATE OF kind, address
  ON apptimist_addresses FOR EACH ROW EXECUTE FUNCTION apptimist_addresses_bound();
-- The device of a session of version 2, if it has an address.
ALTER TABLE apptimist_sessions ADD COLUMN device BYTEA;
CREATE VIEW apptimist_sleepers AS
SELECT a.*,
  EXISTS (
    SELECT 1 FROM push_outbox o
    WHERE o.service = 'apptimist' AND o.device = a.outbox AND o.lease_owner IS NULL) AS is_waiting,
  EXISTS (
    SELECT 1 FROM apptimist_sessions s
    WHERE s.owner = a.owner AND s.device = a.device) AS is_open
FROM apptimist_addresses a;

-- As SQLite has it.
CREATE FUNCTION instr(bytea, bytea) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT position($2 IN $1)';

-- Builds between two releases had it.
DROP FUNCTION IF EXISTS awd_app_post_v1;

-- Puts many messages of many users into mailboxes in one call.
--
-- It takes the posts' senders with their keys; the posts' messages, each with the place of its post; the recipients'
-- keys, each once; and the copies in the order of the posts, each with the places of its message and its recipient. It
-- gives for each copy, in the order of each post, a byte that says what became of it (0: delivered, 1: known, 2: no such
-- user, or the login holds no more, 3: the mailbox is full, 4: delivered to a user who has no version 1 any more), the
-- position in eight bytes, and the number of nodes that have sessions of the recipient, with their numbers.
--
-- First it locks all mailboxes in one order; each later statement sees what was committed until then. Entries get their
-- positions while the mailbox's row is locked, so a mailbox's positions become visible in their order.
--
-- The loops are over arrays, and each table is written by one small statement: a single statement for all of it takes
-- longer to begin than to run, and the planner doesn't know how many rows its parts have.
--
-- At the end it decides about the wakes of the recipients' devices, as `SleepingDevice` does, for those whose kind of address
-- is in a mask. The last row has the number of wakes that were queued.

CREATE FUNCTION awd_app_post_v2(
  p_users bytea[], p_signatures bytea[], p_version1 bigint[],
  p_posts bigint[], p_headers bytea[], p_datas bytea[], p_keys bytea[],
  p_messages bigint[], p_recipients bigint[], p_ids bytea[],
  p_most_entries bigint, p_most_bytes bigint,
  p_kinds bigint, p_now bigint, p_again bigint, p_interval bigint,
  p_hold bigint, p_end bigint
) RETURNS TABLE (post bigint, results bytea, wakes bigint) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  row record;
  senders bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_users)]);
  -- Of each recipient, as it is with the copies so far.
  owners bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_keys)]);
  lasts bigint[] := owners;
  counts bigint[] := owners;
  sizes bigint[] := owners;
  closed bigint[] := owners;
  nodes bytea[] := array_fill('\x'::bytea, ARRAY[cardinality(p_keys)]);
  is_full boolean[] := array_fill(false, ARRAY[cardinality(p_keys)]);
  -- Of each message.
  numbers bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_headers)]);
  holders bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_headers)]);
  -- Of each copy that is delivered.
  positions bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_ids)]);
  place bigint;
  state int;
BEGIN
  FOR row IN
    SELECT k.n, q.owner, q.last_position, q.entries, q.bytes, u.is_closed
    FROM unnest(p_keys) WITH ORDINALITY AS k (key, n)
      JOIN apptimist_users u ON u.key = k.key
      JOIN apptimist_queues q ON q.owner = u.id
    ORDER BY q.owner FOR NO KEY UPDATE OF q
  LOOP
    owners[row.n] := row.owner;
    lasts[row.n] := row.last_position;
    counts[row.n] := row.entries;
    sizes[row.n] := row.bytes;
    closed[row.n] := row.is_closed;
  END LOOP;
  FOR row IN
    SELECT k.n, substr(string_agg(DISTINCT int8send(s.node), '\x'::bytea), 1, 2040) AS nodes
    FROM unnest(owners) WITH ORDINALITY AS k (owner, n)
      JOIN apptimist_sessions s ON s.owner = k.owner GROUP BY k.n
  LOOP
    nodes[row.n] := row.nodes;
  END LOOP;
  FOR row IN
    SELECT s.n, u.id
    FROM unnest(p_users, p_signatures, p_version1) WITH ORDINALITY AS s (key, signature, v1, n)
      JOIN apptimist_users u ON u.key = s.key AND u.kind = 0
        AND u.authentication_key = s.signature AND (u.is_closed = 0 OR s.v1 = 0)
  LOOP
    senders[row.n] := row.id;
  END LOOP;
  post := 1;
  results := '';
  wakes := 0;
  FOR row IN
    -- The first of several that are the same message for the same user, from senders whose logins hold.
    SELECT c.n, c.message, c.recipient, p_posts[c.message] AS post, m.position,
      length(p_headers[c.message]) + length(p_datas[c.message]) AS size,
      min(c.n) FILTER (WHERE senders[p_posts[c.message]] IS NOT NULL)
        OVER (PARTITION BY c.recipient, substr(c.id, 1, 16)) AS first
    FROM unnest(p_messages, p_recipients, p_ids) WITH ORDINALITY AS c (message, recipient, id, n)
      LEFT JOIN apptimist_message_ids m
        ON m.owner = owners[c.recipient] AND m.message_id = substr(c.id, 1, 16)
    ORDER BY c.n
  LOOP
    IF row.post <> post THEN
      RETURN NEXT;
      post := row.post;
      results := '';
    END IF;
    place := coalesce(row.position, positions[row.first]);
    IF owners[row.recipient] IS NULL OR senders[post] IS NULL THEN
      state := 2;
    ELSIF is_full[row.recipient] THEN
      -- What makes room may have a mailbox forget what it knows.
      state := 3;
    ELSIF place IS NOT NULL THEN
      state := 1;
    ELSIF counts[row.recipient] >= p_most_entries
      OR sizes[row.recipient] + row.size > p_most_bytes
    THEN
      is_full[row.recipient] := true;
      state := 3;
    ELSE
      state := 4 * closed[row.recipient];
      place := lasts[row.recipient] + 1;
      lasts[row.recipient] := place;
      counts[row.recipient] := counts[row.recipient] + 1;
      sizes[row.recipient] := sizes[row.recipient] + row.size;
      positions[row.n] := place;
      IF holders[row.message] = 0 THEN
        numbers[row.message] := nextval('apptimist_contents_id_seq');
      END IF;
      holders[row.message] := holders[row.message] + 1;
    END IF;
    results := results || set_byte('\x00', 0, state) || int8send(coalesce(place, 0))
      || set_byte('\x00', 0, length(nodes[row.recipient]) / 8) || nodes[row.recipient];
  END LOOP;
  INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
  SELECT numbers[n], holders[n], senders[p_posts[n]], '', header, data
  FROM unnest(p_headers, p_datas) WITH ORDINALITY AS m (header, data, n)
  WHERE holders[n] > 0;
  INSERT INTO apptimist_entries (owner, position, kind, sender, size, content, message_id)
  SELECT owners[recipient], positions[n], 0, senders[p_posts[message]],
    length(p_headers[message]) + length(p_datas[message]), numbers[message], id
  FROM unnest(p_messages, p_recipients, p_ids) WITH ORDINALITY AS c (message, recipient, id, n)
  WHERE positions[n] IS NOT NULL;
  INSERT INTO apptimist_message_ids (owner, message_id, position)
  SELECT owners[recipient], substr(id, 1, 16), positions[n]
  FROM unnest(p_recipients, p_ids) WITH ORDINALITY AS c (recipient, id, n)
  WHERE positions[n] IS NOT NULL;
  INSERT INTO apptimist_shares AS s (owner, sender, entries, bytes, oldest)
  SELECT owners[recipient], senders[p_posts[message]], count(*),
    sum(length(p_headers[message]) + length(p_datas[message]))::bigint, min(positions[n])
  FROM unnest(p_messages, p_recipients) WITH ORDINALITY AS c (message, recipient, n)
  WHERE positions[n] IS NOT NULL
  GROUP BY 1, 2
  ON CONFLICT (owner, sender)
  DO UPDATE SET entries = s.entries + excluded.entries, bytes = s.bytes + excluded.bytes;
  UPDATE apptimist_queues q SET last_position = m.last, entries = m.entries, bytes = m.bytes
  FROM unnest(owners, lasts, counts, sizes) AS m (owner, last, entries, bytes)
  WHERE q.owner = m.owner AND q.last_position < m.last;
  PERFORM 1 FROM apptimist_addresses a
  WHERE p_kinds <> 0 AND a.owner = ANY (owners) ORDER BY a.owner, a.device FOR NO KEY UPDATE;
  IF FOUND THEN
    WITH told AS (
      SELECT a.owner, a.device, min(positions[c.n]) AS first, max(positions[c.n]) AS last
      FROM unnest(p_messages, p_recipients) WITH ORDINALITY AS c (message, recipient, n)
        -- Each by the index.
        JOIN LATERAL (
          SELECT * FROM apptimist_addresses WHERE owner = owners[c.recipient] OFFSET 0) a ON true
      WHERE positions[c.n] IS NOT NULL AND senders[p_posts[c.message]] <> a.owner
        AND p_kinds & (1 << a.kind::int) <> 0
        AND a.flags = CASE WHEN instr(a.keys, substr(p_headers[c.message], 43, 32)) > 0
          OR instr(a.keys, substr(p_headers[c.message], 75, 32)) > 0 THEN 1 ELSE 0 END
      GROUP BY 1, 2
    ), states AS (
      SELECT t.*, a.outbox, w.waits IS NOT NULL AS waits,
        CASE WHEN s.is_open THEN p_now + p_hold ELSE p_now END AS due
      FROM told t
        JOIN LATERAL (
          SELECT outbox FROM apptimist_addresses
          WHERE owner = t.owner AND device = t.device OFFSET 0) a ON true
        LEFT JOIN LATERAL (
          SELECT true AS waits FROM push_outbox o
          WHERE o.service = 'apptimist' AND o.device = a.outbox AND o.lease_owner IS NULL
          LIMIT 1) w ON true
        LEFT JOIN LATERAL (
          SELECT true AS is_open FROM apptimist_sessions o
          WHERE o.owner = t.owner AND o.device = t.device LIMIT 1) s ON true
    ), waiting AS (
      UPDATE push_outbox o SET position = s.last
      FROM states s
      WHERE s.waits AND o.service = 'apptimist' AND o.device = s.outbox AND o.lease_owner IS NULL
    ), woken AS (
      UPDATE apptimist_addresses a
      SET woken = s.first, before_at = a.woken_at,
        woken_at = greatest(s.due, a.woken_at + p_interval)
      FROM states s
      WHERE a.owner = s.owner AND a.device = s.device
        AND NOT s.waits AND (a.woken = 0 OR p_now >= a.woken_at + p_again)
      RETURNING a.owner, a.outbox, a.kind, a.address, a.tag, a.woken_at, s.last
    )
    INSERT INTO push_outbox (
      service, device, account, kind, address, push_id, content, urgency, collapse_key, position,
      created_at, expires_at, due_at, is_next)
    SELECT 'apptimist', w.outbox, int8send(w.owner), w.kind, w.address, gen_random_uuid()::text,
      w.tag, 1, encode(w.tag, 'hex'), w.last, p_now, p_end, w.woken_at,
      CASE WHEN EXISTS (
        SELECT 1 FROM push_outbox o WHERE o.service = 'apptimist' AND o.device = w.outbox
        ORDER BY o.id DESC LIMIT 1 FOR KEY SHARE) THEN 0 ELSE 1 END
    FROM woken w;
    GET DIAGNOSTICS wakes = ROW_COUNT;
  END IF;
  RETURN NEXT;
END $$;
