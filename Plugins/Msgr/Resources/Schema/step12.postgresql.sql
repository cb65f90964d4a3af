-- Puts the pushes that wait into the outbox of all services.
--
-- The content of a push is a line with the message's identifier, the badge, whether it is a contact request, the priority
-- and whether the browser shows it by itself; lines with the sender, the link and the title; and the text.
INSERT INTO push_outbox (
  service, device, account, kind, address, push_id, content, urgency, position, created_at,
  expires_at, attempts, due_at, is_next, lease_owner, lease_end)
SELECT 'msgr', convert_to(o.device_id, 'UTF8'), convert_to(d.username, 'UTF8'), o.provider,
  CASE o.provider WHEN 0 THEN convert_to(o.device_id, 'UTF8') WHEN 2 THEN convert_to(substr(o.device_id, 5), 'UTF8')
    ELSE d.p256dh || d.auth || convert_to(d.endpoint, 'UTF8') END,
  o.apns_id,
  convert_to(
    o.message_id || ' ' || o.badge || ' ' || o.is_add_request || ' '
      || coalesce(CAST(o.priority AS TEXT), '-') || ' ' || d.is_declarative || chr(10) || o.sender
      || chr(10) || coalesce(o.link, '') || chr(10) || coalesce(o.title, '') || chr(10) || o.text, 'UTF8'),
  CASE WHEN o.priority < 4 THEN 0 ELSE 1 END, o.message_id, o.created_at, o.expires_at,
  o.attempts, o.due_at, o.is_next, o.lease_owner, o.lease_end
FROM msgr_push_outbox o JOIN msgr_devices d USING (device_id)
WHERE o.provider <> 1 OR d.endpoint IS NOT NULL ORDER BY o.id;
INSERT INTO push_targets SELECT target FROM msgr_push_targets;
DROP TABLE msgr_push_outbox;
DROP TABLE msgr_push_targets;

-- What waits for a device goes with it.
CREATE FUNCTION msgr_devices_pushes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM push_outbox
  WHERE service = 'msgr' AND device = convert_to(old.device_id, 'UTF8');
  RETURN NULL;
END $$;
CREATE TRIGGER msgr_devices_pushes AFTER DELETE ON msgr_devices
  FOR EACH ROW EXECUTE FUNCTION msgr_devices_pushes();

-- Puts many messages of many users into inboxes, the senders' logs and the outbox in one call.
--
-- It takes the users, each once, and for each message the sender's token or the hash of the sender's password, the places
-- of sender and recipient among the users, the text, the client's name for it with a digest of the content, and the
-- sender's device. A row says what became of a message; its kind is 1 for one that was stored, 2 if the recipient blocks
-- the sender, 3 for one that was sent before, 4 if the client's name is another message's. It is NULL if something about
-- the message is rare, and it is to be sent by itself: the caller isn't confirmed, there is no such recipient, the inbox is
-- full, or the batch has the client's name before.
--
-- First it locks the recipients, and the senders who stream or name messages, in one order, and then their devices; each
-- later statement sees what was committed until then. Of a device for which pushes wait the newest one is locked as well, so
-- that it doesn't go before those behind it are there. Identifiers are taken while the user's row is locked, so those of a
-- log become visible in their order.
--
-- The loops are over arrays, and each table is written by one small statement: a single statement for all of it takes
-- longer to begin than to run. What is looked up by `LIMIT 1` is looked up for each row, and never for the whole table.

CREATE FUNCTION awd_msgr_send_v3(
  p_users text[], p_tokens bytea[], p_passwords text[], p_senders bigint[],
  p_recipients bigint[], p_texts text[], p_client_ids text[], p_digests bytea[],
  p_devices text[],
  p_now bigint, p_first_id bigint, p_most bigint, p_expires bigint, p_held_until bigint,
  p_oldest_use bigint, p_noted_use bigint, p_providers bigint, p_oldest_name bigint,
  p_most_names bigint, p_most_web_pushes bigint
) RETURNS TABLE (
  place bigint, kind bigint, id bigint, predecessor bigint, own_id bigint,
  own_predecessor bigint, providers bigint, nodes text, own_nodes text, sent_at bigint,
  dropped bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  row record;
  no_users bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_users)]);
  no_messages bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_senders)]);
  -- Of each user, as it is with the messages so far.
  is_streaming boolean[] := array_fill(false, ARRAY[cardinality(p_users)]);
  is_locked boolean[] := is_streaming;
  is_taking boolean[] := is_streaming;
  is_changed boolean[] := is_streaming;
  lasts bigint[] := no_users;
  counts bigint[] := no_users;
  badges bigint[] := no_users;
  sents bigint[] := no_users;
  nameds bigint[] := no_users;
  streaming_nodes text[] := array_fill(NULL::text, ARRAY[cardinality(p_users)]);
  -- Of each user, the places of the first and the last of its devices that are pushed to, and the providers of those as
  -- bits.
  first_devices bigint[] := array_fill(1::bigint, ARRAY[cardinality(p_users)]);
  last_devices bigint[] := no_users;
  user_providers bigint[] := no_users;
  -- Of each device, in the order of locking.
  locked text[] := '{}';
  owners bigint[] := '{}';
  locked_providers bigint[] := '{}';
  locked_addresses bytea[] := '{}';
  are_declarative bigint[] := '{}';
  are_waiting boolean[] := '{}';
  -- Of each device that is pushed to, in the order of the users.
  devices text[] := '{}';
  device_providers bigint[] := '{}';
  device_addresses bytea[] := '{}';
  device_heads text[] := '{}';
  starts bigint[] := '{}';
  are_next bigint[] := '{}';
  -- Of each message.
  kinds bigint[] := no_messages;
  ids bigint[] := no_messages;
  predecessors bigint[] := no_messages;
  own_ids bigint[] := no_messages;
  own_predecessors bigint[] := no_messages;
  numbers bigint[] := no_messages;
  -- Of each push.
  push_messages bigint[] := '{}';
  push_devices bigint[] := '{}';
  push_badges bigint[] := '{}';
  push_dues bigint[] := '{}';
  push_are_next bigint[] := '{}';
  unnoted bytea[];
  sender_place bigint;
  user_place bigint;
  count bigint := 0;
  gone bigint;
  dropped bigint := 0;
  has_copies boolean := false;
  has_names boolean := false;
BEGIN
  FOR row IN
    SELECT s.n FROM (SELECT DISTINCT n FROM unnest(p_senders) AS s (n)) s
      JOIN LATERAL (
        SELECT 1 FROM msgr_devices
        WHERE username = p_users[s.n] AND substr(device_id, 1, 7) = 'stream:' LIMIT 1) d
      ON true
  LOOP
    is_streaming[row.n] := true;
    is_locked[row.n] := true;
  END LOOP;
  FOR i IN 1 .. cardinality(p_senders) LOOP
    IF p_client_ids[i] IS NOT NULL THEN is_locked[p_senders[i]] := true; END IF;
    IF p_recipients[i] IS NOT NULL THEN is_locked[p_recipients[i]] := true; END IF;
  END LOOP;
  FOR row IN
    SELECT r.n, u.messages, u.unread, u.last_id, u.sent, u.named
    FROM unnest(p_users) WITH ORDINALITY AS r (name, n)
      JOIN msgr_users u ON u.username = r.name
    WHERE is_locked[r.n]
    ORDER BY u.username FOR NO KEY UPDATE OF u
  LOOP
    is_taking[row.n] := true;
    counts[row.n] := row.messages;
    badges[row.n] := row.unread;
    lasts[row.n] := row.last_id;
    sents[row.n] := row.sent;
    nameds[row.n] := row.named;
  END LOOP;
  FOR row IN
    SELECT r.n, d.device_id, d.endpoint, d.p256dh || d.auth AS keys, d.is_declarative
    FROM unnest(p_users) WITH ORDINALITY AS r (name, n)
      JOIN msgr_devices d ON d.username = r.name
    WHERE is_locked[r.n]
    ORDER BY d.device_id FOR NO KEY UPDATE OF d
  LOOP
    count := count + 1;
    locked[count] := row.device_id;
    owners[count] := row.n;
    locked_providers[count] := CASE WHEN row.endpoint IS NOT NULL THEN 1
      WHEN substr(row.device_id, 1, 4) = 'fcm:' THEN 2
      WHEN substr(row.device_id, 1, 7) <> 'stream:' THEN 0 END;
    locked_addresses[count] := CASE locked_providers[count]
      WHEN 0 THEN convert_to(row.device_id, 'UTF8')
      WHEN 1 THEN row.keys || convert_to(row.endpoint, 'UTF8')
      WHEN 2 THEN convert_to(substr(row.device_id, 5), 'UTF8') END;
    are_declarative[count] := row.is_declarative;
  END LOOP;
  FOR row IN
    SELECT d.n, EXISTS (
      SELECT 1 FROM push_outbox o
      WHERE o.service = 'msgr' AND o.device = convert_to(d.device_id, 'UTF8')
      ORDER BY o.id DESC LIMIT 1 FOR KEY SHARE) AS is_waiting
    FROM unnest(locked) WITH ORDINALITY AS d (device_id, n)
  LOOP
    are_waiting[row.n] := row.is_waiting;
  END LOOP;
  count := 0;
  FOR row IN
    SELECT d.n, d.device_id, d.provider, d.address, d.is_declarative, d.is_waiting, s.start, s.nodes
    FROM unnest(
        owners, locked, locked_providers, locked_addresses, are_declarative, are_waiting)
        AS d (n, device_id, provider, address, is_declarative, is_waiting)
      LEFT JOIN LATERAL (
        SELECT min(start) AS start, string_agg(node::text, ',') AS nodes FROM msgr_streams
        WHERE device_id = d.device_id) s ON true
    ORDER BY d.n
  LOOP
    IF row.nodes IS NOT NULL THEN
      streaming_nodes[row.n] := concat_ws(',', streaming_nodes[row.n], row.nodes);
    END IF;
    CONTINUE WHEN row.provider IS NULL OR p_providers & (1 << row.provider::int) = 0;
    count := count + 1;
    devices[count] := row.device_id;
    device_providers[count] := row.provider;
    device_addresses[count] := row.address;
    device_heads[count] := ' 0 - ' || row.is_declarative || chr(10);
    starts[count] := row.start;
    are_next[count] := CASE WHEN row.is_waiting THEN 0 ELSE 1 END;
    IF last_devices[row.n] = 0 THEN first_devices[row.n] := count; END IF;
    last_devices[row.n] := count;
    user_providers[row.n] := user_providers[row.n] | (1 << row.provider::int);
  END LOOP;
  count := 0;
  FOR row IN
    SELECT m.n, m.sender, m.recipient, m.token, m.name, t.used_at, b.refuses,
      c.id AS known_id, c.own_id AS known_own, c.content = m.digest AS is_same
    FROM unnest(p_tokens, p_passwords, p_senders, p_recipients, p_client_ids, p_digests)
        WITH ORDINALITY AS m (token, password, sender, recipient, name, digest, n)
      LEFT JOIN msgr_tokens t
        ON t.hash = m.token AND t.username = p_users[m.sender] AND t.used_at > p_oldest_use
      LEFT JOIN msgr_users u ON m.token IS NULL AND u.username = p_users[m.sender]
        AND u.password = m.password
      LEFT JOIN LATERAL (
        SELECT true AS refuses FROM msgr_blocks
        WHERE username = p_users[m.recipient] AND blocked = p_users[m.sender] LIMIT 1) b
      ON true
      LEFT JOIN LATERAL (
        SELECT id, own_id, content FROM msgr_client_ids
        WHERE sender = p_users[m.sender] AND client_id = m.name AND sent_at > p_oldest_name
        LIMIT 1) c ON true
    WHERE (t.hash IS NOT NULL OR u.username IS NOT NULL) AND m.recipient IS NOT NULL
    ORDER BY m.n
  LOOP
    IF row.known_id IS NOT NULL THEN
      kinds[row.n] := CASE WHEN row.is_same THEN 3 ELSE 4 END;
      ids[row.n] := row.known_id;
      own_ids[row.n] := row.known_own;
    END IF;
    user_place := row.recipient;
    sender_place := row.sender;
    -- What comes after one that has no room waits for it.
    IF row.known_id IS NULL AND row.refuses IS NULL AND counts[user_place] >= p_most THEN
      is_taking[user_place] := false;
    END IF;
    CONTINUE WHEN kinds[row.n] = 4 OR kinds[row.n] IS NULL AND NOT is_taking[user_place];
    IF row.used_at < p_noted_use THEN unnoted := unnoted || row.token; END IF;
    CONTINUE WHEN kinds[row.n] IS NOT NULL;
    is_changed[user_place] := true;
    predecessors[row.n] := lasts[user_place];
    lasts[user_place] := greatest(lasts[user_place] + 1, p_first_id);
    ids[row.n] := lasts[user_place];
    kinds[row.n] := CASE WHEN row.refuses THEN 2 ELSE 1 END;
    IF is_streaming[sender_place] THEN
      is_changed[sender_place] := true;
      IF sender_place <> user_place THEN
        has_copies := true;
        own_predecessors[row.n] := lasts[sender_place];
        lasts[sender_place] := greatest(lasts[sender_place] + 1, p_first_id);
        sents[sender_place] := sents[sender_place] + 1;
      END IF;
      own_ids[row.n] := lasts[sender_place];
    END IF;
    IF row.name IS NOT NULL THEN
      has_names := true;
      is_changed[sender_place] := true;
      nameds[sender_place] := nameds[sender_place] + 1;
      numbers[row.n] := nameds[sender_place];
    END IF;
    CONTINUE WHEN row.refuses;
    counts[user_place] := counts[user_place] + 1;
    badges[user_place] := badges[user_place] + 1;
    FOR device IN first_devices[user_place] .. last_devices[user_place] LOOP
      count := count + 1;
      push_messages[count] := row.n;
      push_devices[count] := device;
      push_badges[count] := badges[user_place];
      push_dues[count] := CASE WHEN starts[device] < ids[row.n] THEN p_held_until ELSE p_now END;
      push_are_next[count] := are_next[device];
      are_next[device] := 0;
    END LOOP;
  END LOOP;
  IF unnoted IS NOT NULL THEN
    UPDATE msgr_tokens SET used_at = p_now WHERE hash = ANY (unnoted);
  END IF;
  INSERT INTO msgr_messages (recipient, id, sender, text, sent_at, is_add_request)
  SELECT p_users[m.recipient], ids[m.n], p_users[m.sender], m.body, p_now, 0
  FROM unnest(p_senders, p_recipients, p_texts) WITH ORDINALITY
    AS m (sender, recipient, body, n)
  WHERE kinds[m.n] = 1;
  IF has_copies THEN
    INSERT INTO msgr_sent (sender, id, recipient, text, sent_at, client_id, device_id)
    SELECT p_users[m.sender], own_ids[m.n], p_users[m.recipient], m.body, p_now, m.name,
      m.device
    FROM unnest(p_senders, p_recipients, p_texts, p_client_ids, p_devices) WITH ORDINALITY
      AS m (sender, recipient, body, name, device, n)
    WHERE own_predecessors[m.n] IS NOT NULL;
  END IF;
  IF has_names THEN
    INSERT INTO msgr_client_ids (sender, client_id, number, content, id, own_id, sent_at)
    SELECT p_users[m.sender], m.name, numbers[m.n], m.digest, ids[m.n], own_ids[m.n], p_now
    FROM unnest(p_senders, p_client_ids, p_digests) WITH ORDINALITY AS m (sender, name, digest, n)
    WHERE numbers[m.n] IS NOT NULL
    ON CONFLICT (sender, client_id) DO UPDATE SET number = excluded.number,
      content = excluded.content, id = excluded.id, own_id = excluded.own_id,
      sent_at = excluded.sent_at;
  END IF;
  INSERT INTO push_outbox (
    service, device, account, kind, address, push_id, content, urgency, position, created_at,
    expires_at, due_at, is_next)
  SELECT 'msgr', convert_to(devices[p.device], 'UTF8'),
    convert_to(p_users[p_recipients[p.message]], 'UTF8'), device_providers[p.device],
    device_addresses[p.device], gen_random_uuid()::text,
    convert_to(
      ids[p.message] || ' ' || p.badge || device_heads[p.device]
        || p_users[p_senders[p.message]] || chr(10) || chr(10) || chr(10) || p_texts[p.message],
      'UTF8'),
    1, ids[p.message], p_now, p_expires, p.due, p.is_next
  FROM unnest(push_messages, push_devices, push_badges, push_dues, push_are_next)
    AS p (message, device, badge, due, is_next);
  UPDATE msgr_users u SET messages = r.messages, unread = r.badge, last_id = r.last,
    sent = r.sent, named = r.named
  FROM unnest(p_users, counts, badges, lasts, sents, nameds, is_changed)
    AS r (name, messages, badge, last, sent, named, is_changed)
  WHERE u.username = r.name AND r.is_changed;
  -- What is more than is kept.
  FOR i IN 1 .. cardinality(p_users) LOOP
    IF has_copies AND sents[i] > p_most THEN
      DELETE FROM msgr_sent s WHERE s.sender = p_users[i] AND s.id IN (
        SELECT o.id FROM msgr_sent o WHERE o.sender = p_users[i]
        ORDER BY o.id LIMIT sents[i] - p_most);
    END IF;
    IF has_names AND nameds[i] > p_most_names THEN
      DELETE FROM msgr_client_ids
      WHERE sender = p_users[i] AND number <= nameds[i] - p_most_names;
    END IF;
    CONTINUE WHEN user_providers[i] & 2 = 0 OR NOT is_changed[i];
    FOR browser IN first_devices[i] .. last_devices[i] LOOP
      CONTINUE WHEN device_providers[browser] <> 1;
      DELETE FROM push_outbox p
      WHERE p.service = 'msgr' AND p.device = convert_to(devices[browser], 'UTF8')
        AND p.lease_owner IS NULL AND p.id <= (
          SELECT o.id FROM push_outbox o
          WHERE o.service = 'msgr' AND o.device = convert_to(devices[browser], 'UTF8')
          ORDER BY o.id DESC LIMIT 1 OFFSET p_most_web_pushes);
      GET DIAGNOSTICS gone = ROW_COUNT;
      dropped := dropped + gone;
    END LOOP;
  END LOOP;
  RETURN QUERY
  SELECT m.n, kinds[m.n], ids[m.n], predecessors[m.n], own_ids[m.n], own_predecessors[m.n],
    CASE WHEN kinds[m.n] = 1 THEN user_providers[m.recipient] ELSE 0 END,
    streaming_nodes[m.recipient], streaming_nodes[m.sender], p_now,
    CASE WHEN m.n = 1 THEN dropped ELSE 0 END
  FROM unnest(p_senders, p_recipients) WITH ORDINALITY AS m (sender, recipient, n);
END $$;
