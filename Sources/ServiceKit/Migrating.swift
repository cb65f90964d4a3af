public import Storage

/// A service with tables in the store.
public protocol Migrating: Service {
  /// The history of the service's own tables.
  static var migrations: [Migration] { get }
}

extension Sequence where Element == any Service.Type {
  /// The histories of all services' tables.
  public var migrations: [Migration] { flatMap { ($0 as? any Migrating.Type)?.migrations ?? [] } }
}
