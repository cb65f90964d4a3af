-- The kind of push service that takes the push: 0 for Apple's, 1 for a browser's, 2 for Google's.
ALTER TABLE push_outbox RENAME COLUMN is_web TO provider;
