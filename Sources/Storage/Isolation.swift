/// The way in which a transaction is kept apart from those that run at the same time.
///
/// On SQLite there are none, as one closure writes at a time, and both are the same.
package enum Isolation: Sendable, Hashable {
  /// Any closure: its changes are as if it had run alone. It runs again when others changed what it had read.
  case serializable
  /// A closure that is one statement, or that locks first what it goes by: `UPDATE`, or `SELECT … FOR UPDATE`. Each
  /// statement sees what others have committed by then. It waits for others that change the same rows, and needs no
  /// second try for their sake.
  case rowLocks
}
