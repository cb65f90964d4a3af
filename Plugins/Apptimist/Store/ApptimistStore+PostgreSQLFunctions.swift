extension ApptimistStore {
  /// Puts many messages of many users into mailboxes in one call.
  ///
  /// It takes the posts' senders with their keys; the posts' messages, each with the place of its post; and their copies, each
  /// with the place of its message. It gives nine bytes for each copy, in the order of each post: a byte that says what
  /// became of it (0: delivered, 1: known, 2: no such user, or the login holds no more, 3: the mailbox is full), and the position.
  ///
  /// First it locks all mailboxes in one order; each later statement sees what was committed until then. Entries get their
  /// positions while the mailbox's row is locked, so a mailbox's positions become visible in their order.
  static let postgreSQLFunctions: StaticString = """
    CREATE FUNCTION awd_app_post_v1(
      p_users bytea[], p_signatures bytea[], p_version1 bigint[],
      p_posts bigint[], p_headers bytea[], p_datas bytea[],
      p_messages bigint[], p_keys bytea[], p_ids bytea[],
      p_most_entries bigint, p_most_bytes bigint
    ) RETURNS TABLE (post bigint, results bytea) LANGUAGE plpgsql
    -- Whatever the statistics say: a call has few rows, and the tables may have many.
    SET enable_seqscan = off AS $$
    #variable_conflict use_column
    DECLARE numbers bigint[];
    BEGIN
      PERFORM 1 FROM apptimist_queues q JOIN apptimist_users u ON u.id = q.owner
      WHERE u.key = ANY (p_keys) ORDER BY q.owner FOR NO KEY UPDATE OF q;
      numbers := ARRAY (
        SELECT nextval('apptimist_contents_id_seq')
        FROM generate_series(1, cardinality(p_headers)));
      RETURN QUERY
      WITH senders AS MATERIALIZED (
        SELECT s.n, u.id
        FROM unnest(p_users, p_signatures, p_version1) WITH ORDINALITY AS s (key, signature, v1, n)
          JOIN apptimist_users u ON u.key = s.key AND u.kind = 0
            AND u.authentication_key = s.signature AND (u.is_closed = 0 OR s.v1 = 0)
      ), copies AS MATERIALIZED (
        SELECT c.n, u.id AS owner, c.id, substr(c.id, 1, 16) AS known_id, c.message, s.id AS sender,
          numbers[c.message] AS content,
          length(p_headers[c.message]) + length(p_datas[c.message]) AS size
        FROM unnest(p_messages, p_keys, p_ids) WITH ORDINALITY AS c (message, key, id, n)
          JOIN senders s ON s.n = p_posts[c.message]
          JOIN apptimist_users u ON u.key = c.key
          JOIN apptimist_queues q ON q.owner = u.id
      ), known AS MATERIALIZED (
        SELECT c.n, m.position FROM copies c
          JOIN apptimist_message_ids m ON m.owner = c.owner AND m.message_id = c.known_id
      ), firsts AS MATERIALIZED (
        SELECT DISTINCT ON (owner, known_id) * FROM copies c
        WHERE NOT EXISTS (SELECT 1 FROM known WHERE known.n = c.n)
        ORDER BY owner, known_id, n
      ), roomy AS MATERIALIZED (
        SELECT q.owner FROM apptimist_queues q JOIN (
          SELECT owner, count(*) AS entries, sum(size) AS bytes FROM firsts GROUP BY owner
        ) f ON f.owner = q.owner
        WHERE q.entries + f.entries <= p_most_entries AND q.bytes + f.bytes <= p_most_bytes
      ), crowded AS MATERIALIZED (
        SELECT DISTINCT owner FROM firsts WHERE owner NOT IN (SELECT owner FROM roomy)
      ), fresh AS MATERIALIZED (
        SELECT f.*, row_number() OVER mailbox AS place,
          CASE WHEN lag(sender) OVER mailbox = sender THEN 0 ELSE 1 END AS begins_run
        FROM firsts f JOIN roomy r ON r.owner = f.owner
        WINDOW mailbox AS (PARTITION BY f.owner ORDER BY n)
      ), queues AS (
        UPDATE apptimist_queues q SET last_position = q.last_position + f.entries,
          entries = q.entries + f.entries, bytes = q.bytes + f.bytes
        FROM (SELECT owner, count(*) AS entries, sum(size)::bigint AS bytes FROM fresh GROUP BY owner) f
        WHERE q.owner = f.owner
        RETURNING q.owner, q.last_position - f.entries AS base
      ), placed AS MATERIALIZED (
        SELECT f.*, q.base + f.place AS position FROM fresh f JOIN queues q ON q.owner = f.owner
      ), contents AS (
        INSERT INTO apptimist_contents (id, holders, sender, recipients, header, data)
        SELECT content, count(*), min(sender), '', p_headers[message], p_datas[message]
        FROM fresh GROUP BY content, message
      ), entries AS (
        INSERT INTO apptimist_entries
          (owner, position, kind, sender, size, content, message_id, begins_run)
        SELECT owner, position, 0, sender, size, content, id, begins_run FROM placed
      ), ids AS (
        INSERT INTO apptimist_message_ids (owner, message_id, position)
        SELECT owner, known_id, position FROM placed
      ), shares AS (
        INSERT INTO apptimist_shares AS s (owner, sender, entries, bytes, oldest)
        SELECT owner, sender, count(*), sum(size)::bigint, min(position) FROM placed
        GROUP BY owner, sender
        ON CONFLICT (owner, sender)
        DO UPDATE SET entries = s.entries + excluded.entries, bytes = s.bytes + excluded.bytes
      ), outcomes AS (
        SELECT n, 0 AS state, position FROM placed
        UNION ALL
        -- What makes room may have a mailbox forget what it knows.
        SELECT k.n, CASE WHEN c.owner IN (SELECT owner FROM crowded) THEN 3 ELSE 1 END, k.position
        FROM known k JOIN copies c ON c.n = k.n
        UNION ALL
        SELECT c.n, CASE WHEN p.n IS NULL THEN 3 ELSE 1 END, coalesce(p.position, 0)
        FROM copies c JOIN firsts f ON f.owner = c.owner AND f.known_id = c.known_id
          LEFT JOIN placed p ON p.n = f.n
        WHERE (c.n <> f.n OR p.n IS NULL) AND NOT EXISTS (SELECT 1 FROM known WHERE known.n = c.n)
      )
      SELECT p_posts[c.message],
        string_agg(
          set_byte('\\x00', 0, coalesce(o.state, 2)) || int8send(coalesce(o.position, 0)), ''
          ORDER BY c.n)
      FROM unnest(p_messages) WITH ORDINALITY AS c (message, n) LEFT JOIN outcomes o ON o.n = c.n
      GROUP BY 1;
    END $$;
    """
}
