-- What two devices of a user leave for each other: for ten minutes, and until it is read.
CREATE TABLE apptimist_links (
  slot TEXT NOT NULL,
  part INTEGER NOT NULL,
  network TEXT NOT NULL,
  expires INTEGER NOT NULL,
  -- NULL once it was read.
  content BLOB,
  PRIMARY KEY (slot, part)
) STRICT, WITHOUT ROWID;
