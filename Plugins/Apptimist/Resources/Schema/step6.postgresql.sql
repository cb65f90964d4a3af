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

CREATE FUNCTION awd_app_post_v1(
  p_users bytea[], p_signatures bytea[], p_version1 bigint[],
  p_posts bigint[], p_headers bytea[], p_datas bytea[], p_keys bytea[],
  p_messages bigint[], p_recipients bigint[], p_ids bytea[],
  p_most_entries bigint, p_most_bytes bigint
) RETURNS TABLE (post bigint, results bytea) LANGUAGE plpgsql AS $$
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
  RETURN NEXT;
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
END $$;
