-- What readings and the chains' words tell about who stands for a contract, and where its scripts are.

ALTER TABLE tokenscript_files ADD COLUMN authority TEXT;
ALTER TABLE tokenscript_files ADD COLUMN title TEXT;
ALTER TABLE tokenscript_files ADD COLUMN labels TEXT NOT NULL DEFAULT '';
ALTER TABLE tokenscript_files ADD COLUMN icon TEXT;
ALTER TABLE tokenscript_files ADD COLUMN cids TEXT NOT NULL DEFAULT '';
ALTER TABLE tokenscript_chain_words ADD COLUMN name TEXT;
ALTER TABLE tokenscript_chain_words ADD COLUMN roles TEXT NOT NULL DEFAULT '';
ALTER TABLE tokenscript_chain_words ADD COLUMN entries TEXT NOT NULL DEFAULT '';
ALTER TABLE tokenscript_chain_words ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tokenscript_chain_words_by_change ON tokenscript_chain_words (change);
