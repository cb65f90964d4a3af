-- What two devices of a user leave for each other: for ten minutes, and until it is read.
CREATE TABLE apptimist_links (
  slot TEXT COLLATE "C" NOT NULL,
  part BIGINT NOT NULL,
  network TEXT COLLATE "C" NOT NULL,
  expires BIGINT NOT NULL,
  -- NULL once it was read.
  content BYTEA,
  PRIMARY KEY (slot, part)
);
