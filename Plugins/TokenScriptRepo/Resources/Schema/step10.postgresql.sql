-- The same as in SQLite.

ALTER TABLE tokenscript_files
  ADD COLUMN authority TEXT COLLATE "C",
  ADD COLUMN title TEXT COLLATE "C",
  ADD COLUMN labels TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN icon TEXT COLLATE "C",
  ADD COLUMN cids TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE tokenscript_chain_words
  ADD COLUMN name TEXT COLLATE "C",
  ADD COLUMN roles TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN entries TEXT COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN change BIGINT NOT NULL DEFAULT 0;
CREATE INDEX tokenscript_chain_words_by_change ON tokenscript_chain_words (change);
