extension MsgrStore {
  /// Puts many messages of many users into inboxes and the outbox in one call.
  ///
  /// It takes the messages' senders with their tokens or the hashes of their passwords, the recipients, each once, and the
  /// messages' texts with the places of their recipients. It gives a row for each message: its place, its identifier, and the
  /// number of phones that it is pushed to. The identifier is NULL for a message that isn't stored, as something about it is
  /// rare: the caller isn't confirmed, there is no such recipient, it blocks the sender, its inbox is full, it has a browser,
  /// or the sender keeps own copies. Those are done one by one.
  ///
  /// First it locks the recipients in one order, and then their devices; each later statement sees what was committed until
  /// then. Identifiers are taken while the recipient's row is locked, so those of an inbox become visible in their order.
  ///
  /// The loops are over arrays, and each table is written by one small statement: a single statement for all of it takes
  /// longer to begin than to run. What is looked up by `LIMIT 1` is looked up for each row, and never for the whole table.
  static let postgreSQLFunctions: StaticString = """
    CREATE FUNCTION awd_msgr_send_v1(
      p_tokens bytea[], p_names text[], p_passwords text[], p_users text[],
      p_recipients bigint[], p_texts text[],
      p_now bigint, p_first_id bigint, p_most bigint, p_expires bigint, p_held_until bigint,
      p_oldest_use bigint, p_noted_use bigint, p_pushes bigint
    ) RETURNS TABLE (place bigint, id bigint, wakes bigint) LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      row record;
      -- Of each recipient, as it is with the messages so far.
      is_taking boolean[] := array_fill(false, ARRAY[cardinality(p_users)]);
      lasts bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_users)]);
      counts bigint[] := lasts;
      badges bigint[] := lasts;
      added bigint[] := lasts;
      -- Of each recipient, the places of the first and the last of its phones.
      first_phones bigint[] := array_fill(1::bigint, ARRAY[cardinality(p_users)]);
      last_phones bigint[] := lasts;
      -- Of each phone, in the order of locking, and then in that of the recipients.
      locked text[] := '{}';
      owners bigint[] := '{}';
      phones text[] := '{}';
      dues bigint[] := '{}';
      are_next bigint[] := '{}';
      -- Of each message that is stored.
      ids bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(p_names)]);
      -- Of each push.
      push_messages bigint[] := '{}';
      push_phones bigint[] := '{}';
      push_badges bigint[] := '{}';
      push_are_next bigint[] := '{}';
      unnoted bytea[];
      user_place bigint;
      count bigint := 0;
    BEGIN
      FOR row IN
        SELECT r.n, u.messages, u.unread, u.last_id
        FROM unnest(p_users) WITH ORDINALITY AS r (name, n)
          JOIN msgr_users u ON u.username = r.name
        ORDER BY u.username FOR NO KEY UPDATE OF u
      LOOP
        is_taking[row.n] := true;
        counts[row.n] := row.messages;
        badges[row.n] := row.unread;
        lasts[row.n] := greatest(row.last_id, p_first_id - 1);
      END LOOP;
      FOR row IN
        SELECT r.n, d.device_id, d.endpoint
        FROM unnest(p_users) WITH ORDINALITY AS r (name, n)
          JOIN msgr_devices d ON d.username = r.name
        ORDER BY d.device_id FOR NO KEY UPDATE OF d
      LOOP
        IF row.endpoint IS NOT NULL THEN is_taking[row.n] := false; END IF;
        CONTINUE WHEN substr(row.device_id, 1, 7) = 'stream:';
        count := count + 1;
        locked[count] := row.device_id;
        owners[count] := row.n;
      END LOOP;
      count := 0;
      FOR row IN
        SELECT d.n, d.device_id, s.is_held, o.is_waiting
        FROM unnest(owners, locked) AS d (n, device_id)
          LEFT JOIN LATERAL (
            SELECT true AS is_held FROM msgr_streams
            WHERE device_id = d.device_id LIMIT 1) s ON true
          LEFT JOIN LATERAL (
            SELECT true AS is_waiting FROM push_outbox
            WHERE device_id = d.device_id LIMIT 1) o ON true
        ORDER BY d.n
      LOOP
        count := count + 1;
        phones[count] := row.device_id;
        dues[count] := CASE WHEN row.is_held THEN p_held_until ELSE p_now END;
        are_next[count] := CASE WHEN row.is_waiting THEN 0 ELSE 1 END;
        IF last_phones[row.n] = 0 THEN first_phones[row.n] := count; END IF;
        last_phones[row.n] := count;
      END LOOP;
      count := 0;
      FOR row IN
        SELECT m.n, m.recipient, m.token, t.used_at
        FROM unnest(p_tokens, p_names, p_passwords, p_recipients) WITH ORDINALITY
            AS m (token, sender, password, recipient, n)
          LEFT JOIN msgr_tokens t
            ON t.hash = m.token AND t.username = m.sender AND t.used_at > p_oldest_use
          LEFT JOIN msgr_users u
            ON m.token IS NULL AND u.username = m.sender AND u.password = m.password
          LEFT JOIN LATERAL (
            SELECT true AS streams FROM msgr_devices
            WHERE username = m.sender AND substr(device_id, 1, 7) = 'stream:' LIMIT 1) d ON true
          LEFT JOIN LATERAL (
            SELECT true AS refuses FROM msgr_blocks
            WHERE username = p_users[m.recipient] AND blocked = m.sender LIMIT 1) b ON true
        WHERE (t.hash IS NOT NULL OR u.username IS NOT NULL)
          AND d.streams IS NULL AND b.refuses IS NULL
        ORDER BY m.n
      LOOP
        IF row.used_at < p_noted_use THEN unnoted := unnoted || row.token; END IF;
        user_place := row.recipient;
        -- What comes after one that has no room waits for it.
        IF counts[user_place] >= p_most THEN is_taking[user_place] := false; END IF;
        CONTINUE WHEN NOT is_taking[user_place];
        added[user_place] := added[user_place] + 1;
        counts[user_place] := counts[user_place] + 1;
        badges[user_place] := badges[user_place] + 1;
        lasts[user_place] := lasts[user_place] + 1;
        ids[row.n] := lasts[user_place];
        CONTINUE WHEN p_pushes = 0;
        FOR phone IN first_phones[user_place] .. last_phones[user_place] LOOP
          count := count + 1;
          push_messages[count] := row.n;
          push_phones[count] := phone;
          push_badges[count] := badges[user_place];
          push_are_next[count] := are_next[phone];
          are_next[phone] := 0;
        END LOOP;
      END LOOP;
      IF unnoted IS NOT NULL THEN
        UPDATE msgr_tokens SET used_at = p_now WHERE hash = ANY (unnoted);
      END IF;
      INSERT INTO msgr_messages (recipient, id, sender, text, sent_at, is_add_request)
      SELECT p_users[m.recipient], ids[m.n], m.sender, m.body, p_now, 0
      FROM unnest(p_names, p_recipients, p_texts) WITH ORDINALITY
        AS m (sender, recipient, body, n)
      WHERE ids[m.n] IS NOT NULL;
      INSERT INTO push_outbox (
        device_id, message_id, apns_id, sender, text, is_add_request, badge, created_at,
        expires_at, due_at, is_next)
      SELECT phones[p.phone], ids[p.message], gen_random_uuid()::text, p_names[p.message],
        p_texts[p.message], 0, p.badge, p_now, p_expires, dues[p.phone], p.is_next
      FROM unnest(push_messages, push_phones, push_badges, push_are_next)
        AS p (message, phone, badge, is_next);
      UPDATE msgr_users u SET messages = r.messages, unread = r.badge, last_id = r.last
      FROM unnest(p_users, counts, badges, lasts, added) AS r (name, messages, badge, last, added)
      WHERE u.username = r.name AND r.added > 0;
      RETURN QUERY
      SELECT n, m.message,
        CASE WHEN p_pushes = 0 THEN 0
          ELSE last_phones[m.recipient] - first_phones[m.recipient] + 1 END
      FROM unnest(ids, p_recipients) WITH ORDINALITY AS m (message, recipient, n);
    END $$;

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
    """
}
