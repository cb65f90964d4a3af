-- The moment at which the last round of questions about forums' gates has begun, in milliseconds since 1970, and the forum that
-- was asked about last; NULL if the round is over. Many nodes share a round.
CREATE TABLE apptimist_gate_rounds (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  begun_at INTEGER NOT NULL,
  forum INTEGER
) STRICT;
INSERT INTO apptimist_gate_rounds VALUES (1, 0, NULL);
CREATE INDEX apptimist_files_by_gate ON apptimist_files (directory) WHERE name = 'gate';
